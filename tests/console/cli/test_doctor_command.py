"""`kusanya doctor`: each line says what is right or what to do, tried against a running service."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.console.cli.deploying import Kusanya
from tests.kit.payments import polled

from kusanya import receiver
from kusanya.store import Store
from kusanya.store.records import DeliveryFilter, Verdict
from kusanya.wire import Mode
from kusanya_service.testing import PaymentService, payment_service
from kusanya_service.testing.forwarding import AppServer

__all__ = ["payment_service"]

ORDER = {"amount": 5000, "phone": "255754000001", "reference": "order-1"}


@pytest.fixture
def store(payment_service: PaymentService, tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.sqlite", clock=payment_service.clock) as store:
        yield store


@pytest.fixture
def endpoint(payment_service: PaymentService, store: Store) -> Iterator[str]:
    """Yield the address of a receiver of the store, to which one event has been delivered."""
    secrets = [receiver.EndpointSecrets("shop", Mode.TEST, [payment_service.signing_secret])]
    server = AppServer(receiver.app(store, secrets, clock=payment_service.clock))
    payment_service.deliver_to(server.url)
    payment_service.create(ORDER)
    payment_service.advance(20)
    yield server.url
    server.close()


@pytest.fixture
def doctor(
    payment_service: PaymentService,
    kusanya: Kusanya,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Any:
    """Return what runs the command and gives its exit code and its findings by their subject."""
    settings = {
        "BASE_URL": payment_service.base_url,
        "API_KEY": payment_service.test_key,
        "SECRETS": f"shop={payment_service.signing_secret}",
        "STORE": str(tmp_path / "store.sqlite"),
        "MODE": "test",
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"KUSANYA_{name}", value)
    clock = f"{payment_service.base_url}/dashboard/clock"

    def run(*arguments: str) -> tuple[int, dict[str, Any]]:
        code, out, err = kusanya("doctor", "--json", "--clock", clock, *arguments)
        assert err == ""
        said = json.loads(out)
        assert said["well"] == (code == 0)
        return code, {one["about"]: one for one in said["findings"]}

    return run


def test_all_is_well_and_the_endpoint_took_a_signed_delivery_of_no_consequence(
    doctor: Any, store: Store, endpoint: str
) -> None:
    store.poll_leases.record_poll(Mode.TEST, by="watch-1")
    before = store.collections.page(Mode.TEST)
    code, found = doctor("--endpoint", endpoint)
    assert (code, [one["about"] for one in found.values() if one["to_do"]]) == (0, [])
    assert found["endpoint"]["said"] == "a delivery signed for shop arrived in this store"
    assert found["clock"]["said"] == "it agrees with the service's"
    assert found["watcher"]["said"] == "watch-1 runs"
    again = store.deliveries.page(Mode.TEST, where=DeliveryFilter(verdicts=(Verdict.REPEAT,)))
    assert len(again.rows) == 1
    assert store.collections.page(Mode.TEST) == before


def test_a_wrong_signing_secret_is_found_by_the_endpoints_answer(
    doctor: Any, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUSANYA_SECRETS", "shop=whsec_another")
    code, found = doctor("--endpoint", endpoint)
    assert code == 1
    assert found["endpoint"]["said"].endswith("answers 400 to a signed delivery")
    assert "give the receiver the signing secret" in found["endpoint"]["to_do"]
    monkeypatch.setenv("KUSANYA_SECRETS", "billing=whsec_another")
    assert "no signing secret of shop" in doctor("--endpoint", endpoint)[1]["endpoint"]["said"]


def test_an_address_that_leads_elsewhere_is_found(
    doctor: Any, payment_service: PaymentService, endpoint: str, tmp_path: Path
) -> None:
    """A receiver of another store answers as well as ours does."""
    secrets = [receiver.EndpointSecrets("shop", Mode.TEST, [payment_service.signing_secret])]
    with Store.open(tmp_path / "other.sqlite", clock=payment_service.clock) as other:
        server = AppServer(receiver.app(other, secrets, clock=payment_service.clock))
        found = doctor("--endpoint", server.url)[1]["endpoint"]
        server.close()
    assert found["said"] == "it answers 200, and the delivery is not in this store"
    gone = doctor("--endpoint", server.url)[1]["endpoint"]
    assert gone["said"].endswith("does not answer (ConnectError)")
    assert doctor("--endpoint", payment_service.base_url)[1]["endpoint"]["to_do"]


def test_before_the_first_event_the_way_to_the_receiver_is_tried(
    doctor: Any, payment_service: PaymentService, store: Store
) -> None:
    store.record(polled(1, payment_service.clock.now(), mode=Mode.TEST))
    app = receiver.app(store, ["whsec_another"], mode="test", clock=payment_service.clock)
    server = AppServer(app)
    found = doctor("--endpoint", server.url)[1]["endpoint"]
    server.close()
    assert (found["looked"], found["to_do"]) == (False, "")
    assert found["said"].startswith("a receiver answers; no event has arrived")


@pytest.mark.parametrize(
    ("setting", "about", "said"),
    [
        ("API_KEY=svc_test_sk_wrong", "key", "refused"),
        ("BASE_URL=http://127.0.0.1:1", "key", "was not asked"),
        ("SECRETS=", "signing secrets", "none is known"),
        ("MODE=", "mode", "has none"),
        ("STORE=nowhere/none.sqlite", "store", "cannot be used"),
    ],
)
def test_each_thing_that_is_missing_is_named_with_what_to_do(
    doctor: Any, monkeypatch: pytest.MonkeyPatch, setting: str, about: str, said: str
) -> None:
    name, _, value = setting.partition("=")
    monkeypatch.setenv(f"KUSANYA_{name}", value)
    code, found = doctor()
    assert code == 1
    assert said in found[about]["said"]
    assert found[about]["to_do"]


def test_the_lines_for_people_begin_with_ok_or_to_do(
    doctor: Any, kusanya: Kusanya, payment_service: PaymentService
) -> None:
    clock = f"{payment_service.base_url}/dashboard/clock"
    code, out, _ = kusanya("doctor", "--clock", clock)
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == "ok     mode: profile main is of test mode"
    watcher = "to do  watcher: none has run for five minutes. To do: start kusanya watch"
    assert watcher in lines
    assert lines[-1] == "-      endpoint: give --endpoint, and it is tried"
