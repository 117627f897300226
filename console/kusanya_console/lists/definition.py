"""What the two long lists are lists of: where their records come from, and what an empty one says.

A `Listing` is all that the list's screen knows about its records.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar, Final, Protocol, TypeVar

from kusanya.filters import Filter
from kusanya.store.records import CollectionRow, DeliveryRow, Order
from kusanya_console.actions.context import AppContext
from kusanya_console.feed import Snapshot
from kusanya_console.lists.export import COLLECTIONS, DELIVERIES, Value
from kusanya_console.lists.filtering import NarrowedSource, of_collections, of_deliveries
from kusanya_console.lists.paging import CollectionSource, DeliverySource, PageSource
from kusanya_console.ui import vocabulary
from kusanya_console.ui.format import Line
from kusanya_console.ui.vocabulary import MUTED, PLAIN
from kusanya_console.widgets.window import Row

R = TypeVar("R", bound=Row)
Hours = Sequence[tuple[datetime, int]]
"""Full hours, oldest first, each with how many records it has."""
RAIL: Final = timedelta(days=7)
"""How much time the rail beside a list stands for."""
ORDER_WORDS: Final[Mapping[Order, str]] = {
    Order.CREATED: "newest first",
    Order.FINAL: "latest final first",
    Order.AMOUNT: "largest first",
}


class Listing(Protocol[R]):
    """One kind of record: what its list reads, what is news to it, what it exports."""

    @property
    def records(self) -> str:
        """Return what stands in the list, for the name of an export."""
        ...

    @property
    def orders(self) -> tuple[Order, ...]:
        """Return the orders that have an index, the usual one first."""
        ...

    def source(self, narrowed: Filter, order: Order) -> PageSource[R]:
        """Return the list as narrowed; raises FilterError for a key it does not have."""
        ...

    def news(self, snapshot: Snapshot) -> frozenset[str]:
        """Return the ids of this list's records that a snapshot tells about."""
        ...

    def empty(self, narrowed: Filter) -> list[Line]:
        """Return what an empty list says: what would stand here, and which key helps."""
        ...

    def exported(self) -> Mapping[str, Callable[[R], Value]]:
        """Return the columns of an export, each with what it says about a record."""
        ...

    def instant(self, row: R) -> datetime:
        """Return where a record stands in time."""
        ...

    def hours(self) -> Hours:
        """Return the hours of the rail's days that have records; reads rollups alone."""
        ...


class CollectionListing:
    """The collections of one mode."""

    records: ClassVar[str] = "collections"
    orders: ClassVar[tuple[Order, ...]] = (Order.CREATED, Order.FINAL, Order.AMOUNT)

    def __init__(self, context: AppContext) -> None:
        self._desk = context

    def source(self, narrowed: Filter, order: Order) -> PageSource[CollectionRow]:
        """Return the list as narrowed: what has an index is sought, the rest tested."""
        where, test = of_collections(narrowed, now=self._desk.clock.now())
        context = self._desk
        source = CollectionSource(context.store, mode=context.mode, where=where, order=order)
        return source if test is None else NarrowedSource(source, test)

    def news(self, snapshot: Snapshot) -> frozenset[str]:
        """Return the collections with news."""
        return snapshot.changed

    def empty(self, narrowed: Filter) -> list[Line]:
        """Say what would stand here."""
        mode, _ = vocabulary.mode_words(self._desk.mode)
        if narrowed:
            return [((f"Nothing in {mode} passes the filter. esc clears it.", MUTED),)]
        return [
            ((f"No collection in {mode} yet.", PLAIN),),
            (("Each one appears here with its first answer, event or poll.", MUTED),),
            (("? lists the keys, 3 looks up a reference.", MUTED),),
        ]

    def exported(self) -> Mapping[str, Callable[[CollectionRow], Value]]:
        """Return the columns of an export."""
        return COLLECTIONS

    def instant(self, row: CollectionRow) -> datetime:
        """Return when it was created."""
        return row.created_at

    def hours(self) -> Hours:
        """Return how many were created in each hour."""
        now = self._desk.clock.now()
        rows = self._desk.store.rollups.collections(
            self._desk.mode, since=now - RAIL, until=now + timedelta(hours=1)
        )
        return _summed((row.hour, row.count) for row in rows)


class DeliveryListing:
    """The deliveries of one mode, in the order of their arrival."""

    records: ClassVar[str] = "deliveries"
    orders: ClassVar[tuple[Order, ...]] = (Order.CREATED,)

    def __init__(self, context: AppContext) -> None:
        self._desk = context

    def source(self, narrowed: Filter, order: Order) -> PageSource[DeliveryRow]:  # noqa: ARG002 - they have one order
        """Return the list as narrowed: what has an index is sought, the rest tested."""
        where, test = of_deliveries(narrowed, now=self._desk.clock.now())
        source = DeliverySource(self._desk.store, mode=self._desk.mode, where=where)
        return source if test is None else NarrowedSource(source, test)

    def news(self, snapshot: Snapshot) -> frozenset[str]:
        """Return the deliveries that came."""
        return snapshot.arrived

    def empty(self, narrowed: Filter) -> list[Line]:
        """Say what would stand here."""
        mode, _ = vocabulary.mode_words(self._desk.mode)
        if narrowed:
            return [((f"No delivery in {mode} passes the filter. esc clears it.", MUTED),)]
        return [
            ((f"No delivery has arrived in {mode} yet.", PLAIN),),
            (("Each arrives at the receiver and stands here with its verdict,", MUTED),),
            (("the rejected ones too. ? lists the keys.", MUTED),),
        ]

    def exported(self) -> Mapping[str, Callable[[DeliveryRow], Value]]:
        """Return the columns of an export."""
        return DELIVERIES

    def instant(self, row: DeliveryRow) -> datetime:
        """Return when it arrived."""
        return row.arrived_at

    def hours(self) -> Hours:
        """Return how many arrived in each hour."""
        now = self._desk.clock.now()
        rows = self._desk.store.rollups.deliveries(
            self._desk.mode, since=now - RAIL, until=now + timedelta(hours=1)
        )
        return _summed((row.hour, row.count) for row in rows)


def _summed(counted: Iterable[tuple[datetime, int]]) -> Hours:
    hours: Counter[datetime] = Counter()
    for hour, count in counted:
        hours[hour] += count
    return sorted((hour, count) for hour, count in hours.items() if count > 0)
