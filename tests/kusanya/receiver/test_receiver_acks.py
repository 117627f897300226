"""How promises that the journal keeps in its thread come back to the event loop."""

import asyncio
import threading
from datetime import UTC, datetime

import pytest

from kusanya.errors import StoreUnavailable
from kusanya.receiver.acks import Acks, Pending
from kusanya.store.records import Arrival, Receipt, Verdict
from kusanya.wire import Mode

pytestmark = pytest.mark.anyio

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

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
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


async def test_every_result_of_a_batch_comes_back_once_and_in_order() -> None:
    waiting = _Waiting()
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


async def test_each_is_given_up_at_its_own_deadline_whatever_their_order() -> None:
    waiting = _Waiting()
    late, soon, sooner = (waiting.expect(within_s=s) for s in (0.06, 0.03, 0.0))
    patient = waiting.expect()
    waiting.wanted = 3
    await waiting.all_over()
    assert waiting.over == [sooner, soon, late]
    assert all(isinstance(pending.error, TimeoutError) for pending in waiting.over)
    assert waiting.loop.time() >= late.deadline
    assert (patient.error, len(waiting.acks)) == (None, 1)


async def test_a_receipt_after_the_deadline_changes_no_answer() -> None:
    waiting = _Waiting()
    pending = waiting.expect(within_s=0.0)
    await waiting.all_over()
    pending.set_result(receipt(1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert waiting.over == [pending]


async def test_one_that_the_journal_refused_is_not_waited_for() -> None:
    waiting = _Waiting()
    refused, other = waiting.expect(within_s=0.0), waiting.expect(within_s=0.01)
    waiting.acks.forget(refused)
    waiting.wanted = 1
    await waiting.all_over()
    assert waiting.over == [other]


def test_a_promise_kept_after_the_loop_has_closed_disturbs_nobody() -> None:
    async def leave() -> Pending:
        return _Waiting().expect()

    asyncio.run(leave()).set_result(receipt(1))
