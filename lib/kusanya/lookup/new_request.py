"""Whether a new request is safe, and what to say and do: one judgement, so that no two disagree.

A new request is safe only where nothing that is known could still charge the customer for the same
thing. The sentences for the customer and the next step for support follow from that judgement: none
of them offers a new request where it is not safe.
"""

from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum
from typing import Final

import msgspec
from msgspec.structs import replace

from kusanya.domain.status import CODED, CONTRADICTION, UNPAID
from kusanya.lookup.around import Neighbours
from kusanya.lookup.creation_timeline import CreationTimeline
from kusanya.lookup.timeline import Timeline
from kusanya.privacy import redact
from kusanya.say import Said
from kusanya.store.records import CollectionRow, IntentRow, IntentState
from kusanya.store.records.order import OrderStatus
from kusanya.text import safe
from kusanya.wording import (
    OTHER,
    UNKNOWN_OUTCOME,
    WHICH_PAYMENT,
    Advice,
    advise,
    is_late,
    money,
)

_IN_PROGRESS: Final = "payment_in_progress"
_DUPLICATE: Final = "duplicate"
_IN_PROGRESS_FOR: Final = timedelta(minutes=2)
"""How long the network may keep another payment open on a phone."""
_DOUBTED: Final = frozenset({"status", "mode", "amount", "currency", "phone", "reference"})
"""Fields about which two answers leave nothing certain to tell a customer."""


class Reason(StrEnum):
    """Why a new request is safe or not."""

    CONTRADICTION = "contradiction"
    CLAIMED = "claimed"
    """A receipt or a confirmation may be of this one, which we know as not paid."""
    EARLIER_REQUEST = "earlier_request"
    """An open creation of the same order, or of the same phone and amount."""
    UNKNOWN_ON_PHONE = "unknown_on_phone"
    """Another creation on the phone is open."""
    NOT_FINAL = "not_final"
    PROMPT_ON_PHONE = "prompt_on_phone"
    PAID = "paid"
    PAID_UNDER_REFERENCE = "paid_under_reference"
    CLAIMED_UNDER_REFERENCE = "claimed_under_reference"
    """Another one under the reference has a receipt, and we know it as not paid."""
    NETWORK_BUSY = "network_busy"
    """The network said that another payment is open on the phone."""
    NETWORK_DUPLICATE = "network_duplicate"
    UNSEEN = "unseen"
    """A person named a collection that the store does not know."""
    ORDER_UNCLEAR = "order_unclear"
    """Another attempt of the order is a person's: facts contradict, or nobody has seen it."""
    NOTHING_OPEN = "nothing_open"


_MAY_HAVE_PAID: Final = frozenset(
    {Reason.EARLIER_REQUEST, Reason.CLAIMED_UNDER_REFERENCE, Reason.ORDER_UNCLEAR}
)
"""Another request for the same order may have taken the money."""


class NewRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a new request is safe, why, and what support does."""

    safe: bool
    reason: Reason
    sentence: str
    """For support; safe to show, no phone in it."""
    next_step: str
    """For support."""


AnyTimeline = Timeline | CreationTimeline


def new_request(timeline: AnyTimeline) -> NewRequest:
    """Return whether a new request for the same customer is safe now."""
    own = _of_collection(timeline) if isinstance(timeline, Timeline) else _of_creation(timeline)
    around = timeline.around
    phone = timeline.row.phone if isinstance(timeline, Timeline) else timeline.intent.phone
    reasons = sorted(
        (*own, *_of_neighbours(around, _reference(timeline), _amount(timeline), phone)),
        key=lambda one: _ORDER[one.reason],
    )
    return reasons[0] if reasons else _SAFE


_SAFE: Final = NewRequest(
    safe=True,
    reason=Reason.NOTHING_OPEN,
    sentence="a new request is safe: this one is over and no prompt is open on this phone",
    next_step="",
)
_ORDER: Final = {reason: place for place, reason in enumerate(Reason)}


def _reference(timeline: AnyTimeline) -> str:
    return timeline.row.reference if isinstance(timeline, Timeline) else timeline.intent.reference


def _amount(timeline: AnyTimeline) -> int:
    return timeline.row.amount if isinstance(timeline, Timeline) else timeline.intent.amount


def _no(reason: Reason, because: str, next_step: str) -> NewRequest:
    sentence = Said("no new request: {our_because}").of(our_because=because)
    return NewRequest(safe=False, reason=reason, sentence=sentence, next_step=next_step)


def _of_collection(timeline: Timeline) -> Iterator[NewRequest]:
    row = timeline.row
    if timeline.state.contradictions:
        yield _no(
            Reason.CONTRADICTION,
            "the facts about this collection contradict each other",
            "Escalate with the evidence card; send no prompt.",
        )
    if timeline.is_claimed and not row.is_paid:
        yield _no(
            Reason.CLAIMED,
            "the customer holds a confirmation that may be of this one",
            "Ask the service about this one before anything else; send no prompt.",
        )
    if row.final_seen_at is None:
        yield _no(
            Reason.NOT_FINAL,
            "this one is not final, its prompt may still be open",
            "Wait, or fetch the present state; send no second prompt.",
        )
    elif row.is_paid:
        yield NewRequest(
            safe=False,
            reason=Reason.PAID,
            sentence="paid: a new request would be a new payment",
            next_step="Nothing to do.",
        )
    if row.status not in CODED:
        return
    over = (row.completed_at or row.final_seen_at or row.created_at) + _IN_PROGRESS_FOR
    if row.failure_code == _IN_PROGRESS and timeline.at < over:
        yield _no(
            Reason.NETWORK_BUSY,
            "the network has another payment open on this phone",
            "Wait two minutes; send no second prompt before.",
        )
    if row.failure_code == _DUPLICATE:
        yield _no(
            Reason.NETWORK_DUPLICATE,
            "the network knows a similar request already",
            "Look the other one up first; send no prompt.",
        )


def _of_creation(timeline: CreationTimeline) -> Iterator[NewRequest]:
    intent = timeline.intent
    if timeline.may_have_charged:
        if timeline.replay_until is not None:
            step = "Resume this one with its own key; never create another."
        else:
            step = "Its replay window is over: compare statements, then decide it."
        yield _no(
            Reason.EARLIER_REQUEST,
            "wait, it is not known whether this one reached the customer; it may still charge",
            step,
        )
    elif intent.state is IntentState.PREPARED:
        yield _no(
            Reason.EARLIER_REQUEST,
            "wait, this one was not taken yet and may still be sent",
            "Resume this one with its own key; never create another."
            if timeline.replay_until is not None
            else "Its replay window is over: kusanya intents resume closes it.",
        )
    elif intent.collection_id is not None:
        yield _no(
            Reason.UNSEEN,
            "this one became a collection that the store has never seen",
            "Ask the service for that collection first.",
        )


def _of_neighbours(
    around: Neighbours, reference: str, amount: int, phone: str
) -> Iterator[NewRequest]:
    related = [one for one in around.creations if _is_related(one, reference, amount, phone)]
    if related:
        first = related[-1]
        named = f"{safe(redact(first.reference), 60)}, {money(first.amount)}"
        yield _no(
            Reason.EARLIER_REQUEST,
            Said("wait, an earlier request ({named}) may still charge this customer").of(
                named=named
            ),
            Said(
                "Look {id} up: resume it with its own key, or have somebody decide it. Never "
                "create another."
            ).of(id=first.id),
        )
    elif around.creations:
        left = [one for one in around.creations if one.state is not IntentState.PREPARED]
        yield _no(
            Reason.UNKNOWN_ON_PHONE,
            "the outcome of another creation on this phone is unknown"
            if left
            else "another creation on this phone was not taken yet and may still be sent",
            Said("Look {id} up first: resume it, or have somebody decide it.").of(
                id=(left or around.creations)[-1].id
            ),
        )
    if around.claimed is not None:
        yield _no(
            Reason.CLAIMED_UNDER_REFERENCE,
            Said("another one of the same reference has a receipt, {id}").of(
                id=safe(around.claimed.id, 60)
            ),
            "Ask the service about the other one before anything else; send no prompt.",
        )
    if any(row.final_seen_at is None for row in (*around.also, *around.same_reference)):
        yield _no(
            Reason.PROMPT_ON_PHONE,
            "another prompt on this phone, or for this order, may still be open",
            "Wait until the other prompt is over; send no second one before.",
        )
    if around.order.status is OrderStatus.NEEDS_PERSON:
        yield _no(
            Reason.ORDER_UNCLEAR,
            "another attempt of this order may have been paid",
            "Escalate: look at every payment under this reference; send no prompt.",
        )
    paid = next((row for row in around.same_reference if row.is_paid), None)
    if paid is not None:
        yield _no(
            Reason.PAID_UNDER_REFERENCE,
            Said("the same reference is paid already, by {id}").of(id=safe(paid.id, 60)),
            "Look the paid one up; send no prompt.",
        )


def _is_related(intent: IntentRow, reference: str, amount: int, phone: str) -> bool:
    same_phone = intent.phone.removeprefix("+") == phone.removeprefix("+")
    return intent.reference == reference or (same_phone and intent.amount == amount)


def advice(timeline: Timeline) -> Advice:
    """Return what to say and do about a collection, in both languages, as of its reading.

    Nothing in it offers a new request where `new_request` says that none is safe.
    """
    if timeline.is_unsure:
        return advise(WHICH_PAYMENT)
    verdict = new_request(timeline)
    return _agreeing(_about(timeline, verdict), verdict)


def _about(timeline: Timeline, verdict: NewRequest) -> Advice:
    row = timeline.row
    if any(one.field in _DOUBTED for one in timeline.state.contradictions):
        return advise(CONTRADICTION)
    if verdict.reason is Reason.CLAIMED:
        # Its own state would ask somebody to pay who says to have paid.
        return advise(UNKNOWN_OUTCOME)
    over_unpaid = row.status in UNPAID
    if over_unpaid and verdict.reason in _MAY_HAVE_PAID:
        # What became of this one would be read as an invitation to pay again.
        return advise(UNKNOWN_OUTCOME)
    if over_unpaid and verdict.reason is Reason.PAID_UNDER_REFERENCE:
        return _paid_by(timeline.around.same_reference)
    return advise(
        row.status,
        failure_code=row.failure_code,
        amount=row.amount,
        currency=row.currency,
        late=is_late(row.created_at, now=timeline.at),
    )


def _paid_by(rows: tuple[CollectionRow, ...]) -> Advice:
    paid = next(row for row in rows if row.is_paid)
    return advise(paid.status, amount=paid.amount, currency=paid.currency)


def _agreeing(found: Advice, verdict: NewRequest) -> Advice:
    if verdict.safe:
        if found.topic == _IN_PROGRESS:
            over = "The two minutes are over: send a new request if the customer wants it."
            return replace(found, support_step=over)
        return found
    keeps_its_own = not found.may_prompt and found.topic not in {OTHER, UNKNOWN_OUTCOME}
    if keeps_its_own and verdict.reason in {Reason.NOT_FINAL, Reason.PAID, Reason.CONTRADICTION}:
        return found
    # "Shall we send a new request?" and its like are no questions now.
    quiet = found.may_prompt
    return replace(
        found,
        english=replace(found.english, next_step="") if quiet else found.english,
        swahili=replace(found.swahili, next_step="") if quiet else found.swahili,
        support_step=verdict.next_step or found.support_step,
        may_prompt=False,
    )


def creation_advice(timeline: CreationTimeline) -> Advice:
    """Return what to say and do about a creation without a known collection."""
    verdict = new_request(timeline)
    if verdict.reason is Reason.PAID_UNDER_REFERENCE:
        found = _paid_by(timeline.around.same_reference)
    elif verdict.reason in {*_MAY_HAVE_PAID, Reason.UNSEEN}:
        found = advise(UNKNOWN_OUTCOME)
    else:
        found = advise(OTHER)
    if verdict.safe:
        nothing = "Nothing was created: correct the cause, then send a new request."
        found = replace(found, support_step=nothing)
    return _agreeing(found, verdict)
