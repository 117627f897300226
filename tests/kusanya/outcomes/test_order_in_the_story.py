"""Support sees an order above its attempts, and whether the shop has acted on what it came to."""

from typing import Any

import pytest
from tests.kusanya.outcomes.shop import Facts, ShopDatabase

from kusanya.lookup import EventKind, Timeline, load_timeline, order_sentence
from kusanya.outcomes import Consumer, Kind, Outcome, Park
from kusanya.say import Language, in_language
from kusanya.store import Store
from kusanya.wire import Mode


def story(facts: Facts, number: int) -> Timeline:
    found = load_timeline(facts.store, f"col_{number}", Mode.TEST, now=facts.service.clock.now())
    assert found is not None
    return found


def said(facts: Facts, number: int) -> str:
    return order_sentence(story(facts, number).around, f"col_{number}")


def test_an_order_of_one_attempt_says_nothing_more(facts: Facts) -> None:
    facts.run("pay", "succeeded 1")
    assert said(facts, 1) == ""


def test_the_attempts_of_an_order_are_counted_and_the_one_that_paid_is_named(facts: Facts) -> None:
    facts.run("pay", "failed 1", "pay")
    assert said(facts, 1) == "order: attempt 1 of 2; no attempt has brought money"
    facts.run("succeeded 2")
    assert said(facts, 1) == "order: attempt 1 of 2; paid by attempt 2"
    assert said(facts, 2) == "order: attempt 2 of 2; paid by attempt 2"


def test_what_is_to_be_given_back_is_named_with_its_sum_in_both_languages(facts: Facts) -> None:
    facts.run("pay", "succeeded 1", "elsewhere 2", "succeeded 2")
    words = said(facts, 1)
    assert words == (
        "order: attempt 1 of 2; paid by attempt 1; paid again by attempt 2: give back 5,000 TZS"
    )
    assert in_language(words, Language.SWAHILI) == (
        "oda: jaribio la 1 kati ya 2; imelipwa kwa jaribio la 1; "
        "imelipwa tena kwa jaribio la 2: rudisha 5,000 TZS"
    )


def outcomes(facts: Facts, number: int) -> list[str]:
    entries = story(facts, number).entries
    return [one.detail for one in entries if one.kind is EventKind.OUTCOME]


@pytest.mark.parametrize(
    ("does", "left"),
    [("ships", ""), ("waits", "; shipping has not done it"), ("parks", "; shipping parked it: ")],
)
def test_the_story_tells_whether_the_shop_has_acted(
    store: Store, facts: Facts, shop: ShopDatabase, does: str, left: str
) -> None:
    store.outcomes.add("shipping", mode=Mode.TEST, begin=None, all_=True, actor="asha")
    facts.run("pay", "succeeded 1")
    consumer = Consumer(store, "shipping", mode=Mode.TEST)

    @consumer.on(*Kind)
    def ship(outcome: Outcome, tx: Any) -> None:
        if does == "parks":
            raise Park("no stock for 0754 000 001")
        if does == "waits":
            raise RuntimeError

    assert outcomes(facts, 1) == []
    consumer.drain(shop.connect)
    [entry] = outcomes(facts, 1)
    assert entry.startswith("the order is paid" + left)
    assert entry == "the order is paid" or left
    assert "754 000" not in entry
