"""Lookup: what happened, and what do I say? One box that answers while one types."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Input

from kusanya.business_day import day_start
from kusanya.lookup import CreationTimeline, LookupResult, MatchKind, find, load_creation_timeline
from kusanya.privacy import mask_json, mask_phone
from kusanya.store import Store
from kusanya.store.records import CollectionRow, IntentRow
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext, Selection
from kusanya_console.actions.messages import (
    ActionRequested,
    ScreenRequested,
    copy_reference,
    copyable,
)
from kusanya_console.collections.creation_cards import creation_story_lines
from kusanya_console.collections.detail import STORY_PARTS, story_part
from kusanya_console.collections.evidence import Evidence, gather
from kusanya_console.commands import bindings_of
from kusanya_console.feed import Snapshot
from kusanya_console.lists.export import MATCHES, Form
from kusanya_console.lists.paging import fixed_pages
from kusanya_console.lists.table_screen import TableScreen
from kusanya_console.lists.underlining import phone_end
from kusanya_console.lookup.message_lines import message_lines, no_payment_lines
from kusanya_console.lookup.words import fetch_failed, hint, nothing
from kusanya_console.ui import vocabulary
from kusanya_console.ui.columns import Column
from kusanya_console.ui.format import (
    Line,
    Look,
    cell,
    format_listed_instant,
    format_money,
    format_text,
)
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, MUTED, PLAIN, Run
from kusanya_console.ui.window import PageWindow
from kusanya_console.widgets.box import Box, PasteBox
from kusanya_console.widgets.highlighting import Needle, Needles
from kusanya_console.widgets.record_table import RecordTable
from kusanya_console.widgets.sheet import PartSheet, Sheet

_LONGEST = 4_000
"""A customer's whole message goes into the box."""


LookupRecord = CollectionRow | IntentRow
Details = Evidence | CreationTimeline


def _created(row: LookupRecord, look: Look) -> Run:
    at = row.created_at if isinstance(row, CollectionRow) else row.first_sent_at or row.prepared_at
    return format_listed_instant(at, look), MUTED


def _channel(row: LookupRecord, _look: Look) -> Run:
    return vocabulary.channel(row.channel) if isinstance(row, CollectionRow) else "—", PLAIN


def _amount(row: LookupRecord, _look: Look) -> Run:
    currency = row.currency if isinstance(row, CollectionRow) else "TZS"
    return format_money(row.amount, currency, expected="TZS"), PLAIN


def _status(row: LookupRecord, _look: Look) -> Run:
    if isinstance(row, IntentRow):
        return vocabulary.intent(row.state)
    return vocabulary.status_of(row)


COLUMNS: tuple[Column[LookupRecord], ...] = (
    Column("created", 9, _created, whole=True),
    Column("reference", 14, lambda row, _: cell(row.reference, limit=60), grows=20, names=True,
           key="ref"),
    Column("channel", 12, _channel, rank=1),
    Column("phone", 12, lambda row, _: (mask_phone(row.phone), PLAIN), rank=2, key="phone",
           extra=True),
    Column("amount TZS", 12, _amount, right=True, key="amount"),
    Column("status", 15, _status),
)  # fmt: skip


class LookupAnswer(msgspec.Struct, frozen=True):
    """What the store says to the text in the box."""

    found: LookupResult
    details: Details | None


def look_up(
    store: Store,
    text: str,
    *,
    mode: Mode,
    look: Look,
    is_claimed: Callable[[str], bool],
    payees: Sequence[str] = (),
    shown_id: str | None = None,
) -> LookupAnswer:
    """Return the matches of a text, with all that is known of one: `shown_id`, or the best.

    `is_claimed` says of a collection's id whether a message that was pasted before may be of it.
    """
    found = find(store, text, mode=mode, now=look.now, day=day_start, payees=payees)
    rows = matched(found)
    if not rows:
        return LookupAnswer(found, None)
    row = next((row for row in rows if row.id == shown_id), rows[0])
    claimed = found.is_claim or is_claimed(row.id)
    return LookupAnswer(found, load_details(store, row, look, is_claimed=claimed))


def matched(found: LookupResult) -> tuple[LookupRecord, ...]:
    """Return what was found as the table lists it: creations without an answer come first."""
    return (
        *(match.intent for match in found.creations),
        *(match.row for match in found.matches),
    )


