"""What every screen shares: its lines at the top and the bottom, and asking the store on a thread.

A question runs on a worker thread and comes back as a message; only handlers touch widgets. Of two
questions of one kind the later counts: an answer that nobody waits for any more is dropped.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec
from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen

from kusanya.clock import Clock
from kusanya.errors import StoreError
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.commands import Command, Kind, commands_of
from kusanya_console.doing import NO_KEY, READ_ONLY, Acting, Asking, Ended, Revealed
from kusanya_console.feed import Snapshot
from kusanya_console.messages import DeedAsked, Fetched, FetchFailed
from kusanya_console.present import Line, Look, TimeFormat
from kusanya_console.screens.confirm import NoteScreen
from kusanya_console.widgets.key_bar import KeyBar
from kusanya_console.widgets.result_line import ResultLine
from kusanya_console.widgets.sheet import Sheet
from kusanya_console.widgets.status_line import Standing, StatusLine
from kusanya_console.words import PLAIN, WARN

SMALLEST = (60, 16)
REVEALED_S: Final = 30.0
REST_S: Final = 0.08
"""A held key repeats faster than this, a person who reads stops for longer."""


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What the cursor points at: its name for people, and what the service can be asked for."""

    name: str
    collection_id: str | None = None
    event_id: str | None = None


class Desk(msgspec.Struct, kw_only=True):
    """What the screens are given: sources arrive built; what is shown of them moves on."""

    store: Store
    mode: Mode
    clock: Clock
    asks: Asking | None = None
    acts: Acting | None = None
    monotonic: Callable[[], float] = time.monotonic
    folder: Path = Path()
    """Where exports go."""
    ended: Ended | None = None
    """The result of what was asked or done last, until it is dismissed."""
    revealed: Revealed | None = None
    masked_at: float = 0.0
    times: TimeFormat = TimeFormat.EAT
    snapshot: Snapshot | None = None
    asleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def why_off(self, command: Command) -> str:
        """Return why a command does nothing here, or nothing where it works."""
        if command.kind is Kind.ASK:
            return NO_KEY if self.asks is None else ""
        if command.kind is not Kind.ACT:
            return ""
        if self.acts is None:
            return READ_ONLY
        return self.acts.why_no_resend() if command.id == "act.resend" else ""

    def tell(self, ended: Ended | Revealed | None) -> None:
        """Take what the result line says from now on."""
        self.ended = self.revealed = None
        if isinstance(ended, Revealed):
            self.revealed, self.masked_at = ended, self.monotonic() + REVEALED_S
        else:
            self.ended = ended

    def mask(self, *, now: bool = False) -> None:
        """Mask a revealed phone once its time is over, or at once."""
        if self.revealed is not None and (now or self.monotonic() >= self.masked_at):
            self.tell(Ended(f"the phone of {self.revealed.of} is masked again"))

    @property
    def look(self) -> Look:
        """Return the present instant and the way to write it."""
        return Look(self.clock.now(), self.times)


