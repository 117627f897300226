"""Reads the store again and again, and keeps what all screens say of it: how old, how urgent, lost.

Nothing here asks for a screen's own rows: a screen does so itself when it is given a snapshot.
"""

from collections.abc import Callable

import msgspec

from kusanya.errors import StoreError
from kusanya.say import Said
from kusanya_console.actions.messages import EndpointsLoaded, FeedAdvanced, FeedFailed
from kusanya_console.actions.runner import ActionRunner
from kusanya_console.feed import FeedReader
from kusanya_console.sandbox.dashboard.errors import DashboardError
from kusanya_console.screens.base import ConsoleScreen
from kusanya_console.screens.status_line import StatusBarState, alarm_words
from kusanya_console.ui.alarm_bell import AlarmBell
from kusanya_console.ui.crash import failure_place

BLURRED_TICKS = 4
"""Without the terminal's focus only every so manieth tick reads."""
_NEWS_REST_TICKS = 3
"""So many ticks rest after news: nobody reads a list that moves on four times in a second."""
_SENDER_EVERY_S = 10.0
_BACKOFF_S = (1, 2, 4, 8, 16, 30)


class FeedRunner(ActionRunner):
    """An application that reads the store on a thread, and shows on its status line how it is."""

    _feed: FeedReader
    _status: StatusBarState
    _alarm_bell: AlarmBell
    _jitter: Callable[[], float]
    """Between 0 and 1, so that many consoles do not ask a store that is back all at once."""
    _reading = False
    _ticks = 0
    _resting_ticks = 0
    _failures = 0
    _retry_at = 0.0
    _loading_endpoints = False
    _endpoints_due = 0.0
    _notices = 0
    """Notices that lay over the screen when its status was shown last."""

    @property
    def console_screen(self) -> ConsoleScreen | None:
        """Return the screen whose turn it is, also while a dialog lies over it."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, ConsoleScreen):
                return screen
        return None

    def _on_tick(self) -> None:
        self._ticks += 1
        self._resting_ticks -= 1
        if self._resting_ticks >= 0:
            return
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
        except Exception as error:  # noqa: BLE001 - shown on the screen; all else goes on
            self.post_message(FeedFailed(error))
        else:
            self.post_message(FeedAdvanced(snapshot))

    def on_feed_advanced(self, message: FeedAdvanced) -> None:
        """Give the snapshot to the screen in view, in one batch."""
        snapshot = message.snapshot
        if snapshot.mode is not self.context.mode:
            return  # it was being read when the mode changed; the next reading is under way
        self._reading, self._failures, self._retry_at = False, 0, 0.0
        if (snapshot.changed or snapshot.arrived) and not snapshot.behind:
            self._resting_ticks = _NEWS_REST_TICKS
        self._status = msgspec.structs.replace(
            self._status,
            unknown=len(snapshot.alarm_inputs.unknown),
            alarms=alarm_words(snapshot.alarm_inputs.with_sender(self.context.sender)),
            updated_at=snapshot.at,
            behind=snapshot.behind,
            lost_at=None,
        )
        self.context.snapshot = snapshot
        known = snapshot.alarm_inputs.with_sender(self.context.sender)
        if self._alarm_bell.should_ring(known, has_focus=self.app_focus):
            self.bell()
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
                # The Service screen says why; the last answer stays, nothing newer is known.
                self.post_message(EndpointsLoaded(None))
            except Exception as error:  # noqa: BLE001 - shown on the screen; all else goes on
                why = Said("could not read the sender's endpoints: {place}").of(
                    place=failure_place(error)
                )
                self.call_from_thread(self.show_notice, why)
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

    def on_feed_failed(self, message: FeedFailed) -> None:
        """Say that the store is lost, keep what is shown, try again later and later."""
        if not isinstance(message.error, StoreError) and not self._failures:
            self.show_notice(
                Said(
                    "could not read what is new in the store: {place}. What is shown is the last "
                    "that was read; it is tried again, and all else goes on"
                ).of(place=failure_place(message.error))
            )
        wait = _BACKOFF_S[min(self._failures, len(_BACKOFF_S) - 1)] * (0.75 + self._jitter() / 2)
        self._reading = False
        self._failures += 1
        self._retry_at = self.context.clock.monotonic() + wait
        lost_at = self._status.lost_at or self.context.clock.now()
        self._status = msgspec.structs.replace(self._status, lost_at=lost_at)
        self._show_status()

    def _show_status(self) -> None:
        self._repaint_under_notices()
        screen = self.console_screen
        if screen is not None and screen.is_mounted:
            screen.show_status(self._status)

    def _repaint_under_notices(self) -> None:
        """Draw again what a notice covered that has gone.

        Textual forgets the place of a widget that is removed in the turn in which a hidden one
        changes: letters of a notice stood in the foot until something else was drawn there.
        """
        notices = len(self.screen.query("Toast"))
        if notices < self._notices:
            self.screen.refresh()
        self._notices = notices