def needles_of(found: LookupResult) -> Needles:
    """Return what to underline in the matches: how each kind of them was found."""
    of_phone = {MatchKind.PHONE, MatchKind.PHONE_AND_AMOUNT, MatchKind.PHONE_END}
    of_amount = {MatchKind.AMOUNT, MatchKind.PHONE_AND_AMOUNT}
    records: list[tuple[LookupRecord, MatchKind]] = [
        *((match.row, match.kind) for match in found.matches),
        *((match.intent, match.kind) for match in found.creations),
    ]
    names = {row.reference: None for row, kind in records if kind is MatchKind.REFERENCE}
    phones = {row.phone: None for row, kind in records if kind in of_phone}
    amounts = {row.amount: None for row, kind in records if kind in of_amount}
    return {
        "ref": tuple(map(Needle, {found.text: None, **names})),
        "phone": tuple(dict.fromkeys(map(phone_end, phones))),
        "amount": tuple(Needle(f"{amount:,}") for amount in amounts),
    }


def load_details(
    store: Store, row: LookupRecord, look: Look, *, is_claimed: bool = False
) -> Details | None:
    """Return all that is known of a match; raises StoreError."""
    if isinstance(row, IntentRow):
        return load_creation_timeline(store, row.id, now=look.now)
    return gather(store, row.id, row.mode, look, is_claimed=is_claimed)


def record_of(details: Details) -> LookupRecord:
    """Return the record that a story is about."""
    return details.intent if isinstance(details, CreationTimeline) else details.story.row


def ids_of(details: Details) -> set[str]:
    """Return the ids of every payment that a story shows the state of."""
    around = details.around if isinstance(details, CreationTimeline) else details.story.around
    return {record_of(details).id, *(row.id for row in around.also)}


def _selection(row: LookupRecord) -> Selection:
    name, copied = format_text(row.reference, 60), copyable(row.reference, row.id)
    if isinstance(row, IntentRow):
        return Selection(name=name, intent_id=row.id, copied=copied)
    return Selection(name=name, collection_id=row.id, copied=copied)


class LookupScreen(TableScreen[LookupRecord]):
    """Support's one box."""

    NAME = "lookup"
    CRUMB = "Lookup"
    PARTS = STORY_PARTS
    AUTO_FOCUS = ""  # the box, where a person came by the key, and nothing where a story was opened
    BINDINGS = bindings_of(NAME)
    UNSORTED = "the best match stands first: this list keeps its order"

    def __init__(self, context: AppContext) -> None:
        super().__init__(context, COLUMNS, selection_of=_selection, table_id="matches")
        self.table.follow = False
        self._found = LookupResult(text="")
        self._details: Details | None = None
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
        """Tell whether keys go into the box."""
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
            is_claimed=context.is_claimed, shown_id=shown_id,
        )  # fmt: skip
        self.fetch("answer", ask)

    def _answers(self, text: str) -> bool:
        """Tell whether the matches that are shown were found by `text`."""
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
            # Emptied first: another text's place in the list is none in this one.
            self.table.cursor = None
            self.table.show(PageWindow())
            self.table.highlight(needles_of(found))
        # Marks of another text would let an action meet payments that nobody sees.
        self.unmark_all()
        self.table.mark(marked)
        self._found, self._details = found, answer.details
        self.table.show(PageWindow(rows))
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
        is_claimed = self.context.is_claimed(row.id)
        self.fetch("story", lambda: load_details(store, row, look, is_claimed=is_claimed))

    def advance(self, snapshot: Snapshot) -> None:
        """Answer the text again when a payment that is shown has news.

        List, sentences and story come from one reading: none may contradict the others.
        """
        details = self._details
        shown = {row.id for row in self.table.window.rows}
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
                    *message_lines(found.messages, width),
                    *creation_story_lines(details, look, width),
                ]
            )
        elif isinstance(details, Evidence) and found.count:
            sheet.show(
                lambda width: [
                    *message_lines(found.messages, width),
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

    def action_export(self, form: str = Form.SHEET.name) -> None:
        """Write the matches that are marked, or else all of them, to a file."""
        rows = tuple(self.table.marked.values()) or self.table.window.rows
        if not rows:
            self.say("there is no match to export")
            return
        which = "Export the {count} matches"
        if self.table.marked:
            which = "Export the {count} marked matches"
        what = translate(which, count=f"{len(rows):,}")
        self.export_rows(fixed_pages(rows), MATCHES, records="matches", what=what, form=form)

    def action_keep_receipt(self) -> None:
        """Keep the receipt of the pasted message with the one payment that it fits."""
        operator, mode = self.context.operator, self.context.mode
        kept = [message for message in self._found.messages if message.keeps_receipt]
        if not kept:
            self.say("paste a message that fits one payment alone; then K keeps its receipt")
        elif operator is None:
            self.say(self.context.action_disabled_reason)
        else:
            self.post_message(
                ActionRequested("keeping the receipt", lambda: operator.keep_receipts(kept, mode))
            )

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
