"""How commits that the journal ends in its thread come back to the event loop."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest

from kusanya.errors import StoreUnavailable
from kusanya.receiver.pending import PendingCommits
from kusanya.store.records import DeliveryCommit, Verdict


def delivery_commit(number: int) -> DeliveryCommit:
    return DeliveryCommit(delivery_id=f"dlv_{number}", verdict=Verdict.REJECTED, seq=number)


@pytest.mark.anyio
async def test_every_result_of_a_batch_comes_back_once_in_order_and_with_one_wake_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    wake_ups: list[Callable[..., object]] = []
    wake = loop.call_soon_threadsafe

    def counted(call: Callable[..., Any], *given: Any) -> asyncio.Handle:
        wake_ups.append(call)
        return wake(call, *given)

    pending = PendingCommits(loop)
    commits = [Future[DeliveryCommit]() for _ in range(500)]
    ended: list[int] = []
    waiting = [pending.wait_for(commit) for commit in commits]
    for number, one in enumerate(waiting):
        one.add_done_callback(partial(lambda number, _: ended.append(number), number))
    monkeypatch.setattr(loop, "call_soon_threadsafe", counted)

    def commit_all() -> None:
        for number, commit in enumerate(commits):
            if number == 3:
                commit.set_exception(StoreUnavailable("no"))
            else:
                commit.set_result(delivery_commit(number))

    # This loop does not run meanwhile: all of them are there when it wakes.
    thread = threading.Thread(target=commit_all)
    thread.start()
    thread.join()
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert len(wake_ups) == 1
    assert ended == list(range(500))
    assert isinstance(found.pop(3), StoreUnavailable)
    assert found == [delivery_commit(number) for number in range(500) if number != 3]


@pytest.mark.anyio
async def test_a_receipt_that_comes_too_late_disturbs_nobody() -> None:
    pending = PendingCommits(asyncio.get_running_loop())
    late, other = Future[DeliveryCommit](), Future[DeliveryCommit]()
    given_up, waiting = pending.wait_for(late), pending.wait_for(other)
    given_up.cancel()
    late.set_result(delivery_commit(1))
    other.set_result(delivery_commit(2))
    assert await waiting == delivery_commit(2)
    assert given_up.cancelled()


def test_a_commit_after_the_loop_has_closed_disturbs_nobody() -> None:
    commit = Future[DeliveryCommit]()

    async def leave() -> None:
        PendingCommits(asyncio.get_running_loop()).wait_for(commit)

    asyncio.run(leave())
    commit.set_result(delivery_commit(1))
    assert commit.result() == delivery_commit(1)
