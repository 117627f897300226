"""One side of a match as a few whole numbers a row, and its texts; see `ledger_seen.sql`."""

from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
from pyarrow import compute

from kusanya.reconcile.matching.runs import blocks

PAID: Final = 0
LOST: Final = 1
"""Classes; a third holds what is not told so quickly."""
_CLASS: Final = 24
"""Bits of facts below a row's class; below it are the currency's place and, in 16, the day."""
_CURRENCY: Final = 16
_DAY: Final = 0xFFFF
_FEE: Final = 24
"""Bits of money that hold the fee, all of them set where the books name none."""
_NO_FEE: Final = (1 << _FEE) - 1
_ROOM: Final = 40
"""Bytes set aside for a text; what is not written takes no memory."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One side, row by row."""

    keys: Any
    """Hashes of the references."""
    references: Any
    """Their texts, in Arrow."""
    money: Any
    facts: Any
    names: Any = None
    """Hashes of the collections' ids; None where no line of the books names one."""
    ids: Any = None


class Span(msgspec.Struct, frozen=True):
    """A period, in days since 1970."""

    first: int
    last: int

    def holds(self, facts: Any) -> Any:
        """Return which rows' day is in the period."""
        days = facts & _DAY
        return (days >= self.first) & (days <= self.last)


def gather(pieces: pa.RecordBatchReader, rows: int) -> dict[str, Any]:
    """Return the columns that come in pieces, `rows` in all: numbers in numpy, texts in Arrow."""
    told = {field.name: field.type for field in pieces.schema}
    texts = {name: _Texts(rows) for name, kind in told.items() if kind == pa.string()}
    numbers = {
        name: np.empty(rows, dtype=kind.to_pandas_dtype())
        for name, kind in told.items()
        if name not in texts
    }
    at = 0
    for piece in pieces:
        for name, whole in numbers.items():
            whole[at : at + len(piece)] = piece[name].to_numpy()
        for name, text in texts.items():
            text.take(piece[name])
        at += len(piece)
    return {**numbers, **{name: text.done() for name, text in texts.items()}}


class _Texts:
    """A column of texts in one piece, filled as it comes: in pieces, each look-up would copy it."""

    def __init__(self, rows: int) -> None:
        self._ends = np.zeros(rows + 1, dtype="int64")
        self._valid = np.ones(rows, dtype=bool)
        self._bytes = np.empty(_ROOM * rows, dtype="uint8")
        self._rows = self._used = 0

    def take(self, texts: Any) -> None:
        """Add texts behind those that are there."""
        _, places, data = texts.cast(pa.large_string()).buffers()
        if not len(texts) or data is None:
            self._add(texts, np.zeros(len(texts) + 1, dtype="int64"), b"")
            return
        ends = np.frombuffer(places, dtype="int64")[texts.offset : texts.offset + len(texts) + 1]
        self._add(texts, ends - ends[0], memoryview(data)[ends[0] : ends[-1]])

    def done(self) -> Any:
        """Return them all."""
        valid = None
        if not self._valid.all():
            valid = pa.py_buffer(np.packbits(self._valid, bitorder="little"))
        taken = [valid, pa.py_buffer(self._ends), pa.py_buffer(self._bytes[: self._used])]
        return pa.LargeStringArray.from_buffers(len(self._valid), *taken[1:], taken[0])

    def _add(self, texts: Any, ends: Any, data: Any) -> None:
        rows, used = self._rows + len(texts), self._used + int(ends[-1])
        if used > len(self._bytes):
            more = np.empty(2 * used, dtype="uint8")
            more[: self._used] = self._bytes[: self._used]
            self._bytes = more
        self._bytes[self._used : used] = np.frombuffer(data, dtype="uint8")
        self._ends[self._rows + 1 : rows + 1] = ends[1:] + self._used
        if texts.null_count:
            self._valid[self._rows : rows] = texts.is_valid().to_numpy(zero_copy_only=False)
        self._rows, self._used = rows, used


class Tally:
    """Rows and money of what is only counted, by facts."""

    def __init__(self) -> None:
        self._sums: dict[int, tuple[int, int]] = {}

    def add(self, facts: Any, due: Any) -> None:
        """Count rows of these facts and amounts."""
        for block in blocks(len(facts)):
            kinds, days, money = facts[block] >> _CURRENCY, facts[block] & _DAY, due[block]
            for kind in np.flatnonzero(np.bincount(kinds)):
                of = slice(None) if (kinds == kind).all() else kinds == kind
                rows = np.bincount(days[of])
                # In halves, because these sums are floats: exact below 2**53.
                low, high = (
                    np.bincount(days[of], weights=part[of])
                    for part in (money & _NO_FEE, money >> _FEE)
                )
                for day in np.flatnonzero(rows).tolist():
                    key = (int(kind) << _CURRENCY) + day
                    before, sum_ = self._sums.get(key, (0, 0))
                    amount = int(low[day]) + (int(high[day]) << _FEE)
                    self._sums[key] = before + int(rows[day]), sum_ + amount

    def table(self) -> pa.Table:
        """Return facts, rows and amount."""
        return pa.table(
            {
                "facts": pa.array(self._sums, pa.uint32()),
                "rows": pa.array([rows for rows, _ in self._sums.values()], pa.int64()),
                "amount": pa.array([amount for _, amount in self._sums.values()], pa.int64()),
            }
        )


def classes(facts: Any) -> Any:
    """Return the rows' classes."""
    return facts >> _CLASS


def currencies(facts: Any) -> Any:
    """Return the places of the rows' currencies."""
    return facts >> _CURRENCY & 0xFF


def amounts(money: Any, *, with_fee: bool = False) -> Any:
    """Return what is due, or that and the fee."""
    due = money >> _FEE
    return due + (money & _NO_FEE) if with_fee else due


def same_money(ours: Any, theirs: Any) -> Any:
    """Return where the amounts are equal, and the fees too or the books name none."""
    differs = ours ^ theirs
    return (differs == 0) | ((differs >> _FEE == 0) & (theirs & _NO_FEE == _NO_FEE))


def agree(service: Side, books: Side, ours: Any, theirs: Any) -> Any:
    """Return which pairs are matched, or say alike that nothing is owed."""
    facts, lines = service.facts[ours], books.facts[theirs]
    equal = same_money(service.money[ours], books.money[theirs])
    matched = (facts >> _CLASS == PAID) & (facts == lines) & equal
    lost = (facts >> _CLASS == LOST) & (facts >> _CURRENCY == lines >> _CURRENCY)
    return matched | lost


def same_text(these: Any, those: Any, ours: Any, theirs: Any) -> Any:
    """Return whether the texts at paired places are equal; a missing one equals nothing."""
    same = np.zeros(len(ours), dtype=bool)
    for block in blocks(len(ours)):
        equal = compute.equal(
            these.take(pa.array(ours[block])), those.take(pa.array(theirs[block]))
        )
        same[block] = compute.fill_null(equal, fill_value=False).to_numpy(zero_copy_only=False)
    return same
