"""The console: reads one store, shows it, and says at every moment how old the picture is.

The application owns what all screens share: the mode and the windows; what it reads is in
`feed_runner`, how it looks in `preferences`. Screens own what they show. The store arrives built.
"""

import random
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import msgspec
from textual import events
from textual.binding import BindingType
from textual.command import CommandPalette, Provider
from textual.driver import Driver
from textual.widgets import Input

from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.messages import (
    ListRequested,
    ProfileRequested,
    ScreenRequested,
    TimelineRequested,
)
from kusanya_console.application.palette import CommandProvider
from kusanya_console.application.preferences import Preferences
from kusanya_console.commands import LIVE, SCREENS, ScreenEntry
from kusanya_console.feed import FeedReader
from kusanya_console.screens.base import ConsoleScreen
from kusanya_console.screens.status_line import StatusBarState
from kusanya_console.ui.alarm_bell import AlarmBell
from kusanya_console.ui.crash import crash_report
from kusanya_console.ui.language import translate
from kusanya_console.ui.terminal import lasting

TICK_S = 0.25
_TYPED_ON_S = 0.7
"""Who types a number presses the next key sooner."""
_A_NUMBER = 3
"""So many digits in one go are a number, and no two screens."""
_LEAVING_S = 3.0
"""So soon after the first time the second asks to leave."""


