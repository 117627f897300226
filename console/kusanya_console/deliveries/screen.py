"""Deliveries: what arrived, what should have, what we answered, and what comes next."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, ClassVar, Final

from msgspec.structs import replace
from textual.app import ComposeResult

from kusanya.health.endpoints import EndpointHealth
from kusanya.store.records import MissingEventRow, MissingEventStatus
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.messages import (
    ActionRequested,
    CopyRequested,
    TimelineRequested,
    copy_reference,
)
from kusanya_console.commands import bindings_of
from kusanya_console.deliveries.cards import card_head
from kusanya_console.deliveries.detail import part_lines
from kusanya_console.deliveries.filtering import DeliveryRecord
from kusanya_console.deliveries.list import DELIVERY_LIST
from kusanya_console.deliveries.reader import (
    DeliveryDetails,
    SenderLog,
    as_held,
    endpoint_of,
    initial_details,
    load_details,
    load_sender_log,
)
from kusanya_console.deliveries.resending import name_of, resending
from kusanya_console.deliveries.tabs import DeliveryTab, body_text, tab_line
from kusanya_console.deliveries.timeline import attempt_lines
from kusanya_console.feed import Snapshot
from kusanya_console.lists.figures import delivery_figures
from kusanya_console.lists.list_screen import ListScreen
from kusanya_console.ui.format import Line, format_due
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import MUTED
from kusanya_console.widgets.sheet import Sheet

SENDER_EVERY_S: Final = 2.0
_HOUR: Final = timedelta(hours=1)


class DeliveriesScreen(ListScreen[DeliveryRecord]):
    """The arrivals of one mode and the missing events among them, newest first."""

    NAME = "deliveries"
    CRUMB = "Deliveries"
    UNREAD: ClassVar[Mapping[str, str]] = {
        **ListScreen.UNREAD,
        "details": "what belongs to this delivery",
        "missing": "how many events are missing",
        "sender": "the sender's log",
    }
    BINDINGS = bindings_of(NAME)

    def __init__(self, context: AppContext) -> None:
        super().__init__(context, DELIVERY_LIST)
        self._missing: int | None = None
        self._details: DeliveryDetails | None = None
        self._sender: SenderLog | None = None
        self._sender_at = 0.0
        self._asking_sender = False
        self.tabs = tuple(
            tab
            for tab in DeliveryTab
            if tab is not DeliveryTab.SENDER or context.service is not None
        )

    @property
    def tab(self) -> DeliveryTab:
        """Return which part of the detail is shown."""
        return self.tabs[self.part % len(self.tabs)]

    @property
    def parts_count(self) -> int:
        """Return how many tabs there are here."""
        return len(self.tabs)

    def compose_below(self) -> ComposeResult:
        """Put the attempts of the event under the cursor below the list."""
        yield Sheet(id="timeline")

    def advance(self, snapshot: Snapshot) -> None:
        """Show the counts, then the list."""
        self._show_figures()
        store, mode = self.context.store, self.context.mode
        now = snapshot.at
        self.fetch(
            "missing", lambda: store.deliveries.count_missing(mode, since=now - _HOUR, until=now)
        )
        super().advance(snapshot)

    def _show_figures(self) -> None:
        snapshot, missing = self.context.snapshot, self._missing
        if snapshot is None:
            return
        self.query_one("#figures", Sheet).show(
            lambda width: delivery_figures(snapshot, missing, width)
        )

    # --- the line under the cursor -------------------------------------------------------------

    def on_record_table_highlighted(self) -> None:
        """Show what the line says by itself, then fetch what belongs to it.

        Where the cursor follows the newest, both come at once: each is drawn one time less.
        """
        if self.table.follow and self.table.row is not None:
            self._fetch()
            return
        self._show_card()
        self.when_rested(self._fetch)

    def changed(self, ids: frozenset[str]) -> None:
        """Fetch again what belongs to the line: a new arrival may be its next attempt."""
        if ids:
            self._fetch()

    def second(self) -> None:
        """Move ages and the countdown on, and ask the sender again where its log is shown."""
        super().second()
        waited = self.context.monotonic() - self._sender_at
        if self.tab is DeliveryTab.SENDER and waited >= SENDER_EVERY_S:
            self._fetch_sender()
        self._show_card()

    def restyle(self) -> None:
        """Draw list and card in the new time format."""
        super().restyle()
        self._show_card()

    def _fetch(self) -> None:
        row, store, look = self.table.row, self.context.store, self.context.look
        forensics = self.context.forensics
        if row is not None:
            self.fetch("details", lambda: load_details(store, row, look, forensics))

    def _fetch_sender(self) -> None:
        row, service, mine = self.table.row, self.context.service, self._mine()
        if self._asking_sender or service is None or row is None or mine is None:
            return
        self._asking_sender, self._sender_at = True, self.context.monotonic()
        self.fetch("sender", lambda: load_sender_log(service, row, mine.everywhere))

    def show_fetched(self, what: str, value: Any) -> None:
        """Show what belongs to the cursor's line."""
        super().show_fetched(what, value)
        if what == "details":
            self._details = value
            if self.tab is DeliveryTab.SENDER:
                self._fetch_sender()
        elif what == "missing":
            self._missing = value
        elif what == "sender":
            self._asking_sender, self._sender = False, value
            if self._mine() is not None and value.row_id != self.table.cursor:
                self._fetch_sender()
        self._show_figures()
        self._show_card()

    def fetch_failed(self, what: str) -> None:
        """Keep what is shown; the sender is asked again with its next turn."""
        super().fetch_failed(what)
        if what == "sender":
            self._asking_sender = False

    def _mine(self) -> DeliveryDetails | None:
        mine = self._details
        return mine if mine is not None and mine.row_id == self.table.cursor else None

    def show_part(self) -> None:
        """Show the part of the detail that was asked for."""
        if self.tab is DeliveryTab.SENDER:
            self._fetch_sender()
        self._show_card()

    def _show_card(self) -> None:
        row, look = self.table.row, self.context.look
        card, rail = self.query_one("#card", Sheet), self.query_one("#timeline", Sheet)
        if row is None:
            card.show(lambda _width: [((translate("j and k move to an arrival"), MUTED),)])
            rail.show(lambda _width: ())
            return
        mine, here = self._present(row), self.tab
        sender, endpoint, listed = self._sender, self._endpoint(row), not rail.display

        def lines(width: int) -> list[Line]:
            part = part_lines(
                here, row, look, width,
                mine=mine, sender=sender, endpoint=endpoint, listed=listed,
            )  # fmt: skip
            return [*card_head(row, look, width), tab_line(self.tabs, here), (), *part]

        card.show(lines)
        rail.show(lambda width: attempt_lines(row.id, mine.rows, mine.plan, look, width))

    def _present(self, row: DeliveryRecord) -> DeliveryDetails:
        """Return what belongs to a line, its plan as the endpoint stands now."""
        mine = self._mine() or initial_details(row, self.context.look)
        known = () if self.context.snapshot is None else self.context.snapshot.health.endpoints
        return replace(mine, plan=as_held(mine.plan, row, self.context.sender, known))

    def _endpoint(self, row: DeliveryRecord) -> EndpointHealth | None:
        known = () if self.context.snapshot is None else self.context.snapshot.health.endpoints
        return endpoint_of(row, self.context.sender, known)

    # --- keys ----------------------------------------------------------------------------------

    def action_open(self) -> None:
        """Open the story of the collection that this line is about."""
        row = self.table.row
        if row is not None:
            self.post_message(TimelineRequested(row.collection_id or row.event_id or ""))

    def exact(self) -> Callable[[], tuple[str, str]] | None:
        """Return what reads the body of the arrival under the cursor, its phone masked."""
        row, store = self.table.row, self.context.store
        if row is None or isinstance(row, MissingEventRow):
            return super().exact()

        def read() -> tuple[str, str]:
            held = store.deliveries.body(row.id)
            text = "" if held is None or held.body is None else body_text(held.body)
            return "body of the delivery, phone masked,", text

        return read

    def action_resend(self) -> None:
        """Let the sender deliver again, or ask where it cannot, or say why not and what comes."""
        row, look, marked = self.table.row, self.context.look, tuple(self.table.marked.values())
        found = resending(marked or (() if row is None else (row,)), self.context)
        if isinstance(found, str):
            plan = None if row is None else self._present(row).plan
            came = isinstance(row, MissingEventRow) and row.verdict is MissingEventStatus.ARRIVED
            coming = None if plan is None or came or marked else plan.next_at
            after = ""
            if coming is not None:
                due = format_due(coming, look)
                after = f" · {translate('its next attempt: {time}', time=due)}"
            self.say(f"{translate(found)}{after}")
            return

        def send(confirmed: bool | None) -> None:  # noqa: FBT001 - Textual's callback
            if confirmed and marked:
                self.run_together("resent", found.rows, found.send, name=name_of)
            elif confirmed:
                self.post_message(ActionRequested("resending", lambda: found.send(found.rows[0])))

        if found.only_asks and marked:
            self.ask_together(found.rows, found.send, name=name_of)
        elif found.only_asks:
            self.post_message(ActionRequested("asking", lambda: found.send(found.rows[0])))
        else:
            self.app.push_screen(found.dialog(self.context.mode, together=bool(marked)), send)

    def action_copy_id(self) -> None:
        """Copy the event's id, or the reference where no event came; of all that are marked."""
        row = self.table.row
        if self.copy_marked():
            return
        if row is not None and row.event_id is not None:
            self.post_message(CopyRequested("event id", row.event_id))
        elif row is not None and row.reference is not None:
            self.post_message(copy_reference(row.reference, row.id))
