"""Deliveries: what arrived, what we answered, and what comes next."""

from typing import Any

import msgspec
from textual.app import ComposeResult

from kusanya.health import DeliveryPlan, attempt_of, delivery_plan
from kusanya.store import Store
from kusanya.store.records import DeliveryFilter, DeliveryRow, Order, Verdict
from kusanya.text import safe
from kusanya.webhooks.schedule import ATTEMPTS
from kusanya_console import words
from kusanya_console.commands import bindings_of
from kusanya_console.delivery_cards import arrival_heads, arrival_line, delivery_card, timeline
from kusanya_console.desk import Desk, Subject
from kusanya_console.doing import READ_ONLY
from kusanya_console.feed import Snapshot
from kusanya_console.figures import delivery_figures
from kusanya_console.listings import DeliveryListing
from kusanya_console.messages import CopyAsked, DeedAsked, StoryAsked
from kusanya_console.present import Line, Look, cell, due, moment
from kusanya_console.screens.confirm import ConfirmScreen
from kusanya_console.screens.list_screen import ListScreen
from kusanya_console.widgets.record_table import Column
from kusanya_console.widgets.sheet import Sheet
from kusanya_console.words import MUTED, PLAIN, STRONG, WARN, Run

_SIBLINGS = 50


def _type(row: DeliveryRow, _look: Look) -> Run:
    said = words.event_type(row.event_type)
    return (f"claims {said}" if row.verdict is Verdict.REJECTED and row.event_type else said), PLAIN


def _attempt(row: DeliveryRow, _look: Look) -> Run:
    number = attempt_of(row)
    return ("?", WARN) if number is None else (f"{number}/{ATTEMPTS}", MUTED)


COLUMNS: tuple[Column[DeliveryRow], ...] = (
    Column("arrived", 9, lambda row, look: (moment(row.arrived_at, look), MUTED)),
    Column("event", 10, lambda row, _: cell(row.event_id, limit=130), grows=18, names=True),
    Column("type", 16, _type),
    Column("endpoint", 8, lambda row, _: cell(row.endpoint, limit=40), rank=3, grows=8),
    Column("reference", 14, lambda row, _: cell(row.reference, limit=60), rank=4, grows=6),
    Column("verdict", 12, lambda row, _: words.verdict(row)),
    Column("try", 3, _attempt, right=True),
    Column("ans", 3, lambda row, _: (f"{row.answer}", PLAIN), right=True),
)


class Siblings(msgspec.Struct, frozen=True):
    """All arrivals of one event at one endpoint, and the plan behind them."""

    row_id: str
    rows: tuple[DeliveryRow, ...]
    plan: DeliveryPlan | None


def siblings(store: Store, row: DeliveryRow, look: Look) -> Siblings:
    """Return what else arrived for the event of `row` at the same endpoint."""
    rows: tuple[DeliveryRow, ...] = (row,)
    if row.event_id is not None:
        where = DeliveryFilter(event_id=row.event_id, endpoints=(row.endpoint,))
        rows = store.deliveries(row.mode, where=where, limit=_SIBLINGS).rows
    return Siblings(row.id, rows, delivery_plan(rows, now=look.now))


