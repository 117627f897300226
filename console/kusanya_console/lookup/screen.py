"""Lookup: what happened, and what do I say? One box that answers while one types."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Input

from kusanya.lookup import CreationTimeline, LookupResult
from kusanya.privacy import mask_json
from kusanya.say import plural
from kusanya_console.actions.context import AppContext, Selection
from kusanya_console.actions.messages import (
    ActionRequested,
    ScreenRequested,
    copy_reference,
)
from kusanya_console.collections.creation_cards import creation_story_lines
from kusanya_console.collections.detail import STORY_PARTS, story_part
from kusanya_console.collections.evidence import Evidence
from kusanya_console.commands import bindings_of
from kusanya_console.feed import Snapshot
from kusanya_console.lists.export import ExportFormat
from kusanya_console.lists.paging import fixed_pages
from kusanya_console.lists.table_screen import TableScreen
from kusanya_console.lookup.matches import (
    COLUMNS,
    FIELDS,
    Details,
    LookupAnswer,
    LookupRecord,
    ids_of,
    load_details,
    look_up,
    matched,
    needles_of,
    record_of,
    selection_of_match,
)
from kusanya_console.lookup.message_lines import lines_above, no_payment_lines
from kusanya_console.lookup.words import fetch_failed, hint, nothing
from kusanya_console.screens.confirm import ConfirmScreen
from kusanya_console.ui.excerpt import ListExcerpt
from kusanya_console.ui.format import Line, cell
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, STRONG, WARN
from kusanya_console.widgets.box import Box, PasteBox
from kusanya_console.widgets.record_table import RecordTable
from kusanya_console.widgets.sheet import PartSheet, Sheet

_LONGEST = 4_000
"""A customer's whole message goes into the box."""


