"""How often a watch notes that it runs, looks for its service and its store, and asks anew."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from kusanya.client import Client
from kusanya.client.effects import Failure
from kusanya.errors import StoreUnavailable
from kusanya.watch import PollResult, PollSettings, poll_open, poller
from kusanya.watch.contradicted import Contradictions

Rounds = Callable[..., list[PollResult]]
NOTHING = PollResult()


@pytest.fixture
def rounds(scene: Any) -> Rounds:
    """Return a way to make rounds, five seconds apart, as one watch; what they reported."""

    def make(count: int) -> list[PollResult]:
        told: list[PollResult] = []
        stops = scene.clock.paused_s + 5 * count
        stop = lambda: scene.clock.paused_s >= stops  # noqa: E731
        steps = poll_open(scene.store, scene.client.core, stop=stop, on_result=told.append)
        scene.client.run(steps)
        return told

    return make


def noted(scene: Any, part: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a list of the seconds at which a method of `part` is called from now on."""
    called: list[float] = []
    original, began = getattr(part, name), scene.clock.monotonic()

    def noting(*said: Any, **more: Any) -> Any:
        called.append(scene.clock.monotonic() - began)
        return original(*said, **more)

    monkeypatch.setattr(part, name, noting)
    return called


def test_it_notes_that_it_runs_twice_a_minute_and_at_once_when_the_service_falls_silent(
    scene: Any, rounds: Rounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    beats = noted(scene, scene.store.poll_leases, "record_poll", monkeypatch)
    rounds(13)
    assert beats == [0, 30, 60]


def test_it_notes_at_once_that_the_service_fell_silent(
    scene: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = scene.client.core
    monkeypatch.setattr(core, "whoami", lambda: iter(()))
    beats = noted(scene, scene.store.poll_leases, "record_poll", monkeypatch)
    told: list[PollResult] = []

    def hears(result: PollResult) -> None:
        told.append(result)
        if len(told) == 2:
            core.contact.silent_since = scene.clock.now()

    stop = lambda: len(told) == 9  # noqa: E731
    scene.client.run(poll_open(scene.store, core, stop=stop, on_result=hears))
    assert beats == [0, 10, 40]


def test_it_looks_whether_the_service_answers_where_nothing_else_was_asked_for_a_while(
    scene: Any, rounds: Rounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = noted(scene, scene.client.core, "whoami", monkeypatch)
    rounds(14)
    assert asked == [0, 20, 40, 60]


def test_it_asks_for_the_time_every_five_minutes_where_no_answer_says_it(
    scene: Any, rounds: Rounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = scene.client.core
    monkeypatch.setattr(type(core.contact), "is_older_than", lambda *_: False)
    monkeypatch.setattr(type(core.clock_check), "is_older_than", lambda *_: True)
    asked = noted(scene, core, "whoami", monkeypatch)
    rounds(121)
    assert asked == [0, 300, 600]


def test_payments_that_contradict_themselves_are_asked_about_twice_a_minute_at_the_most(
    scene: Any, rounds: Rounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = noted(scene, Contradictions, "ask", monkeypatch)
    told = rounds(13)
    assert asked == [0, 30, 60]
    assert told == [NOTHING] * 13


def test_after_a_question_without_an_answer_nothing_more_is_asked_in_the_round(
    scene: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.create(1)
    scene.advance(31)
    dead = Client(
        scene.service.test_key,
        base_url=scene.service.base_url,
        clock=scene.clock,
        transport=lambda request, within_s: Failure(left=False, why="no connection"),
    )
    asked = noted(scene, Contradictions, "ask", monkeypatch)
    resumed = noted(scene, poller, "resume_due", monkeypatch)
    told: list[PollResult] = []
    settings = PollSettings(resumes="shop")
    stop = lambda: bool(told)  # noqa: E731
    dead.run(poll_open(scene.store, dead.core, stop=stop, settings=settings, on_result=told.append))
    assert told[0].trouble is not None
    assert (asked, resumed) == ([], [])
    told.clear()
    run = scene.client.run
    run(
        poll_open(
            scene.store, scene.client.core, stop=stop, settings=settings, on_result=told.append
        )
    )
    assert (len(asked), len(resumed)) == (1, 1)


def test_a_store_that_is_away_is_tried_again_after_longer_and_longer_and_reported_once(
    scene: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, tried, began = scene.store.poll_leases.take, [], scene.clock.monotonic()

    def away(*said: Any, **more: Any) -> Any:
        tried.append(scene.clock.monotonic() - began)
        if len(tried) < 8:
            raise StoreUnavailable("the disk is full")
        return take(*said, **more)

    monkeypatch.setattr(scene.store.poll_leases, "take", away)
    told: list[PollResult] = []
    stop = lambda: len(told) == 2  # noqa: E731
    scene.client.run(poll_open(scene.store, scene.client.core, stop=stop, on_result=told.append))
    gaps = [later - earlier for earlier, later in pairwise(tried)]
    assert gaps == [5, 10, 20, 40, 60, 60, 60]
    assert [one.trouble for one in told] == ["the disk is full", None]
