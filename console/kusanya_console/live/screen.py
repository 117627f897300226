"""Live: what is moving? Counts, the newest collections, and the record under the cursor."""

from collections.abc import Mapping
from typing import Any, ClassVar

from kusanya.store.records import CollectionRow
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.messages import TimelineRequested, copy_reference
from kusanya_console.collections.detail import PARTS, part_of
from kusanya_console.collections.evidence import Evidence, gather
from kusanya_console.commands import bindings_of
from kusanya_console.feed import Snapshot
from kusanya_console.lists.figures import collection_figures
from kusanya_console.lists.list_screen import ListScreen
from kusanya_console.live.list import COLLECTION_LIST
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import MUTED
from kusanya_console.widgets.sheet import Sheet


class LiveScreen(ListScreen[CollectionRow]):
    """The collections of one mode, newest first."""

    NAME = "live"
    CRUMB = "Live"
    UNREAD: ClassVar[Mapping[str, str]] = {
        **ListScreen.UNREAD,
        "story": "the timeline of this payment",
    }
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
