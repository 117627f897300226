"""Service: what can be done to the embedded service; each key asks, confirms, and then acts.

What is changed is fixed when the dialog opens. What cannot be undone takes a typed word, and ending
several faults at once their number.
"""

from collections.abc import Callable

from kusanya.alarms.sender import SenderEndpoint
from kusanya.privacy import mask_phone
from kusanya.say import Said, dated
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_console.actions.results import READ_ONLY, ActionResult, NewSecret
from kusanya_console.sandbox.dashboard.phones import AMOUNT, ScriptedPhone
from kusanya_console.sandbox.dashboard.records import FaultRule, ServiceKey
from kusanya_console.sandbox.screen.actions import ActionContext, ServiceAction, disabled_reason
from kusanya_console.sandbox.screen.cards import Trial
from kusanya_console.sandbox.screen.dialogs import AskScreen
from kusanya_console.sandbox.screen.parsing import parse_duration, parse_fault_rule
from kusanya_console.sandbox.screen.tables import Fault, ServiceTab, state
from kusanya_console.sandbox.screen.view import ServiceView
from kusanya_console.sandbox.service_admin import ServiceAdmin
from kusanya_console.screens.confirm import ConfirmScreen
from kusanya_console.ui.format import cell, format_duration
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import MUTED, PLAIN, STRONG, Run

_URL_HINT = (
    "Where events are posted. Live endpoints are https and public; a local address takes "
    "--allow-local at the service and test mode."
)
_TIME_HINT = "How far, as 90 s, 5 min, 2 h 36 min or 3 d. Everything due until then happens."
_FAULT_HINT = (
    "How it strikes: always, or any of 20% (how often), 3 times (how often in all), "
    "5 s (how long, where it lasts)."
)
Facts = tuple[tuple[str, Run], ...]


