"""The catalogue of oddities, each with its sentence."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya.state import Dispute, Observation, fold
from kusanya.state.anomalies import Anomaly, AnomalyKind, anomalies
from kusanya.text import safe
from kusanya.wire import Mode

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
Fact = Callable[..., Observation]
Observed = list[tuple[str, dict[str, Any]]]

WELL: Observed = [("answer", {}), ("event", {"status": "succeeded", "after": 12})]


def oddities(fact: Fact, observed: Observed, **options: Any) -> tuple[Anomaly, ...]:
    facts = [fact(source, **fields) for source, fields in observed]
    return anomalies(fold(facts), facts, **options)


def kinds(fact: Fact, observed: Observed, **options: Any) -> list[str]:
    return [one.kind.value for one in oddities(fact, observed, **options)]


@pytest.mark.parametrize(
    "observed",
    [
        pytest.param([("answer", {})], id="created"),
        pytest.param(WELL, id="succeeded"),
        pytest.param(
            [("answer", {}), ("poll", {"status": "failed", "failure_code": "declined"})],
            id="failed",
        ),
        pytest.param([*WELL, ("poll", {"after": 5})], id="a poll before the end"),
        pytest.param([*WELL, ("answer", {"after": 60, "replayed": True})], id="a replayed answer"),
    ],
)
def test_a_collection_that_is_well_has_no_anomaly(fact: Fact, observed: Observed) -> None:
    assert kinds(fact, observed) == []


CATALOGUE: dict[str, tuple[Observed, bool]] = {
    "two_finals": ([*WELL, ("poll", {"status": "expired", "after": 20})], True),
    "event_changed": (
        [*WELL, ("event", {"status": "succeeded", "disputed": Dispute.OTHER_BODY, "after": 20})],
        True,
    ),
    "mode_mismatch": ([*WELL, ("event", {"observed_in": Mode.LIVE, "after": 3})], True),
    "amount_changed": ([*WELL, ("poll", {"amount": 4000, "after": 3})], True),
    "fee_changed": ([*WELL, ("poll", {"fee": 51, "after": 3})], False),
    "currency_changed": ([*WELL, ("poll", {"currency": "KES", "after": 3})], True),
    "phone_changed": ([*WELL, ("poll", {"phone": "255754000777", "after": 3})], True),
    "reference_changed": ([*WELL, ("poll", {"reference": "order-2", "after": 3})], True),
    "channel_changed": ([*WELL, ("poll", {"channel": "TIGO_TZ", "after": 3})], False),
    "failure_code_changed": (
        [
            ("answer", {}),
            ("event", {"status": "failed", "failure_code": "a"}),
            ("poll", {"status": "failed", "failure_code": "b", "after": 3}),
        ],
        False,
    ),
    "completed_at_changed": (
        [*WELL, ("poll", {"status": "succeeded", "completed_at": NOON, "after": 20})],
        False,
    ),
    "created_at_changed": (
        [*WELL, ("poll", {"created_at": NOON + timedelta(seconds=1), "after": 3})],
        False,
    ),
    "text_changed": (
        [
            ("answer", {"description": "a", "metadata": {"x": "1"}}),
            ("poll", {"description": "b", "metadata": {"x": "1"}, "after": 3}),
        ],
        False,
    ),
    "fee_above_amount": ([("answer", {"amount": 5, "fee": 6})], True),
    "fee_negative": ([("answer", {"fee": -1})], True),
    "amount_not_positive": ([("answer", {"amount": 0, "fee": 0})], True),
    "final_without_completed_at": (
        [("answer", {}), ("event", {"status": "succeeded", "completed_at": None})],
        False,
    ),
    "completed_while_open": ([("answer", {"completed_at": NOON})], False),
    "completed_before_created": (
        [("answer", {}), ("event", {"status": "succeeded", "completed_at": NOON - timedelta(1)})],
        False,
    ),
    "failed_without_failure_code": ([("answer", {}), ("event", {"status": "failed"})], False),
    "failure_code_without_failure": (
        [("answer", {}), ("event", {"status": "succeeded", "failure_code": "declined"})],
        False,
    ),
    "unknown_status": ([("answer", {}), ("poll", {"status": "in_review", "after": 3})], False),
    "several_events": (
        [*WELL, ("event", {"status": "succeeded", "event_id": "evt_2", "after": 20})],
        False,
    ),
    "event_only": ([("event", {"status": "succeeded"})], False),
    "heard_before_created": ([("answer", {"after": -301})], False),
}


@pytest.mark.parametrize(
    ("kind", "observed", "urgent"),
    [(kind, *case) for kind, case in CATALOGUE.items()],
    ids=CATALOGUE.keys(),
)
def test_each_oddity_is_found_alone_with_a_sentence(
    fact: Fact, kind: str, observed: Observed, urgent: bool
) -> None:
    found = oddities(fact, observed)
    assert [one.kind for one in found] == [kind]
    assert found[0].urgent is urgent
    assert found[0].sentence.endswith(".")


def test_the_catalogue_is_tested_in_full() -> None:
    apart = {
        AnomalyKind.FACTS_DIFFER,  # of a login that facts are hidden from
        AnomalyKind.MISSING_EVENT,
        AnomalyKind.RULED,  # in the tests of rulings
        AnomalyKind.TYPE_AND_STATUS_DISAGREE,
        AnomalyKind.UNKNOWN_EVENT_TYPE,
        AnomalyKind.EVENT_BEFORE_CREATED,
    }
    assert set(CATALOGUE) | apart == set(AnomalyKind)


@pytest.mark.spec("events-types")
@pytest.mark.parametrize(
    ("event_type", "kind"),
    [
        ("collection.failed", ["type_and_status_disagree"]),
        ("collection.refunded", ["unknown_event_type"]),
        ("collection.succeeded", []),
    ],
)
def test_an_events_type_and_its_collections_status_say_the_same(
    fact: Fact, event_type: str, kind: list[str]
) -> None:
    facts = [fact("answer"), fact("event", status="succeeded", after=12)]
    facts[1] = msgspec.structs.replace(facts[1], event_type=event_type)
    assert [one.kind for one in anomalies(fold(facts), facts)] == kind


def test_an_event_older_than_its_collection_is_odd(fact: Fact) -> None:
    observed: Observed = [
        (source, {"status": "succeeded", "created_at": NOON + timedelta(seconds=13)} | more)
        for source, more in (("answer", {"completed_at": NOON + timedelta(seconds=14)}),)
    ]
    facts = [fact(source, **fields) for source, fields in observed]
    late = fact(
        "event",
        status="succeeded",
        after=20,
        created_at=NOON + timedelta(seconds=13),
        completed_at=NOON + timedelta(seconds=14),
    )
    facts.append(late)
    assert [one.kind for one in anomalies(fold(facts), facts)] == ["event_before_created"]


def test_an_event_is_missing_a_minute_after_we_learned_the_end_elsewhere(fact: Fact) -> None:
    observed: Observed = [("answer", {}), ("poll", {"status": "succeeded", "after": 20})]
    for seconds, expected in ((79, []), (80, ["missing_event"])):
        assert kinds(fact, observed, now=NOON + timedelta(seconds=seconds)) == expected
    assert kinds(fact, observed) == []
    assert kinds(fact, [*observed, WELL[1]], now=NOON + timedelta(days=1)) == []


def test_an_unknown_status_beside_a_final_one_is_urgent(fact: Fact) -> None:
    observed: Observed = [*WELL, ("poll", {"status": "reversed", "after": 90})]
    found = oddities(fact, observed)
    assert [(one.kind, one.urgent) for one in found] == [("unknown_status", True)]


def test_the_urgent_come_first(fact: Fact) -> None:
    observed: Observed = [
        ("answer", {"fee": 60}),
        ("event", {"status": "failed", "after": 1}),
        ("poll", {"status": "succeeded", "after": 2}),
    ]
    found = oddities(fact, observed)
    assert [one.kind for one in found] == ["two_finals", "fee_changed"]


def test_a_sentence_names_who_said_what_and_shows_neither_phone_nor_escape(fact: Fact) -> None:
    observed: Observed = [
        ("answer", {"reference": "\x1b[2Ja"}),
        ("poll", {"reference": "b", "phone": "255754000777", "after": 1}),
    ]
    said = " ".join(one.sentence for one in oddities(fact, observed))
    assert "answer to the create" in said
    assert "(poll)" in said
    assert "\x1b" not in said
    assert "255754000" not in said


@pytest.mark.merge
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "source": st.sampled_from(["answer", "event", "event_check", "poll"]),
                "status": st.text(max_size=8) | st.sampled_from(["created", "failed", "expired"]),
                "after": st.integers(-900, 900),
                "fee": st.integers(-5, 9000),
                "amount": st.integers(-5, 9000),
                "failure_code": st.none() | st.text(max_size=8),
                "metadata": st.none() | st.dictionaries(st.text(max_size=3), st.text(max_size=3)),
            }
        ),
        min_size=1,
        max_size=6,
    )
)
def test_whatever_is_observed_the_catalogue_answers_in_safe_sentences(
    fact: Fact, drawn: list[dict[str, Any]]
) -> None:
    facts = [fact(**one) for one in drawn]
    found = anomalies(fold(facts), facts, now=NOON)
    assert len(found) == len({(one.kind, one.sentence) for one in found})
    assert all(safe(one.sentence, 9000) == one.sentence for one in found)
    assert bool(fold(facts).contradictions) <= bool(found)


def test_instants_that_differ_are_written_in_east_africa_time(fact: Fact) -> None:
    [odd] = oddities(fact, CATALOGUE["completed_at_changed"][0])
    assert odd.sentence.count("2026-03-02 15:00:") == len(["event", "poll"])
    assert "EAT (event); " in odd.sentence
    assert "Z (" not in odd.sentence
