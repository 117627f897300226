"""The merchant's books and the provider's statement, from files into frames, with an account.

A row that cannot be read is rejected with its number and the reason, never repaired; with one
rejected row nothing is closed. Reasons name columns and never quote a value.
"""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pandas as pd

from kusanya.errors import InputRefused
from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import LEDGER, STATEMENT, DType
from kusanya.reconcile.frames.days import business_days
from kusanya.reconcile.frames.quality import Quality, Remark
from kusanya.reconcile.inputs import spreadsheets
from kusanya.reconcile.inputs.mapping import (
    LEDGER_MAY,
    LEDGER_NEEDS,
    STATEMENT_MAY,
    STATEMENT_NEEDS,
    Layout,
)
from kusanya.reconcile.inputs.spreadsheets import Sheet
from kusanya.text import safe

_STATUSES: Final = frozenset({"paid", "open", "not_paid"})
_TEXTS: Final = ("reference", "collection_id", "batch_id", "currency", "channel")
_DIGITS_MAX: Final = 18
"""Longest whole number taken: the next digit could pass 63 bits."""
_TIMES: Final = ("%H", "%I", "%T", "%X", "%c", "%s")
_SAY: Final = "say in the mapping which mark thousands have"


class _SheetReader:
    """One file on its way: its canonical columns, and why rows fall away."""

    def __init__(self, sheet: Sheet, layout: Layout, needs: tuple[str, ...], may: Any) -> None:
        self.sheet, self.layout = sheet, layout
        self.reason = pd.Series(pd.NA, index=sheet.frame.index, dtype=DType.TEXT.pandas)
        self.skipped = self._skips()
        self.columns = {name: self._column(name, needed=name in needs) for name in (*needs, *may)}
        self.kept = ~self.skipped

    def _skips(self) -> "pd.Series[bool]":
        frame, rule = self.sheet.frame, self.layout.skip_when
        blank = frame.isna().all(axis=1)
        if rule is None:
            return blank
        if rule.column not in frame:
            raise InputRefused(f"{self.sheet.name} has no column {safe(rule.column)} to skip by")
        return blank | frame[rule.column].str.strip().isin(rule.equals).fillna(False).astype(bool)

    def _column(self, name: str, *, needed: bool) -> Any:
        frame = self.sheet.frame
        header = self.layout.columns.get(name, name)
        if header.startswith("="):
            return pd.Series(header[1:], index=frame.index, dtype=DType.TEXT.pandas)
        if header in frame:
            text = frame[header].str.strip()
            return text.mask(text == "")
        if needed or name in self.layout.columns:
            raise InputRefused(
                f"{self.sheet.name} has no column {safe(header)} for {name}; "
                "name it in the mapping, or give a constant"
            )
        return None

    def header(self, name: str) -> str:
        return self.layout.columns.get(name, name)

    def text(self, name: str) -> Any:
        column = self.columns[name]
        missing = pd.Series(pd.NA, index=self.sheet.frame.index, dtype=DType.TEXT.pandas)
        return missing if column is None else column

    def reject(self, rows: Any, reason: str) -> None:
        """Reject rows that have no reason yet and were not skipped."""
        self.reason = self.reason.mask(rows & self.reason.isna() & ~self.skipped, reason)

    def words(self, name: str) -> Any:
        """Return a column in our words; one that the mapping does not name is rejected."""
        text = self.text(name)
        words = self.layout.values.get(name)  # noqa: PD011 - a mapping, no frame
        if not words:
            return text
        mapped = text.map(words).astype(DType.TEXT.pandas)
        self.reject(text.notna() & mapped.isna(), f"{name} is none of those that the mapping names")
        return mapped

    def whole(self, name: str, *, required: bool = False) -> Any:
        """Return a column of whole numbers; fractions, exponents and signs are rejected."""
        text = self.text(name)
        if text.str.fullmatch(rf"[0-9]{{1,{_DIGITS_MAX}}}").all():
            if required:
                self.reject(text.isna(), f"{name} is missing")
            return text.astype(DType.WHOLE.pandas)
        mark = self.layout.thousands
        decimal = "," if mark == "." else "."
        plain = text.str.replace("\u00a0", "", regex=False)
        groups = r"\d{1,3}(?:[%s]\d{3})+"
        other = plain.str.fullmatch(groups % decimal).fillna(False).astype(bool)
        self.reject(other, f"{name} has {decimal} for thousands or a fraction: {_SAY}")
        if mark:
            whole = rf"{groups % re.escape(mark)}(?:[{decimal}]0{{1,2}})?"
            grouped = plain.str.fullmatch(whole).fillna(False)
            plain = plain.mask(grouped, plain.str.replace(mark, "", regex=False))
        plain = plain.mask(other).str.replace(rf"[{decimal}]0{{1,2}}$", "", regex=True)
        good = plain.str.fullmatch(rf"[0-9]{{1,{_DIGITS_MAX}}}").fillna(False).astype(bool)
        self.reject(text.notna() & ~good, f"{name} is not a whole number of at least 0")
        if required:
            self.reject(text.isna(), f"{name} is missing")
        return plain.where(good).astype(DType.WHOLE.pandas)

    def instants(self, name: str) -> tuple[Any, bool]:
        """Return a column of instants, and whether the file says days only."""
        text, form = self.text(name), self.layout.date_format
        if form is None:
            days_only = bool(text.dropna().str.fullmatch(r"\d{4}-\d{2}-\d{2}").all())
            offset = text.str.contains(r"(?:Z|[+-]\d{2}:?\d{2})$", regex=True).fillna(False)
            stamped = pd.to_datetime(
                text.where(offset), format="ISO8601", utc=True, errors="coerce"
            ).astype("datetime64[us, UTC]")
            bare = pd.to_datetime(text.mask(offset), format="ISO8601", errors="coerce")
        else:
            days_only = not any(mark in form for mark in _TIMES)
            stamped = pd.Series(pd.NaT, index=text.index, dtype=DType.INSTANT.pandas)
            bare = pd.to_datetime(text, format=form, errors="coerce")
            if getattr(bare.dtype, "tz", None) is not None:
                return self._known(name, text, bare.dt.tz_convert("UTC"), days_only=False)
        local = bare.astype("datetime64[us]").dt.tz_localize(
            self.layout.zone, ambiguous="NaT", nonexistent="NaT"
        )
        at = stamped.fillna(local.dt.tz_convert("UTC"))
        return self._known(name, text, at, days_only=days_only)

    def _known(self, name: str, text: Any, at: Any, *, days_only: bool) -> tuple[Any, bool]:
        self.reject(text.isna(), f"{name} is missing")
        self.reject(at.isna(), f"{name} is not a date as the mapping says they are written")
        return at.astype("datetime64[us, UTC]"), days_only

    def numbers_in_text(self) -> list[Remark]:
        """Return a warning for every text cell that the spreadsheet kept as a number."""
        headers = {self.header(name): name for name in _TEXTS if self.columns.get(name) is not None}
        return [
            Remark(row=row, verdict="warned", reason=f"{headers[header]} was a number, not text")
            for row, header in sorted(self.sheet.numeric)
            if header in headers and row in self.sheet.frame.index and not self.skipped[row]
        ]

    def finish(self, source: str, warnings: list[Remark]) -> tuple[Any, Quality]:
        """Return which rows are kept, and the account."""
        rejected = self.reason.notna() & ~self.skipped
        kept = ~rejected & ~self.skipped
        remarks = [
            *(
                Remark(row=int(row), verdict="skipped", reason="not an entry")
                for row in self.skipped.index[self.skipped]
            ),
            *(
                Remark(row=int(row), verdict="rejected", reason=str(self.reason[row]))
                for row in rejected.index[rejected]
            ),
            *warnings,
        ]
        remarks.sort(key=lambda remark: (remark.row or 0, remark.verdict))
        return kept, Quality(
            source=f"{source} {safe(self.sheet.name)}",
            rows=len(self.sheet.frame),
            kept=int(kept.sum()),
            remarks=tuple(remarks),
            sha256=self.sheet.sha256,
        )


