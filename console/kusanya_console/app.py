"""The console: reads one store, shows it, and says at every moment how old the picture is.

The application owns what all screens share: the feed, the mode, the status line's facts, the way
times are written. Screens own what they show. The store arrives built.
"""

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec
from textual.binding import BindingType, Keymap
from textual.command import Provider
from textual.driver import Driver

from kusanya.clock import Clock
from kusanya.errors import ConfigurationError, StoreError
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.messages import (
    EndpointsLoaded,
    FeedAdvanced,
    FeedFailed,
    ListRequested,
    ScreenRequested,
    TimelineRequested,
)
from kusanya_console.actions.runner import ActionRunner
from kusanya_console.commands import wrong_keys
from kusanya_console.dashboard.errors import DashboardError
from kusanya_console.feed import Feed
from kusanya_console.live.screen import LiveScreen
from kusanya_console.palette import CommandProvider
from kusanya_console.screens.base import ConsoleScreen
from kusanya_console.screens.status_line import StatusBarState, alarm_words
from kusanya_console.ui.ascii import AsciiFilter
from kusanya_console.ui.crash import crash_report
from kusanya_console.ui.stylesheet import ParsedOnce
from kusanya_console.ui.terminal import lasting
from kusanya_console.ui.theme import THEMES, roles

if TYPE_CHECKING:  # built by the caller
    from kusanya_console.actions.forensics import Forensics
    from kusanya_console.actions.operator import OperatorActions
    from kusanya_console.actions.queries import ServiceQueries
    from kusanya_console.actions.service_admin import ServiceAdmin
    from kusanya_console.dashboard.reader import ServiceReader

TICK_S = 0.25
BLURRED_TICKS = 4
"""Without the terminal's focus only every so manieth tick reads."""
_SENDER_EVERY_S = 10.0
_BACKOFF_S = (1, 2, 4, 8, 16, 30)
LATER = {
    "deliveries": ("kusanya_console.deliveries.screen", "DeliveriesScreen"),
    "lookup": ("kusanya_console.lookup.screen", "LookupScreen"),
    "health": ("kusanya_console.health.screen", "HealthScreen"),
    "intents": ("kusanya_console.intents.screen", "IntentsScreen"),
    "service": ("kusanya_console.service.screen", "ServiceScreen"),
}
"""Screens that are loaded when somebody goes there: the first paint needs none of them."""


