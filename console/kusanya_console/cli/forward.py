"""`kusanya forward`: what orders came to, posted to a shop in any language."""

import signal
from typing import TYPE_CHECKING, Annotated

import typer

from kusanya_console.cli.options import (
    ClockName,
    ProfileName,
    StoreUrl,
    now,
    profile_of,
    since_of,
)
from kusanya_console.cli.outcomes import check_name, hand_out_again
from kusanya_console.cli.own_secrets import own_secrets
from kusanya_console.output import USAGE, Refused, say

if TYPE_CHECKING:
    from datetime import datetime

    from kusanya.outcomes import Forwarder
    from kusanya.privacy.secret import Secret
    from kusanya.profiles import Profile
    from kusanya.store import Store


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog="Example: kusanya forward --to http://127.0.0.1:3000/orders")(forward)


def forward(
    *,
    to: Annotated[
        str | None,
        typer.Option(help="Address of the shop's handler; KUSANYA_FORWARD_TO or its _FILE else."),
    ] = None,
    consumer: Annotated[
        str,
        typer.Option(
            help="The consumer's name; a new one begins at --since, else with what comes from now "
            "on."
        ),
    ] = "forward",
    since: Annotated[
        str | None, typer.Option(help="Post again from then on: 2h, 18:00, yesterday 18:00.")
    ] = None,
    drain: Annotated[bool, typer.Option("--drain", help="Post what is due, and end.")] = False,
    print_secret: Annotated[
        bool, typer.Option("--print-secret", help="Print the secret that the shop needs, and end.")
    ] = False,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
) -> None:
    """Post what orders come to, each until the shop took it, until Ctrl-C.

    The body is a CloudEvents 1.0 event, such as kusanya.order.paid, signed as Standard Webhooks
    says: verify it with a library for your language, and keep webhook-id in your own database in
    the transaction that ships. 2xx and 409 say that it is done, 410 and 422 that a person has to
    look. Any other answer is tried again, ten times; without a connection it waits.
    The secret is made at the first start. KUSANYA_FORWARD_SECRET, or the file that
    KUSANYA_FORWARD_SECRET_FILE names, holds it otherwise; two lines while you change it.
    """
    from kusanya.alarms.notify import shown
    from kusanya.errors import ConfigurationError
    from kusanya.profiles import find_secret
    from kusanya.store import Store
    from kusanya_console.sandbox.service_clock import parse_clock

    chosen = profile_of(profile, store)
    again = None if since is None else since_of("--since", since, now=now(clock))
    try:
        if print_secret:
            say(_secrets(chosen)[0].reveal())
            return
        url = to or find_secret("FORWARD_TO").text
        if not url:
            raise Refused("--to: where does the shop take what orders came to?", code=USAGE)
        time = parse_clock(clock)
    except ConfigurationError as error:
        raise Refused(str(error), code=USAGE) from error
    with (
        Store.open(chosen.store, clock=time, create=False) as opened,
        forwarder_of(opened, chosen, url, consumer=consumer, since=again) as forwarder,
    ):
        if drain:
            say(f"{forwarder.drain():,} outcomes were taken by {shown(url)}")
            return
        # From the line on that says it runs it may be told to stop.
        signal.signal(signal.SIGTERM, lambda *_: forwarder.stop())
        say(f"forwarding {chosen.mode.value} mode to {shown(url)} as {consumer}")
        forwarder.run()


def forwarder_of(
    store: "Store",
    profile: "Profile",
    url: str,
    *,
    consumer: str,
    since: "datetime | None" = None,
) -> "Forwarder":
    """Return what forwards to an address; the consumer is added where there is none yet.

    From `since` on a new one begins, and one that is there is handed out again what it had.
    Raises Refused for an address or a secret that cannot be used.
    """
    from kusanya.alarms.notify import shown
    from kusanya.errors import ConfigurationError
    from kusanya.outcomes import Forwarder

    try:
        secrets = _secrets(profile)
    except ConfigurationError as error:
        raise Refused(str(error), code=USAGE) from error
    try:
        forwarder = Forwarder(store, consumer, mode=profile.mode, url=url, secrets=secrets)
    except ConfigurationError as error:
        raise Refused(f"{shown(url)}: {error}", code=USAGE) from error
    if all(row.name != consumer for row in store.outcomes.consumers()):
        check_name(consumer)
        store.outcomes.add(consumer, mode=profile.mode, begin=since, actor=store.audit.actor)
    elif since is not None:
        say(hand_out_again(store, consumer, since))
    return forwarder


def _secrets(profile: "Profile") -> "list[Secret]":
    from kusanya.outcomes.forwarder import forward_key

    return own_secrets(profile, "FORWARD_SECRET", prefix="whsec_", check=forward_key)
