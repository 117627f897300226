"""`kusanya deliveries`: what arrived and what never came, and sending an event once more."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.console.cli.deploying import Kusanya
from tests.kit.payments import polled

from kusanya import receiver
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_service.testing import FaultKind, FaultRule, PaymentService, payment_service
from kusanya_service.testing.forwarding import AppServer

__all__ = ["payment_service"]

ORDER = {"amount": 5000, "phone": "255754000001", "reference": "order-1"}


@pytest.fixture
def store(
    payment_service: PaymentService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    """Yield a store whose receiver the running service delivers to."""
    for name, value in {
        "DASHBOARD_URL": payment_service.dashboard_url,
        "DASHBOARD_TOKEN": payment_service.dashboard_token,
        "STORE": str(tmp_path / "store.sqlite"),
        "MODE": "test",
    }.items():
        monkeypatch.setenv(f"KUSANYA_{name}", value)
    with Store.open(tmp_path / "store.sqlite", clock=payment_service.clock) as store:
        secret = payment_service.signing_secret
        app = receiver.app(store, [secret], mode="test", clock=payment_service.clock)
        server = AppServer(app)
        payment_service.deliver_to(server.url)
        yield store
        server.close()


def listed(kusanya: Kusanya, *arguments: str) -> list[tuple[str, str]]:
    code, out, err = kusanya("deliveries", "list", "--json", *arguments)
    assert (code, err) == (0, "")
    return [(one["verdict"], one["reference"]) for one in json.loads(out)["data"]]


def test_an_event_is_listed_and_sent_once_more_by_any_of_its_names(
    kusanya: Kusanya, store: Store, payment_service: PaymentService
) -> None:
    made = payment_service.create(ORDER).json
    payment_service.advance(20)
    assert listed(kusanya) == [("verified", "order-1")]
    [row] = store.deliveries.page(Mode.TEST).rows
    for count, name in enumerate((row.event_id, row.id, made["id"]), start=1):
        code, out, err = kusanya("deliveries", "resend", str(name))
        assert (code, err) == (0, "")
        assert out.startswith(f"resent {row.event_id}: attempt {count + 1} answered 200")
    assert listed(kusanya) == [("repeat", "order-1")] * 3 + [("verified", "order-1")]
    acts = [one.act for one in store.audit.page().rows]
    assert acts.count("resend") == 3


def test_an_event_that_never_came_is_listed_and_can_be_asked_for_by_its_payment(
    kusanya: Kusanya, store: Store, payment_service: PaymentService
) -> None:
    payment_service.inject(FaultRule(kind=FaultKind.DROP_DELIVERY))
    made = payment_service.create(ORDER).json
    payment_service.advance(20)
    found = payment_service.get(f"collections/{made['id']}").json
    created = datetime.fromisoformat(found["created_at"])
    fact = polled(made["id"].removeprefix("col_"), created, mode=Mode.TEST, reference="order-1")
    store.record(fact)
    assert listed(kusanya, "--missing") == [("missing", "order-1")]
    assert listed(kusanya, "--unwell") == [("missing", "order-1")]
    payment_service.inject()
    code, out, _ = kusanya("deliveries", "resend", made["id"])
    assert (code, out.startswith("resent evt_")) == (0, True)
    assert listed(kusanya) == [("verified", "order-1")]


def test_what_names_nothing_and_a_service_without_resend_are_refused_in_words(
    kusanya: Kusanya, store: Store, payment_service: PaymentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("evt_none", "dlv_0000000000000009", "col_none", "x"):
        code, _, err = kusanya("deliveries", "resend", name)
        assert (code, "names no delivery or missing event in test mode" in err) == (1, True)
    payment_service.create(ORDER)
    payment_service.advance(20)
    [row] = store.deliveries.page(Mode.TEST).rows
    monkeypatch.delenv("KUSANYA_DASHBOARD_URL")
    code, _, err = kusanya("deliveries", "resend", row.id)
    assert (code, "the service has no resend for merchants" in err) == (2, True)


def test_a_list_is_bounded_and_says_so(
    kusanya: Kusanya, store: Store, payment_service: PaymentService
) -> None:
    assert kusanya("deliveries", "list")[1] == "none in test mode\n"
    begin = payment_service.clock.now().astimezone(UTC) - timedelta(hours=1)
    for number in range(3):
        store.record(polled(number, begin + timedelta(minutes=number), mode=Mode.TEST))
    code, out, _ = kusanya("deliveries", "list", "--limit", "2")
    assert (code, len(out.splitlines())) == (0, 3)
    assert out.splitlines()[-1] == "more: give a higher --limit"
    assert "R-2" in out.splitlines()[0]
    assert listed(kusanya, "--endpoint", "shop") == []
