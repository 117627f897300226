"""Intents as they are kept: lists, single ones, leases, and how one comes to its end.

Every method that writes returns after COMMIT. What may be sent, and when it must stop, is decided
by `kusanya.intents`; attempts are begun and ended in `kusanya.store.queries.intents.attempts`.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    Connection,
    RowMapping,
    Select,
    and_,
    bindparam,
    func,
    or_,
    select,
    tuple_,
    update,
)

from kusanya.domain.collection_columns import NAME_MAX
from kusanya.errors import IntentError, IntentReason
from kusanya.store.queries.collections.names import of_phone
from kusanya.store.queries.collections.terms import phone_spellings
from kusanya.store.queries.intents.attempts import IntentAttempts
from kusanya.store.queries.intents.order import order_of
from kusanya.store.queries.intents.rows import (
    BY_ID,
    INTENT_COLUMNS,
    change,
    one,
    same_reference,
    the_intent,
    to_intent,
    under_key,
)
from kusanya.store.queries.notes_and_audit import audited
from kusanya.store.queries.planner_hints import bound_asked, unindexed
from kusanya.store.records import (
    AttemptRow,
    CollectionRow,
    Decision,
    IntentRow,
    IntentState,
    Key,
    Page,
)
from kusanya.store.records.intent_rules import differing_fields
from kusanya.store.records.order import OrderFacts
from kusanya.store.tables.schema import collection, intent, intent_attempt
from kusanya.store.tables.values import (
    ESCAPE,
    clean,
    from_us,
    maybe_at,
    maybe_clean,
    maybe_us,
    part_of,
    to_us,
)
from kusanya.store.writer.batch import Transaction
from kusanya.wire import Mode

_ATTEMPT: Final = tuple(intent_attempt.c[name] for name in AttemptRow.__struct_fields__)
_OPEN: Final = (IntentState.PREPARED.value, IntentState.SENT.value, IntentState.UNKNOWN.value)

_TERMS: Final = {
    "phones": intent.c.phone.in_(bindparam("phones", expanding=True)),
    "reference": intent.c.reference == bindparam("reference"),
    "part": func.lower(intent.c.reference).contains(bindparam("part"), escape=ESCAPE),
    "phone_end": intent.c.phone.endswith(bindparam("phone_end"), escape=ESCAPE),
    "amount_min": intent.c.amount >= bindparam("amount_min"),
    "amount_max": intent.c.amount <= bindparam("amount_max"),
    "prepared_from": intent.c.prepared_at >= bindparam("prepared_from"),
    "prepared_to": intent.c.prepared_at < bindparam("prepared_to"),
}


@cache
def _still_open(*terms: str) -> Select[Any]:
    """Return the open intents that meet these terms; made once, which costs more than running."""
    it = intent.c
    return (
        select(*INTENT_COLUMNS)
        .where(
            it.mode == bindparam("of_mode"), it.state.in_(_OPEN), *(_TERMS[name] for name in terms)
        )
        .order_by(unindexed(it.prepared_at).desc(), it.id.desc())
        .limit(bound_asked())
    )


class Intents(IntentAttempts):
    """Keeping and reading intents, and beginning and ending their attempts."""

    def take_lease(self, intent_id: str, *, by: str, until: datetime) -> bool:
        """Lease an intent to one process until `until`; False while another holds it.

        A lease of one's own is prolonged. Raises IntentError for an unknown intent.
        """

        def act(writing: Transaction) -> bool:
            row = the_intent(writing.connection, intent_id)
            held = (
                row.claimed_by not in (None, by)
                and row.claimed_until is not None
                and row.claimed_until > writing.now
            )
            if held:
                return False
            writing.connection.execute(
                update(intent)
                .where(intent.c.id == intent_id)
                .values(claimed_by=by, claimed_until=to_us(until))
            )
            return True

        return self._act(act)

    def release_lease(self, intent_id: str, *, by: str) -> None:
        """Give up one's own lease; another's stays."""

        def act(writing: Transaction) -> None:
            writing.connection.execute(
                update(intent)
                .where(intent.c.id == intent_id, intent.c.claimed_by == by)
                .values(claimed_by=None, claimed_until=None)
            )

        self._act(act)

    def close_window(
        self, intent_id: str, *, at: datetime, sentence: str, only_from: Collection[IntentState]
    ) -> IntentRow:
        """Make durable that an intent may never be sent again, and why; return it.

        Its state stays: nothing is known of its outcome. An intent in a state that is not among
        `only_from`, or whose window was closed before, is returned as it is.
        """

        def act(writing: Transaction) -> IntentRow:
            row = the_intent(writing.connection, intent_id)
            if row.window_closed_at is not None or row.state not in only_from:
                return row
            return change(writing, row, at=at, window_closed_at=at, outcome=sentence)

        return self._act(act)

    def resolve(
        self,
        intent_id: str,
        *,
        collection_id: str | None,
        sentence: str,
        state: IntentState = IntentState.SETTLED,
        at: datetime | None = None,
        only_from: Collection[IntentState] | None = None,
        decided: Decision | None = None,
    ) -> IntentRow:
        """Make durable that an event, an answer or a person decided an intent; return it.

        With `only_from` an intent in any other state is left and returned as it is: an earlier
        look may be out of date. A person's decision is audited in the same transaction, and raises
        IntentError for a collection that belongs to another intent, or that the store knows with
        another mode, reference, amount or phone.
        """

        def act(writing: Transaction) -> IntentRow:
            row = the_intent(writing.connection, intent_id)
            if only_from is not None and row.state not in only_from:
                return row
            if decided is not None:
                _check_decided(writing.connection, row, collection_id)
                audited(
                    writing,
                    actor=decided.actor,
                    act="decide intent",
                    subject=intent_id,
                    detail=decided.detail,
                    outcome="done",
                )
            return change(
                writing,
                row,
                at=at or writing.now,
                state=state,
                collection_id=collection_id or row.collection_id,
                outcome=sentence,
            )

        return self._act(act)

    def get(self, intent_id: str) -> IntentRow | None:
        """Return an intent, or None where it is unknown."""
        with self._reading("read intents") as connection:
            return one(connection, BY_ID, of=clean(intent_id))

    def by_key(self, mode: Mode, profile: str, key: str) -> IntentRow | None:
        """Return the intent with this idempotency key, or None."""
        with self._reading("read intents") as connection:
            return under_key(connection, mode, profile, clean(key))

    def page(
        self,
        mode: Mode | None = None,
        *,
        states: Sequence[IntentState] = (),
        profile: str | None = None,
        older_than: Key | None = None,
        limit: int = 200,
    ) -> Page[IntentRow]:
        """Return a page of intents, newest first, of one mode or of both, of one profile or all."""
        it = intent.c
        query = select(*INTENT_COLUMNS).order_by(it.prepared_at.desc(), it.id.desc())
        if mode is not None:
            query = query.where(it.mode == mode.value)
        if profile is not None:
            query = query.where(it.profile == clean(profile))
        if states:
            query = query.where(or_(*(it.state == state.value for state in states)))
        if older_than is not None:
            query = query.where(
                tuple_(it.prepared_at, it.id) < tuple_(older_than.value, older_than.id)
            )
        return self._page(query, limit)

    def still_open(
        self,
        mode: Mode,
        *,
        phone: str | None = None,
        reference: str | None = None,
        reference_part: str | None = None,
        phone_end: str | None = None,
        amounts: tuple[int, int] | None = None,
        prepared_from: datetime | None = None,
        prepared_to: datetime | None = None,
        limit: int = 200,
    ) -> tuple[IntentRow, ...]:
        """Return the intents that are neither answered nor over, newest first.

        Terms are joined by AND, None does not restrict. `phone` is found with and without its
        leading +, `reference_part` in any case, `phone_end` are its last digits, and of `amounts`
        both are included. All open ones are looked through: those are few.
        """
        terms = {
            "phones": None if phone is None else phone_spellings(phone),
            "reference": maybe_clean(reference, NAME_MAX),
            "part": None if reference_part is None else part_of(reference_part, NAME_MAX),
            "phone_end": phone_end,
            "amount_min": None if amounts is None else amounts[0],
            "amount_max": None if amounts is None else amounts[1],
            "prepared_from": maybe_us(prepared_from),
            "prepared_to": maybe_us(prepared_to),
        }
        asked = {name: value for name, value in terms.items() if value is not None}
        query, always = _still_open(*asked), {"of_mode": mode.value, "bound": limit}
        with self._reading("read intents") as connection:
            found = connection.execute(query, {**asked, **always})
            return tuple(to_intent(row) for row in found.mappings())

    def sent_since(
        self,
        mode: Mode,
        instant: datetime,
        *,
        states: Sequence[IntentState],
        profile: str,
        after: Key | None = None,
        limit: int = 200,
    ) -> Page[IntentRow]:
        """Return a profile's intents in these states that were first sent after an instant.

        Oldest first, from just after a key on.
        """
        it = intent.c
        query = select(*INTENT_COLUMNS).where(
            it.mode == mode.value,
            it.profile == clean(profile),
            or_(*(it.state == state.value for state in states)),
            it.first_sent_at > to_us(instant),
        )
        if after is not None:
            query = query.where(tuple_(it.prepared_at, it.id) > tuple_(after.value, after.id))
        return self._page(query.order_by(it.prepared_at, it.id), limit)

    def _page(self, query: Select[Any], limit: int) -> Page[IntentRow]:
        with self._reading("read intents") as connection:
            rows = connection.execute(query.limit(limit + 1)).mappings()
            found = tuple(to_intent(row) for row in rows)
        return Page(rows=found[:limit], more=len(found) > limit)

    def count_unknown(
        self, mode: Mode, *, sent_within: tuple[datetime, datetime] | None = None
    ) -> int:
        """Return how many creations have no known outcome.

        With two instants only those that were first sent between them, the second included, and
        whose window nobody closed.
        """
        it = intent.c
        query = select(func.count()).where(
            it.mode == mode.value, it.state == IntentState.UNKNOWN.value
        )
        if sent_within is not None:
            after, until = map(to_us, sent_within)
            query = query.where(
                it.first_sent_at > after, it.first_sent_at <= until, it.window_closed_at.is_(None)
            )
        with self._reading("read intents") as connection:
            return int(connection.execute(query).scalar_one())

    def attempts(self, intent_id: str) -> tuple[AttemptRow, ...]:
        """Return the attempts of an intent, first to last."""
        query = (
            select(*_ATTEMPT)
            .where(intent_attempt.c.intent_id == clean(intent_id))
            .order_by(intent_attempt.c.number)
        )
        with self._reading("read intents") as connection:
            return tuple(map(_to_attempt, connection.execute(query).mappings()))

    def last_attempts(self, intent_ids: Sequence[str]) -> dict[str, AttemptRow]:
        """Return the last attempt of each of these intents that has one, by the intent's id."""
        it = intent_attempt.c
        last = and_(it.intent_id == intent.c.id, it.number == intent.c.attempts)
        query = select(*_ATTEMPT).select_from(intent.join(intent_attempt, last))
        with self._reading("read intents") as connection:
            found = connection.execute(query.where(intent.c.id.in_(intent_ids))).mappings()
            return {row.intent_id: row for row in map(_to_attempt, found)}

    def order(self, mode: Mode, reference: str) -> OrderFacts:
        """Return all that is known under a reference, as of one moment.

        Raises ValueError for one that is not kept as it is: two of them could be kept alike, and
        what was paid under one would be told of the other. Raises StoreError.
        """
        _check_reference(reference)
        with self._reading_one_moment("read an order") as connection:
            return order_of(connection, mode, reference)

    def order_and_phone(
        self, mode: Mode, reference: str, phone: str, *, since: datetime, limit: int
    ) -> tuple[OrderFacts, tuple[CollectionRow, ...]]:
        """Do what `order` does, and return the newest collections of a phone as of that moment."""
        _check_reference(reference)
        with self._reading_one_moment("read an order") as connection:
            recent = of_phone(connection, mode, phone, since=since, limit=limit)
            return order_of(connection, mode, reference), recent

    def by_reference(self, mode: Mode, *references: str) -> tuple[IntentRow, ...]:
        """Return the intents with exactly this reference, or one of several, newest first."""
        with self._reading("read intents") as connection:
            return same_reference(connection, mode, *references)


