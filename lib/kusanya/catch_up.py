"""After downtime: ask for everything that is not final and every event not yet double-checked.

Bounded by a limit, resumable at any point: what is kept is not asked for again, because a final
collection is no longer open and a checked event is marked. Source: Delivery rules 5, Endpoints.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from typing import Final

import msgspec

from kusanya.client import AsyncClient, Client
from kusanya.client.core import Core
from kusanya.client.effects import Steps, do
from kusanya.client.observed import event_checked, polled
from kusanya.errors import KusanyaError, NotFound, StoreError
from kusanya.intents import settle_waiting
from kusanya.store import Store
from kusanya.store.records import EventRow
from kusanya.wire import Event, Mode

_TROUBLES_MAX: Final = 3
"""Troubles in a row after which the service is left alone."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far it has come, for a progress bar."""

    done: int
    total: int


class CaughtUp(msgspec.Struct, kw_only=True):
    """What was learned."""

    asked: int = 0
    """Collections that the service was asked about."""
    became_final: int = 0
    missing_events: int = 0
    """Final states learned here of which no event had told."""
    still_open: int = 0
    unknown: tuple[str, ...] = ()
    """Ids that the service does not know: of collections, and of events that were delivered."""
    events_checked: int = 0
    events_differing: tuple[str, ...] = ()
    """Events of which the service says something else than was delivered; kept, to be looked at."""
    settled: int = 0
    """Intents settled by what is now known."""
    unanswered: int = 0
    """Questions, of `asked` and of events, that the service gave no answer to; ask them again."""
    trouble: str | None = None
    """Why the last of them had no answer."""
    stopped: str | None = None
    """Why it ended before the end; running it again goes on."""


class _Work(msgspec.Struct, frozen=True):
    collection_id: str | None = None
    event: EventRow | None = None


class _Run:
    """What the workers of one catch-up share."""

    def __init__(
        self, store: Store, core: Core, progress: Callable[[Progress], None] | None
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
        self.found = CaughtUp()

    def tell(self) -> None:
        """Report one piece of work as done."""
        self.done += 1
        if self.progress is not None:
            self.progress(Progress(done=self.done, total=self.total))


def catch_up(
    store: Store,
    client: Client,
    *,
    progress: Callable[[Progress], None] | None = None,
    events_since: timedelta = timedelta(days=7),
    limit: int = 10_000,
) -> CaughtUp:
    """Bring the store up to date and return what was learned; all of it is durable.

    Looks at no more than `limit` collections and `limit` events of the last `events_since`, one
    after the other. Troubles of the service end it early (`stopped`); StoreError leaves it.
    """
    run = _Run(store, client.core, progress)
    client.run(do(lambda: _gather(run, events_since, limit)))
    client.run(_worker(run))
    return client.run(_finish(run))


async def catch_up_async(
    store: Store,
    client: AsyncClient,
    *,
    progress: Callable[[Progress], None] | None = None,
    events_since: timedelta = timedelta(days=7),
    limit: int = 10_000,
    at_once: int = 8,
) -> CaughtUp:
    """Do what `catch_up` does, with `at_once` requests at a time."""
    run = _Run(store, client.core, progress)
    await client.run(do(lambda: _gather(run, events_since, limit)))
    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(client.run(_worker(run)))
    return await client.run(_finish(run))


def _gather(run: _Run, events_since: timedelta, limit: int) -> None:
    page = run.store.open_collections(run.mode, limit=limit)
    run.work.extend(_Work(collection_id=row.id) for row in page.rows)
    since = run.core.clock.now() - events_since
    unchecked = run.store.unchecked_events(run.mode, since=since, limit=limit)
    run.work.extend(_Work(event=row) for row in unchecked.rows)
    run.total = len(run.work)


def _worker(run: _Run) -> Steps[None]:
    while run.work and run.found.stopped is None:
        work = run.work.popleft()
        try:
            if work.event is not None:
                yield from _check(run, work.event)
            elif work.collection_id is not None:
                yield from _ask(run, work.collection_id)
        except NotFound:
            name = work.collection_id or (work.event and work.event.id) or ""
            run.found.unknown = (*run.found.unknown, name)
        except StoreError:
            raise
        except KusanyaError as error:
            run.troubles += 1
            run.found.unanswered += 1
            run.found.trouble = str(error)
            if run.troubles >= _TROUBLES_MAX:
                run.found.stopped = str(error)
            continue
        run.troubles = 0
        run.tell()


def _ask(run: _Run, collection_id: str) -> Steps[None]:
    run.found.asked += 1
    found = yield from run.core.collection(collection_id)
    if not found.is_final:
        run.found.still_open += 1
        return
    yield from do(lambda: run.store.record(polled(found, at=run.core.clock.now())))
    after = yield from do(lambda: run.store.collection(collection_id))
    run.found.became_final += 1
    run.found.missing_events += after is not None and after.missing_event


def _check(run: _Run, event: EventRow) -> Steps[None]:
    found = yield from run.core.event(event.id)
    yield from do(lambda: run.store.record(event_checked(found, at=run.core.clock.now())))
    body = yield from do(lambda: run.store.delivery_body(event.delivery_id))
    run.found.events_checked += 1
    if body is not None and body.body is not None and not _says_the_same(found, body.body):
        run.found.events_differing = (*run.found.events_differing, event.id)


def _says_the_same(event: Event, delivered: bytes) -> bool:
    # As JSON values, the order of keys apart; both were decoded as events before.
    said: object = msgspec.json.decode(event.raw)
    told: object = msgspec.json.decode(delivered)
    return said == told


def _finish(run: _Run) -> Steps[CaughtUp]:
    now = run.core.clock.now()
    run.found.settled = yield from do(lambda: settle_waiting(run.store, now=now, mode=run.mode))
    return run.found
