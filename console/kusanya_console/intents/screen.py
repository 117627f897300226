"""Intents: which creations have no answer, and how long they may be replayed."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import msgspec
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll

from kusanya.privacy import mask_json
from kusanya.say import Said, plural
from kusanya.store.records import IntentState
from kusanya.wording import UNKNOWN_OUTCOME, advise
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.messages import (
    CopyRequested,
    ScreenRequested,
    TimelineRequested,
    copy_reference,
)
from kusanya_console.actions.results import ActionResult
from kusanya_console.collections.cards import spoken
from kusanya_console.collections.screen import CARD_CELLS, Card
from kusanya_console.commands import bindings_of
from kusanya_console.feed import Snapshot
from kusanya_console.intents.acting import IntentActions
from kusanya_console.intents.cards import (
    INTENT_PARTS,
    intent_card,
    intent_figures,
    intent_part,
)
from kusanya_console.intents.list import COLUMNS, FIELDS, selection_of_intent
from kusanya_console.intents.reader import (
    IntentDetails,
    load_details,
    load_intents,
)
from kusanya_console.lists.export import ExportFormat
from kusanya_console.lists.paging import fixed_pages
from kusanya_console.ui import language, vocabulary
from kusanya_console.ui.excerpt import ListExcerpt
from kusanya_console.ui.format import Line, spread
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, MUTED, PLAIN, Run
from kusanya_console.widgets.sheet import PartSheet, Sheet


class IntentsScreen(IntentActions):
    """Creations of one mode, those without an answer first."""

    NAME = "intents"
    CRUMB = "Intents"
    UNREAD: ClassVar[Mapping[str, str]] = {
        "intents": "the creations",
        "attempts": "the attempts of this creation",
        "decision": "the collection that the decision names",
    }
    PARTS = INTENT_PARTS
    BINDINGS = bindings_of(NAME)
    UNSORTED = "what may have charged somebody stands first: this list keeps its order"

    def __init__(self, context: AppContext) -> None:
        super().__init__(context, COLUMNS, selection_of=selection_of_intent)
        self._more = False
        self._details: IntentDetails | None = None
        self._seq = 0
        self._is_stale = False
        self._is_read = False

    def compose_body(self) -> ComposeResult:
        """Put figures above, the list and its pane below."""
        yield Sheet(id="figures")
        with Horizontal(id="split"):
            yield self.table
            yield Sheet(id="empty")
            with VerticalScroll(id="pane", can_focus=False):
                yield PartSheet(id="card")
        yield Sheet(id="foot")

    def on_mount(self) -> None:
        """Read the list."""
        super().on_mount()
        self.table.focus()
        self.query_one("#empty", Sheet).show(lambda _width: self._empty())
        self._fetch()

    def on_screen_resume(self) -> None:
        """Read the list again after another screen was shown."""
        if self._asked:
            self._fetch()

    def advance(self, snapshot: Snapshot) -> None:
        """Read the list again when an intent has news."""
        if snapshot.intents or self._is_stale:
            self._fetch()
        elif snapshot.seq != self._seq:
            self._fetch_attempts()  # a note on an intent is no news of the intent itself
        self._seq = snapshot.seq

    def fetch_failed(self, what: str) -> None:  # noqa: ARG002 - the list brings its attempts along
        """Keep what is shown; the list is read again once the store answers."""
        self._is_stale = True

    def _fetch(self) -> None:
        store, mode, clock = self.context.store, self.context.mode, self.context.clock
        self._is_stale = False
        self.fetch("intents", lambda: load_intents(store, mode, now=clock.now()))

    def show_fetched(self, what: str, value: Any) -> None:
        """Show the list, or the attempts of the intent under the cursor."""
        if what == "decision":
            self.confirm_decision(value)
            return
        if what == "intents":
            self._more, self._is_read = value.more, True
            # What is done to a marked intent is done to it as it is now.
            held = {row.id: row for row in value.rows if row.id in self.table.marked}
            self.table.marked |= held
            self.table.show(ListExcerpt(value.rows))
            self.set_class(not value.rows, "-empty")
            self._fetch_attempts()
        else:
            self._details = value
        self._show()

    def on_record_table_highlighted(self) -> None:
        """Show the card of the intent that the cursor reached, then fetch its attempts."""
        self._show()
        self.when_rested(self._fetch_attempts)

    def _fetch_attempts(self) -> None:
        row, store = self.table.row, self.context.store
        if row is not None:
            self.fetch("attempts", lambda: load_details(store, row))

    def second(self) -> None:
        """Move the windows on."""
        self.restyle()

    def restyle(self) -> None:
        """Draw list and card as of now."""
        self.table.restyle(self.context.look)
        self._show()

    def _show(self) -> None:
        row, look, details = self.table.row, self.context.look, self._details
        rows = self.table.excerpt.rows
        self.query_one("#figures", Sheet).show(
            lambda _width: intent_figures(rows, look) if self._is_read else [self.unread]
        )
        self._foot()
        card = self.query_one("#card", Sheet)
        if row is None:
            card.show(lambda _width: ())
            return
        mine = details if details is not None and details.intent_id == row.id else None
        part, unread = self.part, self.unread
        card.show(lambda width: intent_part(row, mine, look, width, part=part, unread=unread))

    def _foot(self) -> None:
        rows, above = len(self.table.excerpt.rows), 0 if self.table.follow else self.table.first
        all_of = "the newest {count} of more" if self._more else "{count} in all"
        listed = translate(all_of, count=f"{rows:,}") if self._is_read else ""
        order = translate("unknown first, then what is stalled, then the newest")
        left: Line = ((f" {order}   ", MUTED),)
        left = (*left, (listed, MUTED))
        if self.table.marked:
            left = (*left, (f"   {self.marks_line()}", ACCENT))
        goes = translate("{key} goes to the top", key=self.context.key("list.newest"))
        right: Run = (f"{translate('at the top')} ", MUTED)
        if above:
            right = (f"{translate('{count} above', count=f'{above:,}')}, {goes} ", ACCENT)
        self.query_one("#foot", Sheet).show(lambda width: [spread(list(left), [right], width)])

    def on_record_table_moved(self) -> None:
        """Say where the list stands now."""
        self._foot()

    def _empty(self) -> list[Line]:
        mode, _ = vocabulary.mode_words(self.context.mode)
        one = "One stands here for every creation that was made through this library,"
        return [
            ((translate("No intent in {mode} yet.", mode=mode), PLAIN),),
            ((translate(one), MUTED),),
            ((translate("saved before its first byte left. ? lists the keys."), MUTED),),
        ]

    def show_part(self) -> None:
        """Show the part of the card that was asked for."""
        self._show()

    def action_newest(self) -> None:
        """Go to the top, and stay there while more come."""
        self.table.follow, self.table.cursor = True, None
        self.table.show(msgspec.structs.replace(self.table.excerpt))
        self._show()

    def action_oldest(self) -> None:
        """Go to the last one that is listed."""
        self.table.move(len(self.table.excerpt.rows))

    def action_pane(self) -> None:
        """Show or hide the pane."""
        self.toggle_class("-pane")

    def action_open(self) -> None:
        """Open the story of the intent, or of the collection that it became."""
        if self.table.row is not None:
            self.post_message(TimelineRequested(self.table.row.id))

    def action_back(self) -> None:
        """Unmark what is marked, or else go back to Live."""
        if not self.unmark_all():
            self.post_message(ScreenRequested("live"))

    def marks_changed(self) -> None:
        """Say how many are marked."""
        self._foot()

    def action_export(self, form: str = ExportFormat.SHEET.name) -> None:
        """Write the intents that are marked, or else those that are listed, to a file."""
        rows = tuple(self.table.marked.values()) or self.table.excerpt.rows
        one, many = "Export the listed intent", "Export the {count} listed intents"
        if self.table.marked:
            one, many = "Export the marked intent", "Export the {count} marked intents"
        what = translate(plural(len(rows), one, many))
        self.export_rows(fixed_pages(rows), FIELDS, records="intents", what=what, form=form)

    def card(self) -> Card | None:
        """Return what reads the card of the intent, its collection's below where it is known."""
        row, look, store, details = (
            self.table.row,
            self.context.dated_look,
            self.context.store,
            super().card(),
        )
        if row is None:
            return None

        def read() -> list[Line]:
            beside = load_details(store, row)
            lines = intent_card(row, beside, look, CARD_CELLS)
            return lines if details is None else [*lines, (), *details()]

        return read

    def exact(self) -> Callable[[], tuple[str, str]] | None:
        """Return the body as it is sent on every attempt, its phone masked."""
        row = self.table.row
        if row is None:
            return None
        return lambda: ("request body, phone masked,", mask_json(row.body))

    def action_copy_sentence(self) -> None:
        """Copy what to say: that of the collection, or that we are checking."""
        row = self.table.row
        if row is None or row.collection_id is not None:
            super().action_copy_sentence()
        elif row.state is not IntentState.UNKNOWN:
            self.say(
                Said("this intent is {our_state}: there is nothing to tell a customer yet").of(
                    our_state=row.state.value
                )
            )
        else:
            said = advise(UNKNOWN_OUTCOME)
            both = f"{spoken(said.english)}\n{spoken(said.swahili)}"
            self.post_message(CopyRequested("customer's sentence", both, quiet=True))
            chosen = spoken(said.in_language(language.chosen()))
            sent = Said("sent to the terminal's clipboard, say: {sentence}").of(sentence=chosen)
            self.context.show(ActionResult(sent))
            self.show_result()

    def action_copy_id(self) -> None:
        """Copy the reference of the intent under the cursor, or those of all that are marked."""
        if not self.copy_marked() and self.table.row is not None:
            self.post_message(copy_reference(self.table.row.reference, self.table.row.id))
