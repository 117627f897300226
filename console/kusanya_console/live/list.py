"""The list of the Live screen: collections, newest first."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final

from kusanya.filters import Filter
from kusanya.privacy import mask_phone
from kusanya.store.records import CollectionRow, Key, Page, SortOrder
from kusanya_console.actions.context import AppContext, Selection
from kusanya_console.actions.messages import copyable
from kusanya_console.lists.definition import PAYMENT_GRAMMAR, RAIL, Hours, ListDefinition, sum_hours
from kusanya_console.lists.export import Value, format_exact, masked
from kusanya_console.lists.paging import ListPages
from kusanya_console.live.filtering import COLLECTION_KEYS, collection_query
from kusanya_console.ui import vocabulary
from kusanya_console.ui.columns import Column
from kusanya_console.ui.format import Look, cell, format_listed_instant, format_money, format_text
from kusanya_console.ui.vocabulary import MUTED, PLAIN, Run


def _net(row: CollectionRow, _look: Look) -> Run:
    return ("—", MUTED) if row.net is None else (f"{row.net:,}", PLAIN)


def _amount(row: CollectionRow, _look: Look) -> Run:
    return format_money(row.amount, row.currency, expected="TZS"), PLAIN


def _created(row: CollectionRow, look: Look) -> Run:
    return format_listed_instant(row.created_at, look), MUTED


def _final(row: CollectionRow, look: Look) -> Run:
    return format_listed_instant(row.final_seen_at, look), MUTED


FIELDS: Final[Mapping[str, Callable[[CollectionRow], Value]]] = {
    "created_at": lambda row: format_exact(row.created_at),
    "completed_at": lambda row: format_exact(row.completed_at),
    "mode": lambda row: row.mode.value,
    "reference": lambda row: masked(row.reference),
    "id": lambda row: row.id,
    "status": lambda row: row.status,
    "amount": lambda row: row.amount,
    "fee": lambda row: row.fee,
    "net": lambda row: row.net,
    "currency": lambda row: row.currency,
    "channel": lambda row: row.channel,
    "phone": lambda row: mask_phone(row.phone),
    "failure_code": lambda row: row.failure_code,
    "event_id": lambda row: row.event_id,
}
COLUMNS: Final[tuple[Column[CollectionRow], ...]] = (
    Column("created", 9, _created, whole=True, order=SortOrder.CREATED),
    Column("final", 9, _final, whole=True, order=SortOrder.FINAL, extra=True),
    Column("reference", 10, lambda row, _: cell(row.reference, limit=60), names=True, whole=True,
           key="ref"),
    Column("channel", 12, lambda row, _: (vocabulary.channel(row.channel), PLAIN), rank=1),
    Column("phone", 12, lambda row, _: (mask_phone(row.phone), PLAIN), rank=4, key="phone"),
    Column("amount TZS", 10, _amount, right=True, whole=True, order=SortOrder.AMOUNT),
    Column("fee", 6, lambda row, _: (f"{row.fee:,}", MUTED), right=True, rank=2, whole=True),
    Column("net", 10, _net, right=True, rank=3, whole=True),
    # One cell for both: a column for the code alone would have no room beside the card.
    Column("status", 16, lambda row, _: vocabulary.with_code(vocabulary.status(row.status), row),
           grows=19, key="code", shorter=vocabulary.code_alone),
    Column("description", 20, lambda row, _: cell(row.description, limit=60), rank=5, grows=20,
           key="description", extra=True),
    Column("id", 20, lambda row, _: cell(row.id, MUTED, limit=60), rank=6, grows=10, names=True,
           key="id", extra=True),
)  # fmt: skip


def _pages(context: AppContext, query: Filter, order: SortOrder) -> ListPages[CollectionRow]:
    store, mode = context.store, context.mode
    where, test = collection_query(query, now=context.clock.now())

    def page(older: Key | None, newer: Key | None, limit: int) -> Page[CollectionRow]:
        return store.collections.page(
            mode, where=where, order=order, older_than=older, newer_than=newer, limit=limit
        )

    def refetch(ids: Sequence[str]) -> dict[str, CollectionRow]:
        return store.collections.by_id(ids, mode)

    return ListPages(page, refetch=refetch, key=lambda row: row.key_in(order), test=test)


def _hours(context: AppContext) -> Hours:
    now = context.clock.now()
    rows = context.store.rollups.collections(
        context.mode, since=now - RAIL, until=now + timedelta(hours=1)
    )
    return sum_hours((row.hour, row.count) for row in rows)


def _selection(row: CollectionRow) -> Selection:
    return Selection(
        name=format_text(row.reference, 60),
        collection_id=row.id,
        copied=copyable(row.reference, row.id),
    )


COLLECTION_LIST: ListDefinition[CollectionRow] = ListDefinition(
    records="collections",
    columns=COLUMNS,
    keys=COLLECTION_KEYS,
    grammar=PAYMENT_GRAMMAR,
    pages=_pages,
    changed_ids=lambda snapshot: snapshot.changed,
    selection=_selection,
    instant=lambda row: row.created_at,
    hours=_hours,
    fields=FIELDS,
    empty=(
        "No collection in {mode} yet.",
        "Each one appears here with its first answer, event or poll.",
        "? lists the keys, 3 looks up a reference.",
    ),
    nothing_passes="Nothing in {mode} passes the filter. esc clears it.",
)
