"""After downtime: ask for everything that is not final and every event not yet double-checked.

Read page by page, so that memory is bounded whatever an outage has left open. Resumable at any
point: what is recorded is not asked for again, because a final collection is no longer open and a
checked event is marked. What could not be asked is counted. Source: Delivery rules 5, Endpoints.
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import chain
from typing import Final, TypeAlias

import msgspec

from kusanya.client import AsyncClient, Client
from kusanya.client.core import Core
from kusanya.client.effects import Effects, call
from kusanya.client.observations import event_observation
from kusanya.errors import KusanyaError, NotFound, StoreError
from kusanya.intents import resolve_waiting
from kusanya.intents.polling import poll_collection
from kusanya.store import Store
from kusanya.store.records import CollectionRow, EventRow, Key
from kusanya.wire import Event, Mode

_log = logging.getLogger("kusanya.watch.catch_up")
PAGE: Final = 1_000
"""Collections or events that are read from the store at a time."""
LISTED: Final = 1_000
"""Ids that are listed of each kind; more are counted in `unlisted`."""
_TROUBLES_MAX: Final = 3
"""Troubles in a row after which the service is left alone."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far it has come, for a progress bar."""

    done: int
    total: int
    """Of the pages read so far; it grows with each page."""


class CatchUpResult(msgspec.Struct, kw_only=True):
    """What was learned."""

    asked: int = 0
    """Collections that the service was asked about."""
    became_final: int = 0
    missing_events: int = 0
    """Final states learned here that no event had reported."""
    missed: tuple[str, ...] = ()
    """The collections that reached them."""
    still_open: int = 0
    unknown: tuple[str, ...] = ()
    """Ids that the service does not know: of collections, and of events that were delivered."""
    events_checked: int = 0
    events_differing: tuple[str, ...] = ()
    """Events of which the service says something else than was delivered; kept, to be looked at."""
    resolved: int = msgspec.field(default=0, name="settled")
    """Intents resolved by what is now known; JSON keeps the name `settled`."""
    unanswered: int = 0
    """Questions, of `asked` and of events, that the service gave no answer to; ask them again."""
    unanswered_ids: tuple[str, ...] = ()
    """The collections and events that were asked about without an answer."""
    left: int = 0
    """Collections and events that were not asked about: it was stopped, or met its limit."""
    unlisted: int = 0
    """Ids beyond the first LISTED of each list above."""
    trouble: str | None = None
    """Why the last of them had no answer."""
    stopped: str | None = None
    """Why it ended before the end; running it again goes on."""

    @property
    def complete(self) -> bool:
        """Return whether everything was asked about and answered."""
        return self.stopped is None and not self.unanswered and not self.left


_Work: TypeAlias = CollectionRow | EventRow


class _Run:
    """What the workers of one catch-up share."""

    def __init__(
        self,
        store: Store,
        core: Core,
        progress: Callable[[Progress], None] | None,
        *,
        events_since: timedelta,
        limit: int | None,
        page: int,
    ) -> None:
        if core.mode is None:
            raise ValueError("the client's API key does not tell its mode: pass mode=")
        self.store = store
        self.core = core
        self.mode: Mode = core.mode
        self.progress = progress
        self.work: deque[_Work] = deque()
        self.total = 0
        self.done = 0
        self.troubles = 0
        self.found = CatchUpResult()
        since = core.clock.now() - events_since
        self._pages = chain(
            _limited(_open_collections(store, self.mode, page), limit),
            _limited(_unchecked_events(store, self.mode, since, page), limit),
        )
        self._lock = threading.Lock()

    def refill(self) -> None:
        """Read the next page once everything of the last one was given out."""
        with self._lock:
            while not self.work:
                page = next(self._pages, None)
                if page is None:
                    return
                self.found.left += page.beyond
                self.total += len(page.work)
                self.work.extend(page.work)

    def count_left(self) -> None:
        """Count what nobody will ask about any more."""
        with self._lock:
            self.found.left += len(self.work)
            self.found.left += sum(len(page.work) + page.beyond for page in self._pages)
            self.work.clear()

    def listed(self, names: tuple[str, ...], name: str) -> tuple[str, ...]:
        """Return a list with one name more, or count it where the list is long enough."""
        if len(names) < LISTED:
            return (*names, name)
        self.found.unlisted += 1
        return names

    def report_done(self) -> None:
        """Report one piece of work as done."""
        self.done += 1
        if self.progress is not None:
            self.progress(Progress(done=self.done, total=self.total))


class _WorkPage(msgspec.Struct, frozen=True):
    work: list[_Work]
    beyond: int = 0
    """How many more there are that the limit leaves out."""


