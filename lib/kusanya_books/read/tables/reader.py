"""One file on its way to a frame: its columns by our names, and why rows fall away.

A row that cannot be read is rejected with its number, its column and the reason, never repaired.
Reasons never quote a value: it may be a person's.
"""

import re
from collections.abc import Callable
from typing import Any, Final

import pandas as pd

from kusanya.domain.business_day import YEARS
from kusanya.domain.channels import channel_code
from kusanya.errors import InputRefused
from kusanya.text import safe
from kusanya_books.columns import DType
from kusanya_books.read.mapping import Layout, Needs
from kusanya_books.read.tables import dates, footers, headers, numbers
from kusanya_books.read.tables.row_account import RowAccount
from kusanya_books.read.tables.sheet import Fits, Sheet

TEXTS: Final = ("reference", "collection_id", "receipt", "batch_id", "currency", "channel")
"""Columns of text that a spreadsheet likes to turn into numbers."""
_ISO: Final = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?(?:Z|[+-]\d{2}:?\d{2})?"
_DATES: Final = ("booked_at", "at", "business_day")
_AMOUNTS: Final = ("amount", "money_in", "money_out", "net")
_MONEY: Final = (*_AMOUNTS, "gross", "fee", "balance")
_NO_NUMBER: Final = ("-", "--", "\u2013", "\u2014", "nil", "Nil", "NIL", "n/a", "N/A")
"""What stands in a column of money where there is none."""
_USUAL: Final[dict[str, Callable[[str], str]]] = {
    "channel": channel_code,
    "currency": numbers.currency_of,
    "side": numbers.side_of,
}
"""What gives the code behind the names that people write, where no mapping says it."""
_TIMES: Final = ("%H", "%I", "%T", "%X", "%c", "%s")
_SHORTENED: Final = r"[0-9][.,][0-9]+[eE]\+[0-9]+"
_LOST: Final = "lost digits in a spreadsheet, which wrote it as 1.2E+11: export it as text"
_LONG: Final = "more cells than the header has: they may stand under the wrong column"


def fits_of(layout: Layout, needs: Needs, *, books: bool = False) -> Fits:
    """Return what tells whether a row is the header: it has a column for each of `needs`."""
    wanted = [
        {headers.key(known) for name in group for known in _names(layout, name, books=books)}
        for group in needs
        # A currency may also stand beside the amounts.
        if group != ("currency",) or layout.names("currency")
        if not any(layout.constant(name) for name in group)
    ]

    def fits(row: Any) -> bool:
        cells = {headers.key(cell) for cell in row if cell}
        cells |= {headers.bare(cell)[0] for cell in row if cell}
        return all(cells & names for names in wanted)

    return fits


def _names(layout: Layout, name: str, *, books: bool) -> tuple[str, ...]:
    """Return what our column may be called: as the mapping says, else our name or a known one."""
    if name in layout.columns:
        return layout.names(name)
    # A mapping says all there is to say: what it leaves out is not looked for by other names.
    return (name,) if layout.columns else headers.names_of(name, books=books)


def _stripped(text: Any) -> Any:
    """Return text without blanks around it, missing where nothing is left; itself where it may."""
    bare = text.str.strip()
    # A large file is kept once, not twice.
    bare = text if bare.equals(text) else bare
    empty = bare == ""
    return bare.mask(empty) if empty.any() else bare


def _each(text: Any, usual: Callable[[str], str]) -> Any:
    """Return a column of few words with each replaced; itself where none is."""
    codes = {word: usual(word) for word in text.dropna().unique()}
    if all(word == code for word, code in codes.items()):
        return text
    return text.map(codes, na_action="ignore").astype(DType.TEXT.pandas)


def _said(name: str) -> str:
    return "date" if name == "at" else name


