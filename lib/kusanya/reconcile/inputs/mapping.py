"""How a file's columns become ours: said by the merchant in TOML, never guessed.

    [ledger]
    zone = "Africa/Dar_es_Salaam"      # of stamps without an offset
    date_format = "%d/%m/%Y %H:%M"     # without it: ISO 8601
    amount_basis = "gross"             # or "net"
    skip_when = { column = "Type", equals = ["Total"] }
    columns = { reference = "Invoice No", amount = "Amount", booked_at = "Posted", currency = "=TZS" }
    values.status = { Paid = "paid", Cancelled = "not_paid" }

A column written "=X" is the constant X. Without a mapping the headers are our own names. `values` may
also name currencies and channels; a word that it does not name is rejected. `thousands` is "," unless
said otherwise; where it is ".", the decimal mark is ",".
"""  # noqa: E501 - an example that a person copies

import tomllib
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from kusanya.errors import InputRefused

EAT_NAME: Final = "Africa/Dar_es_Salaam"
LEDGER_NEEDS: Final = ("amount", "currency", "booked_at")
LEDGER_MAY: Final = ("reference", "collection_id", "fee", "channel", "status")
STATEMENT_NEEDS: Final = ("currency", "net")
STATEMENT_MAY: Final = (
    "batch_id",
    "collection_id",
    "business_day",
    "channel",
    "gross",
    "fee",
    "count",
)
WORDS: Final = frozenset({"status", "currency", "channel"})
"""Columns whose words a mapping may translate."""


class Skip(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows that are no entries, such as a total: left out, and said so."""

    column: str
    equals: tuple[str, ...]


class Layout(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one file is written."""

    columns: dict[str, str] = {}
    values: dict[str, dict[str, str]] = {}
    zone: str = EAT_NAME
    date_format: str | None = None
    amount_basis: str | None = None
    """Of the ledger alone: gross where None."""
    skip_when: Skip | None = None
    delimiter: str = ","
    encoding: str = "utf-8-sig"
    thousands: str = ","
    sheet: str | None = None

    def __post_init__(self) -> None:
        if self.amount_basis not in {None, "gross", "net"}:
            raise ValueError("amount_basis is gross or net")
        if len(self.delimiter) != 1 or len(self.thousands) > 1:
            raise ValueError("delimiter is one character, thousands one or none")
        strange = sorted(set(self.values) - WORDS)
        if strange:
            raise ValueError(f"values are of status, currency or channel, not of {strange[0]}")
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError):
            raise ValueError("zone is a name like Africa/Dar_es_Salaam") from None


class Mapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The layouts of ledger and statement."""

    ledger: Layout = Layout()
    statement: Layout = Layout()

    def __post_init__(self) -> None:
        _only(self.ledger, {*LEDGER_NEEDS, *LEDGER_MAY}, "ledger")
        _only(self.statement, {*STATEMENT_NEEDS, *STATEMENT_MAY}, "statement")
        if self.statement.amount_basis is not None:
            raise ValueError("a statement has no amount_basis: its columns are gross, fee and net")


def _only(layout: Layout, known: set[str], name: str) -> None:
    strange = sorted((set(layout.columns) | set(layout.values)) - known)
    if strange:
        raise ValueError(f"no such column of ours: {', '.join(strange)}, in the {name}")


PLAIN: Final = Mapping()


def read_mapping(path: Path | None) -> Mapping:
    """Return the mapping kept in a TOML file, the plain one for None. Raises InputRefused."""
    if path is None:
        return PLAIN
    try:
        return msgspec.convert(read_toml(path), Mapping)
    except msgspec.ValidationError as error:
        raise InputRefused(f"the mapping {path.name} cannot be used: {error}") from None


def read_toml(path: Path) -> dict[str, object]:
    """Return what a TOML file says. Raises InputRefused when it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputRefused(f"{path.name} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputRefused(f"{path.name} is not TOML: {error}") from None
