"""The hand-over page: what happened since an instant, who did what, what is open."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from kusanya.domain.business_day import format_instant
from kusanya.handover import Handover, lines, load
from kusanya.say import Said
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.messages import ActionRequested, CopyRequested, ScreenRequested
from kusanya_console.actions.results import ActionResult
from kusanya_console.collections.detail import card_head
from kusanya_console.commands import bindings_of
from kusanya_console.feed import Snapshot
from kusanya_console.handover.shifts import next_shift, shift_before
from kusanya_console.screens.base import ConsoleScreen
from kusanya_console.ui.format import Line, plain, rule, wrapped
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, MUTED, PLAIN, STRONG
from kusanya_console.widgets.sheet import Sheet

_EVERY: Final = timedelta(seconds=30)
_COPIED_CELLS: Final = 100
_ROOMY: Final = 100
"""From this width on the first line names every key."""
_TITLES: Final = {"happened": "what happened", "did": "who did what", "open": "what is open"}


class HandoverScreen(ConsoleScreen):
    """What one shift hands to the next."""

    NAME = "handover"
    CRUMB = "Hand-over"
    UNREAD: ClassVar[Mapping[str, str]] = {"handover": "what happened in this shift"}
    BINDINGS = bindings_of(NAME)

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.since = shift_before(context.clock.now())
        self._follows = True
        """Whether the page goes on to the next shift by itself, until a person leafs back."""
        self._found: Handover | None = None
        self._reading: datetime | None = None
        """Since when what is being read begins; None while nothing is."""
        self._again = False

    def compose_body(self) -> ComposeResult:
        """Put the page into a part that scrolls."""
        with VerticalScroll(id="report", can_focus=False):
            yield Sheet(id="handover")

    def on_mount(self) -> None:
        """Read the present shift."""
        super().on_mount()
        self._begin()

    def entered(self) -> None:
        """Read again: a person comes here for what is open now."""
        self._go_on(self.context.clock.now())
        self._fetch()

    def advance(self, snapshot: Snapshot) -> None:
        """Read again now and then, and where somebody acted."""
        if self._go_on(snapshot.at):
            self._begin()
        elif self._found is None or snapshot.audited or snapshot.at - self._found.at >= _EVERY:
            self._fetch()

    def _go_on(self, now: datetime) -> bool:
        """Go on to the shift that has begun; tell whether there is one."""
        present = shift_before(now)
        if not self._follows or present <= self.since:
            return False
        self.since = present
        return True

    def _begin(self) -> None:
        """Read a shift that is not on the page yet, and say so there."""
        self._found = None
        self.query_one("#handover", Sheet).show(lambda _width: [self.unread])
        self._fetch()

    def _fetch(self) -> None:
        if self._reading == self.since:
            # Acts by the hundred would each begin a reading of their own: one follows for all.
            self._again = True
            return
        self._reading, self._again = self.since, False
        store, mode = self.context.store, self.context.mode
        since, now = self.since, self.context.clock.now()
        self.fetch("handover", lambda: load(store, mode, since=since, now=now))

    def show_fetched(self, what: str, value: Any) -> None:
        """Show what was read, where it is of the shift that is asked for."""
        if what == "handover" and value.since == self.since:
            self._reading = None
            self._found = value
            self.query_one("#handover", Sheet).show(lambda width: self._page(value, width))
            if self._again:
                self._fetch()

    def fetch_failed(self, what: str) -> None:  # noqa: ARG002 - there is one question
        """Keep what is shown; the next snapshot reads anew."""
        self._reading = None

    def second(self) -> None:
        """Say that nothing was read, where that is so."""
        if self._found is None:
            self.query_one("#handover", Sheet).redraw()

    def fetch_broke(self, what: str) -> None:
        """Let the next snapshot read anew here too."""
        self.fetch_failed(what)

    def _page(self, found: Handover, width: int) -> list[Line]:
        since = format_instant(found.since, now=found.at)
        shorter, longer = self.context.key("handover.later"), self.context.key("handover.earlier")
        read = format_instant(found.at, now=found.at)
        said: Line = (
            (f" {translate('since {at}', at=since)}", STRONG),
            (f", {translate('as of {at}', at=read)}", PLAIN),
            (f"   {longer} {translate('earlier')}   {shorter} {translate('later')}   ", MUTED),
            (self.context.key("handover.reread"), ACCENT),
            (translate(" reads again"), MUTED),
        )
        if width >= _ROOMY:
            copies = (f"   {self.context.key('copy.id')}", ACCENT)
            said = (*said, copies, (translate(" copies the page"), MUTED))
        return [said, *page_lines(found, width)]

    def action_reread(self) -> None:
        """Read the page anew."""
        self._fetch()

    def action_shift(self, by: int) -> None:
        """Begin a shift earlier or later."""
        now = self.context.clock.now()
        later = next_shift(self.since)
        if by < 0:
            self.since = shift_before(self.since - timedelta(seconds=1))
            self._follows = False
        elif later >= now:
            self.say("this is the present shift")
            return
        else:
            self.since = later
            self._follows = next_shift(later) >= now
        self._begin()

    def action_scroll(self, by: int) -> None:
        """Scroll the page."""
        self.query_one("#report", VerticalScroll).scroll_relative(y=by, animate=False)

    def action_copy_id(self) -> None:
        """Copy the page as text."""
        found, look = self._found, self.context.dated_look
        if found is None:
            self.say("nothing has been read yet")
            return
        store, mode = self.context.store, self.context.mode

        def copy() -> ActionResult:
            since, at = (format_instant(one, now=found.at) for one in (found.since, found.at))
            title = Said("hand-over since {since}, as of {at}").of(since=since, at=at)
            head = card_head(title, look, mode, author=store.audit.actor, store=store.url_shown)
            text = plain([*head, *page_lines(found, _COPIED_CELLS)])
            self.post_message(CopyRequested("hand-over", text, quiet=True))
            return ActionResult("hand-over sent to the terminal's clipboard")

        self.post_message(ActionRequested("copying the hand-over", copy))

    def action_back(self) -> None:
        """Go back to Live."""
        self.post_message(ScreenRequested("live"))


def page_lines(found: Handover, width: int) -> list[Line]:
    """Return the page, its parts under their titles."""
    page: list[Line] = []
    last = ""
    for line in lines(found):
        if line.part != last:
            page += [(), ((" ", MUTED), *rule(translate(_TITLES[line.part]), width - 1))]
            last = line.part
        said = translate(line.text)
        page += wrapped(said, width - 1, indent=1)
    return page
