"""Whole numbers as people and programs write them: 5,000.00, 5.000,00, (5,000), 5,000/=, TZS 5 000.

One mark for thousands holds for a whole column. `5.000` alone may be five or five thousand: the
mapping says, or another cell of the column decides; else it is refused. A bank's account has cents,
which nothing here is counted in: it is read in hundredths, and each line is then made whole.
"""

import re
from decimal import Decimal
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya_books.columns import DType

DIGITS_MAX: Final = 18
"""Longest whole number taken: the next digit could pass 63 bits."""
SAY: Final = "say in the mapping which mark thousands have"
HUNDREDTHS: Final = 100
HAS_CENTS: Final = "amount has cents: counted in whole, so that the balances agree"
_PLAIN: Final = rf"[0-9]{{1,{DIGITS_MAX}}}"
_PLAIN_OF_CENTS: Final = rf"[0-9]{{1,{DIGITS_MAX - 2}}}"
_CURRENCIES: Final = {
    **dict.fromkeys(("tzs", "tsh", "tshs"), "TZS"),
    **{word: word.upper() for word in ("kes", "ugx", "rwf", "bif", "zmw", "mwk", "mzn", "usd")},
    **{word: word.upper() for word in ("eur", "gbp", "zar", "cdf")},
    **dict.fromkeys(("ksh", "kshs"), "KES"),
    "ush": "UGX",
    "sh": None,
    "shs": None,
}
"""Words beside an amount; "Sh" alone is a shilling of any country."""
_SHILLINGS: Final = "/="
"""How a price tag of Tanzania ends; as the word of a column of currencies it is TZS."""
_SPACES: Final = " \u00a0\u202f\u2009'"
_NEAR: Final = Decimal("0.001")
NO_CENTS: Final = "is not a number with at most two decimals"
_NO_WHOLE: Final = "is not a whole number"
_STRANGE: Final = "?"
"""Stands for a word beside a number that is no currency."""
_OF_SIDES: Final = {"cr": 1, "dr": -1}
"""What a bank writes behind an amount or a balance."""
_WRITTEN: Final = re.compile(
    rf"""
    (?P<open>\()?+ \s*+ (?P<minus>[-\u2212\u2013+])?+ \s*+
    (?:(?P<before>[A-Za-z]{{2,4}}+)\.?+)?+ \s*+ (?P<inner>[-\u2212\u2013+])?+ \s*+
    (?P<number>[0-9][0-9.,{_SPACES}]*+)
    \s*+ (?:/=|/-|=)?+ \s*+ (?:(?P<after>[A-Za-z]{{2,4}}+)\.?+)?+
    \s*+ (?P<end>-)?+ \s*+ (?P<close>\))?+
    """,
    re.VERBOSE,
)
"""Every part is possessive: none gives back what it took, so that no text is tried twice."""
_LONGEST: Final = 200
"""Longest cell that is read as a number, in characters."""
_COMMA: Final = re.compile(r"\d{1,3}(?:,\d{3})+\.\d{1,2}|\d{1,3}(?:,\d{3}){2,}|\d+\.\d{1,2}")
_DOT: Final = re.compile(r"\d{1,3}(?:\.\d{3})+,\d{1,2}|\d{1,3}(?:\.\d{3}){2,}|\d+,\d{1,2}")


def side_of(word: str) -> str:
    """Return `in` or `out` for what a bank calls the side of an amount; else the word itself."""
    said = word.casefold().strip(" .")
    if said in {"cr", "c", "credit", "in", "+"}:
        return "in"
    return "out" if said in {"dr", "d", "debit", "out", "-"} else word


def currency_of(word: str) -> str:
    """Return the code of a currency by any name that people write; else the word itself."""
    said = word.replace(" ", "").casefold()
    if said == _SHILLINGS:
        return "TZS"
    return _CURRENCIES.get(said.removesuffix(_SHILLINGS).strip("."), None) or word


class Numbers(msgspec.Struct, frozen=True):
    """A column of numbers: what was read, in which currency, and why a cell was not."""

    whole: Any
    currencies: Any
    """The currency written beside the amount, missing where none is."""
    reasons: Any
    """Why a cell is no number, missing where it is one or is empty."""


def no_balance(amount: Any) -> Any:
    """Return what stands for the balance of an amount that has none: it is rounded."""
    return amount + HUNDREDTHS // 2


def made_whole(amount: Any, balance: Any) -> Any:
    """Return an amount of hundredths in whole, and never more than one beside it.

    It is what the whole balance moved by, so that of lines with cents the balances still agree.
    """
    return balance // HUNDREDTHS - (balance - amount) // HUNDREDTHS


def read(
    text: Any,
    *,
    thousands: str | None = None,
    was_number: Any = None,
    sided: bool = True,
    cents: bool = False,
) -> Numbers:
    """Read a column of text; `was_number` tells which cells were numbers in a workbook.

    Where the file is `sided`, as a bank's is, Cr behind an amount is money in and Dr money out.
    With `cents` the numbers are hundredths.
    """
    empty = pd.Series(pd.NA, index=text.index, dtype=DType.TEXT.pandas)
    form, unit = (_PLAIN_OF_CENTS, HUNDREDTHS) if cents else (_PLAIN, 1)
    if text.str.fullmatch(form).all():
        return Numbers(text.astype(DType.WHOLE.pandas) * unit, empty, empty)
    plain = text.str.fullmatch(form).fillna(False).astype(bool)
    cells: list[str] = text[~plain & text.notna()].unique().tolist()
    mark = _mark(cells) if thousands is None else thousands
    found = {cell: _number(cell, mark, sided=sided, cents=cents) for cell in cells}
    nothing: _Found = (None, None, None)
    each = [nothing if pd.isna(cell) else found.get(cell, nothing) for cell in text]
    if was_number is not None and was_number.any():
        # A cell that was a number has a decimal point, whatever the texts beside it have.
        each = [
            _exact(cell, cents=cents) if exact and cell in found else one
            for cell, exact, one in zip(text, was_number, each, strict=True)
        ]

    def of(place: int, kind: DType) -> Any:
        column = pd.Series([one[place] for one in each], index=text.index, dtype="object")
        return column.astype(kind.pandas)

    values = of(0, DType.WHOLE).mask(plain, text.where(plain).astype(DType.WHOLE.pandas) * unit)
    return Numbers(values, of(1, DType.TEXT), of(2, DType.TEXT))