class DeliveriesScreen(ListScreen[DeliveryRow]):
    """The arrivals of one mode, newest first."""

    NAME = "deliveries"
    CRUMB = "Deliveries"
    BINDINGS = bindings_of(NAME)

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, {Order.CREATED: COLUMNS}, DeliveryListing(desk))
        self._told: Siblings | None = None

    def compose_below(self) -> ComposeResult:
        """Put the attempts of the event under the cursor below the list."""
        yield Sheet(id="timeline")

    def advance(self, snapshot: Snapshot) -> None:
        """Show the counts, then the list."""
        self.query_one("#figures", Sheet).show(lambda width: delivery_figures(snapshot, width))
        super().advance(snapshot)

    def on_record_table_highlighted(self) -> None:
        """Show the card of the arrival that the cursor reached, then fetch its siblings."""
        self._show_card()
        self.when_rested(self._fetch)

    def changed(self, ids: frozenset[str]) -> None:
        """Fetch the siblings again: a new arrival may be the next attempt."""
        if ids:
            self._fetch()

    def second(self) -> None:
        """Move ages and the countdown on."""
        super().second()
        self._show_card()

    def restyle(self) -> None:
        """Draw list and card in the new time format."""
        super().restyle()
        self._show_card()

    def _fetch(self) -> None:
        row, store, look = self.table.row, self.desk.store, self.desk.look
        if row is not None:
            self.ask("siblings", lambda: siblings(store, row, look))

    def answered(self, what: str, value: Any) -> None:
        """Show the attempts when they belong to the cursor's arrival."""
        super().answered(what, value)
        if what == "siblings":
            self._told = value
            self._show_card()

    def _show_card(self) -> None:
        row, told, look = self.table.row, self._told, self.desk.look
        card, rail = self.query_one("#card", Sheet), self.query_one("#timeline", Sheet)
        if row is None:
            card.show(lambda _width: [(("j and k move to an arrival", MUTED),)])
            rail.show(lambda _width: ())
            return
        mine = told if told is not None and told.row_id == row.id else None
        plan = mine.plan if mine is not None else delivery_plan((row,), now=look.now)
        listed = not rail.display
        card.show(lambda width: delivery_card(row, plan, look, width, listed=listed))
        rows = mine.rows if mine is not None else (row,)
        rail.show(lambda width: _attempts(row, rows, plan, look, width))

    def action_open(self) -> None:
        """Open the story of the collection that this arrival is about."""
        row = self.table.row
        if row is not None:
            self.post_message(StoryAsked(row.collection_id or row.event_id or ""))

    def subject(self) -> Subject | None:
        """Return the event that arrived, with the collection that it is about."""
        row = self.table.row
        if row is None:
            return None
        name = safe(row.reference or row.event_id or "this arrival", 60)
        return Subject(name=name, collection_id=row.collection_id, event_id=row.event_id)

    def action_resend(self) -> None:
        """Confirm and let the sender deliver again, or say why it cannot."""
        acts, row, look = self.desk.acts, self.table.row, self.desk.look
        why = READ_ONLY if acts is None else acts.why_no_resend()
        if acts is None or why or row is None:
            told = delivery_plan((row,), now=look.now) if row is not None else None
            coming = told.next_at if told is not None else None
            after = "" if coming is None else f" · its next attempt: {due(coming, look)}"
            self.say(f"{why or 'the cursor points at no arrival'}{after}")
            return

        def send(confirmed: bool | None) -> None:  # noqa: FBT001 - Textual's callback
            if confirmed:
                self.post_message(DeedAsked("resending", lambda: acts.resend(row)))

        facts = (
            ("event", cell(row.event_id, limit=130)),
            ("type", _type(row, look)),
            ("reference", cell(row.reference, STRONG, limit=60)),
        )
        warning = "The sender delivers this event once more to every endpoint that has it."
        self.app.push_screen(
            ConfirmScreen("Resend this event", facts, mode=row.mode, warning=warning), send
        )

    def action_copy_id(self) -> None:
        """Copy the event's id."""
        row = self.table.row
        if row is not None and row.event_id is not None:
            self.post_message(CopyAsked("event id", row.event_id))


def _attempts(
    row: DeliveryRow,
    rows: tuple[DeliveryRow, ...],
    plan: DeliveryPlan | None,
    look: Look,
    width: int,
) -> list[Line]:
    lines = [*timeline(plan, look, width), (), (("   ", PLAIN), *arrival_heads())]
    for one in sorted(rows, key=lambda arrival: arrival.arrived_at)[-5:]:
        mark = (" > ", words.ACCENT) if one.id == row.id else ("   ", PLAIN)
        lines.append((mark, *arrival_line(one, look)))
    return lines
