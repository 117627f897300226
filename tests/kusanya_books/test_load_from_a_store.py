"""What is loaded is what the store holds: one mode, days around the period, as of a position."""

import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.intents import prepare_intent

from kusanya.clock import ManualClock
from kusanya.errors import ConfigurationError, StoreUnavailable
from kusanya.state.fold import fold
from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.wire import Collection, Mode
from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS
from kusanya_books.judge import fees
from kusanya_books.read import load
from kusanya_books.read.store import exported, rollup_control
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.days import period

pytestmark = pytest.mark.usefixtures("no_settings")
NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
MakeObservation = Callable[..., Observation]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


@pytest.fixture
def store(path: str, empty_store: Path) -> Iterator[Store]:
    with Store.open(shutil.copy(empty_store, path)) as opened:
        yield opened


def observation(number: int, source: Source = Source.EVENT, **said: Any) -> Observation:
    created = said.pop("created_at", NOON + timedelta(seconds=number))
    observed = said.pop("observed_at", created + timedelta(seconds=20))
    status = said.pop("status", "created" if source is Source.ANSWER else "succeeded")
    plain: dict[str, Any] = {
        "id": f"col_{number}",
        "amount": 1_000,
        "fee": 18,
        "currency": "TZS",
        "channel": "MPESA_TZ",
        "phone": "255754123456",
        "reference": f"R-{number}",
        "mode": Mode.TEST,
        "completed_at": None if status == "created" else created + timedelta(seconds=15),
    }
    facts = Collection(created_at=created, status=status, **{**plain, **said})
    by_event = source is Source.EVENT
    return Observation(
        source=source,
        source_id=f"{source.value}-{number}-{status}",
        observed_at=observed,
        observed_in=facts.mode,
        collection=facts,
        event_id=f"evt_{number}" if by_event else None,
        event_type=f"collection.{status}" if by_event else None,
        event_created_at=created + timedelta(seconds=16) if by_event else None,
    )


def test_the_frame_says_what_the_store_says(store: Store, path: str) -> None:
    store.record(observation(1, Source.ANSWER))
    store.record(observation(1))
    store.record(observation(2, status="failed", failure_code="insufficient_funds"))
    store.record(observation(3, Source.ANSWER))
    made = load.inputs(CloseRequest(store=path, period="2026-03"))
    frame = columns.check(made.frame, COLLECTIONS)
    assert frame["id"].tolist() == ["col_1", "col_2", "col_3"]
    assert frame["status"].tolist() == ["succeeded", "failed", "created"]
    assert frame["failure_code"].tolist() == [pd.NA, "insufficient_funds", pd.NA]
    assert frame["completed_at"][0] == NOON + timedelta(seconds=16)
    assert "255754123456" not in frame.to_csv()
    assert made.as_of == store.feed.head()
    assert made.quality[0].rows == 3


def test_only_one_mode_is_loaded_and_the_other_is_known_by_its_keys(
    store: Store, path: str
) -> None:
    store.record(observation(1))
    store.record(observation(2, mode=Mode.LIVE))
    live = load.inputs(CloseRequest(store=path, mode="live", period="2026-03"))
    assert live.frame["id"].tolist() == ["col_2"]
    assert live.other_mode["reference"].tolist() == ["R-1"]


def test_the_period_is_widened_and_what_finished_in_it_is_there(store: Store, path: str) -> None:
    day = timedelta(days=1)
    store.record(observation(1, created_at=NOON - 7 * day))
    store.record(observation(2, created_at=NOON - 8 * day))
    store.record(observation(3, created_at=NOON - 40 * day, completed_at=NOON, observed_at=NOON))
    made = load.inputs(CloseRequest(store=path, period="2026-03-05"))
    assert sorted(made.frame["id"]) == ["col_1", "col_3"]


def test_as_of_an_earlier_position_later_facts_do_not_exist(store: Store, path: str) -> None:
    store.record(observation(1, Source.ANSWER))
    store.record(observation(2))
    position = store.feed.head()
    before = load.inputs(CloseRequest(store=path, period="2026-03")).frame
    store.record(observation(1))
    store.record(observation(4))
    store.record(observation(5, mode=Mode.LIVE))
    then = load.inputs(CloseRequest(store=path, period="2026-03", as_of=position))
    pd.testing.assert_frame_equal(then.frame, before)
    assert len(then.other_mode) == 0
    now = load.inputs(CloseRequest(store=path, period="2026-03")).frame
    assert now["status"].tolist() == ["succeeded"] * 3


