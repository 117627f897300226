"""API keys, modes and the dashboard's token."""

from pathlib import Path
from typing import Any

import pytest
from tests.kusanya_service.helpers import Order

from kusanya_service.testing import PaymentService


@pytest.mark.spec("whoami")
@pytest.mark.spec("fields-principal")
@pytest.mark.spec("authentication-2")
@pytest.mark.parametrize("mode", ["test", "live"])
def test_whoami_reports_the_mode_and_the_key_and_merchant_identifiers(
    service: PaymentService, mode: str
) -> None:
    made = service.dashboard("POST", "keys", {"mode": mode})
    assert made["key"].startswith(f"svc_{mode}_sk_")
    body = service.get("whoami", key=made["key"]).json
    assert body.pop("merchant_id").startswith("mer_")
    assert body == {"key_id": made["id"], "mode": mode, "object": "principal"}


@pytest.mark.spec("authentication-1")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer svc_test_sk_0000"},
        {"Authorization": "Basic c3ZjX3Rlc3Rfc2s6"},
        {"Authorization": "Bearer \xff\xfe"},
    ],
    ids=["none", "empty", "bare", "unknown", "basic", "bytes"],
)
@pytest.mark.parametrize("path", ["whoami", "collections/col_x", "events/evt_x"])
def test_a_request_without_a_known_key_is_401(
    service: PaymentService, headers: dict[str, str], path: str
) -> None:
    answer = service.request("GET", f"/v1/{path}", headers=headers)
    assert answer.status == 401
    assert answer.json["error"]["code"] == "invalid_api_key"
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.spec("authentication-2")
def test_objects_of_the_other_mode_do_not_exist(
    service: PaymentService, order: Order, paid_event: Any
) -> None:
    for path in (f"collections/{paid_event['data']['id']}", f"events/{paid_event['id']}"):
        assert service.get(path).status == 200
        hidden = service.get(path, key=service.live_key)
        nothing = service.get(f"{path}0", key=service.live_key)
        assert hidden.status == nothing.status == 404
        assert hidden.json["error"].keys() == nothing.json["error"].keys()


@pytest.mark.spec("authentication-3")
def test_a_key_is_shown_once_and_stored_as_a_digest(
    service: PaymentService, tmp_path: Path
) -> None:
    made = service.dashboard("POST", "keys", {"mode": "test"})
    [listed] = [one for one in service.dashboard("GET", "keys")["data"] if one["id"] == made["id"]]
    assert "key" not in listed
    assert made["key"].encode() not in stored(tmp_path)


def stored(tmp_path: Path) -> bytes:
    return b"".join(one.read_bytes() for one in (tmp_path / "data").glob("service.sqlite*"))


@pytest.mark.spec("authentication-3")
def test_a_revoked_key_is_401_and_stays_revoked_after_a_restart(start: Any, order: Order) -> None:
    with start() as service:
        made = service.dashboard("POST", "keys", {"mode": "test"})
        assert service.create(order, key=made["key"]).status == 202
        assert service.dashboard("DELETE", f"keys/{made['id']}") is None
        assert service.create(order, key=made["key"]).status == 401
    with start(registered=False) as service:
        assert service.create(order, key=made["key"]).status == 401


def test_a_key_that_may_only_read_is_403_on_post(service: PaymentService, order: Order) -> None:
    made = service.dashboard("POST", "keys", {"mode": "test", "access": "read"})
    assert service.get("whoami", key=made["key"]).status == 200
    answer = service.create(order, key=made["key"])
    assert answer.status == 403
    assert answer.json["error"]["code"] == "forbidden"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "keys"),
        ("GET", "keys"),
        ("GET", "endpoints"),
        ("GET", "deliveries"),
        ("GET", "collections?mode=test"),
        ("POST", "clock/advance"),
        ("PUT", "faults"),
        ("GET", "nowhere"),
    ],
)
def test_the_dashboard_asks_for_its_own_token(
    service: PaymentService, method: str, path: str
) -> None:
    for key in (None, service.test_key, "dash_wrong"):
        answer = service.request(method, f"/dashboard/{path}", key=key)
        assert answer.status == 401
        assert answer.json["error"]["code"] == "invalid_dashboard_token"


def test_the_token_opens_nothing_under_v1(service: PaymentService) -> None:
    assert service.get("whoami", key=service.dashboard_token).status == 401


def test_a_restart_prints_the_same_credentials_unless_a_key_was_revoked(start: Any) -> None:
    with start() as service:
        before = (service.dashboard_token, service.test_key, service.live_key)
        live_id = service.get("whoami", key=service.live_key).json["key_id"]
    with start(registered=False) as service:
        assert (service.dashboard_token, service.test_key, service.live_key) == before
        service.dashboard("DELETE", f"keys/{live_id}")
    with start(registered=False) as service:
        assert service.dashboard_token == before[0]
        assert service.get("whoami", key=service.live_key).status == 200
        assert service.get("whoami", key=before[1]).status == 200
        assert service.get("whoami", key=before[2]).status == 401


def test_the_data_folder_is_its_owners_alone(service: PaymentService, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    assert folder.stat().st_mode & 0o077 == 0
    assert [one.name for one in folder.iterdir() if one.stat().st_mode & 0o077] == []


def test_a_rate_limit_answers_429_with_retry_after_and_passes_with_time(
    start: Any, order: Order
) -> None:
    with start(rate_limit=3) as service:
        answers = [service.create(order) for _ in range(4)]
        assert [one.status for one in answers] == [202, 202, 202, 429]
        assert answers[-1].json["error"]["code"] == "rate_limited"
        assert answers[-1].headers["retry-after"] == "1"
        service.advance(1)
        assert service.create(order).status == 202
