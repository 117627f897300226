"""`kusanya catch-up`, `watch`: ask the service about what no event has ended."""

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from kusanya.text import safe
from kusanya_console.cli.options import (
    AsJson,
    ClockName,
    Migrate,
    ProfileName,
    StoreUrl,
    profile_of,
)
from kusanya_console.cli.process.alarm_thread import AlarmThread
from kusanya_console.output import (
    FAILED,
    USAGE,
    Refused,
    complain,
    say,
    say_json,
    say_poll_result,
    stop,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

    from kusanya.clock import Clock
    from kusanya.privacy.secret_url import SecretUrl
    from kusanya.profiles import Profile
    from kusanya.store import Store
    from kusanya.watch.catch_up import CatchUpResult, Progress
    from kusanya.watch.poller import PollSettings

_NAMED = 20
"""Unanswered questions, and missed ones, that are named; --json lists more."""
_LONGEST_PAUSE_S = 60.0
"""Before a database that did not answer is tried again."""
_BAR = 30
"""Width of the progress bar in characters."""


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("catch-up", epilog="Example: kusanya catch-up")(catch_up)
    app.command(epilog="Example: kusanya watch")(watch)


def catch_up(
    *,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    migrate: Migrate = False,
    as_json: AsJson = False,
) -> None:
    """Poll everything that is not final, once, and check events; run it after a downtime.

    Exits with 1 when something was left without an answer or unasked; running it again goes on.
    """
    from kusanya.store import Store
    from kusanya.watch.catch_up import catch_up as run
    from kusanya_console.cli.create import client_of
    from kusanya_console.sandbox.service_clock import parse_clock

    chosen, time = profile_of(profile, store), parse_clock(clock)
    with (
        Store.open(chosen.store, clock=time, upgrade=migrate) as opened,
        client_of(chosen, clock=time) as client,
    ):
        found = run(opened, client, progress=_bar() if sys.stderr.isatty() else None)
    if as_json:
        say_json(found)
    else:
        _print_result(found)
    if not found.complete:
        stop(FAILED)


def watch(
    *,
    notify: Annotated[
        list[str] | None,
        typer.Option(
            help="Send alarms there: an http(s) URL, or an apprise URL (mailto, slack, …); may "
            "repeat."
        ),
    ] = None,
    exec_: Annotated[
        list[str] | None,
        typer.Option(
            "--exec", help="Run this program for alarms, with JSON on its standard input."
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Send creations without an answer again, with their keys."),
    ] = False,
    metrics_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Answer /livez, /readyz and /metrics on this port."),
    ] = None,
    metrics_host: Annotated[
        str, typer.Option(help="Address of that port; without a password, so keep it inside.")
    ] = "127.0.0.1",
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    migrate: Migrate = False,
    as_json: AsJson = False,
) -> None:
    """Keep asking about collections past their time, a few at once, until Ctrl-C.

    With --resume it also sends creations without an answer again, each with its own key and bytes,
    inside their window: one that dies in mid-call is gone on with. What never left stays.
    With --notify or --exec, people are told of alarms: once for each cause, whichever of several
    watchers runs, and again when it has recovered. KUSANYA_NOTIFY holds addresses too, separated by
    blanks, or the file that KUSANYA_NOTIFY_FILE names: an address is a secret, and options are seen
    by every user of the machine. People read them in the language of
    KUSANYA_LANG, programs in English. At SIGHUP an API key from a file is read again.
    """
    import threading

    from kusanya.alarms.notices.targets import targets
    from kusanya.errors import ConfigurationError, KusanyaError
    from kusanya.profiles import find_secret, interface_language
    from kusanya.watch.poller import PollSettings, new_name
    from kusanya_console.cli.create import client_of
    from kusanya_console.sandbox.commands.attached import service_for
    from kusanya_console.sandbox.service_clock import parse_clock

    chosen = profile_of(profile, store)
    try:
        urls = [*(notify or ()), *find_secret("NOTIFY").text.split()]
        given = targets(urls, exec_ or ())
        time, language = parse_clock(clock), interface_language()
    except ConfigurationError as error:
        raise Refused(str(error), code=USAGE) from error
    asked_to_stop, hung_up = threading.Event(), threading.Event()
    _catch_signals(asked_to_stop, hung_up if chosen.secrets_from_files else None)
    opened = _open_when_there(chosen.store, asked_to_stop, clock=time, upgrade=migrate)
    if opened is None:
        return
    with ExitStack() as stack:
        stack.enter_context(opened)
        client_of(chosen, clock=time).close()  # refuses here what cannot be used
        if not as_json:
            say(f"watching {opened.url_shown} in {chosen.mode.value} mode")
        if metrics_port is not None:
            from kusanya.alarms.gauges import StoreGauges
            from kusanya_console.cli.process.monitor import serving_pages

            gauges = StoreGauges(opened, chosen.mode, clock=time)
            pages = serving_pages(opened, gauges, host=metrics_host, port=metrics_port)
            say(f"metrics on {stack.enter_context(pages)}")
        name, service = new_name(), service_for(chosen, stack)
        sender = None if service is None else service.endpoints
        watcher = AlarmThread(
            opened, chosen.mode, given, by=name, clock=time, language=language, sender=sender
        )
        watcher.start()
        try:
            while not asked_to_stop.is_set():
                hung_up.clear()
                settings = PollSettings(
                    resumes=chosen.name if resume else None,
                    rules_by_service=chosen.rule_by_service,
                )
                stop = lambda: asked_to_stop.is_set() or hung_up.is_set()  # noqa: E731
                _poll(opened, chosen, settings, stop, clock=time, as_json=as_json)
                if hung_up.is_set():
                    chosen = _read_again(chosen, lambda: profile_of(profile, store), clock=time)
        except KusanyaError as error:
            watcher.stop(error)
            raise
        watcher.stop()


def _catch_signals(stop: "Event", hung_up: "Event | None") -> None:
    import signal

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    if hung_up is not None and sys.platform != "win32":
        signal.signal(signal.SIGHUP, lambda *_: hung_up.set())


def _poll(
    store: "Store",
    profile: "Profile",
    settings: "PollSettings",
    stop: "Callable[[], bool]",
    *,
    clock: "Clock",
    as_json: bool,
) -> None:
    """Ask about open collections until `stop()`."""
    from kusanya.watch import poll_open
    from kusanya_console.cli.create import client_of

    with client_of(profile, clock=clock) as client:
        client.run(
            poll_open(
                store,
                client.core,
                stop=stop,
                settings=settings,
                on_result=say_json if as_json else say_poll_result,
            )
        )


def _read_again(chosen: "Profile", read: "Callable[[], Profile]", *, clock: "Clock") -> "Profile":
    """Return what the files hold now; where that cannot be used, what they held before."""
    from kusanya.errors import ConfigurationError
    from kusanya_console.cli.create import client_of

    try:
        found = read()
        client_of(found, clock=clock).close()
    except (ConfigurationError, Refused) as error:
        complain(f"the API key stays as it was: {error}")
        return chosen
    return found


def _open_when_there(
    url: "SecretUrl", stop: "Event", *, clock: "Clock | None" = None, upgrade: bool = False
) -> "Store | None":
    """Open the store as soon as its database answers, as a watch waits later; None when stopped."""
    from kusanya.errors import StoreAway
    from kusanya.store import Store

    pause_s = 0.0
    while True:
        try:
            return Store.open(url, clock=clock, upgrade=upgrade)
        except StoreAway as error:
            if not pause_s:
                complain(f"{str(error).partition('; ')[0]}; trying again until it can be opened")
        pause_s = min(max(2 * pause_s, 1.0), _LONGEST_PAUSE_S)
        if stop.wait(pause_s):
            return None


def _print_result(found: "CatchUpResult") -> None:
    say(
        f"asked about {found.asked} collections: {found.became_final} became final, "
        f"{found.missing_events} of them without an event, {found.still_open} still open"
    )
    for name in found.missed[:_NAMED]:
        say(f"missed: {safe(name)} became final and no event told of it")
    if len(found.missed) > _NAMED:
        say(f"and {found.missing_events - _NAMED:,} more of these: --json lists them")
    say(f"checked {found.events_checked} events, resolved {found.resolved} intents")
    for event_id in found.events_differing:
        say(f"event {safe(event_id)} differs from what was delivered: look at it")
    for unknown in found.unknown:
        say(f"{safe(unknown)} is not known to the service: look at it")
    if found.unlisted:
        say(f"and {found.unlisted:,} more of these, which --json does not list either")
    if not found.complete:
        for name in found.unanswered_ids[:_NAMED]:
            complain(f"no answer about {safe(name)}")
        early = "stopped early: " if found.stopped is not None else ""
        complain(
            f"{early}{found.unanswered:,} questions had no answer ({found.trouble}) and "
            f"{found.left:,} were not asked; run it again when the service answers"
        )


def _bar() -> "Callable[[Progress], None]":
    def show(progress: "Progress") -> None:
        done = progress.done * _BAR // max(progress.total, 1)
        end = "\n" if progress.done == progress.total else ""
        sys.stderr.write(
            f"\r{'#' * done}{'.' * (_BAR - done)} {progress.done} of {progress.total}{end}"
        )
        sys.stderr.flush()

    return show
