"""`kusanya doctor`: everything that must be right before money comes, each with what to do."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from kusanya.errors import ConfigurationError, KusanyaError
from kusanya.text import safe
from kusanya_console.cli.options import AsJson, ClockName, ProfileName, StoreUrl, profile_of
from kusanya_console.output import FAILED, say, say_json, stop

if TYPE_CHECKING:
    from kusanya.clock import Clock
    from kusanya.profiles import EndpointSecret, Profile
    from kusanya.store import Store
    from kusanya.store.records import DeliveryRow

_TIMEOUT_S: Final = 10.0


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at; `to_do` is empty where nothing needs doing."""

    about: str
    said: str
    to_do: str = ""
    looked: bool = True
    """Whether it could be looked at at all."""

    @property
    def mark(self) -> str:
        """Return how the line begins."""
        return "to do" if self.to_do else "ok" if self.looked else "-"


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog="Example: kusanya doctor --endpoint https://hooks.shop.example/")(doctor)


def doctor(
    *,
    endpoint: Annotated[
        str | None,
        typer.Option(
            "--endpoint",
            help="Where the service delivers to: our address as the internet sees it. The newest "
            "event is delivered there once more, signed now, which changes nothing.",
        ),
    ] = None,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Look at key, mode, clock, secrets, store, disk, pooler, watcher and the endpoint.

    Each line is ok or says what to do; a line that begins with - could not be looked at. Exits with
    1 when there is something to do.
    """
    from kusanya_console.sandbox.service_clock import parse_clock

    chosen, time = profile_of(profile, store), parse_clock(clock)
    found: list[Finding] = []
    with ExitStack() as stack:
        for one in _findings(chosen, time, endpoint, stack):
            found.append(one)
            if not as_json:
                then = f". To do: {one.to_do}" if one.to_do else ""
                say(safe(f"{one.mark:<5}  {one.about}: {one.said}{then}", 600))
    if as_json:
        say_json({"well": not any(one.to_do for one in found), "findings": found})
    if any(one.to_do for one in found):
        stop(FAILED)


def _findings(
    profile: "Profile", clock: "Clock", endpoint: str | None, stack: ExitStack
) -> Iterator[Finding]:
    yield _mode(profile)
    yield from _service(profile, clock)
    yield _secrets(profile)
    opened = None
    try:
        opened = _open(profile, clock, stack)
    except KusanyaError as error:
        to_do = f"{error} (where there is none yet, the first kusanya receive makes it)"
        yield Finding("store", f"{profile.store} cannot be used", to_do)
    if opened is not None:
        yield from _store(opened, profile, clock)
    yield _endpoint(opened, profile, clock, endpoint)


def _mode(profile: "Profile") -> Finding:
    try:
        mode = profile.need_mode()
    except ConfigurationError as error:
        return Finding("mode", f"profile {profile.name} has none", str(error))
    return Finding("mode", f"profile {profile.name} is of {mode.value} mode")


def _service(profile: "Profile", clock: "Clock") -> Iterator[Finding]:
    """Look at address, key and clock by one question to the service."""
    from kusanya.alarms.rules.operation import SKEW_WARNED
    from kusanya_console.cli.create import client_of

    try:
        # Once: who runs it is told at once that nobody answers, and runs it again.
        with client_of(profile, clock=clock, max_attempts=1) as client:
            whose = client.whoami()
            offset = client.core.clock_check.offset
    except KusanyaError as error:
        yield Finding("key", "the service was not asked, or refused", str(error))
        return
    yield Finding("key", f"{whose.key_id} of {whose.merchant_id}, {whose.mode.value} mode")
    if offset is None:
        yield Finding("clock", "the service's answer names no time", looked=False)
    elif abs(offset) < SKEW_WARNED:
        yield Finding("clock", "it agrees with the service's")
    else:
        seconds = f"{abs(offset).total_seconds():,.0f} s"
        way = "behind" if offset > timedelta() else "ahead of"
        to_do = "let the machine follow a time server; set no clock back by hand"
        yield Finding("clock", f"it is {seconds} {way} the service's", to_do)


def _secrets(profile: "Profile") -> Finding:
    if not profile.endpoints:
        to_do = "set KUSANYA_SECRETS or KUSANYA_SECRETS_FILE to NAME=whsec_..., or kusanya init"
        return Finding("signing secrets", "none is known", to_do)
    names = ", ".join(one.name for one in profile.endpoints)
    return Finding("signing secrets", f"known of {names}")


def _open(profile: "Profile", clock: "Clock", stack: ExitStack) -> "Store":
    from kusanya.store import Store

    opened = stack.enter_context(Store.open(profile.store, create=False, clock=clock))
    opened.prove_writable()
    return opened


def _store(opened: "Store", profile: "Profile", clock: "Clock") -> Iterator[Finding]:
    from kusanya.alarms.rules.operation import FREE_WARNED
    from kusanya.health.report import UNWATCHED

    yield Finding("store", f"{opened.url_shown} is of this version, and can be read and written")
    if opened.is_behind_a_pooler:
        yield Finding("pooler", "its transactions are whole, and no statement is prepared there")
    free = opened.free_bytes
    if free is None:
        yield Finding("disk", "it is the database server's", looked=False)
    else:
        room = f"{free // 1_000_000:,} MB are free"
        to_do = "make room, or give the store's disk more" if free < FREE_WARNED else ""
        yield Finding("disk", room, to_do)
    run = opened.poll_leases.pollers(profile.mode)
    if run and clock.now() - run[0].polled_at <= UNWATCHED:
        yield Finding("watcher", f"{run[0].name} runs")
    else:
        yield Finding("watcher", "none has run for five minutes", "start kusanya watch")


def _endpoint(
    opened: "Store | None", profile: "Profile", clock: "Clock", url: str | None
) -> Finding:
    """Deliver the newest event once more, signed now: a repeat, which the receiver knows."""
    from kusanya.store.records import DeliveryFilter, Verdict
    from kusanya.webhooks import sign

    if url is None:
        return Finding("endpoint", "give --endpoint, and it is tried", looked=False)
    where = DeliveryFilter(verdicts=(Verdict.VERIFIED,))
    rows = () if opened is None else opened.deliveries.page(profile.mode, where=where, limit=1).rows
    held = None if opened is None or not rows else opened.deliveries.body(rows[0].id)
    if opened is None or held is None or held.body is None:
        return _reached(url, *_send(url, None, {}))
    of = _secret_of(profile, rows[0])
    if of is None:
        to_do = "set KUSANYA_SECRETS to the secret of each endpoint"
        return Finding("endpoint", f"no signing secret of {rows[0].endpoint} is known", to_do)
    before = opened.feed.head()
    header = sign(held.body, of.secrets[-1], int(clock.now().timestamp()))
    status, why = _send(url, held.body, {profile.signature_header: header})
    if status != 200:  # noqa: PLR2004 - what a receiver answers
        return _reached(url, status, why, signed=True)
    again = DeliveryFilter(event_id=rows[0].event_id)
    newest = opened.deliveries.page(profile.mode, where=again, limit=1).rows
    if not newest or newest[0].seq <= before:
        to_do = "let the address lead to a receiver of this store"
        return Finding("endpoint", "it answers 200, and the delivery is not in this store", to_do)
    return Finding("endpoint", f"a delivery signed for {of.name} arrived in this store")


def _secret_of(profile: "Profile", row: "DeliveryRow") -> "EndpointSecret | None":
    return next((one for one in profile.endpoints if one.name == row.endpoint), None)


def _send(url: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, str]:
    """Return the status of one request, or 0 and why there is none; no body is read."""
    import httpx

    sent = {**headers, "Content-Type": "application/json"}
    method = "GET" if body is None else "POST"
    try:
        with httpx.stream(method, url, content=body, headers=sent, timeout=_TIMEOUT_S) as answer:
            return answer.status_code, ""
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        return 0, type(error).__name__


def _reached(url: str, status: int, why: str, *, signed: bool = False) -> Finding:
    from kusanya.privacy.secret_url import SecretUrl

    shown = str(SecretUrl(url))
    if not status:
        to_do = "open the way to the receiver: its name, its certificate, its proxy"
        return Finding("endpoint", f"{shown} does not answer ({why})", to_do)
    if signed:
        to_do = {
            400: "give the receiver the signing secret of this endpoint, and this mode",
            503: "look at the receiver's log: it cannot write its store",
        }.get(status, "let the proxy pass deliveries on to the receiver as they are")
        return Finding("endpoint", f"{shown} answers {status} to a signed delivery", to_do)
    if status == 405:  # noqa: PLR2004 - what a receiver answers to a GET
        said = "a receiver answers; no event has arrived that could be delivered once more"
        return Finding("endpoint", said, looked=False)
    to_do = "let the proxy pass this address on to the receiver"
    return Finding("endpoint", f"{shown} answers {status}, as no receiver does", to_do)
