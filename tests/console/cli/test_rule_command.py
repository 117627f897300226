"""`kusanya rule`: a person lets the service's answer choose."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.kit.payments import by_event

from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_service.testing import PaymentService

Kusanya = Callable[..., tuple[int, str, str]]


def test_a_contradiction_is_ruled_by_the_services_answer(
    kusanya: Kusanya,
    payment_service: PaymentService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = str(tmp_path / "store.sqlite")
    for name, value in {
        "KUSANYA_STORE": path,
        "KUSANYA_MODE": "test",
        "KUSANYA_API_KEY": payment_service.test_key,
        "KUSANYA_BASE_URL": payment_service.base_url,
    }.items():
        monkeypatch.setenv(name, value)
    made = payment_service.create(
        {"amount": 1000, "phone": "255754000001", "reference": "R-1"}
    ).json
    payment_service.advance(20)
    now = payment_service.clock.now()
    with Store.open(path) as store:
        for status in ("expired", "succeeded"):
            fact = by_event(status, now, status=status, mode=Mode.TEST)
            said = {name: made[name] for name in ("id", "phone", "fee", "channel")}
            same = msgspec.structs.replace(fact.collection, reference="R-1", **said)
            store.record(msgspec.structs.replace(fact, collection=same))
    assert "≠ contradiction: 1 payment has facts" in kusanya("health")[1]
    assert kusanya("rule", made["id"], "--why", " ")[0] == 2
    code, out, err = kusanya("rule", made["id"], "--why", "seen", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"id": made["id"], "status": "succeeded", "ruled": True}
    assert "contradiction" not in kusanya("health")[1], "what the alarm advised ends it"
    code, out, err = kusanya("rule", made["id"], "--why", "seen")
    assert code == 1
    assert "no two final states" in err
    assert "ruled by what the service says; 1 fact is overruled" not in err
    assert "Two final states were reported" in kusanya("show", made["id"])[1]
