"""`kusanya keys`, `endpoints`, `clock`, `faults`: the embedded service's dashboard."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_console.cli.options import AsJson, ProfileName, profile_of
from kusanya_console.output import USAGE, Refused, say, say_json

if TYPE_CHECKING:
    from kusanya_console.sandbox.dashboard.client import DashboardClient

_NEEDS = (
    "Needs KUSANYA_DASHBOARD_URL and KUSANYA_DASHBOARD_TOKEN, as 'kusanya service' prints them."
)


def add_to(app: typer.Typer) -> None:
    """Add the four groups to the command line."""
    for name, group, what in (
        ("keys", _keys, "API keys of the embedded service."),
        ("endpoints", _endpoints, "Webhook endpoints of the embedded service."),
        ("clock", _clock, "The embedded service's clock."),
        ("faults", _faults, "Faults that the embedded service injects."),
    ):
        app.add_typer(group, name=name, help=f"{what} {_NEEDS}")


def _group() -> typer.Typer:
    return typer.Typer(no_args_is_help=True, rich_markup_mode=None)


_keys, _endpoints, _clock, _faults = _group(), _group(), _group(), _group()


def _dashboard(profile: str | None) -> "DashboardClient":
    from kusanya_console.sandbox.dashboard.client import DashboardClient

    return DashboardClient(*profile_of(profile).need_dashboard())


def _show(rows: list[dict[str, Any]], columns: tuple[str, ...], *, as_json: bool) -> None:
    if as_json:
        say_json({"data": rows})
        return
    if not rows:
        say("none")
    for row in rows:
        say("  ".join(safe(str(row.get(column) or "-")) for column in columns))


@_keys.command("list", epilog="Example: kusanya keys list")
def keys_list(*, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """List the API keys, without their secrets."""
    with _dashboard(profile) as dashboard:
        rows = dashboard.get("keys")["data"]
    _show(rows, ("id", "mode", "created_at", "revoked_at"), as_json=as_json)


@_keys.command("create", epilog="Example: kusanya keys create test")
def keys_create(mode: Mode, *, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """Make an API key and show it, this once."""
    with _dashboard(profile) as dashboard:
        made = dashboard.post("keys", {"mode": mode.value})
    if as_json:
        say_json(made)
    else:
        say(f"{safe(made['id'])}  {safe(made['key'])}  (shown once: keep it now)")


@_keys.command("revoke", epilog="Example: kusanya keys revoke key_...")
def keys_revoke(key_id: str, *, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """Revoke an API key: requests with it are refused from now on."""
    with _dashboard(profile) as dashboard:
        dashboard.delete(f"keys/{_path_part(key_id)}")
    _say_done({"id": key_id, "revoked": True}, f"{safe(key_id)} is revoked", as_json=as_json)


@_endpoints.command("list", epilog="Example: kusanya endpoints list")
def endpoints_list(*, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """List the endpoints with their state."""
    with _dashboard(profile) as dashboard:
        rows = dashboard.get("endpoints")["data"]
    columns = ("id", "mode", "status", "url", "failing_since", "disabled_at")
    _show(rows, columns, as_json=as_json)


@_endpoints.command(
    "add", epilog="Example: kusanya endpoints add http://127.0.0.1:8099/ --mode test"
)
def endpoints_add(
    url: str,
    *,
    mode: Annotated[Mode, typer.Option(help="Whose events it receives.")] = Mode.TEST,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Register an endpoint and show its signing secret, this once."""
    with _dashboard(profile) as dashboard:
        made = dashboard.post("endpoints", {"url": url, "mode": mode.value})
    if as_json:
        say_json(made)
    else:
        say(f"{safe(made['id'])}  {safe(made['secret'])}  (shown once: keep it now)")


@_endpoints.command("remove", epilog="Example: kusanya endpoints remove we_...")
def endpoints_remove(
    endpoint_id: str, *, profile: ProfileName = None, as_json: AsJson = False
) -> None:
    """Remove an endpoint; nothing more is sent to it."""
    with _dashboard(profile) as dashboard:
        dashboard.delete(f"endpoints/{_path_part(endpoint_id)}")
    said = f"{safe(endpoint_id)} is removed"
    _say_done({"id": endpoint_id, "removed": True}, said, as_json=as_json)


