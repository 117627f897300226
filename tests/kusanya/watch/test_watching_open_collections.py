"""The background poller: what it asks, how often, and what it makes of the answers."""

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy
from typing import Any

import msgspec
import pytest
from tests.kit.payments import polled

from kusanya.alarms.silence import detect_silence, load_silence
from kusanya.client import Client
from kusanya.client.effects import Failure
from kusanya.client.observations import answer_observation
from kusanya.clock import ManualClock
from kusanya.intents.polling import poll_collection
from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.records import Arrival, Verdict
from kusanya.watch import (
    FIRST_POLL,
    PollResult,
    PollSettings,
    next_poll,
    poll_once,
    poll_open,
)
from kusanya.wire import Mode, decode_collection

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
NEVER_FINISHES = "255754000010"


def _poll(scene: Any, by: str = "poller", **settings: Any) -> PollResult:
    steps = poll_once(scene.store, scene.client.core, by=by, settings=PollSettings(**settings))
    found: PollResult = scene.client.run(steps)
    return found


def test_nothing_is_asked_before_the_event_is_overdue(scene: Any) -> None:
    scene.create(1)
    assert _poll(scene).asked == 0
    scene.advance(29)
    assert _poll(scene).asked == 0


@pytest.mark.spec("service-3")
def test_a_final_state_without_an_event_is_learned_and_is_a_missing_event(scene: Any) -> None:
    made = scene.create(1)
    scene.advance(31)
    assert _poll(scene) == PollResult(asked=1, became_final=1, missing_events=1)
    row = scene.store.collections.get(made, Mode.TEST)
    assert (row.status, row.learned_from, row.missing_event) == ("succeeded", "poll", True)
    assert _poll(scene).asked == 0
    assert [fact.source for fact in scene.store.collections.observations(made, Mode.TEST)] == [
        Source.ANSWER,
        Source.POLL,
    ]


def test_each_question_is_a_line_on_a_logger_of_its_own(
    scene: Any, caplog: pytest.LogCaptureFixture
) -> None:
    made = scene.create(1, NEVER_FINISHES)
    scene.advance(31)
    caplog.set_level(logging.INFO, "kusanya.intents.polling.asked")
    assert _poll(scene).asked == 1
    [line] = [vars(one) for one in caplog.records if one.name == "kusanya.intents.polling.asked"]
    assert (line["collection_id"], line["status"], line["mode"]) == (made, "created", "test")


def test_a_collection_whose_event_came_is_not_asked_for(scene: Any) -> None:
    scene.create(1)
    scene.advance(31)
    scene.receive_all()
    assert _poll(scene).asked == 0


@pytest.mark.merge
def test_an_open_collection_is_asked_for_less_and_less_and_leaves_no_rows(scene: Any) -> None:
    made = scene.create(1, NEVER_FINISHES)
    asked = []
    for minute in range(6 * 60):
        scene.clock.at = NOON + timedelta(minutes=minute)
        asked.append(_poll(scene).asked)
    assert 5 <= sum(asked[:60]) <= 6
    assert sum(asked[60:]) <= 6
    assert len(scene.store.collections.observations(made, Mode.TEST)) == 1


def test_a_round_keeps_to_its_budget_and_the_next_goes_on(scene: Any) -> None:
    for number in range(7):
        scene.create(number, NEVER_FINISHES)
    scene.advance(31)
    before_s = scene.clock.paused_s
    assert [_poll(scene, budget=3).asked for _ in range(4)] == [3, 3, 1, 0]
    assert scene.clock.paused_s - before_s == pytest.approx(0.1 * 4)


def test_a_silent_service_ends_the_round_and_not_the_poller(scene: Any) -> None:
    for number in range(3):
        scene.create(number)
    scene.advance(31)
    dead = Client(
        scene.service.test_key,
        base_url=scene.service.base_url,
        clock=scene.clock,
        transport=lambda request, within_s: Failure(left=False, why="no connection"),
    )
    made = dead.run(poll_once(scene.store, dead.core, by="dead", settings=PollSettings()))
    assert (made.asked, made.became_final) == (1, 0)
    assert made.trouble == "the service cannot be reached (no connection): nothing was sent"
    assert _poll(scene).became_final == 3


def test_a_collection_that_the_service_does_not_know_is_counted_and_kept(scene: Any) -> None:
    made = scene.create(1)
    raw = scene.store.collections.observations(made, Mode.TEST)[0].collection.raw
    stranger = decode_collection(raw.replace(b"col_", b"col_9"))
    scene.store.record(answer_observation(stranger, key="elsewhere", at=scene.clock.now()))
    scene.advance(31)
    found = _poll(scene)
    assert (found.unknown, found.became_final) == (1, 1)
    assert scene.store.collections.get(stranger.id, Mode.TEST).status == "created"


def test_rounds_are_made_until_they_are_stopped(scene: Any) -> None:
    scene.create(1)
    scene.advance(31)
    results: list[PollResult] = []
    stop = lambda: len(results) == 3  # noqa: E731
    before_s = scene.clock.paused_s
    scene.client.run(poll_open(scene.store, scene.client.core, stop=stop, on_result=results.append))
    assert [made.became_final for made in results] == [1, 0, 0]
    assert scene.clock.paused_s - before_s == pytest.approx(10)


