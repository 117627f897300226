"""The id of a break, which survives the next run, and what people said about it.

An id follows from what the break is about and never from its code: a line that waits today and is
called unpaid tomorrow is the same break.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import pandas as pd

from kusanya.privacy import mask_text
from kusanya.store.records import BreakHistory, BreakStatus, BreakSubject
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import DType, Schema
from kusanya_books.columns.dtypes import first_of, text_of
from kusanya_books.match import breaks
from kusanya_books.request.earlier_period import BOOKS, STATEMENT
from kusanya_books.request.report_inputs import Inputs

_ID_HEX: Final = 16
_MONEY: Final = {
    BOOKS: ("amount_ledger", "amount_service", "fee_ledger", "fee_service"),
    STATEMENT: ("gross", "fee", "net", "gross_settled", "fee_settled", "net_settled"),
}
_WAITING: Final = frozenset(
    code for rules in (breaks.LEDGER, breaks.SETTLEMENT) for code, rule in rules.items()
    if rule.waits
)  # fmt: skip


def break_id(mode: Mode, leg: str, currency: str | None, key: str, *, nth: int = 1) -> str:
    """Return the id of the `nth` break of what `key` names: 16 hexadecimal digits."""
    text = "\x1f".join((mode.value, leg, currency or "", key, *(() if nth == 1 else (str(nth),))))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_ID_HEX]


def is_open(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Tell of each row whether it is a break, or waits for its other side."""
    return (rows["standing"] == "break") | rows["break_code"].isin(_WAITING)


def stands(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Tell of each row whether it is a break that nobody has accepted."""
    broken = rows["standing"] == "break"
    if "status" not in rows:
        return broken
    return broken & (rows["status"] != BreakStatus.ACCEPTED.value).fillna(value=True)


def with_life(rows: pd.DataFrame, schema: Schema, *, leg: str, inputs: Inputs) -> pd.DataFrame:
    """Return the rows of a leg with `break_id`, `status`, `owner` and `note`.

    All four are missing in rows that need nobody. Phones in notes are masked.
    """
    said: dict[str, list[str | None]] = {
        name: [None] * len(rows) for name in ("break_id", "status", "owner", "note")
    }
    for place, subject in _subjects(rows, leg=leg, mode=inputs.mode):
        history = inputs.histories.get(subject.break_id)
        said["break_id"][place] = subject.break_id
        said["status"][place] = status_of(history, subject).value
        if history is not None:
            said["owner"][place] = _shown(history.owner)
            said["note"][place] = _shown(history.note)
    return columns.frame(
        schema,
        rows.assign(
            **{name: pd.Series(said[name], rows.index, DType.TEXT.pandas) for name in said}
        ),
    )


def status_of(history: BreakHistory | None, subject: BreakSubject) -> BreakStatus:
    """Return the status of a break as it is now; open where nobody decided about it."""
    return BreakStatus.OPEN if history is None else history.status_for(subject)


def figures(values: Iterable[Any]) -> str:
    """Return amounts and fees as one text, to compare them by."""
    return "|".join("" if pd.isna(value) else str(int(value)) for value in values)


def _subjects(rows: pd.DataFrame, *, leg: str, mode: Mode) -> "list[tuple[int, BreakSubject]]":
    """Return the place in `rows` and the subject of each break, numbered in a lasting order."""
    said = rows.reset_index(drop=True)
    found = said[is_open(said)]
    ordered = found.sort_values(
        [name for name in ("booked_at", "business_day", "row_no", "line_no") if name in found],
        kind="stable",
    )
    numbers: Counter[tuple[Any, str]] = Counter()
    listed = []
    for row in columns.records(ordered):
        currency, key, amount = _of_books(row) if leg == BOOKS else _of_statement(row)
        numbers[currency, key] += 1
        id_ = break_id(mode, leg, currency, key, nth=numbers[currency, key])
        subject = BreakSubject(
            break_id=id_,
            leg=leg,
            code=row.break_code,
            reference=text_of(getattr(row, "reference", None)),
            collection_id=text_of(row.collection_id),
            currency=currency,
            amount=amount,
            figures=figures(getattr(row, name) for name in _MONEY[leg]),
        )
        listed.append((int(row.Index), subject))
    return listed


def _of_books(row: Any) -> tuple[str | None, str, int]:
    currency = first_of(row.currency_ledger, row.currency_service)
    amount = first_of(row.amount_ledger, row.amount_service)
    reference, collection = text_of(row.reference), text_of(row.collection_id)
    if not pd.isna(row.amount_service):
        key = f"collection {collection}"
    else:
        # A line alone is another thing than the collection that it names, and than another line of
        # its order: whatever a later period books, it is known by what stands in it.
        key = f"line {row.booked_day:%Y-%m-%d} {amount} {collection or reference or ''}"
    return currency, key, int(row.at_stake)


def _of_statement(row: Any) -> tuple[str | None, str, int]:
    collection = text_of(row.collection_id)
    day = "" if pd.isna(row.business_day) else f"{row.business_day:%Y-%m-%d}"
    key = f"collection {collection}" if collection else f"day {day} {text_of(row.channel) or ''}"
    return text_of(row.currency), key, abs(int(row.open_balance))


def _shown(text: str | None) -> str | None:
    return None if text is None else mask_text(text)
