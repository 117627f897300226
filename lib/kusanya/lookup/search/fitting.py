"""Payments that fit one message equally well: which come first, and what is said of them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from kusanya.confirmations import Confirmation
from kusanya.say import Said, joined
from kusanya.store.records import CollectionRow

_ASK_FIRST: Final = (
    "Before a new request to any that is not paid here, ask the service: the message says paid."
)


FITS: Final = timedelta(minutes=5)
"""How far the end of a payment and its message lie apart at most."""


def is_of_channel(said: Confirmation, row: CollectionRow) -> bool:
    """Return whether a payment is of a message's channel; a message may name none."""
    return said.channel in {None, row.channel}


def fits(said: Confirmation, row: CollectionRow, at: datetime) -> bool:
    """Return whether a payment's channel and end fit a message of `at`."""
    return is_of_channel(said, row) and ends_near(row, at, said.precision)


def ends_near(row: CollectionRow, at: datetime, precision: timedelta) -> bool:
    """Return whether a payment has ended, and about the time of its message."""
    ended = row.completed_at or row.final_seen_at
    return ended is not None and abs(ended - at) <= FITS + precision


def paid_before(row: CollectionRow, at: datetime, precision: timedelta) -> bool:
    """Return whether a payment was paid too long before a message to be what it confirms."""
    return row.is_paid and ended_at(row) < at - FITS - precision


def is_late(row: CollectionRow, at: datetime, precision: timedelta) -> bool:
    """Return whether a payment was asked for after its message: only if clocks differ it fits."""
    return row.created_at > at + precision


def ordered(
    rows: Sequence[CollectionRow], at: datetime, precision: timedelta
) -> list[CollectionRow]:
    """Return payments that fit as well: paid, then open, then failed; of each the nearest first."""
    return sorted(
        rows, key=lambda row: (_rank(row), is_late(row, at, precision), abs(ended_at(row) - at))
    )


def _rank(row: CollectionRow) -> int:
    if row.is_paid:
        return 0
    return 1 if row.final_seen_at is None else 2


def ended_at(row: CollectionRow) -> datetime:
    """Return when a payment ended as far as is known; of an open one when it was asked for."""
    return row.completed_at or row.final_seen_at or row.created_at


def several(chosen: Sequence[CollectionRow], count: int) -> str:
    """Return the sentence about `count` payments and creations that fit."""
    said = Said("{count} payments fit amount and time. Ask for the reference or the phone.").of(
        count=count
    )
    if all(row.is_paid for row in chosen):
        return said
    return joined(" ", (said, _ASK_FIRST))
