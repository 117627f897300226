"""Mixx by Yas, once Tigo Pesa.

Many payments have two messages with one TxnID: "you have sent" and "sent successfully". Published
shapes: to another wallet, bill, money received from a bank. The Swahili ones are assumed.
"""

from typing import Final

from kusanya.confirmations.fragments import DIGIT
from kusanya.confirmations.grammar import Grammar, forms
from kusanya.confirmations.message import Direction

GRAMMAR: Final = Grammar(
    issuer="Mixx by Yas",
    channel="TIGO_TZ",
    is_numeric=True,
    forms=forms(
        f"[0-9]{DIGIT}{{10,15}}",
        english={
            Direction.PAID: (
                (
                    "you have (?:sent|paid) {amount} to {payee} (?:total "
                    "charges|charges|fee|new bal|"
                    "{number}){gap}{receipt} (?:receipt {also} )?{when}"
                ),
                (
                    "(?:money|payment) (?:sent|made) successfully to {payee} amount {amount}{gap}"
                    "{number} {receipt} (?:receipt {also} )?{when}"
                ),
                (
                    "txn amt {amount} (?:sent|paid) to {payee} (?:wait|ref|new bal){gap}"
                    "{number} {receipt} (?:receipt {also} )?{when}"
                ),
            ),
            Direction.RECEIVED: (
                (
                    "you have received {amount} from {payee} (?:with )?{number} {receipt} "
                    "(?:{also} )?{when}"
                ),
            ),
        },
        swahili={
            Direction.PAID: (
                (
                    "ume(?:lipa|tuma) {amount} {to} {payee} "
                    "(?:makato|ada|gharama|salio|{number}){gap}"
                    "{receipt} (?:risiti {also} )?(?:tarehe )?{when}"
                ),
            ),
            Direction.RECEIVED: (
                "umepokea {amount} {from} {payee} {number} {receipt} (?:tarehe )?{when}",
            ),
        },
    ),
)
