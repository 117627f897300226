"""One box for support: what a text may mean, ranked and never guessed; and the story behind it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy
from typing import Any

import msgspec
import pytest
from sqlalchemy import event
from tests.kit.intents import end_attempt, prepare_intent

from kusanya.clock import ManualClock
from kusanya.domain.business_day import day_start
from kusanya.lookup import (
    EventKind,
    LookupResult,
    MatchKind,
    Reason,
    Timeline,
    advice,
    find,
    load_timeline,
    new_request,
)
from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.store.records import Arrival, IntentState, Note, Verdict
from kusanya.wire import Collection, Mode, decode_collection

NOW = datetime(2026, 3, 4, 12, 24, 7, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path, empty_store: Path) -> Iterator[Store]:
    with Store.open(copy(empty_store, tmp_path / "lookup.db"), clock=ManualClock(NOW)) as opened:
        yield opened


def collection(name: str, *, minutes_ago: float = 5, **fields: Any) -> Collection:
    values: dict[str, Any] = {
        "id": f"col_{name}",
        "status": "created",
        "amount": 85_000,
        "fee": 1_275,
        "currency": "TZS",
        "channel": "AIRTEL_TZ",
        "phone": "255754000412",
        "reference": f"INV-{name}",
        "mode": "live",
        "created_at": NOW - timedelta(minutes=minutes_ago),
    }
    return decode_collection(msgspec.json.encode(values | fields))


def record(
    store: Store, fact: Collection, *, source: Source = Source.ANSWER, after_s: float = 0
) -> None:
    store.record(
        Observation(
            source=source,
            source_id=f"{source}-{fact.id}-{fact.status}-{after_s}",
            observed_at=fact.created_at + timedelta(seconds=after_s),
            observed_in=fact.mode,
            collection=fact,
            event_id=f"evt_{fact.reference}" if source is Source.EVENT else None,
        )
    )


def arrived(store: Store, fact: Collection, verdict: Verdict, **fields: Any) -> None:
    event_id = f"evt_{fact.reference}"
    at = fact.created_at + timedelta(seconds=30)
    values: dict[str, Any] = {
        "arrived_at": at,
        "endpoint": "shop",
        "observed_in": fact.mode,
        "body": b"{}",
        "headers": (),
        "verdict": verdict,
        "event_id": event_id,
        "event_type": f"collection.{fact.status}",
        "event_created_at": at,
        "event_mode": fact.mode.value,
        "collection_id": fact.id,
        "reference": fact.reference,
        "amount": fact.amount,
        "currency": fact.currency,
        "answer": 200,
        "took_us": 9_000,
        "observation": Observation(
            source=Source.EVENT, source_id=event_id, observed_at=at, observed_in=fact.mode,
            collection=fact, event_id=event_id,
        ) if verdict is Verdict.VERIFIED else None,
    }  # fmt: skip
    store.record(Arrival(**(values | fields)))


def ask(store: Store, text: str, *, mode: Mode = Mode.LIVE) -> LookupResult:
    return find(store, text, mode=mode, now=NOW, day=day_start)


def timeline_of(store: Store, name: str, *, now: datetime = NOW) -> Timeline:
    found = load_timeline(store, f"col_{name}", Mode.LIVE, now=now)
    assert found is not None
    return found


def ways(found: LookupResult) -> list[tuple[str, MatchKind]]:
    return [(match.row.reference, match.kind) for match in found.matches]


def test_a_reference_is_found_whole_before_those_that_begin_with_it(store: Store) -> None:
    for name in ("4829", "48291", "48292"):
        record(store, collection(name))
    found = ask(store, "  INV-4829 ")
    assert ways(found)[0] == ("INV-4829", MatchKind.REFERENCE)
    assert {way for _, way in ways(found)[1:]} == {MatchKind.PREFIX}
    assert len(found.matches) == 3


@pytest.mark.parametrize(
    "spelling",
    ["0754 000 412", "754000412", "+255 754-000-412", "255754000412", "00255754000412"],
)
def test_every_spelling_of_a_phone_finds_its_collections(store: Store, spelling: str) -> None:
    record(store, collection("1", minutes_ago=2))
    record(store, collection("2", minutes_ago=1, phone="+255754000412"))
    record(store, collection("3", phone="255754000413"))
    assert ways(ask(store, spelling)) == [("INV-2", MatchKind.PHONE), ("INV-1", MatchKind.PHONE)]


def test_a_number_that_can_be_no_phone_is_named_as_such_and_not_guessed(store: Store) -> None:
    record(store, collection("1"))
    found = ask(store, "0454 000 412")
    assert found.matches == ()
    assert found.trouble is not None
    assert "begins with 6 or 7" in found.trouble


def test_identifiers_lead_to_their_collection(store: Store) -> None:
    done = collection("7", status="succeeded", completed_at=NOW)
    arrived(store, done, Verdict.VERIFIED)
    assert ways(ask(store, "col_7")) == [("INV-7", MatchKind.ID)]
    assert ways(ask(store, "evt_INV-7")) == [("INV-7", MatchKind.EVENT)]


def test_a_rejected_delivery_leads_to_the_collection_that_it_only_claims(store: Store) -> None:
    record(store, collection("7"))
    arrived(store, collection("7"), Verdict.REJECTED, reason="no_match", answer=400)
    assert ways(ask(store, "evt_INV-7")) == [("INV-7", MatchKind.CLAIM)]


def test_no_number_of_forged_deliveries_crowds_what_the_service_sent_out_of_a_story(
    store: Store,
) -> None:
    paid = collection("7", status="succeeded", completed_at=NOW)
    arrived(store, paid, Verdict.VERIFIED)
    for number in range(51):
        later = paid.created_at + timedelta(minutes=2, seconds=number)
        arrived(store, paid, Verdict.REJECTED, reason="no_match", answer=400, arrived_at=later)
    verdicts = [one.verdict for one in timeline_of(store, "7").deliveries]
    assert verdicts == [*[Verdict.REJECTED] * 50, Verdict.VERIFIED]


@pytest.mark.parametrize("text", ["85000 15:20", "85,000 15:20", "TZS 85000 15.20"])
def test_an_amount_and_a_time_find_what_was_asked_about_then(store: Store, text: str) -> None:
    record(store, collection("near", minutes_ago=9))
    record(store, collection("early", minutes_ago=90))
    record(store, collection("other", minutes_ago=9, amount=85_001))
    assert ways(ask(store, text)) == [("INV-near", MatchKind.AMOUNT)]


def test_an_amount_alone_means_today_in_east_africa(store: Store) -> None:
    record(store, collection("today", minutes_ago=60 * 15))  # 00:24 EAT
    record(store, collection("yesterday", minutes_ago=60 * 16))
    assert ways(ask(store, "85000")) == [("INV-today", MatchKind.AMOUNT)]


def test_the_other_mode_is_counted_and_never_shown(store: Store) -> None:
    record(store, collection("1", mode="test"))
    found = ask(store, "INV-1")
    assert found.matches == ()
    assert found.elsewhere == 1
    assert ways(ask(store, "INV-1", mode=Mode.TEST)) == [("INV-1", MatchKind.REFERENCE)]
    assert ask(store, "col_1").matches == ()


def test_four_characters_of_a_reference_find_it_wherever_they_stand(store: Store) -> None:
    record(store, collection("482917"))
    found = ask(store, "8291")
    assert [(match.row.id, match.kind) for match in found.matches] == [
        ("col_482917", MatchKind.PART)
    ]
    assert ask(store, "829").matches == ()


def test_a_receipt_number_saved_as_a_note_is_found_the_next_time(store: Store) -> None:
    record(store, collection("1"))
    record(store, collection("2", mode="test"))
    for subject, mode in (("col_1", Mode.LIVE), ("col_2", Mode.TEST)):
        store.notes.add(subject, Note("SMS receipt 9XK41PLM2"), author="support", mode=mode)
    found = ask(store, "9xk41plm2")
    assert [(match.row.id, match.kind) for match in found.matches] == [("col_1", MatchKind.NOTE)]


def test_a_receipt_that_a_statement_gave_leads_to_its_payment(store: Store) -> None:
    record(store, collection("1"))
    record(store, collection("2", mode="test"))
    for subject, mode in (("col_1", Mode.LIVE), ("col_2", Mode.TEST)):
        store.receipts.record(subject, mode, "9XK41PLM2", source="mpesa.csv", actor="support")
    found = ask(store, " 9xk41plm2 ")
    assert [(match.row.id, match.kind) for match in found.matches] == [("col_1", MatchKind.RECEIPT)]
    timeline = load_timeline(store, "col_1", Mode.LIVE, now=NOW)
    assert timeline is not None
    entry = timeline.entries[-1]
    assert (entry.kind, entry.word, entry.source) == (
        EventKind.RECEIPT,
        "receipt",
        "mpesa.csv",
    )
    assert entry.detail == "9XK41PLM2, of the operator"


def test_an_empty_box_asks_nothing(store: Store) -> None:
    assert ask(store, "   ") == LookupResult(text="")


def test_a_timeline_lists_every_fact_in_the_order_in_which_we_observed_it(store: Store) -> None:
    born = collection("7")
    record(store, born, after_s=0.2)
    record(store, born, source=Source.POLL, after_s=20)
    done = collection(
        "7", status="failed", failure_code="insufficient_funds", failure_message="Too low.",
        completed_at=NOW,
    )  # fmt: skip
    arrived(store, done, Verdict.VERIFIED)
    moments = timeline_of(store, "7").entries
    assert [(moment.kind, moment.word, moment.source) for moment in moments] == [
        (EventKind.STATUS, "created", "answer"),
        (EventKind.SAME, "created", "poll"),
        (EventKind.STATUS, "failed", "event"),
        (EventKind.ANSWERED, "we answered 200", "receiver"),
    ]
    assert moments[0].detail == "202, fee fixed at 1,275; the service prompts the phone"
    assert moments[2].detail == "evt_INV-7 verified; insufficient_funds: Too low."


def test_a_story_holds_the_intent_its_sendings_and_the_notes(store: Store) -> None:
    sent_at = NOW - timedelta(minutes=5, seconds=1)
    intent = prepare_intent(
        store,
        idempotency_key="key-1", body=b"{}", mode=Mode.LIVE, profile="main",
        reference="INV-7", amount=85_000, phone="255754000412", prepared_at=sent_at,
    )  # fmt: skip
    store.intents.begin_attempt(intent.id, at=sent_at)
    record(store, collection("7"))
    store.notes.add("col_7", Note("receipt QF12"), author="amina", mode=Mode.LIVE)
    moments = timeline_of(store, "7").entries
    assert [moment.kind for moment in moments] == [
        EventKind.INTENT, EventKind.SENT, EventKind.STATUS, EventKind.NOTE,
    ]  # fmt: skip
    assert moments[-1].detail == "receipt QF12"
    assert moments[-1].source == "amina"


def test_a_new_request_is_safe_only_when_nothing_on_the_phone_is_open_or_unknown(
    store: Store,
) -> None:
    failed: dict[str, Any] = {"status": "failed", "completed_at": NOW}
    record(store, collection("7", **failed), source=Source.POLL)
    assert new_request(timeline_of(store, "7")).safe

    record(store, collection("8", minutes_ago=1))
    assert not new_request(timeline_of(store, "7")).safe, "a prompt is open on the same phone"
    record(store, collection("8", minutes_ago=1, **failed), source=Source.POLL, after_s=30)
    assert new_request(timeline_of(store, "7")).safe

    intent = prepare_intent(
        store,
        idempotency_key="key-9", body=b"{}", mode=Mode.LIVE, profile="main",
        reference="INV-9", amount=1, phone="+255754000412",
    )  # fmt: skip
    store.intents.begin_attempt(intent.id, at=NOW)
    end_attempt(store,
        intent.id, 1, at=NOW, outcome="lost", status=None, request_id=None, took_us=None,
        state=IntentState.UNKNOWN,
    )  # fmt: skip
    assert new_request(timeline_of(store, "7")).reason is Reason.UNKNOWN_ON_PHONE
    assert not new_request(timeline_of(store, "7")).safe, "an outcome on the same phone is unknown"


@pytest.mark.parametrize("status", ["created", "succeeded", "on_hold"])
def test_a_new_request_is_never_safe_after_a_payment_or_before_a_final_state(
    store: Store, status: str
) -> None:
    final: dict[str, Any] = {"completed_at": NOW} if status == "succeeded" else {}
    record(store, collection("7", status=status, **final))
    assert not new_request(timeline_of(store, "7")).safe


def test_a_contradiction_is_never_safe(store: Store) -> None:
    record(store, collection("7", status="expired", completed_at=NOW), source=Source.POLL)
    record(store, collection("7", status="failed", completed_at=NOW), source=Source.EVENT)
    assert timeline_of(store, "7").state.contradictions
    assert not new_request(timeline_of(store, "7")).safe


def test_an_unknown_collection_has_no_story(store: Store) -> None:
    assert load_timeline(store, "col_nowhere", Mode.LIVE, now=NOW) is None


def test_the_sentence_follows_the_story_and_offers_nothing_while_a_prompt_may_be_open(
    store: Store,
) -> None:
    record(store, collection("7", status="expired", completed_at=NOW), source=Source.POLL)
    assert "new request" in advice(timeline_of(store, "7")).english.next_step
    record(store, collection("8", minutes_ago=1))
    found = advice(timeline_of(store, "7"))
    assert (found.english.next_step, found.swahili.next_step) == ("", "")
    assert not found.may_prompt


def test_a_prompt_that_waits_too_long_is_called_late(store: Store) -> None:
    record(store, collection("7", minutes_ago=2))
    assert advice(timeline_of(store, "7")).topic == "created"
    assert advice(timeline_of(store, "7", now=NOW + timedelta(minutes=2))).topic == "created_late"


def test_metadata_and_descriptions_are_found_by_name_and_by_their_text(store: Store) -> None:
    paid: dict[str, Any] = {"metadata": {"order_id": "A-77"}, "description": "School fees, term 2"}
    record(store, collection("100001", **paid))
    record(store, collection("100002", minutes_ago=9, description="Bus to Mbeya"))

    def kinds(text: str) -> list[tuple[str, MatchKind]]:
        result = find(store, text, mode=Mode.LIVE, now=NOW, day=day_start)
        return [(match.row.reference, match.kind) for match in result.matches]

    assert kinds("meta:order_id=a-77") == [("INV-100001", MatchKind.METADATA)]
    assert kinds('description:"school fees"') == [("INV-100001", MatchKind.DESCRIPTION)]
    assert kinds("description:to description:fees") == []
    assert kinds("meta:order_id=A-77 description:bus") == []
    assert kinds("A-77") == [("INV-100001", MatchKind.METADATA)]
    assert kinds("bus to mbeya") == [("INV-100002", MatchKind.DESCRIPTION)]
    assert kinds("INV-100002") == [("INV-100002", MatchKind.REFERENCE)]
    refused = find(store, "meta:A-77", mode=Mode.LIVE, now=NOW, day=day_start)
    assert refused.trouble == "meta takes a name and its value, as in meta:order_id=A-1"
    short = find(store, "description:to", mode=Mode.LIVE, now=NOW, day=day_start)
    assert short.trouble is not None
    assert "3 letters" in short.trouble


def test_what_commits_during_a_look_up_is_found_by_the_next_one(store: Store) -> None:
    record(store, collection("1"))
    asked: list[str] = []

    def commit_another(_c: Any, _cursor: Any, sql: str, *_: Any) -> None:
        asked.append(sql)
        if len(asked) == 2:
            record(store, collection("2"))

    event.listen(store._engines.reader, "before_cursor_execute", commit_another)
    found = ask(store, "0754000412")
    assert [match.row.id for match in found.matches] == ["col_1"]
    found = ask(store, "0754000412")
    assert [match.row.id for match in found.matches] == ["col_2", "col_1"]


def test_an_amount_at_a_time_that_is_not_found_is_asked_for_once_in_each_mode(store: Store) -> None:
    asked: list[tuple[str, tuple[Any, ...]]] = []

    def listen(_c: Any, _cursor: Any, sql: str, values: Any, *_: Any) -> None:
        if 85_000 in values:
            asked.append((sql, tuple(values)))

    event.listen(store._engines.reader, "before_cursor_execute", listen)
    found = ask(store, "85000 15:20")
    assert (found.count, found.looked_at) == (0, "85,000, 15:05 to 15:35 today")
    assert {values[0] for _, values in asked} == {"live", "test"}
    assert len(asked) == len(set(asked))
