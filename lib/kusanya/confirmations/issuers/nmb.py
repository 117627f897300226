"""NMB Bank.

Published shapes: sent in Swahili with a number after Kumb, paid in English without any number, loan
and voucher. The payment to a merchant in Swahili is assumed after the transfer.
"""

from typing import Final

from kusanya.confirmations.grammar import Grammar, forms
from kusanya.confirmations.message import Direction

GRAMMAR: Final = Grammar(
    issuer="NMB",
    channel=None,
    forms=forms(
        "(?:[A-Z]{3}_?[0-9]{10,16}|[0-9]{3}[A-Z]{4}[0-9]{9})",
        english={
            Direction.PAID: (
                "you have paid {amount} (?:with|from) account[^.]{1,30}? to {payee} on {when}",
            ),
        },
        swahili={
            Direction.PAID: (
                (
                    "kumb {receipt} imethibitishwa kiasi cha {amount} kime(?:tumwa|lipwa) kutoka "
                    "(?:katika )?[^.]{1,60}? kwenda {payee} (?:tarehe )?{when}"
                ),
            ),
            Direction.RECEIVED: (
                "{receipt} umepokea (?:kiasi cha )?{amount} kupitia {payee} (?:{when}|kulipwa)",
            ),
            Direction.WITHDRAWN: (
                "{receipt} kiasi cha {amount} kimetolewa kwenye {payee} kurejesha {gap}{when}",
            ),
        },
    ),
)
