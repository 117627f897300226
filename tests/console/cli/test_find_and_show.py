"""`kusanya find` and `show`: what was found, what to say, and whether a new request is safe."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.console.seeding import NOW, Seed

from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya.wire import Mode

Kusanya = Callable[..., tuple[int, str, str]]


@pytest.fixture
def seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Seed]:
    """Return what writes into the store that the command line looks at, in live mode."""
    monkeypatch.setenv("KUSANYA_MODE", "live")
    monkeypatch.setenv("KUSANYA_STORE", f"sqlite:///{tmp_path / 'kusanya.db'}")
    with Store.open(tmp_path / "kusanya.db", clock=ManualClock(NOW)) as store:
        yield Seed(store)


def test_a_creation_without_an_answer_is_found_with_what_to_say(
    kusanya: Kusanya, seed: Seed
) -> None:
    seed.intents()
    code, out, _ = kusanya("find", "INV-431003")
    assert code == 0
    assert "int_00000003  INV-431003  TZS 25,003  +255•••••003  ? creation unknown" in out
    assert "first sent 2026-03-04 15:12:07 EAT" in out
    assert "EN   We are checking whether your request went through. Please do not pay" in out
    assert "SW   Tunahakiki kama ombi lako limefika. Tafadhali usilipe tena." in out
    assert "no new request: wait" in out
    code, out, _ = kusanya("find", "0754000003", "--json")
    (found,) = json.loads(out)["creations"]
    assert (code, found["id"], found["new_request"]["safe"]) == (0, "int_00000003", False)
    assert found["first_sent_at"] == "2026-03-04T12:12:07Z"


def test_a_creation_is_shown_by_its_id(kusanya: Kusanya, seed: Seed) -> None:
    seed.intents()
    code, out, _ = kusanya("show", "int_00000003")
    assert code == 0
    assert "POST /v1/collections, attempt 1: lost" in out
    code, out, _ = kusanya("show", "int_00000003", "--json")
    assert json.loads(out)["state"] == "unknown"


def test_a_payment_is_found_with_its_sentence_its_verdict_and_east_african_time(
    kusanya: Kusanya, seed: Seed
) -> None:
    seed.life(3, at=NOW - timedelta(minutes=9))
    code, out, _ = kusanya("find", "INV-482003")
    assert code == 0
    assert "2026-03-04 15:15:07 EAT" in out
    assert "EN   We have received your payment of TZS 28,757. Thank you." in out
    assert "SW   Tumepokea malipo yako ya TZS 28,757. Asante." in out
    assert "paid: a new request would be a new payment" in out
    code, out, _ = kusanya("show", "col_0000000000000003")
    assert (code, "Tumepokea malipo" in out, "15:15:07 EAT" in out) == (0, True, True)


def test_an_open_creation_of_the_same_order_is_named_beside_a_failed_payment(
    kusanya: Kusanya, seed: Seed
) -> None:
    failed: dict[str, Any] = {"status": "failed", "failure_code": "user_cancelled"}
    seed.life(2, at=NOW - timedelta(minutes=9), reference="INV-431003", **failed)
    seed.intent(3, sent_ago=timedelta(minutes=12), state=IntentState.UNKNOWN)
    code, out, _ = kusanya("find", "INV-431003")
    assert code == 0
    assert out.index("int_00000003") < out.index("col_0000000000000002")
    assert out.count("no new request: wait") == 2
    assert "send a new request" not in out


def test_a_contradiction_is_marked_explained_and_has_an_exit_code_of_its_own(
    kusanya: Kusanya, seed: Seed
) -> None:
    seed.life(3, at=NOW - timedelta(minutes=9))
    seed.polled(seed.collection(3, at=NOW - timedelta(minutes=9), amount=1), at=NOW)
    for command in (("find", "INV-482003"), ("show", "col_0000000000000003")):
        code, out, _ = kusanya(*command)
        assert code == 3
        assert "≠ succeeded" in out
        assert "≠ The amount differs between sources" in out
    assert kusanya("find", "INV-482003", "--json")[0] == 3
    assert kusanya("find", "no such thing")[0] == 1
    assert "Exits with 1 when nothing matches, with 3" in " ".join(
        kusanya("find", "--help")[1].split()
    )


def test_what_a_test_signature_says_of_a_live_payment_is_a_contradiction_and_not_its_status(
    kusanya: Kusanya, seed: Seed
) -> None:
    born = seed.collection(3, at=NOW - timedelta(minutes=9))
    seed.answered(born)
    forged = seed.collection(3, at=born.created_at, mode=Mode.TEST, status="succeeded")
    seed.delivered(seed.event(forged, at=NOW), at=NOW)
    for command in (("find", born.reference), ("show", born.id), ("find", born.id)):
        code, out, _ = kusanya(*command)
        assert code == 3
        assert "≠ created" in out
        assert "≠ Test and live are mixed up" in out
        assert "succeeded" not in out
    code, out, _ = kusanya("find", born.reference, "--json")
    (found,) = json.loads(out)["data"]
    assert (code, found["mode"], found["status"]) == (3, "live", "created")


def test_a_collection_that_the_profiles_mode_does_not_know_is_shown_from_the_other(
    kusanya: Kusanya, seed: Seed
) -> None:
    made = seed.collection(3, at=NOW - timedelta(minutes=9), mode=Mode.TEST, status="succeeded")
    event = seed.event(made, at=NOW)
    seed.delivered(event, at=NOW)
    for name in (made.id, event.id):
        code, out, _ = kusanya("show", name, "--json")
        assert (code, json.loads(out)["mode"]) == (0, "test")
