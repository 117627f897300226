"""Commands of `kusanya talk` that ask the service or change something, most of them after a yes."""

from collections.abc import Callable, Iterator

from kusanya.alarms.acknowledgements import acknowledgements
from kusanya.alarms.alarm import Alarm
from kusanya.privacy import mask_text
from kusanya.store.records import CollectionRow, DeliveryRow, IntentRow, MissingEventRow, Note
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
from kusanya_console.deliveries.resending import resending
from kusanya_console.ui.language import translate


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
    _actions(talk)
    item = talk.item(rest)
    if not isinstance(item, DeliveryRow | MissingEventRow):
        raise Unanswerable("only a delivery is sent again: say deliveries, then resend N")
    found = resending((item,), talk.context)
    if isinstance(found, str):
        raise Unanswerable(found)
    asked = "resend {what}? Say yes to do it, anything else leaves it."
    if found.only_asks:
        asked = (
            "the service has no resend; ask it about {what}? Say yes to do it, anything else "
            "leaves it."
        )
    what = lines.delivery_line(item, now=talk.now)
    yield from _ask(talk, translate(asked, what=what), lambda: found.send(item))


def keep(talk: Conversation, _rest: str) -> Iterator[str]:
    """Keep the receipt of the message that was looked up last, after a yes."""
    actions, mode = _actions(talk), talk.context.mode
    kept = tuple(message for message in talk.messages if message.keeps_receipt)
    if not kept:
        raise Unanswerable("paste a message that fits one payment alone, then say keep")
    asked = "keep receipt {receipts}? Say yes to do it, anything else leaves it."
    if any(message.claims_unpaid for message in kept):
        asked = (
            "the service does not call it paid, so it is only a claim: keep receipt {receipts} all "
            "the same? Say yes to do it, anything else leaves it."
        )
    receipts = ", ".join(safe(message.confirmation.receipt or "", 40) for message in kept)
    yield from _ask(
        talk, translate(asked, receipts=receipts), lambda: actions.keep_receipts(kept, mode)
    )


def decide_on(talk: Conversation, rest: str) -> Iterator[str]:
    """Record what a person found out about a creation past its window, after a yes."""
    actions = _actions(talk)
    word, _, said = rest.partition(" ")
    named, _, why = said.strip().partition(" ")
    item = talk.item(word)
    if not isinstance(item, IntentRow) or not named or not why.strip():
        raise Unanswerable("a decision is: decide N col_... WHY, or: decide N nothing WHY")
    off = actions.decision_disabled_reason(item)
    if off:
        raise Unanswerable(off)
    collection_id = None if named.casefold() == "nothing" else named
    candidate = None if collection_id is None else actions.examine(item, collection_id)
    unseen = candidate is not None and candidate.seen is None
    asked = (
        "decide that {what} created {named}, because {why}? Say yes to do it, anything else "
        "leaves it."
    )
    if unseen:
        asked = (
            "nobody has seen {named}, neither here nor at the service. Decide all the same that "
            "{what} created it, because {why}? Say yes to do it, anything else leaves it."
        )
    yield from _ask(
        talk,
        translate(
            asked,
            what=lines.intent_line(item, now=talk.now),
            named=translate("nothing") if collection_id is None else safe(collection_id, 60),
            why=safe(mask_text(why.strip()), 200),
        ),
        lambda: actions.decide(item, collection_id=collection_id, why=why.strip(), unseen=unseen),
    )


def acknowledge(talk: Conversation, rest: str) -> Iterator[str]:
    """Say that you look after an alarm, and why."""
    actions = _actions(talk)
    word, _, why = rest.partition(" ")
    item = talk.item(word)
    if not isinstance(item, Alarm) or not item.id or not why.strip():
        raise Unanswerable("say alarms, then: acknowledge N what you do about it")
    held = acknowledgements(talk.context.store, item.names, now=talk.now).of(*item.names)
    before = "" if held is None else held.actor
    what = safe(translate(item.name), 120)
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
