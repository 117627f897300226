"""The state that follows from all facts about one collection.

`fold` is a merge: the result depends on which facts there are, never on the order in which they
came or how often. `created` lies below every status the specification does not name, and those lie
below the final states. Two different finals, or two values for a field that does not change, are
listed as contradictions and decided by nobody here. What was observed in the other mode, or under
an event id that was known with another body, is listed as well and sets no value. A ruling takes
out of the merge what it had seen and overruled; what it had not seen contradicts it. Source: States
and transitions; Delivery rules 4 and 5; Authentication. Assumes EXPIRED_IS_FINAL, OPEN_SETS and
OPTIONAL_FIELDS.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec.structs import fields as struct_fields

from kusanya.domain.status import CONTRADICTION, FINAL, OPEN, Status
from kusanya.privacy import mask_phone
from kusanya.state.observation import (
    CollectionState,
    Contradiction,
    Dispute,
    Observation,
    ShownStatus,
    Source,
)
from kusanya.wire import Collection, Mode

FIXED: Final = (
    "amount",
    "fee",
    "currency",
    "channel",
    "phone",
    "reference",
    "mode",
    "created_at",
)
"""Fields that every fact carries and that never change."""
LATER: Final = tuple(one.name for one in struct_fields(Collection) if one.default is None)
"""Fields that may be silent at first; once said, they never change either."""

_RANK: Final = {source: rank for rank, source in enumerate(Source)}
FEE_KIND: Final = {
    Source.ANSWER: "answer",
    Source.EVENT: "event",
    Source.EVENT_CHECK: "event",
    Source.POLL: "poll",
    Source.RULING: "poll",
}
"""Which of a state's three fees a source tells."""
# One C call and one tuple comparison per fact tells whether anything needs a closer look.
_fixed: Final[Callable[[Collection], tuple[Any, ...]]] = attrgetter(*FIXED)
_later: Final[Callable[[Collection], tuple[Any, ...]]] = attrgetter(*LATER)
_SILENT: Final = (None,) * len(LATER)
_encode: Final = msgspec.json.Encoder(order="deterministic").encode


def fold(observations: Iterable[Observation], *, mode: Mode | None = None) -> CollectionState:
    """Return the state that `observations` of one collection say together, in one mode.

    Takes them in any order and any number of times. Only facts that count in `mode` decide; the
    others are evidence and can but add contradictions. `mode` may be left out where all facts that
    count are of one mode. Where facts differ the value observed first is shown: ties go to the
    answer, the event, the event check and the poll, in this order. Raises ValueError where no fact
    counts, for facts of more than one collection, and for two modes when none is named.
    """
    observed = tuple(observations)
    mode = _only_mode(observed) if mode is None else mode
    ours = tuple(fact for fact in observed if fact.counts_in(mode))
    if not ours:
        raise ValueError("a state follows from at least one observation that counts in its mode")
    known = ours if len(ours) == 1 else _ordered(ours)
    facts: Sequence[Observation] = known
    statuses = {fact.collection.status for fact in facts}
    if len(statuses & FINAL) > 1:
        facts = _upheld(known)
    first = facts[0].collection
    final = next((fact for fact in facts if fact.collection.status in FINAL), None)
    finals = {fact.collection.status for fact in facts if fact.collection.status in FINAL}
    later, differs = _merged(facts)
    contradictions: tuple[Contradiction, ...] = ()
    if len(ours) < len(observed):
        evidence = _ordered([fact for fact in observed if not fact.counts_in(mode)])
        finals, contradictions = _doubts(facts, evidence, finals, mode)
    elif differs or len(finals) > 1:
        contradictions = _contradictions(facts, finals)
    fees = _fees(facts)
    said = dict(zip(LATER, later, strict=True))
    if said["completed_at"] is not None:
        said["completed_at"] = _utc(said["completed_at"])
    return CollectionState(
        id=first.id,
        mode=mode,
        status=_status(facts, statuses, finals),
        statuses=tuple(sorted(statuses)),
        amount=first.amount,
        fee=first.fee,
        currency=first.currency,
        channel=first.channel,
        phone=first.phone,
        reference=first.reference,
        created_at=_utc(first.created_at),
        first_seen_at=_utc(facts[0].observed_at),
        final_seen_at=None if final is None else _utc(final.observed_at),
        learned_from=None if final is None else final.source,
        confirmed_by=() if final is None else _confirming(facts),
        event_ids=_event_ids(facts),
        fee_answer=fees.get("answer"),
        fee_event=fees.get("event"),
        fee_poll=fees.get("poll"),
        observations=len(known),
        contradictions=contradictions,
        is_ruled=len(facts) < len(known),
        **said,
    )


