"""Payments whose final states contradict each other: the service is asked, by a plan of its own.

What it says is kept beside the facts, for who rules. Where the profile wants it so, two answers a
minute apart that agree with one side are a ruling.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from kusanya.client.core import Core
from kusanya.client.effects import Effects, call
from kusanya.client.observations import poll_observation
from kusanya.domain.status import CONTRADICTION, FINAL
from kusanya.errors import KusanyaError, NotFound, RulingRefused, StoreError
from kusanya.intents.ruling import ruled
from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.store.records import CollectionFilter, CollectionRow, read_all
from kusanya.wire import Collection, Mode

_SOON: Final = timedelta(minutes=1)
_LATER: Final = timedelta(hours=1)
_SOON_FOR: Final = timedelta(minutes=10)
"""So long after facts began to contradict each other one asks each minute, then each hour."""
_GIVEN_UP: Final = timedelta(days=7)
"""After its creation."""
_PAGE: Final = 20
_MOST: Final = 20
"""So many are asked about at a time."""
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


class Contradictions:
    """Asks about payments whose final states contradict each other; one for each watch."""

    def __init__(self, store: Store, core: Core, mode: Mode, *, rules: bool) -> None:
        self._store, self._core, self._mode, self._rules = store, core, mode, rules
        self._asked: dict[str, datetime] = {}

    def ask(self) -> Effects[int]:
        """Ask about those that are due, and return how many were ruled.

        What the service says is durable on return. With `rules` two answers of it a minute apart
        rule. A trouble of the service ends it until the next time. Raises StoreError.
        """
        store, now, count = self._store, self._core.clock.now(), 0
        rows = yield from call(partial(self._contradicting, since=now - _GIVEN_UP))
        self._asked = {row.id: self._asked[row.id] for row in rows if row.id in self._asked}
        asked = 0
        # Who waited longest comes first: the newest alone would be asked about again and again.
        for row in sorted(rows, key=lambda row: self._asked.get(row.id, _NEVER)):
            if asked >= _MOST:
                break
            read = partial(store.collections.observations, row.id, self._mode)
            facts = yield from call(read)
            if not self._is_due(row.id, facts, now=now):
                continue
            self._asked[row.id], asked = now, asked + 1
            try:
                said = yield from self._core.collection(row.id, deadline=self._core.deadline(None))
            except NotFound:
                continue
            except StoreError:
                raise
            except KusanyaError:
                return count
            answer = poll_observation(said, at=now, observed_in=self._mode)
            yield from call(partial(store.record, answer))
            if self._rules and _said_before(said, facts, now=now):
                count += yield from self._rule(said, facts, now=now)
        return count

    def _contradicting(self, *, since: datetime) -> list[CollectionRow]:
        where = CollectionFilter(statuses=(CONTRADICTION,), created_from=since, unwell=True)
        return read_all(
            lambda older_than: self._store.collections.page(
                self._mode, where=where, older_than=older_than, limit=_PAGE
            )
        )

    def _rule(
        self, said: Collection, facts: Sequence[Observation], *, now: datetime
    ) -> Effects[int]:
        try:
            fact = ruled(said, facts, mode=self._mode, now=now)
        except RulingRefused:
            return 0
        why = "two answers of the service a minute apart agree"
        rule = partial(self._store.collections.rule, fact, why=why, actor="kusanya watch")
        yield from call(rule)
        return 1

    def _is_due(self, row_id: str, facts: Sequence[Observation], *, now: datetime) -> bool:
        arose = _arose(facts)
        # The same answer again is no fact of its own, where the service gives its answers no names.
        asked = [fact.observed_at for fact in _answers(facts)]
        if row_id in self._asked:
            asked.append(self._asked[row_id])
        apart = _SOON if now - arose < _SOON_FOR else _LATER
        return all(at <= arose or now - at >= apart for at in asked)


def _arose(facts: Sequence[Observation]) -> datetime:
    """Return since when the facts contradict each other: when the last of the finals was new."""
    firsts: dict[str, datetime] = {}
    for fact in facts:
        if fact.collection.status in FINAL:
            known = firsts.get(fact.collection.status, fact.observed_at)
            firsts[fact.collection.status] = min(known, fact.observed_at)
    return max(firsts.values())


def _answers(facts: Sequence[Observation]) -> list[Observation]:
    """Return what the service answered when it was asked, the newest last."""
    found = [fact for fact in facts if fact.source is Source.POLL]
    return sorted(found, key=lambda fact: fact.observed_at)


def _said_before(said: Collection, facts: Sequence[Observation], *, now: datetime) -> bool:
    """Return whether its last answer, since they contradict and a minute ago, was the same."""
    last = _answers(facts)[-1:]
    return any(
        fact.collection.status == said.status and _arose(facts) <= fact.observed_at <= now - _SOON
        for fact in last
    )
