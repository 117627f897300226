"""The background poller: rounds of questions about open collections, within a budget.

Any number of pollers share one store: a collection is leased to one of them while it is asked
about, and until its next poll is due. The schedule does not depend on any process.
"""

import logging
import os
import secrets
import socket
import zlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.client.core import Core
from kusanya.client.effects import Effects, call, sleep
from kusanya.clock import Clock
from kusanya.errors import (
    AuthenticationError,
    KusanyaError,
    NotFound,
    PermissionDenied,
    ServiceError,
    StoreDamaged,
    StoreError,
    StoreTooNew,
)
from kusanya.intents import resolve_waiting
from kusanya.intents.polling import poll_collection
from kusanya.store import Store
from kusanya.store.records import CollectionRow
from kusanya.watch.contradicted import Contradictions
from kusanya.watch.resuming import resume_due
from kusanya.watch.schedule import FIRST_POLL, next_poll, polls_due
from kusanya.wire import Mode

_log = logging.getLogger("kusanya.watch")
_NAP_S: Final = 1.0
"""The longest pause between two checks of `stop`."""
_LEASE: Final = timedelta(minutes=2)
"""How long a round may hold what it asks about; another poller takes it over afterwards."""
_BEAT_S: Final = 30.0
"""How often a poller notes in the store that it runs."""
_CONTACT_S: Final = 15.0
"""How long nothing may have been asked before the service is asked something small."""
_CLOCK_CHECKED_S: Final = 300.0
"""How long no answer may have had the service's time in it before it is asked for."""
_STORE_AWAY_MAX_S: Final = 60.0
"""The longest pause before an unusable store is tried again."""


class PollSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How much the poller asks."""

    every: timedelta = timedelta(seconds=5)
    """From the end of one round to the beginning of the next."""
    budget: int = 20
    """The most requests of one round."""
    apart_s: float = 0.1
    """The pause between two requests of a round."""
    resumes: str | None = None
    """The profile whose creations without an answer are sent again; None sends none."""
    rules_by_service: bool = False
    """Whether two answers a minute apart rule on a payment whose facts contradict each other."""


class PollResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one round did."""

    asked: int = 0
    became_final: int = 0
    missing_events: int = 0
    """Final states learned here that no event had reported."""
    unknown: int = 0
    """Collections that the service does not know; shown, never removed."""
    resolved: int = msgspec.field(default=0, name="settled")
    """Intents resolved by what is known of their collections; JSON keeps the name `settled`."""
    resumed: int = 0
    """Creations that were sent again and have their answer now."""
    ruled: int = 0
    """Payments with contradicting facts that were ruled by what the service says."""
    trouble: str | None = None
    """Why the round ended early; the next one tries again."""


def poll_open(
    store: Store,
    core: Core,
    *,
    stop: Callable[[], bool],
    settings: PollSettings | None = None,
    on_result: Callable[[PollResult], None] | None = None,
) -> Effects[None]:
    """Make rounds until `stop()`; each is reported to `on_result`.

    Run by a client: `client.run(poll_open(store, client.core, stop=event.is_set))`. Troubles of the
    service end a round, and a store that cannot be used is tried again; the poller goes on. It ends
    by an error only where waiting helps nobody: AuthenticationError and PermissionDenied for a key
    that is refused, StoreTooNew, StoreDamaged.
    """
    settings = settings or PollSettings()
    poller = _Poller(store, core)
    while not stop():
        result, pause_s = yield from poller.round(settings)
        if on_result is not None and result is not None:
            on_result(result)
        left_s = pause_s
        while left_s > 0 and not stop():
            yield from sleep(min(left_s, _NAP_S))
            left_s -= _NAP_S


class _Poller:
    """One poller: its name, its heartbeat, the service's time, how long the store has been away."""

    def __init__(self, store: Store, core: Core) -> None:
        self._store = store
        self._core = core
        self._name = new_name()
        self._beat_at: float | None = None
        self._asked_at: float | None = None
        self._silent_since: datetime | None = None
        self._contradicted_at: float | None = None
        self._contradictions: Contradictions | None = None
        self._away_s = 0.0

    def round(self, settings: PollSettings) -> Effects[tuple[PollResult | None, float]]:
        """Make one round; return its result, None where reported before, and the pause after it."""
        every_s = settings.every.total_seconds()
        yield from self._check_contact()
        try:
            yield from self._beat()
            result = yield from poll_once(self._store, self._core, by=self._name, settings=settings)
            result = yield from self._with_rulings(result, rules=settings.rules_by_service)
        except (StoreTooNew, StoreDamaged):
            raise
        except StoreError as error:
            return self._store_away(error, every_s)
        if self._away_s:
            _log.info("the store can be used again")
        self._away_s = 0.0
        if result.trouble is not None:
            _log.warning("a round ended early", extra={"trouble": result.trouble})
        return result, every_s

    def _with_rulings(self, result: PollResult, *, rules: bool) -> Effects[PollResult]:
        """Ask about payments whose facts contradict each other, twice a minute at the most."""
        now = self._core.clock.monotonic()
        is_due = self._contradicted_at is None or now - self._contradicted_at >= _BEAT_S
        if result.trouble is not None or not is_due:
            return result
        self._contradicted_at = now
        if self._contradictions is None:
            mode = mode_of(self._core)
            self._contradictions = Contradictions(self._store, self._core, mode, rules=rules)
        ruled = yield from self._contradictions.ask()
        return msgspec.structs.replace(result, ruled=ruled)

    def _store_away(self, error: StoreError, every_s: float) -> tuple[PollResult | None, float]:
        is_new = not self._away_s
        self._away_s = min(max(2 * self._away_s, every_s), _STORE_AWAY_MAX_S)
        if not is_new:
            return None, self._away_s
        _log.warning("the store cannot be used", extra={"trouble": str(error)})
        return PollResult(trouble=str(error)), self._away_s

    def _check_contact(self) -> Effects[None]:
        """Ask the service something small where it is not known whether it answers, or its time."""
        core, now = self._core, self._core.clock.monotonic()
        is_quiet = core.contact.silent_since is not None or core.contact.is_older_than(_CONTACT_S)
        has_no_time = core.clock_check.is_older_than(_CLOCK_CHECKED_S) and (
            self._asked_at is None or now - self._asked_at >= _CLOCK_CHECKED_S
        )
        if not is_quiet and not has_no_time:
            return
        self._asked_at = now
        try:
            yield from core.whoami()
        except (AuthenticationError, PermissionDenied):
            raise
        except KusanyaError as error:
            _log.info("the service does not answer", extra={"trouble": str(error)})

    def _beat(self) -> Effects[None]:
        now = self._core.clock.monotonic()
        silent_since = self._core.contact.silent_since
        is_due = self._beat_at is None or now - self._beat_at >= _BEAT_S
        if is_due or silent_since != self._silent_since:
            mode = mode_of(self._core)
            offset = self._core.clock_check.offset
            yield from call(
                lambda: self._store.poll_leases.record_poll(
                    mode, by=self._name, clock_offset=offset, silent_since=silent_since
                )
            )
            self._beat_at, self._silent_since = now, silent_since