class LookupScreen(TableScreen[LookupRecord]):
    """Support's one box."""

    NAME = "lookup"
    CRUMB = "Lookup"
    UNREAD: ClassVar[Mapping[str, str]] = {
        "answer": "what the text in the box may mean",
        "story": "the timeline of this payment",
    }
    PARTS = STORY_PARTS
    AUTO_FOCUS = ""  # the box, where a person came by the key, and nothing where a story was opened
    BINDINGS = bindings_of(NAME)
    UNSORTED = "the best match stands first: this list keeps its order"

    def __init__(self, context: AppContext) -> None:
        super().__init__(context, COLUMNS, selection_of=selection_of_match, table_id="matches")
        self.table.follow = False
        self._found = LookupResult(text="")
        self._details: Details | None = None
        self._chosen = ""
        """Which payment a person said the message is of, where it does not tell for sure."""
        self._is_stale = False
        self._is_unread = False
        """True while a fault of the program keeps the text in the box from being looked up."""

    def compose_body(self) -> ComposeResult:
        """Put the box above, matches under it when there are several, and the story below."""
        box = PasteBox(id="box", max_length=_LONGEST, select_on_focus=False)
        box.cursor_blink = False
        yield box
        yield Sheet(id="hint")
        yield self.table
        with VerticalScroll(id="telling", can_focus=False):
            yield PartSheet(id="story")

    def on_mount(self) -> None:
        """Begin in the box."""
        super().on_mount()
        self.query_one("#box", Box).take_focus()
        self._show()

    def look_for(self, text: str) -> None:
        """Put `text` into the box and answer it; the next key is for its story."""
        self.query_one("#box", Box).value = text[:_LONGEST]
        self.set_focus(None)

    def type_on(self, text: str) -> None:
        """Begin anew with what was typed outside the box; what follows is typed behind it."""
        box = self.query_one("#box", Box)
        box.take_focus()
        box.fill(text)

    def on_paste(self, event: events.Paste) -> None:
        """Look up what was pasted, wherever on the screen that was."""
        event.stop()
        self.look_for(" ".join(event.text.split()))

    @property
    def is_typing(self) -> bool:
        """Return whether keys go into the box."""
        # Not `has_focus`, which is true some messages later: keys may come in one go.
        return self.focused is self.query_one("#box", Box)

    @property
    def _asked_text(self) -> str:
        # A person who comes with / from another screen may type it into the box as well.
        return self.query_one("#box", Box).meant.strip().removeprefix("/")

    def entered(self) -> None:
        """Begin in the box: who comes by the key has something to paste."""
        self.action_box()

    def on_screen_resume(self) -> None:
        """Catch up on what happened while another screen was shown."""
        if self._found.count:
            self._ask(self._asked_text)

    def on_input_changed(self, message: Input.Changed) -> None:
        """Answer while a person types; only the latest text counts."""
        message.stop()
        self._ask(self._asked_text)

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Leave the box for the matches."""
        message.stop()
        self.set_focus(None)

    def _ask(self, text: str) -> None:
        context, look = self.context, self.context.look
        self._is_stale = self._is_unread = False
        details = self._details
        shown_id = None if details is None or not self._answers(text) else record_of(details).id
        ask = partial(
            look_up, context.store, text, mode=context.mode, look=look, payees=context.payees,
            is_claimed=context.is_claimed, shown_id=shown_id, chosen_id=self._chosen,
        )  # fmt: skip
        self.fetch("answer", ask)

    def _answers(self, text: str) -> bool:
        """Return whether the matches that are shown were found by `text`."""
        return bool(self._found.count) and self._found.text == text.strip()

    def show_fetched(self, what: str, value: Any) -> None:
        """Show the matches and the story."""
        if what == "answer":
            self._take(value)
        elif what == "story":
            self._details = value
        self._show()

    def _take(self, answer: LookupAnswer) -> None:
        found, rows = answer.found, matched(answer.found)
        self.context.claim(found)
        held = {row.id: row for row in rows}
        marked: list[LookupRecord] = []
        if self._answers(found.text):
            marked = [held[row_id] for row_id in self.table.marked if row_id in held]
            if self.table.cursor not in held:
                self.table.cursor = None
        else:
            self._chosen = ""
            # Emptied first: another text's place in the list is none in this one.
            self.table.cursor = None
            self.table.show(ListExcerpt())
            self.table.highlight(needles_of(found))
        # Marks of another text would let an action meet payments that nobody sees.
        self.unmark_all()
        self.table.mark(marked)
        self._found, self._details = found, answer.details
        self.table.show(ListExcerpt(rows))
        row = self.table.row
        if row is not None and answer.details and record_of(answer.details).id != row.id:
            self._fetch(row)  # the cursor was moved while the text was answered again

    def on_record_table_highlighted(self, message: RecordTable.Highlighted) -> None:
        """Tell the story of the match that the cursor reached."""
        row_id, details = message.row_id, self._details
        if row_id is not None and (details is None or record_of(details).id != row_id):
            self.when_rested(lambda: self._fetch_pointed(row_id))

    def _fetch_pointed(self, row_id: str) -> None:
        row = self.table.row
        if row is not None and row.id == row_id:  # not after the box was answered anew
            self._fetch(row)

    def _fetch(self, row: LookupRecord) -> None:
        store, look = self.context.store, self.context.look
        is_claimed, is_unsure = self.context.is_claimed(row.id), self._is_unsure(row.id)
        read = partial(load_details, store, row, look, is_claimed=is_claimed, is_unsure=is_unsure)
        self.fetch("story", read)

    def _is_unsure(self, row_id: str) -> bool:
        return self._found.is_unsure and row_id != self._chosen

    def action_choose(self) -> None:
        """Take the payment under the cursor for the one that the message is of."""
        details = self._details
        if details is None or not self._is_unsure(record_of(details).id):
            self.say("nothing to choose: no message says what may be of several payments")
            return
        self._chosen = record_of(details).id
        self._fetch(record_of(details))

    def action_copy_sentence(self) -> None:
        """Copy what to say to the customer; nothing while the message may be of another payment."""
        if not self._refuses_to_copy():
            super().action_copy_sentence()

    def action_copy_card(self) -> None:
        """Copy the card, with what to say; nothing while the message may be of another payment."""
        if not self._refuses_to_copy():
            super().action_copy_card()

    def _refuses_to_copy(self) -> bool:
        details = self._details
        is_unsure = details is not None and self._is_unsure(record_of(details).id)
        if is_unsure:
            self.say("the message may be of another payment, or forged: enter chooses this one")
        return is_unsure

    def advance(self, snapshot: Snapshot) -> None:
        """Answer the text again when a payment that is shown has news.

        List, sentences and story come from one reading: none may contradict the others.
        """
        details = self._details
        shown = {row.id for row in self.table.excerpt.rows}
        shown |= set() if details is None else ids_of(details)
        is_creation = isinstance(details, CreationTimeline) or bool(self._found.creations)
        if self._is_stale or shown & snapshot.changed or (is_creation and snapshot.intents):
            # A creation that was answered meanwhile is found as its collection.
            self._ask(self._asked_text)
        elif details is not None and snapshot.intents:
            self._fetch(record_of(details))

    def fetch_failed(self, what: str) -> None:  # noqa: ARG002 - either question is asked anew
        """Keep what is shown; the text in the box is asked again once the store answers."""
        self._is_stale = True
        self._show()

    def fetch_broke(self, what: str) -> None:
        """Take away the story of another text: nothing was looked up for this one."""
        self._is_unread = what == "answer"
        self._show()

    def second(self) -> None:
        """Move ages on."""
        self._show()

    def restyle(self) -> None:
        """Draw in the new time format."""
        self.table.restyle(self.context.look)
        self._show()

    def _show(self) -> None:
        details, look, found, mode = (
            self._details,
            self.context.look,
            self._found,
            self.context.mode,
        )
        self.set_class(found.count > 1, "-several")
        self.marks_changed()
        sheet, part = self.query_one("#story", Sheet), self.part
        asked, is_lost = self._asked_text, self._is_stale and not self._is_unread
        if (self._is_stale or self._is_unread) and asked.strip() != found.text.strip():
            sheet.show(lambda _width: fetch_failed(asked, is_lost=is_lost))
            return
        if isinstance(details, CreationTimeline) and found.count:
            sheet.show(
                lambda width: [
                    *lines_above(found, width),
                    *creation_story_lines(details, look, width),
                ]
            )
        elif isinstance(details, Evidence) and found.count:
            sheet.show(
                lambda width: [
                    *lines_above(found, width),
                    *story_part(details, look, width, part=part),
                ]
            )
        elif found.is_message:
            sheet.show(lambda width: no_payment_lines(found, width))
        else:
            sheet.show(lambda width: nothing(found, mode, width))

    def show_part(self) -> None:
        """Show the part of the story that was asked for."""
        self._show()
        self.query_one("#telling", VerticalScroll).scroll_home(animate=False)

    def action_move(self, by: int) -> None:
        """Move among the matches, or scroll the story when there is only one."""
        if self._found.count > 1:
            self.table.move(by)
        else:
            self.query_one("#telling", VerticalScroll).scroll_relative(y=by, animate=False)

    def action_box(self) -> None:
        """Go to the box with its text selected."""
        box = self.query_one("#box", Box)
        box.take_focus()
        box.select_all()

    def action_back(self) -> None:
        """Leave the box, then unmark what is marked, then go back to Live."""
        box = self.query_one("#box", Box)
        if box.has_focus and box.value:
            box.value = ""
        elif box.has_focus:
            self.set_focus(None)
        elif not self.unmark_all():
            self.post_message(ScreenRequested("live"))

    def marks_changed(self) -> None:
        """Say how many matches there are, and how many of them are marked."""
        found, mode, marks = self._found, self.context.mode, self.marks_line()
        after: Line = ((f"   {marks}", ACCENT),) if marks else ()
        self.query_one("#hint", Sheet).show(lambda _width: [(*hint(found, mode), *after)])

    def action_mark(self) -> None:
        """Mark the match under the cursor, or say that one alone needs no mark."""
        if self._found.count > 1:
            super().action_mark()
        else:
            self.say("there are no several matches to mark: the keys take the one that is shown")

    def action_mark_all(self) -> None:
        """Mark every match."""
        if self._found.count > 1:
            super().action_mark_all()
        else:
            self.action_mark()

    def selection(self) -> Selection | None:
        """Return the collection or the creation whose timeline is shown."""
        if self._details is None or not self._found.count:
            return None
        return self.selection_of(record_of(self._details))

    def action_export(self, form: str = ExportFormat.SHEET.name) -> None:
        """Write the matches that are marked, or else all of them, to a file."""
        rows = tuple(self.table.marked.values()) or self.table.excerpt.rows
        if not rows:
            self.say("there is no match to export")
            return
        one, many = "Export the match", "Export the {count} matches"
        if self.table.marked:
            one, many = "Export the marked match", "Export the {count} marked matches"
        what = translate(plural(len(rows), one, many))
        self.export_rows(fixed_pages(rows), FIELDS, records="matches", what=what, form=form)

    def action_keep_receipt(self) -> None:
        """Keep the receipt of the pasted message with the one payment that it fits."""
        actions, mode = self.context.actions, self.context.mode
        kept = [message for message in self._found.messages if message.keeps_receipt]
        if not kept:
            self.say("paste a message that fits one payment alone; then K keeps its receipt")
        elif actions is None:
            self.say(self.context.action_disabled_reason)
        else:
            run = ActionRequested("keeping the receipt", lambda: actions.keep_receipts(kept, mode))
            claim = next((each for each in kept if each.claims_unpaid), None)
            if claim is None or claim.row is None:
                self.post_message(run)
                return
            facts = (
                ("reference", cell(claim.row.reference, STRONG, limit=60)),
                ("status", cell(claim.row.status, WARN, limit=40)),
                ("receipt", cell(claim.confirmation.receipt or "", STRONG, limit=40)),
            )
            warning = "The service does not call this paid: the receipt is only a claim."
            dialog = ConfirmScreen("Keep the receipt", facts, mode=mode, warning=warning)

            def keep(confirmed: bool | None) -> None:  # noqa: FBT001 - Textual's callback
                if confirmed:
                    self.post_message(run)

            self.app.push_screen(dialog, keep)

    def exact(self) -> Callable[[], tuple[str, str]] | None:
        """Return the JSON of the collection, or the body of the creation, phones masked."""
        details = self._details
        if isinstance(details, CreationTimeline):
            return lambda: (
                "request body, phone masked,",
                mask_json(details.intent.body),
            )
        return super().exact()

    def action_copy_id(self) -> None:
        """Copy the reference of the story, or those of all that are marked."""
        if not self.copy_marked() and self._details is not None:
            row = record_of(self._details)
            self.post_message(copy_reference(row.reference, row.id))
