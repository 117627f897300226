"""The background poller: rounds of looks at open collections, within a budget of requests."""

import zlib
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import msgspec

from kusanya.client.core import Core
from kusanya.client.effects import Steps, do, sleep
from kusanya.client.observed import polled
from kusanya.clock import Clock
from kusanya.errors import KusanyaError, NotFound, StoreError
from kusanya.intents import settle_waiting
from kusanya.store import Store
from kusanya.store.records import CollectionRow, Key
from kusanya.watch.schedule import FIRST_LOOK, next_look
from kusanya.wire import Collection, Mode

_NAP_S: Final = 1.0
"""The longest pause between two looks at `stop`."""


class Rhythm(msgspec.Struct, frozen=True, kw_only=True):
    """How much the poller asks."""

    every: timedelta = timedelta(seconds=5)
    """From the end of one round to the beginning of the next."""
    budget: int = 20
    """The most requests of one round."""
    apart_s: float = 0.1
    """The pause between two requests of a round."""
    scan: int = 1_000
    """The most open collections that one round considers; the next goes on from there."""


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """What one round did."""

    asked: int = 0
    became_final: int = 0
    missing_events: int = 0
    """Final states learned here of which no event had told."""
    unknown: int = 0
    """Collections that the service does not know; shown, never removed."""
    settled: int = 0
    """Intents settled by what is known of their collections."""
    trouble: str | None = None
    """Why the round ended early; the next one tries again."""


class Memory:
    """When each open collection was last looked at; lost with the process, which costs a look."""

    def __init__(self) -> None:
        self.looks: dict[str, tuple[int, datetime]] = {}
        self.cursor: Key | None = None


def rounds(
    store: Store,
    core: Core,
    *,
    stop: Callable[[], bool],
    rhythm: Rhythm | None = None,
    told: Callable[[Round], None] | None = None,
) -> Steps[None]:
    """Make rounds until `stop()`; each is reported to `told`.

    Run by a client: `client.run(rounds(store, client.core, stop=event.is_set))`. Troubles of the
    service end a round, never the poller; an error of the store ends it.
    """
    pace = rhythm or Rhythm()
    memory = Memory()
    while not stop():
        made = yield from look(store, core, memory, rhythm=pace)
        if told is not None:
            told(made)
        left_s = pace.every.total_seconds()
        while left_s > 0 and not stop():
            yield from sleep(min(left_s, _NAP_S))
            left_s -= _NAP_S


def look(store: Store, core: Core, memory: Memory, *, rhythm: Rhythm) -> Steps[Round]:
    """Make one round: look at what is due, keep what is new, settle intents. Durable on return."""
    if core.mode is None:
        raise ValueError("the client's API key does not tell its mode: pass mode=")
    due = yield from do(partial(_due, store, core.clock, core.mode, memory, rhythm))
    made = Round()
    for row in due:
        if made.asked:
            yield from sleep(rhythm.apart_s)
        looks, _ = memory.looks.get(row.id, (0, row.created_at))
        try:
            found = yield from core.collection(row.id)
        except NotFound:
            made = msgspec.structs.replace(made, asked=made.asked + 1, unknown=made.unknown + 1)
        except StoreError:
            raise
        except KusanyaError as error:
            # Whatever it is, asking for the next one now would not go better.
            made = msgspec.structs.replace(made, asked=made.asked + 1, trouble=str(error))
            break
        else:
            made = yield from _keep(store, core.clock, row, found, made)
        memory.looks[row.id] = (looks + 1, core.clock.now())
    settled = yield from do(lambda: settle_waiting(store, now=core.clock.now(), mode=core.mode))
    return msgspec.structs.replace(made, settled=settled)


def _keep(
    store: Store, clock: Clock, row: CollectionRow, found: Collection, made: Round
) -> Steps[Round]:
    made = msgspec.structs.replace(made, asked=made.asked + 1)
    if not found.is_final and found.status == row.status:
        return made  # nothing that is not known: looking leaves no rows behind
    yield from do(lambda: store.record(polled(found, at=clock.now())))
    if not found.is_final:
        return made
    after = yield from do(lambda: store.collection(found.id))
    return msgspec.structs.replace(
        made,
        became_final=made.became_final + 1,
        missing_events=made.missing_events + (after is not None and after.missing_event),
    )


def _due(
    store: Store, clock: Clock, mode: Mode, memory: Memory, rhythm: Rhythm
) -> list[CollectionRow]:
    now = clock.now()
    overdue = now - FIRST_LOOK[mode]
    page = store.open_collections(
        mode, created_before=overdue, after=memory.cursor, limit=rhythm.scan
    )
    due: list[CollectionRow] = []
    for row in page.rows:
        if len(due) == rhythm.budget:
            break
        memory.cursor = row.key
        looks, last_at = memory.looks.get(row.id, (0, now))
        if looks and next_look(looks=looks, last_at=last_at, chance=_spread(row.id)) > now:
            continue
        due.append(row)
    else:
        if not page.more:
            memory.cursor = None
            _forget(memory, now)
    return due


def _spread(collection_id: str) -> float:
    # The same for a collection in every round; what matters is that it differs among them.
    return (zlib.crc32(collection_id.encode()) & 0xFFFF) / 0xFFFF


def _forget(memory: Memory, now: datetime) -> None:
    # What has not been looked at for a day is final or will be looked at anew.
    old = now - timedelta(days=1)
    memory.looks = {known: seen for known, seen in memory.looks.items() if seen[1] > old}