def _open_collections(store: Store, mode: Mode, size: int) -> Iterator[list[_Work]]:
    newest = store.collections.page(mode, limit=1).rows
    # What is created while this runs is not waited for, or it might never end.
    before = newest[0].created_at + timedelta(microseconds=1) if newest else None
    after: Key | None = None
    more = bool(newest)
    while more:
        page = store.collections.still_open(mode, created_before=before, after=after, limit=size)
        more, after = page.more, page.rows[-1].key if page.rows else None
        yield list(page.rows)


def _unchecked_events(
    store: Store, mode: Mode, since: datetime, size: int
) -> Iterator[list[_Work]]:
    after: Key | None = None
    more = True
    while more:
        page = store.events.unchecked(mode, since=since, after=after, limit=size)
        more, after = page.more, page.rows[-1].key if page.rows else None
        yield list(page.rows)


def _limited(pages: Iterable[list[_Work]], limit: int | None) -> Iterator[_WorkPage]:
    for page in pages:
        room = len(page) if limit is None else min(limit, len(page))
        limit = None if limit is None else limit - room
        yield _WorkPage(page[:room], beyond=len(page) - room)


def catch_up(
    store: Store,
    client: Client,
    *,
    progress: Callable[[Progress], None] | None = None,
    events_since: timedelta = timedelta(days=7),
    limit: int | None = None,
    page: int = PAGE,
) -> CatchUpResult:
    """Bring the store up to date and return what was learned; all of it is durable.

    Asks about every open collection and every unchecked event of the last `events_since`, one
    after the other, at most `limit` of each; `page` of them are in memory at a time. Troubles of
    the service end it early (`stopped`); StoreError leaves it. Whatever was not asked about is
    counted in `left`.
    """
    run = _Run(store, client.core, progress, events_since=events_since, limit=limit, page=page)
    client.run(_worker(run))
    return client.run(_finish(run))


async def catch_up_async(
    store: Store,
    client: AsyncClient,
    *,
    progress: Callable[[Progress], None] | None = None,
    events_since: timedelta = timedelta(days=7),
    limit: int | None = None,
    page: int = PAGE,
    at_once: int = 8,
) -> CatchUpResult:
    """Do what `catch_up` does, with `at_once` requests at a time."""
    run = _Run(store, client.core, progress, events_since=events_since, limit=limit, page=page)
    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(client.run(_worker(run)))
    return await client.run(_finish(run))


def _worker(run: _Run) -> Effects[None]:
    while run.found.stopped is None:
        if not run.work:
            yield from call(run.refill)
        try:
            work = run.work.popleft()
        except IndexError:
            return  # the last page was given out, to this worker or to another
        try:
            if isinstance(work, EventRow):
                yield from _check(run, work)
            else:
                yield from _ask(run, work)
        except NotFound:
            run.found.unknown = run.listed(run.found.unknown, work.id)
        except StoreError:
            raise
        except KusanyaError as error:
            _note_trouble(run, work, error)
            continue
        run.troubles = 0
        run.report_done()


def _note_trouble(run: _Run, work: _Work, error: KusanyaError) -> None:
    run.troubles += 1
    run.found.unanswered += 1
    run.found.unanswered_ids = run.listed(run.found.unanswered_ids, work.id)
    run.found.trouble = str(error)
    _log.warning("a question had no answer", extra={"subject": work.id, "trouble": str(error)})
    if run.troubles >= _TROUBLES_MAX:
        run.found.stopped = str(error)


def _ask(run: _Run, row: CollectionRow) -> Effects[None]:
    run.found.asked += 1
    poll = yield from poll_collection(
        run.store, run.core, row.id, mode=run.mode, known_status=row.status
    )
    if not poll.collection.is_final:
        run.found.still_open += 1
        return
    run.found.became_final += 1
    if poll.missing_event:
        run.found.missing_events += 1
        run.found.missed = run.listed(run.found.missed, row.id)


def _check(run: _Run, event: EventRow) -> Effects[None]:
    found = yield from run.core.event(event.id)
    fact = event_observation(found, at=run.core.clock.now(), observed_in=run.mode)
    yield from call(lambda: run.store.record(fact))
    body = yield from call(lambda: run.store.deliveries.body(event.delivery_id))
    run.found.events_checked += 1
    if body is not None and body.body is not None and not _says_the_same(found, body.body):
        run.found.events_differing = run.listed(run.found.events_differing, event.id)


def _says_the_same(event: Event, delivered: bytes) -> bool:
    # As JSON values, the order of keys apart; both were decoded as events before.
    polled: object = msgspec.json.decode(event.raw)
    received: object = msgspec.json.decode(delivered)
    return polled == received


def _finish(run: _Run) -> Effects[CatchUpResult]:
    yield from call(run.count_left)
    now = run.core.clock.now()
    run.found.resolved = yield from call(lambda: resolve_waiting(run.store, now=now, mode=run.mode))
    return run.found
