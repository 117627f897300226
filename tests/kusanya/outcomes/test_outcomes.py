"""What an order came to is told once for each change of it, whatever brought the news."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.kusanya.outcomes.shop import Facts

from kusanya.outcomes import Outcome
from kusanya.store import Store
from kusanya.store.records.outcomes import news
from kusanya.wire import Mode

STORIES: dict[str, tuple[list[str], list[str]]] = {
    "an order that is paid": (["pay", "succeeded 1"], ["paid col_1"]),
    "a prompt that is open": (["pay"], []),
    "news that came twice": (["pay", "succeeded 1", "succeeded 1"], ["paid col_1"]),
    "a failed attempt, then a paid one": (
        ["pay", "failed 1", "pay", "succeeded 2"],
        ["not_paid col_1", "paid col_2"],
    ),
    "an attempt that expired": (["pay", "expired 1"], ["not_paid col_1"]),
    "two failures": (
        ["pay", "failed 1", "pay", "expired 2"],
        ["not_paid col_1", "not_paid col_2"],
    ),
    "a lost answer of what the service made": (
        ["loses LOST_ANSWER", "succeeded 1"],
        ["paid col_1"],
    ),
    "a creation that was refused": (["refused"], ["not_paid int"]),
    "a refused creation, then a paid one": (
        ["refused", "pay", "succeeded 1"],
        ["not_paid int", "paid col_1"],
    ),
    "an expired attempt that succeeds after all": (
        ["pay", "expired 1", "succeeded 1"],
        ["not_paid col_1", "disputed col_1"],
    ),
    "a paid attempt that is said to have failed": (
        ["pay", "succeeded 1", "failed 1"],
        ["paid col_1", "disputed col_1"],
    ),
    "a second success, of another program": (
        ["pay", "succeeded 1", "elsewhere 2", "succeeded 2"],
        ["paid col_1", "unexpected col_2"],
    ),
    "another program's payment while our own prompt is open, which is paid too": (
        ["pay", "elsewhere 2", "succeeded 2", "succeeded 1"],
        ["unexpected col_2", "paid col_1"],
    ),
    "a refused creation, and another program's payment": (
        ["refused", "elsewhere 1", "succeeded 1"],
        ["not_paid int", "unexpected col_1"],
    ),
    "another program's payment alone": (
        ["elsewhere 1", "succeeded 1"],
        ["unexpected col_1"],
    ),
    "another amount than was answered": (["pay", "succeeded 1 4000"], ["disputed col_1"]),
    "another amount than was asked for, the answer lost": (
        ["loses LOST_ANSWER", "succeeded 1 4000"],
        ["unexpected col_1"],
    ),
    "another program's failure beside an open prompt": (
        ["pay", "elsewhere 2", "failed 2"],
        [],
    ),
    "and once that prompt failed as well": (
        ["pay", "elsewhere 2", "failed 2", "failed 1"],
        ["not_paid col_1", "not_paid col_2"],
    ),
}


def said(outcomes: tuple[Outcome, ...]) -> list[str]:
    """Return kind and attempt of outcomes; an intent by the beginning of its id."""
    return [
        f"{one.kind.value} {one.collection_id or (one.intent_id or '')[:3]}" for one in outcomes
    ]


@pytest.fixture
def begun(store: Store) -> Store:
    """Return a store in which outcomes are told."""
    store.outcomes.add("shipping", mode=Mode.TEST, begin=None, actor="asha")
    return store


@pytest.mark.parametrize("story", STORIES)
def test_each_change_of_an_order_is_told_once(begun: Store, facts: Facts, story: str) -> None:
    steps, expected = STORIES[story]
    for step in steps:
        facts.run(step)
        begun.outcomes.tell()
        begun.outcomes.tell()
    assert sorted(said(begun.outcomes.of(Mode.TEST, "order-1"))) == sorted(expected)
    assert begun.maintenance.check() == ()


@pytest.mark.parametrize("story", STORIES)
def test_what_changed_twice_before_it_was_told_is_told_as_it_stands(
    begun: Store, facts: Facts, story: str
) -> None:
    steps, expected = STORIES[story]
    facts.run(*steps)
    begun.outcomes.tell()
    found = said(begun.outcomes.of(Mode.TEST, "order-1"))
    assert found[-1:] == expected[-1:] or Counter(found) == Counter(expected)
    assert set(found) <= set(expected)


def test_an_outcome_says_what_a_shop_needs(begun: Store, facts: Facts) -> None:
    facts.run("pay", "failed 1", "pay", "succeeded 2")
    begun.outcomes.tell()
    [one] = [one for one in begun.outcomes.of(Mode.TEST, "order-1") if one.is_paid]
    [intent, _] = begun.intents.page().rows
    assert (one.amount, one.fee, one.currency, one.expected_amount) == (5000, 60, "TZS", 5000)
    assert (one.intent_id, one.ordinal, one.previous) == (intent.id, 1, None)
    row = begun.collections.get("col_2", Mode.TEST)
    assert row is not None
    assert one.at == row.final_seen_at
    assert one.effect_key == one.id


def test_money_for_a_creation_without_an_answer_says_what_was_asked_for(
    begun: Store, facts: Facts
) -> None:
    facts.run("loses LOST_ANSWER", "succeeded 1 4000")
    begun.outcomes.tell()
    [one] = begun.outcomes.page(Mode.TEST)
    [intent] = begun.intents.page().rows
    assert (one.amount, one.expected_amount, one.intent_id) == (4000, 5000, intent.id)


def test_the_change_of_a_creation_alone_is_told(begun: Store, facts: Facts) -> None:
    facts.run("loses LOST_REQUEST")
    [intent] = begun.intents.page().rows
    begun.outcomes.tell()
    head = begun.feed.head()
    begun.intents.resolve(intent.id, collection_id=None, sentence="nobody was asked")
    assert begun.feed.head() == head + 1
    begun.outcomes.tell()
    assert said(begun.outcomes.page(Mode.TEST)) == ["not_paid int"]


def test_what_was_said_is_corrected_and_may_be_disputed_again(begun: Store, facts: Facts) -> None:
    facts.run("pay", "succeeded 1")
    order, now = begun.intents.order(Mode.TEST, "order-1"), facts.service.clock.now()
    [paid] = order.collections
    told: list[Outcome] = []

    def tell(status: str) -> list[str]:
        row = msgspec.structs.replace(paid, status=status)
        changed = msgspec.structs.replace(order, collections=(row,))
        new = tuple(news(changed, told, now=now))
        told.extend(new)
        return [f"{one.kind.value} {one.is_paid}" for one in new]

    history = ["succeeded", "contradiction", "failed", "contradiction", "succeeded", "failed"]
    assert [tell(status) for status in history] == [
        ["paid True"], ["disputed False"], ["corrected False"], ["disputed False"],
        ["corrected True"], ["corrected False"],
    ]  # fmt: skip
    assert len({one.id for one in told}) == len(told)
    assert [one.previous for one in told[1:]] == [one.id for one in told[:-1]]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, ["paid col_2"]),
        ({"col_1": {"status": "contradiction"}}, ["disputed col_1", "unexpected col_2"]),
        ({"col_1": {"status": "succeeded"}}, ["paid col_1", "paid_again col_2"]),
        ({"col_2": {"currency": "USD"}}, ["unexpected col_2"]),
        ({"col_2": {"amount": 5001}}, ["unexpected col_2"]),
        ({"col_2": {"status": "created", "final_seen_at": None}}, []),
    ],
)
def test_of_two_attempts_each_is_told_for_what_it_means_beside_the_other(
    begun: Store, facts: Facts, changed: dict[str, Any], expected: list[str]
) -> None:
    facts.run("pay", "failed 1", "pay", "succeeded 2")
    order, now = begun.intents.order(Mode.TEST, "order-1"), facts.service.clock.now()
    rows = tuple(
        msgspec.structs.replace(row, **changed.get(row.id, {})) for row in order.collections
    )
    found = tuple(news(msgspec.structs.replace(order, collections=rows), [], now=now))
    assert said(found) == expected


@pytest.mark.parametrize("amounts", [(4000, 5000), (5000, 4000)])
def test_of_two_creations_without_an_answer_the_one_of_the_sum_is_taken_for_the_payments(
    begun: Store, facts: Facts, amounts: tuple[int, int]
) -> None:
    facts.run("loses LOST_ANSWER", "succeeded 1")
    order, now = begun.intents.order(Mode.TEST, "order-1"), facts.service.clock.now()
    [intent], [row] = order.intents, order.collections
    meant = tuple(
        msgspec.structs.replace(intent, id=f"int_{amount}", amount=amount, collection_id=None)
        for amount in amounts
    )
    [one] = news(msgspec.structs.replace(order, intents=meant), [], now=now)
    assert row.amount == 5000
    assert (one.kind.value, one.intent_id, one.expected_amount) == ("paid", "int_5000", 5000)


def test_a_success_that_is_disputed_stops_the_next_one(begun: Store, facts: Facts) -> None:
    # Nobody knows whether the first parcel was paid for: the second success is a person's.
    facts.run("pay", "succeeded 1")
    begun.outcomes.tell()
    facts.run("failed 1", "elsewhere 2", "succeeded 2")
    begun.outcomes.tell()
    kinds = said(begun.outcomes.of(Mode.TEST, "order-1"))
    assert kinds == ["paid col_1", "disputed col_1", "unexpected col_2"]


def test_a_reference_that_is_a_phone_is_masked_where_an_outcome_is_shown(
    begun: Store, facts: Facts
) -> None:
    facts.pay("255754000001")
    facts.ends(1, "failed")
    begun.outcomes.tell()
    [one] = begun.outcomes.page(Mode.TEST)
    assert "255754000001" not in repr(one)


def test_the_second_success_of_an_old_order_is_not_its_first(store: Store, facts: Facts) -> None:
    facts.run("pay", "succeeded 1")
    store.outcomes.add("shipping", mode=Mode.TEST, begin=None, actor="asha")
    facts.run("elsewhere 2", "succeeded 2")
    store.outcomes.tell()
    assert said(store.outcomes.of(Mode.TEST, "order-1")) == ["paid col_1", "unexpected col_2"]
    [row] = store.outcomes.consumers()
    assert (row.waiting, row.parked) == (1, 0), "the old one is not for it"


def test_the_same_is_told_after_a_rebuild_and_by_another_store(begun: Store, facts: Facts) -> None:
    facts.run("pay", "failed 1", "pay", "succeeded 2")
    begun.outcomes.tell()
    before = begun.outcomes.of(Mode.TEST, "order-1")
    begun.maintenance.rebuild()
    begun.outcomes.tell()
    assert begun.outcomes.of(Mode.TEST, "order-1") == before


def test_several_that_tell_at_once_tell_each_once(begun: Store, facts: Facts) -> None:
    for number in range(20):
        facts.pay(f"order-{number}")
        facts.ends(number + 1, "succeeded")
    with ThreadPoolExecutor(4) as pool:
        told = sum(pool.map(lambda _: begun.outcomes.tell(), range(8)))
    assert told == 20
    assert len(begun.outcomes.page(Mode.TEST)) == 20
    assert begun.outcomes.page(Mode.LIVE) == ()
    assert begun.maintenance.check() == ()


def test_a_store_without_consumers_tells_nothing(store: Store, facts: Facts) -> None:
    facts.run("pay", "succeeded 1")
    head = store.feed.head()
    assert store.outcomes.tell() == 0
    assert store.feed.head() == head
    assert store.outcomes.page(Mode.TEST) == ()


@pytest.mark.parametrize("since_s", [-1000, 0])
def test_a_consumer_begins_where_it_was_told_to(store: Store, facts: Facts, since_s: int) -> None:
    facts.run("pay", "succeeded 1")
    facts.service.clock.pass_by(timedelta(hours=1))
    begin = facts.service.clock.now() + timedelta(hours=since_s)
    row = store.outcomes.add("shipping", mode=Mode.TEST, begin=begin, actor="asha")
    assert row.begins_at == begin
    [row] = store.outcomes.consumers()
    assert row.waiting == (1 if since_s else 0)
    again = store.outcomes.add("shipping", mode=Mode.TEST, begin=None, actor="asha")
    assert again.begins_at == begin, "one that is there stays as it is"
    with pytest.raises(ValueError, match="for test mode"):
        store.outcomes.add("shipping", mode=Mode.LIVE, begin=None, actor="asha")


@pytest.mark.parametrize(("later_us", "count"), [(-1, 1), (0, 1), (1, 0)])
def test_what_became_known_at_the_very_beginning_is_a_consumers_own(
    store: Store, facts: Facts, later_us: int, count: int
) -> None:
    store.outcomes.add("first", mode=Mode.TEST, begin=None, actor="asha")
    facts.run("pay", "succeeded 1")
    store.outcomes.tell()
    [outcome] = store.outcomes.page(Mode.TEST)
    begin = outcome.at + timedelta(microseconds=later_us)
    store.outcomes.add("shipping", mode=Mode.TEST, begin=begin, actor="asha")
    waiting = {row.name: row.waiting for row in store.outcomes.consumers()}
    assert waiting == {"first": 1, "shipping": count}
    until = facts.service.clock.now() + timedelta(days=1)
    for work in store.outcomes.take("shipping", mode=Mode.TEST, by="a", until=until, limit=9):
        store.outcomes.done("shipping", work.outcome.id, mode=Mode.TEST)
    early = outcome.at - timedelta(days=1)
    assert store.outcomes.replay("shipping", since=early, actor="asha") == count
