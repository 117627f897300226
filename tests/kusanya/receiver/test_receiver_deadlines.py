"""A delivery has one deadline from its first byte to its commit, on a loop whose time we move."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from tests.kusanya.receiver.peers import SignHeaders
from tests.kusanya.receiver.slow_journal import SlowJournal

from kusanya.clock import Clock
from kusanya.receiver import Limits, app
from kusanya.receiver.deadlines import Deadlines
from kusanya.store.records import DeliveryCommit, Verdict

SECRET = "whsec_" + "a" * 32

Body = Callable[..., bytes]
Ask = Callable[..., Awaitable[Any]]
Delivering = Callable[[], Awaitable[Any]]


class SteppedLoop(asyncio.SelectorEventLoop):
    """An event loop whose time stands still but for the steps of the test."""

    now = 0.0

    def time(self) -> float:
        """Return the time that the test has set."""
        return self.now

    async def go_to(self, instant: float) -> None:
        """Let time pass, and run what is due."""
        self.now = instant
        for _ in range(20):
            await asyncio.sleep(0)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """Return a runner of a loop of that kind."""
    with asyncio.Runner(loop_factory=SteppedLoop) as made:
        yield made


def stepped() -> SteppedLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SteppedLoop)
    return loop


def test_each_is_given_up_at_its_own_deadline_and_a_receipt_afterwards_changes_no_answer(
    runner: asyncio.Runner, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    journal, payload = SlowJournal(), body()
    receiver = app(journal, SECRET, mode="test", clock=clock, limits=Limits(receipt_s=8.0))

    async def deliver_three() -> None:
        loop, asked = stepped(), list[asyncio.Future[Any]]()
        for started in (0.0, 1.0, 4.0):
            await loop.go_to(started)
            asked.append(asyncio.ensure_future(ask(receiver, payload, sign_headers(payload))))
            await loop.go_to(started)
        for instant, answered in {7.9: 0, 8.0: 1, 8.9: 1, 9.0: 2, 11.9: 2}.items():
            await loop.go_to(instant)
            assert [one.done() for one in asked] == [True] * answered + [False] * (3 - answered)
        commits: list[Future[DeliveryCommit]] = [journal.submitted.get_nowait() for _ in range(3)]
        for commit in commits:
            commit.set_result(DeliveryCommit(delivery_id="dlv_1", verdict=Verdict.VERIFIED, seq=1))
        answers = await asyncio.gather(*asked)
        assert [one.status for one in answers] == [503, 503, 200]
        assert answers[0].text == "not made durable in time"

    runner.run(deliver_three())


def test_a_body_that_took_its_time_leaves_the_journal_less(
    runner: asyncio.Runner, clock: Clock, body: Body, sign_headers: SignHeaders
) -> None:
    journal, payload = SlowJournal(), body()
    receiver = app(journal, SECRET, mode="test", clock=clock, limits=Limits(receipt_s=8.0))
    scope = {"type": "http", "method": "POST", "path": "/", "headers": sign_headers(payload)}
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        await stepped().go_to(6.0)
        return {"type": "http.request", "body": payload}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def deliver() -> None:
        task = asyncio.ensure_future(receiver(scope, receive, send))
        await stepped().go_to(0.0)
        await stepped().go_to(6.0)
        assert not journal.submitted.empty()
        await stepped().go_to(7.9)
        assert statuses == []
        await stepped().go_to(8.0)
        await task

    runner.run(deliver())
    assert statuses == [503]


def test_a_body_that_is_late_is_the_senders_matter(
    runner: asyncio.Runner, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    journal, payload = SlowJournal(), body()
    receiver = app(journal, SECRET, mode="test", clock=clock, limits=Limits(receipt_s=8.0))

    async def deliver() -> Any:
        asked = asyncio.ensure_future(ask(receiver, payload, sign_headers(payload), ends="silence"))
        for instant in (0.0, 7.9, 8.0):
            await stepped().go_to(instant)
            assert asked.done() is (instant == 8.0)
        return await asked

    assert runner.run(deliver()).status == 408
    assert journal.submitted.empty()


async def wait_in(deadlines: Deadlines) -> None:
    with deadlines.begin():
        await asyncio.Event().wait()


def test_one_timer_watches_all_deadlines_of_an_instant(
    runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    timers: list[float] = []

    async def wait() -> None:
        loop = stepped()
        set_timer = loop.call_at

        def counted(when: float, callback: Callable[..., object], *given: Any) -> Any:
            timers.append(when)
            return set_timer(when, callback, *given)

        monkeypatch.setattr(loop, "call_at", counted)
        deadlines = Deadlines(loop, 8.0)
        tasks = [asyncio.ensure_future(wait_in(deadlines)) for _ in range(100)]
        await loop.go_to(0.0)
        assert timers == [8.0]
        await loop.go_to(8.0)
        assert [type(task.exception()) for task in tasks] == [TimeoutError] * 100
        assert timers == [8.0]

    runner.run(wait())


def test_who_left_in_time_is_not_cancelled_by_its_deadline(runner: asyncio.Runner) -> None:
    async def leave_and_stay(deadlines: Deadlines) -> str:
        with deadlines.begin():
            await asyncio.sleep(0)
        await stepped().go_to(9.0)
        return "undisturbed"

    async def wait() -> str:
        return await leave_and_stay(Deadlines(stepped(), 8.0))

    assert runner.run(wait()) == "undisturbed"


def test_a_task_that_is_also_cancelled_by_others_ends_as_cancelled(runner: asyncio.Runner) -> None:
    async def wait() -> None:
        loop = stepped()
        task = asyncio.ensure_future(wait_in(Deadlines(loop, 8.0)))
        await loop.go_to(0.0)
        loop.call_at(8.0, task.cancel)
        await loop.go_to(8.0)
        assert task.cancelled()

    runner.run(wait())
