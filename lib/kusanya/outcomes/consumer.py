"""A consumer of outcomes: the shop's handlers, each in a transaction of the shop's own database."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial
from importlib import import_module
from random import Random
from typing import Any, Final, Literal

from kusanya.clock import Clock
from kusanya.errors import ConfigurationError
from kusanya.outcomes.shop import NoTransactionError, claim, claim_async
from kusanya.outcomes.work_loop import Endings, WorkLoop
from kusanya.platform.arguments import check_seconds, plain_text
from kusanya.store import Store
from kusanya.store.records.outcomes import Ending, Kind, Outcome, Work, kind_of_success
from kusanya.wire import Mode

Handler = Callable[[Outcome, Any], None]
Connect = Callable[[], AbstractContextManager[Any]]
AsyncConnect = Callable[[], AbstractAsyncContextManager[Any]]


class Park(Exception):  # noqa: N818 - an instruction of a handler, no fault
    """Raised by a handler: a person has to look at this outcome, for the reason given."""


class Later(Exception):  # noqa: N818 - an instruction of a handler, no fault
    """Raised by a handler: nothing can be done yet; it is due again after so many seconds."""

    LONGEST_S: Final = 366 * 86_400.0

    def __init__(self, seconds: float) -> None:
        """Wait for one second at the least. Raises ValueError for more than a year."""
        check_seconds("a pause", seconds, above=None)
        if seconds > self.LONGEST_S:
            raise ValueError(f"an outcome waits for a year at the most, not for {seconds:g} s")
        self.seconds = max(float(seconds), 1.0)
        super().__init__(f"later, in {self.seconds:g} s")


class Consumer:
    """What a shop does with the outcomes of its orders, in one mode.

    Each handler runs in one transaction of the shop's own database, which also keeps that the
    outcome was done: what it writes there happens exactly once. Outcomes of one reference come in
    their order; one that fails holds up the later ones of its reference alone. It is tried again
    with growing pauses, then parked for a person. Any number of processes may run one consumer.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        *,
        mode: Mode,
        unexpected: Literal["person", "paid"] = "person",
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        """Name a consumer that `kusanya outcomes add` made, or `store.outcomes.add`.

        `unexpected="paid"` is for a shop that creates its collections elsewhere: what no creation
        of this store made is PAID, or PAID_AGAIN; beside an attempt that is disputed it stays
        UNEXPECTED.
        """
        if unexpected not in ("person", "paid"):
            raise ConfigurationError("unexpected is 'person' or 'paid'")
        self._loop = WorkLoop(store, name, Mode(mode), clock, random)
        self.store, self.name, self.mode = store, self._loop.name, Mode(mode)
        self._elsewhere = unexpected == "paid"
        self._handlers: dict[Kind, Callable[[Outcome, Any], Any]] = {}
        self._ignored: dict[Kind, str] = {}
        self._commits = False
        """Whether `connect` was seen to commit."""

    def on(self, *kinds: Kind) -> Callable[[Any], Any]:
        """Let the function below answer these kinds: `(outcome, tx)`, or async for `arun`."""
        known = _kinds(kinds)

        def take(handler: Callable[[Outcome, Any], Any]) -> Callable[[Outcome, Any], Any]:
            if not callable(handler):
                raise ConfigurationError(f"a handler is a function, not {type(handler).__name__}")
            for kind in known:
                if kind in self._handlers or kind in self._ignored:
                    raise ConfigurationError(f"{kind.value} has a handler already")
                self._handlers[kind] = handler
            return handler

        return take

    def ignore(self, *kinds: Kind, why: str) -> None:
        """Do nothing for these kinds, for the reason given. They count as done."""
        if not plain_text("why", why).strip():
            raise ConfigurationError("say why these outcomes need nothing")
        for kind in _kinds(kinds):
            if kind in self._handlers:
                raise ConfigurationError(f"{kind.value} has a handler already")
            self._ignored[kind] = why

    def stop(self) -> None:
        """Let `run` or `arun` end after the outcome that is being done; from any thread."""
        self._loop.stop()

    def run(self, connect: Connect) -> None:
        """Do what is due, and what comes, until SIGTERM, SIGINT or `stop`.

        `connect` gives a context with a transaction of the shop's: it commits where the block ends
        and rolls back where it raises, as `engine.begin` or `django.db.transaction.atomic` does.
        Raises ConfigurationError for a kind without a handler and for a `connect` that opens no
        transaction or does not commit it, StoreChanged after a restore, StoreError for an unknown
        consumer and where the store cannot be read or written.
        """
        self._loop.run(partial(self.run_once, connect))

    def drain(self, connect: Connect) -> int:
        """Do all that is due now, and return how many outcomes were done: for cron and tests.

        What failed is due again later; it is not waited for. Raises as `run` does.
        """
        return self._loop.drain(partial(self.run_once, connect))

    def run_once(self, connect: Connect) -> Endings:
        """Do what is due now, of each order one outcome; return what the tries came to."""
        self._check()
        taken, may_begin = self._loop.take()
        endings: list[Ending] = []
        for work in taken:
            if not may_begin() or (endings and endings[-1].is_away):
                break
            endings.append(self._done(work, connect))
        return self._loop.keep(taken, endings)

    async def arun(self, connect: AsyncConnect) -> None:
        """Do what `run` does, with async handlers; the store is used from threads."""
        await self._loop.arun(partial(self.arun_once, connect))

    async def arun_once(self, connect: AsyncConnect) -> Endings:
        """Do what `run_once` does, with async handlers."""
        self._check()
        taken, may_begin = await asyncio.to_thread(self._loop.take)
        endings: list[Ending] = []
        for work in taken:
            if not may_begin() or (endings and endings[-1].is_away):
                break
            endings.append(await self._done_async(work, connect))
        return await asyncio.to_thread(self._loop.keep, taken, endings)

    def _done(self, work: Work, connect: Connect) -> Ending:
        """Run the handler of an outcome, unless it was done before."""
        handler = self._handler(work.outcome)
        reached = is_mine = False
        try:
            if handler is not None:
                with connect() as opened:
                    reached, tx = True, _of_django(opened)
                    is_mine = claim(tx, self.name, work.outcome)
                    if is_mine:
                        handler(work.outcome, tx)
                if is_mine and not self._commits:
                    with connect() as opened:
                        again = claim(_of_django(opened), self.name, work.outcome)
                        self._check_kept(claimed_again=again)
        except NoTransactionError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a shop's handler raises is its outcome
            return self._failed(work, error, reached=reached)
        return Ending(seq=work.outcome.seq)

    async def _done_async(self, work: Work, connect: AsyncConnect) -> Ending:
        if self._elsewhere:  # it may look into the store
            handler = await asyncio.to_thread(self._handler, work.outcome)
        else:
            handler = self._handler(work.outcome)
        reached = is_mine = False
        try:
            if handler is not None:
                async with connect() as tx:
                    reached = True
                    is_mine = await claim_async(tx, self.name, work.outcome)
                    if is_mine:
                        await handler(work.outcome, tx)
                if is_mine and not self._commits:
                    async with connect() as tx:
                        again = await claim_async(tx, self.name, work.outcome)
                        self._check_kept(claimed_again=again)
        except NoTransactionError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a shop's handler raises is its outcome
            return self._failed(work, error, reached=reached)
        return Ending(seq=work.outcome.seq)

    def _check_kept(self, *, claimed_again: bool) -> None:
        """Raise NoTransactionError where the transaction before was not committed; ask once."""
        if claimed_again:
            raise NoTransactionError(
                f"connect of consumer {self.name} does not commit its transaction: give one that "
                "does where its block ends, such as engine.begin in the place of engine.connect"
            )
        self._commits = True

    def _failed(self, work: Work, error: Exception, *, reached: bool) -> Ending:
        """Return what a try came to that raised: parked, or due again."""
        words = _words(error)
        why = f"{type(error).__name__}: {words}".splitlines()[0]
        if isinstance(error, Park):
            return self._loop.parked(work, words or "parked by its handler")
        if isinstance(error, Later):
            return self._loop.later(work, error.seconds, why)
        return self._loop.failed(work, why) if reached else self._loop.away(work, why)

    def _handler(self, outcome: Outcome) -> Callable[[Outcome, Any], Any] | None:
        kind = outcome.kind
        if self._elsewhere and kind is Kind.UNEXPECTED and outcome.intent_id is None:
            said = self.store.outcomes.of(self.mode, outcome.reference)
            kind = kind_of_success([one for one in said if one.seq < outcome.seq])
        return self._handlers.get(kind)

    def _check(self) -> None:
        missing = [
            kind.value for kind in Kind if kind not in self._handlers and kind not in self._ignored
        ]
        if missing:
            raise ConfigurationError(
                f"consumer {self.name} has no handler for {', '.join(missing)}: each kind is "
                "answered (@consumer.on(Kind....)) or ignored (consumer.ignore(Kind...., why=...))"
            )


def _words(error: Exception) -> str:
    """Return the text of a shop's own error, which may have none: its `__str__` raises, too."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the error itself is what is kept
        return "(its text cannot be read)"


def _of_django(tx: Any) -> Any:
    """Return what `atomic` of Django opened, which gives nothing itself."""
    if tx is not None:
        return tx
    return import_module("django.db").connection


def _kinds(kinds: tuple[object, ...]) -> tuple[Kind, ...]:
    """Return kinds that are said, also as text; a misspelt one would be answered by nobody."""
    if not kinds or not all(isinstance(kind, str) and kind in {*Kind} for kind in kinds):
        names = ", ".join(kind.name for kind in Kind)
        raise ConfigurationError(f"a handler answers kinds of outcomes, such as Kind.PAID: {names}")
    return tuple(Kind(str(kind)) for kind in kinds)
