"""Faults on purpose: each does what it says, is logged, and can be repeated."""

import http.client
import time
from pathlib import Path
from typing import Any

import pytest
from tests.kusanya_service.helpers import Order, collections, deliveries

from kusanya.webhooks import SignatureMismatch, TimestampTooOld, verify
from kusanya_service.errors import BadOption
from kusanya_service.simulation.faults import FaultKind, FaultRule, load_scenario
from kusanya_service.testing import PaymentService


def fault(service: PaymentService, kind: str, **more: object) -> None:
    service.dashboard("PUT", "faults", {"rules": [{"kind": kind} | more]})


def log(service: PaymentService) -> list[str]:
    return [one["kind"] for one in service.dashboard("GET", "faults/log")["data"]]


def attempts(service: PaymentService) -> list[Any]:
    [delivery] = deliveries(service)
    found: list[Any] = delivery["attempts"]
    return found


def test_a_202_can_be_lost_after_the_commit_and_the_key_replays_it(
    service: PaymentService, order: Order
) -> None:
    fault(service, "lose_answer", times=1)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        service.create(order, idempotency_key="k")
    again = service.create(order, idempotency_key="k")
    assert again.headers["idempotent-replayed"] == "true"
    assert len(collections(service)) == 1
    assert log(service) == ["lose_answer"]


def test_the_phone_that_loses_its_202_was_committed(service: PaymentService, order: Order) -> None:
    lossy = order | {"phone": "255754000014"}
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        service.create(lossy, idempotency_key="k")
    assert service.create(lossy, idempotency_key="k").headers["idempotent-replayed"] == "true"


def test_a_post_can_fail_before_anything_is_kept(service: PaymentService, order: Order) -> None:
    fault(service, "fail_before_commit", times=2)
    for _ in range(2):
        failed = service.create(order, idempotency_key="k")
        assert failed.status == 500
        assert failed.json["error"]["type"] == "api_error"
    answer = service.create(order, idempotency_key="k")
    assert answer.status == 202
    assert "idempotent-replayed" not in answer.headers


def test_the_phone_whose_first_post_fails_succeeds_at_the_next(
    service: PaymentService, order: Order
) -> None:
    failing = order | {"phone": "255754000015"}
    statuses = [service.create(failing, idempotency_key="k").status for _ in range(2)]
    assert statuses == [500, 202]
    assert len(collections(service)) == 1


def test_a_request_can_be_reset_before_anything_is_kept(
    service: PaymentService, order: Order
) -> None:
    fault(service, "reset_request", times=1)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        service.create(order, idempotency_key="k")
    assert collections(service) == []


@pytest.mark.parametrize("kind", ["delay_answer", "drip_answer"])
def test_an_answer_can_be_late_or_slow(service: PaymentService, order: Order, kind: str) -> None:
    fault(service, kind, seconds=0.3)
    began = time.monotonic()
    assert service.create(order).json["status"] == "created"
    assert time.monotonic() - began >= 0.25


def test_a_full_storage_is_503_keeps_nothing_and_recovers_by_itself(
    service: PaymentService, order: Order
) -> None:
    fault(service, "storage_full", times=2)
    for _ in range(2):
        refused = service.create(order, idempotency_key="k")
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    assert service.create(order, idempotency_key="k").status == 202
    assert log(service) == ["storage_full"] * 2


def test_a_storage_that_is_full_now_and_then_refuses_some_batches(
    service: PaymentService, order: Order
) -> None:
    fault(service, "storage_full", rate=0.5)
    statuses = [service.create(order).status for _ in range(40)]
    assert set(statuses) == {202, 503}


def test_outcomes_and_attempts_wait_for_the_storage_and_are_kept(
    service: PaymentService, order: Order
) -> None:
    service.create(order)
    fault(service, "storage_full", times=2)
    service.advance(20)
    assert [one["outcome"] for one in attempts(service)] == ["succeeded"]
    assert len(service.deliveries) == 1


def test_a_delivery_can_be_dropped_and_is_retried(service: PaymentService, order: Order) -> None:
    fault(service, "drop_delivery", times=1)
    service.create(order)
    service.advance(20)
    assert service.deliveries == []
    service.advance(60)
    assert [one["outcome"] for one in attempts(service)] == ["connection_lost", "succeeded"]


def test_a_delivery_can_be_doubled(service: PaymentService, order: Order) -> None:
    fault(service, "duplicate_delivery")
    service.create(order)
    service.advance(20)
    first, second = service.deliveries
    assert first.body == second.body
    assert len(attempts(service)) == 1


