"""Several payments that fit one message equally well: their order, and what is said of them."""

from collections.abc import Sequence
from typing import Final

from kusanya.store.records import CollectionRow
from kusanya.wire import Status

_ASK_FIRST: Final = (
    "Before a new request to any that is not paid here, ask the service: the message says paid."
)


def rank(row: CollectionRow) -> int:
    """Return where a payment stands among those that fit as well: paid, then open, then failed."""
    if row.status == Status.SUCCEEDED:
        return 0
    return 1 if row.final_seen_at is None else 2


def several(chosen: Sequence[CollectionRow], count: int) -> str:
    """Return the sentence about `count` payments and creations that fit."""
    said = f"{count} payments fit amount and time. Ask for the reference or the phone."
    if all(row.status == Status.SUCCEEDED for row in chosen):
        return said
    return f"{said} {_ASK_FIRST}"
