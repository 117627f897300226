"""What a load kept, what it dropped, and why: shown beside every frame."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import Schema

UNREAD_LINE: Final = "unread"
"""The line of a bridge that sums what could not be read; it is part of neither total."""


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """One input row that was not simply kept. `row` counts from 1 as the file's reader counts."""

    row: int | None
    verdict: str
    """skipped, rejected or warned (kept, but look at it)."""
    reason: str
    column: str | None = None
    """The file's own name of the column that the reason is about."""
    currency: str | None = None
    amount: int | None = None
    """What a rejected row is worth, or a row of totals states, where it could be read."""


class FileTotal(msgspec.Struct, frozen=True, kw_only=True):
    """What a file says that its rows come to, and what they do; all as the file writes it."""

    currency: str | None
    """None where the rows that were kept have several, or none: such a total is of no sum."""
    stated: int
    rows: int
    read: int
    """The sum of the rows that were kept."""
    unread: int
    """The sum of the rejected rows whose amount could be read."""

    @property
    def difference(self) -> int | None:
        """Return by how much the file's total is more than its rows; None where none compares."""
        return None if self.currency is None else self.stated - self.read - self.unread


def file_total(
    currency: str | None, stated: int, *, rows: int, read: int, unread: int, unit: int
) -> FileTotal:
    """Return a total in whole of sums in parts of a unit; one that agrees in parts agrees."""
    differs = stated - read - unread
    whole = -(-abs(differs) // unit)
    return FileTotal(
        currency=currency,
        stated=read // unit + unread // unit + (whole if differs > 0 else -whole),
        rows=rows,
        read=read // unit,
        unread=unread // unit,
    )


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    """The account of one load: rows in = kept + skipped + rejected."""

    source: str
    """What was read, for people: no password, no full path of another person's folder."""
    rows: int
    kept: int
    remarks: tuple[Remark, ...] = ()
    repeated: int = 0
    """How many of the skipped rows another file has, and were kept there."""
    sha256: str | None = None
    """Of the input's bytes, for a file."""
    layout_sha256: str | None = None
    """Of what the mapping says of the file, where one was given."""
    total: FileTotal | None = None
    """What the file states of itself; None where it states nothing."""
    unproven: str = ""
    """Why the file may lack rows though its format says its own end; empty where it does."""

    @property
    def leg(self) -> str:
        """Return what was read: ledger, statement, operator, bank or collections."""
        return self.source.partition(" ")[0]

    @property
    def rejected(self) -> tuple[Remark, ...]:
        """Return the remarks of the rows that could not be read."""
        return tuple(remark for remark in self.remarks if remark.verdict == "rejected")

    def count(self, verdict: str) -> int:
        """Return how many rows have this verdict."""
        return sum(remark.verdict == verdict for remark in self.remarks)

    def __post_init__(self) -> None:
        if self.rows != self.kept + self.count("skipped") + self.count("rejected"):
            raise ValueError(f"{self.source}: rows are lost between reading and keeping")


def account(*loads: Quality) -> pd.DataFrame:
    """Return one row per load: what was read, kept, skipped, rejected and warned about."""
    return columns.frame(
        columns.ACCOUNT,
        {
            "input": [load.source for load in loads],
            "rows": [load.rows for load in loads],
            "kept": [load.kept for load in loads],
            "skipped": [load.count("skipped") for load in loads],
            "rejected": [load.count("rejected") for load in loads],
            "warned": [load.count("warned") for load in loads],
            "sha256": [load.sha256 for load in loads],
        },
    )


def remarks(*loads: Quality) -> pd.DataFrame:
    """Return one row per remark of all loads, in the order of the inputs."""
    listed = [(load.source, remark) for load in loads for remark in load.remarks]
    return _listed(columns.QUALITY, listed)


def unread(*loads: Quality) -> pd.DataFrame:
    """Return one row per input row that could not be read, with its amount where that could."""
    listed = [(load.source, remark) for load in loads for remark in load.rejected]
    return _listed(columns.UNREAD, listed)


def unread_lines(*loads: Quality) -> pd.DataFrame:
    """Return the rows that could not be read as lines of a bridge: one per currency.

    The amount is missing where that of no row could be read.
    """
    found: dict[str | None, list[int | None]] = defaultdict(list)
    for load in loads:
        for remark in load.rejected:
            found[remark.currency].append(remark.amount)
    known = sorted(found, key=lambda currency: (currency is None, currency or ""))
    return columns.frame(
        columns.BRIDGE,
        {
            "currency": known,
            "line": [UNREAD_LINE] * len(known),
            "rows": [len(found[currency]) for currency in known],
            "amount": [total(found[currency]) for currency in known],
        },
    )


def with_unread(bridge: pd.DataFrame, loads: Iterable[Quality], *, of: str) -> pd.DataFrame:
    """Return a bridge with the unread rows of one kind of input (`ledger`, …) at its end."""
    lines = unread_lines(*(load for load in loads if load.leg == of))
    if lines.empty:
        return bridge
    fitted = lines.reindex(columns=bridge.columns).astype(bridge.dtypes)
    return pd.concat([bridge, fitted], ignore_index=True)


def total(amounts: Iterable[int | None]) -> int | None:
    """Return the sum of the amounts that are known, None where none is."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def _listed(schema: Schema, listed: Sequence[tuple[str, Remark]]) -> pd.DataFrame:
    facts = {
        name: [getattr(remark, name) for _, remark in listed]
        for name in schema.columns
        if name != "input"
    }
    return columns.frame(schema, {"input": [source for source, _ in listed], **facts})
