"""A first mapping for a file that nobody has described yet: guessed, shown, and said to be a guess.

Reading for a close never guesses; this is for the person who then looks and keeps the TOML.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.domain.channels import CHANNELS, channel_code
from kusanya.errors import InputRefused
from kusanya.text import safe
from kusanya_books.read import files, movements, spreadsheets
from kusanya_books.read.mapping import (
    LEDGER_MAY,
    LEDGER_NEEDS,
    MOVEMENT_MAY,
    MOVEMENT_NEEDS,
    STATEMENT_MAY,
    STATEMENT_NEEDS,
    Layout,
    Needs,
)
from kusanya_books.read.mappings import SHIPPED, shipped
from kusanya_books.read.tables import dates, headers, numbers, text_files
from kusanya_books.read.tables.reader import fits_of
from kusanya_books.read.tables.sheet import HEADER_ROWS, Sheet
from kusanya_books.request.quality import Quality

ROLES: Final = ("ledger", "operator", "bank", "statement")
_COLUMNS: Final[dict[str, tuple[Needs, tuple[str, ...]]]] = {
    "ledger": (LEDGER_NEEDS, LEDGER_MAY),
    "operator": (MOVEMENT_NEEDS, MOVEMENT_MAY),
    "bank": (MOVEMENT_NEEDS, MOVEMENT_MAY),
    "statement": (STATEMENT_NEEDS, STATEMENT_MAY),
}
_DATES: Final = ("booked_at", "at", "business_day")
_MONEY: Final = ("amount", "money_in", "money_out", "fee", "balance", "net", "gross")
_WITHIN: Final = {
    **dict.fromkeys(_DATES, ("date", "time", "tarehe", "posted", "created", "day")),
    "amount": ("amount", "kiasi", "total", "value"),
    "net": ("net", "amount", "kiasi"),
    "reference": ("ref", "invoice", "order", "kumbukumbu", "ankara", "document", "num", "voucher"),
    "receipt": ("receipt", "risiti", "muamala", "transaction id"),
    "currency": ("currency", "sarafu"),
    "fee": ("fee", "charge", "ada"),
    "details": ("description", "details", "narrat", "maelezo"),
    "balance": ("balance", "salio"),
    "status": ("status", "hali"),
    "kind": ("type", "aina"),
    "money_in": ("paid in", "deposit"),
    "money_out": ("withdraw", "paid out"),
}
"""What a word in a header begins with that is known by no name; three letters are a whole word."""
_NEVER: Final = {"amount": r"\bvalue d", "balance": r"\b(?:previous|opening|before)\b"}
"""A header that holds this is none of our column, whatever else it says."""
_SIDES: Final = ("money_in", "money_out")
_NAMES_OF: Final = {
    "ledger": ("reference", "collection_id"),
    "operator": ("reference", "collection_id", "receipt"),
}
"""The columns by which a line meets its payment."""
_OF_WORDS: Final = frozenset({"kind", "status", "side"})
"""Columns that a mapping reads by its own list of their words."""
_WORDS_SHOWN: Final = 8
_HEADERS_SHOWN: Final = 12
_WHOLE_WORD: Final = 3
_NAMES_MIN: Final = 2
_BELOW: Final = (
    "{below} of {rows} amounts are less than 0, which reads them as money given back: if they are "
    'payments, take another column, or say kinds and signs = "kind"'
)


class Guess(msgspec.Struct, frozen=True, kw_only=True):
    """What a file looks like, and how it would be read."""

    role: str
    toml: str
    """The mapping; empty for a format that needs none."""
    known: tuple[str, ...]
    """What is certain of the file, in words."""
    uncertain: tuple[str, ...]
    """What a person must look at."""
    fits: tuple[str, ...]
    """Shipped mappings whose columns the file has."""
    rows: pd.DataFrame
    """The rows as they would be read."""
    quality: Quality


def guess(path: str | Path, role: str = "") -> Guess:
    """Return a first mapping of a file, and its rows as that would read them.

    `role` is ledger, operator, bank or statement; guessed where empty. Raises InputRefused where
    the file has no column of dates or of amounts that can be recognised.
    """
    file, sheet = spreadsheets.named(Path(path))
    if role not in {"", *ROLES}:
        raise InputRefused(f"a file is one of {', '.join(ROLES)}, not {safe(role, 40)}")
    data, _ = spreadsheets.load(file)
    bank_format = movements.format_of(data)
    if bank_format is not None:
        leg = role if role in {"operator", "bank"} else "bank"
        frame, quality = movements.read(file, leg=leg)
        known = (f"{bank_format}: needs no mapping",)
        return Guess(
            role=leg, toml="", known=known, uncertain=(), fits=(), rows=frame, quality=quality
        )
    found = _Looks(file, data, sheet)
    chosen = role or found.role()
    layout, uncertain = found.layout(chosen)
    if not role:
        uncertain.insert(0, f"read as {chosen}; say --as if it is something else")
    layout = spreadsheets.of_sheet(layout, sheet)
    # A net may say that the taxes beside a fee are in it already.
    forms = [layout, msgspec.structs.replace(layout, added={})] if layout.added else [layout]
    readings = [(form, *_read(file, form, chosen)) for form in forms]
    layout, frame, quality = min(readings, key=lambda reading: _doubtful(reading[2]))
    if layout.added:
        taxes = ", ".join(safe(header, 40) for header in layout.added["fee"])
        uncertain.append(f"taken to be part of the fee: {taxes}")
    below = int((frame["amount"] < 0).sum()) if "amount" in frame else 0
    # Of a bank's statement many are charges.
    if 2 * below > len(frame) and chosen != "bank":
        uncertain.append(_BELOW.format(below=below, rows=len(frame)))
    uncertain += [one.reason for one in quality.remarks if one.reason == files.TAKEN_OFF]
    return Guess(
        role=chosen,
        toml=to_toml(layout, chosen),
        known=tuple(found.known),
        uncertain=tuple(uncertain),
        fits=found.fits(chosen),
        rows=frame,
        quality=quality,
    )


def _doubtful(quality: Quality) -> int:
    """Return how many rows of a file were rejected, or have a net that is not gross less fee."""
    return sum(
        one.verdict == "rejected" or one.reason == files.NET_DIFFERS for one in quality.remarks
    )


class _Looks:
    """A file as it lies there: its header, and the columns below."""

    def __init__(self, path: Path, data: bytes, sheet: str | None = None) -> None:
        self.sheet: Sheet
        self.delimiter: str | None = None
        self.encoding: str | None = None
        self.known: list[str] = []
        form = Layout(sheet=sheet)
        if spreadsheets.is_text(path, data):
            text = spreadsheets.as_text(path, data, form)
            self.encoding = text.encoding if text.notes else None
            mark = max(
                text_files.DELIMITERS,
                key=lambda each: max(map(_score, text_files.start(text, each)), default=0),
            )
            self.delimiter = mark
            names = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar"}
            self.known += [f"encoding {text.encoding}", f"delimiter {names[mark]}"]
            form = Layout(delimiter=mark, encoding=self.encoding)
        rows = spreadsheets.grid(path, data, form, lambda row: _score(row) >= _NAMES_MIN).rows
        start = rows[:HEADER_ROWS]
        best = max(range(len(start)), key=lambda place: _score(start[place]), default=0)
        self.form = msgspec.structs.replace(form, header_row=best + 1)
        self.sheet = spreadsheets.read(path, self.form)
        self.known.append(f"header in row {best + 1}")

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.sheet.frame.columns]

    @property
    def _seen(self) -> str:
        """Return the first headers, for people."""
        return ", ".join(safe(name, 30) for name in self.names[:_HEADERS_SHOWN])

    def role(self) -> str:
        """Return what the file probably is, by its columns."""
        has = {name for name in headers.KNOWN if self._exact(name)}
        if "net" in has or {"gross", "fee"} <= has:
            return "statement"
        if "receipt" in has:
            # A bank names no receipt of its own, an operator always does.
            return "operator"
        return "bank" if has & {"money_in", "money_out", "balance", "side"} else "ledger"

    def _all(self, name: str) -> list[str]:
        """Return the headers that are known to be our column's."""
        return headers.known_in(headers.names_of(name), self.names)

    def _exact(self, name: str) -> str | None:
        return next(iter(self._all(name)), None)

    def layout(self, role: str) -> tuple[Layout, list[str]]:
        """Return the mapping, and what is uncertain about it."""
        needs, may = _COLUMNS[role]
        uncertain: list[str] = []
        columns: dict[str, str | tuple[str, ...]] = {}
        wanted = (*(each for group in needs for each in group), *may)
        exact = {header for name in wanted for header in self._all(name)}
        for name in wanted:
            header = self._exact(name)
            if name == "amount" and header is None and {*map(self._exact, _SIDES)} != {None}:
                continue
            if header is None or header in columns.values():
                header = self._within(name, {*columns.values(), *exact})
                if header is not None and name not in _OF_WORDS:
                    uncertain.append(f"{safe(header, 40)} is taken for {name}")
            if header is not None:
                columns[name] = header
        if "amount" in columns:
            columns = {name: at for name, at in columns.items() if not name.startswith("money_")}
        if "channel" in may and "channel" not in columns:
            self._channel(columns, uncertain)
        self._require(needs, columns)
        self._currency(columns, uncertain)
        layout = Layout(
            columns=columns,
            delimiter=None if self.delimiter == "," else self.delimiter,
            encoding=self.encoding,
            header_row=self.sheet.header_row,
            added=self._added(columns),
            thousands=self._thousands(columns, uncertain),
            date_order=self._order(columns, uncertain),
        )
        self._leave_out("kind", "kinds", layout.columns, uncertain)
        if role == "ledger":
            self._leave_out("status", "values.status", layout.columns, uncertain)
            self._leave_out("side", "values.side", layout.columns, uncertain)
        self._ask_for_a_name(role, layout.columns, uncertain)
        return layout, uncertain

    def _added(self, columns: dict[str, Any]) -> dict[str, tuple[str, ...]]:
        """Return the taxes that stand beside a fee."""
        found = headers.known_in(headers.TAXES, self.names)
        taxes = tuple(header for header in found if header not in columns.values())
        return {"fee": taxes} if taxes and "fee" in columns else {}

    def _ask_for_a_name(self, role: str, columns: dict[str, Any], uncertain: list[str]) -> None:
        """Say that no column names what a line is for, where none does."""
        names = _NAMES_OF.get(role, ())
        if names and columns.keys().isdisjoint(names):
            uncertain.append(
                f"no column is taken for {names[0]}, and no line will meet its payment by name: "
                f"say which of {self._seen} it is"
            )

    def _leave_out(
        self, name: str, table: str, columns: dict[str, Any], uncertain: list[str]
    ) -> None:
        """Leave out a column whose words only a person can read."""
        if name not in columns:
            return
        header = columns.pop(name)
        words = self.sheet.frame[header].str.strip().dropna().drop_duplicates()
        seen = ", ".join(safe(word, 30) for word in words[:_WORDS_SHOWN])
        more = ", ..." if len(words) > _WORDS_SHOWN else ""
        uncertain.append(
            f"{safe(header, 40)} says {seen}{more}: it is read as {name} once [{table}] says "
            "which of its words mean what"
        )

    def _within(self, name: str, taken: set[Any]) -> str | None:
        return next(
            (
                header
                for part in _WITHIN.get(name, ())
                for header in self.names
                if header not in taken and _has_word(headers.key(header), part)
                if not (name in _NEVER and re.search(_NEVER[name], headers.key(header)))
            ),
            None,
        )

    def _require(self, needs: Needs, columns: dict[str, Any]) -> None:
        for group in needs:
            if group != ("currency",) and not any(name in columns for name in group):
                raise InputRefused(
                    f"{self.sheet.name} has no column that looks like {group[0]}; "
                    f"row {self.sheet.header_row} has: {self._seen}"
                )

    def _text(self, columns: dict[str, Any], names: Sequence[str]) -> list[Any]:
        found = [self.sheet.frame[columns[name]] for name in names if name in columns]
        return [text.str.strip().replace("", pd.NA) for text in found]

    def _currency(self, columns: dict[str, Any], uncertain: list[str]) -> None:
        of_money = [
            columns[name] for name in (*_SIDES, "amount", "net", "gross") if name in columns
        ]
        if "currency" in columns or any(headers.bare(name)[1] for name in of_money):
            return
        money = self._text(columns, ("amount", "money_in", "money_out", "net", "gross"))
        mark = numbers.mark_of(money)
        read = [numbers.read(text, thousands=mark) for text in money]
        said = {name for one in read for name in one.currencies.dropna()}
        lacks = any((one.whole.notna() & one.currencies.isna()).any() for one in read)
        if not said:
            columns["currency"] = "=TZS"
            uncertain.append("no column says the currency: taken for TZS")
        elif len(said) == 1 and lacks:
            [currency] = said
            columns["currency"] = f"={currency}"
            uncertain.append(f"some amounts say {currency}, the others nothing: taken for it")

    def _channel(self, columns: dict[str, Any], uncertain: list[str]) -> None:
        """Take a column all of whose words are names of channels."""
        for header in self.names:
            if header in columns.values():
                continue
            words = set(self.sheet.frame[header].str.strip().dropna()) - {""}
            if words and all(channel_code(word) in CHANNELS for word in words):
                columns["channel"] = header
                uncertain.append(f"{safe(header, 40)} is taken for channel")
                return

    def _thousands(self, columns: dict[str, Any], uncertain: list[str]) -> str | None:
        money = self._text(columns, _MONEY)
        mark = numbers.mark_of(money)
        reasons = [numbers.read(text, thousands=mark).reasons.dropna() for text in money]
        if any(each.str.contains(numbers.SAY, regex=False).any() for each in reasons):
            uncertain.append("a mark in the amounts is for thousands or for a fraction: thousands")
        return mark

    def _order(self, columns: dict[str, Any], uncertain: list[str]) -> str | None:
        text = self._text(columns, _DATES)
        read = dates.read(text[0], zone="UTC") if text else None
        if read is None:
            return None
        if read.day_first is None and (read.reasons == dates.EITHER).any():
            uncertain.append("every date could have the day or the month first: taken for the day")
            return "day"
        return None if read.day_first is None else ("day" if read.day_first else "month")

    def fits(self, role: str) -> tuple[str, ...]:
        """Return the shipped mappings whose columns the file has: those that name most of them."""
        needs = _COLUMNS[role][0]
        layouts: dict[str, Layout] = {name: getattr(shipped(name), role) for name in SHIPPED}
        named = {
            name: sum(
                bool(headers.place_of(layout.names(each), self.names)) for each in layout.columns
            )
            for name, layout in layouts.items()
            if layout != Layout() and fits_of(layout, needs)(self.names)
        }
        most = max(named.values(), default=0)
        return tuple(name for name, count in named.items() if count == most)


