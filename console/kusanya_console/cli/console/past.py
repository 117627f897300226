"""`kusanya console --as-of` and `--replay`: the console on what the store knew in the past."""

import tempfile
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kusanya_console.cli.options import instant_of
from kusanya_console.output import USAGE, Refused, say

if TYPE_CHECKING:
    from kusanya.profiles import Profile

_SPEED_MAX: Final = 100_000


def show_as_of(profile: "Profile", text: str, *, now: datetime, ascii_only: bool) -> None:
    """Show what was known at the instant that `text` names until it is left."""
    at = instant_of("--as-of", text, now=now)
    _show(profile, at, at, speed=1, masked=False, ascii_only=ascii_only)


def show_replay(
    profile: "Profile", text: str, *, speed: float, now: datetime, ascii_only: bool
) -> None:
    """Play the stretch of time that `text` names again, phones masked, until it is left."""
    if not 0 < speed <= _SPEED_MAX:
        raise Refused(f"--speed is above 0 and at most {_SPEED_MAX:,}", code=USAGE)
    begin, dots, end = (part.strip() for part in text.partition(".."))
    if not dots:
        raise Refused("--replay takes two times, as 'today 02:00..03:30'", code=USAGE)
    start = instant_of("--replay", begin, now=now)
    stop = instant_of("--replay", end, now=now, day=start)
    if stop <= start:
        raise Refused(f"--replay: {end} is not after {begin}", code=USAGE)
    _show(profile, start, stop, speed=speed, masked=True, ascii_only=ascii_only)


def _show(
    profile: "Profile",
    start: datetime,
    end: datetime,
    *,
    speed: float,
    masked: bool,
    ascii_only: bool,
) -> None:
    from kusanya.store import Store
    from kusanya_console.actions.context import AppContext
    from kusanya_console.application.past import PastApp, PastClock
    from kusanya_console.cli.process.terminal import apply_settings, run_app

    with (
        # For this user alone, and gone at the end.
        tempfile.TemporaryDirectory(prefix="kusanya-past-") as folder,
        Store.open(profile.store, read_only=True) as source,
        source.maintenance.journal_copy(Path(folder) / "past.sqlite", masked=masked) as copy,
    ):
        say(f"copying what the store knew at {start.isoformat()}")
        copy.advance(start)
        clock = PastClock(start, end, speed=speed)
        replay: dict[str, Any] = {} if start == end else {"advance": copy.advance}
        with Store.open(copy.path, clock=clock, read_only=True) as store:
            context = AppContext(store=store, mode=profile.mode, clock=clock, profile=profile.name)
            app = PastApp(context, clock, store_shown=source.url_shown, ascii=ascii_only, **replay)
            apply_settings(app)
            run_app(app)
