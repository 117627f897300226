"""`kusanya receive`: the webhook receiver."""

import gc
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ParamSpec, TypeVar

import typer
from msgspec.structs import replace

from kusanya.errors import ConfigurationError
from kusanya.wire import Mode
from kusanya_console.cli.options import (
    AsJson,
    ClockName,
    Migrate,
    ProfileName,
    StoreUrl,
    UntilStdinCloses,
    profile_of,
)
from kusanya_console.output import USAGE, Refused, complain, say, say_json

if TYPE_CHECKING:
    from kusanya.clock import Clock
    from kusanya.profiles import EndpointSecret, Profile
    from kusanya.receiver import EndpointSecrets
    from kusanya.receiver.asgi import Receiver
    from kusanya.receiver.double_check import DoubleCheck
    from kusanya.receiver.metrics import Gauges
    from kusanya.receiver.serve import RunningReceiver
    from kusanya.receiver.waiting import WaitingReceiver
    from kusanya.store import Store


_Args = ParamSpec("_Args")
_Made = TypeVar("_Made")


class DoubleCheckOption(StrEnum):
    """Which deliveries are checked; the receiver's own policies, and none."""

    NEVER = "never"
    ON_CONTRADICTION = "on_contradiction"
    SAMPLED = "sampled"
    ALWAYS = "always"


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(
        epilog="Example: KUSANYA_SECRETS=shop=whsec_... kusanya receive --port 8099 --mode live"
    )(receive)


def receive(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    store: StoreUrl = None,
    mode: Annotated[
        Mode | None,
        typer.Option(help="Mode of these endpoints; else KUSANYA_MODE or the profile's mode."),
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(help="NAME=whsec_... or whsec_...; may repeat. Better in KUSANYA_SECRETS."),
    ] = None,
    double_check: Annotated[
        DoubleCheckOption,
        typer.Option(help="Which deliveries to ask the service about, after the answer."),
    ] = DoubleCheckOption.NEVER,
    connections: Annotated[
        int, typer.Option(min=1, help="Connections at once; the longest idle gives way.")
    ] = 256,
    connections_per_peer: Annotated[
        int, typer.Option(min=1, help="Of them, from one address that is no trusted proxy.")
    ] = 32,
    request_seconds: Annotated[
        float, typer.Option(min=0.1, max=8.0, help="Time for a whole request to arrive.")
    ] = 8.0,
    drain_seconds: Annotated[
        float,
        typer.Option(min=0, max=600, help="Told to stop: not ready, but at work, for so long."),
    ] = 0.0,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="Network of your own proxies, as 10.0.0.0/8, whose X-Forwarded-For is believed; "
            "may repeat."
        ),
    ] = None,
    metrics: Annotated[
        bool, typer.Option(help="Answer /metrics; turn it off where the port is public.")
    ] = True,
    profile: ProfileName = None,
    clock: ClockName = "real",
    migrate: Migrate = False,
    as_json: AsJson = False,
    until_stdin_closes: UntilStdinCloses = False,
) -> None:
    """Receive signed deliveries; answer 2xx only after each is durable in the store.

    Where its database does not answer at the start, deliveries are answered 503 until it does.
    """
    from kusanya.alarms.gauges import StoreGauges, UnreadableStore
    from kusanya.platform.http_limits import ConnectionLimits
    from kusanya.profiles import load, parse_endpoint_secrets
    from kusanya.receiver import app
    from kusanya.receiver.endpoints import Endpoints
    from kusanya.receiver.serve import limits_of, serve
    from kusanya_console.cli.process.parent_watch import stop_when_stdin_closes
    from kusanya_console.sandbox.service_clock import parse_clock

    chosen = profile_of(profile, store)
    if mode is not None:
        chosen = replace(chosen, mode=mode, mode_given=True)
    its_mode = _usable(chosen.need_mode, has_option=True)

    given = _usable(parse_endpoint_secrets, ",".join(secret)) if secret else chosen.endpoints
    endpoints = _usable(_endpoints, given, its_mode)
    is_reread = chosen.secrets_from_files and not secret
    bounds = _usable(
        ConnectionLimits,
        connections=connections,
        per_peer=connections_per_peer,
        header_s=min(5.0, request_seconds),
        request_s=request_seconds,
        trusted_proxies=tuple(trusted_proxy or ()),
    )
    if until_stdin_closes:
        stop_when_stdin_closes()
    with ExitStack() as stack:
        command = _ReceiverProcess(
            chosen, endpoints, clock=parse_clock(clock), upgrade=migrate, as_json=as_json
        )

        def make() -> "Receiver":
            opened = command.open(stack)
            checks = double_check is not DoubleCheckOption.NEVER
            return app(
                opened,
                endpoints,
                clock=command.clock,
                signature_header=chosen.signature_header,
                limits=limits_of(bounds),
                double_check=_checks(chosen, opened, double_check, command.clock, stack)
                if checks
                else None,
                metrics=metrics,
                gauges=StoreGauges(opened, its_mode, clock=command.clock) if metrics else None,
            )

        def reread() -> Endpoints:
            found = _endpoints(load(profile).endpoints, its_mode)
            return Endpoints.of(found, signature_header=chosen.signature_header)

        serve(
            command.application(make, UnreadableStore(its_mode) if metrics else None),
            host=host,
            port=port,
            connections=bounds,
            drain_s=drain_seconds,
            reread=reread if is_reread else None,
            on_ready=command.ready,
        )


