"""What a customer's message says, once it is read."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from kusanya.say import Language

_MINUTE: Final = timedelta(minutes=1)


class Direction(StrEnum):
    """Which way the customer's money went, as the message says."""

    PAID = "paid"
    """Out of the customer's account, to somebody: this can be a payment to us."""
    RECEIVED = "received"
    """Into the customer's account."""
    WITHDRAWN = "withdrawn"
    """As cash, or taken by the operator itself: a loan paid back, a fee, airtime."""
    FAILED = "failed"
    """Nowhere: the message says that nothing was paid."""


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """One payment as its message confirms it."""

    issuer: str
    """The operator or bank that wrote it: M-Pesa, Mixx by Yas, CRDB and so on."""
    channel: str | None
    """The channel of collections that the issuer carries; None for a bank, which carries any."""
    language: Language
    direction: Direction
    amount: int | None
    """Whole shillings; None where the message names cents, which no collection has."""
    receipt: str | None
    """The operator's number of the payment, as it was written; where it has digits alone, O as 0.
    """
    also: tuple[str, ...] = ()
    """Other numbers of the same payment, such as that of the switch between two banks."""
    at: datetime | None = None
    """When, in UTC; None where the message has no time that can be read."""
    precision: timedelta = _MINUTE
    """How exact `at` is: a minute, a second, or a day where no time of day is given."""
    payee: str = ""
    """To whom the message says that it was paid: safe to show, without whole phone numbers."""
    reference: str = ""
    """The account or reference that it was paid for, as it was written; empty where none is."""
    doubts: tuple[str, ...] = ()
    """What no genuine message of this issuer says, in words."""


class MessageReading(msgspec.Struct, frozen=True, kw_only=True):
    """What was read in a text."""

    confirmations: tuple[Confirmation, ...] = ()
    """In the order of the text; two messages of one payment are one confirmation."""
    reason: str = ""
    """Why there is none, in words for the person who pasted it."""
    is_message: bool = False
    """True where the text is plainly an operator's message about money and not something to look up
    as it is: an id, a reference, an amount, or what a customer writes."""
    may_confirm: bool = False
    """True where a message may confirm a payment, and could not be read."""
