"""Live: what is moving? Counts, the newest collections, and the record under the cursor."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from kusanya.filters import Filter
from kusanya.privacy import mask_phone
from kusanya.store.records import CollectionRow, Key, Page, SortOrder
from kusanya_console.actions.context import AppContext, Selection
from kusanya_console.actions.messages import TimelineRequested, copy_reference, copyable
from kusanya_console.collections.detail import PARTS, part_of
from kusanya_console.collections.evidence import Evidence, gather
from kusanya_console.commands import bindings_of
from kusanya_console.feed import Snapshot
from kusanya_console.lists.definition import RAIL, Hours, ListDefinition, sum_hours
from kusanya_console.lists.export import COLLECTIONS
from kusanya_console.lists.figures import collection_figures
from kusanya_console.lists.filtering import COLLECTION_KEYS, collection_query
from kusanya_console.lists.list_screen import ListScreen
from kusanya_console.lists.paging import ListPages
from kusanya_console.ui import vocabulary
from kusanya_console.ui.columns import Column
from kusanya_console.ui.format import Look, cell, format_listed_instant, format_money, format_text
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import MUTED, PLAIN, Run
from kusanya_console.widgets.sheet import Sheet


def _net(row: CollectionRow, _look: Look) -> Run:
    return ("—", MUTED) if row.net is None else (f"{row.net:,}", PLAIN)


def _amount(row: CollectionRow, _look: Look) -> Run:
    return format_money(row.amount, row.currency, expected="TZS"), PLAIN


def _code(row: CollectionRow, _look: Look) -> Run:
    return cell(row.failure_code, limit=40) if row.failure_code else ("", PLAIN)


def _created(row: CollectionRow, look: Look) -> Run:
    return format_listed_instant(row.created_at, look), MUTED


def _final(row: CollectionRow, look: Look) -> Run:
    return format_listed_instant(row.final_seen_at, look), MUTED


COLUMNS: Final[tuple[Column[CollectionRow], ...]] = (
    Column("created", 9, _created, whole=True, order=SortOrder.CREATED),
    Column("final", 9, _final, whole=True, order=SortOrder.FINAL, extra=True),
    Column("reference", 10, lambda row, _: cell(row.reference, limit=60), grows=14, names=True,
           whole=True, key="ref"),
    Column("channel", 12, lambda row, _: (vocabulary.channel(row.channel), PLAIN), rank=1),
    Column("phone", 12, lambda row, _: (mask_phone(row.phone), PLAIN), rank=4, key="phone"),
    Column("amount TZS", 10, _amount, right=True, grows=2, order=SortOrder.AMOUNT),
    Column("fee", 6, lambda row, _: (f"{row.fee:,}", MUTED), right=True, rank=2, grows=1),
    Column("net", 10, _net, right=True, rank=3),
    Column("status", 15, lambda row, _: vocabulary.status(row.status)),
    Column("code", 22, _code, rank=5, key="code"),
    Column("description", 20, lambda row, _: cell(row.description, limit=60), rank=6, grows=20,
           key="description", extra=True),
    Column("id", 20, lambda row, _: cell(row.id, MUTED, limit=60), rank=7, grows=10, names=True,
           key="id", extra=True),
)  # fmt: skip


def _pages(context: AppContext, query: Filter, order: SortOrder) -> ListPages[CollectionRow]:
    store, mode = context.store, context.mode
    where, test = collection_query(query, now=context.clock.now())
    by_final = order is SortOrder.FINAL

    def page(older: Key | None, newer: Key | None, limit: int) -> Page[CollectionRow]:
        return store.collections.page(
            mode, where=where, order=order, older_than=older, newer_than=newer, limit=limit
        )

    def refetch(ids: Sequence[str]) -> dict[str, CollectionRow]:
        found = store.collections.by_id(ids, mode)
        return {name: row for name, row in found.items() if row.final_seen_at or not by_final}

    def key(row: CollectionRow) -> Key:
        # One that is not final has no place there: its neighbours are those of its creation.
        return row.key if by_final and row.final_seen_at is None else row.key_in(order)

    return ListPages(page, refetch=refetch, key=key, test=test)


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
    pages=_pages,
    changed_ids=lambda snapshot: snapshot.changed,
    selection=_selection,
    instant=lambda row: row.created_at,
    hours=_hours,
    fields=COLLECTIONS,
    empty=(
        "No collection in {mode} yet.",
        "Each one appears here with its first answer, event or poll.",
        "? lists the keys, 3 looks up a reference.",
    ),
    nothing_passes="Nothing in {mode} passes the filter. esc clears it.",
)


class LiveScreen(ListScreen[CollectionRow]):
    """The collections of one mode, newest first."""

    NAME = "live"
    CRUMB = "Live"
    BINDINGS = bindings_of(NAME)
    PARTS = PARTS

    def __init__(self, context: AppContext) -> None:
        super().__init__(context, COLLECTION_LIST)
        self._found: Evidence | None = None

    def advance(self, snapshot: Snapshot) -> None:
        """Show the counts, then the list."""
        self.query_one("#figures", Sheet).show(
            lambda width: collection_figures(snapshot, width, short=self.size.height < 30)  # noqa: PLR2004
        )
        super().advance(snapshot)

    def on_record_table_highlighted(self) -> None:
        """Show the card of the record that the cursor reached, then fetch its story.

        Where the cursor follows the newest, both come at once: nobody waits for the first alone.
        """
        if self.table.follow and self.table.row is not None:
            self._fetch_story()
            return
        self._show_card()
        self.when_rested(self._fetch_story)

    def changed(self, ids: frozenset[str]) -> None:
        """Fetch the story again when its record has news."""
        if self.table.cursor in ids:
            self._fetch_story()

    def _fetch_story(self) -> None:
        row_id, store, look = self.table.cursor, self.context.store, self.context.look
        mode = self.context.mode
        if row_id is not None:
            claimed = self.context.is_claimed(row_id)
            self.fetch("story", lambda: gather(store, row_id, mode, look, is_claimed=claimed))

    def show_fetched(self, what: str, value: Any) -> None:
        """Show a story when it is the one of the cursor's record."""
        super().show_fetched(what, value)
        if what == "story":
            self._found = value
            self._show_card()

    def fetch_failed(self, what: str) -> None:
        """Show the card without its story where that cannot be read."""
        super().fetch_failed(what)
        if what == "story":
            self._show_card()

    def fetch_broke(self, what: str) -> None:
        """Show the card without its story where that cannot be read."""
        super().fetch_broke(what)
        if what == "story":
            self._show_card()

    def restyle(self) -> None:
        """Draw list and card in the new time format."""
        super().restyle()
        self._show_card()

    def show_part(self) -> None:
        """Show the part of the card that was asked for."""
        self._show_card()

    def _show_card(self) -> None:
        row, found = self.table.row, self._found
        card = self.query_one("#card", Sheet)
        if row is None:
            card.show(lambda _width: [((translate("j and k move to a record"), MUTED),)])
            return
        mine = found if found is not None and found.story.row.id == row.id else None
        look, part = self.context.look, self.part
        card.show(lambda width: part_of(row, mine, look, width, part=part))

    def action_open(self) -> None:
        """Open the whole story on the Lookup screen."""
        if self.table.cursor is not None:
            self.post_message(TimelineRequested(self.table.cursor))

    def action_copy_id(self) -> None:
        """Copy the reference of the record under the cursor, or those of all that are marked."""
        if not self.copy_marked() and self.table.row is not None:
            self.post_message(copy_reference(self.table.row.reference, self.table.row.id))
