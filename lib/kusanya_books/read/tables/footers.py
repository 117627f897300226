"""Rows that are no entries: empty ones, repeated headers, totals, balances, and what follows.

Each is left out with its reason; a row with a date of its own is only a total when it says so in
its first cell.
"""

from typing import Any, Final

import pandas as pd
import pyarrow as pa
from pyarrow import compute

from kusanya.errors import InputRefused
from kusanya.text import safe
from kusanya_books.columns import DType
from kusanya_books.read.mapping import Layout
from kusanya_books.read.tables import headers, numbers
from kusanya_books.read.tables.sheet import Sheet

NO_ENTRY: Final = "not an entry"
TOTAL: Final = "a total"
BALANCE: Final = "a balance"
HEADER: Final = "the header again"
TEXT: Final = "a text alone"
AFTER: Final = "after the end of the table"
_TOTALS: Final = (
    r"(?i)^\s*(?:grand |sub[- ]?|page )?totals?\b[^A-Za-z]*(?:amount|for .*|of .*)?\s*$"
    r"|^\s*jumla(?: kuu| ndogo)?\b\s*:?\s*$"
)

_PARTS_MIN: Final = 2
_WORD: Final = "(?i)total|jumla"
"""What every one of them holds."""
_BALANCES: Final = (
    r"(?i)^\s*(?:(?:opening|closing|previous|initial|final|ledger) balance"
    r"|(?:balance )?(?:[bc]/?[fd]|(?:brought|carried) (?:forward|down))"
    r"|salio la (?:mwanzo|awali|kufungua|mwisho|kufunga))\s*[:.]?\s*$"
)
_OF_BALANCE: Final = "(?i)balance|[bc]/?[fd]|forward|down|salio"


def skipped(
    sheet: Sheet,
    layout: Layout,
    *,
    date: str | None,
    amounts: list[str],
    balance: str | None = None,
) -> Any:
    """Return why each row is left out, missing where it is not.

    `date` and `amounts` are the headers whose cells make a row an entry, `balance` that of what the
    account then holds.
    """
    frame = sheet.frame
    why = pd.Series(pd.NA, index=frame.index, dtype=DType.TEXT.pandas)
    why = why.mask(frame.isna().all(axis=1), NO_ENTRY)
    rule = layout.skip_when
    if rule is not None:
        column = next(iter(headers.place_of((rule.column,), list(frame.columns))), None)
        if column is None:
            raise InputRefused(f"{sheet.name} has no column {safe(rule.column)} to skip by")
        named = frame[column].str.strip().isin(rule.equals).fillna(False).astype(bool)
        why = why.mask(named, NO_ENTRY)
    if not len(frame) or not amounts:
        return why
    first = _first(frame)
    if layout.footer:
        words = tuple(word.casefold() for word in layout.footer)
        ends = first.str.casefold().str.startswith(words).fillna(False).astype(bool)
        why = why.mask(ends.cummax() & why.isna(), AFTER)
    again = [frame[name].str.strip() == name for name in amounts]
    why = why.mask(pd.concat(again, axis=1).fillna(False).any(axis=1) & why.isna(), HEADER)
    dated = _has_digits(frame[date]) if date else pd.Series(False, index=frame.index)
    total = _says_total(first)
    bare = frame[~dated & why.isna()]
    for name in bare.columns:
        total |= _says_total(bare[name]).reindex(frame.index, fill_value=False)
    why = why.mask(total & why.isna(), TOTAL)
    money = pd.concat([_filled(frame[name]) for name in amounts], axis=1).any(axis=1)
    why = why.mask(_is_alone(frame, ~money & why.isna()), TEXT)
    # One that moves money has no date, no amount or, as an amount, the whole balance.
    held = [frame[name] == frame[balance] for name in amounts] if balance else []
    still = ~money | (pd.concat(held, axis=1).any(axis=1) if held else False)
    still = still | ~dated if date else still
    why = why.mask(_says_balance(frame, still & why.isna()), BALANCE)
    last = frame.index[~dated & money & why.isna()][-1:]
    if len(last) and _is_sum(frame, amounts, dated & why.isna(), last[0], layout.thousands):
        why[last[0]] = TOTAL
    entries = (dated | money) & why.isna()
    if date and entries.any():
        after = pd.Series(frame.index > entries[entries].index[-1], index=frame.index)
        why = why.mask(after & why.isna(), AFTER)
    return why


def _first(frame: pd.DataFrame) -> Any:
    """Return the first filled cell of each row."""
    first = frame.iloc[:, 0]
    lacks = ~_filled(first)
    if lacks.any():
        rest = frame[lacks].apply(lambda column: column.str.strip()).replace("", pd.NA)
        first = first.mask(lacks, rest.bfill(axis=1).iloc[:, 0].reindex(frame.index))
    return first


def _filled(column: Any) -> Any:
    return column.str.strip().fillna("") != ""


def _is_alone(frame: pd.DataFrame, among: Any) -> Any:
    """Tell which rows have a single filled cell: a heading of a group, the time of the export."""
    bare = frame[among].apply(_filled)
    filled = bare.sum(axis=1) if len(bare) else pd.Series(dtype="int64")
    return filled.reindex(frame.index, fill_value=0) == 1


def _has_digits(column: Any) -> Any:
    return column.str.contains(r"\d", regex=True).fillna(False).astype(bool)


def _says_total(column: Any) -> Any:
    """Tell which cells are the word for a total."""
    return _says(column, _WORD, _TOTALS)


def _says(column: Any, word: str, pattern: str) -> Any:
    """Tell which cells fit a pattern; few have its word in them, and only they are read."""
    has_word = compute.match_substring_regex(pa.array(column, pa.string()), word)
    found = pd.Series(has_word.fill_null(False).to_numpy(zero_copy_only=False), index=column.index)
    if found.any():
        found[found] = column[found].str.contains(pattern, regex=True).astype(bool)
    return found


def _says_balance(frame: pd.DataFrame, among: Any) -> Any:
    """Tell which rows say what an account held, and move nothing."""
    said = pd.Series(False, index=frame.index)
    rows = frame[among]
    for name in rows.columns if len(rows) else ():
        said |= _says(rows[name], _OF_BALANCE, _BALANCES).reindex(frame.index, fill_value=False)
    return said


def _is_sum(
    frame: pd.DataFrame, amounts: list[str], entries: Any, row: Any, thousands: str | None
) -> bool:
    """Tell whether a row without a date and a word has the sums of the entries above, two or more.

    The sum of one may be another payment of its day.
    """
    above = entries & (frame.index < row)
    has_words = frame.loc[row].dropna().str.contains("[A-Za-z]{4}", regex=True).any()
    if above.sum() < _PARTS_MIN or has_words:
        return False
    read = [numbers.read(frame[name], thousands=thousands, cents=True).whole for name in amounts]
    said = [column for column in read if not pd.isna(column[row])]
    # In whole numbers of Python: a sum of the column's own would wrap around in silence.
    return bool(said) and all(
        int(column[row]) == sum(map(int, column[above].dropna())) for column in said
    )
