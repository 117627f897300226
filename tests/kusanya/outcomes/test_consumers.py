"""What a shop does for an outcome is done once, whoever dies when; one bad order stops itself."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.kit.payments import by_event
from tests.kusanya.outcomes.shop import Facts, ShopDatabase

from kusanya.errors import ConfigurationError, StoreChanged, StoreError
from kusanya.outcomes import Consumer, Kind, Later, Outcome, Park
from kusanya.store import Store
from kusanya.store.records.outcomes import Ending
from kusanya.wire import Mode

pytestmark = pytest.mark.usefixtures("added")
PAID = Kind.PAID


@pytest.fixture
def added(store: Store) -> None:
    store.outcomes.add("shipping", mode=Mode.TEST, begin=None, all_=True, actor="asha")


def paid(facts: Facts, number: int) -> None:
    """Let order number `number` be paid."""
    facts.pay(f"order-{number}")
    facts.ends(number, "succeeded")


class Killed(BaseException):
    """The process ended here."""


PLACES = (
    "before the claim",
    "before the effect",
    "after the effect",
    "after COMMIT",
    "before done",
)


def test_what_is_due_is_done_once(store: Store, facts: Facts, shop: ShopDatabase) -> None:
    for number in (1, 2, 3):
        paid(facts, number)
    assert shop.consumer(store).drain(shop.connect) == 3
    assert shop.consumer(store).drain(shop.connect) == 0
    assert shop.effects() == [("paid", f"order-{n}", f"col_{n}") for n in (1, 2, 3)]
    [row] = store.outcomes.consumers()
    assert (row.waiting, row.parked, row.oldest_paid) == (0, 0, None)


@pytest.mark.parametrize("place", PLACES)
def test_a_kill_at_any_place_does_nothing_twice_and_loses_nothing(
    store: Store, facts: Facts, shop: ShopDatabase, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2, 3):
        paid(facts, number)
    left = [2]

    def die(here: str) -> None:
        if here == place and (left := left_()) == 0:
            raise Killed(left)

    def left_() -> int:
        left[0] -= 1
        return left[0]

    @contextmanager
    def connect() -> Any:
        die("before the claim")
        with shop.connect() as tx:
            yield tx
        die("after COMMIT")

    consumer = Consumer(store, "shipping", mode=Mode.TEST, clock=facts.service.clock)

    @consumer.on(*Kind)
    def keep(outcome: Outcome, tx: Any) -> None:
        die("before the effect")
        row = ("shipping", outcome.kind.value, outcome.reference, outcome.about)
        tx.execute("INSERT INTO effect VALUES (?, ?, ?, ?)", row)
        die("after the effect")

    end = store.outcomes.end

    def dying_end(*given: Any, **named: Any) -> None:
        left[0] = 1
        die("before done")
        end(*given, **named)

    monkeypatch.setattr(store.outcomes, "end", dying_end)
    with pytest.raises(Killed):
        consumer.drain(connect)
    monkeypatch.undo()
    successor = shop.consumer(store)
    assert successor.drain(shop.connect) == 0, "what it had is leased"
    facts.service.clock.pass_by(timedelta(minutes=3))
    assert successor.drain(shop.connect) == 3
    assert shop.effects() == [("paid", f"order-{n}", f"col_{n}") for n in (1, 2, 3)]


def test_one_bad_order_holds_up_itself_alone(
    store: Store, facts: Facts, shop: ShopDatabase
) -> None:
    consumer = Consumer(store, "shipping", mode=Mode.TEST, clock=facts.service.clock)
    done: list[str] = []

    @consumer.on(*Kind)
    def ship(outcome: Outcome, tx: Any) -> None:
        if outcome.reference == "order-1" and outcome.kind is PAID:
            raise RuntimeError("no stock for +255754000001")
        done.append(f"{outcome.kind.value} {outcome.reference}")

    paid(facts, 1)
    paid(facts, 2)
    consumer.drain(shop.connect)
    facts.ends(1, "failed")
    paid(facts, 3)
    consumer.drain(shop.connect)
    assert done == ["paid order-2", "paid order-3"], "the dispute of order 1 waits behind its PAID"
    for _ in range(10):
        facts.service.clock.pass_by(timedelta(hours=1))
        consumer.drain(shop.connect)
    [parked] = store.outcomes.work("shipping", parked=True)
    assert (parked.outcome.kind, parked.tries) == (PAID, 10)
    assert parked.why.startswith("RuntimeError: no stock")
    assert "754000" not in parked.why
    [row] = store.outcomes.consumers()
    assert (row.waiting, row.parked, row.oldest_paid) == (1, 1, parked.outcome.at)
    with pytest.raises(ValueError, match="reason"):
        store.outcomes.skip("shipping", parked.outcome.id, actor="asha", why=" ")
    store.outcomes.skip("shipping", parked.outcome.id, actor="asha", why="given back by hand")
    consumer.drain(shop.connect)
    assert done[2:] == ["disputed order-1"]
    [audited] = [one for one in store.audit.page().rows if one.act == "skip outcome"]
    assert "given back by hand" in audited.detail


class _WordlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


_RAISED: dict[str, Callable[[], Exception]] = {
    "later for ever": lambda: Later(float("inf")),
    "later without a number": lambda: Later(float("nan")),
    "later than any clock": lambda: Later(10**12),
    "no words": _WordlessError,
    "an empty text": lambda: ValueError(""),
    "what no database keeps": lambda: ValueError("a\0b\udcffc\r\nd"),
    "several": lambda: ExceptionGroup("two", [ValueError("one"), KeyError("another")]),
}


@pytest.mark.parametrize("raised", _RAISED.values(), ids=_RAISED)
def test_whatever_a_handler_raises_holds_up_its_order_alone(
    store: Store, facts: Facts, shop: ShopDatabase, raised: Callable[[], Exception]
) -> None:
    consumer = Consumer(store, "shipping", mode=Mode.TEST, clock=facts.service.clock)
    done: list[str] = []

    @consumer.on(*Kind)
    def ship(outcome: Outcome, tx: Any) -> None:
        if outcome.reference == "order-1":
            raise raised()
        done.append(outcome.reference)

    for number in (1, 2):
        paid(facts, number)
    consumer.drain(shop.connect)
    assert done == ["order-2"]
    [waiting] = store.outcomes.work("shipping")
    assert waiting.tries == 1
    assert waiting.why


def test_a_handler_parks_or_waits_and_a_person_lets_it_go_on(
    store: Store, facts: Facts, shop: ShopDatabase
) -> None:
    consumer = Consumer(store, "shipping", mode=Mode.TEST, clock=facts.service.clock)
    raised: list[Exception] = [*[Later(60)] * 12, RuntimeError("once"), Park("ask the customer")]
    assert Later(-3.0).seconds == 1, "without a pause it would be tried without end"
    done: list[str] = []

    @consumer.on(*Kind)
    def ship(outcome: Outcome, tx: Any) -> None:
        if raised:
            raise raised.pop(0)
        done.append(outcome.id)

    paid(facts, 1)
    assert consumer.drain(shop.connect) == 0
    assert store.outcomes.next_due("shipping") == facts.service.clock.now() + timedelta(seconds=60)
    facts.service.clock.pass_by(timedelta(seconds=59))
    assert consumer.run_once(shop.connect) == ()
    facts.service.clock.pass_by(timedelta(seconds=1))
    for _ in range(13):
        assert consumer.drain(shop.connect) == 0
        facts.service.clock.pass_by(timedelta(seconds=60))
    [parked] = store.outcomes.work("shipping", parked=True)
    assert parked.why == "ask the customer"
    facts.service.clock.pass_by(timedelta(days=1))
    assert consumer.drain(shop.connect) == 0, "it waits for a person"
    store.outcomes.retry("shipping", parked.outcome.id, actor="asha")
    assert consumer.drain(shop.connect) == 1
    assert done == [parked.outcome.id]
    with pytest.raises(StoreError, match="has no outcome"):
        store.outcomes.retry("shipping", parked.outcome.id, actor="asha")


def test_a_shops_database_that_is_away_is_no_try(
    store: Store, facts: Facts, shop: ShopDatabase
) -> None:
    paid(facts, 1)
    paid(facts, 2)

    def away() -> Any:
        raise ConnectionRefusedError("no database")

    consumer = shop.consumer(store)
    for _ in range(20):
        [ended] = consumer.run_once(away)
        assert ended.is_away
        facts.service.clock.pass_by(timedelta(seconds=5))
    assert [work.tries for work in store.outcomes.work("shipping")] == [0, 0]
    assert consumer.drain(shop.connect) == 2


@pytest.mark.parametrize("isolation", ["DEFERRED", None], ids=["no commit", "autocommit"])
def test_a_connection_that_is_no_transaction_ends_the_consumer_before_an_order_is_lost(
    store: Store, facts: Facts, shop: ShopDatabase, tmp_path: Path, isolation: Any
) -> None:
    paid(facts, 1)
    consumer = shop.consumer(store)

    @contextmanager
    def connect() -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(tmp_path / "shop.db", isolation_level=isolation)) as opened:
            yield opened

    with pytest.raises(ConfigurationError, match="transaction"):
        consumer.drain(connect)
    assert shop.effects() == []
    facts.service.clock.pass_by(timedelta(hours=1))
    assert shop.consumer(store).drain(shop.connect) == 1
    assert [effect[1] for effect in shop.effects()] == ["order-1"]
    [row] = store.outcomes.consumers()
    assert (row.waiting, row.parked) == (0, 0)


def test_that_an_outcome_was_done_before_proves_no_commit(
    store: Store, facts: Facts, shop: ShopDatabase, tmp_path: Path
) -> None:
    since = facts.service.clock.now()
    paid(facts, 1)
    shop.consumer(store).drain(shop.connect)
    store.outcomes.replay("shipping", since=since, actor="asha")
    paid(facts, 2)

    @contextmanager
    def connect() -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(tmp_path / "shop.db")) as opened:
            yield opened

    with pytest.raises(ConfigurationError, match="does not commit"):
        shop.consumer(store).drain(connect)
    facts.service.clock.pass_by(timedelta(hours=1))
    shop.consumer(store).drain(shop.connect)
    assert [effect[1] for effect in shop.effects()] == ["order-1", "order-2"]


def test_each_kind_is_answered_or_ignored_by_name(store: Store, shop: ShopDatabase) -> None:
    consumer = Consumer(store, "shipping", mode=Mode.TEST)
    consumer.on(PAID)(lambda outcome, tx: None)
    with pytest.raises(ConfigurationError, match="no handler for not_paid, paid_again"):
        consumer.drain(shop.connect)
    with pytest.raises(ConfigurationError, match="why"):
        consumer.ignore(Kind.NOT_PAID, why="")
    with pytest.raises(ConfigurationError, match="already"):
        consumer.ignore(PAID, why="twice")
    consumer.ignore(*(set(Kind) - {PAID}), why="an example")
    assert consumer.drain(shop.connect) == 0
    stranger = shop.consumer(store, "nobody")
    with pytest.raises(StoreError, match="kusanya outcomes add nobody"):
        stranger.drain(shop.connect)


@pytest.mark.parametrize("unexpected", ["person", "paid"])
def test_a_shop_that_creates_elsewhere_says_so(
    store: Store, facts: Facts, shop: ShopDatabase, unexpected: Any
) -> None:
    facts.run("elsewhere 1", "succeeded 1", "elsewhere 2", "succeeded 2")
    consumer = Consumer(
        store, "shipping", mode=Mode.TEST, unexpected=unexpected, clock=facts.service.clock
    )
    done: list[str] = []
    for kind in Kind:
        consumer.on(kind)(lambda outcome, tx, kind=kind: done.append(kind.value))
    consumer.drain(shop.connect)
    assert done == (["paid", "paid_again"] if unexpected == "paid" else ["unexpected"] * 2)


def test_what_was_made_elsewhere_is_not_shipped_beside_a_parcel_that_is_disputed(
    store: Store, facts: Facts, shop: ShopDatabase
) -> None:
    acted: list[str] = []
    consumer = Consumer(
        store, "shipping", mode=Mode.TEST, unexpected="paid", clock=facts.service.clock
    )
    for kind in Kind:
        consumer.on(kind)(lambda outcome, tx, kind=kind: acted.append(kind.value))
    facts.run("elsewhere 1", "succeeded 1")
    consumer.drain(shop.connect)
    facts.run("failed 1")
    consumer.drain(shop.connect)
    facts.run("elsewhere 2", "succeeded 2")
    consumer.drain(shop.connect)
    assert acted == ["paid", "disputed", "unexpected"], "a person decides, not a second parcel"


@pytest.mark.role("")
def test_after_a_restore_nothing_is_silent_missed_or_done_twice(
    store: Store, facts: Facts, shop: ShopDatabase
) -> None:
    paid(facts, 1)
    consumer = shop.consumer(store)
    consumer.drain(shop.connect)
    epoch = store.outcomes.epoch
    store.restores.mark(actor="asha")
    assert store.outcomes.epoch != epoch
    with pytest.raises(StoreChanged, match="kusanya outcomes rejoin"):
        consumer.drain(shop.connect)
    with pytest.raises(StoreChanged):
        store.outcomes.page(Mode.TEST, after=1, epoch=epoch)
    store.outcomes.rejoin("shipping", actor="asha")
    store.restores.resolve(Mode.TEST, actor="asha", why="all of it is there")
    paid(facts, 2)
    assert consumer.drain(shop.connect) == 1
    assert [effect[1] for effect in shop.effects()] == ["order-1", "order-2"]


def test_a_shop_put_back_from_a_backup_is_handed_the_outcomes_again(
    store: Store, facts: Facts, shop: ShopDatabase
) -> None:
    since = facts.service.clock.now()
    for number in (1, 2):
        paid(facts, number)
    consumer = shop.consumer(store)
    consumer.drain(shop.connect)
    with shop.connect() as connection:
        connection.execute("DELETE FROM effect WHERE reference = 'order-2'")
        of = "SELECT outcome_id FROM kusanya_done ORDER BY rowid DESC LIMIT 1"
        connection.execute(f"DELETE FROM kusanya_done WHERE outcome_id = ({of})")  # noqa: S608
    assert store.outcomes.replay("shipping", since=since, actor="asha") == 2
    consumer.drain(shop.connect)
    assert sorted(effect[1] for effect in shop.effects()) == ["order-1", "order-2"]


def test_what_is_handed_out_again_is_what_was_taken_over_before(
    store: Store, facts: Facts, shop: ShopDatabase
) -> None:
    since = facts.service.clock.now()
    store.outcomes.add("books", mode=Mode.TEST, begin=None, all_=True, actor="asha")
    paid(facts, 1)
    shop.consumer(store).drain(shop.connect)
    store.outcomes.take("books", mode=Mode.TEST, by="a", until=since + timedelta(days=1), limit=9)
    paid(facts, 2)
    store.outcomes.tell()
    assert store.outcomes.replay("books", since=since, actor="asha") == 0, "it has it still"
    assert store.outcomes.replay("shipping", since=since, actor="asha") == 1
    assert shop.consumer(store).drain(shop.connect) == 2
    assert [effect[1] for effect in shop.effects()] == ["order-1", "order-2"]


@pytest.mark.parametrize("all_", [False, True])
def test_what_a_consumer_was_never_to_do_is_not_handed_out_again(
    store: Store, facts: Facts, *, all_: bool
) -> None:
    since = facts.service.clock.now()
    paid(facts, 1)
    store.outcomes.add("late", mode=Mode.TEST, begin=None, all_=all_, actor="asha")
    facts.service.clock.pass_by(timedelta(minutes=1))
    paid(facts, 2)
    store.outcomes.tell()
    until = since + timedelta(days=1)
    taken = store.outcomes.take("late", mode=Mode.TEST, by="a", until=until, limit=9)
    for one in taken:
        store.outcomes.done("late", one.outcome.id, mode=Mode.TEST)
    assert store.outcomes.replay("late", since=since, actor="asha") == len(taken)
    again = [one.outcome.reference for one in store.outcomes.work("late")]
    assert again == (["order-1", "order-2"] if all_ else ["order-2"])


def test_a_consumer_hears_of_its_own_mode_alone(
    store: Store, facts: Facts, shop: ShopDatabase
) -> None:
    since = facts.service.clock.now() - timedelta(days=1)
    paid(facts, 1)
    store.record(by_event("live", since, reference="order-1", mode=Mode.LIVE))
    consumer = shop.consumer(store)
    assert consumer.drain(shop.connect) == 1
    assert store.outcomes.replay("shipping", since=since, actor="asha") == 1
    assert consumer.drain(shop.connect) == 1
    assert [effect[2] for effect in shop.effects()] == ["col_1"]
    assert [one.about for one in store.outcomes.page(Mode.LIVE)] == ["col_live"]


def test_who_pulls_ends_its_own_work_on_one_outcome_alone(store: Store, facts: Facts) -> None:
    until = facts.service.clock.now() + timedelta(days=1)
    for name in ("books", "stock"):
        store.outcomes.add(name, mode=Mode.TEST, begin=None, all_=True, actor="asha")
    for number in (1, 2, 3):
        facts.elsewhere(number, reference=f"order-{number}")
        facts.ends(number, "succeeded")
    store.outcomes.tell()
    taken = {}
    for name in ("books", "stock"):
        found = store.outcomes.take(name, mode=Mode.TEST, by="a", until=until, limit=9)
        taken[name] = [one.outcome.id for one in found]
    first, second, third = taken["books"]
    store.outcomes.done("books", first, mode=Mode.TEST)
    store.outcomes.done("books", "nothing that is known", mode=Mode.TEST)
    store.outcomes.park("books", second, mode=Mode.TEST, why="no stock")
    for name, mode in (("books", Mode.LIVE), ("boks", Mode.TEST)):
        with pytest.raises(StoreError, match="consumer bo"):
            store.outcomes.done(name, third, mode=mode)
        with pytest.raises(StoreError, match="consumer bo"):
            store.outcomes.park(name, third, mode=mode, why="no stock")
    left = {
        name: [(one.outcome.id, one.parked) for one in store.outcomes.work(name)] for name in taken
    }
    assert left == {
        "books": [(second, True), (third, False)],
        "stock": [(first, False), (second, False), (third, False)],
    }


def test_an_order_that_one_consumer_cannot_do_is_done_by_another(
    store: Store, facts: Facts, shop: ShopDatabase
) -> None:
    store.outcomes.add("books", mode=Mode.TEST, begin=None, all_=True, actor="asha")
    consumer = Consumer(store, "shipping", mode=Mode.TEST, clock=facts.service.clock)

    @consumer.on(*Kind)
    def never(outcome: Outcome, tx: Any) -> None:
        raise Park("no stock")

    paid(facts, 1)
    consumer.drain(shop.connect)
    facts.ends(1, "failed")
    assert shop.consumer(store, "books").drain(shop.connect) == 2
    assert [effect[0] for effect in shop.effects("books")] == ["paid", "disputed"]


def test_who_comes_late_says_nothing_of_what_another_holds(
    store: Store, facts: Facts, shop: ShopDatabase
) -> None:
    clock = facts.service.clock
    paid(facts, 1)
    store.outcomes.tell()
    for by in ("slow", "quick"):
        until = clock.now() + timedelta(minutes=1)
        [work] = store.outcomes.take("shipping", mode=Mode.TEST, by=by, until=until, limit=9)
        clock.pass_by(timedelta(minutes=2 if by == "slow" else 0))
    seq = work.outcome.seq
    store.outcomes.end("shipping", [Ending(seq=seq, parked=True, why="late")], by="slow")
    [held] = store.outcomes.work("shipping")
    assert (held.parked, held.tries) == (False, 0)
    assert (
        store.outcomes.take("shipping", mode=Mode.TEST, by="third", until=clock.now(), limit=9)
        == ()
    )
    store.outcomes.end("shipping", [Ending(seq=seq)], by="slow")
    assert store.outcomes.work("shipping") == (), "what is done is done"


def test_two_consumers_each_do_all(store: Store, facts: Facts, shop: ShopDatabase) -> None:
    store.outcomes.add("books", mode=Mode.TEST, begin=None, all_=True, actor="asha")
    paid(facts, 1)
    for name in ("shipping", "books"):
        assert shop.consumer(store, name).drain(shop.connect) == 1
        assert [effect[0] for effect in shop.effects(name)] == ["paid"]


def test_what_was_told_waits_while_nobody_consumes(store: Store, facts: Facts) -> None:
    at = facts.service.clock.now()
    paid(facts, 1)
    store.outcomes.tell()
    [row] = store.outcomes.consumers()
    assert (row.waiting, row.parked) == (1, 0)
    assert row.oldest_paid is not None
    assert row.oldest_paid > at


def test_a_consumer_of_the_other_mode_is_refused_before_it_does_anything(
    store: Store, facts: Facts, shop: ShopDatabase
) -> None:
    paid(facts, 1)
    other = Consumer(store, "shipping", mode=Mode.LIVE, clock=facts.service.clock)
    other.ignore(*Kind, why="nothing")
    with pytest.raises(StoreError, match="is for test mode, not for live mode"):
        other.drain(shop.connect)
    assert shop.consumer(store).drain(shop.connect) == 1
