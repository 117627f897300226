"""How promises that the journal keeps in its thread come back to the event loop."""

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import cast

import pytest

from kusanya.errors import StoreUnavailable
from kusanya.receiver.acks import Acks, Pending
from kusanya.store.records import Arrival, Receipt, Verdict
from kusanya.wire import Mode

ARRIVAL = Arrival(
    arrived_at=datetime(2026, 3, 2, 12, tzinfo=UTC),
    endpoint="shop",
    heard_in=Mode.TEST,
    body=b"",
    headers=(),
    verdict=Verdict.REJECTED,
    answer=400,
    took_us=0,
)


def receipt(number: int) -> Receipt:
    return Receipt(delivery_id=f"dlv_{number}", verdict=Verdict.REJECTED, seq=number)


class _Waiting:
    """Deliveries of one test, and in which order they were over."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.over: list[Pending] = []
        self.ended = asyncio.Event()
        self.wanted = 0
        self.acks = Acks(self.loop, over=self._over)

    def _over(self, pending: Pending) -> None:
        self.over.append(pending)
        if len(self.over) >= self.wanted:
            self.ended.set()

    def expect(self, *, within_s: float = 60.0) -> Pending:
        pending = Pending(
            self.acks,
            ARRIVAL,
            began=0.0,
            deadline=self.loop.time() + within_s,
            reply=lambda _: None,
        )
        self.acks.expect(pending)
        self.wanted += 1
        return pending

    async def all_over(self) -> None:
        async with asyncio.timeout(10):
            await self.ended.wait()


@pytest.mark.anyio
async def test_every_result_of_a_batch_comes_back_once_and_in_order() -> None:
    waiting = _Waiting(asyncio.get_running_loop())
    every = [waiting.expect() for _ in range(500)]

    def keep() -> None:
        for number, pending in enumerate(every):
            if number == 3:
                pending.set_exception(StoreUnavailable("no"))
            else:
                pending.set_result(receipt(number))

    thread = threading.Thread(target=keep)
    thread.start()
    await waiting.all_over()
    thread.join()
    assert waiting.over == every
    assert isinstance(every[3].error, StoreUnavailable)
    assert every[3].receipt is None
    assert every[4].receipt == receipt(4)
    assert len(waiting.acks) == 0


class SteppedLoop:
    """An event loop's time and timers, moved by the test."""

    def __init__(self) -> None:
        self._now = 0.0
        self._timers: list[tuple[float, Callable[..., None], tuple[object, ...]]] = []

    def time(self) -> float:
        """Return the time the test has set."""
        return self._now

    def call_at(self, when: float, call: Callable[..., None], *given: object) -> None:
        """Plan a call."""
        self._timers.append((when, call, given))

    def call_soon_threadsafe(self, call: Callable[..., None]) -> None:
        """Call at once."""
        call()

    def go_to(self, instant: float) -> None:
        """Let time pass, and call what is due."""
        self._now = instant
        due = [timer for timer in self._timers if timer[0] <= instant]
        self._timers = [timer for timer in self._timers if timer[0] > instant]
        for _, call, given in due:
            call(*given)


@pytest.fixture
def stepped() -> "tuple[SteppedLoop, _Waiting]":
    """Return deliveries that wait on a loop whose time the test moves."""
    loop = SteppedLoop()
    return loop, _Waiting(cast("asyncio.AbstractEventLoop", loop))


Stepped = tuple[SteppedLoop, _Waiting]


def test_each_is_given_up_at_its_own_deadline_whatever_their_order(stepped: Stepped) -> None:
    loop, waiting = stepped
    late, soon, sooner, patient = (waiting.expect(within_s=s) for s in (6.0, 3.0, 1.0, 9.0))
    given_up = {0.9: 0, 1.0: 1, 2.9: 1, 3.0: 2, 6.0: 3, 8.9: 3}
    for instant, many in given_up.items():
        loop.go_to(instant)
        assert waiting.over == [sooner, soon, late][:many]
    assert all(isinstance(pending.error, TimeoutError) for pending in waiting.over)
    assert (patient.error, len(waiting.acks)) == (None, 1)


def test_a_receipt_after_the_deadline_changes_no_answer(stepped: Stepped) -> None:
    loop, waiting = stepped
    pending = waiting.expect(within_s=1.0)
    loop.go_to(1.0)
    pending.set_result(receipt(1))
    assert waiting.over == [pending]


def test_one_that_the_journal_refused_is_not_waited_for(stepped: Stepped) -> None:
    loop, waiting = stepped
    refused, other = waiting.expect(within_s=1.0), waiting.expect(within_s=2.0)
    waiting.acks.forget(refused)
    loop.go_to(2.0)
    assert waiting.over == [other]


def test_a_promise_kept_after_the_loop_has_closed_disturbs_nobody() -> None:
    async def leave() -> Pending:
        return _Waiting(asyncio.get_running_loop()).expect()

    asyncio.run(leave()).set_result(receipt(1))
