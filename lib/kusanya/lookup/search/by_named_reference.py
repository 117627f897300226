"""What the reference that a customer's message names says about the payments that fit it."""

from collections.abc import Sequence
from typing import Final, TypeVar

from kusanya.confirmations import Confirmation
from kusanya.privacy import mask_text
from kusanya.say import Said
from kusanya.store import Store
from kusanya.store.records import CollectionRow, IntentRow
from kusanya.text import safe
from kusanya.wire import Mode

_BOUND: Final = 20
_Row = TypeVar("_Row", CollectionRow, IntentRow)


def having(said: Confirmation, rows: Sequence[_Row]) -> tuple[_Row, ...]:
    """Return those of the rows that have the reference which the message names."""
    named = said.reference.casefold()
    return tuple(row for row in rows if named and row.reference.casefold() == named)


def known_elsewhere(store: Store, said: Confirmation, mode: Mode) -> tuple[CollectionRow, ...]:
    """Return our payments under the reference that the message names, whatever their amount."""
    spellings = dict.fromkeys((said.reference, said.reference.upper()) if said.reference else ())
    return tuple(
        row
        for spelling in spellings
        for row in store.collections.by_reference(mode, spelling, limit=_BOUND)
    )


def other_name(said: Confirmation, row: CollectionRow) -> str:
    """Return a sentence to add where the message names another reference than a payment has."""
    if not said.reference or said.reference.casefold() == row.reference.casefold():
        return ""
    named, ours = safe(mask_text(said.reference), 60), safe(mask_text(row.reference), 60)
    return Said("It names {reference}, this payment is {known}: compare them.").of(
        reference=named, known=ours
    )


def misfit(said: Confirmation, row: CollectionRow) -> str:
    """Return the sentence about a reference whose payment is not the one of the message."""
    name, asked = safe(mask_text(said.reference), 60), f"{row.amount:,}"
    if row.amount != said.amount:
        return Said(
            "It names {reference}, for which we asked TZS {asked}, not TZS {amount}: none is "
            "chosen. Ask the service before anything else."
        ).of(reference=name, asked=asked, amount=said.amount)
    return Said(
        "It names {reference}, whose payment does not fit in channel or time: none is chosen. Ask "
        "the service before anything else."
    ).of(reference=name)
