r"""How a file's columns become ours: said by the merchant in TOML, never guessed.

    [ledger]                           # or [statement], [operator], [bank]
    zone = "Africa/Dar_es_Salaam"      # of stamps without an offset
    date_format = "%d/%m/%Y %H:%M"     # without it: one form that fits the whole column
    amount_basis = "gross"             # or "net"
    date_order = "day"                 # or "month", where every date of a column could be either
    header_row = 7                     # without it: the first row that has the columns
    footer = ["Closing balance"]       # a row that begins so ends the table
    skip_when = { column = "Type", equals = ["Total"] }
    columns = { reference = "Invoice No", amount = "Amount", booked_at = "Posted", currency = "=TZS" }
    added.fee = ["VAT", "Levy"]        # columns that are part of the fee
    values.status = { Paid = "paid", Cancelled = "not_paid" }
    kinds = { refund = ["Refund", "Credit Memo"], charge = ["Bank Charge"] }
    take = [{ column = "Details", pattern = "Acc\\. (?P<reference>\\S+)" }]

A column written "=X" is the constant X; a list of names is tried in its order. Without a mapping the headers are our own names, or those that
`tables.headers` knows. In the place of `amount` may stand `money_in` and `money_out`, two columns, or
beside it a `side`, of whose words `values.side` says which are "in" and "out": of a bank Cr and Dr are known.
`values` may also name currencies and channels; a word that it does not name is rejected. `kinds` finds
its words in the column of the kind, else in the details: whole words, or beginnings where they end in *. `take` takes a reference, a receipt, a
collection's id or a phone (to mask it) out of a text. `thousands` is found by column where it is not
said; where it is ".", the decimal mark is ",".
"""  # noqa: E501 - an example that a person copies

import hashlib
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from kusanya_books.read.toml_file import fitted, read_toml

EAT_NAME: Final = "Africa/Dar_es_Salaam"
Needs = tuple[tuple[str, ...], ...]
"""Groups of our columns; a header has one of each."""
_AMOUNT: Final = ("amount", "money_in", "money_out")
LEDGER_NEEDS: Final[Needs] = (_AMOUNT, ("currency",), ("booked_at",))
LEDGER_MAY: Final = (
    *("reference", "collection_id", "fee", "channel", "status", "kind", "details", "side"),
)
STATEMENT_NEEDS: Final[Needs] = (
    ("currency",),
    ("net", "gross"),
    ("business_day", "collection_id"),
)
STATEMENT_MAY: Final = ("batch_id", "channel", "fee", "count", "kind", "details")
CHARGE: Final = "charge"
STATEMENT_KINDS: Final = ("payment", CHARGE)
MOVEMENT_NEEDS: Final[Needs] = (_AMOUNT, ("currency",), ("at",))
MOVEMENT_MAY: Final = (
    *("reference", "collection_id", "receipt", "channel", "status", "kind", "details"),
    *("fee", "balance", "side"),
)
CORRECTION: Final = "correction"
"""An entry by hand: of money in it is a payment, of money out the reversal of one."""
LEDGER_KINDS: Final = (
    *("payment", "refund", "credit_note", "chargeback", "charge", "reversal", CORRECTION),
)
MOVEMENT_KINDS: Final = (
    *("payment", "payout", "fee", "tax", "refund", "reversal", "chargeback", "charge"),
    *("own", "other"),
)
WORDS: Final = frozenset({"status", "currency", "channel", "side"})
"""Columns whose words a mapping may translate."""
TAKEN: Final = frozenset({"reference", "receipt", "collection_id", "phone"})


