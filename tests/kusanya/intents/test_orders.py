"""`pay` may be said again at any time: one open prompt, one success, whatever came before."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from importlib import import_module
from itertools import pairwise
from typing import Any

import pytest
from tests.kit.payments import by_event
from tests.kusanya.intents.orders import NewClient

from kusanya import orders
from kusanya.client import AsyncClient
from kusanya.client.observations import poll_observation
from kusanya.errors import (
    AmountChanged,
    ConfigurationError,
    IntentError,
    IntentReason,
    InvalidRequest,
)
from kusanya.intents import create_safely
from kusanya.orders import Limits, NotAsked, Order, OrderReason, OrderStatus
from kusanya.orders.paying import Wish, paying
from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya.wire import Mode, decode_collection
from kusanya.wording import NEVER_ASKED, UNKNOWN_OUTCOME, advise, advise_held_back

paying_module: Any = import_module("kusanya.orders.paying")
PHONE = "0754 000 001"


class Shop:
    """One order of a shop, the service behind it, and what the store is told of it."""

    def __init__(self, store: Store, new_client: NewClient) -> None:
        self.store, self.new_client, self.service = store, new_client, new_client.service

    def pay(self, **more: Any) -> Order:
        """Say that the order is to be paid."""
        said = {"amount": 5000, "phone": PHONE, **more}
        return orders.pay(self.store, self.new_client(max_attempts=1), "order-1", **said)

    def end(self, collection_id: str, status: str, code: str | None = None) -> None:
        """Let a collection come to its end at the service, and let the store be told."""
        at = self.service.clock.now().isoformat()
        fields = {"status": status, "completed_at": at, "failure_code": code}
        self.service.collections[collection_id] |= fields
        self.tell(collection_id)

    def tell(self, collection_id: str) -> None:
        """Let the store be told what the service knows."""
        found = decode_collection(json.dumps(self.service.collections[collection_id]).encode())
        at = self.service.clock.now()
        self.store.record(poll_observation(found, at=at, observed_in=Mode.TEST))

    @property
    def made(self) -> list[str]:
        """Return what the service made."""
        return list(self.service.collections)


@pytest.fixture
def shop(store: Store, new_client: NewClient) -> Shop:
    return Shop(store, new_client)


def test_an_order_is_asked_for_once_until_it_is_paid(shop: Shop) -> None:
    first = shop.pay()
    assert (first.status, first.reason) == (OrderStatus.ASKED, OrderReason.PROMPT_OPEN)
    assert "Enter your PIN" in first.customer.english.sentence
    assert shop.pay(phone="0754 000 002").status is OrderStatus.ASKED, "a prompt is open"
    shop.end("col_1", "succeeded")
    for order in (shop.pay(), shop.pay(phone="0754 000 002")):
        assert (order.status, order.reason) == (OrderStatus.PAID, OrderReason.PAID)
        assert order.wait_s is None
        assert order.collection is not None
        assert order.collection.id == "col_1"
        assert "We have received your payment of TZS 5,000" in order.customer.english.sentence
    assert shop.made == ["col_1"]


@pytest.mark.parametrize("status", ["failed", "expired"])
def test_an_attempt_without_money_is_followed_by_one_with_its_own_key(
    shop: Shop, status: str
) -> None:
    shop.pay()
    shop.end("col_1", status)
    assert orders.get(shop.store, "order-1", mode=Mode.TEST).status is OrderStatus.UNPAID
    order = shop.pay(phone="0754 000 002", amount=4000)
    assert order.status is OrderStatus.ASKED
    assert [attempt.collection and attempt.collection.id for attempt in order.attempts] == [
        "col_1", "col_2",
    ]  # fmt: skip
    assert len({one.key for one in shop.service.arrived}) == 2
    said = [act.detail for act in shop.store.audit.page().rows]
    assert any("attempt 2 of the order" in one for one in said)
    shop.end("col_2", "succeeded")
    assert shop.pay(amount=4000).status is OrderStatus.PAID
    assert shop.made == ["col_1", "col_2"]


@pytest.mark.parametrize("fault", ["LOST_ANSWER", "LOST_REQUEST", "FAILED_AFTER", "NO_CONNECTION"])
def test_no_answer_is_no_error_and_the_same_call_goes_on(shop: Shop, play: Any, fault: str) -> None:
    shop.service.faults = [play.Fault[fault]]
    order = shop.pay()
    assert (order.status, order.reason) == (OrderStatus.UNKNOWN, OrderReason.NO_ANSWER)
    assert order.wait_s is not None
    [attempt] = order.attempts
    assert attempt.intent is not None
    assert attempt.collection is None, "nobody knows what became of it, and it counts"
    assert order.customer == advise(UNKNOWN_OUTCOME)
    shop.service.faults = [play.Fault[fault]]
    assert shop.pay().status is OrderStatus.UNKNOWN
    assert shop.pay().status is OrderStatus.ASKED
    assert shop.made == ["col_1"]
    assert len({(one.key, one.body) for one in shop.service.arrived}) == 1


def test_past_its_window_an_order_without_an_answer_stays_unknown(shop: Shop, play: Any) -> None:
    shop.service.faults = [play.Fault.LOST_ANSWER]
    shop.pay()
    shop.service.clock.pass_by(timedelta(hours=25))
    sent = len(shop.service.arrived)
    assert shop.pay().status is OrderStatus.UNKNOWN
    assert len(shop.service.arrived) == sent
    shop.tell("col_1")
    assert shop.pay().status in {OrderStatus.ASKED, OrderStatus.UNKNOWN}
    assert shop.made == ["col_1"]


@pytest.mark.parametrize("state", ["asked", "unknown", "paid"])
def test_another_amount_is_refused_while_one_may_be_charged_or_was(
    shop: Shop, play: Any, state: str
) -> None:
    shop.service.faults = [play.Fault.LOST_ANSWER] if state == "unknown" else []
    shop.pay()
    if state == "paid":
        shop.end("col_1", "succeeded")
    with pytest.raises(AmountChanged, match="5,000, not 4,000"):
        shop.pay(amount=4000)
    assert len(shop.service.arrived) == 1


@pytest.mark.parametrize("status", ["created", "succeeded"])
def test_what_was_made_elsewhere_under_the_reference_counts(shop: Shop, status: str) -> None:
    shop.service.create_elsewhere("col_9", reference="order-1")
    shop.service.collections["col_9"]["status"] = status
    shop.tell("col_9")
    order = shop.pay()
    assert order.status is (OrderStatus.PAID if status == "succeeded" else OrderStatus.ASKED)
    assert [attempt.intent for attempt in order.attempts] == [None]
    assert shop.service.arrived == []


@pytest.mark.role("decide")
def test_a_contradiction_and_a_receipt_wait_for_a_person(shop: Shop) -> None:
    shop.pay()
    shop.end("col_1", "failed")
    shop.store.receipts.record("col_1", Mode.TEST, "SJ31HG4K2", source="m.csv", actor="asha")
    order = shop.pay()
    assert (order.status, order.reason) == (OrderStatus.NEEDS_PERSON, OrderReason.CLAIMED)
    shop.end("col_1", "expired")
    order = shop.pay()
    assert (order.status, order.reason) == (OrderStatus.NEEDS_PERSON, OrderReason.CONTRADICTION)
    assert "do not pay again" in order.customer.english.sentence
    assert shop.made == ["col_1"]


def test_a_second_success_is_said_to_be_one(shop: Shop) -> None:
    shop.pay()
    shop.service.create_elsewhere("col_9", reference="order-1")
    for collection_id in ("col_1", "col_9"):
        shop.end(collection_id, "succeeded")
    order = shop.pay()
    assert (order.status, order.reason) == (OrderStatus.PAID, OrderReason.PAID_AGAIN)
    assert order.collection is not None
    assert order.collection.id == "col_1", "the first one ships"


@pytest.mark.parametrize(
    ("limits", "code", "held"),
    [
        (Limits(attempts=2), "timeout", NotAsked(limit="attempts", wait_s=None)),
        (Limits(phone_hour=2), "timeout", NotAsked(limit="phone_hour", wait_s=3_000.0)),
        (Limits(phone_day=2), "timeout", NotAsked(limit="phone_day", wait_s=85_800.0)),
        (Limits(), "invalid_pin", NotAsked(limit="wrong_pins", wait_s=3_000.0)),
    ],
)
def test_limits_hold_a_prompt_back_and_say_for_how_long(
    shop: Shop, limits: Limits, code: str, held: NotAsked
) -> None:
    for number in (1, 2):
        shop.pay(limits=limits)
        shop.service.clock.pass_by(timedelta(minutes=5))
        shop.end(f"col_{number}", "failed", code)
    order = shop.pay(limits=limits)
    assert (order.status, order.not_asked, order.wait_s) == (
        OrderStatus.UNPAID, held, held.wait_s,
    )  # fmt: skip
    assert order.customer == advise_held_back(held.limit)
    known = orders.get(shop.store, "order-1", mode=Mode.TEST).customer
    assert known == advise("failed", failure_code=code)
    assert len(shop.made) == 2
    shop.service.clock.pass_by(timedelta(seconds=held.wait_s or 0))
    after = shop.pay(limits=limits)
    assert after.status is (OrderStatus.UNPAID if held.wait_s is None else OrderStatus.ASKED)


def test_a_till_that_allows_more_prompts_than_a_page_holds_is_held_back_by_its_own_limit(
    shop: Shop,
) -> None:
    for number in range(60):
        shop.store.record(ended(number, shop, phone="255754000001"))
    wide = Limits(phone_hour=61, phone_day=61)
    assert shop.pay(limits=wide).status is OrderStatus.ASKED
    shop.end("col_1", "failed", "timeout")
    held = shop.pay(limits=wide)
    assert (held.status, held.not_asked and held.not_asked.limit) == (
        OrderStatus.UNPAID, "phone_hour",
    )  # fmt: skip


def test_a_customer_whose_first_prompt_is_held_back_is_told_why(shop: Shop) -> None:
    assert orders.get(shop.store, "order-1", mode=Mode.TEST).customer == advise(NEVER_ASKED)
    for number in range(2):
        shop.store.record(ended(number, shop, phone="255754000001"))
    held = shop.pay(limits=Limits(phone_hour=2))
    assert (held.status, held.attempts) == (OrderStatus.UNPAID, ())
    assert held.customer == advise_held_back("phone_hour")


@pytest.mark.parametrize("name", Limits.__struct_fields__)
def test_a_limit_of_less_than_one_is_refused_where_it_is_made(name: str) -> None:
    assert getattr(Limits(**{name: 1}), name) == 1
    with pytest.raises(ValueError, match=f"limit {name} is 0: give 1 or more"):
        Limits(**{name: 0})


def test_what_the_service_refuses_is_an_error_and_leaves_the_order_free(shop: Shop) -> None:
    with pytest.raises(InvalidRequest):
        shop.pay(phone="0700 000 422")
    assert orders.get(shop.store, "order-1", mode=Mode.TEST).attempts == ()
    assert shop.pay().status is OrderStatus.ASKED


def test_what_cannot_be_sent_is_refused_before_anything(shop: Shop) -> None:
    with pytest.raises(ValueError, match="amount"):
        shop.pay(amount=0)
    with pytest.raises(ConfigurationError, match="does not tell its mode"):
        orders.pay(shop.store, shop.new_client(api_key="key"), "order-1", amount=5000, phone=PHONE)
    assert shop.store.intents.page().rows == ()


@pytest.mark.parametrize("ending", ["1", "x" * 300, "\0", "\udcff"])
def test_two_references_that_the_store_would_keep_as_one_are_no_orders(
    shop: Shop, ending: str
) -> None:
    asked: Any = {"amount": 5000, "phone": PHONE}
    reference = ("x" * 255) + ending
    if ending == "1":
        order = orders.pay(shop.store, shop.new_client(), reference, **asked)
        assert order.status is OrderStatus.ASKED
        return
    for act in (
        lambda: orders.pay(shop.store, shop.new_client(), reference, **asked),
        lambda: orders.get(shop.store, reference, mode=Mode.TEST),
        lambda: create_safely(shop.store, shop.new_client(), reference=reference, **asked),
    ):
        with pytest.raises(ValueError, match=r"reference|surrogates"):
            act()
    assert shop.made == []


@pytest.mark.parametrize(
    "written",
    [
        "order-1 ",
        " order-1",
        "order-1\n",
        "\torder-1",
        "order-1\u200b",
        "\ufefforder-1",
        "order\u00a01",
    ],
    ids=ascii,
)
def test_a_reference_that_looks_like_another_orders_is_asked_for_under_its_plain_name(
    shop: Shop, written: str
) -> None:
    shop.pay()
    asked: Any = {"amount": 5000, "phone": PHONE}
    for ask in (
        lambda: orders.pay(shop.store, shop.new_client(), written, **asked),
        lambda: create_safely(shop.store, shop.new_client(), reference=written, **asked),
    ):
        with pytest.raises(ValueError, match="looks like that of another order"):
            ask()
    assert len(shop.store.intents.page().rows) == 1


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("attempt", [1, 2])
def test_a_program_that_dies_at_any_step_says_it_again_and_nobody_pays_twice(
    store: Store, new_client: NewClient, play: Any, done: bool, attempt: int
) -> None:
    shop = Shop(store, new_client)
    for step in range(12):
        reference = f"order-{step}"
        wish = Wish(reference=reference, amount=5000, phone=PHONE)
        plain = Limits(phone_hour=10_000, phone_day=10_000)
        known = len(shop.made)
        for number in range(1, attempt):
            client = new_client()
            client.run(paying(store, client.core, wish, plain))
            shop.end(f"col_{known + number}", "failed")
        client = new_client()
        died = False
        try:
            play.run_killed(client, paying(store, client.core, wish, plain), after=step, done=done)
        except play.Killed:
            died = True
        shop.service.clock.pass_by(timedelta(minutes=10))  # what it leased is free again
        order = orders.pay(store, new_client(), reference, amount=5000, phone=PHONE, limits=plain)
        assert order.status is OrderStatus.ASKED
        assert len(shop.made) == known + attempt, (step, died)
        shop.end(shop.made[-1], "succeeded")
    assert died is False, "the last step lies past the end"


def test_where_another_worker_is_quicker_its_attempt_is_what_is_told(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = paying_module.create

    def slower(*given: Any, **more: Any) -> Any:
        monkeypatch.setattr(paying_module, "create", create)
        shop.pay()
        return create(*given, **more)

    monkeypatch.setattr(paying_module, "create", slower)
    order = shop.pay()
    assert (order.status, len(order.attempts), len(shop.made)) == (OrderStatus.ASKED, 1, 1)


@pytest.mark.parametrize(
    ("status", "seen"),
    [
        ("pending", OrderStatus.ASKED),
        ("succeeded", OrderStatus.PAID),
        ("failed", OrderStatus.UNPAID),
    ],
)
def test_what_an_event_said_before_the_answer_came_is_what_is_told(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, status: str, seen: OrderStatus
) -> None:
    make = shop.service._new

    def quick(collection_id: str, asked: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = make(collection_id, asked)
        shop.service.collections[collection_id] = dict(made)
        if status == "pending":
            shop.service.collections[collection_id]["status"] = status
            shop.tell(collection_id)
        else:
            shop.end(collection_id, status)
        return made

    monkeypatch.setattr(shop.service, "_new", quick)
    order = shop.pay()
    [attempt] = order.attempts
    assert attempt.collection is not None
    assert (order.status, attempt.collection.status) == (seen, status)
    assert order == orders.get(shop.store, "order-1", mode=Mode.TEST)


def test_attempts_of_one_instant_are_told_in_the_order_in_which_they_are_read(shop: Shop) -> None:
    free = Limits(attempts=50, phone_hour=50, phone_day=50)
    for number in range(1, 13):
        order = shop.pay(limits=free)
        assert order == orders.get(shop.store, "order-1", mode=Mode.TEST)
        shop.end(f"col_{number}", "failed")
    assert len(shop.made) == 12


def test_what_no_other_worker_explains_is_an_error(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(*_: Any, **__: Any) -> Any:
        raise IntentError("too late", reason=IntentReason.WINDOW_CLOSED)

    monkeypatch.setattr(paying_module, "create", refusing)
    with pytest.raises(IntentError, match="too late"):
        shop.pay()


def test_from_many_workers_one_prompt_is_sent(shop: Shop) -> None:
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: shop.pay(), range(48)))
    assert {order.status for order in found} == {OrderStatus.ASKED}
    assert shop.made == ["col_1"]
    shop.end("col_1", "failed")
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: shop.pay(), range(48)))
    assert {order.status for order in found} == {OrderStatus.ASKED}
    assert shop.made == ["col_1", "col_2"]


def test_waiting_reads_the_store_and_never_asks_the_service(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.pay()
    asked = len(shop.service.arrived)
    begun = shop.service.clock.monotonic()
    assert orders.wait(shop.store, shop.new_client(), "order-1", timeout_s=30).status is (
        OrderStatus.ASKED
    )
    assert shop.service.clock.monotonic() - begun == pytest.approx(30)
    looks: list[float] = []
    head = shop.store.feed.head

    def counted() -> int:
        looks.append(shop.service.clock.monotonic())
        if len(looks) == 20:
            shop.end("col_1", "succeeded")
        return head()

    monkeypatch.setattr(shop.store.feed, "head", counted)
    order = orders.wait(shop.store, shop.new_client(), "order-1", timeout_s=300)
    assert order.status is OrderStatus.PAID
    assert len(looks) == 20
    assert max(later - one for one, later in pairwise(looks)) == pytest.approx(1.0)
    assert len(shop.service.arrived) == asked


def test_the_asynchronous_forms_do_the_same(shop: Shop, play: Any) -> None:
    async def send(request: Any, within_s: float) -> Any:
        await asyncio.sleep(0)
        return shop.service(request, within_s)

    async def scenario() -> None:
        client = AsyncClient(
            play.key, base_url="http://127.0.0.1:9", clock=shop.service.clock, transport=send
        )
        wish: dict[str, Any] = {"amount": 5000, "phone": PHONE}
        both = [orders.pay_async(shop.store, client, "order-1", **wish) for _ in range(8)]
        found = await asyncio.gather(*both)
        assert {order.status for order in found} == {OrderStatus.ASKED}
        shop.end("col_1", "succeeded")
        order = await orders.wait_async(shop.store, client, "order-1", timeout_s=5)
        assert order.status is OrderStatus.PAID

    asyncio.run(scenario())
    assert shop.made == ["col_1"]


def test_a_person_settles_what_came_of_nothing_and_the_order_goes_on(shop: Shop, play: Any) -> None:
    shop.service.faults = [play.Fault.LOST_REQUEST]
    shop.pay()
    [intent] = shop.store.intents.page().rows
    shop.store.intents.resolve(intent.id, collection_id=None, sentence="nothing on the statement")
    assert shop.store.intents.get(intent.id).state is IntentState.SETTLED  # type: ignore[union-attr]
    order = shop.pay()
    assert (order.status, len(order.attempts)) == (OrderStatus.ASKED, 1)


def test_no_prompt_is_sent_into_a_channel_that_is_down_where_the_shop_wants_it_so(
    shop: Shop,
) -> None:
    shop.store.record(ended(0, shop, phone="255754000001", status="succeeded", failure_code=None))
    for number in range(1, 41):
        shop.service.clock.sleep(5)
        shop.store.record(ended(number, shop, phone=f"2557541{number:05}"))
    held = shop.pay(unless_down=True)
    assert (held.status, held.attempts, shop.made) == (OrderStatus.UNPAID, (), [])
    assert held.not_asked is not None
    assert (held.not_asked.limit, held.wait_s) == ("channel_down", 60)
    assert held.customer.english.sentence.startswith("Payments by M-Pesa are delayed since")
    assert held.customer.may_prompt, "another phone, or later"
    assert shop.pay(unless_down=True, phone="0688 000 001").status is OrderStatus.ASKED


def test_a_channel_that_is_down_holds_back_nothing_where_nobody_said_so(shop: Shop) -> None:
    for number in range(1, 41):
        shop.store.record(ended(number, shop, phone=f"2557541{number:05}"))
    shop.store.record(ended(99, shop, phone="255754000001"))
    assert shop.pay().status is OrderStatus.ASKED


def test_a_known_phone_of_a_channel_that_works_is_asked_also_where_the_shop_wants_to_know(
    shop: Shop,
) -> None:
    for number in range(40):
        shop.store.record(
            ended(number, shop, phone=f"2557541{number:05}", status="succeeded", failure_code=None)
        )
    shop.store.record(ended(99, shop, phone="255754000001"))
    assert shop.pay(unless_down=True).status is OrderStatus.ASKED


def test_a_first_attempt_repeats_nothing_and_no_phone_is_in_a_wish(shop: Shop) -> None:
    wish = Wish(reference="order-1", amount=5000, phone=PHONE)
    assert wish.request(1).force_repeat_reason is None
    assert wish.request(2).force_repeat_reason == "attempt 2 of the order"
    assert repr(wish) == "Wish(reference='order-1', amount=5000)"


def ended(number: int, shop: Shop, **fields: Any) -> Any:
    """Return a payment of the test mode that ended now."""
    now = shop.service.clock.now()
    plain = {"status": "failed", "failure_code": "provider_unavailable", "mode": Mode.TEST}
    made = now - timedelta(minutes=40)
    return by_event(f"x{number}", made, **{**plain, "completed_at": now, **fields})
