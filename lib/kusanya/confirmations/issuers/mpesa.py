"""M-Pesa of Vodacom Tanzania.

A receipt is ten letters and digits; the second is the month (A to L), the third the day (1 to 9,
then A to V). Published shapes: sent to a business, withdrawal, overdraft, money received in both
languages. The Swahili payment to a business is assumed after the Swahili receipt.
"""

from datetime import datetime, timedelta
from typing import Final

from kusanya.confirmations.grammar import Grammar, forms
from kusanya.confirmations.message import Direction
from kusanya.domain.business_day import EAT
from kusanya.say import Said

_DAYS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUV"
_MONTHS: Final = "?ABCDEFGHIJKL"
_SLACK: Final = (timedelta(0), timedelta(minutes=-10), timedelta(minutes=10))
"""A receipt is made moments before its message: about midnight their days may differ."""
_ON: Final = "(?:business )?{payee} (?:for (?:account|a/c|ref)[^.]{1,40}? )?on {when}"


def _check(receipt: str, at: datetime) -> str | None:
    month, day = _MONTHS.find(receipt[1].upper()), _DAYS.find(receipt[2].upper())
    near = [(at + slack).astimezone(EAT) for slack in _SLACK]
    if any((month, day) == (local.month, local.day) for local in near):
        return None
    if month < 1 or day < 1:
        return Said("no receipt of M-Pesa is written like {receipt}").of(receipt=receipt)
    return Said("its receipt {receipt} was made on {day}/{month}, not on the day that it says").of(
        receipt=receipt, day=f"{day:02}", month=f"{month:02}"
    )


GRAMMAR: Final = Grammar(
    issuer="M-Pesa",
    channel="MPESA_TZ",
    check=_check,
    forms=forms(
        "[A-Z0-9]{10}",
        english={
            Direction.PAID: (
                "{receipt} (?:is )?confirmed {amount} (?:has been )?(?:sent|paid) to " + _ON,
                "{receipt} (?:is )?confirmed (?:you have )?(?:sent|paid) {amount} to " + _ON,
            ),
            Direction.RECEIVED: (
                (
                    "{receipt} confirmed you have received (?:a payment of )?{amount} from "
                    "{payee} on "
                    "{when}"
                ),
            ),
            Direction.WITHDRAWN: (
                (
                    "{receipt} confirmed on {when} withdraw {amount} from {payee} "
                    "(?:total|new|balance)"
                ),
                "{receipt} confirmed {amount} has been deducted from {payee} on {when}",
            ),
        },
        swahili={
            Direction.PAID: (
                (
                    "{receipt} imethibitishwa {amount} [iz]i?me(?:tumwa|lipwa) {to} {payee} "
                    "(?:tarehe )?{when}"
                ),
                (
                    "{receipt} imethibitishwa ume(?:lipa|tuma) {amount} {to} {payee} "
                    "(?:tarehe )?{when}"
                ),
            ),
            Direction.RECEIVED: (
                "{receipt} imethibitishwa umepokea {amount} {from} {payee} (?:tarehe )?{when}",
            ),
        },
    ),
)
