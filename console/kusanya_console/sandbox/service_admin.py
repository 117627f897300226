"""Everything that changes the embedded service: keys, endpoints, time, faults, trial collections.

Built only where writing is allowed and a dashboard is known. Each act leaves an audit row that
names its target and never a secret.
"""

import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from secrets import token_hex
from typing import Final

from kusanya.alarms.sender import SenderEndpoint
from kusanya.client import Client
from kusanya.domain.business_day import EAT
from kusanya.errors import KusanyaError
from kusanya.intents import create_safely
from kusanya.privacy import mask_phone
from kusanya.privacy.secret import Secret
from kusanya.say import Said, dated, plural
from kusanya.store import Store
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya.wording import status_word
from kusanya_console.actions.audit import Auditor
from kusanya_console.actions.results import (
    NO_KEY,
    ActionOutcome,
    ActionResult,
    NewSecret,
    off,
    why_off,
)
from kusanya_console.sandbox.dashboard.client import DashboardClient, DashboardError
from kusanya_console.sandbox.dashboard.phones import AMOUNT, ScriptedPhone
from kusanya_console.sandbox.dashboard.reader import endpoints, faults, path_part
from kusanya_console.sandbox.dashboard.records import (
    FaultRule,
    ServiceKey,
    ServiceTime,
    parse_answer,
    rows,
)
from kusanya_console.ui.format import format_duration

_LONGEST_URL: Final = 200
_PASSWORD: Final = re.compile(r"//[^/?#]*@")
_QUERY: Final = re.compile(r"[?#].*", re.DOTALL)


def four_bytes() -> str:
    """Return eight hex digits by chance."""
    return token_hex(4)


