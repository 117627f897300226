"""The parts that messages are made of: amounts, times, receipts; and text as it is compared.

Scanned or typed messages have O for 0 and l for 1 within numbers: amounts, times and receipts of
digits alone take them, and amounts a full stop where the thousands end.
Every repetition is bounded, so that no text of any length or content takes long.
"""

import re
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import Final

from kusanya.domain.business_day import EAT
from kusanya.privacy import mask_text
from kusanya.text import safe

TEXT_MAX: Final = 4_000
"""Characters that are read; a message has some hundred."""
_PAYEE_MAX: Final = 60
DIGIT: Final = "[0-9OoIl]"
_LOOKALIKES: Final = str.maketrans("OoIiLl", "001111")
"""Both cases of each: the forms of messages are read in any case."""
_CURRENCY: Final = r"(?:TZS|TSHS?|T[Ss]h[Ss]?|/=)"
AMOUNT: Final = (
    rf"{_CURRENCY}[.:]?\s?(?:{_CURRENCY}[.:]?\s?)?(?P<amount>"
    rf"[1-9]{DIGIT}{{0,2}}(?:\.{DIGIT}{{3}}(?!{DIGIT})){{1,3}}(?:\.{DIGIT}{{2}}(?!{DIGIT}))?"
    rf"|[0-9]{DIGIT}{{0,11}}(?:[, ]{DIGIT}{{3}}){{0,4}}(?:\.{DIGIT}{{1,2}})?)(?:/=|/-)?"
)
DATE: Final = rf"(?P<date>{DIGIT}{{1,4}}[-/.]{DIGIT}{{1,2}}[-/.]{DIGIT}{{2,4}})"
TIME: Final = rf"(?P<time>{DIGIT}{{1,2}}:{DIGIT}{{1,2}}(?::{DIGIT}{{1,2}})?(?:\s?[AaPp]\.?[Mm]\b)?)"
WHEN: Final = rf"{DATE},?\s?(?:at|saa|AT|Saa|,)?\s?{TIME}"
PAYEE: Final = r"(?P<payee>[^.]{1,80}?(?:\.[^.]{1,40}?)?)"
"""Whom it was paid to: a name may hold one full stop, as in SHOP CO. LTD."""
ACCOUNT: Final = re.compile(
    r"(?:\b(?:for|with|kwa|yenye)\s)?\b(?:account|a/c|akaunti|reference|ref|(?:namba\sya\s)?kumbukumbu)"
    r"(?:\s(?:number|no|namba|na)\b)?[.:]{0,2}\s?"
    r"(?P<account>(?=[A-Z_/#-]{0,20}[0-9])[A-Z0-9][A-Z0-9_/#-]{1,39})(?![A-Z0-9_*])",
    re.IGNORECASE,
)
"""What it was paid for: one word that holds a digit, behind the words for account or reference."""
_DOTTED: Final = re.compile(r"([1-9][0-9]{0,2}(?:\.[0-9]{3})+)(?:\.([0-9]{2}))?")
"""No issuer writes three decimals: behind such a stop stand thousands."""
_MONEY: Final = re.compile(rf"\b{_CURRENCY}", re.IGNORECASE)
CURRENCY: Final = re.compile(_CURRENCY, re.IGNORECASE)
"""What stands before every amount."""
_TAIL_MAX: Final = 80
_TIME: Final = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2}))?\s?([ap])?", re.IGNORECASE)
_DATE: Final = re.compile(r"(\d{1,4})[-/.](\d{1,2})[-/.](\d{2,4})")
_YEAR_DIGITS: Final = 4
_CENTURY: Final = 2000
_NOON: Final = 12
_SPACES: Final = re.compile(r"\s+")


def plain(text: str) -> str:
    """Return a text on one line: compatible letters made plain, invisible ones taken out.

    Longer texts than TEXT_MAX are cut.
    """
    folded = unicodedata.normalize("NFKC", text[:TEXT_MAX])
    shown = (
        " " if character.isspace() else character
        for character in folded
        if character.isspace() or unicodedata.category(character)[0] != "C"
    )
    return _SPACES.sub(" ", "".join(shown)).strip()


def read_digits(text: str) -> str:
    """Return a number with the letters in it that look like digits read as digits."""
    return text.translate(_LOOKALIKES)


def read_amount(text: str) -> int | None:
    """Return a written amount in whole shillings, None where it has cents."""
    digits = read_digits(text)
    dotted = _DOTTED.fullmatch(digits)
    if dotted is not None:
        digits = f"{dotted[1].replace('.', '')}.{dotted[2] or ''}"
    whole, _, cents = digits.partition(".")
    if cents.strip("0"):
        return None
    return int(re.sub(r"[, ]", "", whole))


def read_time(date: str | None, time: str | None) -> tuple[datetime | None, timedelta]:
    """Return the instant that a date and a time in East Africa name, and how exact it is.

    The day comes before the month, as all issuers write it, unless the year comes first. None for a
    date that no calendar has.
    """
    days = _DATE.fullmatch(read_digits(date or ""))
    if days is None:
        return None, timedelta(days=1)
    first, month, last = days.groups()
    day, year = (last, first) if len(first) == _YEAR_DIGITS else (first, last)
    clock = _TIME.match(read_digits(time or ""))
    hour, minute, second, half = clock.groups() if clock else ("0", "0", None, None)
    hours = int(hour)
    if half is not None:
        if not 1 <= hours <= _NOON:
            return None, timedelta(days=1)
        hours = hours % _NOON + (_NOON if half in "pP" else 0)
    try:
        at = datetime(
            int(year) if len(year) == _YEAR_DIGITS else _CENTURY + int(year),
            int(month),
            int(day),
            hours,
            int(minute),
            int(second or 0),
            tzinfo=EAT,
        )
    except ValueError:
        return None, timedelta(days=1)
    if clock is None:
        return at.astimezone(UTC), timedelta(days=1)
    return at.astimezone(UTC), timedelta(seconds=1 if second is not None else 60)


def read_reference(found: re.Match[str], numbers: tuple[str, ...]) -> str:
    """Return what a message was paid for; `numbers` are the operator's own, which are none.

    It may stand behind the date as well, before any other money is named.
    """
    tail = _MONEY.split(found.string[found.end() : found.end() + _TAIL_MAX])[0]
    own = {number.upper() for number in numbers}
    for named in ACCOUNT.finditer(f"{found.group()}{tail}"):
        if not any(number.startswith(named["account"].upper()) for number in own):
            return named["account"].rstrip("-/_#")
    return ""


def shown_payee(text: str) -> str:
    """Return a payee as it may be shown: safe, without whole phone numbers, not too long.

    It ends where the account or the reference begins.
    """
    account = ACCOUNT.search(text)
    text = text[: account.start()] if account else text
    return safe(mask_text(text.strip(" -,.;:")), _PAYEE_MAX)