@pytest.mark.parametrize("kind", ["corrupt_body", "corrupt_signature"])
def test_a_delivery_can_be_corrupted_and_does_not_verify(
    service: PaymentService, order: Order, kind: str
) -> None:
    fault(service, kind)
    service.create(order)
    service.advance(20)
    [delivery] = service.deliveries
    header = delivery.headers["service-signature"]
    with pytest.raises(SignatureMismatch):
        verify(delivery.body, header, service.signing_secret, tolerance=None)


def test_a_delivery_can_be_signed_with_a_skewed_clock(
    service: PaymentService, order: Order
) -> None:
    fault(service, "clock_skew", seconds=-301)
    service.create(order)
    service.advance(20)
    [delivery] = service.deliveries
    header = delivery.headers["service-signature"]
    verify(delivery.body, header, service.signing_secret, tolerance=None)
    [attempt] = attempts(service)
    signed_at = int(header.split(",")[0].removeprefix("t="))
    with pytest.raises(TimestampTooOld):
        verify(delivery.body, header, service.signing_secret, now=signed_at + 301)
    assert attempt["outcome"] == "succeeded"


def test_a_delivery_can_be_put_off(service: PaymentService, order: Order) -> None:
    fault(service, "delay_delivery", seconds=100)
    service.create(order)
    service.advance(60)
    assert service.deliveries == []
    service.advance(60)
    assert len(service.deliveries) == 1
    assert log(service) == ["delay_delivery"]


def test_deliveries_can_change_places(service: PaymentService, order: Order) -> None:
    fault(service, "reorder_delivery", times=1, seconds=1000)
    service.create(order | {"phone": "255754000012", "reference": "first"})
    service.create(order | {"phone": "255754000012", "reference": "second"})
    service.advance(0)
    assert [one.event["data"]["reference"] for one in service.deliveries] == ["second", "first"]


def test_a_reordered_delivery_goes_by_itself_when_no_other_comes(
    service: PaymentService, order: Order
) -> None:
    fault(service, "reorder_delivery", seconds=30)
    service.create(order | {"phone": "255754000012"})
    service.advance(29)
    assert service.deliveries == []
    service.advance(1)
    assert len(service.deliveries) == 1


def test_a_delivery_can_trickle_and_be_cut(service: PaymentService, order: Order) -> None:
    fault(service, "drip_delivery", seconds=0.3, times=1)
    service.create(order)
    began = time.monotonic()
    service.advance(20)
    assert time.monotonic() - began >= 0.25
    assert len(service.deliveries) == 1
    fault(service, "reset_delivery", times=1)
    service.create(order)
    service.advance(20)
    [_, cut] = deliveries(service)
    assert cut["attempts"][0]["outcome"] == "connection_lost"


def test_the_log_says_when_what_and_to_which_and_the_rules_how_often(
    service: PaymentService, order: Order
) -> None:
    fault(service, "drop_delivery")
    service.create(order)
    service.advance(4 * 24 * 3600)
    [delivery] = deliveries(service)
    entries = service.dashboard("GET", "faults/log")["data"]
    assert [one["subject"] for one in entries] == [f"{delivery['id']} {n}" for n in range(1, 8)]
    assert [one["at"] for one in entries] == [one["started_at"] for one in delivery["attempts"]]
    [rule] = service.dashboard("GET", "faults")["rules"]
    assert (rule["kind"], rule["struck"]) == ("drop_delivery", 7)


def test_the_same_seed_strikes_the_same_attempts(start: Any, order: Order, tmp_path: Path) -> None:
    seen = []
    for run in ("a", "b"):
        rules = (
            FaultRule(kind=FaultKind.DROP_DELIVERY, rate=0.5),
            FaultRule(kind=FaultKind.LOSE_ANSWER, rate=0.0),
        )
        with start(data=tmp_path / run, faults=rules) as service:
            for number in range(10):
                service.create(order, idempotency_key=str(number))
            service.advance(24 * 3600)
            seen.append(service.dashboard("GET", "faults/log")["data"])
    assert seen[0] == seen[1]
    assert 3 < len(seen[0]) < 40


def test_a_scenario_file_sets_the_rules(start: Any, order: Order, tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text('[[rules]]\nkind = "fail_before_commit"\nrate = 1.0\ntimes = 1\n')
    with start(faults=load_scenario(path)) as service:
        assert [service.create(order).status for _ in range(2)] == [500, 202]


@pytest.mark.parametrize(
    "text", ["[[rules]", 'rules = "x"', '[[rules]]\nkind = "fire"', "[[rule]]\nx = 1", "\xff"]
)
def test_a_scenario_that_is_none_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "scenario.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadOption) as caught:
        load_scenario(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(BadOption, match="cannot be read"):
        load_scenario(tmp_path / "nowhere.toml")
