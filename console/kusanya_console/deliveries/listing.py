"""The list of the Deliveries screen: what arrived, and what should have, among it."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar

from kusanya.filters import Filter
from kusanya.health import attempt_of
from kusanya.store.records import Order, Verdict
from kusanya.webhooks.schedule import ATTEMPTS
from kusanya_console.actions.context import AppContext
from kusanya_console.deliveries.cards import verdict
from kusanya_console.deliveries.missing import (
    Arrived,
    Missing,
    MissingBook,
    WithMissing,
    missing_id,
)
from kusanya_console.feed import Snapshot
from kusanya_console.lists.definition import DeliveryListing, Hours
from kusanya_console.lists.export import Value
from kusanya_console.lists.filtering import of_missing
from kusanya_console.lists.paging import PageSource
from kusanya_console.ui import vocabulary
from kusanya_console.ui.format import Line, Look, cell, format_instant
from kusanya_console.ui.vocabulary import MUTED, PLAIN, WARN, Run
from kusanya_console.widgets.record_table import Column


def _type(row: Arrived, _look: Look) -> Run:
    return (arrival_type(row), PLAIN)


def arrival_type(row: Arrived) -> str:
    """Return what an arrival is about; what a rejected one says is only claimed."""
    if isinstance(row, Missing):
        return "final by poll"
    said = vocabulary.event_type(row.event_type)
    return f"claims {said}" if row.verdict is Verdict.REJECTED and row.event_type else said


def _attempt(row: Arrived, _look: Look) -> Run:
    number = 0 if isinstance(row, Missing) else attempt_of(row)
    return ("?", WARN) if number is None else (f"{number}/{ATTEMPTS}", MUTED)


def _answer(row: Arrived, _look: Look) -> Run:
    return ("—", MUTED) if row.answer is None else (f"{row.answer}", PLAIN)


COLUMNS: tuple[Column[Arrived], ...] = (
    Column("arrived", 9, lambda row, look: (format_instant(row.arrived_at, look), MUTED)),
    Column("event", 10, lambda row, _: cell(row.event_id, limit=130), grows=18, names=True),
    Column("type", 16, _type),
    Column("endpoint", 8, lambda row, _: cell(row.endpoint, limit=40), rank=3, grows=8),
    Column("reference", 14, lambda row, _: cell(row.reference, limit=60), rank=4, grows=6),
    Column("verdict", 12, lambda row, _: verdict(row)),
    Column("try", 3, _attempt, right=True),
    Column("ans", 3, _answer, right=True),
)


class ArrivedListing:
    """The arrivals of one mode with the missing events among them, newest first."""

    records: ClassVar[str] = "deliveries"
    orders: ClassVar[tuple[Order, ...]] = (Order.CREATED,)

    def __init__(self, context: AppContext) -> None:
        self._desk = context
        self._arrivals = DeliveryListing(context)
        self.book = MissingBook(context.store, context.mode)

    def source(self, narrowed: Filter, order: Order) -> PageSource[Arrived]:
        """Return the list as narrowed; raises FilterError for a key that arrivals do not have."""
        arrivals = self._arrivals.source(narrowed, order)
        return WithMissing(arrivals, self.book, of_missing(narrowed, now=self._desk.clock.now()))

    def news(self, snapshot: Snapshot) -> frozenset[str]:
        """Return what came, and the payments with news: one may have become final by poll."""
        return snapshot.arrived | frozenset(missing_id(one) for one in snapshot.changed)

    def empty(self, narrowed: Filter) -> list[Line]:
        """Say what would stand here."""
        return self._arrivals.empty(narrowed)

    def exported(self) -> Mapping[str, Callable[[Any], Value]]:
        """Return the columns of an export; a missing event says so in its verdict."""
        # It has the fields of an arrival under their names, as far as it has them at all.
        return self._arrivals.exported()

    def instant(self, row: Arrived) -> datetime:
        """Return when it arrived, or when its absence was learned."""
        return row.arrived_at

    def hours(self) -> Hours:
        """Return how many arrived in each hour."""
        return self._arrivals.hours()
