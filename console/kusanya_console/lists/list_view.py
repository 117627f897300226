"""A screen around one long list, with a detail pane beside it.

What the list is a list of stands in its `ListDefinition`. One reading of it is wanted at a time:
what a person asks for replaces what is under way, and changes that the feed names wait for it.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from msgspec.structs import replace
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll

from kusanya.filters import Filter, describe
from kusanya.store.records import SortOrder
from kusanya.text import safe
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.saved_views import load_views
from kusanya_console.feed import Snapshot
from kusanya_console.lists.definition import Hours, ListDefinition
from kusanya_console.lists.paging import ListPages
from kusanya_console.lists.table_screen import TableScreen
from kusanya_console.lists.underlining import needles
from kusanya_console.screens.base import Grammar
from kusanya_console.screens.status_line import StatusBarState
from kusanya_console.ui.columns import Heading
from kusanya_console.ui.excerpt import ListExcerpt, Row
from kusanya_console.ui.format import Line, format_instant, spread, wrapped
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, MUTED, PLAIN, WARN, Run, order_words
from kusanya_console.widgets.filter_box import FilterBox
from kusanya_console.widgets.sheet import PartSheet, Sheet
from kusanya_console.widgets.time_rail import TimeRail

R = TypeVar("R", bound=Row)
_RAIL_EVERY = timedelta(seconds=30)


class ListUpdate(msgspec.Struct, Generic[R], frozen=True):
    """One reading of the list: the excerpt, how many newer records there are, where to point."""

    excerpt: ListExcerpt[R]
    newer: int = 0
    point: str | None = None
    marked: frozenset[str] = frozenset()
    """Records that are new or read otherwise than before: they bear a mark."""
    changed: frozenset[str] = frozenset()
    """Records with news of any kind, a note on them too: this reading took them in."""


Load = Callable[[], ListUpdate[R]]


class ListView(TableScreen[R]):
    """A list with a detail pane beside it, kept up to date."""

    UNREAD: ClassVar[Mapping[str, str]] = {
        "list": "the list",
        "hours": "the hours beside the list",
        "views": "the saved views",
        "marks": "what is to be marked",
    }

    def __init__(self, context: AppContext, definition: ListDefinition[R]) -> None:
        super().__init__(context, definition.columns, selection_of=definition.selection)
        self.definition = definition
        self.filter = Filter()
        self.newer = 0
        self.loaded = False
        self.paused_at: datetime | None = None
        self.changed_ids: set[str] = set()
        """Records with news that no reading has taken in yet."""
        self._loading = False
        self._wanted: Load[R] | None = None
        """What a person asked for last, until it stands on the screen."""
        self._is_behind = False
        """True where the list has to be read again although no id says so."""
        self.complaint = ""
        self._hours: Hours = ()
        self._counted_at: datetime | None = None

    @property
    def grammar(self) -> Grammar:
        """Return how the filter of these records is written."""
        return self.definition.grammar

    def compose_body(self) -> ComposeResult:
        """Put figures above, the list and its pane below, and a line on where one is."""
        yield Sheet(id="figures")
        with Horizontal(id="split"):
            yield self.table
            yield TimeRail(id="rail")
            yield Sheet(id="empty")
            with VerticalScroll(id="pane", can_focus=False):
                yield PartSheet(id="card")
        yield from self.compose_below()
        yield FilterBox(
            keys=self.definition.keys,
            whose=self.definition.records,
            views=lambda: self.context.views_of(self.NAME),
            id="filter",
        )
        yield Sheet(id="foot")

    def compose_below(self) -> ComposeResult:
        """Lay out what a screen has between its list and its last lines."""
        yield from ()

    def on_mount(self) -> None:
        """Read the newest page first."""
        super().on_mount()
        self.table.focus()
        self._show_empty()
        self.foot()
        self._load(lambda: ListUpdate(self.pages().newest()))
        self._read_views()

    def _read_views(self) -> None:
        store = self.context.store
        self.fetch("views", lambda: load_views(store))

    def on_screen_resume(self) -> None:
        """Catch up on what happened while another screen was shown."""
        if self.loaded:
            self.changed_ids |= {row.id for row in self.table.excerpt.rows}
            self._is_behind = True
            self._refresh_list()

    # --- reading -------------------------------------------------------------------------------

    def load(self, query: Filter) -> None:
        """Show the newest of what somebody wants to see, in the usual order."""
        self.heading = Heading(self.orders[0])
        self.show_columns()
        self.paused_at = None
        self.filter = query
        self.table.highlight(needles(query))
        self.foot()
        self.action_newest()

    def pages(self, query: Filter | None = None) -> ListPages[R]:
        """Return the list as it is filtered now, or as `query` says."""
        wanted = self.filter if query is None else query
        pages = self.definition.pages(self.context, wanted, self.order)
        return pages.turned() if self.heading.ascending else pages

    def _load(self, load: Load[R]) -> None:
        """Read what a person asked for, in place of what is under way."""
        self._wanted = load
        if self.is_mounted:
            self._loading = True
            self.fetch("list", load)

    def advance(self, snapshot: Snapshot) -> None:
        """Take in the feed's news; a paused list only counts them."""
        self.changed_ids |= self.definition.changed_ids(snapshot)
        if snapshot.audited:
            self._read_views()
        idle = not (self._loading or self._wanted or self._is_behind or self.changed_ids)
        if self.paused_at is None and idle:
            self.table.show(self.table.excerpt)  # the marks of the last tick go
        if self._counted_at is None or snapshot.at - self._counted_at >= _RAIL_EVERY:
            self._counted_at = snapshot.at
            context = self.context
            self.fetch("hours", lambda: self.definition.hours(context))
        if self._wanted is not None and not self._loading:
            self._load(self._wanted)  # the store could not answer it
        self._refresh_list()

    def _refresh_list(self) -> None:
        """Take in the changes that wait, unless something is being read or the list is paused."""
        due = self._is_behind or self.changed_ids
        if not due or self._loading or not self.loaded or self.paused_at is not None:
            return
        pages, excerpt, follow = self.pages(), self.table.excerpt, self.table.follow
        before = {row.id: row.seq for row in excerpt.rows}
        ids, self._is_behind = frozenset(self.changed_ids), False

        def loaded(now: ListExcerpt[R], newer: int = 0) -> ListUpdate[R]:
            new = frozenset(row.id for row in now.rows if before.get(row.id) != row.seq)
            return ListUpdate(now, newer=newer, marked=new if before else frozenset(), changed=ids)

        def refresh() -> ListUpdate[R]:
            if follow and not pages.is_touched(ids):
                return ListUpdate(excerpt, changed=ids)
            if follow:
                return loaded(pages.newest())
            return loaded(pages.refreshed(excerpt, ids), pages.newer_count(excerpt))

        self._loading = True
        self.fetch("list", refresh)

    def show_fetched(self, what: str, value: Any) -> None:
        """Show a reading of the list, then take in what has changed meanwhile."""
        if what == "hours":
            self._hours = value
            self.rail()
        if what == "views":
            self.context.views = value
        if what != "list":
            return
        self._loading, self._wanted, self.loaded = False, None, True
        self.changed_ids -= value.changed
        self.newer = value.newer
        # What is done to a marked record is done to it as it is now.
        held = {row.id: row for row in value.excerpt.rows if row.id in self.table.marked}
        self.table.marked |= held
        self.table.show(value.excerpt, changed=value.marked)
        if value.point is not None:
            self.table.point_at(value.point)
        self.set_class(not value.excerpt.rows, "-empty")
        self._show_empty()
        self.changed(value.changed)
        self.foot()
        self.rail()
        self._refresh_list()

    def fetch_failed(self, what: str) -> None:
        """Keep the list; it is read again with the next tick that works."""
        if what == "list":
            self._loading, self._is_behind = False, True

    def changed(self, ids: frozenset[str]) -> None:
        """Follow up on records that have news, such as the one in the pane."""

    def action_newest(self) -> None:
        """Go to the newest record and follow."""
        self.table.follow = True
        self.table.cursor = None
        self._load(lambda: ListUpdate(self.pages().newest()))

    # --- showing -------------------------------------------------------------------------------

    def show_status(self, state: StatusBarState) -> None:
        """Show how things stand; the foot names the time of a list that cannot be read again."""
        was_lost = self.lost_at is not None
        super().show_status(state)
        if was_lost is not (self.lost_at is not None):
            self.foot()

    def status_state(self, state: StatusBarState) -> StatusBarState:
        """Add whether this list is paused, and what waits."""
        waiting = len(self.changed_ids)
        return replace(super().status_state(state), paused_at=self.paused_at, waiting=waiting)

    def second(self) -> None:
        """Move ages and countdowns on."""
        self.table.restyle(self.context.look)

    def restyle(self) -> None:
        """Draw every instant in the new format."""
        self.table.restyle(self.context.look)
        self.foot()

    def _show_empty(self) -> None:
        lines = self.definition.empty_lines(self.context, self.filter)
        self.query_one("#empty", Sheet).show(lambda _width: lines)

    def rail(self) -> None:
        """Put the rail's thumb where the list stands in time."""
        rows, first = self.table.excerpt.rows, self.table.first
        timely = self.order is SortOrder.CREATED and first < len(rows)
        at = self.definition.instant(rows[first]) if timely else None
        self.query_one(TimeRail).show(self._hours, at, now=self.context.look.now)

    def foot(self) -> None:
        """Say where one is in the list, or what is wrong with its filter."""
        self.set_class(bool(self.complaint), "-complaint")
        self.query_one("#foot", Sheet).show(self._foot_line)

    def _foot_line(self, width: int) -> list[Line]:
        if self.complaint:
            return wrapped(translate(self.complaint), width - 1, indent=1, role=WARN)
        said = safe(describe(self.filter), 60) or translate("none")
        order = translate(order_words(self.order, ascending=self.heading.ascending))
        left: list[Run] = [
            (f" {translate('filter')} ", MUTED), (said, PLAIN), (f"   {order}", MUTED),
        ]  # fmt: skip
        if self.table.marked:
            left.append((f"   {self.marks_line()}", ACCENT))
        reached = self.table.excerpt.reached
        if reached is not None:
            how_far = ""
            if self.order is not SortOrder.AMOUNT and self.definition.keyed_by_time:
                how_far = translate(
                    " to {at}", at=format_instant(reached.instant, self.context.look)
                )
            key = self.context.key("list.search_on")
            said = translate("searched back{how_far}, {key} goes on", how_far=how_far, key=key)
            left.append((f"   {said}", WARN))
        return [spread(left, [self._place()], width)]

    def _place(self) -> Run:
        timely = self.order is SortOrder.CREATED and not self.heading.ascending
        snapshot = self.context.snapshot
        if self.lost_at is not None and snapshot is not None:
            at = format_instant(snapshot.at, self.context.look)
            return f"{translate('as of {at}, the store is lost', at=at)} ", WARN
        if self.paused_at is not None:
            key = self.context.key("list.pause")
            return f"{translate('paused, {key} goes on', key=key)} ", ACCENT
        if self.table.follow:
            return f"{translate('following the newest' if timely else 'at the top')} ", MUTED
        key = self.context.key("list.follow")
        if self.newer or self.table.excerpt.has_newer:
            many = self.newer > 200 or self.table.excerpt.has_newer  # noqa: PLR2004
            more = "200+" if many else f"+{self.newer}"
            above = "{count} new above, {key} follows" if timely else "{count} above, {key} follows"
            return f"{translate(above, count=more, key=key)} ", ACCENT
        goes = "{key} follows the newest" if timely else "{key} goes to the top"
        return f"{translate(goes, key=key)} ", MUTED
