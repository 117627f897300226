"""The account of a sheet's rows: which are kept, and why the others are not."""

from typing import Any

import pandas as pd

from kusanya.text import safe
from kusanya_books.columns import DType
from kusanya_books.read.mapping import Layout
from kusanya_books.read.tables.footers import TOTAL
from kusanya_books.read.tables.sheet import Sheet
from kusanya_books.request.quality import FileTotal, Quality, Remark, file_total


class RowAccount:
    """Why rows of a sheet are skipped, rejected or remarked upon; the first reason counts."""

    def __init__(self, sheet: Sheet, layout: Layout, *, unit: int = 1) -> None:
        self.sheet, self.layout, self.unit = sheet, layout, unit
        """A sum that the file writes is of so many parts of a whole."""
        self.index = sheet.frame.index
        self.headers: dict[str, str | None] = {}
        """What the file calls each of our columns."""
        self.reason = self._nothing()
        self.where = self._nothing()
        self.skipped = self._nothing()
        self.warnings: list[Remark] = [
            Remark(row=None, verdict="warned", reason=note) for note in sheet.notes
        ]

    def _nothing(self) -> Any:
        return pd.Series(pd.NA, index=self.index, dtype=DType.TEXT.pandas)

    def reject(self, rows: Any, reason: str, name: str | None = None) -> None:
        """Reject rows that have no reason yet and were not skipped; `name` is our column's."""
        chosen = pd.Series(rows, index=self.index).fillna(False).astype(bool)
        if chosen.any():
            self._reject_each(self._nothing().mask(chosen, reason), name)

    def _reject_each(self, reasons: Any, name: str | None, *, of: str = "") -> None:
        """Reject every row that has a reason; `of` is what the reasons are about."""
        fresh = reasons.notna() & self.reason.isna() & self.skipped.isna()
        if fresh.any():
            if of:
                reasons = (f"{of} " + reasons).astype(DType.TEXT.pandas)
            self.reason = self.reason.mask(fresh, reasons)
            header = self.headers.get(name or "")
            self.where = self.where.mask(fresh, pd.NA if header is None else safe(header, 60))

    def _warn(self, row: int, reason: str, header: str | None) -> None:
        column = None if header is None else safe(header, 60)
        self.warnings.append(Remark(row=row, verdict="warned", reason=reason, column=column))

    def warn(self, rows: Any, reason: str, name: str | None = None) -> None:
        """Say something of rows that are kept."""
        for row in self.index[rows.fillna(False).astype(bool) & self.kept()]:
            self._warn(int(row), reason, self.headers.get(name or ""))

    def warn_once(self, rows: Any, reason: str, name: str | None = None) -> None:
        """Say something of rows that are kept, at the first of them."""
        said = rows.fillna(False).astype(bool) & self.kept()
        self.warn(said & ~said.shift(fill_value=False).cummax(), reason, name)

    def kept(self) -> Any:
        """Return which rows are neither skipped nor rejected so far."""
        return self.skipped.isna() & self.reason.isna()

    def finish(
        self,
        source: str,
        *,
        amount: Any = None,
        currency: Any = None,
        written: Any = None,
        counts: Any = None,
    ) -> Any:
        """Return which rows are kept, and the account.

        `written` are the amounts with the signs that the file gives them, `amount` where None;
        `counts` tells which rows are paid, all where None. A file's own total is of either. What is
        `written` is in parts of the file's unit.
        """
        kept = self.kept()
        written = amount if written is None else written
        said = [] if currency is None else list(currency[kept].dropna().unique())
        alone = str(said[0]) if len(said) == 1 else None
        skipped = self.index[self.skipped.notna()]
        rejected = self.index[self.reason.notna() & self.skipped.isna()]
        remarks = [
            *self.warnings,
            *(self._skip_remark(row, written, alone) for row in skipped),
            *(self._reject_remark(row, amount, currency) for row in rejected),
        ]
        remarks.sort(key=lambda remark: (remark.row or 0, remark.verdict))
        return kept, Quality(
            source=f"{source} {safe(self.sheet.name)}",
            rows=len(self.sheet.frame),
            kept=int(kept.sum()),
            remarks=tuple(remarks),
            sha256=self.sheet.sha256,
            layout_sha256=None if self.layout == Layout() else self.layout.sha256,
            total=None if written is None else self._total(written, kept, counts, alone),
        )

    def _skip_remark(self, row: Any, written: Any, currency: str | None) -> Remark:
        return Remark(
            row=int(row),
            verdict="skipped",
            reason=str(self.skipped[row]),
            amount=self._stated(row, written),
            currency=currency,
        )

    def _reject_remark(self, row: Any, amount: Any, currency: Any) -> Remark:
        return Remark(
            row=int(row),
            verdict="rejected",
            reason=str(self.reason[row]),
            column=_plain(self.where[row]),
            amount=None if amount is None else _plain(amount[row], int),
            currency=None if currency is None else _plain(currency[row]),
        )

    def _total(
        self, written: Any, kept: Any, counts: Any, currency: str | None
    ) -> FileTotal | None:
        """Return what the file states of itself beside what its rows come to.

        The last total is the file's, or all of them together are where each is of a part; it is of
        all rows, or of those that count. Of these readings the one that agrees is taken.
        """
        is_total = (self.skipped == TOTAL).fillna(False).astype(bool)
        stated = [int(amount) for amount in written[is_total].dropna()]
        if not stated:
            return None
        rejected = self.reason.notna() & self.skipped.isna()
        some = kept if counts is None else kept & counts.fillna(False).astype(bool)
        found = [
            file_total(
                currency,
                said,
                rows=int(rows.sum()),
                read=_sum(written[rows]),
                unread=_sum(written[rejected]),
                unit=self.unit,
            )
            for said in (stated[-1], sum(stated))
            for rows in (kept, some)
        ]
        return next((total for total in found if total.difference == 0), found[0])

    def _stated(self, row: Any, amount: Any) -> int | None:
        """Return what a row of totals says of a file, where it can be read."""
        is_total = amount is not None and self.skipped[row] == TOTAL
        said = _plain(amount[row], int) if is_total else None
        return None if said is None else said // self.unit


def _sum(amounts: Any) -> int:
    # In whole numbers of Python: a sum of the column's own would wrap around in silence.
    return sum(int(amount) for amount in amounts.dropna())


def _plain(value: Any, kind: Any = str) -> Any:
    return None if pd.isna(value) else kind(value)
