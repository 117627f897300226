"""How an issuer's grammar is written: templates of its messages, and what makes one doubtful.

A template is a regular expression in which a space stands for whatever is between two words (a
space, a full stop, nothing), and these names stand for parts: {receipt} {number} {amount} {payee}
{to} {from} {when} {also} {gap}. `number` are the words before a receipt, `to` and `from` those of
Swahili, and `gap` is up to 200 characters that say nothing to us.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Final

import msgspec

from kusanya.confirmations.fragments import (
    AMOUNT,
    PAYEE,
    WHEN,
    read_amount,
    read_digits,
    read_reference,
    read_time,
    shown_payee,
)
from kusanya.confirmations.message import Confirmation, Direction
from kusanya.say import Language, Said

_BETWEEN: Final = r"[ .,:;!]{0,4}"
_NUMBER: Final = (
    r"(?:t(?:xn|rans(?:action)?)?\.?\s?id|(?:utambulisho\swa\s)?muamala|kumbukumbu)"
    r"(?:\sna(?:mba)?)?"
)
"""The words before a number, in both languages."""
Check = Callable[[str, datetime], str | None]
"""Given a receipt and the message's time in East Africa, returns what is wrong with them."""


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    # Only once a message is read: all of them take longer than a whole look-up of a reference.
    return re.compile(expression, re.IGNORECASE)


class MessageForm(msgspec.Struct, frozen=True):
    """One kind of message of an issuer."""

    direction: Direction
    language: Language
    expression: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Return what such a message looks like."""
        return _compiled(self.expression)


class Grammar(msgspec.Struct, frozen=True, kw_only=True):
    """All messages of one issuer that we know."""

    issuer: str
    channel: str | None
    forms: tuple[MessageForm, ...]
    check: Check | None = None
    is_numeric: bool = False
    """Whether its receipts have digits alone, so that an O in one can only be a 0."""

    def confirmation(self, form: MessageForm, found: re.Match[str]) -> Confirmation:
        """Return what a message that fits one of the forms says."""
        parts = found.groupdict()
        at, precision = read_time(parts.get("date"), parts.get("time"))
        receipt, also = parts.get("receipt"), parts.get("also")
        if receipt and self.is_numeric:
            receipt = read_digits(receipt)
        return Confirmation(
            issuer=self.issuer,
            channel=self.channel,
            language=form.language,
            direction=form.direction,
            amount=read_amount(parts["amount"]),
            receipt=receipt,
            also=(also,) if also else (),
            at=at,
            precision=precision,
            payee=shown_payee(parts.get("payee") or ""),
            reference=read_reference(found, tuple(one for one in (receipt, also) if one)),
            doubts=self._doubts(receipt, parts.get("date"), parts.get("time")),
        )

    def _doubts(self, receipt: str | None, date: str | None, time: str | None) -> tuple[str, ...]:
        at, _ = read_time(date, time)
        if date is not None and at is None:
            return (Said("no calendar has its date {date}").of(date=date),)
        if self.check is None or receipt is None or at is None:
            return ()
        doubt = self.check(receipt, at)
        return () if doubt is None else (doubt,)


Templates = Mapping[Direction, Sequence[str]]


def forms(receipt: str, *, english: Templates, swahili: Templates) -> tuple[MessageForm, ...]:
    """Return the forms of an issuer whose {receipt} is the given expression."""
    parts = {
        "{receipt}": rf"(?<![A-Za-z0-9])(?P<receipt>{receipt})(?![A-Za-z0-9])",
        "{number}": _NUMBER,
        "{amount}": AMOUNT,
        "{payee}": PAYEE,
        "{to}": r"(?:kwa|kwenda)(?:\skwa)?",
        "{from}": r"kutoka(?:\skwa)?",
        "{when}": WHEN,
        "{also}": r"(?P<also>[A-Za-z0-9]{1,4}[-_][A-Za-z0-9]{6,20})",
        "{gap}": r".{0,200}?",
    }
    return tuple(
        MessageForm(direction, language, _expanded(template, parts))
        for language, of_language in ((Language.ENGLISH, english), (Language.SWAHILI, swahili))
        for direction, templates in of_language.items()
        for template in templates
    )


def _expanded(template: str, parts: Mapping[str, str]) -> str:
    # Spaces first: those within the parts are meant as they stand.
    pattern = template.replace(" ", _BETWEEN)
    for name, expression in parts.items():
        pattern = pattern.replace(name, expression)
    return pattern
