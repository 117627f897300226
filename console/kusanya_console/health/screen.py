"""Health: where it is going wrong. Alarms are sentences, each with its next step.

The report comes with the feed's snapshot; what costs more (a longer time, odd payments, who
acknowledged what) is read while this screen is in view, every few seconds at most.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar, Final

import msgspec
from textual.app import ComposeResult
from textual.containers import VerticalScroll

from kusanya.alarms.alarm import Alarm, names_of
from kusanya.alarms.anomalous_collections import AnomalyReport, AnomalyScanner
from kusanya.alarms.rules import raised
from kusanya.health.causes import Causes, Lookback, TimeToFinal, begins, causes, times_to_final
from kusanya.say import Said
from kusanya.store.records import Note
from kusanya.text import safe
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.messages import (
    ActionRequested,
    CopyRequested,
    ListRequested,
    ScreenRequested,
    TimelineRequested,
)
from kusanya_console.actions.results import ActionOutcome, ActionResult
from kusanya_console.collections.cards import spoken
from kusanya_console.collections.detail import card_head
from kusanya_console.commands import bindings_of
from kusanya_console.feed import Snapshot
from kusanya_console.health.lines import HealthSection, HealthTarget, targets
from kusanya_console.health.notice import notice
from kusanya_console.health.reader import HealthReading
from kusanya_console.health.report import health_lines, report
from kusanya_console.screens.base import ConsoleScreen
from kusanya_console.screens.confirm import NoteScreen
from kusanya_console.ui.format import Line, format_instant, plain, rule
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, PLAIN
from kusanya_console.widgets.sheet import LineSheet, Sheet

_COPIED_CELLS = 110
_MARGIN = 2
"""Cells at the left for the cursor."""
_NO_REPORT: Final = "the store is being read: there is no report yet"
_EVERY: Final = timedelta(seconds=5)
_SHOWN_FOR: Final = timedelta(seconds=30)
"""What was counted so long ago is not shown beside a newer snapshot."""


class HealthFigures(msgspec.Struct, frozen=True):
    """What the screen reads beside the snapshot, as of one instant."""

    at: datetime
    lookback: Lookback
    causes: Causes
    times: tuple[TimeToFinal, ...]
    anomalies: AnomalyReport


def load_figures(
    context: AppContext,
    scanner: AnomalyScanner,
    lookback: Lookback,
    alarms: Sequence[Alarm],
    now: datetime,
) -> HealthFigures:
    """Return a time's causes and usual times, what is odd and who looks after it."""
    store, mode = context.store, context.mode
    return HealthFigures(
        now,
        lookback,
        causes(store, mode, lookback=lookback, now=now),
        times_to_final(store, mode, since=begins(lookback, now)),
        scanner.scan(now=now, alarms=names_of(alarms)),
    )


