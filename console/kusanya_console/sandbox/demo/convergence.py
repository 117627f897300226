"""Whether service, store and events agree on every collection: the demo's own verdict."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from kusanya.domain.status import FINAL


class Mismatch(msgspec.Struct, frozen=True):
    """One collection on which the three do not agree, and how."""

    collection_id: str
    what: str


class StoredState(msgspec.Struct, frozen=True):
    """What the store says of one collection."""

    status: str
    amount: int
    fee: int
    event_id: str | None
    contradictions: int


def compare(
    served: Iterable[dict[str, Any]],
    *,
    kept: Callable[[str], StoredState | None],
    announced: Callable[[str], tuple[str, str]],
) -> tuple[Mismatch, ...]:
    """Return every disagreement; empty means that all collections converged.

    `served` are the service's own collection objects; `kept` gives the store's view of an id;
    `announced` gives the collection id and status inside an event, as the service repeats it.
    """
    return tuple(
        Mismatch(truth["id"], what)
        for truth in served
        if (what := _disagreement(truth, kept(truth["id"]), announced)) is not None
    )


def _disagreement(
    truth: dict[str, Any], ours: StoredState | None, announced: Callable[[str], tuple[str, str]]
) -> str | None:
    status = truth["status"]
    if status not in FINAL:
        return f"still {status} at the service"
    if ours is None:
        return "the store does not know it"
    return _disagreement_in_store(truth, ours) or _disagreement_in_event(truth, ours, announced)


def _disagreement_in_store(truth: dict[str, Any], ours: StoredState) -> str | None:
    if ours.contradictions:
        return "the store holds contradictory facts"
    theirs = (truth["status"], truth["amount"], truth["fee"])
    if (ours.status, ours.amount, ours.fee) != theirs:
        return f"{truth['status']} at the service, {ours.status} in the store, or other money"
    return None


def _disagreement_in_event(
    truth: dict[str, Any], ours: StoredState, announced: Callable[[str], tuple[str, str]]
) -> str | None:
    if ours.event_id is None:
        return "its event has not arrived"
    said = announced(ours.event_id)
    return None if said == (truth["id"], truth["status"]) else f"its event says {said[1]}"
