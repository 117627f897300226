"""A consumer that runs: it does what comes until it is told to stop; async handlers do as well."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine
from tests.kusanya.outcomes.shop import Facts, ShopDatabase

from kusanya.errors import ConfigurationError
from kusanya.outcomes import Consumer, Kind, Later, Outcome, Park
from kusanya.store import Store
from kusanya.wire import Mode

Connect = Callable[[], AbstractAsyncContextManager[Any]]
Does = Callable[[Outcome], None]
WAIT_S = 60


@pytest.fixture(autouse=True)
def known(store: Store) -> None:
    store.outcomes.add("shipping", mode=Mode.TEST, begin=None, all_=True, actor="asha")


@pytest.fixture
def connect(shop: ShopDatabase, tmp_path: Path) -> Connect:
    """Return what opens a transaction of the shop's database, as an async engine does."""

    @asynccontextmanager
    async def opening() -> AsyncIterator[Any]:
        engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'shop.db'}")
        async with engine.begin() as tx:
            yield tx
        await engine.dispose()

    return opening


@pytest.fixture
def effects(shop: ShopDatabase) -> Callable[[], list[str]]:
    return lambda: sorted(reference for _, reference, _ in shop.effects())


def shipping(store: Store, facts: Facts, does: Does = lambda _: None) -> Consumer:
    """Return a consumer that keeps each effect, and then does something more."""
    consumer = Consumer(store, "shipping", mode=Mode.TEST, clock=facts.service.clock)

    @consumer.on(*Kind)
    async def keep(outcome: Outcome, tx: Any) -> None:
        values = {
            "kind": outcome.kind.value,
            "reference": outcome.reference,
            "about": outcome.about,
        }
        keep = "INSERT INTO effect VALUES ('shipping', :kind, :reference, :about)"
        await tx.execute(text(keep), values)
        does(outcome)

    return consumer


def paid(facts: Facts, *numbers: int) -> None:
    for number in numbers:
        facts.elsewhere(number, reference=f"order-{number}")
        facts.ends(number, "succeeded")


def test_async_handlers_do_each_outcome_once_with_its_effect(
    store: Store, facts: Facts, connect: Connect, effects: Callable[[], list[str]]
) -> None:
    paid(facts, 1, 2)
    consumer = shipping(store, facts)
    ended = asyncio.run(consumer.arun_once(connect))
    assert [one.done for one in ended] == [True, True]
    assert effects() == ["order-1", "order-2"]
    since = facts.service.clock.now().replace(year=2020)
    assert store.outcomes.replay("shipping", since=since, actor="asha") == 2
    assert [one.done for one in asyncio.run(consumer.arun_once(connect))] == [True, True]
    assert effects() == ["order-1", "order-2"], "the shop's table knows them"


@pytest.mark.parametrize(
    ("raised", "parked", "tries"),
    [(RuntimeError("no stock"), False, 1), (Park("no stock"), True, 1), (Later(60), False, 0)],
    ids=["an error", "park", "later"],
)
def test_what_an_async_handler_raises_takes_its_effect_back(
    store: Store,
    facts: Facts,
    connect: Connect,
    effects: Callable[[], list[str]],
    raised: Exception,
    *,
    parked: bool,
    tries: int,
) -> None:
    def refuse(_: Outcome) -> None:
        raise raised

    paid(facts, 1)
    asyncio.run(shipping(store, facts, refuse).arun_once(connect))
    assert effects() == []
    [work] = store.outcomes.work("shipping")
    assert (work.parked, work.tries) == (parked, tries)
    facts.service.clock.sleep(120)
    asyncio.run(shipping(store, facts).arun_once(connect))
    assert effects() == ([] if parked else ["order-1"])


def test_while_the_shops_database_is_away_nothing_is_tried_in_vain(
    store: Store, facts: Facts, connect: Connect, effects: Callable[[], list[str]]
) -> None:
    opened = 0

    @asynccontextmanager
    async def away() -> AsyncIterator[Any]:
        nonlocal opened
        opened += 1
        raise ConnectionRefusedError
        yield

    paid(facts, 1, 2, 3)
    consumer = shipping(store, facts)
    [ended] = asyncio.run(consumer.arun_once(away))
    assert (ended.is_away, opened) == (True, 1)
    assert {one.tries for one in store.outcomes.work("shipping")} == {0}
    facts.service.clock.sleep(120)
    asyncio.run(consumer.arun_once(connect))
    assert effects() == ["order-1", "order-2", "order-3"]


@pytest.mark.parametrize("opens", ["connect", "begin"], ids=["no commit", "autocommit"])
def test_an_async_connection_that_is_no_transaction_ends_the_consumer_before_an_order_is_lost(
    store: Store,
    facts: Facts,
    connect: Connect,
    effects: Callable[[], list[str]],
    tmp_path: Path,
    *,
    opens: str,
) -> None:
    options = {} if opens == "connect" else {"isolation_level": "AUTOCOMMIT"}

    @asynccontextmanager
    async def unsafe() -> AsyncIterator[Any]:
        engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'shop.db'}", **options)
        try:
            async with getattr(engine, opens)() as tx:
                yield tx
        finally:
            await engine.dispose()

    paid(facts, 1)
    consumer = shipping(store, facts)
    with pytest.raises(ConfigurationError, match="transaction"):
        asyncio.run(consumer.arun_once(unsafe))
    assert effects() == []
    facts.service.clock.sleep(3600)
    asyncio.run(shipping(store, facts).arun_once(connect))
    assert effects() == ["order-1"]
    assert store.outcomes.work("shipping") == ()