class ConsoleApp(ActionRunner):
    """The operations console on one store and one mode.

    `store` stays the caller's, who opens and closes it. `clock` gives the time shown; `tick_s` is
    how often the store is looked at in real seconds, or None to look only when `tick` is called.
    `queries` and `operator` are built by the caller around a client: without them their keys say
    why they are off. `service` and `service_admin` are the embedded service's dashboard,
    `forensics` knows the signing secrets. `sleep` and `monotonic` wait for a cursor to rest and for
    a phone to be masked again. Exports go into `folder`, by default the one that the console was
    started in.
    After `run()` the caller exits with `return_code`, which is 1 after a crash.
    """

    TITLE = "kusanya"
    CSS_PATH = Path(__file__).with_name("console.tcss")
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
        store: Store,
        *,
        mode: Mode,
        clock: Clock,
        profile: str = "",
        store_shown: str | None = None,
        ascii: bool = False,  # noqa: A002 - the option's own name
        queries: "ServiceQueries | None" = None,
        operator: "OperatorActions | None" = None,
        service: "ServiceReader | None" = None,
        service_admin: "ServiceAdmin | None" = None,
        forensics: "Forensics | None" = None,
        virtual: bool = False,
        tick_s: float | None = TICK_S,
        jitter: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        folder: Path | None = None,
    ) -> None:
        super().__init__()
        self.context = AppContext(
            store=store,
            mode=mode,
            clock=clock,
            queries=queries,
            operator=operator,
            service=service,
            service_admin=service_admin,
            forensics=forensics,
            sleep=sleep,
            monotonic=monotonic,
            folder=folder or Path.cwd(),
        )
        shown = store.url_shown if store_shown is None else store_shown
        self._status = StatusBarState(
            mode=mode,
            crumb="",
            read_only=operator is None,
            virtual=virtual,
            store=" ".join(part for part in (profile, shown) if part),
        )
        self._feed = Feed(store, mode=mode, clock=clock)
        self.context.home = mode
        self._tick_s = tick_s
        self._jitter = jitter
        self._reading = False
        self._ticks = 0
        self._failures = 0
        self._retry_at = 0.0
        self._loading_endpoints = False
        self._endpoints_due = 0.0
        if ascii:
            self._filters.append(AsciiFilter())
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = THEMES[0].name
        self.stylesheet = ParsedOnce(variables=self.get_css_variables())

    def on_mount(self) -> None:
        """Open Live and begin to read."""
        self.theme_changed_signal.subscribe(self, lambda _theme: self._roles())
        self._roles()
        self._open_windows()
        self.switch_mode(self._window("live"))
        if self._tick_s is not None:
            self.set_interval(self._tick_s, self._on_tick)
            self.set_interval(1, self._show_status)
        # After the screen's own first question: records come before figures.
        self.call_after_refresh(self.tick)

    def _open_windows(self) -> None:
        self.add_mode(self._window("live"), lambda: LiveScreen(self.context))
        for name, (module, screen) in LATER.items():
            self.add_mode(self._window(name), partial(self._open, module, screen))

    def _window(self, name: str) -> str:
        # A screen belongs to one mode for good: no figure of the other can be left over in it.
        return f"{name}@{self.context.mode.value}"

    def _open(self, module: str, screen: str) -> ConsoleScreen:
        found: type[ConsoleScreen] = getattr(import_module(module), screen)
        return found(self.context)

    def get_driver_class(self) -> type[Driver]:
        """Return the platform's driver, which outlives its terminal here."""
        return lasting(super().get_driver_class())

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return what a theme of somebody else's leaves out."""
        return dict(THEMES[0].variables)

    def action_next_theme(self) -> None:
        """Go from dark to light to the terminal's own colours."""
        names = [theme.name for theme in THEMES]
        place = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(place + 1) % len(names)]

    def _roles(self) -> None:
        self.console.push_theme(roles(self.get_css_variables()))

    @property
    def console_screen(self) -> ConsoleScreen | None:
        """Return the screen whose turn it is, also while a dialog lies over it."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, ConsoleScreen):
                return screen
        return None

    def show_result(self) -> None:
        """Show how what was asked or done last has ended."""
        screen = self.console_screen
        if screen is not None and screen.is_mounted:
            screen.show_result()

    # --- the feed ------------------------------------------------------------------------------

    def _on_tick(self) -> None:
        self._ticks += 1
        if self.app_focus or self._ticks % BLURRED_TICKS == 0:
            self.tick()

    def tick(self) -> None:
        """Read the store once, unless a reading is under way or the last failure is too fresh."""
        if self._reading or self.context.clock.monotonic() < self._retry_at:
            return
        self._reading = True
        self.run_worker(self._read, thread=True, group="feed", name="feed")

    def _read(self) -> None:
        try:
            snapshot = self._feed.read()
        except StoreError as error:
            self.post_message(FeedFailed(error))
        else:
            self.post_message(FeedAdvanced(snapshot))

    def on_feed_advanced(self, message: FeedAdvanced) -> None:
        """Give the snapshot to the screen in view, in one batch."""
        snapshot = message.snapshot
        if snapshot.mode is not self.context.mode:
            return  # it was being read when the mode changed; the next reading is under way
        self._reading, self._failures, self._retry_at = False, 0, 0.0
        self._status = msgspec.structs.replace(
            self._status,
            unknown=len(snapshot.alarm_inputs.unknown),
            alarms=alarm_words(snapshot.alarm_inputs.with_sender(self.context.sender)),
            updated_at=snapshot.at,
            behind=snapshot.behind,
            lost_at=None,
        )
        self.context.snapshot = snapshot
        screen = self.console_screen
        if screen is not None and screen.is_mounted:
            with self.batch_update():
                screen.advance(snapshot)
                self._show_status()

        self._load_endpoints()

    def _load_endpoints(self) -> None:
        """Ask the embedded service's dashboard now and then how our endpoints stand."""
        service, now = self.context.service, self.context.clock.monotonic()
        if service is None or self._loading_endpoints or now < self._endpoints_due:
            return
        self._loading_endpoints = True

        def run() -> None:
            try:
                endpoints = service.load().endpoints
            except DashboardError:
                # The Service screen says why; what was heard last stays, it is still the best word.
                self.post_message(EndpointsLoaded(None))
            else:
                self.post_message(EndpointsLoaded(endpoints))

        self.run_worker(run, thread=True, group="sender", name="sender")

    def on_endpoints_loaded(self, message: EndpointsLoaded) -> None:
        """Take the sender's word for how our endpoints stand."""
        self._loading_endpoints = False
        self._endpoints_due = self.context.clock.monotonic() + _SENDER_EVERY_S
        if message.endpoints is None or self.context.snapshot is None:
            return
        self.context.sender = message.endpoints
        self._status = msgspec.structs.replace(
            self._status,
            alarms=alarm_words(self.context.snapshot.alarm_inputs.with_sender(message.endpoints)),
        )
        self._show_status()

    def on_feed_failed(self) -> None:
        """Say that the store is lost, keep what is shown, try again later and later."""
        wait = _BACKOFF_S[min(self._failures, len(_BACKOFF_S) - 1)] * (0.75 + self._jitter() / 2)
        self._reading = False
        self._failures += 1
        self._retry_at = self.context.clock.monotonic() + wait
        lost_at = self._status.lost_at or self.context.clock.now()
        self._status = msgspec.structs.replace(self._status, lost_at=lost_at)
        self._show_status()

    def _show_status(self) -> None:
        screen = self.console_screen
        if screen is not None and screen.is_mounted:
            screen.show_status(self._status)

    # --- what screens ask for ------------------------------------------------------------------

    def action_go(self, name: str) -> None:
        """Go to a screen."""
        if self.console_screen is not None and name != self.console_screen.NAME:
            self.switch_mode(self._window(name))
            if isinstance(self.screen, ConsoleScreen) and self.screen.is_mounted:
                self.screen.entered()
            self.call_after_refresh(self._arrived)

    def _arrived(self) -> None:
        screen, snapshot = self.console_screen, self.context.snapshot
        if screen is not None and screen.is_mounted:
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
                    disabled_reason=self.context.disabled_reason,
                    shown=self.context.shown,
                )
            )

    def action_times(self) -> None:
        """Write instants in the next format, on every screen."""
        self.context.times = self.context.times.after
        screen = self.console_screen
        if screen is not None:
            screen.restyle()
        self._show_status()
        self.notify(f"times in {self.context.times.value}", markup=False, timeout=2)

    async def action_other_mode(self) -> None:
        """Empty every window and open the console on the other mode."""
        if self._progress:
            self.refuse_while_progress()
            return
        screen = self.console_screen
        name = "live" if screen is None else screen.NAME
        left = [self._window(one) for one in ("live", *LATER)]
        self.context.mode = mode = Mode.TEST if self.context.mode is Mode.LIVE else Mode.LIVE
        self.context.snapshot = None
        self.context.show(None)
        self._feed = Feed(self.context.store, mode=mode, clock=self.context.clock)
        self._status = msgspec.structs.replace(
            self._status, mode=mode, unknown=0, alarms=(), updated_at=None
        )
        self._reading, self._retry_at = False, 0.0
        self._open_windows()
        await self.switch_mode(self._window(name))
        for one in left:
            await self.remove_mode(one)
        self.call_after_refresh(self._arrived)
        self.tick()

    def set_keymap(self, keymap: Keymap) -> None:
        """Put a person's keys in place of the commands' own; raises ConfigurationError."""
        wrong = wrong_keys(keymap)
        if wrong:
            raise ConfigurationError(f"[keys] of config.toml: {wrong}")
        self.context.keys = dict(keymap)
        super().set_keymap(keymap)

    async def on_list_requested(self, message: ListRequested) -> None:
        """Open a list narrowed to what somebody wants to see."""
        from kusanya_console.lists.list_screen import ListScreen

        await self.switch_mode(self._window(message.screen))
        screen = self.console_screen
        if isinstance(screen, ListScreen):
            screen.load(message.query)
        self.call_after_refresh(self._arrived)

    async def on_timeline_requested(self, message: TimelineRequested) -> None:
        """Open the look-up with a record's id in its box."""
        from kusanya_console.lookup.screen import LookupScreen

        await self.switch_mode(self._window("lookup"))
        screen = self.console_screen
        if isinstance(screen, LookupScreen):
            screen.look_for(message.text)
        self.call_after_refresh(self._arrived)

    def on_screen_requested(self, message: ScreenRequested) -> None:
        """Go where a screen wants to go."""
        self.action_go(message.screen)

    # --- a crash -------------------------------------------------------------------------------

    def _fatal_error(self) -> None:
        """Leave with the error's type and our own frames: no message, no locals, no data."""
        error = self._exception or sys.exc_info()[1]
        self._exit_renderables.append(crash_report(error, read_only=self.context.operator is None))
        self._close_messages_no_wait()