class HealthScreen(ConsoleScreen):
    """One report that scrolls, with a cursor on what can be opened or acknowledged."""

    NAME = "health"
    CRUMB = "Health"
    UNREAD: ClassVar[Mapping[str, str]] = {"count": "the figures of this window"}
    BINDINGS = bindings_of(NAME)

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.lookback = Lookback.HOUR
        self.cursor: str | None = None
        self._snapshot: Snapshot | None = None
        self._figures: HealthFigures | None = None
        self._scanner = AnomalyScanner(context.store, mode=context.mode)
        self._counting = False
        self._lines_of: list[HealthTarget | None] = []
        self._pointed = False

    def compose_body(self) -> ComposeResult:
        """Lay out one report that scrolls."""
        with VerticalScroll(id="report", can_focus=False):
            yield LineSheet(id="health")

    def on_mount(self) -> None:
        """Say that the report is on its way, or that it is not."""
        super().on_mount()
        self._show()

    # --- reading -------------------------------------------------------------------------------

    def advance(self, snapshot: Snapshot) -> None:
        """Show the report of the newest snapshot; count anew what is older than some seconds."""
        self._snapshot = snapshot
        if self._figures is None or snapshot.at - self._figures.at >= _EVERY:
            self._count()
        self._show()

    def on_screen_resume(self) -> None:
        """Show what is known now, before what was left here is seen again."""
        if self._snapshot is not None and self.context.snapshot is not None:
            self.advance(self.context.snapshot)

    def show_result(self) -> None:
        """Show how an act ended, and what it changed here."""
        super().show_result()
        result = self.context.result
        if result is not None and result.outcome is ActionOutcome.ACKNOWLEDGED:
            self._count()

    def _count(self) -> None:
        if self._counting:
            return
        self._counting = True
        context, scanner, lookback, now = (
            self.context,
            self._scanner,
            self.lookback,
            self.context.look.now,
        )
        found = self._reading()
        alarms = () if found is None else found.alarms
        self.fetch("count", lambda: load_figures(context, scanner, lookback, alarms, now))

    def show_fetched(self, what: str, value: Any) -> None:
        """Show what was counted; a time that was chosen meanwhile is counted next."""
        if what == "count":
            self._counting = False
            self._figures = value
            if value.lookback is not self.lookback:
                self._count()
            self._show()

    def fetch_failed(self, what: str) -> None:  # noqa: ARG002 - there is one question
        """Keep what is shown; the next snapshot counts anew."""
        self._counting = False
        self._figures = (
            None
            if self._figures is None
            else msgspec.structs.replace(self._figures, at=self._figures.at - _EVERY)
        )

    # --- showing -------------------------------------------------------------------------------

    def second(self) -> None:
        """Move ages and countdowns on."""
        self._show()

    def restyle(self) -> None:
        """Draw in the new time format."""
        self._show()

    def _reading(self) -> HealthReading | None:
        snapshot, counted = self._snapshot, self._figures
        if snapshot is None:
            return None
        inputs, look = snapshot.alarm_inputs.with_sender(self.context.sender), self.context.look
        found = HealthReading(
            inputs=inputs,
            alarms=raised(inputs, format_time=lambda at: format_instant(at, look)),
            lost_at=self.lost_at,
            lookback=self.lookback,
        )
        if counted is None or (
            self.lost_at is None and snapshot.at - counted.at > _SHOWN_FOR
        ):  # counted before somebody left the screen: the header says how old the snapshot is
            return found
        timely = counted.causes if counted.lookback is self.lookback else None
        return msgspec.structs.replace(
            found, causes=timely, times=counted.times, anomalies=counted.anomalies
        )

    def _show(self) -> None:
        found, look = self._reading(), self.context.look
        if found is None:
            self.query_one("#health", Sheet).show(lambda _width: [self.unread])
            return
        self.query_one("#health", Sheet).show(
            lambda width: self._drawn(report(found, look, width - _MARGIN), width)
        )

    def _drawn(self, sections: tuple[HealthSection, ...], width: int) -> list[Line]:
        keys = [target.key for target in targets(sections)]
        if self.cursor not in keys or not self._pointed:
            self.cursor = keys[0] if keys else None  # worst first, until a person points
        zoomed = self.has_class("-zoom")
        lines: list[Line] = []
        self._lines_of = []
        for place, section in enumerate(sections):
            mine = any(one.key == self.cursor for one in targets([section]))
            if zoomed and keys and not mine:
                continue
            title: Line = ((" ", PLAIN), *rule(section.title, width - 1))
            heading: list[Line] = [(), title] if place else []
            lines += heading[1:] if zoomed else heading
            self._lines_of += [None] * (len(lines) - len(self._lines_of))
            for entry in section.entries:
                here = entry.first and entry.target is not None and entry.target.key == self.cursor
                lines.append(((">" if here else " ", ACCENT), (" ", PLAIN), *entry.line))
                self._lines_of.append(entry.target)
        return lines

    # --- keys ----------------------------------------------------------------------------------

    @property
    def target(self) -> HealthTarget | None:
        """Return what the cursor stands on."""
        found = (one for one in self._lines_of if one is not None and one.key == self.cursor)
        return next(found, None)

    def action_move(self, by: int) -> None:
        """Move the cursor to the next line that leads somewhere, and keep it in view."""
        keys = list(dict.fromkeys(one.key for one in self._lines_of if one is not None))
        rail = self.query_one("#report", VerticalScroll)
        if not keys:
            rail.scroll_relative(y=by, animate=False)
            return
        place = keys.index(self.cursor) if self.cursor in keys else 0
        self._point(keys[max(0, min(place + by, len(keys) - 1))])

    def _point(self, key: str) -> None:
        self.cursor, self._pointed = key, True
        self._show()
        places = [n for n, one in enumerate(self._lines_of) if one is not None and one.key == key]
        rail = self.query_one("#report", VerticalScroll)
        if places and places[0] < rail.scroll_y + 1:
            # The first line of all has a heading above it that should be read too.
            rail.scroll_to(y=max(places[0] - 2, 0), animate=False)
        elif places and places[-1] >= rail.scroll_y + rail.size.height:
            rail.scroll_to(y=places[-1] - rail.size.height + 1, animate=False)

    def on_line_sheet_clicked(self, message: LineSheet.Clicked) -> None:
        """Point at the line under the mouse; a double click opens what is behind it."""
        message.stop()
        target = self._lines_of[message.line] if message.line < len(self._lines_of) else None
        if target is not None:
            self._point(target.key)
            if message.twice:
                self.action_open()

    def action_zoom(self) -> None:
        """Show the part under the cursor alone, or the whole report again."""
        super().action_zoom()
        self._show()
        self.query_one("#report", VerticalScroll).scroll_home(animate=False)

    def action_open(self) -> None:
        """Open the rows behind the line under the cursor."""
        target = self.target
        if target is None:
            self.say("nothing here leads to rows")
        elif target.story:
            self.post_message(TimelineRequested(target.story))
        else:
            self.post_message(ListRequested(target.screen, target.narrowed))

    def action_lookback(self, by: int) -> None:
        """Count over a shorter or longer time."""
        lookbacks = list(Lookback)
        place = lookbacks.index(self.lookback) + by
        if not 0 <= place < len(lookbacks):
            self.say(
                Said("{our_window} is the {our_end} window").of(
                    our_window=self.lookback.value, our_end="longest" if by > 0 else "shortest"
                )
            )
            return
        self.lookback = lookbacks[place]
        self._count()
        self._show()

    def action_acknowledge(self) -> None:
        """Say that one looks after what the cursor stands on; audited."""
        actions, target = self.context.actions, self.target
        if actions is None:
            self.say(self.context.action_disabled_reason)
            return
        if target is None or not target.alarm:
            self.say("the cursor stands on no alarm")
            return
        alarm, name = target.alarm, target.name
        found = self._reading()
        held = None if found is None else found.acknowledgement(alarm)
        before = "" if held is None else held.actor
        known = ""
        if held is not None:
            known = translate(
                "{who} looks after it since {at}: {why}. Writing now takes it over.",
                who=safe(held.actor, 60),
                at=format_instant(held.at, self.context.look),
                why=safe(held.reason, 200),
            )

        def keep(note: Note | None) -> None:
            if note is not None:
                self.post_message(
                    ActionRequested(
                        "acknowledging",
                        lambda: actions.acknowledge(alarm, note, name=name, before=before),
                    )
                )

        self.app.push_screen(NoteScreen((translate(name), PLAIN), known=known), keep)

    def action_mute(self) -> None:
        """Send nothing about what the cursor stands on for a while; audited."""
        actions, target, mode = self.context.actions, self.target, self.context.mode
        if actions is None:
            self.say(self.context.action_disabled_reason)
            return
        if target is None or not target.alarm:
            self.say("the cursor stands on no alarm")
            return
        key, name = target.key, target.name

        def send_nothing(note: Note | None) -> None:
            if note is not None:
                run = partial(actions.mute, key, note, mode=mode, name=name)
                self.post_message(ActionRequested("muting", run))

        known = translate("Write how long and why, as in: 2h the network is at work.")
        self.app.push_screen(NoteScreen((translate(name), PLAIN), known=known), send_nothing)

    def action_back(self) -> None:
        """Show the whole report again, or go back to Live."""
        if self.has_class("-zoom"):
            self.action_zoom()
        else:
            self.post_message(ScreenRequested("live"))

    def action_catch_up(self) -> None:
        """Ask the service for what the store may have missed."""
        queries, why = self.context.queries, self.context.query_disabled_reason
        if queries is None or why:
            self.say(why)
        else:
            self.post_message(ActionRequested("catching up", queries.catch_up))

    def _text(self, found: HealthReading) -> str:
        look, store = self.context.dated_look, self.context.store
        head = card_head(
            "health report",
            look,
            self.context.mode,
            author=store.audit.actor,
            store=store.url_shown,
        )
        return plain([*head, *health_lines(found, look, _COPIED_CELLS)])

    def action_copy_id(self) -> None:
        """Copy the report as text."""
        found = self._reading()
        if found is None:
            self.say(_NO_REPORT)
            return

        def copy() -> ActionResult:
            self.post_message(CopyRequested("report", self._text(found), quiet=True))
            return ActionResult(
                Said("{our_label} sent to the terminal's clipboard").of(our_label="report")
            )

        self.post_message(ActionRequested("copying the report", copy))

    def action_copy_notice(self) -> None:
        """Copy the notice for customers of the network that the alarm under the cursor is about."""
        found = self._reading()
        said = _NO_REPORT if found is None else notice(found, self.target)
        if isinstance(said, str):
            self.say(said)
            return
        english, swahili = said
        self.post_message(
            CopyRequested("outage notice", f"{spoken(english)}\n\n{spoken(swahili)}", quiet=True)
        )
        sent = Said("outage notice sent to the terminal's clipboard: {sentence}").of(
            sentence=english.sentence
        )
        self.context.show(ActionResult(sent))
        self.show_result()

    def action_copy_card(self) -> None:
        """Copy the report and keep it in a file."""
        found = self._reading()
        if found is None:
            self.say(_NO_REPORT)
            return
        look = self.context.look
        name = f"health-{self.context.mode.value}-{look.now:%Y%m%dT%H%M%SZ}"
        self.keep_text("report", name, lambda: self._text(found))
