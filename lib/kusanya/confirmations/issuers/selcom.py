"""Selcom Pesa.

A number begins with month and day: 0426JXCX is of 26 April. Published shapes: money received and
sent, card payment, withdrawal. The Swahili ones are assumed.
"""

from datetime import datetime
from typing import Final

from kusanya.confirmations.grammar import Grammar, forms
from kusanya.confirmations.message import Direction
from kusanya.domain.business_day import EAT
from kusanya.say import Said


def _check(receipt: str, at: datetime) -> str | None:
    if receipt[:4] == f"{at.astimezone(EAT):%m%d}":
        return None
    return Said("its number {receipt} was made on {day}/{month}, not when it says").of(
        receipt=receipt, day=receipt[2:4], month=receipt[:2]
    )


GRAMMAR: Final = Grammar(
    issuer="Selcom Pesa",
    channel=None,
    check=_check,
    forms=forms(
        "[0-9]{4}[A-Z0-9]{4,5}",
        english={
            Direction.PAID: (
                (
                    "{receipt} (?:confirmed|accepted) you have (?:paid|sent) {amount} to {payee} "
                    "(?:using your card[^.]{1,30}? |for [^.]{1,40}? )?on {when}"
                ),
            ),
            Direction.RECEIVED: (
                "{receipt} confirmed you have received {amount} from {payee} on {when}",
            ),
            Direction.WITHDRAWN: (
                "{receipt} confirmed you have withdrawn {amount} at {payee} on {when}",
            ),
        },
        swahili={
            Direction.PAID: (
                (
                    "{receipt} ime(?:thibitishwa|kubaliwa) ume(?:lipa|tuma) {amount} {to} {payee} "
                    "(?:tarehe )?{when}"
                ),
            ),
            Direction.RECEIVED: (
                "{receipt} imethibitishwa umepokea {amount} {from} {payee} (?:tarehe )?{when}",
            ),
        },
    ),
)
