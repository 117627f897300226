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
    ProfileName,
    StoreUrl,
    UntilStdinCloses,
    profile_of,
)
from kusanya_console.output import USAGE, Refused, say, say_json

if TYPE_CHECKING:
    from kusanya.clock import Clock
    from kusanya.profiles import EndpointSecret, Profile
    from kusanya.receiver.double_check import DoubleCheck
    from kusanya.receiver.serve import RunningReceiver
    from kusanya.store import Store


_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")


class Policy(StrEnum):
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
        Policy, typer.Option(help="Which deliveries to ask the service about, after the answer.")
    ] = Policy.NEVER,
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
    as_json: AsJson = False,
    until_stdin_closes: UntilStdinCloses = False,
) -> None:
    """Receive signed deliveries; answer 2xx only after each is durable in the store."""
    from kusanya.alarms.gauges import StoreGauges
    from kusanya.http_limits import ConnectionLimits
    from kusanya.profiles import load, parse_endpoint_secrets
    from kusanya.receiver import EndpointSecrets
    from kusanya.receiver.serve import run
    from kusanya.service_clock import parse_clock
    from kusanya.store import Store
    from kusanya_console.cli.process.parent_watch import stop_when_stdin_closes

    chosen = profile_of(profile, store)
    if mode is not None:
        chosen = replace(chosen, mode=mode, mode_given=True)
    its_mode = _usable(chosen.need_mode)

    def endpoints_of(given: "Sequence[EndpointSecret]") -> tuple[EndpointSecrets, ...]:
        if not given:
            raise ConfigurationError(
                "no signing secret: set KUSANYA_SECRETS or KUSANYA_SECRETS_FILE, or give --secret"
            )
        return tuple(
            EndpointSecrets(name=one.name, mode=its_mode, secrets=one.secrets) for one in given
        )

    given = _usable(parse_endpoint_secrets, ",".join(secret)) if secret else chosen.endpoints
    endpoints = _usable(endpoints_of, given)
    is_reread = chosen.secrets_from_files and not secret
    bounds = _usable(
        ConnectionLimits,
        connections=connections,
        per_peer=connections_per_peer,
        header_s=min(5.0, request_seconds),
        request_s=request_seconds,
        trusted_proxies=tuple(trusted_proxy or ()),
    )
    time = parse_clock(clock)

    def ready(serving: "RunningReceiver") -> None:
        # What was imported lives as long as the process: looking through it for garbage would hold
        # up deliveries for 50 ms every few thousand.
        gc.freeze()
        if as_json:
            say_json({"url": serving.url, "store": opened.url_shown})
        else:
            names = ", ".join(endpoint.name for endpoint in endpoints)
            say(f"receiving {its_mode} events for {names} on {serving.url} into {opened.url_shown}")

    with ExitStack() as stack:
        opened = stack.enter_context(Store.open(chosen.store, clock=time))
        if until_stdin_closes:
            stop_when_stdin_closes()
        is_checked = double_check is not Policy.NEVER
        run(
            opened,
            endpoints,
            host=host,
            port=port,
            clock=time,
            signature_header=chosen.signature_header,
            connections=bounds,
            drain_s=drain_seconds,
            reread=(lambda: endpoints_of(load(profile).endpoints)) if is_reread else None,
            on_ready=ready,
            double_check=_checks(chosen, opened, double_check, time, stack) if is_checked else None,
            metrics=metrics,
            gauges=StoreGauges(opened, its_mode, clock=time) if metrics else None,
        )


def _usable(make: Callable[_Given, _Made], *args: _Given.args, **named: _Given.kwargs) -> _Made:
    """Return what `make` returns; settings that cannot be used are wrong usage."""
    try:
        return make(*args, **named)
    except ConfigurationError as error:
        raise Refused(str(error), code=USAGE) from error


def _checks(
    profile: "Profile", store: "Store", policy: Policy, clock: "Clock", stack: ExitStack
) -> "DoubleCheck":
    from kusanya.receiver import double_check
    from kusanya_console.cli.create import client_of

    client = stack.enter_context(client_of(profile))
    return double_check.DoubleCheck(
        store, {profile.mode: client}, policy=double_check.Policy(policy.value), clock=clock
    )
