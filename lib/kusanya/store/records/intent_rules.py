"""What must hold between intents, and between an intent and its collection. Pure."""

from collections.abc import Sequence
from typing import Final

from kusanya.errors import IntentError, IntentReason
from kusanya.privacy import mask_phone, mask_text
from kusanya.store.records import CollectionRow, IntentRow, IntentState
from kusanya.text import safe

OVER: Final = frozenset({IntentState.ANSWERED, IntentState.REFUSED, IntentState.SETTLED})
"""States after which nothing is sent any more."""
_NOTHING_HAPPENED: Final = frozenset({IntentState.REFUSED, IntentState.SETTLED})


def check_reference(same: Sequence[IntentRow], *, repeated: bool) -> IntentRow | None:
    """Return the intent of which a new one is a repeat, or None where the reference is free.

    `same` are the intents with this reference. Raises IntentError where one of them may still
    become a collection, `repeated` or not, for a repeat would then be a second charge; and where
    one became a collection and the new one is not meant as a repeat.
    """
    open_one = next((row for row in same if row.state not in OVER), None)
    if open_one is not None:
        raise IntentError(
            f"this reference was used before, by {open_one.id} ({open_one.state.value}), and "
            "the customer may still be charged for it: resume that one first, or decide it by "
            "hand once its replay window is over",
            reason=IntentReason.REFERENCE_OPEN,
            intent_id=open_one.id,
        )
    standing = next((row for row in same if _became_something(row)), None)
    if standing is not None and not repeated:
        raise IntentError(
            f"this reference was used before, by {standing.id} ({standing.state.value}): look at "
            "that one, or force a repeat with a reason (--again)",
            reason=IntentReason.REFERENCE_USED,
            intent_id=standing.id,
        )
    return standing


def _became_something(row: IntentRow) -> bool:
    return row.collection_id is not None or row.state not in _NOTHING_HAPPENED


def other_body(known: IntentRow) -> IntentError:
    """Return the error of a key that is used for something else than before."""
    return IntentError(
        "this idempotency key belongs to an intent with another body: "
        "look at that one before creating anew",
        reason=IntentReason.KEY_USED,
        intent_id=known.id,
    )


def differences(intended: IntentRow, seen: CollectionRow) -> tuple[str, ...]:
    """Return in what a collection differs from the creation it is said to be, a clause each."""
    return differing_fields(
        intended,
        mode=seen.mode.value,
        reference=seen.reference,
        amount=seen.amount,
        phone=seen.phone,
    )


def differing_fields(
    intended: IntentRow, *, mode: str, reference: str, amount: int, phone: str
) -> tuple[str, ...]:
    """Return in what these values differ from the creation's own, a clause each."""
    said = (
        ("mode", mode, intended.mode.value),
        ("reference", safe(mask_text(reference), 60), safe(mask_text(intended.reference), 60)),
        ("amount", f"{amount:,}", f"{intended.amount:,}"),
    )
    found = [f"its {what} is {its}, not {ours}" for what, its, ours in said if its != ours]
    if reference != intended.reference and not any("reference" in one for one in found):
        found.append("its reference is another")
    if phone.removeprefix("+") != intended.phone.removeprefix("+"):
        found.append(f"its phone is {mask_phone(phone)}, not {mask_phone(intended.phone)}")
    return tuple(found)