def test_evidence_keeps_the_fees_of_the_sources_apart(store: Store, path: str) -> None:
    store.record(observation(1, Source.ANSWER))
    store.record(observation(1, fee=20))
    store.record(observation(1, Source.POLL, fee=18))
    store.record(observation(2))
    frame = load.inputs(CloseRequest(store=path, period="2026-03"), evidence=True).frame
    assert frame[["fee_202", "fee_event", "fee_get"]].iloc[0].tolist() == [18, 20, 18]
    assert frame["contradictions"].tolist() == [1, 0]
    assert frame["fee_202"].isna().tolist() == [False, True]


SAYINGS = st.lists(
    st.tuples(
        st.integers(1, 4),
        st.sampled_from(list(Source)),
        st.sampled_from([18, 18, 18, 20]),
        st.sampled_from(["created", "succeeded", "failed"]),
    ),
    max_size=14,
)


@pytest.mark.scale(8, 25, 150)
def test_evidence_is_what_folding_every_collection_says(empty_store: Path, rounds: int) -> None:
    @settings(max_examples=rounds, deadline=None, database=None)
    @given(said=SAYINGS, late=st.integers(0, 4))
    def holds(said: list[tuple[int, Source, int, str]], late: int) -> None:
        facts = [
            observation(number, source, fee=fee, status=now) for number, source, fee, now in said
        ]
        with TemporaryDirectory() as folder:
            shutil.copy(empty_store, f"{folder}/store.db")
            with Store.open(f"{folder}/store.db") as kept:
                ends = [(kept.record(fact), kept.feed.head())[1] for fact in facts]
                upto = max(0, kept.feed.head() - late)
                made = load.inputs(
                    CloseRequest(store=f"{folder}/store.db", period="2026-03", as_of=upto),
                    evidence=True,
                )
        for place, collection_id in enumerate(made.frame["id"]):
            state = fold(
                fact
                for fact, end in zip(facts, ends, strict=True)
                if end <= upto and fact.collection.id == collection_id
            )
            three_fees = made.frame[["fee_202", "fee_event", "fee_get"]].iloc[place].tolist()
            known = [None if pd.isna(fee) else fee for fee in three_fees]
            assert known == [state.fee_answer, state.fee_event, state.fee_poll]

    holds()


def test_what_a_test_signature_says_of_a_live_collection_is_never_counted_as_live(
    store: Store, path: str
) -> None:
    store.record(observation(1, Source.ANSWER, mode=Mode.LIVE))
    before = store.feed.head()
    store.record(observation(1, amount=7_000))
    store.record(observation(2, mode=Mode.LIVE))
    live = load.inputs(CloseRequest(store=path, period="2026-03", mode="live"), evidence=True)
    assert live.frame["status"].tolist() == ["created", "succeeded"]
    assert live.frame["amount"].tolist() == [1_000, 1_000]
    assert live.frame["contradictions"].tolist() == [1, 0]
    assert live.frame["fee_event"].isna().tolist() == [True, False]
    assert live.control["agrees"].all()
    test = load.inputs(CloseRequest(store=path, period="2026-03", mode="test"), evidence=True)
    assert test.frame["amount"].tolist() == [7_000]
    earlier = load.inputs(
        CloseRequest(store=path, period="2026-03", mode="live", as_of=before), evidence=True
    )
    assert earlier.frame["status"].tolist() == ["created"]
    assert earlier.frame["contradictions"].tolist() == [0]
    assert load.inputs(
        CloseRequest(store=path, period="2026-03", mode="test", as_of=before)
    ).frame.empty


