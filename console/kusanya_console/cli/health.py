"""`kusanya health`: the alarms that stand, for a person, a script and Prometheus."""

from typing import TYPE_CHECKING, Annotated

import typer

from kusanya.text import safe
from kusanya_console.cli.options import (
    AsJson,
    ClockName,
    ProfileName,
    StoreUrl,
    now,
    profile_of,
    speak,
)
from kusanya_console.output import FAILED, say, say_json, stop
from kusanya_console.ui.language import translate, translate_filled

if TYPE_CHECKING:
    from kusanya.alarms.acknowledgements import Acknowledgement
    from kusanya.alarms.alarm import Alarm


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog="Example: kusanya health --json")(health)


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
    from kusanya.alarms.prometheus_alerts import render_alerts
    from kusanya.alarms.rules import raised
    from kusanya.domain.business_day import format_instant
    from kusanya.store import Store

    if alerts_yml:
        say(render_alerts().rstrip())
        return
    speak(as_json=as_json)
    chosen, present = profile_of(profile, store), now(clock)
    with Store.open(chosen.store, create=False, read_only=True) as opened:
        found = raised(
            inputs.load(opened, chosen.mode, now=present),
            format_time=lambda at: format_instant(at, now=present),
        )
        held = acknowledgements(opened) if found else {}
    if as_json:
        said = [alarm_json(one) | {"looked_after_by": _who(one, held)} for one in found]
        say_json({"mode": chosen.mode.value, "at": present, "well": not found, "alarms": said})
    elif not found:
        say(translate("{mode} mode: no alarm stands", mode=chosen.mode.value))
    for one in () if as_json else found:
        who = _who(one, held)
        say(f"{translate(one.severity.value)}: {translate_filled(one.text)}")
        held_by = f"; {translate('looked after by {who}', who=safe(who, 60))}" if who else ""
        say(f"  {one.runbook}{held_by}")
    if found:
        stop(FAILED)


def _who(alarm: "Alarm", held: "dict[str, Acknowledgement]") -> str | None:
    found = held.get(alarm.id) if alarm.id else None
    return None if found is None else found.by