def _endpoints(endpoints: "Sequence[EndpointSecret]", mode: Mode) -> "tuple[EndpointSecrets, ...]":
    from kusanya.receiver import EndpointSecrets

    if not endpoints:
        raise ConfigurationError(
            "no signing secret: set KUSANYA_SECRETS or KUSANYA_SECRETS_FILE, or give --secret"
        )
    return tuple(
        EndpointSecrets(name=one.name, mode=mode, secrets=one.secrets) for one in endpoints
    )


class _ReceiverProcess:
    """What one `kusanya receive` opens and says."""

    def __init__(
        self,
        profile: "Profile",
        endpoints: "Sequence[EndpointSecrets]",
        *,
        clock: "Clock",
        upgrade: bool,
        as_json: bool,
    ) -> None:
        self.clock = clock
        self._profile = profile
        self._names = ", ".join(endpoint.name for endpoint in endpoints)
        self._upgrade = upgrade
        self._as_json = as_json
        self._opened: Store | None = None
        self._url: str | None = None
        """Where it listens, once it does."""

    def open(self, stack: ExitStack) -> "Store":
        """Open the store until `stack` ends; say so where it listened before."""
        from kusanya.store import Store

        self._opened = stack.enter_context(
            Store.open(self._profile.store, clock=self.clock, upgrade=self._upgrade)
        )
        if self._url is not None:
            self._announce(self._url)
        return self._opened

    def application(
        self, make: "Callable[[], Receiver]", gauges: "Gauges | None"
    ) -> "Receiver | WaitingReceiver":
        """Return the receiver, or one that waits for its database."""
        from kusanya.errors import StoreAway
        from kusanya.receiver.waiting import WaitingReceiver

        try:
            return make()
        except StoreAway as error:
            complain(
                f"{str(error).partition('; ')[0]}; deliveries are answered 503 until it can be "
                "opened"
            )
            return WaitingReceiver(make, gauges=gauges)

    def ready(self, serving: "RunningReceiver") -> None:
        """Say where it listens."""
        # What was imported lives as long as the process: looking through it for garbage would hold
        # up deliveries for 50 ms every few thousand.
        gc.freeze()
        self._url = serving.url
        self._announce(serving.url)

    def _announce(self, url: str) -> None:
        store = None if self._opened is None else self._opened.url_shown
        if self._as_json:
            say_json({"url": url, "store": store})
            return
        where = "answering 503 until the store can be opened" if store is None else f"into {store}"
        say(f"receiving {self._profile.mode} events for {self._names} on {url} {where}")


def _usable(make: Callable[_Args, _Made], *args: _Args.args, **named: _Args.kwargs) -> _Made:
    """Return what `make` returns; settings that cannot be used are wrong usage."""
    try:
        return make(*args, **named)
    except ConfigurationError as error:
        raise Refused(str(error), code=USAGE) from error


def _checks(
    profile: "Profile", store: "Store", policy: DoubleCheckOption, clock: "Clock", stack: ExitStack
) -> "DoubleCheck":
    from kusanya.receiver import double_check
    from kusanya_console.cli.create import client_of

    client = stack.enter_context(client_of(profile))
    return double_check.DoubleCheck(
        store,
        {profile.mode: client},
        policy=double_check.DoubleCheckPolicy(policy.value),
        clock=clock,
    )
