"""That the service does not answer is known within a minute, from whichever program asks it."""

from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

import pytest
from tests.kit.intents import begin_intent

from kusanya.alarms.inputs import load
from kusanya.alarms.rules import raised
from kusanya.client import Client
from kusanya.client.effects import Failure, Reply, Request, Response
from kusanya.errors import KusanyaError
from kusanya.health.service_silence import ServiceSilence, load_service_silence
from kusanya.intents import create_safely
from kusanya.watch.poller import poll_open
from kusanya.wire import Mode

DEAD = Failure(left=False, why="no connection")
MUTE = Failure(left=True, why="no answer in time")
BROKEN = Response(status=500, headers=(), body=b"oh", complete=True)


class Service:
    """The real service, or what stands in its way."""

    def __init__(self, scene: Any) -> None:
        self.scene = scene
        self.reply: Reply | None = None
        self.through = scene.client._send

    def __call__(self, request: Request, within_s: float) -> Reply:
        """Answer a request, or do not."""
        if self.reply is None:
            reply: Reply = self.through(request, within_s)
            return reply
        if self.reply is MUTE:
            self.scene.clock.at += timedelta(seconds=within_s)
        return self.reply


@pytest.fixture
def service(scene: Any) -> Service:
    return Service(scene)


@pytest.fixture
def client(scene: Any, service: Service) -> Client:
    return Client(
        scene.service.test_key,
        base_url=scene.service.base_url,
        clock=scene.clock,
        random=lambda: 0.5,
        transport=service,
    )


def watch(scene: Any, client: Client, *, seconds: float) -> None:
    """Let a poller run for so long; nothing is open, so it has nothing to ask but whether."""
    end = scene.clock.at + timedelta(seconds=seconds)

    def is_over() -> bool:
        scene.clock.at += timedelta(seconds=1)
        return bool(scene.clock.at >= end)

    client.run(poll_open(scene.store, client.core, stop=is_over))


def silence(scene: Any) -> ServiceSilence | None:
    now = scene.clock.now()
    pollers = scene.store.poll_leases.pollers(Mode.TEST)
    return load_service_silence(scene.store, Mode.TEST, pollers, now=now)


def begin(scene: Any, number: int) -> "Future[Any]":
    """Begin a creation now that has no answer."""
    at, reference = scene.clock.now(), f"busy-{number}"
    return begin_intent(
        scene.store, at=at, by="till", until=at, idempotency_key=reference, body=b"{}",
        mode=Mode.TEST, profile="shop", reference=reference, amount=1000, phone="255754000001",
    )  # fmt: skip


def codes(scene: Any) -> list[str]:
    """Return the codes of what is wrong, but for our clock: it alone is moved here."""
    inputs = load(scene.store, Mode.TEST, now=scene.clock.now())
    found = [one.code for one in raised(inputs, format_time=str)]
    return [code for code in found if code != "clock_skew"]


@pytest.mark.parametrize("reply", [DEAD, MUTE, BROKEN], ids=["dead", "mute", "answers 500"])
def test_a_watch_that_has_nothing_else_to_ask_knows_within_two_minutes_and_knows_the_end(
    scene: Any, service: Service, client: Client, reply: Reply
) -> None:
    watch(scene, client, seconds=60)
    assert silence(scene) is None
    service.reply, began = reply, scene.clock.now()
    for _ in range(4):
        watch(scene, client, seconds=30)
        if codes(scene) == ["service_silent"]:
            break
    assert codes(scene) == ["service_silent"]
    found = silence(scene)
    assert found is not None
    assert timedelta() <= found.since - began <= timedelta(seconds=35)
    assert not found.answers_others
    service.reply = None
    watch(scene, client, seconds=10)
    assert (silence(scene), codes(scene)) == (None, [])


def test_one_attempt_that_is_lost_among_others_that_are_answered_is_no_silence(
    scene: Any, service: Service, client: Client
) -> None:
    for _ in range(10):
        service.reply = DEAD
        watch(scene, client, seconds=3)
        service.reply = None
        watch(scene, client, seconds=10)
        assert codes(scene) == []


