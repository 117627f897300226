"""Airtel Money.

Its number holds the day and the time: CI260619.2256.A12345 is of 19 June 2026, 22:56. The shapes
are assumed: no message of it is published in the threads that we read.
"""

import re
from datetime import datetime, timedelta
from typing import Final

from kusanya.confirmations.grammar import Grammar, forms
from kusanya.confirmations.message import Direction
from kusanya.domain.business_day import EAT
from kusanya.say import Said

_PARTS: Final = re.compile(r"[A-Z]{2}([0-9]{6})\.([0-9]{4})\.[A-Z0-9]{6}", re.IGNORECASE)
_SLACK: Final = timedelta(minutes=10)


def _check(receipt: str, at: datetime) -> str | None:
    parts = _PARTS.fullmatch(receipt)
    try:
        made = datetime.strptime("".join(parts.groups() if parts else ()), "%y%m%d%H%M")  # noqa: DTZ007 - given its zone on the next line
    except ValueError:
        return Said("no number of Airtel Money is written like {receipt}").of(receipt=receipt)
    if abs(made.replace(tzinfo=EAT) - at) > _SLACK:
        return Said("its number {receipt} was made at {at}, not when it says").of(
            receipt=receipt, at=f"{made:%d/%m/%y %H:%M}"
        )
    return None


GRAMMAR: Final = Grammar(
    issuer="Airtel Money",
    channel="AIRTEL_TZ",
    check=_check,
    forms=forms(
        r"[A-Z]{2}[0-9]{6}\.[0-9]{4}\.[A-Z0-9]{6}",
        english={
            Direction.PAID: (
                "{number} {receipt} (?:you have )?(?:paid|sent) {amount} to {payee} on {when}",
                "you have (?:paid|sent) {amount} to {payee} on {when}{gap}{number} {receipt}",
            ),
            Direction.RECEIVED: (
                "{number} {receipt} you have received {amount} from {payee} on {when}",
            ),
        },
        swahili={
            Direction.PAID: (
                "{number} {receipt} ume(?:lipa|tuma) {amount} {to} {payee} (?:tarehe )?{when}",
                "ume(?:lipa|tuma) {amount} {to} {payee} (?:tarehe )?{when}{gap}{number} {receipt}",
            ),
            Direction.RECEIVED: (
                "{number} {receipt} umepokea {amount} {from} {payee} (?:tarehe )?{when}",
            ),
        },
    ),
)
