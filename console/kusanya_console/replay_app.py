"""The console on a recording: the same screens, a tape's keys, and the word that it is not now."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, ClassVar, Final

import msgspec
from textual.binding import Binding, BindingType
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from kusanya.errors import StoreError
from kusanya.store import Store
from kusanya_console.actions.results import Ended
from kusanya_console.app import LATER, ConsoleApp
from kusanya_console.commands import Command
from kusanya_console.feed import Feed
from kusanya_console.messages import FeedAdvanced, FeedFailed
from kusanya_console.replaying import SPEEDS, Player

TAPE: Final = (
    Command(
        id="tape.pause", keys=("p",), shown="p", label="hold the tape", action="app.tape_pause",
        sentence="Hold the recording at this instant, or let it go on.",
    ),
    Command(
        id="tape.speed", keys=("x",), shown="x", label="speed", action="app.tape_speed",
        sentence="Play at the recorded pace, 10 times or 60 times as fast.",
    ),
    Command(
        id="tape.step", keys=("full_stop",), shown=".", label="next change",
        action="app.tape_step", sentence="Hold, and go to the next recorded change.",
    ),
    Command(
        id="tape.back", keys=("left_parenthesis",), shown="(", label="back 1 minute",
        action="app.tape_seek(-60)", sentence="Go back one minute of the recording.",
    ),
    Command(
        id="tape.on", keys=("right_parenthesis",), shown=")", label="on 1 minute",
        action="app.tape_seek(60)", sentence="Go on one minute of the recording.",
    ),
    Command(
        id="tape.far_back", keys=("left_curly_bracket",), shown="{", label="back 10 minutes",
        action="app.tape_seek(-600)", sentence="Go back ten minutes of the recording.",
    ),
    Command(
        id="tape.far_on", keys=("right_curly_bracket",), shown="}", label="on 10 minutes",
        action="app.tape_seek(600)", sentence="Go on ten minutes of the recording.",
    ),
)  # fmt: skip
"""What only a replay can do."""
HINT: Final = "a recording: p hold  x speed  . next change  ( ) one minute  { } ten"


class TapeProvider(Provider):
    """Offers the tape's commands in the palette."""

    async def discover(self) -> Hits:
        """List them before anything is typed."""
        for command in TAPE:
            yield DiscoveryHit(_title(command), self._run(command), help=command.sentence)

    async def search(self, query: str) -> Hits:
        """List those that fit the words typed."""
        matcher = self.matcher(query)
        for command in TAPE:
            score = matcher.match(f"{_title(command)} {command.sentence}")
            if score > 0:
                title = _title(command)
                run = self._run(command)
                yield Hit(score, Content(title), run, text=title, help=command.sentence)

    def _run(self, command: Command) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            await self.app.run_action(command.action)

        return run


class ReplayApp(ConsoleApp):
    """A console on a player's store and clock: it reads alone, and asks nobody.

    `store` is the player's, opened for reading; it stays the caller's, and so does the player.
    """

    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = ConsoleApp.COMMANDS | {
        TapeProvider
    }
    MORE = TAPE
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            ",".join(command.keys),
            command.action.removeprefix("app."),
            command.sentence,
            id=command.id,
        )
        for command in TAPE
    ]

    def __init__(self, store: Store, player: Player, **options: Any) -> None:
        super().__init__(store, clock=player.clock, **options)
        self.desk.recording = True
        self.player = player
        self._turns = 0
        self.desk.tell(Ended(HINT))

    def _window(self, name: str) -> str:
        # A screen belongs to one run of the tape: none may show what is yet to come.
        return f"{super()._window(name)}#{self._turns}"

    def _read(self) -> None:
        try:
            self.player.catch_up()
        except StoreError as error:
            self.post_message(FeedFailed(error))
        else:
            super()._read()

    def on_feed_advanced(self, message: FeedAdvanced) -> None:
        """Apply a snapshot, unless the tape was turned back behind it meanwhile."""
        if message.snapshot.at > self.player.clock.now():
            message.prevent_default()
            self._reading = False

    def _tell(self) -> None:
        self._standing = msgspec.structs.replace(self._standing, replay=self._tape())
        super()._tell()

    def _tape(self) -> str:
        clock = self.player.clock
        if clock.is_over:
            return "REPLAY over"
        return "REPLAY held" if clock.paused else f"REPLAY ×{clock.speed}"

    # --- keys ----------------------------------------------------------------------------------

    def action_tape_pause(self) -> None:
        """Hold the tape, or let it go on."""
        clock = self.player.clock
        clock.pause(paused=not clock.paused)
        self._moved()

    def action_tape_speed(self) -> None:
        """Play at the next speed."""
        clock = self.player.clock
        clock.run_at(SPEEDS[(SPEEDS.index(clock.speed) + 1) % len(SPEEDS)])
        self._moved()

    def action_tape_step(self) -> None:
        """Hold, and go to the next recorded change."""
        clock, upcoming = self.player.clock, self.player.next_at
        clock.pause(paused=True)
        clock.jump(clock.end if upcoming is None else upcoming)
        self._moved()

    async def action_tape_seek(self, seconds: int) -> None:
        """Go so many seconds on or, below zero, back."""
        clock = self.player.clock
        clock.jump(clock.now() + timedelta(seconds=seconds))
        if seconds < 0:
            await self._turn_back()
        self._moved()

    async def _turn_back(self) -> None:
        """Begin anew at the recording's start; the next reading goes on to the clock's instant."""
        screen = self.console_screen
        name = screen.NAME if screen is not None else "live"
        while self.screen is not screen and len(self.screen_stack) > 1:
            self.pop_screen()  # a dialog's record may not have happened yet
        await self.workers.wait_for_complete()
        await asyncio.to_thread(self._again)
        self._feed = Feed(self.desk.store, mode=self.desk.mode, clock=self.player.clock)
        self._reading, self._retry_at = False, 0.0
        self.desk.snapshot = None
        before = [self._window(one) for one in ("live", *LATER)]
        self._turns += 1
        self._open_windows()
        await self.switch_mode(self._window(name))
        for window in before:
            await self.remove_mode(window)

    def _again(self) -> None:
        self.player.rewind()
        self.player.catch_up()

    def _moved(self) -> None:
        self._tell()
        self.tick()


def _title(command: Command) -> str:
    return f"{command.label}  ({command.shown})"
