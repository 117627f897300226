"""How each channel is doing now: what a checkout may offer, and when it had better not ask."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from shutil import copy

import pytest
from tests.kit.payments import by_event
from tests.kit.watched_shop import NOON, WatchedShop

from kusanya import channels
from kusanya.channels import ChannelNow, ChannelState
from kusanya.channels.history import FailureClass, class_of
from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya.wire import Mode

MINUTE = timedelta(minutes=1)


@pytest.fixture
def shop(tmp_path: Path, empty_store: Path) -> Iterator[WatchedShop]:
    clock = ManualClock(NOON)
    with Store.open(copy(empty_store, tmp_path / "store.db"), clock=clock) as store:
        yield WatchedShop(store, clock)


def state(shop: WatchedShop, channel: str = "MPESA_TZ") -> ChannelNow:
    shop.clock.sleep(15)
    [found] = [one for one in channels.now(shop.store, mode=Mode.LIVE) if one.channel == channel]
    return found


def ends(shop: WatchedShop, count: int, status: str, code: str | None = None) -> None:
    """Let payments end, each of a phone of its own, a few seconds apart."""
    for _ in range(count):
        shop.clock.sleep(5)
        now = shop.clock.now()
        shop._number += 1
        fact = by_event(
            f"{shop._number}", now - MINUTE, status=status, failure_code=code, completed_at=now,
            phone=f"2557540{shop._number:05}",
        )  # fmt: skip
        shop.store.record(fact)


def test_every_known_channel_is_ok_where_nothing_is_known_against_it(shop: WatchedShop) -> None:
    found = channels.now(shop.store, mode=Mode.LIVE)
    assert {one.state for one in found} == {ChannelState.OK}
    assert {"M-Pesa", "Airtel Money"} <= {one.label for one in found}
    assert all((one.since, one.english) == (None, None) for one in found)


def test_a_network_that_fails_everything_is_down_and_says_so_in_both_languages(
    shop: WatchedShop,
) -> None:
    ends(shop, 20, "succeeded")
    began = shop.clock.now()
    ends(shop, 40, "failed", "provider_unavailable")
    found = state(shop)
    assert found.state is ChannelState.DOWN
    assert found.since is not None
    assert abs(found.since - began) <= MINUTE
    assert found.english is not None
    assert found.swahili is not None
    assert "M-Pesa" in found.english.sentence
    assert "pay by another network, or wait" in found.english.next_step
    assert "subiri" in found.swahili.next_step
    assert state(shop, "AIRTEL_TZ").state is ChannelState.OK


def test_a_network_that_fails_most_is_in_trouble_and_no_more(shop: WatchedShop) -> None:
    for _ in range(60):
        ends(shop, 1, "succeeded")
        ends(shop, 5, "failed", "provider_unavailable")
    assert state(shop).state is ChannelState.TROUBLE


@pytest.mark.parametrize("code", ["insufficient_funds", "invalid_pin", "payer_not_found"])
def test_what_customers_or_we_do_is_no_trouble_of_a_network(shop: WatchedShop, code: str) -> None:
    ends(shop, 80, "failed", code)
    assert state(shop).state is ChannelState.OK


def test_prompts_that_hang_on_several_phones_are_a_network_that_is_down(shop: WatchedShop) -> None:
    ends(shop, 5, "succeeded")
    shop.clock.sleep(60)
    for number in range(6):
        shop.opened(phone=f"25575400100{number}")
    shop.clock.sleep(180)
    shop.poller_runs()
    assert state(shop).state is ChannelState.DOWN


def test_prompts_of_which_a_silent_service_tells_nothing_are_no_trouble_of_a_network(
    shop: WatchedShop,
) -> None:
    ends(shop, 5, "succeeded")
    for number in range(6):
        shop.opened(phone=f"25575400100{number}")
    silent_since = shop.clock.now() + MINUTE
    shop.clock.sleep(300)
    shop.poller_runs(silent_since=silent_since)
    assert state(shop).state is ChannelState.OK
    shop.poller_runs()
    assert state(shop).state is ChannelState.DOWN


@pytest.mark.parametrize("elsewhere", [0, 600])
def test_prompts_that_hang_while_others_are_paid_are_a_trouble_and_no_more(
    shop: WatchedShop, elsewhere: int
) -> None:
    for number in range(6):
        shop.opened(phone=f"25575400100{number}")
    shop.clock.sleep(180)
    ends(shop, 3, "succeeded")
    for number in range(elsewhere):  # however busy other networks are
        now = shop.clock.now()
        more = {"channel": "TIGO_TZ", "completed_at": now}
        shop.store.record(by_event(f"tigo{number}", now - MINUTE, **more))
    shop.poller_runs()
    found = state(shop)
    assert found.state is ChannelState.TROUBLE
    assert found.since == NOON


def test_that_prompts_hang_says_nothing_where_nobody_asked_how_they_ended(
    shop: WatchedShop,
) -> None:
    for number in range(6):
        shop.opened(phone=f"25575400100{number}")
    shop.clock.sleep(180)
    assert state(shop).state is ChannelState.OK
    shop.poller_runs()
    shop.clock.sleep(130)
    assert state(shop).state is ChannelState.OK


def test_a_channel_that_works_again_is_ok_again(shop: WatchedShop) -> None:
    ends(shop, 40, "failed", "provider_unavailable")
    assert state(shop).state is ChannelState.DOWN
    ends(shop, 60, "succeeded")
    assert state(shop).state is ChannelState.OK


@pytest.mark.parametrize(
    ("status", "code", "whose"),
    [
        ("succeeded", None, None),
        ("created", None, None),
        ("expired", None, FailureClass.NETWORK),
        ("failed", None, FailureClass.NETWORK),
        ("failed", "a_code_nobody_knows", FailureClass.NETWORK),
        ("failed", "provider_unavailable", FailureClass.NETWORK),
        ("failed", "insufficient_funds", FailureClass.CUSTOMER),
        ("failed", "amount_out_of_bounds", FailureClass.OURS),
    ],
)
def test_each_end_without_money_is_somebodys_matter(
    status: str, code: str | None, whose: FailureClass | None
) -> None:
    assert class_of(status, code) is whose
