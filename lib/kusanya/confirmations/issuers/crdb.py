"""CRDB Bank.

Its numbers are sixteen hexadecimal digits; Risiti repeats them after 003. Published shapes: paid
through SimBanking to a till or a wallet, sent to an account, electricity, card. The English
payment is assumed.
"""

from typing import Final

from kusanya.confirmations.grammar import Grammar, forms
from kusanya.confirmations.message import Direction

GRAMMAR: Final = Grammar(
    issuer="CRDB",
    channel=None,
    forms=forms(
        "[0-9a-f]{16}",
        english={
            Direction.PAID: (
                (
                    r"ref {receipt} (?:your )?transaction (?:is |was )?successful {amount} "
                    r"(?:[a-z\s]{1,30}? )?to {payee} receipt {also} {when}"
                ),
            ),
            Direction.WITHDRAWN: ("{amount} has been withdrawn using a card {payee} on {when}",),
        },
        swahili={
            Direction.PAID: (
                (
                    r"kumb {receipt} muamala umefanikiwa {amount} (?:[a-z\s]{1,30}? "
                    r")?kwenda {payee} "
                    r"risiti {also} {when}"
                ),
                (
                    "ume(?:tuma|lipa) {amount} kutoka ac[^.]{1,30}? kwenda {payee} ref {receipt} "
                    "{when}"
                ),
                "malipo yamekamilika {receipt} {gap}total {amount} {when}",
            ),
        },
    ),
)
