"""`kusanya find` and `show`: what was found, what to say, and whether a new request is safe."""

import io
import json
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from tests.console.seeding import NOW, Seed

from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya.store.records import IntentState, Note
from kusanya.wire import Mode
from kusanya_console.cli.lookup import command as lookup
from kusanya_console.sandbox.demo.folder import DemoFolder

Kusanya = Callable[..., tuple[int, str, str]]


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


def test_a_creation_that_was_not_taken_was_tried_and_never_sent(
    kusanya: Kusanya, seed: Seed
) -> None:
    seed.intent(3, sent_ago=timedelta(minutes=12), state=IntentState.PREPARED)
    _, out, _ = kusanya("find", "INV-431003")
    assert "? creation prepared  first tried 2026-03-04 15:12:07 EAT, not taken" in out
    assert "first sent" not in out


def test_show_says_which_attempts_were_not_sent_and_which_may_have_arrived(
    kusanya: Kusanya, seed: Seed
) -> None:
    seed.intent(3, sent_ago=timedelta(minutes=12), state=IntentState.UNKNOWN)
    seed.then_out_of_reach(3, lost=1, unreached=2)
    _, out, _ = kusanya("show", "int_00000003")
    assert out.count("not sent  POST /v1/collections, attempt ") == 2
    outcome = json.loads(kusanya("show", "int_00000003", "--json")[1])["outcome"]
    assert outcome.startswith("attempts 1-2 may have reached the service; attempt 4: ")
    (listed,) = json.loads(kusanya("intents", "--json")[1])["data"]
    assert listed["outcome"] == outcome


def test_a_creation_is_shown_by_its_id(kusanya: Kusanya, seed: Seed) -> None:
    seed.intents()
    code, out, _ = kusanya("show", "int_00000003")
    assert code == 0
    assert "POST /v1/collections, attempt 1: lost" in out
    code, out, _ = kusanya("show", "int_00000003", "--json")
    assert json.loads(out)["state"] == "unknown"


def test_notes_bear_their_author_and_attempts_say_what_is_known(
    kusanya: Kusanya, seed: Seed
) -> None:
    seed.intents()
    seed.store.notes.add("int_00000003", Note("called her back"), author="asha", mode=Mode.LIVE)
    assert "note  called her back by asha" in kusanya("show", "int_00000003")[1]
    done = seed.life(3, at=NOW - timedelta(minutes=9))
    event = seed.event(done, at=NOW - timedelta(minutes=8, seconds=43))
    seed.delivered(event, at=NOW - timedelta(seconds=5))
    out = kusanya("show", done.id)[1]
    assert "delivery to shop: verified, attempt 1 of 7, we answered 200" in out
    assert "outside the plan, by hand or very late, we answered 200" in out


def test_an_amount_is_found_as_it_is_said_and_the_time_looked_at_is_named(
    kusanya: Kusanya, seed: Seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "now", lambda *_: NOW)
    seed.life(3, at=NOW - timedelta(minutes=9), amount=85_000)
    code, out, _ = kusanya("find", "TZS 85,000 at 15:15")
    assert (code, "INV-482003" in out) == (0, True)
    assert "looked for: 85,000, 15:00 to 15:30 today, East Africa Time" in out
    code, _, err = kusanya("find", "85,000 2 Jan")
    assert code == 1
    assert "looked for 85,000, on 02 Jan 2026" in err