class ConsoleApp(Preferences):
    """The operations console on one store and one mode.

    `context` holds what it reads, asks and acts with, built by the caller around a store, which
    stays the caller's, and a client: what is missing is off, and its keys say why. `tick_s` is how
    often the store is looked at in real seconds, or None to look only when `tick` is called. The
    caller does what `next_profile` says once this has ended.
    After `run()` the caller exits with `return_code`, which is 1 after a crash.
    """

    TITLE = "kusanya"
    CSS_PATH = Path(__file__).parents[1] / "console.tcss"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {CommandProvider}
    BINDINGS: ClassVar[list[BindingType]] = []
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual declares it so
        (0, "-tiny"),
        (60, "-narrow"),
        (100, "-normal"),
        (150, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012 - Textual declares it so
        (0, "-flat"),
        (16, "-short"),
        (30, "-tall"),
    ]

    def __init__(
        self,
        context: AppContext,
        *,
        store_shown: str | None = None,
        ascii: bool = False,  # noqa: A002 - the option's own name
        virtual: bool = False,
        tick_s: float | None = TICK_S,
        jitter: Callable[[], float] = random.random,
        bell: bool = True,
    ) -> None:
        super().__init__()
        self._alarm_bell = AlarmBell(is_enabled=bell)
        self.next_profile: str | None = None
        """The profile that a person wants to see next, once this console has ended."""
        self.context = context
        self._status = StatusBarState(
            mode=context.mode,
            crumb="",
            read_only=context.actions is None,
            virtual=virtual,
            profile=context.profile,
            store=context.store.url_shown if store_shown is None else store_shown,
        )
        self._feed = FeedReader(context.store, mode=context.mode, clock=context.clock)
        context.home = context.mode
        self._tick_s = tick_s
        self._jitter = jitter
        self._leaving_until = float("-inf")
        self._typed: tuple[str, float] | None = None
        """The digits typed since Lookup was left, and when the last of them was."""
        self._dress(ascii_only=ascii)

    def on_mount(self) -> None:
        """Open Live and begin to read."""
        self.theme_changed_signal.subscribe(self, lambda _theme: self._roles())
        self._roles()
        self._add_screens()
        self.switch_mode(self._screen_key(LIVE))
        if self._tick_s is None:
            self.call_after_refresh(self.tick)
            return
        # The first is not at once: records come before figures, which cost ten times as much.
        self.set_interval(self._tick_s, self._on_tick)
        self.set_interval(1, self._show_status)

    def _add_screens(self) -> None:
        for entry in SCREENS:
            self.add_mode(self._screen_key(entry.name), partial(self._open, entry))

    def _screen_key(self, name: str) -> str:
        # A screen belongs to one mode for good: no figure of the other can be left over in it.
        return f"{name}@{self.context.mode.value}"

    def _open(self, entry: ScreenEntry) -> ConsoleScreen:
        # Loaded when somebody goes there: the first paint needs one screen of them all.
        module = import_module(f"kusanya_console.{entry.module}")
        screen: type[ConsoleScreen] = getattr(module, entry.screen)
        return screen(self.context)

    def get_driver_class(self) -> type[Driver]:
        """Return the platform's driver, which outlives its terminal here."""
        return lasting(super().get_driver_class())

    def show_result(self) -> None:
        """Show how what was asked or done last has ended."""
        screen = self.console_screen
        if screen is not None and screen.is_mounted:
            screen.show_result()

    # --- typing beside the look-up's box ---------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Take a number or a reference that is typed beside the look-up's box for what it is."""
        if (
            isinstance(event, events.Key)
            and not event.is_forwarded
            and (await self._types_beside(event) or await self._goes(event.key))
        ):
            return
        await super().on_event(event)

    async def _types_beside(self, event: events.Key) -> bool:
        """Put a character into the look-up's box where it was meant for it; tell whether it was.

        A digit that is a screen's key goes there at once, and so does a second: nobody looks up two
        digits. A third right behind them, or a digit that is no screen's key, is one of a number.
        """
        screen, character = self.console_screen, event.character or ""
        if screen is None or screen is not self.screen or not event.is_printable:
            return False
        begun, self._typed = self._typed, None
        now = self.context.monotonic()
        if begun is not None and character.isdigit() and now - begun[1] <= _TYPED_ON_S:
            digits = f"{begun[0]}{character}"
            if len(digits) < _A_NUMBER and self._leaves_lookup(screen, event.key):
                self._typed = (digits, now)
                return False
            await self.switch_mode(self._screen_key("lookup"))
            self._type_into_lookup(digits)
            self.call_after_refresh(self._arrived)
            return True
        if screen.NAME != "lookup" or getattr(screen, "is_typing", True):
            return False
        if event.key in screen.active_bindings:
            leaves = character.isdigit() and self._leaves_lookup(screen, event.key)
            self._typed = (character, now) if leaves else None
            return False
        self._type_into_lookup(character)
        return True

    async def _goes(self, key: str) -> bool:
        """Go to a screen in the turn of its key: one typed behind it waits, and is for that screen.

        A binding is looked up in the turn of the widget with the focus, which has the keys behind
        it already: over a slow line they come in one go, and were lost.
        """
        screen = self.console_screen
        if screen is None or screen is not self.screen or isinstance(self.focused, Input):
            return False
        bound = screen.active_bindings.get(key)
        if bound is None or not bound.binding.action.startswith("app.go("):
            return False
        return await self.run_action(bound.binding.action, bound.node)

    def _leaves_lookup(self, screen: ConsoleScreen, key: str) -> bool:
        bound = screen.active_bindings.get(key)
        return bound is not None and bound.binding.action != "app.go('lookup')"

    def _type_into_lookup(self, text: str) -> None:
        from kusanya_console.lookup.screen import LookupScreen

        screen = self.console_screen
        if isinstance(screen, LookupScreen):
            screen.type_on(text)

    # --- what screens ask for ------------------------------------------------------------------

    async def action_go(self, name: str) -> None:
        """Go to a screen; the next key, however fast it comes, is for that one."""
        if self.console_screen is not None and name != self.console_screen.NAME:
            await self.switch_mode(self._screen_key(name))
            if isinstance(self.screen, ConsoleScreen) and self.screen.is_mounted:
                self.screen.entered()
            self.call_after_refresh(self._arrived)
        elif self.console_screen is not None and self.console_screen is self.screen:
            self.console_screen.entered()

    def _arrived(self) -> None:
        screen, snapshot = self.console_screen, self.context.snapshot
        if screen is not None and screen.is_mounted:
            screen.speak()
            if snapshot is not None:
                screen.advance(snapshot)
            self._show_status()

    def action_help(self) -> None:
        """Show the keys of the screen in view."""
        from kusanya_console.screens.help import HelpScreen

        screen = self.console_screen
        if screen is not None and screen is self.screen:
            self.push_screen(
                HelpScreen(
                    screen.NAME,
                    screen.CRUMB,
                    grammar=screen.grammar,
                    disabled_reason=self.context.disabled_reason,
                    shown=self.context.shown,
                )
            )

    def action_command_palette(self) -> None:
        """Open the palette, its box asking in the chosen language."""
        if not isinstance(self.screen, CommandPalette):
            asked = translate("Search for commands…")
            self.push_screen(CommandPalette(id="--command-palette", placeholder=asked))

    def action_leave(self) -> None:
        """Leave where it is asked for twice: the console stays open all day."""
        now = self.context.monotonic()
        if now <= self._leaving_until:
            self.exit()
            return
        self._leaving_until = now + _LEAVING_S
        self.notify(translate("once more leaves the console"), markup=False, timeout=_LEAVING_S)

    def on_profile_requested(self, message: ProfileRequested) -> None:
        """End this console so that another one begins on a profile of config.toml."""
        if self._progress:
            self.refuse_while_progress()
        else:
            self.next_profile = message.profile
            self.exit()

    async def action_other_mode(self) -> None:
        """Empty every screen and open the console on the other mode."""
        if self._progress:
            self.refuse_while_progress()
            return
        screen = self.console_screen
        name = LIVE if screen is None else screen.NAME
        left = [self._screen_key(entry.name) for entry in SCREENS]
        self.context.mode = mode = Mode.TEST if self.context.mode is Mode.LIVE else Mode.LIVE
        self.context.snapshot = None
        self.context.show(None)
        self._feed = FeedReader(self.context.store, mode=mode, clock=self.context.clock)
        self._status = msgspec.structs.replace(
            self._status, mode=mode, unknown=0, alarms=(), updated_at=None
        )
        self._reading, self._retry_at = False, 0.0
        self._add_screens()
        await self.switch_mode(self._screen_key(name))
        for one in left:
            await self.remove_mode(one)
        self.call_after_refresh(self._arrived)
        self.tick()

    async def on_list_requested(self, message: ListRequested) -> None:
        """Open a list narrowed to what somebody wants to see."""
        from kusanya_console.lists.list_screen import ListScreen

        await self.switch_mode(self._screen_key(message.screen))
        screen = self.console_screen
        if isinstance(screen, ListScreen):
            screen.load(message.query)
        self.call_after_refresh(self._arrived)

    async def on_timeline_requested(self, message: TimelineRequested) -> None:
        """Open the look-up with a record's id in its box."""
        from kusanya_console.lookup.screen import LookupScreen

        await self.switch_mode(self._screen_key("lookup"))
        screen = self.console_screen
        if isinstance(screen, LookupScreen):
            screen.look_for(message.text)
        self.call_after_refresh(self._arrived)

    async def on_screen_requested(self, message: ScreenRequested) -> None:
        """Go where a screen wants to go."""
        await self.action_go(message.screen)

    # --- a crash -------------------------------------------------------------------------------

    def _fatal_error(self) -> None:
        """Leave with the error's type and our own frames: no message, no locals, no data."""
        error = self._exception or sys.exc_info()[1]
        self._exit_renderables.append(crash_report(error, read_only=self.context.actions is None))
        self._close_messages_no_wait()
