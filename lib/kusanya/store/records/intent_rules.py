"""What must hold between intents, and between an intent and its collection. Pure."""

from typing import Final

from kusanya.errors import IntentError, IntentReason
from kusanya.privacy import mask_phone, mask_text
from kusanya.store.records import CollectionRow, IntentRow, Repeat
from kusanya.store.records.order import OrderFacts, OrderJudgement, OrderReason, OrderStatus, judge
from kusanya.text import safe

_UNSURE: Final = {
    OrderReason.CONTRADICTION: "the facts about it contradict each other",
    OrderReason.CLAIMED: "it has a receipt, though it is not known as paid",
    OrderReason.UNSEEN: "the store does not know what became of it",
}


def check_order(order: OrderFacts, repeat: Repeat | None) -> str | None:
    """Return the id of what a new creation of this order repeats, None where nothing came of it.

    Raises IntentError where somebody may still be charged for the order, whatever reason `repeat`
    gives; where it is paid, or only a person can say, unless `repeat` overrules that; and where
    every attempt ended without money and `repeat` does not say why there is another.
    """
    found = judge(order)
    if found.status is OrderStatus.UNKNOWN and found.intent is not None:
        raise IntentError(
            f"this reference was used before, by {found.intent.id} ({found.intent.state.value}), "
            "and the customer may still be charged for it: resume that one first, or decide it by "
            "hand once its replay window is over",
            reason=IntentReason.REFERENCE_OPEN,
            intent_id=found.intent.id,
        )
    if found.reason is OrderReason.NEVER_ASKED:
        return None
    used_by, intent_id = _used_by(order, found)
    before = f"this reference was used before, by {used_by}"
    if found.status is OrderStatus.ASKED:
        raise IntentError(
            f"{before}, and its prompt may still be open: wait for its end",
            reason=IntentReason.REFERENCE_OPEN,
            intent_id=intent_id,
        )
    if not found.may_be_asked and (repeat is None or not repeat.although_paid):
        why = _UNSURE.get(found.reason, "it is paid, and a new creation would be a new charge")
        raise IntentError(
            f"{before}: {why}. Look at that one; a reference names one sale",
            reason=IntentReason.REFERENCE_USED,
            intent_id=intent_id,
        )
    if repeat is None:
        raise IntentError(
            f"{before}, and brought no money: look at that one, or repeat it with a reason "
            "(--again)",
            reason=IntentReason.REFERENCE_USED,
            intent_id=intent_id,
        )
    return intent_id or used_by


def _used_by(order: OrderFacts, found: OrderJudgement) -> tuple[str, str | None]:
    """Return what is named to a person as the one before, and the intent that it was made by."""
    row = found.collection
    made = found.intent or next(
        (one for one in order.intents if row is not None and one.collection_id == row.id), None
    )
    named = "" if row is None else f"{safe(row.id, 60)} ({safe(row.status, 20)})"
    return named or ("" if made is None else made.id), None if made is None else made.id


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