@_endpoints.command("enable", epilog="Example: kusanya endpoints enable we_...")
def endpoints_enable(
    endpoint_id: str, *, profile: ProfileName = None, as_json: AsJson = False
) -> None:
    """Enable a disabled endpoint; held deliveries resume."""
    with _dashboard(profile) as dashboard:
        dashboard.post(f"endpoints/{_path_part(endpoint_id)}/enable")
    said = f"{safe(endpoint_id)} is enabled; held deliveries resume"
    _say_done({"id": endpoint_id, "enabled": True}, said, as_json=as_json)


@_endpoints.command("rotate-secret", epilog="Example: kusanya endpoints rotate-secret we_...")
def endpoints_rotate(
    endpoint_id: str, *, profile: ProfileName = None, as_json: AsJson = False
) -> None:
    """Give an endpoint a new signing secret and show it, this once."""
    with _dashboard(profile) as dashboard:
        made = dashboard.post(f"endpoints/{_path_part(endpoint_id)}/rotate-secret")
    if as_json:
        say_json(made)
    else:
        say(f"{safe(made['id'])}  {safe(made['secret'])}  (shown once: keep it now)")


@_clock.command("show", epilog="Example: kusanya clock show")
def clock_show(*, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """Show the service's time and how it runs."""
    with _dashboard(profile) as dashboard:
        reading = dashboard.get("clock")
    if as_json:
        say_json(reading)
    else:
        say(f"{safe(str(reading['now']))}  {safe(str(reading['kind']))}")


@_clock.command("advance", epilog="Example: kusanya clock advance 3600")
def clock_advance(
    seconds: Annotated[float, typer.Argument(min=0, help="Seconds of virtual time.")],
    *,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Let virtual time pass; returns when everything due up to then has happened."""
    with _dashboard(profile) as dashboard:
        reading = dashboard.post("clock/advance", {"seconds": seconds}, patient=True)
    if as_json:
        say_json(reading)
    else:
        say(f"now {safe(str(reading['now']))}")


@_faults.command("show", epilog="Example: kusanya faults show")
def faults_show(*, profile: ProfileName = None, as_json: AsJson = False) -> None:  # noqa: ARG001
    """Show which faults are injected, as JSON with and without --json."""
    with _dashboard(profile) as dashboard:
        say_json(dashboard.get("faults"))


@_faults.command("set", epilog="Example: kusanya faults set faults.toml")
def faults_set(
    scenario: Annotated[Path, typer.Argument(help="A TOML file with the faults to inject.")],
    *,
    profile: ProfileName = None,
    as_json: AsJson = False,  # noqa: ARG001 - it is JSON either way
) -> None:
    """Inject the faults of a scenario file, in place of those before; says them as JSON."""
    import msgspec

    try:
        faults = msgspec.toml.decode(scenario.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise Refused(f"cannot read {scenario}: {error.strerror}", code=USAGE) from error
    except RecursionError:
        raise Refused(f"{scenario} is nested too deep to be read", code=USAGE) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Refused(f"{scenario} is not TOML: {error}", code=USAGE) from error
    with _dashboard(profile) as dashboard:
        say_json(dashboard.put("faults", faults))


@_faults.command("clear", epilog="Example: kusanya faults clear")
def faults_clear(*, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """Stop injecting faults."""
    with _dashboard(profile) as dashboard:
        left = dashboard.put("faults", {"rules": []})
    _say_done(left, "no faults", as_json=as_json)


@_faults.command("log", epilog="Example: kusanya faults log")
def faults_log(*, profile: ProfileName = None, as_json: AsJson = False) -> None:  # noqa: ARG001
    """Show what was injected so far, as JSON lines with and without --json."""
    with _dashboard(profile) as dashboard:
        for entry in dashboard.get("faults/log")["data"]:
            say_json(entry)


def _say_done(document: object, sentence: str, *, as_json: bool) -> None:
    if as_json:
        say_json(document)
    else:
        say(sentence)


def _path_part(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")
