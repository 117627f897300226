"""Missing events: final states that polling learned while no event has reported them.

The sender's log is not ours to read, so what did not arrive can only be told by what should have.
A book holds the newest of them: one bounded walk over what is not plainly well fills it, the feed's
news keep it. They stand among the arrivals, each at the moment its final state was learned.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec
from msgspec.structs import replace

from kusanya.health import SEEN_WITHIN, DeliveryPlan, Slot, SlotState
from kusanya.store import Store
from kusanya.store.records import CollectionFilter, CollectionRow, DeliveryRow, Key, Page
from kusanya.store.tables.values import delivery_id, to_us
from kusanya.webhooks.schedule import plan
from kusanya.wire import Mode
from kusanya_console.lists.paging import PageSource

HELD: Final = 500
_STEP: Final = 500
_STEPS: Final = 8
_BUDGET_S: Final = 0.15
_ID: Final = "missing:"


class Absent(StrEnum):
    """The verdict on what did not arrive, beside those on what did."""

    MISSING = "missing"
    CAME = "came since"


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """A final state without an event, with the fields of an arrival as far as it has them."""

    id: str
    seq: int
    arrived_at: datetime
    """When the final state was learned."""
    mode: Mode
    event_type: str
    event_created_at: datetime
    """When the event is due to have been made."""
    collection_id: str
    reference: str
    amount: int
    currency: str
    verdict: Absent = Absent.MISSING
    endpoint: str | None = None
    event_id: str | None = None
    reason: str | None = None
    answer: int | None = None
    took_us: int | None = None
    attempt: int | None = 0

    @property
    def key(self) -> Key:
        """Return its place among the arrivals."""
        return Key(to_us(self.arrived_at), self.id)


Arrived = DeliveryRow | Missing


def missing_id(collection_id: str) -> str:
    """Return the id of the row that stands for the missing event of a collection."""
    return f"{_ID}{collection_id}"


def missing_of(row: CollectionRow) -> Missing | None:
    """Return the missing event of a collection, or None where none is missing."""
    if row.final_seen_at is None or not row.missing_event:
        return None
    return Missing(
        id=missing_id(row.id),
        seq=row.seq,
        arrived_at=row.final_seen_at,
        mode=row.mode,
        event_type=f"collection.{row.status}",
        event_created_at=row.completed_at or row.final_seen_at,
        collection_id=row.id,
        reference=row.reference,
        amount=row.amount,
        currency=row.currency,
    )


def missing_plan(row: Missing, *, now: datetime) -> DeliveryPlan:
    """Return the attempts that the sender must have made, and those still to come."""
    slots = tuple(
        Slot(
            number=number,
            at=at,
            state=SlotState.NOT_SEEN if at + SEEN_WITHIN < now else SlotState.PLANNED,
        )
        for number, at in enumerate(plan(first_at=row.event_created_at), start=1)
    )
    return DeliveryPlan(slots=slots, delivered=False)


class MissingBook:
    """The newest missing events of one mode; every method may run on any thread."""

    def __init__(
        self, store: Store, mode: Mode, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._mode = mode
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._rows: dict[str, Missing] = {}
        self._came: dict[str, Missing] = {}
        self._walked = False
        self.known_since: datetime | None = None
        """How far back the walk came before its time was up; None when it saw everything."""

    @property
    def rows(self) -> tuple[Missing, ...]:
        """Return what is missing, newest first."""
        with self._lock:
            return tuple(sorted(self._rows.values(), key=_place, reverse=True))

    def is_cut_after(self, at: datetime) -> bool:
        """Tell whether more may be missing since `at` than the book holds."""
        with self._lock:
            oldest = min((row.arrived_at for row in self._rows.values()), default=None)
            full = len(self._rows) >= HELD and oldest is not None and oldest >= at
        return full or (self.known_since is not None and self.known_since > at)

    def stale(self) -> None:
        """Forget: the next `fill` walks again."""
        self._walked = False

    def fill(self) -> None:
        """Walk once over the newest that are not plainly well, for a bounded time."""
        if self._walked:
            return
        self._walked = True
        until = self._monotonic() + _BUDGET_S
        where, edge = CollectionFilter(unwell=True), None
        found: dict[str, Missing] = {}
        for _ in range(_STEPS):
            page = self._store.collections.page(
                self._mode, where=where, older_than=edge, limit=_STEP
            )
            found |= {one.id: one for row in page.rows if (one := missing_of(row)) is not None}
            edge = page.rows[-1].key if page.rows else None
            if not page.more or edge is None:
                self.known_since = None
                break
            self.known_since = page.rows[-1].created_at
            if self._monotonic() >= until or len(found) >= HELD:
                break
        with self._lock:
            self._rows = found

    def learn(self, names: Iterable[str]) -> None:
        """Look again at the collections among `names` (ids of rows) that have news."""
        ids = [name.removeprefix(_ID) for name in names if name.startswith(_ID)]
        if not ids:
            return
        found = self._store.collections.by_id(sorted(ids), self._mode)
        with self._lock:
            for row in found.values():
                one, name = missing_of(row), missing_id(row.id)
                if one is not None:
                    self._rows[name] = one
                elif (gone := self._rows.pop(name, None)) is not None:
                    self._came[name] = replace(gone, verdict=Absent.CAME, seq=row.seq)
            while len(self._rows) > HELD:
                del self._rows[min(self._rows, key=lambda name: _place(self._rows[name]))]
            while len(self._came) > HELD:
                del self._came[next(iter(self._came))]

    def again(self, ids: Iterable[str]) -> dict[str, Missing]:
        """Return known rows in their present form, also those whose event came meanwhile."""
        with self._lock:
            return {
                name: row
                for name in ids
                if (row := self._rows.get(name) or self._came.get(name)) is not None
            }


def _place(row: Missing) -> tuple[int, str]:
    return (to_us(row.arrived_at), row.id)


class WithMissing:
    """Arrivals with the missing events among them, newest first.

    At one instant an arrival stands above a missing event, so that each list can be entered at a
    key of the other.
    """

    def __init__(
        self,
        arrivals: PageSource[DeliveryRow],
        book: MissingBook,
        passes: Callable[[Missing], bool],
    ) -> None:
        self._arrivals = arrivals
        self._book = book
        self._passes = passes

    @property
    def stopped_at(self) -> Key | None:
        """Return where the search among the arrivals ran out of time."""
        return self._arrivals.stopped_at

    @property
    def tests_rows(self) -> bool:
        """Tell whether arrivals are tested one by one."""
        return self._arrivals.tests_rows

    def key(self, row: Arrived) -> Key:
        """Return the place of a row."""
        return row.key

    def page(self, *, older_than: Key | None, newer_than: Key | None, limit: int) -> Page[Arrived]:
        """Return the page next to a key, or the newest."""
        self._book.fill()
        found = self._arrivals.page(
            older_than=None if older_than is None else _among_arrivals(older_than),
            newer_than=None if newer_than is None else _among_arrivals(newer_than),
            limit=limit,
        )
        held = [row for row in self._book.rows if self._passes(row)]
        if newer_than is not None:
            return _upwards(found, held, newer_than, limit)
        if older_than is not None:
            held = [row for row in held if _rank(row.key) < _rank(older_than)]
        stop = self._arrivals.stopped_at
        if found.more and (found.rows or stop is not None):
            # What lies beyond the last arrival of this page belongs to the next one.
            last = stop or found.rows[-1].key
            inside = [row for row in held if _rank(row.key) > _rank(last)]
        else:
            inside = held
        merged: list[Arrived] = sorted([*found.rows, *inside], key=_row_rank, reverse=True)
        more = found.more or len(merged) > limit or len(inside) < len(held)
        return Page(tuple(merged[:limit]), more=more)

    def again(self, ids: Sequence[str]) -> Mapping[str, Arrived]:
        """Return the present form of known rows."""
        self._book.learn(ids)
        known: dict[str, Arrived] = {
            name: row for name, row in self._book.again(ids).items() if self._passes(row)
        }
        return {**known, **self._arrivals.again([name for name in ids if not name.startswith(_ID)])}


def _upwards(
    found: Page[DeliveryRow], held: list[Missing], newer_than: Key, limit: int
) -> Page[Arrived]:
    held = [row for row in held if _rank(row.key) > _rank(newer_than)]
    inside = held
    if found.more and found.rows:
        inside = [row for row in held if _rank(row.key) < _rank(found.rows[0].key)]
    merged: list[Arrived] = sorted([*found.rows, *inside], key=_row_rank, reverse=True)
    more = found.more or len(merged) > limit or len(inside) < len(held)
    return Page(tuple(merged[-limit:]), more=more)


def _rank(key: Key) -> tuple[int, bool, str]:
    return (key.value, not key.id.startswith(_ID), key.id)


def _row_rank(row: Arrived) -> tuple[int, bool, str]:
    return _rank(row.key)


def _among_arrivals(key: Key) -> Key:
    # Below every arrival of its instant: a missing event stands under them.
    return Key(key.value, delivery_id(0)) if key.id.startswith(_ID) else key
