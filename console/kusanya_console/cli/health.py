"""`kusanya health` and `mute`: the alarms that stand, for a person, a script and Prometheus."""

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kusanya.errors import KusanyaError
from kusanya.say import Said
from kusanya.text import safe
from kusanya_console.cli.options import (
    AsJson,
    ClockName,
    ProfileName,
    StoreUrl,
    length_of,
    now,
    profile_of,
    speak,
)
from kusanya_console.output import FAILED, USAGE, Refused, complain, say, say_json, stop
from kusanya_console.ui.language import translate

if TYPE_CHECKING:
    from kusanya.alarms.sender import SenderEndpoint
    from kusanya.store.records import Acknowledgement
    from kusanya_console.sandbox.dashboard.reader import ServiceReader


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command(epilog="Example: kusanya health --json")(health)
    app.command(
        epilog="Example: kusanya mute stuck:M-Pesa --for 2h --why 'the network is at work'"
    )(mute)


def health(
    *,
    alerts_yml: Annotated[
        bool,
        typer.Option(
            "--alerts-yml", help="Print the rules as Prometheus's alerts.yml, and read no store."
        ),
    ] = False,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Print the alarms that stand, the most urgent first, with what to do about each.

    Exits with 0 when all is well and with 1 when an alarm stands, also one that somebody looks
    after, or when the store cannot be read. Times are East Africa's.
    """
    from kusanya.alarms import inputs
    from kusanya.alarms.acknowledgements import acknowledgements
    from kusanya.alarms.alarm import as_json as alarm_json
    from kusanya.alarms.alarm import names_of
    from kusanya.alarms.prometheus_alerts import render_alerts
    from kusanya.alarms.rules import raised
    from kusanya.domain.business_day import format_instant
    from kusanya.store import Store
    from kusanya_console.cli.talk.lines import held_by
    from kusanya_console.sandbox.commands.attached import service_for

    if alerts_yml:
        say(render_alerts().rstrip())
        return
    speak(as_json=as_json)
    chosen, present = profile_of(profile, store), now(clock)
    with ExitStack() as stack:
        opened = stack.enter_context(Store.open(chosen.store, create=False, read_only=True))
        service = service_for(chosen, stack)
        sender = None if service is None else partial(_asked, service)
        found = raised(
            inputs.load(opened, chosen.mode, now=present, sender=sender),
            format_time=lambda at: format_instant(at, now=present),
        )
        held = acknowledgements(opened, names_of(found), now=present)
    if as_json:
        said = [alarm_json(one) | _held_json(held.of(*one.names)) for one in found]
        say_json({"mode": chosen.mode.value, "at": present, "well": not found, "alarms": said})
    elif not found:
        say(translate("{mode} mode: no alarm stands", mode=chosen.mode.value))
    for one in () if as_json else found:
        say(f"{translate(one.severity.value)}: {translate(one.text)}")
        by = held.of(*one.names)
        say(f"  {one.runbook}{'' if by is None else f'; {held_by(by, now=present)}'}")
    if found:
        stop(FAILED)


def mute(
    alarm: Annotated[
        str, typer.Argument(help="What kusanya health --json calls its key, as stuck:M-Pesa.")
    ],
    *,
    lasting: Annotated[str, typer.Option("--for", help="Up to 7d, as 2h or 1d.")],
    why: Annotated[str, typer.Option(help="The reason, for everybody.")],
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Send no message about an alarm for a while, however often it is raised; audited.

    It stays on every screen, with who muted it and why. Once that is over it is sent as new, if it
    stands. To end it sooner, mute it for a shorter time.
    """
    from kusanya.alarms import muting
    from kusanya.store import Store
    from kusanya_console.cli.talk.lines import held_by
    from kusanya_console.sandbox.service_clock import parse_clock

    length, chosen, time = (
        length_of("--for", lasting),
        profile_of(profile, store),
        parse_clock(clock),
    )
    with Store.open(chosen.store, create=False, clock=time) as opened:
        try:
            done = muting.mute(
                opened, alarm, chosen.mode, until=time.now() + length, reason=why,
                actor=opened.audit.actor, now=time.now(),
            )  # fmt: skip
        except ValueError as error:
            raise Refused(str(error), code=USAGE) from error
    if as_json:
        say_json(done)
    else:
        say(f"{safe(done.alarm, 120)}: {held_by(done, now=time.now())}")


def _asked(service: "ServiceReader") -> "tuple[SenderEndpoint, ...]":
    try:
        return service.endpoints()
    except KusanyaError as error:
        said = Said("the sender cannot be asked about our endpoints: {our_trouble}")
        complain(translate(said.of(our_trouble=str(error))))
        raise


def _held_json(held: "Acknowledgement | None") -> dict[str, object]:
    muted = None if held is None else held.until
    return {"looked_after_by": None if held is None else held.actor, "muted_until": muted}