def ledger(
    path: Path, layout: Layout | None = None, *, cutoff: timedelta = timedelta(0)
) -> tuple[pd.DataFrame, Quality]:
    """Read the books. A line has a reference or a collection's id; without a status it is paid.

    Raises InputRefused when the file as a whole cannot be used.
    """
    form = layout or Layout()
    reader = _SheetReader(spreadsheets.read(path, form), form, LEDGER_NEEDS, LEDGER_MAY)
    at, days_only = reader.instants("booked_at")
    reference, named = reader.text("reference"), reader.text("collection_id")
    reader.reject(reference.isna() & named.isna(), "reference and collection_id are both missing")
    status = _status(reader)
    frame = pd.DataFrame(
        {
            "row_no": reader.sheet.frame.index,
            "reference": reference,
            "collection_id": named,
            "amount": reader.whole("amount", required=True),
            "fee": reader.whole("fee"),
            "currency": _needed(reader, "currency"),
            "channel": reader.words("channel"),
            "status": status,
            "booked_at": at,
            "booked_day": _days(at, form, days_only=days_only, cutoff=cutoff),
        }
    )
    kept, quality = reader.finish("ledger", reader.numbers_in_text())
    return columns.frame(LEDGER, frame[kept]), quality


def statement(path: Path, layout: Layout | None = None) -> tuple[pd.DataFrame, Quality]:
    """Read a settlement statement: a line per day and channel, or per collection.

    Raises InputRefused when the file as a whole cannot be used.
    """
    form = layout or Layout()
    reader = _SheetReader(spreadsheets.read(path, form), form, STATEMENT_NEEDS, STATEMENT_MAY)
    named = reader.text("collection_id")
    dated = reader.columns["business_day"] is not None
    if not dated and named.isna().any():
        raise InputRefused("a statement has a business_day or a collection_id on every line")
    if named.notna().any() and (named.isna() & ~reader.skipped).any():
        raise InputRefused("a statement names a collection on every line or on none")
    at, _ = reader.instants("business_day") if dated else (_no_instants(reader), True)
    gross, fee = reader.whole("gross"), reader.whole("fee")
    net = reader.whole("net", required=True)
    odd = ((gross - fee) != net).fillna(False).astype(bool) & ~reader.skipped
    warnings = [
        Remark(row=int(row), verdict="warned", reason="net is not gross less fee")
        for row in odd.index[odd]
    ]
    frame = pd.DataFrame(
        {
            "line_no": reader.sheet.frame.index,
            "batch_id": reader.text("batch_id"),
            "collection_id": named,
            "business_day": _days(at, form, days_only=True, cutoff=timedelta(0)),
            "channel": reader.words("channel"),
            "currency": _needed(reader, "currency"),
            "gross": gross,
            "fee": fee,
            "net": net,
            "count": reader.whole("count"),
        }
    )
    kept, quality = reader.finish("statement", [*warnings, *reader.numbers_in_text()])
    return columns.frame(STATEMENT, frame[kept]), quality


def _needed(reader: _SheetReader, name: str) -> Any:
    reader.reject(reader.text(name).isna(), f"{name} is missing")
    return reader.words(name)


def _status(reader: _SheetReader) -> Any:
    if reader.columns["status"] is None:
        return pd.Series("paid", index=reader.sheet.frame.index, dtype=DType.TEXT.pandas)
    status = reader.words("status")
    reader.reject(~status.isin(_STATUSES), "status is none of those that the mapping names")
    return status


def _days(at: Any, layout: Layout, *, days_only: bool, cutoff: timedelta) -> Any:
    if not days_only:
        return business_days(at, cutoff=cutoff)
    # A date without a time is already a business day: no cutoff moves it.
    return at.dt.tz_convert(layout.zone).dt.tz_localize(None).dt.normalize()


def _no_instants(reader: _SheetReader) -> Any:
    return pd.Series(pd.NaT, index=reader.sheet.frame.index, dtype=DType.INSTANT.pandas)