def test_a_payment_is_found_by_the_receipt_that_the_operator_gave(
    kusanya: Kusanya, seed: Seed
) -> None:
    seed.life(3, at=NOW - timedelta(minutes=9))
    [row] = seed.store.collections.by_reference(Mode.LIVE, "INV-482003")
    seed.store.receipts.record(row.id, row.mode, "SJ31HG4K2", source="mpesa.csv", actor="asha")
    code, out, _ = kusanya("find", "sj31hg4k2")
    assert code == 0
    assert "INV-482003" in out
    code, out, _ = kusanya("show", row.id)
    assert "receipt SJ31HG4K2" in out


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
    assert "Exits with 1 when nothing matches or a message may be forged, with 3" in " ".join(
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


def test_find_show_health_handover_and_talk_speak_swahili_and_json_stays_english(
    kusanya: Kusanya, seed: Seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    well: dict[str, Any] = dict.fromkeys(("failure_code", "failure_message"))
    seed.life(50, at=NOW - timedelta(minutes=9), status="succeeded", **well)
    seed.intents()
    monkeypatch.setenv("KUSANYA_LANG", "sw")
    out = kusanya("find", "INV-482050")[1]
    assert "imelipwa" in out
    assert "(kwa kumbukumbu)" in out
    assert "Kinachofuata Hakuna la kufanya." in out
    out = kusanya("show", "col_0000000000000050")[1]
    assert "hali live  ada " in out
    assert "taarifa kwa shop: halali, mara ya 1 kati ya 7, tulijibu 200" in out
    out = kusanya("show", "int_00000003")[1]
    assert "? ombi: hatujui  lilitumwa mara ya kwanza 2026-03-04 15:12:07 EAT" in out
    assert "POST /v1/collections, mara ya 1: imepotea" in out
    assert "hifadhi haijui col_99; jaribu kusanya find" in kusanya("show", "col_99")[2]
    assert "hali 'faled' haijulikani" in kusanya("find", "meta:a=b status:faled")[2]
    assert "hakuna aliyefanya lolote kwenye hifadhi hii" in kusanya("audit")[1]
    assert "--since: saa ni 'today 02:13'" in kusanya("audit", "--since", "99:00")[2]
    code, out, _ = kusanya("health")
    assert (code, "onyo: " in out or "dharura: " in out) == (1, True)
    assert "To do:" not in out
    out = kusanya("handover", "--since", "2026-03-04 12:00")[1]
    assert "Kilichotokea\n  malipo 1 yaliundwa: 1 " in out
    assert "hakuna aliyefanya kitu" in out
    assert "kamwe usiunde upya" in out
    monkeypatch.setattr(sys, "stdin", io.StringIO("help\nlist\nshow 99\nquit\n"))
    out = kusanya("talk")[1]
    assert "list FILTER: orodhesha malipo mapya" in out
    assert "1. INV-482050 imelipwa, TZS " in out
    assert "haikufanyika: orodha ya mwisho haina mstari 99" in out
    assert out.endswith("kwaheri\n")
    said = json.loads(kusanya("find", "INV-482050", "--json")[1])["data"][0]
    assert said["next"] == "Nothing to do."
    assert "nothing in live mode matches" in kusanya("find", "INV-9", "--json")[2]
    monkeypatch.delenv("KUSANYA_LANG")
    assert "succeeded" in kusanya("find", "INV-482050")[1]


def test_where_nothing_is_found_the_demos_store_is_named(
    kusanya: Kusanya, seed: Seed, tmp_path: Path, empty_store: Path
) -> None:
    demos = DemoFolder(tmp_path / "data" / "demo")
    assert "demo" not in kusanya("find", "INV-482003")[2], "no demo has run"
    path = Path(demos.store_url.removeprefix("sqlite:///"))
    copy(empty_store, path)
    with Store.open(path, clock=ManualClock(NOW)) as store:
        Seed(store).life(3, at=NOW - timedelta(minutes=9))
    add = f"to look in the demo's store add --store {path}"
    for asked in (("find", "INV-482003"), ("show", "col_0000000000000003")):
        code, _, err = kusanya(*asked)
        assert (code, add in err) == (1, True), err
        nowhere = tmp_path / "nowhere.db"
        code, _, err = kusanya(*asked, "--store", str(nowhere))
        assert f"there is no store at {nowhere}: " in err
        assert f"; {add}" in err
        assert kusanya(*asked, "--store", str(path))[0] == 0
    assert add not in kusanya("find", "INV-9", "--store", str(path))[2]
    other = tmp_path / "other.db"
    copy(empty_store, other)
    for asked in (("find", "INV-482003"), ("show", "col_0000000000000003")):
        assert "demo" not in kusanya(*asked, "--store", str(other))[2], "a store was named"
    demos.close()
