"""Commands of `kusanya talk` that look: counts, alarms, lists, what a text finds, one story."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from kusanya import lookup
from kusanya.alarms.acknowledgements import acknowledgements
from kusanya.alarms.alarm import Alarm, names_of
from kusanya.domain.business_day import day_start
from kusanya.filters import parse
from kusanya.handover import load as load_handover
from kusanya.health.causes import Lookback, causes
from kusanya.say import Said
from kusanya.store.records import (
    CollectionRow,
    DeliveryRow,
    IntentRow,
    Key,
    MissingEventRow,
    SortOrder,
)
from kusanya_console.cli.handover import said_lines
from kusanya_console.cli.lookup import words
from kusanya_console.cli.options import since_of
from kusanya_console.cli.talk import lines
from kusanya_console.cli.talk.conversation import Conversation, Item, Unanswerable
from kusanya_console.deliveries.list import DELIVERY_LIST
from kusanya_console.deliveries.reader import as_held, load_details
from kusanya_console.handover.shifts import shift_before
from kusanya_console.intents.reader import load_intents
from kusanya_console.lists.paging import ListPages
from kusanya_console.live.list import COLLECTION_LIST
from kusanya_console.ui.language import translate

R = TypeVar("R", bound=Any)
_LISTED: Final = 10


def status(talk: Conversation, _rest: str) -> Iterator[str]:
    """Yield the counts."""
    yield from talk.tick()
    yield from talk.announcer.status()


def alarms(talk: Conversation, _rest: str) -> Iterator[str]:
    """Yield every alarm that stands, numbered."""
    yield from talk.tick()
    found = talk.announcer.standing()
    held = acknowledgements(talk.context.store, names_of(found), now=talk.now)
    talk.items, talk.more = found, None
    for number, alarm in enumerate(found, start=1):
        first, *others = lines.alarm_lines(alarm, held.of(*alarm.names), now=talk.now)
        yield f"{number}. {first}"
        yield from others
        yield f"  {translate('read {place}', place=alarm.runbook)}"
    if not found:
        yield "no alarm stands"


def collections(talk: Conversation, rest: str) -> Iterator[str]:
    """Yield the newest collections that pass a filter."""
    query = parse(rest, keys=COLLECTION_LIST.keys, whose="collections")
    pages = COLLECTION_LIST.pages(talk.context, query, SortOrder.CREATED)
    yield from _page(talk, pages, lambda row: lines.collection_line(row, now=talk.now))


def deliveries(talk: Conversation, rest: str) -> Iterator[str]:
    """Yield the newest deliveries that pass a filter."""
    query = parse(rest, keys=DELIVERY_LIST.keys, whose="deliveries")
    pages = DELIVERY_LIST.pages(talk.context, query, SortOrder.CREATED)
    yield from _page(talk, pages, lambda row: lines.delivery_line(row, now=talk.now))


def intents(talk: Conversation, _rest: str) -> Iterator[str]:
    """Yield creations without an answer first."""
    found = load_intents(talk.context.store, talk.context.mode, now=talk.now)
    rows = found.rows[:_LISTED]
    yield from _numbered(talk, rows, lambda row: lines.intent_line(row, now=talk.now))


def more(talk: Conversation, _rest: str) -> Iterator[str]:
    """Yield the next lines of the last list."""
    if talk.more is None:
        raise Unanswerable("the last list has no more")
    yield from talk.more()


def find(talk: Conversation, text: str) -> Iterator[str]:
    """Yield what a text finds, and what to say to the customer."""
    context, now = talk.context, talk.now
    found = lookup.find(
        context.store, text, mode=context.mode, now=now, day=day_start, payees=context.payees
    )
    talk.items = (
        *(match.intent for match in found.creations),
        *(match.row for match in found.matches),
    )
    talk.more, talk.messages = None, tuple(found.messages)
    context.claim(found)
    if not found.count:
        yield words.nothing_line(context.mode, found)
    yield from words.found_lines(context.store, found, now, is_claimed=context.is_claimed)
    if len(talk.items) > 1:
        yield Said("{count} found, in this order: show 1 to show {last}").of(
            count=len(talk.items), last=len(talk.items)
        )


def paste(talk: Conversation, _rest: str) -> Iterator[str]:
    """Read a message of several lines, up to an empty one."""
    talk.pasted = []
    yield "paste the message, then an empty line"


def show(talk: Conversation, rest: str) -> Iterator[str]:
    """Yield all that is known of one thing."""
    item, now = talk.item(rest), talk.now
    if isinstance(item, Alarm):
        held = acknowledgements(talk.context.store, item.names, now=now)
        yield from lines.alarm_lines(item, held.of(*item.names), now=now)
        return
    if isinstance(item, DeliveryRow | MissingEventRow):
        yield lines.delivery_line(item, now=now)
    timeline = _timeline(talk, item)
    if timeline is not None:
        yield from words.story_lines(talk.context.store, timeline)


def attempts(talk: Conversation, rest: str) -> Iterator[str]:
    """Yield the attempts of a delivery: those that came, those nobody saw, those still due."""
    item = talk.item(rest)
    if not isinstance(item, DeliveryRow | MissingEventRow):
        raise Unanswerable("only a delivery has attempts: say deliveries, then attempts N")
    context, now = talk.context, talk.now
    found = load_details(context.store, item, context.look, None)
    if context.service is not None:
        context.sender = context.service.load().endpoints
    plan = as_held(found.plan, item, context.sender, talk.announcer.endpoints)
    yield lines.delivery_line(item, now=now)
    yield from lines.plan_lines(plan, now=now)


def failures(talk: Conversation, rest: str) -> Iterator[str]:
    """Yield why payments ended without money, the most frequent cause first."""
    spans = dict(zip(("", "today", "week"), Lookback, strict=True))
    lookback = spans.get(rest.casefold())
    if lookback is None:
        raise Unanswerable("failures, failures today or failures week")
    found = causes(talk.context.store, talk.context.mode, lookback=lookback, now=talk.now)
    yield translate(lookback.value)
    if not found.causes:
        yield translate("no failure and no expiry")
    for cause in found.causes:
        yield from lines.cause_lines(cause, found.currency)


def hand_over(talk: Conversation, rest: str) -> Iterator[str]:
    """Yield what happened in a shift, who did what, and what is open now."""
    now, context = talk.now, talk.context
    begin = since_of("since", rest, now=now) if rest else shift_before(now)
    found = load_handover(context.store, context.mode, since=begin, now=now)
    yield from said_lines(found, context.mode)


def _page(
    talk: Conversation,
    pages: ListPages[R],
    line_of: Callable[[R], str],
    older: Key | None = None,
) -> Iterator[str]:
    page = pages.page(older_than=older, limit=_LISTED)
    yield from _numbered(talk, page.rows, line_of)
    stopped = pages.scan_stopped_at
    talk.more = None
    if not page.more and stopped is None:
        return
    after = stopped or pages.key(page.rows[-1])
    talk.more = lambda: _page(talk, pages, line_of, after)
    yield "the search goes on with: more" if stopped is not None else "there are older: more"


def _numbered(talk: Conversation, rows: Sequence[R], line_of: Callable[[R], str]) -> Iterator[str]:
    talk.items, talk.more = tuple(rows), None
    for number, row in enumerate(rows, start=1):
        yield f"{number}. {line_of(row)}"
    if not rows:
        yield Said("nothing in {mode} mode").of(mode=talk.context.mode.value)


def _timeline(talk: Conversation, item: Item) -> lookup.Timeline | lookup.CreationTimeline | None:
    store, mode, now = talk.context.store, talk.context.mode, talk.now
    if isinstance(item, IntentRow):
        return lookup.load_creation_timeline(store, item.id, now=now)
    if isinstance(item, Alarm):
        return None
    name = item.id if isinstance(item, CollectionRow) else item.collection_id
    if name is None:
        return None
    claimed = talk.context.is_claimed(name)
    return lookup.load_timeline(store, name, mode, now=now, is_claimed=claimed)
