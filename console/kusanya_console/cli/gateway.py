"""`kusanya gateway`: orders, outcomes and channels over HTTP, for a shop in any language."""

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from kusanya_console.cli.options import ClockName, ProfileName, StoreUrl, profile_of
from kusanya_console.cli.own_secrets import own_secrets
from kusanya_console.output import USAGE, Refused, complain, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from kusanya.outcomes import Forwarder
    from kusanya.receiver.serve import RunningReceiver


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog="Example: kusanya gateway --port 8087")(gateway)


def gateway(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8087,
    host: Annotated[
        str, typer.Option(help="Address to listen on: of this machine, or of your own network.")
    ] = "127.0.0.1",
    forward_to: Annotated[
        str | None,
        typer.Option(help="Also post what orders come to there, as kusanya forward does."),
    ] = None,
    print_token: Annotated[
        bool, typer.Option("--print-token", help="Print the token that the shop needs, and end.")
    ] = False,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
) -> None:
    """Let a shop in any language ask for money and learn what came of it, until Ctrl-C.

    PUT /v1/orders/REFERENCE has an order paid, GET tells what it has come to. Each request shows
    the token, `Authorization: Bearer`. GET /openapi.json describes all of it. The token is made at
    the first start; KUSANYA_GATEWAY_TOKEN, or the file that KUSANYA_GATEWAY_TOKEN_FILE names, holds
    it otherwise.
    """
    from kusanya.alarms.notify import shown
    from kusanya.errors import ConfigurationError
    from kusanya.gateway import Gateway
    from kusanya.privacy.secret import bearer_secret
    from kusanya.receiver.serve import serve
    from kusanya.store import Store
    from kusanya_console.cli.create import client_of
    from kusanya_console.cli.forward import forwarder_of
    from kusanya_console.sandbox.service_clock import parse_clock

    chosen = profile_of(profile, store)
    try:
        [token, *_] = own_secrets(chosen, "GATEWAY_TOKEN", prefix="", check=bearer_secret)
        if print_token:
            say(token.reveal())
            return
        mode, time = chosen.need_mode(), parse_clock(clock)
    except ConfigurationError as error:
        raise Refused(str(error), code=USAGE) from error
    with ExitStack() as stack:
        opened = stack.enter_context(Store.open(chosen.store, clock=time, create=False))
        client = stack.enter_context(client_of(chosen, clock=time))
        if forward_to is not None:
            forwarder = stack.enter_context(
                forwarder_of(opened, chosen, forward_to, consumer="forward")
            )
            stack.callback(_forwarding(forwarder))
            say(f"forwarding {mode.value} mode to {shown(forward_to)}")

        def ready(running: "RunningReceiver") -> None:
            say(f"gateway of {mode.value} mode on {running.url}")

        serve(Gateway(opened, client, mode=mode, token=token), host=host, port=port, on_ready=ready)


def _forwarding(forwarder: "Forwarder") -> "Callable[[], None]":
    """Forward on a thread of its own; return what ends it."""
    from kusanya.errors import KusanyaError

    def run() -> None:
        try:
            forwarder.run()
        except KusanyaError as error:
            complain(f"forwarding has stopped: {error}")

    thread = threading.Thread(target=run, name="forwarding")
    thread.start()

    def end() -> None:
        forwarder.stop()
        thread.join()

    return end