def _only_mode(observed: Sequence[Observation]) -> Mode:
    modes = {fact.observed_in for fact in observed if fact.counts_in(fact.observed_in)}
    if len(modes) > 1:
        raise ValueError("these facts are of both modes: name the one to fold in")
    # Where no fact counts in any mode, none does in this one.
    return modes.pop() if modes else Mode.LIVE


def _upheld(facts: Sequence[Observation]) -> Sequence[Observation]:
    """Return the facts without those that the last ruling had seen and overruled."""
    rulings = [fact for fact in facts if fact.source is Source.RULING]
    if not rulings:
        return facts
    # What an earlier ruling said is a fact that the last one may have overruled too.
    overruled = frozenset(max(rulings, key=_place).overrules)
    return [fact for fact in facts if fact.name not in overruled]


def _merged(facts: Sequence[Observation]) -> tuple[tuple[Any, ...], bool]:
    """Return the values of LATER, and whether any two facts differ in a field."""
    first = facts[0].collection
    fixed, later = _fixed(first), _later(first)
    differs = False
    for fact in facts[1:]:
        said = fact.collection
        if said.id != first.id:
            raise ValueError("a state follows from the observations of one collection, not of two")
        if _fixed(said) != fixed:
            differs = True
        also = _later(said)
        if later == _SILENT:
            later = also
        elif also not in (later, _SILENT):
            merged = tuple(b if a is None else a for a, b in zip(later, also, strict=True))
            differs = differs or any(
                b is not None and a != b for a, b in zip(merged, also, strict=True)
            )
            later = merged
    return later, differs


def _doubts(
    facts: Sequence[Observation],
    evidence: Sequence[Observation],
    finals: set[Status],
    mode: Mode,
) -> tuple[set[Status], tuple[Contradiction, ...]]:
    """Return the final states between which nobody chooses, and all contradictions.

    Evidence of the other mode never touches the final states. Another body of a known event that
    names another final state leaves open which of the two is true.
    """
    own_id = facts[0].collection.id
    if any(f.collection.id != own_id for f in evidence if f.disputed is not Dispute.OTHER_BODY):
        raise ValueError("a state follows from the observations of one collection, not of two")
    again: list[Observation] = []
    strange: list[Observation] = []
    for fact in evidence:
        of_mode = fact.observed_in == fact.collection.mode == mode
        (again if of_mode and fact.disputed is Dispute.OTHER_BODY else strange).append(fact)
    same = [fact for fact in again if fact.collection.id == own_id]
    if finals:
        finals = finals | {f.collection.status for f in same if f.collection.status in FINAL}
    found = _contradictions(_ordered([*facts, *same]), finals)
    if strange:
        # There are two modes, and what is not of this one says the other.
        other = Mode.TEST if mode is Mode.LIVE else Mode.LIVE
        said = [(fact, other.value) for fact in strange] + [(fact, mode.value) for fact in facts]
        said.sort(key=lambda one: _place(one[0]))
        found += _differing("mode", [(value, fact.source) for fact, value in said])
    if again:
        ids = dict.fromkeys(fact.event_id or "" for fact in again)
        found += (
            Contradiction(
                field="event", values=tuple(ids), sources=tuple(Source.EVENT for _ in ids)
            ),
        )
    return finals, found


