"""What else is known around one payment: the same phone, the same reference, open creations.

Whether a new request is safe depends on these as much as on the payment itself.
"""

from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.say import Said, joined
from kusanya.store import Store
from kusanya.store.records import CollectionRow, IntentRow
from kusanya.store.records.erased_names import is_stand_in
from kusanya.store.records.order import OVER, Attempt, OrderJudgement, attempts_of, judge
from kusanya.text import safe
from kusanya.wire import Mode

ALSO_WITHIN: Final = timedelta(hours=24)
"""How far back other collections on the same phone are listed with a timeline."""


class Neighbours(msgspec.Struct, frozen=True, kw_only=True):
    """The neighbours of one payment, in its mode; the payment itself is not among them."""

    also: tuple[CollectionRow, ...]
    """Other collections on the same phone within `ALSO_WITHIN`, newest first."""
    same_reference: tuple[CollectionRow, ...]
    """Other collections under the same reference, newest first."""
    creations: tuple[IntentRow, ...]
    """Open creations on the same phone or under the same reference, newest first."""
    order: OrderJudgement
    """What the whole order has come to, the payment itself included."""
    attempts: tuple[Attempt, ...] = ()
    """The attempts of the order, oldest first, the payment itself among them."""
    claimed: CollectionRow | None = None
    """The newest under the same reference with a receipt, though the service calls it unpaid."""


def around(
    store: Store, mode: Mode, *, phone: str, reference: str, but: str | None, now: datetime
) -> Neighbours:
    """Return what is known around a payment; `but` is the id of the payment itself.

    Raises StoreError when the store cannot be read.
    """
    # Where it is hidden one in a thousand customers is shown the same.
    is_hidden = is_stand_in(phone) and store.hides_phones
    same_phone = (
        () if is_hidden else store.collections.by_phone(mode, phone, since=now - ALSO_WITHIN)
    )
    on_phone = () if is_hidden else store.intents.still_open(mode, phone=phone)
    order = store.intents.order(mode, reference)
    under = [intent for intent in order.intents if intent.state not in OVER]
    creations = {intent.id: intent for intent in (*on_phone, *under) if intent.id != but}
    others = tuple(row for row in order.collections if row.id != but)
    return Neighbours(
        also=tuple(row for row in same_phone if row.id != but),
        same_reference=others,
        creations=tuple(sorted(creations.values(), key=lambda row: row.key, reverse=True)),
        order=judge(order),
        attempts=attempts_of(order),
        claimed=next((row for row in others if row.id in order.claimed), None),
    )


def order_sentence(around: Neighbours, payment: str) -> str:
    """Return which attempt of its order a payment is, and what the order has come to.

    `payment` is the id of a collection or a creation. Empty for an order of one attempt.
    """
    if len(around.attempts) < 2:  # noqa: PLR2004
        return ""
    places = {}
    for place, one in enumerate(around.attempts, start=1):
        places.update({part.id: place for part in (one.intent, one.collection) if part is not None})
    paid = [
        (place, one.collection)
        for place, one in enumerate(around.attempts, start=1)
        if one.collection is not None and one.collection.is_paid
    ]
    which = Said("order: attempt {number} of {count}").of(
        number=places.get(payment, len(around.attempts)), count=len(around.attempts)
    )
    if not paid:
        return joined("; ", (which, "no attempt has brought money"))
    first, *again = paid
    said = [which, Said("paid by attempt {number}").of(number=first[0])]
    said += [
        Said("paid again by attempt {number}: give back {money} {currency}").of(
            number=place, money=f"{row.amount:,}", currency=safe(row.currency, 8)
        )
        for place, row in again
    ]
    return joined("; ", said)