def _check_reference(reference: str) -> None:
    if clean(reference, NAME_MAX) != reference:
        raise ValueError(
            f"the reference of an order has at most {NAME_MAX} characters, without NUL and "
            "lone surrogates"
        )


def _to_attempt(row: RowMapping) -> AttemptRow:
    times = {"sent_at": from_us(row["sent_at"]), "ended_at": maybe_at(row["ended_at"])}
    return AttemptRow(**{**row, **times})


def _check_decided(connection: Connection, row: IntentRow, collection_id: str | None) -> None:
    """Raise IntentError where the store knows that the collection is not this intent's."""
    if collection_id is None:
        return
    other = intent.c
    taken = select(other.id).where(
        other.mode == row.mode.value,
        other.collection_id == clean(collection_id),
        other.id != row.id,
    )
    taken_by = connection.execute(taken.limit(1)).scalar_one_or_none()
    if taken_by is not None:
        raise IntentError(
            f"that collection belongs to the creation {taken_by}",
            reason=IntentReason.OTHER_COLLECTION,
            intent_id=row.id,
        )
    it = collection.c
    known = connection.execute(
        select(it.mode, it.reference, it.amount, it.phone).where(it.id == clean(collection_id))
    ).all()
    differing = [
        differing_fields(row, mode=mode, reference=reference, amount=amount, phone=phone)
        for mode, reference, amount, phone in known
    ]
    if differing and all(differing):
        raise IntentError(
            f"that collection is not what became of this creation: {'; '.join(differing[0])}",
            reason=IntentReason.OTHER_COLLECTION,
            intent_id=row.id,
        )
