"""The list of the Deliveries screen: what arrived, and what should have, among it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from kusanya.filters import Filter
from kusanya.store.records import (
    MISSING_ID,
    DeliveryRow,
    Key,
    MissingEventRow,
    MissingEventStatus,
    Page,
    SortOrder,
    Verdict,
    missing_event,
)
from kusanya.webhooks.schedule import ATTEMPTS
from kusanya_console.actions.context import AppContext, Selection
from kusanya_console.actions.messages import copyable
from kusanya_console.deliveries.cards import verdict
from kusanya_console.deliveries.filtering import (
    DELIVERY_KEYS,
    DeliveryRecord,
    attempt_number,
    delivery_query,
)
from kusanya_console.lists.definition import PAYMENT_GRAMMAR, RAIL, Hours, ListDefinition, sum_hours
from kusanya_console.lists.export import Value, format_exact, masked
from kusanya_console.lists.paging import ListPages
from kusanya_console.ui import vocabulary
from kusanya_console.ui.columns import Column
from kusanya_console.ui.format import Look, cell, format_listed_instant, format_text
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import MUTED, PLAIN, Run


def _arrived(row: DeliveryRecord, look: Look) -> Run:
    return format_listed_instant(row.arrived_at, look), MUTED


def _type(row: DeliveryRecord, _look: Look) -> Run:
    return (arrival_type(row), PLAIN)


def arrival_type(row: DeliveryRecord) -> str:
    """Return what an arrival is about; what a rejected one says is only claimed."""
    if isinstance(row, MissingEventRow):
        return translate("final by poll")
    said = vocabulary.event_type(row.event_type)
    return (
        f"{translate('claims')} {said}"
        if row.verdict is Verdict.REJECTED and row.event_type
        else said
    )


def _attempt(row: DeliveryRecord, look: Look) -> Run:
    number = attempt_number(row, now=look.now)
    if number is not None:
        return f"{number}/{ATTEMPTS}", MUTED
    return vocabulary.attempt_sign(row) if isinstance(row, DeliveryRow) else ("", MUTED)


def _answer(row: DeliveryRecord, _look: Look) -> Run:
    return ("—", MUTED) if row.answer is None else (f"{row.answer}", PLAIN)


FIELDS: Final[Mapping[str, Callable[[DeliveryRecord], Value]]] = {
    "arrived_at": lambda row: format_exact(row.arrived_at),
    "mode": lambda row: row.mode.value,
    "endpoint": lambda row: row.endpoint,
    "verdict": lambda row: row.verdict.value,
    "reason": lambda row: row.reason,
    "answer": lambda row: row.answer,
    "took_us": lambda row: row.took_us,
    "event_id": lambda row: row.event_id,
    "event_type": lambda row: row.event_type,
    "collection_id": lambda row: row.collection_id,
    "reference": lambda row: masked(row.reference),
    "amount": lambda row: row.amount,
    "currency": lambda row: row.currency,
}
COLUMNS: tuple[Column[DeliveryRecord], ...] = (
    Column("arrived", 9, _arrived, whole=True, order=SortOrder.CREATED),
    Column("event", 10, lambda row, _: cell(row.event_id, limit=130), grows=18, names=True,
           key="event"),
    Column("type", 16, _type, rank=1),
    Column("endpoint", 8, lambda row, _: cell(row.endpoint, limit=40), rank=3, grows=8,
           key="endpoint"),
    Column("reference", 14, lambda row, _: cell(row.reference, limit=60), rank=4, grows=6,
           names=True, key="ref"),
    Column("verdict", 12, lambda row, _: verdict(row), whole=True),
    Column("try", 3, _attempt, right=True, whole=True),
    Column("ans", 3, _answer, right=True, whole=True),
    Column("reason", 16, lambda row, _: cell(row.reason, limit=60), rank=7, extra=True,
           key="reason"),
)  # fmt: skip


def _pages(context: AppContext, query: Filter, _order: SortOrder) -> ListPages[DeliveryRecord]:
    store, mode = context.store, context.mode
    where, test = delivery_query(query, now=context.clock.now())

    def page(older: Key | None, newer: Key | None, limit: int) -> Page[DeliveryRecord]:
        return store.deliveries.page_with_missing(
            mode, where=where, older_than=older, newer_than=newer, limit=limit
        )

    def refetch(ids: Sequence[str]) -> dict[str, DeliveryRecord]:
        polled = [name.removeprefix(MISSING_ID) for name in ids if name.startswith(MISSING_ID)]
        rows = map(missing_event, store.collections.by_id(polled, mode).values())
        missing: dict[str, DeliveryRecord] = {row.id: row for row in rows if row is not None}
        return missing | store.deliveries.by_id(ids)

    return ListPages(
        page, refetch=refetch, key=lambda row: row.key, test=test, departed=_with_its_event
    )


def _with_its_event(row: DeliveryRecord) -> DeliveryRecord:
    """Return the line of a missing event whose event has arrived meanwhile."""
    if not isinstance(row, MissingEventRow) or row.verdict is MissingEventStatus.ARRIVED:
        return row
    return replace(row, verdict=MissingEventStatus.ARRIVED, seq=row.seq + 1)


def _hours(context: AppContext) -> Hours:
    now = context.clock.now()
    rows = context.store.rollups.deliveries(
        context.mode, since=now - RAIL, until=now + timedelta(hours=1)
    )
    return sum_hours((row.hour, row.count) for row in rows)


def _selection(row: DeliveryRecord) -> Selection:
    """Return the event on a line, with the collection that it is about."""
    return Selection(
        name=format_text(row.reference or row.event_id or translate("this arrival"), 60),
        collection_id=row.collection_id,
        event_id=row.event_id,
        copied=row.event_id or copyable(row.reference or "", row.id),
    )


DELIVERY_LIST: ListDefinition[DeliveryRecord] = ListDefinition(
    records="deliveries",
    columns=COLUMNS,
    keys=DELIVERY_KEYS,
    grammar=PAYMENT_GRAMMAR,
    pages=_pages,
    # A payment with news may have become final by a poll, or its event may have arrived.
    changed_ids=lambda snapshot: (
        snapshot.arrived | {f"{MISSING_ID}{name}" for name in snapshot.changed}
    ),
    selection=_selection,
    instant=lambda row: row.arrived_at,
    hours=_hours,
    fields=FIELDS,
    empty=(
        "No delivery has arrived in {mode} yet.",
        "Each arrives at the receiver and stands here with its verdict,",
        "the rejected ones too. ? lists the keys.",
    ),
    nothing_passes="No delivery in {mode} passes the filter. esc clears it.",
)