_Found = tuple[int | None, str | None, str | None]


def _exact(cell: str, *, cents: bool) -> _Found:
    if not cents:
        good = re.fullmatch(rf"-?{_PLAIN}", cell)
        return (int(cell), None, None) if good else (None, None, _NO_WHOLE)
    if re.fullmatch(rf"-?{_PLAIN_OF_CENTS}(?:\.[0-9]+)?", cell) is None:
        return None, None, NO_CENTS
    hundredths = Decimal(cell) * HUNDREDTHS
    rounded = round(hundredths)
    # A workbook keeps 1745049.64 as 1745049.6399999999.
    is_near = abs(hundredths - rounded) < _NEAR
    return (rounded, None, None) if is_near else (None, None, NO_CENTS)


def _mark(cells: list[str]) -> str | None:
    """Return the mark for thousands that the column proves: a comma, a dot, or None."""
    numbers = [found["number"].strip() for cell in cells if (found := _fitting(cell))]
    commas = sum(_COMMA.fullmatch(number) is not None for number in numbers)
    dots = sum(_DOT.fullmatch(number) is not None for number in numbers)
    if commas == dots:
        return None
    return "," if commas > dots else "."


def _fitting(cell: str) -> re.Match[str] | None:
    bare = cell.strip()
    return _WRITTEN.fullmatch(bare) if len(bare) <= _LONGEST else None


def mark_of(columns: list[Any]) -> str | None:
    """Return the mark for thousands that some columns of text prove, None where nothing does."""
    written = [text[~text.str.fullmatch(_PLAIN).fillna(True).astype(bool)] for text in columns]
    return _mark([cell for text in written for cell in text.unique()])


def _number(cell: str, mark: str | None, *, sided: bool, cents: bool) -> _Found:
    if len(cell.strip()) > _LONGEST:
        return None, None, f"has more than {_LONGEST} characters: no number is so long"
    found, unread = _fitting(cell), NO_CENTS if cents else _NO_WHOLE
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None, None, unread
    currency, side = _unit(found)
    if currency == _STRANGE:
        return None, None, unread
    digits, reason = _digits(found["number"].strip(), mark, cents=cents)
    sign = _sign(found, side)
    if side is not None and not sided:
        reason = "says Dr or Cr, and of books only a mapping says what that means"
    elif digits is None or len(digits) > DIGITS_MAX:
        reason = reason or unread
    elif sign is None:
        reason = "has two signs"
    else:
        return sign * int(digits), currency, None
    return None, currency, reason


def _unit(found: re.Match[str]) -> tuple[str | None, int | None]:
    """Return the currency beside a number, and the sign of the side that stands behind it."""
    words = [found[name].casefold() for name in ("before", "after") if found[name]]
    side = _OF_SIDES[words.pop()] if words and words[-1] in _OF_SIDES else None
    if len(words) > 1 or any(word not in _CURRENCIES for word in words):
        return _STRANGE, side
    return _CURRENCIES[words[0]] if words else None, side


def _sign(found: re.Match[str], side: int | None) -> int | None:
    """Return 1 or -1, None where a number has two signs or its side is the other one."""
    signs = [found[name] for name in ("minus", "inner", "end") if found[name]]
    if len(signs) + bool(found["open"]) > 1:
        return None
    below = bool(found["open"]) or any(sign != "+" for sign in signs)
    if side is None:
        return -1 if below else 1
    return None if below and side == 1 else side


def _digits(number: str, mark: str | None, *, cents: bool) -> tuple[str | None, str | None]:
    """Return the digits of a number without its marks, or why they cannot be read.

    With `cents` the last two are those of the fraction.
    """
    for space in _SPACES[1:]:
        number = number.replace(space, " ")
    decimal = "," if mark == "." else "."
    group = "," if mark is None else mark
    if re.fullmatch(r"\d+", number):
        return number + ("00" if cents else ""), None
    # 5.000 where nothing says that a dot is for thousands, 5,000 where a dot is.
    if re.fullmatch(rf"\d{{1,3}}(?:[{decimal}]\d{{3}})+", number):
        return None, f"has {decimal} for thousands or a fraction: {SAY}"
    part = r"(\d{1,2})" if cents else "(0{1,2})"
    forms = [rf"(\d+)[{decimal}]{part}", rf"(\d{{1,3}}(?: \d{{3}})+)(?:[.,]{part})?"]
    if group.strip():
        forms.append(rf"(\d{{1,3}}(?:[{group}]\d{{3}})+)(?:[{decimal}]{part})?")
    for form in forms:
        matched = re.fullmatch(form, number)
        if matched:
            fraction = (matched[2] or "").ljust(2, "0") if cents else ""
            return "".join(digit for digit in matched[1] if digit.isdigit()) + fraction, None
    return None, None