class ServiceAdmin:
    """Acts of one person on one embedded service; store, dashboard and client stay the caller's.

    Without `client`, or with one of live mode, no trial collection is created.
    """

    def __init__(
        self,
        store: Store,
        dashboard: DashboardClient,
        *,
        actor: str,
        profile: str,
        client: Client | None = None,
        draw: Callable[[], str] = four_bytes,
    ) -> None:
        self._store = store
        self._dashboard = dashboard
        self._audit = Auditor(store, actor=actor)
        self._profile = profile
        self._client = client
        self._draw = draw

    # --- trial collections ---------------------------------------------------------------------

    def trial_disabled_reason(self) -> str:
        """Return why no test collection can be created, or nothing."""
        if self._client is None:
            return NO_KEY
        if self._client.mode is not Mode.TEST:
            return off("phones are scripted in TEST MODE only; start the console with a test key")
        return ""

    def trial_reference(self, phone: ScriptedPhone) -> str:
        """Return a reference that tells the phone and that chance makes new."""
        return f"TRY-{phone.number[-2:]}-{self._draw()}"

    def try_phone(self, phone: ScriptedPhone, reference: str) -> ActionResult:
        """Create a collection as any program of the merchant does: the intent is durable first."""

        def create() -> ActionResult:
            why = self.trial_disabled_reason()
            if why or self._client is None:
                raise KusanyaError(Said("{our_why}: nothing was sent").of(our_why=why_off(why)))
            made = create_safely(
                self._store,
                self._client,
                amount=AMOUNT,
                phone=phone.number,
                reference=reference,
                description=phone.what,
                profile=self._profile,
            ).collection
            return ActionResult(
                Said("{reference} ({id}) is {status} on {phone}; the script says: {our_what}").of(
                    reference=reference,
                    id=safe(made.id, 40),
                    status=status_word(made.status),
                    phone=mask_phone(phone.number),
                    our_what=phone.what,
                )
            )

        return self._audit.run("try phone", reference, f"{phone.outcome}, test mode", create)

    # --- keys and endpoints --------------------------------------------------------------------

    def add_key(self, mode: Mode) -> NewSecret:
        """Make an API key of one mode."""
        made: list[Secret] = []

        def make() -> ActionResult:
            answer = self._dashboard.post("keys", {"mode": mode.value})
            key = parse_answer(answer, ServiceKey)
            made.append(_secret(answer, "key"))
            return ActionResult(
                Said("{mode} key {id} is made; it was shown once").of(
                    mode=mode.value, id=safe(key.id, 40)
                )
            )

        ended = self._audit.run("create key", f"{mode.value} key", f"{mode.value} mode", make)
        return NewSecret(ended, Said("new {mode} API key").of(mode=mode.value), made[0])

    def revoke_key(self, key: ServiceKey) -> ActionResult:
        """Revoke the key that the dialog named."""

        def revoke() -> ActionResult:
            known = rows(self._dashboard.get("keys"), ServiceKey)
            if not any(one.id == key.id and one.revoked_at is None for one in known):
                raise DashboardError("this key is gone or revoked already: nothing was changed")
            self._dashboard.delete(f"keys/{path_part(key.id)}")
            return ActionResult(
                Said("{id} is revoked: requests with it are refused from now on").of(
                    id=safe(key.id, 40)
                )
            )

        return self._audit.run("revoke key", key.id, f"{key.mode} mode", revoke)

    def add_endpoint(self, url: str, mode: Mode) -> NewSecret:
        """Register an endpoint of one mode; the service judges its address."""
        made: list[Secret] = []

        def register() -> ActionResult:
            answer = self._dashboard.post("endpoints", {"url": url, "mode": mode.value})
            endpoint = parse_answer(answer, SenderEndpoint)
            made.append(_secret(answer, "secret"))
            return ActionResult(
                Said("{endpoint} is registered; its secret was shown once").of(
                    endpoint=_named(endpoint)
                )
            )

        # Also of an address that is refused for it, no password is kept.
        shown = _address(url)
        ended = self._audit.run("add endpoint", shown, f"{mode.value} mode", register)
        return NewSecret(ended, Said("signing secret of {endpoint}").of(endpoint=shown), made[0])

    def enable(self, endpoint: SenderEndpoint) -> ActionResult:
        """Enable the endpoint that the dialog named."""

        def enable() -> ActionResult:
            if not self._again(endpoint).is_disabled:
                raise DashboardError("it is enabled already: nothing was changed")
            self._dashboard.post(f"endpoints/{path_part(endpoint.id)}/enable")
            return ActionResult(
                Said("{endpoint} is enabled with a new fuse; what it held goes on").of(
                    endpoint=_named(endpoint)
                )
            )

        return self._audit.run("enable endpoint", endpoint.id, _about(endpoint), enable)

    def rotate(self, endpoint: SenderEndpoint) -> NewSecret:
        """Rotate the secret of the endpoint that the dialog named."""
        made: list[Secret] = []

        def rotate() -> ActionResult:
            self._again(endpoint)
            answer = self._dashboard.post(f"endpoints/{path_part(endpoint.id)}/rotate-secret")
            made.append(_secret(answer, "secret"))
            return ActionResult(
                Said(
                    "{endpoint} has a new secret; the old one signs beside it for 24 h: give the "
                    "receiver both"
                ).of(endpoint=_named(endpoint))
            )

        ended = self._audit.run("rotate secret", endpoint.id, _about(endpoint), rotate)
        return NewSecret(
            ended,
            Said("signing secret of {endpoint}").of(endpoint=safe(endpoint.url, _LONGEST_URL)),
            made[0],
        )

    def delete(self, endpoint: SenderEndpoint) -> ActionResult:
        """Delete the endpoint that the dialog named."""

        def delete() -> ActionResult:
            self._again(endpoint)
            self._dashboard.delete(f"endpoints/{path_part(endpoint.id)}")
            return ActionResult(
                Said("{endpoint} is deleted; what waited for it is given up").of(
                    endpoint=_named(endpoint)
                )
            )

        return self._audit.run("delete endpoint", endpoint.id, _about(endpoint), delete)

    def _again(self, endpoint: SenderEndpoint) -> SenderEndpoint:
        for one in endpoints(self._dashboard):
            if (one.id, one.url, one.mode) == (endpoint.id, endpoint.url, endpoint.mode):
                return one
        raise DashboardError("this is not the endpoint of the dialog any more: nothing was changed")

    # --- time and faults -----------------------------------------------------------------------

    def advance(self, length: timedelta) -> ActionResult:
        """Move a virtual clock and wait until everything due has happened."""

        def advance() -> ActionResult:
            body = {"seconds": length.total_seconds()}
            answer = self._dashboard.post("clock/advance", body, patient=True)
            now = parse_answer(answer, ServiceTime).now.astimezone(EAT)
            return ActionResult(
                Said(
                    "the clock moved by {length} to {at} EAT; everything due until then has "
                    "happened"
                ).of(length=format_duration(length, parts=4), at=dated(now, "%a %d %b %Y %H:%M:%S"))
            )

        return self._audit.run("advance clock", "clock", format_duration(length, parts=4), advance)

    def begin_fault(self, rule: FaultRule) -> ActionResult:
        """Put one fault in force; the others stay as they are."""

        def begin() -> ActionResult:
            others = [one for one in faults(self._dashboard) if one.kind != rule.kind]
            self._put([*others, rule])
            return ActionResult(
                Said("{kind} is in force, {our_frequency}").of(
                    kind=rule.kind, our_frequency=rule.frequency
                )
            )

        return self._audit.run("begin fault", rule.kind, rule.frequency, begin)

    def end_faults(self, rules: tuple[FaultRule, ...]) -> ActionResult:
        """End the faults that the dialog named."""
        kinds = {rule.kind for rule in rules}
        named = safe(", ".join(sorted(kinds)), 200)

        def end() -> ActionResult:
            known = faults(self._dashboard)
            self._put([one for one in known if one.kind not in kinds])
            ended = [one for one in known if one.kind in kinds]
            if not ended:
                said = Said("{kinds}: no such fault was in force any more").of(kinds=named)
                return ActionResult(said, ActionOutcome.NOTHING_TO_DO)
            struck = sum(one.struck for one in ended)
            return ActionResult(
                plural(
                    struck,
                    "ended: {kinds}; struck once",
                    "ended: {kinds}; struck {count} times in all",
                    kinds=named,
                )
            )

        return self._audit.run("end faults", "faults", named, end)

    def _put(self, rules: Sequence[FaultRule]) -> None:
        # What is put in force begins to count anew: a rule keeps only the times it has left.
        self._dashboard.put(
            "faults",
            {
                "rules": [
                    {"kind": r.kind, "rate": r.rate, "times": r.left, "seconds": r.seconds}
                    for r in rules
                    if r.left != 0
                ]
            },
        )


def _secret(answer: object, name: str) -> Secret:
    value = answer.get(name) if isinstance(answer, dict) else None
    try:
        return Secret(value if isinstance(value, str) else "")
    except ValueError:
        # From none: the error before names nothing that is safe to repeat.
        raise DashboardError("the dashboard gave no secret: make another one") from None


def _about(endpoint: SenderEndpoint) -> str:
    return f"{_address(endpoint.url)}, {safe(endpoint.mode, 20)} mode"


def _named(endpoint: SenderEndpoint) -> str:
    return f"{safe(endpoint.url, 80)} ({safe(endpoint.id, 40)})"


def _address(url: str) -> str:
    """Return an address as it may be kept: some bear a password or a token."""
    bare = _QUERY.sub("?(secret)", _PASSWORD.sub("//(secret)@", url))
    return safe(bare, _LONGEST_URL)