class ServiceScreen(ServiceView):
    """The view of the service, with the keys that change something in it."""

    def on_record_table_opened(self) -> None:
        """Use what was double-clicked."""
        self.action_use()

    def _may(self, action: ServiceAction) -> tuple[ServiceAdmin, ActionContext] | None:
        """Return what to act with, or say why nothing happens."""
        service_admin, at = self.context.service_admin, self.action_context()
        why = READ_ONLY if service_admin is None else ""
        if not why:
            why = "the service has not answered yet" if at is None else disabled_reason(action, at)
        if why or service_admin is None or at is None:
            self.say(why)
            return None
        return service_admin, at

    def _confirm(  # noqa: PLR0917 - what every dialog names
        self,
        act: str,
        facts: Facts,
        mode: Mode,
        warning: str,
        then: Callable[[], None],
        word: str = "",
    ) -> None:
        def confirmed(yes: bool | None) -> None:  # noqa: FBT001 - Textual's callback
            if yes:
                then()

        dialog = ConfirmScreen(act, facts, mode=mode, warning=warning, word=word)
        self.app.push_screen(dialog, confirmed)

    def _ask(
        self, title: str, hint: str, check: Callable[[str], object], then: Callable[[str], None]
    ) -> None:
        def written(text: str | None) -> None:
            if text:
                then(text)

        self.app.push_screen(AskScreen((title, STRONG), hint, check=check), written)

    def action_use(self) -> None:
        """Create a test collection on the phone, or put the fault in force or out of it."""
        may = self._may(ServiceAction.USE)
        if may is None:
            return
        service_admin, at = may
        match at.thing:
            case ScriptedPhone():
                self._try_phone(service_admin, at.thing)
            case Fault(rule=None):
                self._begin_fault(service_admin, at.thing.kind)
            case Fault(rule=FaultRule() as rule):
                self._end_faults(service_admin, (rule,))

    def _try_phone(self, service_admin: ServiceAdmin, phone: ScriptedPhone) -> None:
        reference = service_admin.trial_reference(phone)

        def send() -> None:
            self.watch_trial(Trial(reference=reference, at=self.context.look.now, phone=phone))
            self.do("creating", lambda: service_admin.try_phone(phone, reference))

        facts: Facts = (
            ("reference", (reference, STRONG)),
            ("amount", (f"TZS {AMOUNT:,}", STRONG)),
            ("phone", (mask_phone(phone.number), PLAIN)),
            ("comes to", (translate(phone.outcome), PLAIN)),
            ("happens", (translate(phone.what), MUTED)),
        )
        warning = "The intent is kept on disk before its first byte leaves. Test money only."
        self._confirm("Create this test collection", facts, Mode.TEST, warning, send)

    def _begin_fault(self, service_admin: ServiceAdmin, kind: str) -> None:
        def confirm(text: str) -> None:
            rule = parse_fault_rule(kind, text)
            facts: Facts = (
                ("fault", (kind, STRONG)),
                ("strikes", (translate(rule.frequency), PLAIN)),
                ("lasts", (f"{rule.seconds:g} s, {translate('where it lasts')}", PLAIN)),
            )
            warning = "It strikes both modes, and whatever else uses this service now."
            self._confirm(
                "Put this fault in force", facts, self.context.mode, warning,
                lambda: self.do(
                    "putting the fault in force", lambda: service_admin.begin_fault(rule)
                ),
            )  # fmt: skip

        self._ask(
            Said("Fault {kind}").of(kind=kind),
            _FAULT_HINT,
            lambda text: parse_fault_rule(kind, text),
            confirm,
        )

    def action_no_faults(self) -> None:
        """End every fault in force."""
        may = self._may(ServiceAction.NO_FAULTS)
        if may is not None:
            service_admin, at = may
            self._end_faults(service_admin, at.picture.faults)

    def _end_faults(self, service_admin: ServiceAdmin, rules: tuple[FaultRule, ...]) -> None:
        names = ", ".join(rule.kind for rule in rules)
        facts: Facts = (
            ("faults", cell(names, STRONG, limit=200)),
            ("how many", (f"{len(rules)}", PLAIN)),
        )
        self._confirm(
            "End this fault" if len(rules) == 1 else "End these faults", facts, self.context.mode,
            "What they have done stays done.",
            lambda: self.do("ending faults", lambda: service_admin.end_faults(rules)),
            word=str(len(rules)) if len(rules) > 1 else "",
        )  # fmt: skip

    def action_add(self) -> None:
        """Make an API key, or register an endpoint, of the console's mode."""
        may = self._may(ServiceAction.ADD)
        if may is None:
            return
        service_admin, at = may
        mode = self.context.mode
        if at.tab is ServiceTab.KEYS:
            said = translate("a new API key of {mode} mode", mode=mode.value)
            facts: Facts = (("key", (said, STRONG)),)
            warning = "Anybody who has it can create collections. It is shown once, in a dialog."
            self._confirm(
                "Make this key", facts, mode, warning,
                lambda: self.do("making a key", lambda: service_admin.add_key(mode)),
            )  # fmt: skip
            return

        def confirm(url: str) -> None:
            self._confirm(
                "Register this endpoint", (("sent to", cell(url, STRONG, limit=300)),), mode,
                "Events of this mode go there from now on. Its secret is shown once, in a dialog.",
                lambda: self.do("registering", lambda: service_admin.add_endpoint(url, mode)),
            )  # fmt: skip

        self._ask(
            Said("New endpoint of {mode} mode").of(mode=mode.value), _URL_HINT, _some_url, confirm
        )

    def action_enable(self) -> None:
        """Enable the endpoint under the cursor."""
        warning = "What was held for it is sent at once, and its fuse is new."
        self._endpoint_act(ServiceAction.ENABLE, "Enable this endpoint", warning)

    def action_rotate(self) -> None:
        """Give the endpoint under the cursor a new signing secret."""
        warning = (
            "The new secret is shown once. Both sign for 24 h: give the receiver both, or it "
            "rejects everything after that."
        )
        self._endpoint_act(ServiceAction.ROTATE, "Rotate this secret", warning)

    def action_delete(self) -> None:
        """Delete the endpoint under the cursor, or revoke the key."""
        may = self._may(ServiceAction.DELETE)
        if may is not None and isinstance(may[1].thing, ServiceKey):
            self._revoke(may[0], may[1].thing)
        elif may is not None:
            warning = "It cannot be undone: what waited for it is given up, its secret is gone."
            self._endpoint_act(ServiceAction.DELETE, "Delete this endpoint", warning, word="delete")

    def _endpoint_act(
        self, action: ServiceAction, act: str, warning: str, *, word: str = ""
    ) -> None:
        may = self._may(action)
        if may is None or not isinstance(may[1].thing, SenderEndpoint):
            return
        service_admin, one = may[0], may[1].thing
        facts: Facts = (
            ("sent to", cell(one.url, STRONG, limit=300)),
            ("endpoint", cell(one.id, limit=60)),
            ("state", state(one)),
        )

        def run() -> ActionResult | NewSecret:
            if action is ServiceAction.ROTATE:
                return service_admin.rotate(one)
            return (
                service_admin.enable(one)
                if action is ServiceAction.ENABLE
                else service_admin.delete(one)
            )

        doing = {ServiceAction.ENABLE: "enabling", ServiceAction.ROTATE: "rotating"}.get(
            action, "deleting"
        )
        self._confirm(act, facts, _mode(one.mode), warning, lambda: self.do(doing, run), word)

    def _revoke(self, service_admin: ServiceAdmin, key: ServiceKey) -> None:
        facts: Facts = (
            ("key", cell(key.id, STRONG, limit=80)),
            ("ends in", cell(key.hint, limit=12)),
        )
        self._confirm(
            "Revoke this key", facts, _mode(key.mode),
            "It cannot be undone: every program that uses it is refused from now on.",
            lambda: self.do("revoking", lambda: service_admin.revoke_key(key)),
            word="revoke",
        )  # fmt: skip

    def action_advance_clock(self) -> None:
        """Move a virtual clock."""
        may = self._may(ServiceAction.ADVANCE)
        if may is None:
            return
        service_admin, at = may

        def confirm(text: str) -> None:
            length = parse_duration(text)
            to, zone = at.picture.time.now + length, self.context.look.zone
            facts: Facts = (
                ("by", (format_duration(length, parts=4), STRONG)),
                ("until", (translate(dated(to.astimezone(zone), "%a %d %b %Y %H:%M:%S")), PLAIN)),
            )
            warning = "Time does not come back: outcomes, retries and fuses of both modes happen."
            self._confirm(
                "Advance the clock", facts, self.context.mode, warning,
                lambda: self.do("advancing", lambda: service_admin.advance(length)),
            )  # fmt: skip

        self._ask("Advance the virtual clock", _TIME_HINT, parse_duration, confirm)


def _some_url(text: str) -> None:
    if not text.startswith(("http://", "https://")):
        raise ValueError(
            Said("an address begins with https:// or http://, not {text}").of(text=safe(text, 12))
        )


def _mode(word: str) -> Mode:
    # A mode that nobody knows is confirmed as strictly as live.
    return Mode.TEST if word == Mode.TEST else Mode.LIVE