def test_looks_are_spread_and_end_an_hour_apart() -> None:
    gaps = [next_poll(polls=n, last_at=NOON, chance=0.5) - NOON for n in range(1, 9)]
    assert [gap.total_seconds() for gap in gaps] == [30, 60, 120, 300, 900, 3600, 3600, 3600]
    assert next_poll(polls=1, last_at=NOON, chance=0.0) - NOON == timedelta(seconds=22.5)
    assert next_poll(polls=1, last_at=NOON, chance=1.0) - NOON == timedelta(seconds=37.5)
    assert FIRST_POLL[Mode.LIVE] == timedelta(seconds=130)
    with pytest.raises(ValueError, match="from 1"):
        next_poll(polls=0, last_at=NOON, chance=0.5)


@pytest.mark.parametrize(
    ("missed", "arrival", "missing"),
    [
        pytest.param([], None, 0, id="nothing missed"),
        pytest.param([5], None, 0, id="one, just now"),
        pytest.param([60], None, 1, id="one, a minute ago"),
        pytest.param([3, 2, 1], None, 3, id="three at once"),
        pytest.param([300, 200, 100], 50, 0, id="something arrived since"),
        pytest.param([300, 61], 100, 1, id="only those after the last arrival"),
        pytest.param([300, 30, 20], 100, 0, id="two after it, both fresh"),
    ],
)
def test_the_silence_alarm_is_raised_for_finals_that_nothing_reported(
    missed: list[int], arrival: int | None, missing: int
) -> None:
    def ago(seconds: int) -> datetime:
        return NOON - timedelta(seconds=seconds)

    last = None if arrival is None else ago(arrival)
    alarm = detect_silence([ago(s) for s in missed], last_arrival_at=last, now=NOON)
    assert (alarm.missed if alarm else 0) == missing


def refused(*, at: datetime, collection_id: str | None = None) -> Arrival:
    return Arrival(
        arrived_at=at, endpoint="shop", observed_in=Mode.TEST, body=b"{}", headers=(),
        collection_id=collection_id,
        verdict=Verdict.REJECTED, reason="no_match", answer=400, took_us=0,
    )  # fmt: skip


def test_a_store_whose_endpoint_receives_nothing_alarms_within_a_minute(scene: Any) -> None:
    for number in range(3):
        scene.create(number)
    scene.advance(31)
    _poll(scene)
    alarm = load_silence(scene.store, Mode.TEST, now=scene.clock.now())
    assert alarm is not None
    assert (alarm.missed, alarm.last_arrival_at) == (3, None)
    assert alarm.refused_at is None
    [known, *_] = scene.store.collections.page(Mode.TEST).rows
    for named, refused_at in ((None, None), (known.id, scene.clock.now())):
        scene.store.record(refused(at=scene.clock.now(), collection_id=named))
        alarm = load_silence(scene.store, Mode.TEST, now=scene.clock.now())
        assert alarm is not None
        assert alarm.refused_at == refused_at, "a stranger's is no part of the answer"
    scene.advance(1)
    scene.receive_all()
    assert load_silence(scene.store, Mode.TEST, now=scene.clock.now()) is None


def test_a_poller_notes_how_far_its_clock_is_from_the_services(scene: Any) -> None:
    def noted() -> timedelta:
        left = iter((False, True))
        steps = poll_open(scene.store, scene.client.core, stop=lambda: next(left, True))
        scene.client.run(steps)
        offset: timedelta = scene.store.poll_leases.pollers(Mode.TEST)[0].clock_offset
        return offset

    assert abs(noted()) <= timedelta(seconds=1)
    scene.clock.at += timedelta(seconds=200)
    for _ in range(2):
        scene.clock.at += timedelta(seconds=1)
        scene.clock.paused_s += 400
        last = noted()
    assert abs(last + timedelta(seconds=201)) <= timedelta(seconds=2)


def test_what_a_catch_up_learns_after_the_endpoint_is_reached_again_is_no_silence(
    tmp_path: Path, empty_store: Path
) -> None:
    """An outage of an hour is over, a genuine event has come, and a poll finds the lost finals."""
    store = Store.open(copy(empty_store, tmp_path / "caught-up.db"), clock=ManualClock(NOON))
    down = NOON - timedelta(hours=2)
    for number in range(4):
        store.record(polled(number, down + timedelta(minutes=number), mode=Mode.TEST))
    assert load_silence(store, Mode.TEST, now=NOON) is not None
    store.record(
        msgspec.structs.replace(
            refused(at=NOON - timedelta(hours=1)),
            verdict=Verdict.UNPARSEABLE, reason="unreadable", answer=200,
        )
    )  # fmt: skip
    assert load_silence(store, Mode.TEST, now=NOON) is None
    late = polled(9, down + timedelta(minutes=30), mode=Mode.TEST)
    store.record(msgspec.structs.replace(late, observed_at=NOON - timedelta(minutes=2)))
    assert load_silence(store, Mode.TEST, now=NOON) is None
    store.close()


def test_a_round_ends_before_its_lease_so_that_no_other_poller_asks_the_same(
    scene: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service that answers slowly must not be asked twice about each payment."""
    for number in range(7):
        scene.create(number, NEVER_FINISHES)
    scene.advance(31)

    def slowly(*said: Any, **more: Any) -> Any:
        scene.advance(25)
        return poll_collection(*said, **more)

    monkeypatch.setattr("kusanya.watch.poller.poll_collection", slowly)
    began = scene.clock.now()
    slow = _poll(scene, by="slow")
    assert scene.clock.now() - began < timedelta(minutes=2)
    assert 0 < slow.asked < 7
    monkeypatch.undo()
    assert _poll(scene, by="other").asked >= 7 - slow.asked, "what it left is free at once"