def test_what_was_loaded_agrees_with_the_rollups(store: Store, path: str) -> None:
    store.record(observation(1))
    store.record(observation(2, status="expired", amount=7))
    made = load.inputs(CloseRequest(store=path, period="2026-03"))
    assert made.control["agrees"].all()
    assert made.control["amount_rollup"].tolist() == [7, 1_000]
    total = fees.daily(made.collections, period=made.period).iloc[-1]
    assert total["gross"] == made.control.set_index("status").loc["succeeded", "amount_rollup"]
    lost = rollup_control.control(
        made.frame.iloc[1:],
        store.rollups.collections(Mode.TEST, since=made.period.begins, until=made.period.ends),
        period=made.period,
    )
    assert lost["agrees"].tolist() == [True, False]


def test_an_absurd_amount_does_not_keep_a_month_from_agreeing(store: Store, path: str) -> None:
    store.record(observation(1, amount=2**63 - 1))
    store.record(observation(2, amount=2**63 - 1, fee=2**62))
    made = load.inputs(CloseRequest(store=path, period="2026-03"))
    assert made.control["agrees"].all()
    assert made.frame["amount"].tolist() == [2**63 - 1] * 2


def test_an_intent_without_an_answer_is_known_as_of_its_time(store: Store, path: str) -> None:
    intent = prepare_intent(
        store,
        idempotency_key="k",
        body=b"{}",
        mode=Mode.TEST,
        profile="shop",
        reference="R-9",
        amount=500,
        phone="255754123456",
    )
    prepared = store.feed.head()
    store.intents.begin_attempt(intent.id, at=NOON)
    sent = store.feed.head()
    march = CloseRequest(store=path, period="2026-03")
    assert load.inputs(march).intents["reference"].tolist() == ["R-9"]
    before = load.inputs(CloseRequest(store=path, period="2026-03", as_of=prepared))
    assert before.intents.empty, "it was not sent yet"
    store.intents.resolve(intent.id, collection_id=None, sentence="never arrived")
    assert load.inputs(march).intents.empty
    then = load.inputs(CloseRequest(store=path, period="2026-03", as_of=sent)).intents
    assert then["reference"].tolist() == ["R-9"]
    assert then["sent_at"].tolist() == [NOON]
    later = prepare_intent(
        store, idempotency_key="l", body=b"{}", mode=Mode.TEST, profile="shop",
        reference="R-10", amount=500, phone="255754123456",
    )  # fmt: skip
    store.intents.begin_attempt(later.id, at=NOON)
    place = store.feed.head()
    store.intents.begin_attempt(later.id, at=NOON)
    for as_of in (place, store.feed.head()):
        found = load.inputs(CloseRequest(store=path, period="2026-03", as_of=as_of)).intents
        assert found["reference"].tolist() == ["R-10"], "once, and the settled one not at all"


def test_what_is_known_of_the_other_mode_is_known_as_of_its_place(store: Store, path: str) -> None:
    head = store.feed.head()
    store.record(observation(1, Source.ANSWER))
    answered = store.feed.head()
    store.record(observation(1))
    for as_of, known in ((head, []), (answered, ["R-1"]), (store.feed.head(), ["R-1"])):
        found = load.inputs(CloseRequest(store=path, mode="live", period="2026-03", as_of=as_of))
        assert found.other_mode is not None
        assert found.other_mode["reference"].tolist() == known


def test_the_moment_of_a_close_is_that_of_its_place(store: Store, path: str) -> None:
    asked = CloseRequest(store=path, period="2026-03", mode="test")
    assert load.inputs(asked).as_of_at == datetime(2026, 2, 28, 21, tzinfo=UTC), "nothing is there"
    for number in (1, 2):
        store.record(observation(number))
        [change] = store.feed.changes(store.feed.head() - 1, limit=1)
        found = load.inputs(asked)
        assert (found.as_of, found.as_of_at) == (store.feed.head(), change.at)


