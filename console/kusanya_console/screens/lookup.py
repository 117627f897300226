"""Lookup: what happened, and what do I say? One box that answers while one types."""

from typing import Any

import msgspec
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Input

from kusanya.business_day import day_start
from kusanya.lookup import Found, Story, advice, find, story
from kusanya.store import Store
from kusanya.store.records import CollectionRow
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_console import words
from kusanya_console.cards import spoken, story_lines
from kusanya_console.commands import bindings_of
from kusanya_console.feed import Snapshot
from kusanya_console.messages import CopyAsked, ScreenAsked
from kusanya_console.present import Line, Look, cell, moment, money
from kusanya_console.screens.base import ConsoleScreen, Desk, Subject
from kusanya_console.widgets.record_table import Column, RecordTable
from kusanya_console.widgets.sheet import Sheet
from kusanya_console.window import PageWindow
from kusanya_console.words import MUTED, PLAIN, WARN, Run

_HINT = "reference · col_… · evt_… · a phone in any spelling · amount and time, as in 85000 15:20"
_LONGEST = 200
_CARD = 100
"""Cells a copied card is wide."""


def _amount(row: CollectionRow, _look: Look) -> Run:
    return money(row.amount, row.currency, expected="TZS"), PLAIN


COLUMNS: tuple[Column[CollectionRow], ...] = (
    Column("created", 9, lambda row, look: (moment(row.created_at, look), MUTED)),
    Column("reference", 14, lambda row, _: cell(row.reference, limit=60), grows=20),
    Column("channel", 12, lambda row, _: (words.channel(row.channel), PLAIN), rank=1),
    Column("amount TZS", 12, _amount, right=True),
    Column("status", 15, lambda row, _: words.status(row.status)),
)


class Answer(msgspec.Struct, frozen=True):
    """What the store says to the text in the box."""

    found: Found
    story: Story | None


def look_up(store: Store, text: str, *, mode: Mode, look: Look) -> Answer:
    """Return the matches of a text, with the story of the best one."""
    found = find(store, text, mode=mode, now=look.now, day=day_start)
    best = story(store, found.matches[0].row.id, now=look.now) if found.matches else None
    return Answer(found, best)