def new_name() -> str:
    """Return a name for a poller that tells people where it runs, and is nobody else's."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def mode_of(core: Core) -> Mode:
    """Return the mode that a client asks in; raises ValueError where its key does not tell."""
    if core.mode is None:
        raise ValueError("the client's API key does not tell its mode: pass mode=")
    return core.mode


def poll_once(store: Store, core: Core, *, by: str, settings: PollSettings) -> Effects[PollResult]:
    """Make one round as the poller `by`: ask about what is due, keep what is new, resolve intents.

    With `settings.resumes` creations without an answer are sent again too, see `resume_due`.
    Durable on return. What is asked about here is asked about by nobody else until its next poll is
    due, or, if this process dies, for two minutes. Raises AuthenticationError and PermissionDenied
    for a key that is refused; other troubles of the service end the round.
    """
    mode, clock = mode_of(core), core.clock
    began = clock.now()
    due = yield from call(
        lambda: store.poll_leases.take(
            mode,
            by=by,
            until=began + _LEASE,
            created_before=began - FIRST_POLL[mode],
            limit=settings.budget,
        )
    )
    run = _PollRun(store, core, began, settings)
    yield from run.ask_all(due)
    yield from call(lambda: _return_leases(store, mode, by, run))
    if run.refused is not None:
        raise run.refused
    resolved = yield from call(lambda: resolve_waiting(store, now=clock.now(), mode=mode))
    resumed = 0
    if settings.resumes is not None and run.result.trouble is None:
        resumed = yield from resume_due(store, core, settings.resumes, budget=settings.budget)
    return msgspec.structs.replace(run.result, resolved=resolved, resumed=resumed)


class _PollRun:
    """One round of questions, and what is to become of the leases."""

    def __init__(self, store: Store, core: Core, began: datetime, settings: PollSettings) -> None:
        self._store = store
        self._core = core
        self._ask_until = began + _LEASE / 2
        self._settings = settings
        self.result = PollResult()
        self.refused: ServiceError | None = None
        self.next_polls: dict[str, datetime] = {}
        """When those that stay open are to be asked about again."""
        self.done: list[str] = []
        """Final, or not asked about after all."""

    def ask_all(self, due: Sequence[CollectionRow]) -> Effects[None]:
        """Ask about one after the other, until one has no answer or the lease runs short."""
        for row in due:
            if self.result.trouble is not None or self._core.clock.now() >= self._ask_until:
                self.done.append(row.id)
                continue
            if self.result.asked:
                yield from sleep(self._settings.apart_s)
            self._count(asked=1)
            yield from self._ask(row)

    def _ask(self, row: CollectionRow) -> Effects[None]:
        try:
            poll = yield from poll_collection(
                self._store, self._core, row.id, mode=row.mode, known_status=row.status
            )
        except NotFound:
            self._count(unknown=1)
        except StoreError:
            raise
        except KusanyaError as error:
            # Whatever it is, asking for the next one now would not go better.
            if isinstance(error, (AuthenticationError, PermissionDenied)):
                self.refused = error
            self.result = msgspec.structs.replace(self.result, trouble=str(error))
            self.done.append(row.id)
            return
        else:
            if poll.collection.is_final:
                self.done.append(row.id)
                self._count(became_final=1, missing_events=int(poll.missing_event))
                return
        self.next_polls[row.id] = _next_poll(row, self._core.clock)

    def _count(self, **more: int) -> None:
        counts = {name: getattr(self.result, name) + number for name, number in more.items()}
        self.result = msgspec.structs.replace(self.result, **counts)


def _return_leases(store: Store, mode: Mode, by: str, run: _PollRun) -> None:
    if run.next_polls:
        store.poll_leases.prolong(mode, run.next_polls, by=by)
    if run.done:
        store.poll_leases.release(mode, run.done, by=by)


def _next_poll(row: CollectionRow, clock: Clock) -> datetime:
    now = clock.now()
    # The same for a collection in every round; what matters is that it differs among them.
    chance = (zlib.crc32(row.id.encode()) & 0xFFFF) / 0xFFFF
    polls = polls_due(age=now - row.created_at, mode=row.mode, chance=chance)
    return next_poll(polls=polls, last_at=now, chance=chance)