class ConsoleScreen(Screen[None]):
    """A screen with a status line, a body and a key bar."""

    NAME: ClassVar[str] = ""
    CRUMB: ClassVar[str] = ""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self._asked: dict[str, int] = {}
        self._moves = 0

    def compose(self) -> ComposeResult:
        """Lay out the lines that every screen has around its own body."""
        yield StatusLine()
        with Container(id="body"):
            yield from self.compose_body()
        yield ResultLine()
        yield KeyBar(commands_of(self.NAME), here=self.NAME)
        yield Sheet(id="too-small")

    def compose_body(self) -> ComposeResult:
        """Lay out this screen's own widgets."""
        yield from ()

    def on_mount(self) -> None:
        """Say which size is needed where there is too little room."""
        self.query_one("#too-small", Sheet).show(self._too_small)

    def _too_small(self, _width: int) -> list[Line]:
        columns, rows = SMALLEST
        needs = f"The console needs {columns}x{rows}; this is {self.size.width}x{self.size.height}"
        return [((needs, WARN),)]

    def on_resize(self) -> None:
        """Name the present size where it is too small."""
        self.query_one("#too-small", Sheet).show(self._too_small)

    def tell(self, standing: Standing) -> None:
        """Show how things stand; called every second and at every change."""
        self.query_one(StatusLine).tell(self.standing(standing), self.desk.look)
        self.desk.mask()
        self.show_result()
        self.second()

    def show_result(self) -> None:
        """Show how what was asked or done last has ended."""
        self.query_one(ResultLine).tell(self.desk.ended, self.desk.revealed)

    def say(self, sentence: str) -> None:
        """Answer a key that does nothing with its reason."""
        self.desk.tell(Ended(sentence, well=False))
        self.show_result()

    def on_screen_suspend(self) -> None:
        """Mask a revealed phone: nobody looks at it any more."""
        self.desk.mask(now=True)

    def standing(self, standing: Standing) -> Standing:
        """Return `standing` as this screen sees it."""
        return msgspec.structs.replace(standing, crumb=self.CRUMB)

    def second(self) -> None:
        """Redraw what moves with the time."""

    def advance(self, snapshot: Snapshot) -> None:
        """Apply what the feed brought."""

    def restyle(self) -> None:
        """Draw again with another time format."""

    def ask(self, what: str, question: Callable[[], Any]) -> None:
        """Run `question` on a thread; `answered` gets its result unless it is asked anew before."""
        generation = self._asked[what] = self._asked.get(what, 0) + 1

        def run() -> None:
            try:
                value = question()
            except StoreError as error:
                self.post_message(FetchFailed(what, generation, error))
            else:
                self.post_message(Fetched(what, generation, value))

        self.run_worker(run, thread=True, group=what, name=what)

    def when_rested(self, fetch: Callable[[], None]) -> None:
        """Run `fetch` once the cursor has rested; a move before that lets it wait anew."""
        self._moves = move = self._moves + 1

        async def wait() -> None:
            await self.desk.asleep(REST_S)
            if move == self._moves:
                fetch()

        self.run_worker(wait(), group="rest", name="rest")

    def answered(self, what: str, value: Any) -> None:
        """Apply the answer to a question."""

    def unanswered(self, what: str) -> None:
        """Note that the store could not answer; what is shown stays."""

    def on_fetched(self, message: Fetched) -> None:
        """Apply an answer that is still wanted."""
        message.stop()
        if self._asked.get(message.what) == message.generation:
            with self.app.batch_update():
                self.answered(message.what, message.value)

    def on_fetch_failed(self, message: FetchFailed) -> None:
        """Keep what is shown; the status line tells that the store is lost."""
        if self._asked.get(message.what) == message.generation:
            self.unanswered(message.what)

    def subject(self) -> Subject | None:
        """Return what the cursor points at, or None."""
        return None

    def action_ask_service(self) -> None:
        """Ask the service about what the cursor points at."""
        asks, subject = self.desk.asks, self.subject()
        if asks is None:
            self.say(NO_KEY)
        elif subject is None:
            self.say("nothing to ask about: the cursor points at no record")
        elif subject.event_id is not None:
            event_id = subject.event_id
            self.post_message(DeedAsked("asking", lambda: asks.ask_event(event_id)))
        elif subject.collection_id is not None:
            collection_id = subject.collection_id
            self.post_message(DeedAsked("asking", lambda: asks.ask_collection(collection_id)))
        else:
            self.say("no id is known of it, and the service cannot be asked by reference")

    def action_note(self) -> None:
        """Write a note on the payment that the cursor points at."""
        acts, subject = self.desk.acts, self.subject()
        if acts is None:
            self.say(READ_ONLY)
            return
        if subject is None or subject.collection_id is None:
            self.say("a note stands on a collection, and none is known here")
            return
        collection_id = subject.collection_id

        def keep(text: str | None) -> None:
            if text:
                self.post_message(
                    DeedAsked("keeping the note", lambda: acts.add_note(collection_id, text))
                )

        self.app.push_screen(NoteScreen((subject.name, PLAIN)), keep)

    def action_reveal(self) -> None:
        """Show a whole phone number for a while."""
        acts, subject = self.desk.acts, self.subject()
        if acts is None:
            self.say(READ_ONLY)
            return
        if subject is None or subject.collection_id is None:
            self.say("the phone of a collection can be revealed, and none is known here")
            return
        collection_id, name = subject.collection_id, subject.name
        self.post_message(
            DeedAsked("revealing", lambda: acts.reveal_phone(collection_id, name=name))
        )

    def action_step_back(self) -> None:
        """Dismiss the result line, or else go one step back."""
        if self.desk.ended is None and self.desk.revealed is None:
            self.action_back()
            return
        self.desk.tell(None)
        self.show_result()

    def action_back(self) -> None:
        """Go one step back; a screen with nothing to close goes nowhere."""
