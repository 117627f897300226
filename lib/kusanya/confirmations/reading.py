"""From any text to the confirmations in it, or to the reason why there is none."""

import re
from datetime import timedelta
from typing import Final

import msgspec

from kusanya.confirmations.fragments import CURRENCY, WHEN, plain
from kusanya.confirmations.issuers import GRAMMARS
from kusanya.confirmations.message import Confirmation, MessageReading

_OURS: Final = re.compile(r"\b(?:TZS|TSHS?|/=)[ .:]{0,2}[0-9]|[0-9]/[=-]", re.IGNORECASE)
_FOREIGN: Final = re.compile(
    r"\b(?:Ksh|KES|UGX|USh|RWF|MZN|ZMW|GHS|NGN|INR|Rs)[ .:]{0,2}[0-9]|[0-9]MT\b", re.IGNORECASE
)
_FAILURE: Final = re.compile(
    r"\b(?:failed|unsuccessful|declined|cancelled|insufficient|not enough"
    r"|imeshindikana|imeshindwa|haikufanikiwa|haujafanikiwa|hayajafanikiwa|haitoshi|halitoshi"
    r"|umeshindwa|imeghairiwa)\b",
    re.IGNORECASE,
)
_REVERSAL: Final = re.compile(
    r"\b(?:revers(?:al|ed)|refunded|umerudishwa|imerudishwa|imerejeshwa|yamerejeshwa|urejeshaji)\b",
    re.IGNORECASE,
)
_WORDS: Final = re.compile(
    r"\b(?:confirmed|imethibitishwa|muamala|txn ?id|tid|kumb|umelipa|umetuma|umepokea|you have "
    r"(?:paid|sent|received)|balance|salio|receipt|risiti|payment)\b",
    re.IGNORECASE,
)
_NUMBERED: Final = re.compile(
    r"\b(?:(?:t(?:xn|rans(?:action)?)?\.? ?id|kumb|ref|muamala(?: na(?:mba)?)?)[ .:]{1,3}"
    r"(?=[A-Z.]{0,20}[0-9])[A-Z0-9.]{6,24}"
    r"|(?=[A-Z]{0,16}[0-9])[A-Z0-9]{8,16}[ .,:]{1,3}"
    r"(?:is )?(?:confirmed|imethibitishwa|accepted))\b",
    re.IGNORECASE,
)
"""A number as operators write one into every message."""
_TIMED: Final = re.compile(WHEN)
_TO_THE_CUSTOMER: Final = re.compile(
    r"\b(?:imethibitishwa|txn ?id|tid|kumb|umelipa|umetuma|umepokea"
    r"|you (?:have )?(?:paid|sent|received))\b",
    re.IGNORECASE,
)
"""Words of operators alone: customers write of themselves, "nimelipa", "I have paid"."""
_STEPS: Final = timedelta(minutes=10)
"""Two messages of one payment may lie so far apart."""
_OTHERWISE: Final = "another message with its receipt says something else"
FAILED: Final = "The message says that nothing was paid: the money is with the customer."
REVERSED: Final = (
    "The message says that a payment was taken back: the money is with the customer again. Ask the "
    "service about that payment before anything else."
)
FOREIGN: Final = "The message is about another country's money, not Tanzanian shillings."
UNKNOWN_FORM: Final = (
    "It is written like a confirmation, in a form that we do not know: it may be a new one, or "
    "altered. Look the payment up by its amount and time."
)
UNREAD: Final = (
    "It has the words of a confirmation, but could not be read: it may be scanned or typed "
    "wrongly. Type its amount and time."
)
NO_MESSAGE: Final = "This is no confirmation that I know."


def read(text: str) -> MessageReading:
    """Return the payments that a text confirms, or why it confirms none.

    Takes text of any length and content; what lies beyond 4,000 characters is not read. Never
    raises, and takes milliseconds.
    """
    line = plain(text)
    found = _merged(_found(line))
    if found:
        return MessageReading(confirmations=found, is_message=True)
    if _FOREIGN.search(line) and not _OURS.search(line):
        return MessageReading(reason=FOREIGN, is_message=True)
    is_money = _OURS.search(line) is not None and _WORDS.search(line) is not None
    if is_money and _REVERSAL.search(line):
        return MessageReading(reason=REVERSED, is_message=True)
    if is_money and _FAILURE.search(line):
        return MessageReading(reason=FAILED, is_message=True)
    if is_money:
        has_number, is_timed = (one.search(line) is not None for one in (_NUMBERED, _TIMED))
        if has_number or is_timed or _TO_THE_CUSTOMER.search(line):
            reason = UNREAD if has_number and is_timed else UNKNOWN_FORM
            return MessageReading(reason=reason, is_message=True, may_confirm=True)
    return MessageReading(reason=NO_MESSAGE)


def _found(line: str) -> list[Confirmation]:
    if not CURRENCY.search(line):
        return []  # every form has an amount
    spans: list[tuple[int, int, Confirmation]] = [
        (found.start(), found.end(), grammar.confirmation(form, found))
        for grammar in GRAMMARS
        for form in grammar.forms
        for found in form.pattern.finditer(line)
    ]
    # Where two forms fit the same words the longer one says more.
    spans.sort(key=lambda span: (span[0], span[0] - span[1]))
    end, kept = -1, []
    for begin, until, confirmation in spans:
        if begin >= end:
            kept.append(confirmation)
            end = until
    return kept


def _merged(found: list[Confirmation]) -> tuple[Confirmation, ...]:
    """Return each payment once: issuers confirm some twice, in two languages or two steps.

    Messages that share a receipt and differ in what they say are each returned, with that doubt.
    """
    kept: list[Confirmation] = []
    for one in found:
        twin = next((n for n, other in enumerate(kept) if _is_twin(one, other)), None)
        if twin is None:
            kept.append(one)
        elif kept[twin].at is None:
            kept[twin] = one
    return tuple(
        msgspec.structs.replace(one, doubts=(*one.doubts, _OTHERWISE))
        if any(other is not one and _is_same_receipt(one, other) for other in kept)
        else one
        for one in kept
    )


def _is_same_receipt(one: Confirmation, other: Confirmation) -> bool:
    mine, its = ((said.receipt or "").upper() for said in (one, other))
    return one.issuer == other.issuer and mine == its != ""


def _is_twin(one: Confirmation, other: Confirmation) -> bool:
    """Return whether two messages confirm one payment and agree about it."""
    return (
        _is_same_receipt(one, other)
        and (one.direction, one.amount) == (other.direction, other.amount)
        and (one.at is None or other.at is None or abs(one.at - other.at) <= _STEPS)
    )