@pytest.fixture
def create(scene: Any, service: Service, client: Client) -> Callable[[int], None]:
    """Return what asks for one payment, answered or not."""

    def create(number: int) -> None:
        given: dict[str, Any] = {
            "amount": 1000,
            "phone": f"25575400000{number}",
            "reference": f"order-{number}",
        }
        try:
            create_safely(scene.store, client, **given)
        except KusanyaError:
            assert service.reply is not None

    return create


def test_where_a_watch_died_with_the_service_creations_since_its_last_note_tell(
    scene: Any, service: Service, client: Client, create: Callable[[int], None]
) -> None:
    watch(scene, client, seconds=60)
    service.reply, began = DEAD, scene.clock.now()
    for number in range(3):
        scene.clock.at += timedelta(seconds=8)
        create(number)
    assert silence(scene) is None
    scene.clock.at += timedelta(seconds=31)
    found = silence(scene)
    assert found is not None
    assert found.since - began == timedelta(seconds=8)
    assert codes(scene) == ["service_silent"], "within a minute"
    scene.store.poll_leases.record_poll(Mode.TEST, by="till-9:1:a")
    assert silence(scene) is None, "it answers a watch"


def test_what_was_made_before_a_watch_had_its_answer_tells_of_no_silence(scene: Any) -> None:
    for number in range(3):
        begin(scene, number).result()
    scene.store.poll_leases.record_poll(Mode.TEST, by="till-9:1:a")
    scene.clock.at += timedelta(seconds=60)
    assert silence(scene) is None
    scene.clock.at += timedelta(seconds=61)
    assert silence(scene) is not None, "the watch is long ago"


@pytest.mark.parametrize("every_s", [0.1, 1.0])
def test_however_busy_a_shop_is_creations_tell_of_a_silence_until_one_is_answered(
    scene: Any, service: Service, create: Callable[[int], None], every_s: float
) -> None:
    create(0)
    service.reply, began = DEAD, scene.clock.now()
    number = 0
    while scene.clock.now() - began < timedelta(seconds=60):
        number += 1
        scene.clock.at += timedelta(seconds=every_s)
        begun = begin(scene, number)
    begun.result()
    found = silence(scene)
    assert found is not None
    assert found.since - began <= timedelta(seconds=every_s)
    assert codes(scene) == ["service_silent"]
    service.reply = None
    create(9)
    assert silence(scene) is None


def test_where_nobody_watches_creations_in_a_row_without_an_answer_tell(
    scene: Any, service: Service, create: Callable[[int], None]
) -> None:
    create(0)
    service.reply, began = DEAD, scene.clock.now()
    for number in (1, 2):
        scene.clock.at += timedelta(seconds=10)
        create(number)
    scene.clock.at += timedelta(seconds=31)
    assert silence(scene) is None, "two may be an accident"
    create(3)
    scene.clock.at += timedelta(seconds=31)
    found = silence(scene)
    assert found is not None
    assert found.since == began + timedelta(seconds=10)
    assert codes(scene) == ["service_silent"]
    scene.clock.at += timedelta(minutes=10) - timedelta(seconds=31)
    assert silence(scene) is not None, "the newest was made ten minutes ago"
    scene.clock.at += timedelta(milliseconds=1)
    assert silence(scene) is None, "nobody has asked for long"
    service.reply = None
    create(4)
    scene.clock.at += timedelta(seconds=31)
    assert silence(scene) is None


def test_a_service_that_answers_one_of_our_machines_is_not_dead(
    scene: Any, service: Service, client: Client
) -> None:
    service.reply = DEAD
    watch(scene, client, seconds=60)
    scene.store.poll_leases.record_poll(Mode.TEST, by="till-9:1:a")
    found = silence(scene)
    assert found is not None
    assert found.answers_others
    scene.clock.at += timedelta(seconds=60)
    [alarm] = [
        one
        for one in raised(load(scene.store, Mode.TEST, now=scene.clock.now()), format_time=str)
        if one.code == "service_silent"
    ]
    assert "and answers our other machines" in alarm.sentence
