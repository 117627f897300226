"""After downtime: everything not final and every event not double-checked, bounded, resumable."""

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kusanya.client import AsyncClient, Client
from kusanya.client.effects import Failure
from kusanya.errors import OutcomeUnknown
from kusanya.intents import create_safely
from kusanya.state.observation import Source
from kusanya.store.records import IntentState
from kusanya.watch import PollSettings, poll_once
from kusanya.watch.catch_up import CatchUpResult, Progress, catch_up, catch_up_async
from kusanya.wire import Mode


@pytest.mark.spec("delivery-5")
def test_everything_not_final_is_asked_for_and_progress_is_reported(scene: Any) -> None:
    ids = [scene.create(number) for number in range(3)]
    ids.append(scene.create(9, "255754000010"))
    scene.advance(3600)
    reports: list[Progress] = []
    found = catch_up(scene.store, scene.client, progress=reports.append)
    assert found == CatchUpResult(
        asked=4, became_final=3, missing_events=3, missed=tuple(ids[:3]), still_open=1
    )
    assert reports == [Progress(done=n, total=4) for n in (1, 2, 3, 4)]
    assert [scene.store.collections.get(made, Mode.TEST).status for made in ids] == [
        "succeeded"
    ] * 3 + ["created"]


def test_events_are_double_checked_once(scene: Any) -> None:
    made = [scene.create(number) for number in range(3)]
    scene.advance(60)
    scene.receive_all()
    assert catch_up(scene.store, scene.client) == CatchUpResult(events_checked=3)
    facts = [fact.source for fact in scene.store.collections.observations(made[0], Mode.TEST)]
    assert facts == [Source.ANSWER, Source.EVENT, Source.EVENT_CHECK]
    assert catch_up(scene.store, scene.client) == CatchUpResult()


def test_an_event_that_the_service_denies_is_named(scene: Any) -> None:
    made = scene.create(1)
    scene.advance(60)
    scene.receive_all(amount=999_999)
    found = catch_up(scene.store, scene.client)
    assert found.events_differing == (scene.service.deliveries[0].event["id"],)
    state = scene.store.collections.state(made, Mode.TEST)
    assert state.contradictions


def test_an_event_that_the_service_does_not_know_is_named(scene: Any) -> None:
    scene.create(1)
    scene.advance(60)
    scene.receive(scene.service.deliveries[0].body.replace(b"evt_", b"evt_9"))
    found = catch_up(scene.store, scene.client)
    assert found.events_checked == 0
    assert found.unknown == (scene.service.deliveries[0].event["id"].replace("evt_", "evt_9"),)


def test_a_service_that_fails_stops_it_and_the_next_run_goes_on(scene: Any) -> None:
    for number in range(12):
        scene.create(number)
    scene.advance(60)
    left = [5]

    def fading(request: Any, within_s: float) -> Any:
        left[0] -= 1
        if left[0] < 0:
            return Failure(left=True, why="no answer in time")
        return scene.client._send(request, within_s)

    failing = Client(
        scene.service.test_key,
        base_url=scene.service.base_url,
        clock=scene.clock,
        transport=fading,
        max_attempts=1,
    )
    stopped = catch_up(scene.store, failing)
    assert (stopped.asked, stopped.became_final) == (8, 5)
    assert stopped.stopped == "no usable answer: no answer in time"
    assert (stopped.unanswered, stopped.trouble) == (3, stopped.stopped)
    assert (len(stopped.unanswered_ids), stopped.left, stopped.complete) == (3, 4, False)
    assert catch_up(scene.store, scene.client).became_final == 7


def test_one_question_without_an_answer_is_reported_although_nothing_stopped(scene: Any) -> None:
    scene.create(1)
    nobody = Client(
        scene.service.test_key,
        base_url=scene.service.base_url,
        clock=scene.clock,
        transport=lambda _request, _within_s: Failure(left=False, why="Connection refused"),
        max_attempts=1,
    )
    found = catch_up(scene.store, nobody)
    assert (found.asked, found.still_open, found.unanswered, found.stopped) == (1, 0, 1, None)
    assert len(found.unanswered_ids) == 1
    assert found.trouble == "the service cannot be reached (Connection refused): nothing was sent"


def test_it_asks_no_more_than_its_limit(scene: Any) -> None:
    for number in range(5):
        scene.create(number)
    scene.advance(60)
    some = catch_up(scene.store, scene.client, limit=2)
    assert (some.asked, some.left, some.complete) == (2, 3, False)
    rest = catch_up(scene.store, scene.client)
    assert (rest.asked, rest.left, rest.complete) == (3, 0, True)


