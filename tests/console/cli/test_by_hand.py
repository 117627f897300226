"""The commands, by hand against a running service: what each prints and how it ends."""

import hashlib
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.kit.payments import polled

from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_service.testing import PaymentService, payment_service

__all__ = ["payment_service"]

ActionResult = tuple[int, str, str]
Kusanya = Callable[..., ActionResult]


@pytest.fixture
def shop(
    payment_service: PaymentService,
    kusanya: Kusanya,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Kusanya:
    """Return the command line with a profile for the running service and a store of its own."""
    settings = {
        "BASE_URL": payment_service.base_url,
        "API_KEY": payment_service.test_key,
        "DASHBOARD_URL": payment_service.dashboard_url,
        "DASHBOARD_TOKEN": payment_service.dashboard_token,
        "SECRETS": f"shop={payment_service.signing_secret}",
        "STORE": str(tmp_path / "store.sqlite"),
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"KUSANYA_{name}", value)
    return kusanya


def document(ended: ActionResult) -> Any:
    code, out, err = ended
    assert (code, err) == (0, "")
    return json.loads(out)


def test_whoami_prints_the_merchant_and_the_mode(shop: Kusanya) -> None:
    principal = document(shop("whoami", "--json"))
    assert principal["mode"] == "test"
    assert principal["key_id"].startswith("key_")


def test_a_key_is_shown_once_and_refused_after_it_was_revoked(
    shop: Kusanya, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = document(shop("keys", "create", "test", "--json"))
    listed = document(shop("keys", "list", "--json"))["data"]
    assert made["id"] in {key["id"] for key in listed}
    assert all(made["key"] not in json.dumps(key) for key in listed)
    assert shop("keys", "revoke", made["id"])[0] == 0
    monkeypatch.setenv("KUSANYA_API_KEY", made["key"])
    code, _, err = shop("whoami")
    assert code == 1
    assert made["key"] not in err


def test_a_live_key_is_refused_in_a_test_profile(
    shop: Kusanya, payment_service: PaymentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUSANYA_API_KEY", payment_service.live_key)
    code, _, err = shop("whoami")
    assert (code, err.count("\n")) == (1, 1)
    assert payment_service.live_key not in err


def test_an_endpoint_is_added_rotated_and_removed(shop: Kusanya) -> None:
    made = document(shop("endpoints", "add", "https://merchant.example/hooks", "--json"))
    rotated = document(shop("endpoints", "rotate-secret", made["id"], "--json"))
    assert rotated["secret"] != made["secret"]
    assert made["id"] in shop("endpoints", "list")[1]
    assert shop("endpoints", "remove", made["id"])[0] == 0
    assert made["id"] not in shop("endpoints", "list")[1]


def test_an_internal_address_is_refused_as_an_endpoint(shop: Kusanya) -> None:
    code, _, err = shop("endpoints", "add", "http://169.254.169.254/")
    assert (code, err.count("\n")) == (1, 1)


def test_virtual_time_moves_as_far_as_it_is_advanced(shop: Kusanya) -> None:
    before = document(shop("clock", "show", "--json"))["now"]
    after = document(shop("clock", "advance", "3600", "--json"))["now"]
    assert before < after


def test_faults_are_set_from_a_file_shown_and_cleared(shop: Kusanya, tmp_path: Path) -> None:
    scenario = tmp_path / "faults.toml"
    scenario.write_text('[[rules]]\nkind = "lose_answer"\nrate = 1.0\n', encoding="utf-8")
    code, out, err = shop("faults", "set", str(scenario))
    assert (code, err) == (0, ""), err
    assert "lose_answer" in out
    assert shop("faults", "clear")[0] == 0
    assert "lose_answer" not in shop("faults", "show")[1]


def test_a_collection_is_created_followed_and_found(
    shop: Kusanya, payment_service: PaymentService
) -> None:
    made = document(shop("collect", "5000", "0754 000 002", "INV-7", "--meta", "term=2", "--json"))
    assert (made["status"], made["phone"]) == ("created", "+255•••••002")
    payment_service.advance(20)
    caught_up = document(shop("catch-up", "--json"))
    assert (caught_up["asked"], caught_up["became_final"]) == (1, 1)

    (match,) = document(shop("find", "+255 754-000-002", "--json"))["data"]
    assert (match["id"], match["failure_code"]) == (made["id"], "insufficient_funds")
    evidence = document(shop("show", made["id"], "--json"))
    sources = [seen["source"] for seen in evidence["observations"]]
    assert sources == ["answer", "poll"]
    card = shop("show", made["id"])[1]
    assert "failed" in card
    assert "255754000002" not in card


def test_the_same_reference_is_not_charged_twice_without_a_reason(
    shop: Kusanya, payment_service: PaymentService
) -> None:
    assert shop("collect", "5000", "0754000001", "INV-8")[0] == 0
    code, _, err = shop("collect", "6000", "0754000001", "INV-8")
    assert (code, err.count("\n")) == (1, 1)
    assert shop("collect", "5000", "0754000001", "INV-8")[0] == 0, "it is the same order"
    again = ("collect", "6000", "0754000001", "INV-8", "--again", "PIN was wrong")
    code, _, err = shop(*again)
    assert (code, "its prompt may still be open" in err) == (1, True)
    url = os.environ["KUSANYA_STORE"]
    for status, ended in (("failed", 0), ("succeeded", 1)):
        with Store.open(url) as store:
            row = store.collections.page(Mode.TEST).rows[0]
            fields: dict[str, Any] = {"reference": row.reference, "status": status}
            fields |= {"amount": row.amount, "phone": row.phone, "id": row.id, "mode": Mode.TEST}
            store.record(polled(row.id, row.created_at, **fields))
        assert shop(*again)[0] == ended
    code, _, err = shop(*again)
    assert (code, "it is paid" in err) == (1, True)
    assert shop(*again[:-2], "--although-paid", "sold twice at the till")[0] == 0
    served = payment_service.dashboard("GET", "collections?mode=test")["data"]
    assert [one["amount"] for one in served] == [5000, 6000, 6000]


@pytest.mark.parametrize(
    "arguments",
    [
        ("collect", "0", "0754000001", "INV-9"),
        ("collect", "50.5", "0754000001", "INV-9"),
        ("collect", "5000", "12345", "INV-9"),
        ("collect", "5000", "0754000001", ""),
        ("collect", "5000", "0754000001", "INV-9", "--meta", "nonsense"),
    ],
)
def test_what_cannot_be_asked_for_is_a_usage_error_and_nothing_is_created(
    shop: Kusanya, payment_service: PaymentService, arguments: tuple[str, ...]
) -> None:
    code, _, err = shop(*arguments)
    assert (code, err.count("\n")) == (2, 1)
    assert "0754000001" not in err
    assert payment_service.dashboard("GET", "collections?mode=test")["data"] == []


def test_a_lost_answer_is_replayed_and_charges_once(
    shop: Kusanya, payment_service: PaymentService
) -> None:
    made = document(shop("collect", "5000", "255754000014", "INV-10", "--json"))
    served = payment_service.dashboard("GET", "collections?mode=test")["data"]
    assert [one["id"] for one in served] == [made["id"]]
    assert "none" in shop("intents")[1]


@pytest.mark.merge
def test_a_create_that_fails_at_the_service_warns_against_asking_again(
    shop: Kusanya, payment_service: PaymentService
) -> None:
    rules = {"rules": [{"kind": "fail_before_commit", "rate": 1.0}]}
    payment_service.dashboard("PUT", "faults", rules)
    code, _, err = shop("collect", "5000", "0754000001", "INV-15")
    assert (code, err.count("\n")) == (1, 1)
    assert "do not create it again" in err
    (waiting,) = document(shop("intents", "--json"))["data"]
    assert waiting["id"] in err


def test_an_intent_inside_its_window_is_resumed_and_not_decided(shop: Kusanya) -> None:
    shop("collect", "5000", "0754000001", "INV-16")
    code, _, err = shop("intents", "decide", "int_none", "--nothing-created", "--why", "none")
    assert (code, err.count("\n")) == (1, 1)
    assert shop("intents", "decide", "int_none", "--why", "none")[0] == 2


@pytest.mark.merge
def test_the_clock_of_the_service_decides_what_may_be_replayed(
    shop: Kusanya, payment_service: PaymentService
) -> None:
    clock = ("--clock", f"{payment_service.dashboard_url}/clock")
    rules = {"rules": [{"kind": "fail_before_commit", "rate": 1.0}]}
    payment_service.dashboard("PUT", "faults", rules)
    shop("collect", "1500", "0754000001", "INV-14", *clock)
    payment_service.dashboard("PUT", "faults", {"rules": []})
    (before,) = document(shop("intents", "--json", *clock))["data"]
    assert 22 * 3600 < before["replay_left_s"] <= 23 * 3600
    document(shop("clock", "advance", str(24 * 3600), "--json"))
    (after,) = document(shop("intents", "--json", *clock))["data"]
    assert after["replay_left_s"] == 0
    assert shop("intents", "resume", *clock)[0] == 1, "its window is over by the service's clock"
    why = ("--nothing-created", "--why", "seen on the statement")
    decided = document(shop("intents", "decide", after["id"], *why, *clock, "--json"))
    assert (decided["state"], decided["collection_id"]) == ("settled", None)
    assert document(shop("catch-up", "--json", *clock))["unanswered"] == 0
    assert "--clock" in shop("watch", "--help")[1]


def test_changes_of_the_service_are_reported_to_scripts_too(shop: Kusanya, tmp_path: Path) -> None:
    key = document(shop("keys", "create", "test", "--json"))["id"]
    assert document(shop("keys", "revoke", key, "--json")) == {"id": key, "revoked": True}
    made = document(shop("endpoints", "add", "https://merchant.example/hooks", "--json"))["id"]
    enabled = document(shop("endpoints", "enable", made, "--json"))
    assert enabled == {"id": made, "enabled": True}
    assert document(shop("endpoints", "remove", made, "--json")) == {"id": made, "removed": True}
    assert document(shop("faults", "clear", "--json")) == document(shop("faults", "show", "--json"))


def test_json_for_scripts_holds_no_character_that_a_terminal_acts_on(
    shop: Kusanya, tmp_path: Path
) -> None:
    reference = "INV-\x9b31m\u202e\U000e0041"
    code, _, err = shop("collect", "5000", "0754000001", reference)
    assert (code, "looks like that of another order" in err) == (2, True)
    with Store.open(tmp_path / "store.sqlite") as store:
        made = datetime(2026, 3, 5, 9, tzinfo=UTC)
        store.record(polled(1, made, reference=reference, phone="255754000001", mode=Mode.TEST))
    _, out, _ = shop("find", "0754000001", "--json")
    assert out.rstrip("\n").isprintable()
    assert json.loads(out)["data"][0]["reference"] == reference


@pytest.mark.merge
def test_a_service_that_is_away_leaves_an_intent_to_resume(
    shop: Kusanya,
    payment_service: PaymentService,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KUSANYA_BASE_URL", "http://127.0.0.1:9")
    code, _, err = shop("collect", "5000", "0754000001", "INV-11")
    assert (code, err.count("\n")) == (1, 1)
    assert "the service cannot be reached (Connection refused): nothing was sent" in err
    assert "the customer was not asked and the creation is kept" in err
    (waiting,) = document(shop("intents", "--json"))["data"]
    assert waiting["id"] in err
    assert (waiting["reference"], waiting["state"]) == ("INV-11", "prepared")
    monkeypatch.setenv("KUSANYA_BASE_URL", payment_service.base_url)
    resumed = document(shop("intents", "resume", "--json"))
    assert [one["reference"] for one in resumed["resumed"]] == ["INV-11"]
    assert (resumed["settled"], resumed["left"]) == (0, [])
    assert "none: every creation" in shop("intents", "resume")[1]
    assert document(shop("intents", "--json"))["data"] == []
    assert len(payment_service.dashboard("GET", "collections?mode=test")["data"]) == 1


@pytest.mark.merge
def test_an_intent_of_another_profile_is_never_replayed_with_this_ones_key(
    shop: Kusanya, payment_service: PaymentService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[profiles.main]\n[profiles.other]\nmode = 'test'\n", encoding="utf-8")
    monkeypatch.setenv("KUSANYA_CONFIG", str(config))
    monkeypatch.setenv("KUSANYA_BASE_URL", "http://127.0.0.1:9")
    assert shop("collect", "5000", "0754000001", "INV-17")[0] == 1
    monkeypatch.setenv("KUSANYA_BASE_URL", payment_service.base_url)
    (waiting,) = document(shop("intents", "--json"))["data"]
    assert "INV-17" not in shop("intents", "resume", "--profile", "other")[1]
    assert shop("intents", "resume", waiting["id"], "--profile", "other")[0] == 1
    assert payment_service.dashboard("GET", "collections?mode=test")["data"] == []
    assert "main" in shop("intents", "--profile", "other")[1]
    assert shop("intents", "resume")[0] == 0
    assert len(payment_service.dashboard("GET", "collections?mode=test")["data"]) == 1


def test_forensics_name_what_happened_to_a_delivery(
    shop: Kusanya, payment_service: PaymentService, tmp_path: Path
) -> None:
    shop("collect", "5000", "0754000001", "INV-12")
    payment_service.advance(20)
    (delivery,) = payment_service.deliveries
    header = delivery.headers["service-signature"]
    at = header.partition(",")[0].removeprefix("t=")
    body = tmp_path / "body.json"
    body.write_bytes(delivery.body)
    found = document(shop("verify", "--body", str(body), "--header", header, "--at", at, "--json"))
    assert found["authentic"] is True
    body.write_bytes(delivery.body + b"\n")
    code, out, _ = shop("verify", "--body", str(body), "--header", header, "--at", at, "--json")
    assert (code, json.loads(out)["authentic"]) == (1, False)


def test_a_store_is_checked_rebuilt_backed_up_copied_and_exported(
    shop: Kusanya, tmp_path: Path
) -> None:
    assert shop("collect", "5000", "0754000001", "INV-13")[0] == 0
    assert "sound" in shop("store", "check")[1]
    assert "nothing changed" in shop("store", "rebuild")[1]
    assert document(shop("store", "rebuild", "--json")) == {"collections": 0, "rollups": 0}
    assert document(shop("store", "migrate", "--json"))["ready"] is True
    copy = tmp_path / "copy.sqlite"
    saved = document(shop("store", "backup", str(copy), "--json"))
    assert saved == {
        "saved": str(copy),
        "sha256": hashlib.sha256(copy.read_bytes()).hexdigest(),
        "findings": [],
    }
    with Store.open(copy, read_only=True) as store:
        assert [row.reference for row in store.collections.page(Mode.TEST).rows] == ["INV-13"]
    night = tmp_path / "night.sqlite"
    assert shop("store", "copy", "--as-of", "2020-01-01 02:13", str(night))[0] == 0
    with Store.open(night, read_only=True) as store:
        assert store.feed.head() == 0
    now = datetime.now(UTC).isoformat()
    masked = tmp_path / "masked.sqlite"
    done = document(shop("store", "copy", "--as-of", now, "--masked", str(masked), "--json"))
    assert done["facts"] > 0
    assert b"754000001" not in masked.read_bytes()
    assert shop("store", "copy", "--as-of", "now", str(tmp_path / "x"))[0] == 2
    assert shop("store", "copy", "--as-of", "2099-01-01 02:13", str(tmp_path / "x"))[0] == 2
    assert "1 collections" in shop("store", "export", str(tmp_path / "parquet"))[1]
    assert "0 deliveries" in shop("store", "forget-bodies", "--before", "2026-01-01")[1]
    assert shop("store", "forget-bodies", "--before", "yesterday")[0] == 2


@pytest.mark.merge
def test_a_month_without_books_is_reported_as_not_proven(shop: Kusanya, tmp_path: Path) -> None:
    shop("collect", "5000", "0754000001", "INV-14")
    code, out, _ = shop(
        *("reconcile", "--from", "2020-01-01", "--to", "2030-01-01", "--json"),
        *("--out", str(tmp_path / "packs")),
    )
    assert code == 1
    outcome = json.loads(out)
    assert (Path(outcome["folder"]) / "report.html").exists()
