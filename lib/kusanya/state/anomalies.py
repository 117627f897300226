"""What is odd about a collection, each oddity with a sentence for operations.

A pure reading of the state and its facts. Nothing is resolved here; an urgent anomaly needs a
person before more money moves.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from kusanya.domain.business_day import EAT
from kusanya.domain.status import CODED, EVENT_TYPES, Status
from kusanya.privacy import mask_text
from kusanya.say import Said, joined
from kusanya.state.observation import CollectionState, Contradiction, Observation, Source
from kusanya.text import safe


class AnomalyKind(StrEnum):
    """The catalogue."""

    TWO_FINALS = "two_finals"
    RULED = "ruled"
    EVENT_CHANGED = "event_changed"
    MODE_MISMATCH = "mode_mismatch"
    AMOUNT_CHANGED = "amount_changed"
    FEE_CHANGED = "fee_changed"
    CURRENCY_CHANGED = "currency_changed"
    PHONE_CHANGED = "phone_changed"
    REFERENCE_CHANGED = "reference_changed"
    CHANNEL_CHANGED = "channel_changed"
    FAILURE_CODE_CHANGED = "failure_code_changed"
    COMPLETED_AT_CHANGED = "completed_at_changed"
    CREATED_AT_CHANGED = "created_at_changed"
    TEXT_CHANGED = "text_changed"
    FACTS_DIFFER = "facts_differ"
    FEE_ABOVE_AMOUNT = "fee_above_amount"
    FEE_NEGATIVE = "fee_negative"
    AMOUNT_NOT_POSITIVE = "amount_not_positive"
    FINAL_WITHOUT_COMPLETED_AT = "final_without_completed_at"
    COMPLETED_WHILE_OPEN = "completed_while_open"
    COMPLETED_BEFORE_CREATED = "completed_before_created"
    FAILED_WITHOUT_FAILURE_CODE = "failed_without_failure_code"
    FAILURE_CODE_WITHOUT_FAILURE = "failure_code_without_failure"
    UNKNOWN_STATUS = "unknown_status"
    UNKNOWN_EVENT_TYPE = "unknown_event_type"
    TYPE_AND_STATUS_DISAGREE = "type_and_status_disagree"
    EVENT_BEFORE_CREATED = "event_before_created"
    SEVERAL_EVENTS = "several_events"
    MISSING_EVENT = "missing_event"
    EVENT_ONLY = "event_only"
    HEARD_BEFORE_CREATED = "heard_before_created"


class Anomaly(msgspec.Struct, frozen=True, kw_only=True):
    """One oddity of one collection."""

    kind: AnomalyKind
    sentence: str
    """What is odd and what to do, safe to show; phones are masked."""
    urgent: bool
    """Whether a person should look before anything else happens with this payment."""


CLOCK_SLACK: Final = timedelta(minutes=5)
"""How far two machines' clocks may differ before we call it odd; the signature's own tolerance."""
MISSING_AFTER: Final = timedelta(minutes=1)
"""How long after learning a final state elsewhere its event may still be on its way."""

_CHANGED: Final[dict[str, tuple[AnomalyKind, str, bool]]] = {
    "status": (
        AnomalyKind.TWO_FINALS,
        "Two final states were reported; only one is true. Ask the service before anything else.",
        True,
    ),
    "mode": (
        AnomalyKind.MODE_MISMATCH,
        "Test and live are mixed up; the other mode decides nothing here. Check our keys' modes.",
        True,
    ),
    "event": (
        AnomalyKind.EVENT_CHANGED,
        "An event id arrived with two bodies, both with a good signature. Ask the service.",
        True,
    ),
    "amount": (
        AnomalyKind.AMOUNT_CHANGED,
        "The amount differs between sources, and amounts never change. Ask the service.",
        True,
    ),
    "fee": (
        AnomalyKind.FEE_CHANGED,
        "The fee differs between sources, though it is fixed at creation. List it at month-end.",
        False,
    ),
    "currency": (
        AnomalyKind.CURRENCY_CHANGED,
        "The currency differs between sources. Ask the service.",
        True,
    ),
    "phone": (
        AnomalyKind.PHONE_CHANGED,
        "The phone number differs between sources: somebody else may have been asked to pay.",
        True,
    ),
    "reference": (
        AnomalyKind.REFERENCE_CHANGED,
        "The reference differs between sources: this payment may belong to another order.",
        True,
    ),
    "hidden": (
        AnomalyKind.FACTS_DIFFER,
        "Facts about this payment differ; which ones is hidden from this login.",
        True,
    ),
    "channel": (
        AnomalyKind.CHANNEL_CHANGED,
        "The channel differs between sources; figures per channel count the first.",
        False,
    ),
    "failure_code": (
        AnomalyKind.FAILURE_CODE_CHANGED,
        "The failure code differs between sources; believe neither when advising the customer.",
        False,
    ),
    "completed_at": (
        AnomalyKind.COMPLETED_AT_CHANGED,
        "The time of completion differs between sources; the business day may change with it.",
        False,
    ),
    "created_at": (
        AnomalyKind.CREATED_AT_CHANGED,
        "The time of creation differs between sources; the business day may change with it.",
        False,
    ),
}
_TEXT: Final = (
    AnomalyKind.TEXT_CHANGED,
    "A text of this collection differs between sources; no money depends on it.",
    False,
)


def anomalies(
    state: CollectionState,
    observations: Sequence[Observation] = (),
    *,
    now: datetime | None = None,
) -> tuple[Anomaly, ...]:
    """Return what is odd about a collection, the urgent first, in the catalogue's order.

    `observations` are the facts behind `state`: with them the oddities of single facts are found
    too; those that do not count in its mode are left out. With `now` an event that has not arrived
    is called missing once it should have.
    """
    observations = [fact for fact in observations if fact.counts_in(state.mode)]
    found = [
        *(anomaly_of(one) for one in state.contradictions),
        *_of_money(state),
        *_of_completion(state),
        *_of_words(state),
        *_of_facts(state, observations),
        *_of_silence(state, observations, now),
    ]
    # Several texts that changed are one oddity.
    unique = list({(one.kind, one.sentence): one for one in found}.values())
    unique.sort(key=lambda one: (not one.urgent, _ORDER[one.kind]))
    return tuple(unique)


_ORDER: Final = {kind: place for place, kind in enumerate(AnomalyKind)}


def anomaly_of(contradiction: Contradiction) -> Anomaly:
    """Return what is odd about a field for which different facts were observed."""
    kind, sentence, urgent = _CHANGED.get(contradiction.field, _TEXT)
    claims = joined(
        "; ",
        (
            Said("{value} ({our_source})").of(
                value=_shown(contradiction.field, value), our_source=_SOURCES[source]
            )
            for value, source in zip(contradiction.values, contradiction.sources, strict=True)
        ),
    )
    sentence = joined(" ", (sentence, Said("Said: {our_list}.").of(our_list=claims)))
    return Anomaly(kind=kind, sentence=sentence, urgent=urgent)


def _shown(field: str, value: str) -> str:
    if field in _INSTANTS:
        # As everywhere else: an instant beside another of the same one must not read differently.
        local = datetime.fromisoformat(value).astimezone(EAT).replace(tzinfo=None)
        return f"{local.isoformat(sep=' ')} EAT"
    if field == "status" and value in _STATUSES:
        return Said(f"{value}")
    return safe(mask_text(value), 60)


_INSTANTS: Final = frozenset({"completed_at", "created_at"})
_SOURCES: Final = {
    Source.ANSWER: "answer to the create",
    Source.EVENT: "event",
    Source.EVENT_CHECK: "event fetched again",
    Source.POLL: "poll",
    Source.RULING: "ruling",
}


def _odd(kind: AnomalyKind, sentence: str, *, urgent: bool = False) -> Anomaly:
    return Anomaly(kind=kind, sentence=sentence, urgent=urgent)


def _of_money(state: CollectionState) -> Iterator[Anomaly]:
    if state.fee > state.amount:
        yield _odd(
            AnomalyKind.FEE_ABOVE_AMOUNT,
            Said("The fee of {fee} is above the amount of {amount}.").of(
                fee=state.fee, amount=state.amount
            ),
            urgent=True,
        )
    if state.fee < 0:
        yield _odd(
            AnomalyKind.FEE_NEGATIVE,
            Said("The fee is negative: {fee}.").of(fee=state.fee),
            urgent=True,
        )
    if state.amount <= 0:
        yield _odd(
            AnomalyKind.AMOUNT_NOT_POSITIVE,
            Said("The amount is {amount}; a payment is at least 1.").of(amount=state.amount),
            urgent=True,
        )


def _of_completion(state: CollectionState) -> Iterator[Anomaly]:
    if state.is_ruled:
        yield _odd(
            AnomalyKind.RULED,
            Said(
                "Two final states were reported; by what the service said it was ruled {status}."
            ).of(status=str(state.status)),
        )
    if state.is_final and state.completed_at is None:
        yield _odd(
            AnomalyKind.FINAL_WITHOUT_COMPLETED_AT,
            "It is final but says no time of completion: it has no place on the completed basis.",
        )
    if not state.is_final and state.completed_at is not None:
        yield _odd(
            AnomalyKind.COMPLETED_WHILE_OPEN,
            "It says when it was completed, but no final state was reported. Fetch it again.",
        )
    if state.completed_at is not None and state.completed_at < state.created_at:
        yield _odd(
            AnomalyKind.COMPLETED_BEFORE_CREATED,
            "It was completed before it was created; one of the two times is wrong.",
        )
    if state.first_seen_at < state.created_at - CLOCK_SLACK:
        yield _odd(
            AnomalyKind.HEARD_BEFORE_CREATED,
            "We heard of it before it was created: this machine's clock is behind. Signatures "
            "will be refused as too new.",
        )


def _of_words(state: CollectionState) -> Iterator[Anomaly]:
    if state.status in CODED and not state.failure_code:
        yield _odd(
            AnomalyKind.FAILED_WITHOUT_FAILURE_CODE,
            "It failed without a failure code: nobody can tell the customer why. Fetch it again.",
        )
    # A login that facts are hidden from is not shown which states were observed.
    if state.failure_code and state.statuses and CODED.isdisjoint(state.statuses):
        yield _odd(
            AnomalyKind.FAILURE_CODE_WITHOUT_FAILURE,
            Said("It carries the failure code {code} but did not fail.").of(
                code=safe(state.failure_code, 60)
            ),
        )
    for status in state.statuses:
        if status not in _STATUSES:
            yield _odd(
                AnomalyKind.UNKNOWN_STATUS,
                Said(
                    "The service reported the status {status}, which the specification does not "
                    "name. It counts neither as paid nor as failed; ask what it means."
                ).of(status=safe(status, 60)),
                urgent=state.is_final,
            )


_STATUSES: Final = frozenset(Status)


def _of_facts(state: CollectionState, facts: Sequence[Observation]) -> Iterator[Anomaly]:
    if len(state.event_ids) > 1:
        yield _odd(
            AnomalyKind.SEVERAL_EVENTS,
            Said(
                "{count} different events arrived for one collection; one is sent for each final "
                "state, and there is only one."
            ).of(count=len(state.event_ids)),
        )
    for fact in facts:
        if fact.event_type is None:
            continue
        expected = EVENT_TYPES.get(fact.event_type)
        said = safe(fact.event_type, 60)
        if expected is None:
            yield _odd(
                AnomalyKind.UNKNOWN_EVENT_TYPE,
                Said(
                    "An event of type {type} arrived, which the specification does not name; the "
                    "collection inside it was taken at its word."
                ).of(type=said),
            )
        elif expected != fact.collection.status:
            yield _odd(
                AnomalyKind.TYPE_AND_STATUS_DISAGREE,
                Said(
                    "An event says {type}, but the collection inside it says {status}. The "
                    "collection was taken at its word; fetch it to be sure."
                ).of(type=said, status=safe(fact.collection.status, 60)),
                urgent=True,
            )
        if fact.event_created_at is not None and fact.event_created_at < fact.collection.created_at:
            yield _odd(
                AnomalyKind.EVENT_BEFORE_CREATED,
                "An event is older than the collection that it reports.",
            )


def _of_silence(
    state: CollectionState, facts: Sequence[Observation], now: datetime | None
) -> Iterator[Anomaly]:
    if (
        now is not None
        and state.final_seen_at is not None
        and not state.event_ids
        and now - state.final_seen_at >= MISSING_AFTER
    ):
        yield _odd(
            AnomalyKind.MISSING_EVENT,
            "It is final, but its event has not arrived: it was learned by asking. Look at the "
            "endpoint.",
        )
    if {fact.source for fact in facts} == {Source.EVENT}:
        yield _odd(
            AnomalyKind.EVENT_ONLY,
            "Only events speak of it: no answer to a create of ours and no poll. It was created "
            "elsewhere, or its answer was lost; fetch it to be sure.",
        )
