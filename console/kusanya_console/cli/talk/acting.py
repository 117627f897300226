"""Commands of `kusanya talk` that ask the service or change something, most of them after a yes."""

from collections.abc import Callable, Iterator

from kusanya.alarms.acknowledgements import acknowledgements
from kusanya.alarms.alarm import Alarm
from kusanya.privacy import mask_text
from kusanya.store.records import CollectionRow, DeliveryRow, IntentRow, Note
from kusanya.text import safe
from kusanya_console.actions.queries import ServiceQueries
from kusanya_console.actions.results import ActionResult
from kusanya_console.actions.store_actions import StoreActions
from kusanya_console.cli.talk import lines
from kusanya_console.cli.talk.conversation import (
    Conversation,
    PendingAct,
    Unanswerable,
    result_lines,
)
from kusanya_console.ui.language import translate, translate_filled


def ask(talk: Conversation, rest: str) -> Iterator[str]:
    """Ask the service about one collection and keep its answer."""
    queries, item = _queries(talk), talk.item(rest)
    name = item.id if isinstance(item, CollectionRow) else getattr(item, "collection_id", None)
    if name is None:
        raise Unanswerable("no collection is known of this, so none can be asked about")
    yield from result_lines(queries.ask_collection(name))


def catch_up(talk: Conversation, _rest: str) -> Iterator[str]:
    """Ask for everything that is open or was not checked."""
    yield from result_lines(_queries(talk).catch_up())


def note(talk: Conversation, rest: str) -> Iterator[str]:
    """Keep a note on a collection or a creation, after a yes: nothing takes it back."""
    actions = _actions(talk)
    word, _, text = rest.partition(" ")
    item = talk.item(word)
    if not isinstance(item, CollectionRow | IntentRow) or not text.strip():
        raise Unanswerable("a note is: note N what you want to remember")
    written = Note(text.strip())
    yield from _ask(
        talk,
        translate(
            "note on {what}: {words}? Say yes to do it, anything else leaves it.",
            what=lines.intent_line(item, now=talk.now)
            if isinstance(item, IntentRow)
            else lines.collection_line(item, now=talk.now),
            words=safe(mask_text(written.text), 200),
        ),
        lambda: actions.add_note(item.id, written, mode=item.mode),
    )


def replay(talk: Conversation, rest: str) -> Iterator[str]:
    """Send a creation again, with its key and its bytes, after a yes."""
    actions, item = _actions(talk), talk.item(rest)
    if not isinstance(item, IntentRow):
        raise Unanswerable("only a creation is replayed: say intents, then replay N")
    why = actions.replay_disabled_reason(item)
    if why:
        raise Unanswerable(why)
    yield from _ask(
        talk,
        translate(
            "replay {what}, in {mode} mode, with the same key and the same bytes? Say yes to do "
            "it, anything else leaves it.",
            what=lines.intent_line(item, now=talk.now),
            mode=item.mode.value,
        ),
        lambda: actions.replay(item),
    )


def resend(talk: Conversation, rest: str) -> Iterator[str]:
    """Let the sender deliver an event once more, after a yes."""
    actions, item = _actions(talk), talk.item(rest)
    if not isinstance(item, DeliveryRow):
        raise Unanswerable("only a delivery is sent again: say deliveries, then resend N")
    why = actions.resend_disabled_reason()
    if why:
        raise Unanswerable(why)
    asked = translate(
        "resend {what}? Say yes to do it, anything else leaves it.",
        what=lines.delivery_line(item, now=talk.now),
    )
    yield from _ask(talk, asked, lambda: actions.resend(item))


def acknowledge(talk: Conversation, rest: str) -> Iterator[str]:
    """Say that you look after an alarm, and why."""
    actions = _actions(talk)
    word, _, why = rest.partition(" ")
    item = talk.item(word)
    if not isinstance(item, Alarm) or not item.id or not why.strip():
        raise Unanswerable("say alarms, then: acknowledge N what you do about it")
    held = acknowledgements(talk.context.store, item.names, now=talk.now).of(*item.names)
    before = "" if held is None else held.actor
    what = safe(translate_filled(item.name), 120)
    if before:
        what += translate(", in place of {who}", who=safe(before, 60))
    yield from _ask(
        talk,
        translate("acknowledge {what}? Say yes to do it, anything else leaves it.", what=what),
        lambda: actions.acknowledge(item.id, Note(why.strip()), name=item.name, before=before),
    )


def _queries(talk: Conversation) -> ServiceQueries:
    why = talk.context.query_disabled_reason
    if why or talk.context.queries is None:
        raise Unanswerable(why)
    return talk.context.queries


def _actions(talk: Conversation) -> StoreActions:
    if talk.context.actions is None:
        raise Unanswerable(talk.context.action_disabled_reason)
    return talk.context.actions


def _ask(talk: Conversation, sentence: str, run: Callable[[], ActionResult]) -> Iterator[str]:
    talk.question = PendingAct(sentence, run)
    yield sentence
