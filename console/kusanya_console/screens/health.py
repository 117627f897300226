"""Health: where it is going wrong. Alarms are sentences, each with its next step."""

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from kusanya_console.commands import bindings_of
from kusanya_console.doing import NO_KEY
from kusanya_console.feed import Snapshot
from kusanya_console.health_report import health_lines
from kusanya_console.messages import CopyAsked, DeedAsked, ScreenAsked
from kusanya_console.screens.base import ConsoleScreen, Desk
from kusanya_console.widgets.sheet import Sheet
from kusanya_console.words import MUTED

_COPIED_CELLS = 110


class HealthScreen(ConsoleScreen):
    """The report that comes with the feed's snapshot."""

    NAME = "health"
    CRUMB = "Health"
    BINDINGS = bindings_of(NAME)

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._snapshot: Snapshot | None = None

    def compose_body(self) -> ComposeResult:
        """Lay out one report that scrolls."""
        with VerticalScroll(id="report", can_focus=False):
            yield Sheet(id="health")

    def on_mount(self) -> None:
        """Say that the report is on its way."""
        super().on_mount()
        self.query_one("#health", Sheet).show(lambda _width: [(("reading the store", MUTED),)])

    def advance(self, snapshot: Snapshot) -> None:
        """Show the report of the newest snapshot."""
        self._snapshot = snapshot
        self._show()

    def second(self) -> None:
        """Move ages and countdowns on."""
        self._show()

    def restyle(self) -> None:
        """Draw in the new time format."""
        self._show()

    def _show(self) -> None:
        snapshot, look = self._snapshot, self.desk.look
        if snapshot is not None:
            self.query_one("#health", Sheet).show(
                lambda width: health_lines(snapshot.health, snapshot.silence, look, width)
            )

    def action_move(self, by: int) -> None:
        """Scroll the report."""
        self.query_one("#report", VerticalScroll).scroll_relative(y=by, animate=False)

    def action_back(self) -> None:
        """Go back to Live."""
        self.post_message(ScreenAsked("live"))

    def action_catch_up(self) -> None:
        """Ask the service for what the store may have missed."""
        asks = self.desk.asks
        if asks is None:
            self.say(NO_KEY)
        else:
            self.post_message(DeedAsked("catching up", asks.catch_up))

    def action_copy_id(self) -> None:
        """Copy the report as text."""
        if self._snapshot is not None:
            told, look = self._snapshot, self.desk.look
            lines = health_lines(told.health, told.silence, look, _COPIED_CELLS)
            report = "\n".join("".join(piece for piece, _ in line).rstrip() for line in lines)
            self.post_message(CopyAsked("report", report))