class LookupScreen(ConsoleScreen):
    """Support's one box."""

    NAME = "lookup"
    CRUMB = "Lookup"
    BINDINGS = bindings_of(NAME)

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.table: RecordTable[CollectionRow] = RecordTable(COLUMNS, look=desk.look, id="matches")
        self.table.follow = False
        self._found = Found(text="")
        self._story: Story | None = None
        self._unanswered = False

    def compose_body(self) -> ComposeResult:
        """Put the box above, matches under it when there are several, and the story below."""
        box = Input(placeholder="", id="box", max_length=_LONGEST)
        box.cursor_blink = False
        yield box
        yield Sheet(id="hint")
        yield self.table
        with VerticalScroll(id="telling", can_focus=False):
            yield Sheet(id="story")

    def on_mount(self) -> None:
        """Begin in the box."""
        super().on_mount()
        self.query_one("#box", Input).focus()
        self._show()

    def look_for(self, text: str) -> None:
        """Put `text` into the box and answer it."""
        self.query_one("#box", Input).value = text[:_LONGEST]

    def on_input_changed(self, message: Input.Changed) -> None:
        """Answer while a person types; only the latest text counts."""
        message.stop()
        self._ask(message.value)

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Leave the box for the matches."""
        message.stop()
        self.table.focus()

    def _ask(self, text: str) -> None:
        store, mode, look = self.desk.store, self.desk.mode, self.desk.look
        self._unanswered = False
        self.ask("answer", lambda: look_up(store, text, mode=mode, look=look))

    def answered(self, what: str, value: Any) -> None:
        """Show the matches and the story."""
        if what == "answer":
            self._found, self._story = value.found, value.story
            self.table.cursor = None
            self.table.show(PageWindow(tuple(match.row for match in self._found.matches)))
        elif what == "story":
            self._story = value
        self._show()

    def on_record_table_highlighted(self, message: RecordTable.Highlighted) -> None:
        """Tell the story of the match that the cursor reached."""
        row_id, told = message.row_id, self._story
        if row_id is not None and (told is None or told.row.id != row_id):
            self.when_rested(lambda: self._fetch_pointed(row_id))

    def _fetch_pointed(self, row_id: str) -> None:
        if self.table.cursor == row_id:  # not after the box was answered anew
            self._fetch(row_id)

    def _fetch(self, row_id: str) -> None:
        store, now = self.desk.store, self.desk.clock.now()
        self.ask("story", lambda: story(store, row_id, now=now))

    def advance(self, snapshot: Snapshot) -> None:
        """Tell the story again when its collection has news."""
        if self._unanswered:
            self._ask(self.query_one("#box", Input).value)
        elif self._story is not None and self._story.row.id in snapshot.changed:
            self._fetch(self._story.row.id)

    def unanswered(self, what: str) -> None:  # noqa: ARG002 - either question is asked anew
        """Keep what is shown; the text in the box is asked again once the store answers."""
        self._unanswered = True

    def second(self) -> None:
        """Move ages on."""
        self._show()

    def restyle(self) -> None:
        """Draw in the new time format."""
        self.table.restyle(self.desk.look)
        self._show()

    def _show(self) -> None:
        told, look, found = self._story, self.desk.look, self._found
        self.set_class(len(found.matches) > 1, "-several")
        self.query_one("#hint", Sheet).show(lambda _width: [self._hint()])
        sheet = self.query_one("#story", Sheet)
        if told is not None and found.matches:
            sheet.show(lambda width: story_lines(told, look, width))
        else:
            sheet.show(lambda _width: self._nothing())

    def _hint(self) -> Line:
        found = self._found
        mode, _ = words.mode_words(self.desk.mode)
        count = len(found.matches)
        if not found.text:
            return ((_HINT, MUTED),)
        if count == 1:
            return ((f"1 collection in {mode}, found by {found.matches[0].way.value}", MUTED),)
        if count:
            more = " or more" if found.more else ""
            return ((f"{count}{more} collections in {mode}, best match first", MUTED),)
        other, _ = words.mode_words(Mode.TEST if self.desk.mode is Mode.LIVE else Mode.LIVE)
        matches = "match" if found.elsewhere == 1 else "matches"
        return ((f"nothing in {mode}, {found.elsewhere} {matches} in {other}", WARN),)

    def _nothing(self) -> list[Line]:
        found = self._found
        if not found.text:
            return [
                (("Paste what the customer reads out; the story appears here.", MUTED),),
                (("esc leaves the box, then 1 and 2 go to the other screens.", MUTED),),
            ]
        lines: list[Line] = [((f"No collection is known by “{safe(found.text, 60)}”.", PLAIN),)]
        if found.trouble is not None:
            lines.append(((f"As a phone number: {safe(found.trouble)}.", WARN),))
        lines.append((("A shorter beginning of the reference finds more.", MUTED),))
        return lines

    def action_move(self, by: int) -> None:
        """Move among the matches, or scroll the story when there is only one."""
        if len(self._found.matches) > 1:
            self.table.move(by)
        else:
            self.query_one("#telling", VerticalScroll).scroll_relative(y=by, animate=False)

    def action_box(self) -> None:
        """Go to the box with its text selected."""
        box = self.query_one("#box", Input)
        box.focus()
        box.select_all()

    def action_back(self) -> None:
        """Leave the box, then go back to Live."""
        box = self.query_one("#box", Input)
        if box.has_focus and box.value:
            box.value = ""
        elif box.has_focus:
            self.table.focus()
        else:
            self.post_message(ScreenAsked("live"))

    def action_copy_sentence(self) -> None:
        """Copy what to say to the customer, first in English, then in Swahili."""
        if self._story is not None:
            found = advice(self._story, now=self.desk.clock.now())
            both = f"{spoken(found.english)}\n{spoken(found.swahili)}"
            self.post_message(CopyAsked("customer's sentence", both))

    def action_copy_card(self) -> None:
        """Copy the whole story as text, the phone masked."""
        if self._story is not None:
            lines = story_lines(self._story, self.desk.look, _CARD)
            card = "\n".join("".join(piece for piece, _ in line).rstrip() for line in lines)
            self.post_message(CopyAsked("evidence card", card))

    def subject(self) -> Subject | None:
        """Return the collection whose story is told."""
        if self._story is None or not self._found.matches:
            return None
        row = self._story.row
        return Subject(name=safe(row.reference, 60), collection_id=row.id)

    def action_copy_id(self) -> None:
        """Copy the reference of the story."""
        if self._story is not None:
            self.post_message(CopyAsked("reference", self._story.row.reference))