def _has_word(header: str, part: str) -> bool:
    """Return whether a word of a header begins with a part: "network" is no "net"."""
    end = r"\b" if len(part) <= _WHOLE_WORD else ""
    return re.search(rf"\b{part}{end}", header) is not None


def _score(row: Sequence[str | None]) -> int:
    """Return how many of our columns a row names."""
    cells = {name for cell in row if cell for name in (headers.key(cell), headers.bare(cell)[0])}
    return sum(bool(cells & set(headers.names_of(name))) for name in headers.KNOWN)


def _read(path: Path, layout: Layout, role: str) -> tuple[pd.DataFrame, Quality]:
    if role == "ledger":
        return files.ledger(path, layout)
    return (
        files.statement(path, layout)
        if role == "statement"
        else movements.read(path, layout, leg=role)
    )


def to_toml(layout: Layout, role: str) -> str:
    """Return a layout as TOML, what is said of it alone."""
    plain = Layout()
    lines = [f"[{role}]"]
    for name in ("encoding", "delimiter", "header_row", "date_order", "date_format", "thousands"):
        value = getattr(layout, name)
        if value != getattr(plain, name):
            lines.append(f"{name} = {_quoted(value)}")
    lines += [f"added.{name} = {_quoted(more)}" for name, more in layout.added.items()]
    lines.append(f"\n[{role}.columns]")
    lines += [f"{name} = {_quoted(header)}" for name, header in layout.columns.items()]
    return "\n".join((*lines, ""))


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
