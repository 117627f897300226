"""HaloPesa. Its shapes are assumed: no message of it is published in the threads that we read."""

from typing import Final

from kusanya.confirmations.fragments import DIGIT
from kusanya.confirmations.grammar import Grammar, forms
from kusanya.confirmations.message import Direction

GRAMMAR: Final = Grammar(
    issuer="HaloPesa",
    channel="HALOPESA_TZ",
    is_numeric=True,
    forms=forms(
        f"[0-9]{DIGIT}{{8,11}}",
        english={
            Direction.PAID: (
                "{number} {receipt} you have (?:paid|sent) {amount} to {payee} on {when}",
            ),
            Direction.RECEIVED: (
                "{number} {receipt} you have received {amount} from {payee} on {when}",
            ),
        },
        swahili={
            Direction.PAID: (
                "{number} {receipt} ume(?:lipa|tuma) {amount} {to} {payee} (?:tarehe )?{when}",
            ),
            Direction.RECEIVED: (
                "{number} {receipt} umepokea {amount} {from} {payee} (?:tarehe )?{when}",
            ),
        },
    ),
)