def _ordered(observed: Sequence[Observation]) -> tuple[Observation, ...]:
    """Return the distinct facts in the order in which they were first observed."""
    if len({(fact.source, fact.source_id) for fact in observed}) == len(observed):
        return tuple(sorted(observed, key=_place))
    by_source: dict[tuple[Source, str], Observation | dict[bytes, Observation]] = {}
    for fact in observed:
        key = (fact.source, fact.source_id)
        known = by_source.get(key)
        if known is None:
            by_source[key] = fact
            continue
        if isinstance(known, Observation):
            known = by_source[key] = {_content(known): known}
        # The same saying twice is one fact, first observed at the earlier of the two.
        content = _content(fact)
        earlier = known.get(content)
        if earlier is None or fact.observed_at < earlier.observed_at:
            known[content] = fact
    facts: list[Observation] = []
    contents: dict[int, bytes] = {}
    for entry in by_source.values():
        if isinstance(entry, Observation):
            facts.append(entry)
        else:
            facts.extend(entry.values())
            contents.update((id(fact), content) for content, fact in entry.items())
    facts.sort(key=lambda fact: (*_place(fact), contents.get(id(fact), b"")))
    return tuple(facts)


def _place(fact: Observation) -> tuple[datetime, int, str]:
    return (fact.observed_at, _RANK[fact.source], fact.source_id)


def _content(fact: Observation) -> bytes:
    # Bytes and not ==, because Python holds 1, 1.0 and True in metadata for equal.
    return _encode(
        (
            fact.observed_in,
            fact.collection,
            fact.replayed,
            fact.event_id,
            fact.event_type,
            fact.event_created_at,
            fact.disputed,
        )
    )


def _status(
    facts: Sequence[Observation], statuses: set[Status], finals: set[Status]
) -> ShownStatus:
    if finals:
        return next(iter(finals)) if len(finals) == 1 else CONTRADICTION
    if len(statuses) == 1:
        return next(iter(statuses))
    # Among statuses we cannot rank the one observed last is nearest to the present. A replayed
    # answer is of the past, whenever it was observed.
    unknown = [fact for fact in facts if fact.collection.status not in OPEN]
    present = [fact for fact in unknown if not fact.replayed] or unknown
    return present[-1].collection.status


def _confirming(facts: Sequence[Observation]) -> tuple[Source, ...]:
    return tuple(sorted({fact.source for fact in facts if fact.collection.status in FINAL}))


def _event_ids(facts: Sequence[Observation]) -> tuple[str, ...]:
    found = {
        fact.event_id for fact in facts if fact.source is Source.EVENT and fact.event_id is not None
    }
    return tuple(found) if len(found) < 2 else tuple(sorted(found))  # noqa: PLR2004 - nothing to sort


def _fees(facts: Sequence[Observation]) -> dict[str, int]:
    fees: dict[str, int] = {}
    for fact in facts:
        fees.setdefault(FEE_KIND[fact.source], fact.collection.fee)
    return fees


def _contradictions(facts: Sequence[Observation], finals: set[Status]) -> tuple[Contradiction, ...]:
    found: list[Contradiction] = []
    if len(finals) > 1:
        ends = [f for f in facts if f.collection.status in finals]
        said = [(str(f.collection.status), f.source) for f in ends]
        found.extend(_differing("status", said))
    for field in FIXED:
        said = [(_text(field, getattr(f.collection, field)), f.source) for f in facts]
        found.extend(_differing(field, said))
    for field in LATER:
        values = ((getattr(f.collection, field), f.source) for f in facts)
        found.extend(_differing(field, [(_text(field, v), s) for v, s in values if v is not None]))
    return tuple(found)


def _differing(field: str, said: Sequence[tuple[str, Source]]) -> tuple[Contradiction, ...]:
    first: dict[str, Source] = {}
    for value, source in said:
        first.setdefault(value, source)
    if len(first) < 2:  # noqa: PLR2004 - one value contradicts nothing
        return ()
    shown = tuple(mask_phone(value) for value in first) if field == "phone" else tuple(first)
    return (Contradiction(field=field, values=shown, sources=tuple(first.values())),)


def _text(field: str, value: Any) -> str:
    if isinstance(value, datetime):
        return _utc(value).isoformat().replace("+00:00", "Z")
    if field == "metadata":
        return _encode(value).decode()
    return str(value)


def _utc(at: datetime) -> datetime:
    return at if at.tzinfo is UTC else at.astimezone(UTC)