def test_every_page_is_asked_about_and_no_more_than_one_is_held(
    scene: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(7):
        scene.create(number, "255754000010")
    for number in range(7, 14):
        scene.create(number)
    scene.advance(60)
    read: list[int] = []

    def seen(original: Any) -> Any:
        def ask(*arguments: Any, **keywords: Any) -> Any:
            page = original(*arguments, **keywords)
            read.append(len(page.rows))
            return page

        return ask

    monkeypatch.setattr(
        scene.store.collections, "still_open", seen(scene.store.collections.still_open)
    )
    found = catch_up(scene.store, scene.client, page=3)
    missed = found.missed
    assert len(set(missed)) == 7
    assert found == CatchUpResult(
        asked=14, became_final=7, missing_events=7, missed=missed, still_open=7
    )
    assert max(read) == 3
    scene.receive_all()
    assert catch_up(scene.store, scene.client, page=3).events_checked == 7


def test_several_at_once_read_every_page_once(scene: Any) -> None:
    for number in range(20):
        scene.create(number)
    scene.advance(60)

    async def scenario() -> CatchUpResult:
        async with AsyncClient(
            scene.service.test_key, base_url=scene.service.base_url, clock=scene.clock
        ) as client:
            return await catch_up_async(scene.store, client, at_once=5, page=3)

    found = asyncio.run(scenario())
    missed = found.missed
    assert len(set(missed)) == 20
    assert found == CatchUpResult(asked=20, became_final=20, missing_events=20, missed=missed)


def test_what_is_left_after_a_stop_is_counted_on_every_page(scene: Any) -> None:
    for number in range(12):
        scene.create(number)
    scene.advance(60)
    nobody = Client(
        scene.service.test_key,
        base_url=scene.service.base_url,
        clock=scene.clock,
        transport=lambda _request, _within_s: Failure(left=False, why="Connection refused"),
        max_attempts=1,
    )
    found = catch_up(scene.store, nobody, page=2)
    assert (found.asked, found.unanswered, found.left) == (3, 3, 9)
    assert found.stopped is not None


def test_it_resolves_intents_whose_collections_it_finds(scene: Any) -> None:
    # 255754000014: accepted, and the connection is cut after the commit.
    hasty = Client(
        scene.service.test_key,
        base_url=scene.service.base_url,
        clock=scene.clock,
        max_attempts=1,
    )
    with hasty, pytest.raises(OutcomeUnknown):
        create_safely(scene.store, hasty, amount=5000, phone="255754000014", reference="lost")
    scene.advance(60)
    scene.receive_all()
    found = catch_up(scene.store, scene.client)
    assert found.resolved == 1
    # Scripts read the name that --json has had from the first.
    assert msgspec.json.decode(msgspec.json.encode(found))["settled"] == 1
    [intent] = scene.store.intents.page().rows
    assert intent.state is IntentState.SETTLED


def test_several_at_once_learn_the_same(scene: Any) -> None:
    for number in range(20):
        scene.create(number)
    scene.advance(60)

    async def scenario() -> CatchUpResult:
        async with AsyncClient(
            scene.service.test_key, base_url=scene.service.base_url, clock=scene.clock
        ) as client:
            return await catch_up_async(scene.store, client, at_once=5)

    found = asyncio.run(scenario())
    missed = found.missed
    assert len(set(missed)) == 20
    assert found == CatchUpResult(asked=20, became_final=20, missing_events=20, missed=missed)


@pytest.mark.parametrize("asks", ["catch up", "watch"])
def test_what_the_other_mode_says_of_an_id_does_not_keep_us_from_asking(
    scene: Any, asks: str
) -> None:
    made = scene.create(1)
    scene.advance(31)
    fact = scene.store.collections.observations(made, Mode.TEST)[0]
    ended = replace(fact.collection, status="expired", mode=Mode.LIVE)
    scene.store.record(replace(fact, observed_in=Mode.LIVE, collection=ended))
    if asks == "catch up":
        assert catch_up(scene.store, scene.client).became_final == 1
    else:
        core = scene.client.core
        found = scene.client.run(poll_once(scene.store, core, by="a", settings=PollSettings()))
        assert found.became_final == 1
    row = scene.store.collections.get(made, Mode.TEST)
    assert (row.status, row.contradictions) == ("succeeded", 1)
