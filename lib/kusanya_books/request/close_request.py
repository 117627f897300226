"""What a close is asked: one value that travels from the command to the readers and the judge."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from os import PathLike, fspath
from typing import Any, Final

import msgspec
from msgspec.structs import force_setattr

from kusanya.errors import ConfigurationError
from kusanya.privacy.secret_url import mask_url
from kusanya.wire import Mode
from kusanya_books.request import days
from kusanya_books.request.days import Period
from kusanya_books.request.tolerance import PLAIN, Tolerance

LATEST: Final = "latest"
NEWEST: Final = "newest"


class CloseRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which collections and files are compared, how they are judged, and what the pack holds.

    Files, folders and addresses are text, and empty where none is meant. What cannot be read is
    refused where it is read: `load.inputs` and `close.run` say how.
    """

    store: str = ""
    """A store's address, or a folder that `kusanya store export` wrote; KUSANYA_STORE where empty,
    and the sample month where that is empty too."""
    mode: str = ""
    """KUSANYA_MODE where empty; without that, test of a store and live of the sample."""
    period: str = LATEST
    """2026-03, 2026-03-05, 2026-03-01..2026-03-15, yesterday, last-week or last-month; "latest" is
    the last month that is over and not after the newest collection (the running month where there
    is no earlier one), "newest" the month of the newest collection."""
    cutoff: str = "00:00"
    """When a business day turns, HH:MM of East Africa Time."""
    ledger: str = ""
    """A file, or `MAPPING:FILE`, where MAPPING is a shipped mapping's name or a TOML file; as each
    of `statement`, `operator` and `bank`."""
    statement: str | Sequence[str] = ()
    """The provider's settlement statement: one file, or several."""
    operator: str | Sequence[str] = ()
    bank: str | Sequence[str] = ()
    mapping: str = ""
    """The mapping of files that name none."""
    tariff: str = ""
    tolerance: Tolerance = PLAIN
    as_of: int | None = None
    """A journal position, the newest where None."""
    judged_on: date | None = None
    """The day that ages are counted to: today's where None; the sample month has its own."""
    expect: Sequence[str] = ()
    """What must have been compared to be signed, as `expectation.read` has it."""
    engine: str = ""
    """The Spark Connect address of a cluster that sees the export's folder; DuckDB in this process
    where empty. The pack is the same whichever ran."""
    previous: str = ""
    """The folder of an earlier pack, whose open items and late changes are carried."""
    carry: bool = False
    """Take the newest pack of the same store, mode and entity that ends before the period, where
    `previous` names none."""
    accounts: str = ""
    """An account map: with it the pack holds journal entries."""
    entity: str = ""
    """Whose books these are, as every page says."""
    max_breaks: int = 0
    keep_receipts: bool = False
    """Let the store keep the operator's receipts that were found; needs a store and `operator`."""

    def __post_init__(self) -> None:
        # A notebook's parameters are written by hand: a path is taken, and None for left out.
        for field in msgspec.structs.fields(type(self)):
            value = getattr(self, field.name)
            if isinstance(field.default, str):
                taken: Any = field.default if value is None else _text(field.name, value)
            elif field.default == ():
                taken = _texts(field.name, value)
            else:
                continue
            force_setattr(self, field.name, taken)
        if self.judged_on is not None and type(self.judged_on) is not date:
            raise ConfigurationError("judged_on is a date, as date(2026, 3, 31)")
        if not isinstance(self.tolerance, Tolerance):
            raise ConfigurationError("tolerance is a Tolerance, as Tolerance(amount=5)")

    def __repr__(self) -> str:
        # The addresses may hold a password, and a token.
        return f"CloseRequest({mask_url(self.store)!r}, {self.mode!r}, {self.period!r})"

    @property
    def shift(self) -> timedelta:
        """Return how long after midnight a business day turns. Raises ConfigurationError."""
        try:
            return days.cutoff(self.cutoff)
        except ValueError as error:
            raise ConfigurationError(str(error)) from None

    def files(self, leg: str) -> list[str]:
        """Return the files of `statement`, `operator` or `bank`."""
        return [each for each in getattr(self, leg) if each]

    def span(self, now: datetime) -> Period | None:
        """Return the period; None for the latest and the newest month, which the store knows.

        Yesterday and its like count from `now`. Raises ConfigurationError.
        """
        if self.period.strip().lower() in {LATEST, NEWEST}:
            return None
        shift = self.shift
        try:
            named = days.named_period(self.period, now=now, cutoff=shift)
            return named or days.period(self.period, cutoff=shift)
        except ValueError as error:
            raise ConfigurationError(str(error)) from None


def _text(name: str, value: object) -> str:
    if isinstance(value, str | PathLike):
        return str(fspath(value))
    kind = type(value).__name__
    raise ConfigurationError(f"{name} is a text in quotes, or a path, not this {kind}")


def _texts(name: str, value: Any) -> tuple[str, ...]:
    each = (value,) if isinstance(value, str | PathLike) else value or ()
    if not isinstance(each, Iterable):
        raise ConfigurationError(f"{name} is one text or several, not this {type(value).__name__}")
    return tuple(_text(name, one) for one in each if one is not None)


class ResolvedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request with nothing left to look up: mode and days are said, and the files were read."""

    request: CloseRequest
    mode: Mode
    span: Period | None
    """None for a month that the store knows."""
    before: datetime | None
    """The newest month is over before this instant; None where it may still run."""
    judged_on: date
    files_read: dict[str, Any]
    """The parts of `Inputs` that come from files."""
