"""Options that several commands share, declared once, and how they become values."""

import re
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from kusanya.clock import SystemClock
from kusanya.domain.business_day import EAT, read_day
from kusanya.errors import ConfigurationError
from kusanya.privacy.secret_url import SecretUrl, mask_url
from kusanya.profiles import Profile, load
from kusanya.say import Said
from kusanya.text import safe
from kusanya_console.output import USAGE, Refused

_LENGTH: Final = re.compile(r"([1-9][0-9]{0,4}) ?(min|h|d)")
_UNITS: Final = {"min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
_TIME_ALONE: Final = re.compile(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?")
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,31}://")
MOST_LISTED: Final = 100_000
"""So much one command lists at most; an export writes more."""
_FILE: Final = "sqlite:///"
"""As --store may begin: what follows is a file."""
ProfileName = Annotated[
    str | None, typer.Option("--profile", help="Profile of config.toml; KUSANYA_PROFILE otherwise.")
]
StoreUrl = Annotated[
    str | None,
    typer.Option("--store", help="A file, sqlite:///FILE or postgresql://...; else the profile's."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
ClockName = Annotated[
    str,
    typer.Option("--clock", help="'real', or http://.../dashboard/clock to follow a service's."),
]
Migrate = Annotated[
    bool,
    typer.Option(
        "--migrate", help="Bring an older store to this version's schema before it begins."
    ),
]
UntilStdinCloses = Annotated[
    bool, typer.Option("--until-stdin-closes", hidden=True, help="Stop when standard input ends.")
]


def profile_of(name: str | None, store: str | None = None) -> Profile:
    """Return the profile, with the store given on the command line in place of its own.

    Raises Refused for settings that cannot be used as they stand: that is wrong usage.
    """
    try:
        profile = load(name)
    except ConfigurationError as error:
        raise Refused(str(error), code=USAGE) from error
    return profile if store is None else msgspec.structs.replace(profile, store=SecretUrl(store))


def speak(*, as_json: bool = False) -> None:
    """Speak the language of KUSANYA_LANG or config.toml; raises Refused where it is none.

    Programs read English: what is said beside a JSON document stays the same in every language.
    """
    from kusanya.profiles import interface_language
    from kusanya.say import Language
    from kusanya_console.ui import language

    try:
        language.use(Language.ENGLISH if as_json else interface_language())
    except ConfigurationError as error:
        raise Refused(str(error), code=USAGE) from error


def day_of(option: str, text: str) -> date:
    """Return the business day that an option names; raises Refused for anything but 2026-03-31."""
    try:
        return read_day(text)
    except ValueError:
        raise Refused(f"{option} is a day as 2026-03-31, not {text}", code=USAGE) from None


def instant_of(option: str, text: str, *, now: datetime, day: datetime | None = None) -> datetime:
    """Return the past instant that an option names; raises Refused for one to come and no time.

    A time without a day is of `day`, or of today.
    """
    from kusanya.domain.business_day import read_instant

    named = any(sign in text for sign in " T")
    try:
        instant = read_instant(text, now=now if named or day is None else day)
    except ValueError as error:
        from kusanya_console.ui.language import translate

        raise Refused(f"{option}: {translate(str(error))}", code=USAGE) from None
    if instant > now:
        raise Refused(
            Said("{option}: {text} is yet to come").of(option=option, text=text), code=USAGE
        )
    return instant


def since_of(option: str, text: str, *, now: datetime) -> datetime:
    """Return the past instant from which on somebody wants to know; raises Refused for no time.

    A time alone is the last one there was: 18:00 is yesterday's in the morning. A length of time,
    30min, 2h or 7d, is so long ago.
    """
    if length := _LENGTH.fullmatch(text.strip()):
        return now - int(length[1]) * _UNITS[length[2]]
    if _TIME_ALONE.fullmatch(text.strip()):
        present = now.astimezone(EAT)
        hour, minute = map(int, text.strip().split(":")[:2])
        if hour < 24 and minute < 60 and (hour, minute) > (present.hour, present.minute):  # noqa: PLR2004
            return instant_of(option, f"yesterday {text.strip()}", now=now)
    return instant_of(option, text, now=now)


def local_path(option: str, text: str) -> Path:
    """Return the file or folder that a text names, also after `sqlite:///`.

    Raises Refused for none, and for the address of anything else: as a path it would name a folder
    like `s3:`.
    """
    text = text.removeprefix(_FILE)
    if not text.strip():
        raise Refused(f"{option} is empty: name a file or a folder", code=USAGE)
    if _ADDRESS.match(text):
        raise Refused(
            f"{option}: {safe(mask_url(text), 200)} is an address: name a file or a folder of this "
            "machine",
            code=USAGE,
        )
    return Path(text)


def length_of(option: str, text: str) -> timedelta:
    """Return the time that an option names as 36h or 8d; raises Refused for anything else."""
    found = re.fullmatch(r"([1-9][0-9]{0,3})([hd])", text.strip())
    if found is None:
        raise Refused(f"{option} is a time as 36h or 8d, not {safe(text, 40)}", code=USAGE)
    return int(found[1]) * (timedelta(hours=1) if found[2] == "h" else timedelta(days=1))


def now(clock: str = "real") -> datetime:
    """Return the time of a clock as `--clock` names it; raises ConfigurationError for none."""
    if clock == "real":
        return SystemClock().now()
    from kusanya_console.sandbox.service_clock import parse_clock

    return parse_clock(clock).now()
