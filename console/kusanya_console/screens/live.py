"""Live: what is moving? Counts, the newest collections, and the record under the cursor."""

from collections.abc import Callable, Mapping
from typing import Any

from kusanya.filters import Filter
from kusanya.lookup import Story, story
from kusanya.privacy import mask_phone
from kusanya.store.records import CollectionRow
from kusanya.text import safe
from kusanya_console import words
from kusanya_console.cards import collection_card
from kusanya_console.commands import bindings_of
from kusanya_console.export import COLLECTIONS, Value
from kusanya_console.feed import Snapshot
from kusanya_console.figures import collection_figures
from kusanya_console.messages import CopyAsked, StoryAsked
from kusanya_console.narrowing import NarrowedSource, of_collections
from kusanya_console.pages import CollectionSource, PageSource
from kusanya_console.present import Line, Look, cell, moment, money
from kusanya_console.screens.base import Desk, Subject
from kusanya_console.screens.list_screen import ListScreen
from kusanya_console.widgets.record_table import Column
from kusanya_console.widgets.sheet import Sheet
from kusanya_console.words import MUTED, PLAIN, Run


def _net(row: CollectionRow, _look: Look) -> Run:
    return ("—", MUTED) if row.net is None else (f"{row.net:,}", PLAIN)


def _amount(row: CollectionRow, _look: Look) -> Run:
    return money(row.amount, row.currency, expected="TZS"), PLAIN


def _code(row: CollectionRow, _look: Look) -> Run:
    return cell(row.failure_code, limit=40) if row.failure_code else ("", PLAIN)


COLUMNS: tuple[Column[CollectionRow], ...] = (
    Column("created", 9, lambda row, look: (moment(row.created_at, look), MUTED)),
    Column("reference", 10, lambda row, _: cell(row.reference, limit=60), grows=14),
    Column("channel", 12, lambda row, _: (words.channel(row.channel), PLAIN), rank=1),
    Column("phone", 12, lambda row, _: (mask_phone(row.phone), PLAIN), rank=4),
    Column("amount TZS", 10, _amount, right=True, grows=2),
    Column("fee", 6, lambda row, _: (f"{row.fee:,}", MUTED), right=True, rank=2, grows=1),
    Column("net", 10, _net, right=True, rank=3),
    Column("status", 15, lambda row, _: words.status(row.status)),
    Column("code", 22, _code, rank=5),
)


class LiveScreen(ListScreen[CollectionRow]):
    """The collections of one mode, newest first."""

    NAME = "live"
    CRUMB = "Live"
    RECORDS = "collections"
    BINDINGS = bindings_of(NAME)

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, COLUMNS)
        self._story: Story | None = None

    def source(self, narrowed: Filter) -> PageSource[CollectionRow]:
        """Return the list as narrowed: what has an index is sought, the rest tested."""
        where, test = of_collections(narrowed, now=self.desk.clock.now())
        source = CollectionSource(self.desk.store, mode=self.desk.mode, where=where)
        return source if test is None else NarrowedSource(source, test)

    def news(self, snapshot: Snapshot) -> frozenset[str]:
        """Return the collections with news."""
        return snapshot.changed

    def advance(self, snapshot: Snapshot) -> None:
        """Show the counts, then the list."""
        self.query_one("#figures", Sheet).show(
            lambda width: collection_figures(snapshot, width, short=self.size.height < 30)  # noqa: PLR2004
        )
        super().advance(snapshot)

    def exported(self) -> Mapping[str, Callable[[CollectionRow], Value]]:
        """Return the columns of an export."""
        return COLLECTIONS

    def empty(self) -> list[Line]:
        """Say what would stand here."""
        mode, _ = words.mode_words(self.desk.mode)
        if self.filter:
            return [((f"Nothing in {mode} passes the filter. esc clears it.", MUTED),)]
        return [
            ((f"No collection in {mode} yet.", PLAIN),),
            (("Each one appears here with its first answer, event or poll.", MUTED),),
            (("? lists the keys, 3 looks up a reference.", MUTED),),
        ]

    def on_record_table_highlighted(self) -> None:
        """Show the card of the record that the cursor reached, then fetch its story."""
        self._show_card()
        self.when_rested(self._fetch_story)

    def changed(self, ids: frozenset[str]) -> None:
        """Fetch the story again when its record has news."""
        if self.table.cursor in ids:
            self._fetch_story()

    def _fetch_story(self) -> None:
        row_id, store, now = self.table.cursor, self.desk.store, self.desk.clock.now()
        if row_id is not None:
            self.ask("story", lambda: story(store, row_id, now=now))

    def answered(self, what: str, value: Any) -> None:
        """Show a story when it is the one of the cursor's record."""
        super().answered(what, value)
        if what == "story":
            self._story = value
            self._show_card()

    def restyle(self) -> None:
        """Draw list and card in the new time format."""
        super().restyle()
        self._show_card()

    def _show_card(self) -> None:
        row, told = self.table.row, self._story
        card = self.query_one("#card", Sheet)
        if row is None:
            card.show(lambda _width: [(("j and k move to a record", MUTED),)])
            return
        mine = told if told is not None and told.row.id == row.id else None
        look = self.desk.look
        card.show(lambda width: collection_card(row, mine, look, width))

    def subject(self) -> Subject | None:
        """Return the collection under the cursor."""
        row = self.table.row
        return None if row is None else Subject(name=safe(row.reference, 60), collection_id=row.id)

    def action_open(self) -> None:
        """Open the whole story on the Lookup screen."""
        if self.table.cursor is not None:
            self.post_message(StoryAsked(self.table.cursor))

    def action_copy_id(self) -> None:
        """Copy the reference of the record under the cursor."""
        if self.table.row is not None:
            self.post_message(CopyAsked("reference", self.table.row.reference))
