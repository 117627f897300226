"""What the Service screen shows: the embedded service from its own side.

The real service has no such side: without a dashboard this screen is never built. What it shows is
asked for every other second while it is in view; when the service does not answer, the last picture
stays and the first line says so.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message

from kusanya.alarms.sender import SenderEndpoint
from kusanya.errors import KusanyaError
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.messages import ActionRequested, CopyRequested, ScreenRequested
from kusanya_console.actions.results import ActionResult, NewSecret
from kusanya_console.commands import bindings_of
from kusanya_console.feed import Snapshot
from kusanya_console.sandbox.dashboard.phones import ScriptedPhone
from kusanya_console.sandbox.dashboard.records import ServiceKey, ServicePicture
from kusanya_console.sandbox.screen.actions import ActionContext, action_lines
from kusanya_console.sandbox.screen.cards import Trial, card, figures, tried
from kusanya_console.sandbox.screen.dialogs import SecretScreen
from kusanya_console.sandbox.screen.tables import COLUMNS, Fault, Item, ServiceTab, Thing, items
from kusanya_console.screens.base import ConsoleScreen
from kusanya_console.ui.excerpt import ListExcerpt
from kusanya_console.ui.format import Line
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import MUTED, PLAIN
from kusanya_console.widgets.record_table import RecordTable
from kusanya_console.widgets.sheet import Sheet

EVERY_S: Final = 2.0
_TRIALS: Final = 5


class ServiceView(ConsoleScreen):
    """Clock, endpoints, scripted phones, faults and keys of the embedded service."""

    NAME = "service"
    CRUMB = "Service"
    OF_STORE = ""
    """What the embedded service says of itself does not come from the store."""
    UNREAD: ClassVar[Mapping[str, str]] = {
        "service": "the service's own side",
        "trials": "the latest test collections",
    }
    BINDINGS = bindings_of(NAME)

    class ActionEnded(Message):
        """An act has ended, well or not; a secret that it made is shown once."""

        def __init__(self, new_secret: NewSecret | None) -> None:
            super().__init__()
            self.new_secret = new_secret

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        look = context.look
        self.tables: dict[ServiceTab, RecordTable[Item]] = {
            tab: RecordTable(COLUMNS[tab], look=look, id=f"table-{tab.value}") for tab in ServiceTab
        }
        for table in self.tables.values():
            table.follow = False
        self.tab = ServiceTab.ENDPOINTS
        self.picture: ServicePicture | None = None
        self.trials: tuple[Trial, ...] = ()
        self._lost: tuple[str, datetime] | None = None
        self._asking = False
        self._looked_at = 0.0

    def compose_body(self) -> ComposeResult:
        """Put the clock above, the lists and the card below, and what was tried last."""
        yield Sheet(id="figures")
        with Horizontal(id="split"):
            yield from self.tables.values()
            yield Sheet(id="empty")
            with VerticalScroll(id="pane", can_focus=False):
                yield Sheet(id="card")
        yield Sheet(id="trials")

    def on_mount(self) -> None:
        """Ask the service first."""
        super().on_mount()
        self.query_one("#empty", Sheet).show(lambda _width: self._empty())
        self._open(self.tab)
        self._fetch()

    def on_screen_resume(self) -> None:
        """Ask again after another screen was shown."""
        if self._looked_at:
            self._fetch()

    # --- reading -------------------------------------------------------------------------------

    def _fetch(self) -> None:
        service = self.context.service
        if self._asking or service is None:
            return
        self._asking, self._looked_at = True, self.context.monotonic()

        def look() -> ServicePicture | str:
            try:
                return service.load()
            except KusanyaError as error:
                return safe(str(error), 200)

        self.fetch("service", look)

    def second(self) -> None:
        """Ask again every other second, and move what counts down."""
        if self.context.monotonic() - self._looked_at >= EVERY_S:
            self._fetch()
        self._show()

    def advance(self, snapshot: Snapshot) -> None:
        """See what became of the collections that were asked for here."""
        if self.trials and (snapshot.changed or snapshot.intents):
            self._follow()

    def restyle(self) -> None:
        """Draw every instant in the new format."""
        self._show()

    def _follow(self) -> None:
        store, trials = self.context.store, self.trials

        def read() -> dict[str, Trial]:
            found = {}
            for trial in trials:
                intents = store.intents.by_reference(Mode.TEST, trial.reference)
                held = store.collections.by_reference(Mode.TEST, trial.reference)
                found[trial.reference] = Trial(
                    reference=trial.reference,
                    at=trial.at,
                    phone=trial.phone,
                    intent=intents[0] if intents else None,
                    collection=held[0] if held else None,
                )
            return found

        self.fetch("trials", read)

    def show_fetched(self, what: str, value: Any) -> None:
        """Show the service's answer, or say that there is none."""
        if what == "trials":
            self.trials = tuple(value.get(trial.reference, trial) for trial in self.trials)
        elif isinstance(value, str):
            since = self.context.look.now if self._lost is None else self._lost[1]
            self._asking, self._lost = False, (value, since)
        else:
            self._asking, self._lost, self.picture = False, None, value
        self._show()

    def fetch_failed(self, what: str) -> None:
        """Keep what is shown: the store is read again with the next change."""
        if what == "service":
            self._asking = False

    # --- showing -------------------------------------------------------------------------------

    def _show(self) -> None:
        picture, tab, look = self.picture, self.tab, self.context.look
        lost, trials = self._lost, self.trials
        self.query_one("#figures", Sheet).show(
            lambda width: figures(picture, lost, tab, look, width)
        )
        strip = self.query_one("#trials", Sheet)
        strip.display = bool(trials)
        strip.show(lambda width: tried(trials, look, width))
        if picture is None:
            return
        for one, table in self.tables.items():
            table.restyle(look)
            table.show(ListExcerpt(items(one, picture, look)))
        empty = not self.tables[tab].excerpt.rows
        self.set_class(empty, "-empty")
        if empty:
            self.query_one("#empty", Sheet).show(lambda _width: self._empty())
        self._show_card()

    def _show_card(self) -> None:
        at, look, read_only = (
            self.action_context(),
            self.context.look,
            self.context.service_admin is None,
        )
        if at is not None:
            self.query_one("#card", Sheet).show(
                lambda width: [
                    *card(at.thing, look, width),
                    *action_lines(at, width, read_only=read_only),
                ]
            )

    def _empty(self) -> list[Line]:
        what = {
            ServiceTab.ENDPOINTS: "No endpoint is registered: events go nowhere.",
            ServiceTab.KEYS: "There is no API key: nobody can create a collection.",
        }.get(self.tab, "")
        return [((translate(what), PLAIN),), ((translate("A adds one. ? lists the keys."), MUTED),)]

    @property
    def thing(self) -> Thing | None:
        """Return what the cursor points at."""
        row = self.tables[self.tab].row
        return None if row is None else row.of

    def action_context(self) -> ActionContext | None:
        """Return what an act would be about, or None before the service has answered."""
        service_admin = self.context.service_admin
        if self.picture is None:
            return None
        return ActionContext(
            tab=self.tab,
            thing=self.thing,
            picture=self.picture,
            no_trial="" if service_admin is None else service_admin.trial_disabled_reason(),
        )

    def _open(self, tab: ServiceTab) -> None:
        self.tab = tab
        for one, table in self.tables.items():
            table.set_class(one is tab, "-shown")
        self.tables[tab].focus()
        self._show()

    # --- keys ----------------------------------------------------------------------------------

    def on_record_table_highlighted(self) -> None:
        """Show what the cursor reached."""
        self._show_card()

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self.tables[self.tab].move(by)

    def action_tab(self, by: int) -> None:
        """Show the next list, or the one before."""
        tabs = list(ServiceTab)
        self._open(tabs[(tabs.index(self.tab) + by) % len(tabs)])

    def action_pane(self) -> None:
        """Show or hide the card."""
        self.toggle_class("-pane")

    def action_back(self) -> None:
        """Go back to Live."""
        self.post_message(ScreenRequested("live"))

    def action_copy_id(self) -> None:
        """Copy what names the thing under the cursor."""
        match self.thing:
            case SenderEndpoint(url=url):
                self.post_message(CopyRequested("address", url))
            case ServiceKey(id=id_):
                self.post_message(CopyRequested("key id", id_))
            case ScriptedPhone(number=number):
                self.post_message(CopyRequested("scripted phone", number))
            case Fault(kind=kind):
                self.post_message(CopyRequested("fault", kind))
            case None:
                self.say("nothing to copy: the cursor points at nothing")

    # --- acting --------------------------------------------------------------------------------

    def do(self, doing: str, action: Callable[[], ActionResult | NewSecret]) -> None:
        """Act on a thread; how it ended stands in the result line, a secret in its own dialog."""

        def run() -> ActionResult:
            made: NewSecret | None = None
            try:
                result = action()
                if isinstance(result, NewSecret):
                    made, result = result, result.result
                return result
            finally:
                self.post_message(self.ActionEnded(made))

        self.post_message(ActionRequested(doing, run))

    def on_service_view_action_ended(self, message: ActionEnded) -> None:
        """Show a new secret, then what the act has changed."""
        message.stop()
        if message.new_secret is not None:
            self.app.push_screen(SecretScreen(message.new_secret))
        self._asking = False
        self._fetch()
        if self.trials:
            self._follow()

    def watch_trial(self, trial: Trial) -> None:
        """Keep a test collection in view."""
        self.trials = (*self.trials, trial)[-_TRIALS:]
        self._show()
