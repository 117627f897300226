"""The row of a collection: what its state looks like in the columns that lists search.

A pure function of the folded state and the position of its latest fact, so that it can be computed
again at any time and must come out the same.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from kusanya.state.fold import fold
from kusanya.state.observation import CollectionState, Observation
from kusanya.store.records import CollectionRow
from kusanya.store.tables.schema import collection
from kusanya.store.tables.values import (
    NAME_MAX,
    WORD_MAX,
    clean,
    from_us,
    hour_of,
    is_plain,
    maybe_at,
    maybe_clean,
    maybe_us,
    to_us,
)
from kusanya.wire import Mode, Status

AMOUNT_COUNTED_MAX: Final = 10**12
"""The most that one collection adds to a sum: a larger number is a fault, and sums must hold."""


class Projected(NamedTuple):
    """The columns of `collection`, in the table's order."""

    id: str
    seq: int
    mode: str
    status: str
    amount: int
    fee: int
    currency: str
    channel: str
    phone: str
    reference: str
    description: str | None
    failure_code: str | None
    failure_message: str | None
    created_at: int
    completed_at: int | None
    first_seen_at: int
    final_seen_at: int | None
    learned_from: str | None
    event_id: str | None
    contradictions: int
    unwell: int

    @property
    def bucket(self) -> tuple[str, int, str, str, str, str]:
        """Return the rollup that counts this collection, in the order of that table's key."""
        return (
            self.mode,
            hour_of(self.created_at),
            self.channel,
            self.currency,
            self.status,
            self.failure_code or "",
        )

    @property
    def counted(self) -> tuple[int, int, int]:
        """Return what this collection adds to its rollup: 1, its amount and its fee."""
        return (1, _countable(self.amount), _countable(self.fee))


COLUMNS: Final = tuple(collection.c[name] for name in Projected._fields)
PLAINLY_WELL: Final = frozenset({Status.CREATED, Status.SUCCEEDED})
"""Every collection with another status has `unwell` set, and so has one with a failure code."""


def project_facts(facts: Sequence[Observation], mode: Mode, seq: int) -> Projected | None:
    """Return the row that `facts` about one id make in `mode`; None where none of them counts.

    `facts` are those of both modes, and `seq` is the place of the latest of all.
    """
    if not any(fact.counts_in(mode) for fact in facts):
        return None
    return project(fold(facts, mode=mode), seq)


def project(state: CollectionState, seq: int) -> Projected:
    """Return the row of `state`, whose latest fact stands at `seq` in the journal."""
    event_id = state.event_ids[0] if state.event_ids else None
    missing_event = state.final_seen_at is not None and event_id is None
    status, code = str(state.status), state.failure_code
    currency, channel, phone, reference = (
        state.currency,
        state.channel,
        state.phone,
        state.reference,
    )
    if not is_plain(status, code, currency, channel, phone, reference, limit=WORD_MAX):
        status, code = clean(status, WORD_MAX), maybe_clean(code, WORD_MAX)
        currency, channel = clean(currency, WORD_MAX), clean(channel, WORD_MAX)
        phone, reference = clean(phone, NAME_MAX), clean(reference, NAME_MAX)
    # An empty code says nothing, and no code is kept as the empty text in rollups.
    code = code or None
    return Projected(
        id=state.id,
        seq=seq,
        mode=str(state.mode),
        status=status,
        amount=state.amount,
        fee=state.fee,
        currency=currency,
        channel=channel,
        phone=phone,
        reference=reference,
        description=maybe_clean(state.description),
        failure_code=code,
        failure_message=maybe_clean(state.failure_message),
        created_at=to_us(state.created_at),
        completed_at=maybe_us(state.completed_at),
        first_seen_at=to_us(state.first_seen_at),
        final_seen_at=maybe_us(state.final_seen_at),
        learned_from=None if state.learned_from is None else str(state.learned_from),
        event_id=event_id,
        contradictions=len(state.contradictions),
        unwell=int(
            state.status not in PLAINLY_WELL
            or code is not None
            or bool(state.contradictions)
            or missing_event
        ),
    )


def to_row(values: Sequence[Any]) -> CollectionRow:
    """Return the record of a row selected with COLUMNS."""
    it = Projected._make(values)
    return CollectionRow(
        id=it.id,
        seq=it.seq,
        mode=Mode(it.mode),
        status=it.status,
        amount=it.amount,
        fee=it.fee,
        currency=it.currency,
        channel=it.channel,
        phone=it.phone,
        reference=it.reference,
        description=it.description,
        failure_code=it.failure_code,
        failure_message=it.failure_message,
        created_at=from_us(it.created_at),
        completed_at=maybe_at(it.completed_at),
        first_seen_at=from_us(it.first_seen_at),
        final_seen_at=maybe_at(it.final_seen_at),
        learned_from=it.learned_from,
        event_id=it.event_id,
        contradictions=it.contradictions,
    )


def _countable(number: int) -> int:
    return max(-AMOUNT_COUNTED_MAX, min(AMOUNT_COUNTED_MAX, number))
