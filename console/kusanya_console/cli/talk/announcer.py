"""What `kusanya talk` says without being asked: alarms, and what changed since it last looked."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from kusanya.alarms.acknowledgements import acknowledgements
from kusanya.alarms.alarm import Alarm, names_of
from kusanya.alarms.rules import raised
from kusanya.clock import Clock
from kusanya.domain.business_day import format_instant
from kusanya.errors import StoreError
from kusanya.health.endpoints import EndpointHealth
from kusanya.say import Said, plural
from kusanya.store import Store
from kusanya.store.records import CollectionRow, IntentState, Verdict
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_console.cli.talk import lines
from kusanya_console.feed import FeedReader, Snapshot
from kusanya_console.ui.language import translate

_SAID_AT_ONCE: Final = 20
"""So many changes are read out at a time; the others are counted."""
_REMEMBERED: Final = 10_000
_TAKEN: Final = frozenset({Verdict.VERIFIED, Verdict.REPEAT})


class Follow(StrEnum):
    """What is said without being asked for."""

    ALL = "all"
    PROBLEMS = "problems"
    ALARMS = "alarms"


class Announcer:
    """Reads one mode of a store again and again, and says what is new in lines.

    A store that cannot be read is said once, and once more when it can be read again.
    """

    def __init__(self, store: Store, *, mode: Mode, clock: Clock, follow: Follow) -> None:
        self._store = store
        self._mode = mode
        self._clock = clock
        self._feed = FeedReader(store, mode=mode, clock=clock)
        self._snapshot: Snapshot | None = None
        self._alarms: dict[tuple[str, str], Alarm] = {}
        self._states: dict[str, tuple[object, ...]] = {}
        self._is_lost = False
        self.follow = follow

    def tick(self) -> Iterator[str]:
        """Read the store once; yield what is new."""
        try:
            snapshot = self._feed.read()
            standing = {(one.key, one.stage): one for one in self._raised(snapshot)}
            news = [*self._alarm_news(standing), *self._news(snapshot)]
        except StoreError as error:
            if not self._is_lost:
                yield Said("the store cannot be read: {why}. It is tried again.").of(
                    why=safe(str(error), 300)
                )
            self._is_lost = True
            return
        if self._is_lost:
            yield "the store can be read again"
        self._is_lost = False
        is_first = self._snapshot is None
        self._snapshot, self._alarms = snapshot, standing
        if is_first:
            yield from self.status()
        yield from news

    def status(self) -> Iterator[str]:
        """Yield the counts as they were read last; nothing while the store is lost."""
        if self._snapshot is not None and not self._is_lost:
            yield from lines.status_lines(self._snapshot, now=self._clock.now())

    @property
    def endpoints(self) -> tuple[EndpointHealth, ...]:
        """Return how our endpoints stood when the store was read last."""
        return () if self._snapshot is None else self._snapshot.health.endpoints

    def standing(self) -> tuple[Alarm, ...]:
        """Return the alarms that stand, as they were read last; none while the store is lost."""
        if self._snapshot is None or self._is_lost:
            return ()
        return self._raised(self._snapshot)

    def _raised(self, snapshot: Snapshot) -> tuple[Alarm, ...]:
        now = self._clock.now()
        return tuple(
            raised(snapshot.alarm_inputs, format_time=lambda at: format_instant(at, now=now))
        )

    def _alarm_news(self, standing: dict[tuple[str, str], Alarm]) -> Iterator[str]:
        new = [alarm for place, alarm in standing.items() if place not in self._alarms]
        if new:
            # Who looks after an alarm is read only when there is one to say.
            now = self._clock.now()
            held = acknowledgements(self._store, names_of(new), now=now)
            for alarm in new:
                yield from lines.alarm_lines(alarm, held.of(*alarm.names), now=now)
        keys = {key for key, _ in standing}
        for (key, _), alarm in self._alarms.items():
            if key not in keys:
                yield f"{translate('alarm over')}: {safe(translate(alarm.name), 120)}"
        if self._snapshot is None and not standing:
            yield "no alarm stands"

    def _news(self, snapshot: Snapshot) -> Iterator[str]:
        if self.follow is Follow.ALARMS:
            return
        store, mode, now = self._store, self._mode, self._clock.now()
        rows = [
            row
            for row in store.collections.by_id(sorted(snapshot.changed), mode).values()
            if self._is_new(row) and (self.follow is Follow.ALL or lines.is_problem(row))
        ]
        rows.sort(key=lambda row: row.key)
        yield from (lines.collection_line(row, now=now) for row in rows[:_SAID_AT_ONCE])
        if rows[_SAID_AT_ONCE:]:
            yield lines.summary_line(rows[_SAID_AT_ONCE:])
        arrived = store.deliveries.by_id(sorted(snapshot.arrived)).values()
        refused = [row for row in arrived if row.verdict not in _TAKEN]
        for row in refused[:_SAID_AT_ONCE]:
            yield f"{translate('delivery')}: {lines.delivery_line(row, now=now)}"
        if refused[_SAID_AT_ONCE:]:
            yield plural(
                len(refused) - _SAID_AT_ONCE,
                "and 1 more delivery that was not taken",
                "and {count} more deliveries that were not taken",
            )
        for name in sorted(snapshot.intents)[:_SAID_AT_ONCE]:
            intent = store.intents.get(name)
            if intent is not None and intent.state is IntentState.UNKNOWN:
                yield lines.intent_line(intent, now=now)

    def _is_new(self, row: CollectionRow) -> bool:
        state = (row.status, row.failure_code, bool(row.contradictions))
        if self._states.get(row.id) == state:
            return False
        self._states[row.id] = state
        if len(self._states) > _REMEMBERED:
            self._states.pop(next(iter(self._states)))
        return True