class SheetReader(RowAccount):
    """A sheet's columns by our names. `rows` marks what is left out before anything is read."""

    def __init__(
        self,
        sheet: Sheet,
        layout: Layout,
        needs: Needs,
        may: Any,
        *,
        books: bool = False,
        cents: bool = False,
    ) -> None:
        super().__init__(sheet, layout, unit=numbers.HUNDREDTHS if cents else 1)
        self.books = books
        self.columns = {name: self._column(name) for group in (*needs, may) for name in group}
        for group in needs:
            lacks = all(self.columns[name] is None for name in group)
            if lacks and not (group == ("currency",) and self._has_words_beside_amounts()):
                self._refuse(*group)
        self.skipped = footers.skipped(
            sheet,
            layout,
            date=self._first(_DATES),
            amounts=self._all(_AMOUNTS) or self._all(("gross",)),
            balance=self.headers.get("balance"),
        )
        self.reject(self.index.isin(list(sheet.long)), _LONG)
        self._mark = layout.thousands or self._proven_mark()
        self.written: Any = self._nothing()

    def _has_words_beside_amounts(self) -> bool:
        if self._currency_of_headers():
            return True
        columns = [self.columns[name] for name in (*_AMOUNTS, "gross") if self.has(name)]
        return any(text.str.contains("[A-Za-z]", regex=True).any() for text in columns)

    def _currency_of_headers(self) -> str | None:
        """Return the currency that the headers of the amounts say, where they say one."""
        said = (headers.bare(name)[1] for name in self._all((*_AMOUNTS, "gross")))
        codes = {code for code in said if code}
        return codes.pop() if len(codes) == 1 else None

    def _all(self, names: tuple[str, ...]) -> list[str]:
        found = (self.headers.get(name) for name in names)
        return [header for header in found if header]

    def _first(self, names: tuple[str, ...]) -> str | None:
        return next(iter(self._all(names)), None)

    def _proven_mark(self) -> str | None:
        """Return the mark for thousands that one of the columns of money proves for all."""
        columns = [self.columns[name] for name in _MONEY if self.has(name)]
        return numbers.mark_of(columns) if self.layout.thousands is None else ""

    def _refuse(self, name: str, *others: str) -> None:
        """Refuse a file that lacks a column; `others` could stand in its place."""
        header = " or ".join(safe(each, 60) for each in self.layout.names(name) or (name,))
        raise InputRefused(
            f"{self.sheet.name} has no column {header} for {name}; "
            f"name {' or '.join(('it', *others))} in the mapping, or give a constant"
        )

    def _column(self, name: str) -> Any:
        frame = self.sheet.frame
        self.headers[name] = None
        constant, said = self.layout.constant(name), name in self.layout.columns
        if constant is not None:
            return pd.Series(constant, index=frame.index, dtype=DType.TEXT.pandas)
        names = _names(self.layout, name, books=self.books)
        columns = list(frame.columns)
        exact = [each for each in names if each in frame] or [
            header for each in names for header in headers.place_of((each,), columns)
        ]
        found = exact or headers.known_in(names, columns)
        # Of several names that a mapping says the first counts.
        if len(found) > 1 and not (said and exact):
            own = [header for header in found if headers.key(header) == headers.key(name)]
            if not own:
                both = " and ".join(safe(header, 40) for header in found[:2])
                raise InputRefused(
                    f"{self.sheet.name}: {both} may both be {name}; name one in the mapping"
                )
            found = own
        if not found:
            if said and name not in self.layout.optional:
                self._refuse(name)
            return None
        header = str(found[0])
        self.headers[name] = header
        if not said and headers.key(header) != headers.key(name):
            self._warn(self.sheet.header_row, f"read as {name}", header)
        return self._cells(header, is_money=name in _MONEY)

    def _cells(self, header: str, *, is_money: bool) -> Any:
        """Return a column by the file's own name, missing where a cell says nothing."""
        if header in self.sheet.doubled:
            raise InputRefused(
                f"{self.sheet.name} has two columns called {safe(header, 60)}; rename one"
            )
        text = _stripped(self.sheet.frame[header])
        is_empty = text.isin(_NO_NUMBER) if is_money else None
        return text if is_empty is None or not is_empty.any() else text.mask(is_empty)

    def has(self, name: str) -> bool:
        """Return whether the file or the mapping gives a column of ours."""
        return self.columns.get(name) is not None

    def taxes(self) -> dict[str, Any]:
        """Return the file's columns of taxes on a fee; none where a mapping says what is read.

        A cell that is no whole number says nothing.
        """
        columns = list(self.sheet.frame.columns)
        found = [] if self.layout.columns else headers.known_in(headers.TAXES, columns)
        self.headers |= dict(zip(found, found, strict=True))
        cells = {header: self._cells(header, is_money=True) for header in found}
        return {header: self._read(header, text).whole for header, text in cells.items()}

    def text(self, name: str) -> Any:
        """Return a column as text; one that the file lacks is missing throughout."""
        return self._nothing() if self.columns.get(name) is None else self.columns[name]

    def words(self, name: str) -> Any:
        """Return a column in our words; one that the mapping does not name is rejected."""
        text = self.text(name)
        words = self.layout.values.get(name)  # noqa: PD011 - a mapping, no frame
        if not words:
            usual = _USUAL.get(name)
            return text if usual is None else _each(text, usual)
        mapped = text.map(words).astype(DType.TEXT.pandas)
        unnamed = text.notna() & mapped.isna()
        self.reject(unnamed, f"{name} is none of those that the mapping names", name)
        return mapped

    def number(self, name: str, *, required: bool = False, signed: bool = False) -> Any:
        """Return a column of whole numbers; fractions and exponents are rejected.

        Of a file with cents they are hundredths.
        """
        values = self._whole(name, self.headers.get(name), self.text(name), signed=signed)
        if required:
            self.reject(self.text(name).isna(), f"{name} is missing", name)
        for header in self.layout.added.get(name, ()):
            values = values.add(self._part(header, signed=signed), fill_value=0)
        return values

    def _part(self, header: str, *, signed: bool) -> Any:
        """Return another column of whole numbers, by the file's own name."""
        found = headers.place_of((header,), list(self.sheet.frame.columns))
        if not found:
            raise InputRefused(f"{self.sheet.name} has no column {safe(header, 60)} to add")
        self.headers.setdefault(header, found[0])
        written = self.written
        text = self._cells(found[0], is_money=True)
        values = self._whole(header, found[0], text, signed=signed)
        self.written = written
        return values

    def _whole(self, name: str, header: str | None, text: Any, *, signed: bool) -> Any:
        found = self._read(header, text)
        self._reject_each(found.reasons, name, of=safe(name, 60))
        values = found.whole
        if not signed:
            below = (values < 0).fillna(False).astype(bool)
            self.reject(below, f"{safe(name, 60)} is less than 0", name)
            values = values.mask(below)
        self.written = found.currencies
        return values

    def _read(self, header: str | None, text: Any) -> numbers.Numbers:
        typed = None if header is None else self.sheet.cells(self.sheet.numeric, header)
        return numbers.read(
            text,
            thousands=self._mark,
            was_number=typed,
            sided=not self.books,
            cents=self.unit > 1,
        )

    def money(self) -> tuple[Any, Any]:
        """Return signed amounts and the currency written beside them.

        Either one column of amounts, or two: money in, and money out with or without a sign.
        """
        if self.has("amount"):
            amount = self.number("amount", required=True, signed=True)
            return self._sided(amount) if self.has("side") else amount, self.written
        into = self.number("money_in", signed=True)
        currency = self.written
        out = self.number("money_out", signed=True)
        currency = currency.fillna(self.written)
        # A row of totals has both.
        both = ((into != 0) & (out != 0)).fillna(False).astype(bool) & self.skipped.isna()
        self.reject(both, "money in and money out both have an amount", "money_out")
        nothing = self.text("money_in").isna() & self.text("money_out").isna()
        self.reject(nothing, "amount is missing", "money_in")
        amount = into.fillna(0) - out.abs().fillna(0)
        unread = (into.isna() & self.text("money_in").notna()) | (
            out.isna() & self.text("money_out").notna()
        )
        return amount.mask(nothing | both | unread), currency

    def _sided(self, amount: Any) -> Any:
        """Return amounts with the sign that a column beside them says: Cr is money in, Dr out."""
        is_said = "side" in self.layout.values  # noqa: PD011 - a mapping, no frame
        if self.books and not is_said:
            raise InputRefused(
                f"{self.sheet.name}: {safe(self.headers['side'] or 'side', 60)} says Dr or Cr, and "
                "of books only a mapping says which is money in: "
                'values.side = { Dr = "in", Cr = "out" }'
            )
        side = self.words("side")
        self.reject(~side.isin(["in", "out"]), "side is neither money in nor money out", "side")
        opposed = (side == "in") & (amount < 0)
        self.reject(opposed, "amount is less than 0, and its side is money in", "side")
        is_out = (side == "out").fillna(False).astype(bool)
        return amount.abs().mask(is_out, -amount.abs())

    def currency(self, written: Any = None) -> Any:
        """Return the currency column; without one, what is written beside the amounts."""
        of_headers = self._currency_of_headers()
        if of_headers and written is not None:
            others = (written != of_headers).fillna(False).astype(bool)
            self.reject(others, "amount is written in another currency", "amount")
            written = written.fillna(of_headers)
        if not self.has("currency"):
            if written is None or written[self.skipped.isna()].isna().all():
                self._refuse("currency")
            self.reject(written.isna(), "currency is missing", "amount")
            return written
        text = self.text("currency")
        self.reject(text.isna(), "currency is missing", "currency")
        words = self.words("currency")
        if written is not None:
            differs = (written.notna() & words.notna() & (written != words)).fillna(False)
            self.reject(differs.astype(bool), "amount is written in another currency", "amount")
        return words

    def instants(self, name: str) -> tuple[Any, bool]:
        """Return a column of instants, and whether the file says days only."""
        text, form, header = self.text(name), self.layout.date_format, self.headers.get(name)
        typed = self.sheet.cells(self.sheet.dates, header or "")
        numeric = self.sheet.cells(self.sheet.numeric, header or "")
        self.reject(text.isna(), f"{_said(name)} is missing", name)
        swapped = {"swapped": True}.get(self.layout.excel_dates, None if form is None else False)
        if form is not None:
            return self._formed(name, text, form, typed | numeric, swapped=bool(swapped))
        if not (typed.any() or numeric.any()) and text.str.fullmatch(_ISO).all():
            return self._iso(name, text)
        read = dates.read(
            text.where(self.skipped.isna()),
            zone=self.layout.zone,
            was_date=typed,
            was_number=numeric,
            swapped=swapped,
            day_first={"day": True, "month": False}.get(self.layout.date_order or ""),
        )
        self._reject_each(read.reasons, name, of=_said(name))
        return read.instants, read.days_only

    def _iso(self, name: str, text: Any) -> tuple[Any, bool]:
        days_only = bool(text.dropna().str.fullmatch(r"\d{4}-\d{2}-\d{2}").all())
        offset = text.str.contains(r"(?:Z|[+-]\d{2}:?\d{2})$", regex=True).fillna(False)
        offset &= ~text.str.fullmatch(r"\d{4}-\d{2}-\d{2}").fillna(False)
        stamped = pd.to_datetime(
            text.where(offset), format="ISO8601", utc=True, errors="coerce"
        ).astype("datetime64[us, UTC]")
        bare = pd.to_datetime(text.mask(offset), format="ISO8601", errors="coerce")
        return self._known(name, stamped.fillna(self._local(bare))), days_only

    def _formed(
        self, name: str, text: Any, form: str, typed: Any, *, swapped: bool
    ) -> tuple[Any, bool]:
        days_only = not any(mark in form for mark in _TIMES)
        own = pd.Series(typed, index=self.index)
        written = text.mask(own)
        if re.search("%[bB]", form):
            written = dates.in_english(written)
        bare = pd.to_datetime(written, format=form, errors="coerce")
        if getattr(bare.dtype, "tz", None) is not None:
            at, days_only = bare.dt.tz_convert("UTC").astype("datetime64[us, UTC]"), False
        else:
            at = self._local(bare)
        if typed.any():
            read = dates.read(
                text.where(own),
                zone=self.layout.zone,
                was_date=typed,
                was_number=typed,
                swapped=swapped,
            )
            at, days_only = at.fillna(read.instants), days_only and read.days_only
        return self._known(name, at), days_only

    def _local(self, bare: Any) -> Any:
        local = bare.astype("datetime64[us]").dt.tz_localize(
            self.layout.zone, ambiguous="NaT", nonexistent="NaT"
        )
        return local.dt.tz_convert("UTC")

    def _known(self, name: str, at: Any) -> Any:
        at = at.where(at.dt.year.between(YEARS[0], YEARS[-1]))
        self.reject(at.isna(), f"{_said(name)} {dates.NO_DATE}", name)
        return at.astype("datetime64[us, UTC]")

    def numbers_in_text(self) -> None:
        """Warn of every text cell that was a number, reject those that lost digits by it."""
        for name in TEXTS:
            if (text := self.columns.get(name)) is not None:
                self.reject(text.str.fullmatch(_SHORTENED), f"{name} {_LOST}", name)
        names = {self.headers.get(name): name for name in TEXTS if self.headers.get(name)}
        for row, header in sorted(self.sheet.numeric):
            if header in names and row in self.index and pd.isna(self.skipped[row]):
                self._warn(row, f"{names[header]} was a number, not text", header)