class Skip(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows that are no entries, such as a total: left out, and said so."""

    column: str
    equals: tuple[str, ...]


class Take(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is taken out of a text: the named groups of a pattern."""

    column: str
    pattern: str
    """In the syntax of RE2, which no text makes slow."""
    optional: bool = False
    """Whether the file may lack the column."""


class Layout(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one file is written."""

    columns: dict[str, str | tuple[str, ...]] = {}
    """Our column to the file's header, or to several that it may bear."""
    optional: tuple[str, ...] = ()
    """Our columns that the file may lack though `columns` names them."""
    added: dict[str, tuple[str, ...]] = {}
    """Headers of the file whose amounts are part of one of our columns: of the fee alone."""
    values: dict[str, dict[str, str]] = {}
    kinds: dict[str, tuple[str, ...]] = {}
    take: tuple[Take, ...] = ()
    zone: str = EAT_NAME
    date_format: str | None = None
    date_order: str | None = None
    """Whether "day" or "month" stands first where a whole column leaves it open."""
    excel_dates: str = "right"
    """Whether dates in a workbook's cells are right, or "swapped": day and month exchanged."""
    amount_basis: str | None = None
    """Of the ledger alone: gross where None."""
    signs: str = "file"
    """Whether signs are the file's, or money out is known by its "kind" alone.

    A payment below zero beside others above it takes money back; where all are below, none does.
    """
    skip_when: Skip | None = None
    header_row: int | None = None
    footer: tuple[str, ...] = ()
    delimiter: str | None = None
    encoding: str | None = None
    thousands: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        _one_of(self.amount_basis, "amount_basis", None, "gross", "net")
        _one_of(self.date_order, "date_order", None, "day", "month")
        _one_of(self.excel_dates, "excel_dates", "right", "swapped")
        _one_of(self.signs, "signs", "file", "kind")
        if len(self.delimiter or ",") != 1 or len(self.thousands or "") > 1:
            raise ValueError("delimiter is one character, thousands one or none")
        if self.header_row is not None and self.header_row < 1:
            raise ValueError("header_row counts from 1")
        if self.added.keys() - {"fee"} or (self.added and not self.names("fee")):
            raise ValueError("added is of fee alone, beside a column of it: added.fee = [...]")
        strange = sorted(set(self.values) - WORDS)
        if strange:
            known = "status, currency, channel or side"
            raise ValueError(f"values are of {known}, not of {strange[0]}")
        for take in self.take:
            _check_pattern(take.pattern)
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError):
            raise ValueError("zone is a name like Africa/Dar_es_Salaam") from None

    def names(self, column: str) -> tuple[str, ...]:
        """Return the headers that our column may have; none where the mapping does not say."""
        said = self.columns.get(column, ())
        return (said,) if isinstance(said, str) else said

    def constant(self, column: str) -> str | None:
        """Return the constant that stands for a column, None where it is none."""
        said = self.columns.get(column, "")
        return said[1:] if isinstance(said, str) and said.startswith("=") else None

    @property
    def sha256(self) -> str:
        """Return the digest of everything that the layout says."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()


def _one_of(value: str | None, name: str, *known: str | None) -> None:
    if value not in known:
        raise ValueError(f"{name} is {' or '.join(word for word in known if word)}")


def _check_pattern(pattern: str) -> None:
    # Imported here: a mapping is also read where no file is.
    import pyarrow as pa
    from pyarrow import compute

    try:
        found = compute.extract_regex(pa.array([], pa.string()), pattern)
    except pa.ArrowInvalid as error:
        why = str(error).partition("\n")[0]
        raise ValueError(f"a pattern of take cannot be read: {why}") from None
    names = {field.name for field in found.type}
    if not names or names - TAKEN:
        known = ", ".join(sorted(TAKEN))
        raise ValueError(f"a pattern of take has groups (?P<name>...) of these names: {known}")


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a shipped mapping says of itself."""

    title: str
    known: str
    """What of the file's shape is known."""
    assumed: str
    """What is assumed until a real file has shown it."""


class Mapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The layouts of books, settlement statement, operator's statement and bank's statement."""

    ledger: Layout = Layout()
    statement: Layout = Layout()
    operator: Layout = Layout()
    bank: Layout = Layout()
    about: About | None = None

    def __post_init__(self) -> None:
        _only(self.ledger, LEDGER_NEEDS, LEDGER_MAY, LEDGER_KINDS, "ledger")
        _only(self.statement, STATEMENT_NEEDS, STATEMENT_MAY, STATEMENT_KINDS, "statement")
        _only(self.operator, MOVEMENT_NEEDS, MOVEMENT_MAY, MOVEMENT_KINDS, "operator")
        _only(self.bank, MOVEMENT_NEEDS, MOVEMENT_MAY, MOVEMENT_KINDS, "bank")
        if self.statement.amount_basis is not None:
            raise ValueError("a statement has no amount_basis: its columns are gross, fee and net")


def _only(
    layout: Layout, needs: Needs, may: tuple[str, ...], kinds: tuple[str, ...], name: str
) -> None:
    known = {*may, *(column for group in needs for column in group)}
    strange = sorted((set(layout.columns) | set(layout.values)) - known)
    if strange:
        raise ValueError(f"no such column of ours: {', '.join(strange)}, in the {name}")
    odd = sorted(set(layout.kinds) - set(kinds))
    if odd:
        raise ValueError(f"no such kind: {', '.join(odd)}, in the {name}")


PLAIN: Final = Mapping()


def read_mapping(path: Path | None) -> Mapping:
    """Return the mapping kept in a TOML file, the plain one for None. Raises InputRefused."""
    if path is None:
        return PLAIN
    return to_mapping(read_toml(path), path.name)


def to_mapping(said: dict[str, object], name: str) -> Mapping:
    """Return the mapping that a table of TOML says. Raises InputRefused."""
    return fitted(said, Mapping, f"the mapping {name}")
