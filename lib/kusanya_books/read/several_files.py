"""One statement in several files: a line that two of them have counts once."""

from collections.abc import Sequence
from typing import Final

import msgspec
import pandas as pd

from kusanya.errors import InputRefused
from kusanya_books.columns import MOVEMENTS
from kusanya_books.request.earlier_period import READ
from kusanya_books.request.quality import Quality, Remark
from kusanya_books.request.report_inputs import payments_of

Read = tuple[pd.DataFrame, Quality]
"""The lines of a file and its account."""
_PLACE: Final = ["input", "line_no"]


def settlement(read: Sequence[Read]) -> tuple[pd.DataFrame, tuple[Quality, ...]]:
    """Return the lines of all files as one statement, by STATEMENT, and the account of each file.

    A line that an earlier file has too is skipped with a remark. Raises InputRefused where one file
    names collections or channels and another one does not.
    """
    for column, what in (("collection_id", "collections"), ("channel", "channels")):
        payments = ((payments_of(frame), account) for frame, account in read)
        names = {
            bool(frame[column].notna().any()): account for frame, account in payments if len(frame)
        }
        if len(names) > 1:
            raise InputRefused(
                f"{names[True].source} names {what} and {names[False].source} does not: give files "
                "that all name them, or that none does"
            )
    return _joined(read, list(READ.columns))


def movements(read: Sequence[Read]) -> tuple[pd.DataFrame, tuple[Quality, ...]]:
    """Return the lines of an operator's or a bank's files, by MOVEMENTS, and each file's account.

    A line that an earlier file has too, in every column, is skipped with a remark where it has a
    receipt or a balance: of two others that say the same nobody knows whether they are one.
    """
    says = [name for name in MOVEMENTS.columns if name not in _PLACE]
    return _joined(read, says, known_by=["receipt", "balance"])


def _joined(
    read: Sequence[Read], says: list[str], *, known_by: list[str] | None = None
) -> tuple[pd.DataFrame, tuple[Quality, ...]]:
    """Return all lines, without those that say what one of an earlier file says, and the accounts.

    Where a file has two that say the same, the second one of another file says the second of them
    again: what a file says twice by itself stays.
    """
    if len(read) == 1:
        return read[0][0], (read[0][1],)
    every = pd.concat([frame for frame, _ in read], ignore_index=True)
    named = every[every[known_by].notna().any(axis=1)] if known_by else every
    # Of a million lines few come twice: the place of those alone is counted.
    twice = named[named.duplicated(says, keep=False)]
    place = twice.groupby(["input", *says], dropna=False, sort=False).cumcount()
    twice = twice.assign(place=place)
    is_again = twice.duplicated([*says, "place"])
    again, first = twice[is_again], twice[~is_again]
    met = again.merge(first, on=[*says, "place"], suffixes=("", "_first"))
    skipped = {name: _remarks(lines) for name, lines in met.groupby("input")}
    accounts = [
        _less(account, skipped.get(frame["input"].iloc[0], ()) if len(frame) else ())
        for frame, account in read
    ]
    return every.drop(index=again.index).reset_index(drop=True), tuple(accounts)


def _remarks(lines: pd.DataFrame) -> tuple[Remark, ...]:
    each = zip(lines["line_no"], lines["input_first"], lines["line_no_first"], strict=True)
    return tuple(
        Remark(row=int(row), verdict="skipped", reason=f"{file} has the same line: {int(line)}")
        for row, file, line in each
    )


def _less(account: Quality, skipped: Sequence[Remark]) -> Quality:
    """Return the account of a file without the lines that another one has."""
    return msgspec.structs.replace(
        account,
        kept=account.kept - len(skipped),
        repeated=len(skipped),
        remarks=(*account.remarks, *skipped),
    )