def test_an_order_that_was_paid_long_ago_is_found_when_it_is_paid_again(
    store: Store, path: str, tmp_path: Path
) -> None:
    march = period("2026-03")
    long_ago, end = NOON - timedelta(days=120), march.ends - timedelta(seconds=30)
    now = {
        "first": march.begins, "last": end, "late": march.begins - timedelta(hours=3),
        "before": march.begins - timedelta(days=9), "after": march.ends,
        "was not paid": NOON, "is not paid": NOON, "once": NOON, "alone": long_ago,
    }  # fmt: skip
    for number, (name, at) in enumerate(now.items()):
        done: dict[str, Any] = {"status": "failed" if name == "is not paid" else "succeeded"}
        if name == "late":
            done |= {"completed_at": march.begins, "observed_at": march.begins + MINUTE}
        store.record(observation(2 * number, reference=name, created_at=at, **done))
        if name not in {"once", "alone"}:
            was: dict[str, Any] = {"status": "failed" if name == "was not paid" else "succeeded"}
            store.record(observation(2 * number + 1, reference=name, created_at=long_ago, **was))
    wide = march.widened(45)
    with store.bulk_read.snapshot() as found:
        days = {"since": march.begins, "until": march.ends, "before": wide.begins}
        assert found.paid_before(Mode.TEST, **days) == ["first", "last", "late"]
        assert found.paid_before(Mode.LIVE, **days) == []
    for mode in Mode:
        store.parquet.write(tmp_path / "out", mode)
    asked: dict[str, Any] = {"period": march, "before": wide}
    told = exported.paid_before(tmp_path / "out", mode=Mode.TEST, **asked)
    assert told == ["first", "last", "late"]
    assert exported.paid_before(tmp_path / "out", mode=Mode.LIVE, **asked) == []


def test_without_a_collection_there_is_no_latest_month(store: Store, path: str) -> None:
    with pytest.raises(ConfigurationError, match="no test collection"):
        load.inputs(CloseRequest(store=path))
    store.record(observation(1))
    assert (
        str(load.inputs(CloseRequest(store=path, period="newest")).period)
        == "2026-03-01 to 2026-03-31, EAT, cutoff 00:00"
    )


def test_the_latest_month_is_over_and_the_newest_may_still_run(store: Store, path: str) -> None:
    store.record(observation(1))
    store.record(observation(2, created_at=NOON + timedelta(days=30)))
    april = ManualClock(datetime(2026, 4, 10, tzinfo=UTC))
    assert load.inputs(CloseRequest(store=path), clock=april).period.first == date(2026, 3, 1)
    assert load.inputs(CloseRequest(store=path, period="newest"), clock=april).period.first == date(
        2026, 4, 1
    )
    # The first instant of May in East Africa: April is over.
    may = ManualClock(datetime(2026, 4, 30, 21, tzinfo=UTC))
    assert load.inputs(CloseRequest(store=path), clock=may).period.first == date(2026, 4, 1)
    store.parquet.write(Path(path).parent / "out", Mode.TEST)
    exported = str(Path(path).parent / "out")
    assert load.inputs(CloseRequest(store=exported, mode="test"), clock=april).period.first == date(
        2026, 3, 1
    )
    yesterday = load.inputs(CloseRequest(store=path, period="yesterday"), clock=april).period
    assert (yesterday.first, yesterday.last) == (date(2026, 4, 9), date(2026, 4, 9))


def test_a_month_that_runs_is_the_latest_where_there_is_no_other(store: Store, path: str) -> None:
    store.record(observation(1))
    running = ManualClock(NOON + timedelta(hours=1))
    assert load.inputs(CloseRequest(store=path), clock=running).period.first == date(2026, 3, 1)


def test_the_environment_names_store_and_mode(
    store: Store, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.record(observation(1, mode=Mode.LIVE))
    monkeypatch.setenv("KUSANYA_STORE", path)
    monkeypatch.setenv("KUSANYA_MODE", "live")
    made = load.inputs()
    assert (made.mode, len(made.frame)) == (Mode.LIVE, 1)
    assert path in made.source


def test_an_empty_store_gives_an_empty_frame_with_its_types(store: Store, path: str) -> None:
    made = load.inputs(CloseRequest(store=path, period="2026-03"), evidence=True)
    assert made.frame.dtypes.equals(columns.empty(COLLECTIONS).dtypes)
    assert len(made.frame) == 0


@pytest.mark.parametrize(
    "wrong", [{"mode": "both"}, {"period": "March"}, {"cutoff": "noon"}, {"as_of": 9}]
)
def test_what_cannot_be_meant_is_refused(store: Store, path: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        load.inputs(CloseRequest(store=path, **{"period": "2026-03", **wrong}))


def test_a_store_that_is_not_there_is_an_error_and_not_sample_data(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        load.inputs(CloseRequest(store=str(tmp_path / "none.db"), period="2026-03"))