def test_arun_does_what_comes_until_it_is_told_to_stop(
    store: Store, facts: Facts, connect: Connect, effects: Callable[[], list[str]]
) -> None:
    done: list[str] = []

    def stop_at_two(outcome: Outcome) -> None:
        done.append(outcome.reference)
        if len(done) == 1:
            paid(facts, 2)
        else:
            consumer.stop()

    consumer = shipping(store, facts, stop_at_two)
    paid(facts, 1)

    async def until_stopped() -> None:
        await asyncio.wait_for(consumer.arun(connect), WAIT_S)

    asyncio.run(until_stopped())
    assert effects() == ["order-1", "order-2"]
    assert store.outcomes.work("shipping") == ()


def test_run_does_what_comes_until_it_is_told_to_stop(
    store: Store, facts: Facts, shop: ShopDatabase
) -> None:
    consumer = Consumer(store, "shipping", mode=Mode.TEST, clock=facts.service.clock)
    first, second = threading.Event(), threading.Event()

    @consumer.on(*Kind)
    def keep(outcome: Outcome, tx: Any) -> None:
        row = ("shipping", outcome.kind.value, outcome.reference, outcome.about)
        tx.execute("INSERT INTO effect VALUES (?, ?, ?, ?)", row)
        (second if first.is_set() else first).set()

    paid(facts, 1)
    thread = threading.Thread(target=consumer.run, args=(shop.connect,))
    thread.start()
    assert first.wait(WAIT_S)
    paid(facts, 2)
    assert second.wait(WAIT_S)
    consumer.stop()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert [one[1] for one in shop.effects()] == ["order-1", "order-2"]
    consumer.run(shop.connect)  # told to stop before it began: it does nothing, and returns


def test_a_kind_has_one_handler_or_one_reason_to_be_ignored(store: Store) -> None:
    consumer = Consumer(store, "shipping", mode=Mode.TEST)
    consumer.on(Kind.PAID)(print)
    consumer.ignore(Kind.NOT_PAID, why="nothing was reserved")
    for kind in (Kind.PAID, Kind.NOT_PAID):
        with pytest.raises(ConfigurationError, match="has a handler already"):
            consumer.on(kind)(print)
    with pytest.raises(ConfigurationError, match="has a handler already"):
        consumer.ignore(Kind.PAID, why="no more")


@pytest.mark.parametrize("why", ["it is told to stop", "its lease is half over"])
def test_what_was_not_begun_is_given_back_untried(
    store: Store, facts: Facts, shop: ShopDatabase, why: str
) -> None:
    consumer = Consumer(store, "shipping", mode=Mode.TEST, clock=facts.service.clock)

    @consumer.on(*Kind)
    def slow(outcome: Outcome, _: Any) -> None:
        if why == "it is told to stop":
            consumer.stop()
        else:
            facts.service.clock.sleep(150)

    paid(facts, 1, 2, 3)
    assert [one.done for one in consumer.run_once(shop.connect)] == [True]
    assert [(one.tries, one.parked) for one in store.outcomes.work("shipping")] == [(0, False)] * 2
    assert shop.consumer(store).drain(shop.connect) == 2, "another process has them at once"


def test_a_loop_looks_at_outcomes_once_something_was_committed_or_became_due(
    store: Store, facts: Facts, shop: ShopDatabase
) -> None:
    consumer = Consumer(store, "shipping", mode=Mode.TEST, clock=facts.service.clock)
    loop = consumer._loop

    @consumer.on(*Kind)
    def refuse(outcome: Outcome, _: Any) -> None:
        raise Later(60)

    assert loop._is_time()
    assert loop._pause_s(consumer.run_once(shop.connect)) == 0.05
    assert not loop._is_time()
    assert [loop._pause_s(None) for _ in range(7)] == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    paid(facts, 1)
    assert loop._is_time()
    assert loop._pause_s(consumer.run_once(shop.connect)) == 0.0, "there may be more"
    assert loop._is_time(), "what it did itself is committed too"
    assert loop._pause_s(consumer.run_once(shop.connect)) == 0.05
    assert not loop._is_time()
    facts.service.clock.sleep(61)
    assert loop._is_time(), "what was put off is due"


def test_a_loop_waits_a_while_for_a_shop_that_is_away(
    store: Store, facts: Facts, shop: ShopDatabase
) -> None:
    def away() -> Any:
        raise ConnectionRefusedError

    paid(facts, 1, 2)
    consumer = shop.consumer(store)
    ended = consumer.run_once(away)
    assert [one.is_away for one in ended] == [True]
    assert consumer._loop._pause_s(ended) == 5.0
