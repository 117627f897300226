"""The sender's own log beside what was inferred, and resending, with the real embedded service."""

import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.console.looking import AtRest, OpenConsole, press, shown

from kusanya.clock import ManualClock
from kusanya.privacy.secret import Secret
from kusanya.store import Store
from kusanya.store.records import DeliveryRow, Verdict
from kusanya.wire import Event, Mode, decode_event
from kusanya_console.actions.queries import ServiceQueries
from kusanya_console.actions.results import ActionResult
from kusanya_console.actions.store_actions import StoreActions
from kusanya_console.application.app import ConsoleApp
from kusanya_console.deliveries.sender import compare
from kusanya_console.sandbox.dashboard.client import DashboardClient
from kusanya_console.sandbox.dashboard.reader import ServiceReader
from kusanya_console.sandbox.dashboard.records import SentAttempt, SentDelivery
from kusanya_service.options import Options
from kusanya_service.testing import PaymentService, running_service
from kusanya_service.testing.capturing_endpoint import CapturingEndpoint, Reply

Build = Callable[..., ConsoleApp]
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
SENDER = ("left_square_bracket",)
WIDE = (160, 50)


@pytest.fixture
def service() -> Iterator[PaymentService]:
    endpoint = CapturingEndpoint()
    with tempfile.TemporaryDirectory() as folder:
        options = Options(
            data=Path(folder), clock="virtual", seed=1, starts_at=NOON,
            allow_local=(endpoint.place,),
        )  # fmt: skip
        try:
            with running_service(options, endpoint=endpoint) as running:
                yield running
        finally:
            endpoint.close()


@pytest.fixture
def dashboard(service: PaymentService) -> Iterator[DashboardClient]:
    with DashboardClient(service.dashboard_url, Secret(service.dashboard_token)) as made:
        yield made


def sent_once(service: PaymentService) -> Event:
    """Let one payment come to its end and return the event that was sent."""
    service.create({"amount": 5000, "phone": "255754000001", "reference": "order-1"})
    service.advance(30)
    return decode_event(service.deliveries[0].body)


@pytest.mark.anyio
async def test_the_senders_log_agrees_with_what_arrived(
    opened: OpenConsole, seed: Any, service: PaymentService, dashboard: DashboardClient,
    at_rest: AtRest,
) -> None:  # fmt: skip
    event = sent_once(service)
    seed.delivered(event, at=event.created_at)
    async with opened(size=WIDE, mode=Mode.TEST, service=ServiceReader(dashboard)) as (app, pilot):
        await press(pilot, at_rest, "2", *SENDER)
        said = shown(app)
        assert "▸sender" in said
        assert "agrees with what arrived here" in said
        assert "● succeeded" in said
        assert service.endpoint.url in said


@pytest.mark.anyio
async def test_where_the_senders_log_differs_it_says_how(
    opened: OpenConsole, seed: Any, service: PaymentService, dashboard: DashboardClient,
    at_rest: AtRest,
) -> None:  # fmt: skip
    service.endpoint.reply = lambda _captured: Reply(status=503)
    event = sent_once(service)
    service.advance(60)
    seed.delivered(
        event, at=event.created_at, verdict=Verdict.REJECTED, reason="no_match", answer=400
    )
    async with opened(size=WIDE, mode=Mode.TEST, service=ServiceReader(dashboard)) as (app, pilot):
        await press(pilot, at_rest, "2", *SENDER)
        said = shown(app)
        assert "≠ differs in " in said
        assert "≠ we answered 400" in said
        assert "≠ answered 503, but not kept by this receiver" in said
        assert "not seen" in said
        assert "◌ pending" in said
        service.dashboard(
            "DELETE", "endpoints/" + service.dashboard("GET", "endpoints")["data"][0]["id"]
        )
        app.screen._sender_at = -9.0  # type: ignore[attr-defined] # long ago
        app._show_status()
        await at_rest(pilot)
        assert "✕ failed: given up" in shown(app), "it was asked again by itself"


@pytest.mark.anyio
async def test_an_event_that_the_sender_never_made_is_unknown_to_its_log(
    opened: OpenConsole, seed: Any, clock: ManualClock, dashboard: DashboardClient, at_rest: AtRest
) -> None:
    made = seed.collection(1, at=clock.now(), mode=Mode.TEST, status="succeeded")
    forged = replace(seed.event(made, at=clock.now()), id="evt_../../keys?x")
    seed.delivered(forged, at=clock.now(), verdict=Verdict.REJECTED, reason="no_match", answer=400)
    async with opened(size=WIDE, mode=Mode.TEST, service=ServiceReader(dashboard)) as (app, pilot):
        await press(pilot, at_rest, "2", *SENDER)
        lines = (line.rsplit("│", 1) for line in shown(app).split("\n"))
        text = " ".join(line[1].strip() for line in lines if len(line) > 1)
        assert "The sender has no delivery of this event: it knows no such event" in text


@pytest.mark.anyio
async def test_a_sender_that_does_not_answer_is_reported_and_blanks_nothing(
    console: Build, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.life(0, at=clock.now() - timedelta(minutes=1))
    with DashboardClient("http://127.0.0.1:1/dashboard/", Secret("dash_nobody")) as nobody:
        app = console(service=ServiceReader(nobody))
        async with app.run_test(size=WIDE) as pilot:
            await at_rest(pilot)
            await press(pilot, at_rest, "2", *SENDER)
            assert "the dashboard does not answer" in shown(app)
            assert "● verified" in shown(app)


@pytest.mark.anyio
async def test_a_resent_event_stands_in_the_senders_log_as_sent_by_hand(  # noqa: PLR0917 - fixtures
    opened: OpenConsole, store: Store, seed: Any, clock: ManualClock, service: PaymentService,
    dashboard: DashboardClient, at_rest: AtRest,
) -> None:  # fmt: skip
    event = sent_once(service)
    seed.delivered(event, at=event.created_at)
    actions = StoreActions(store, actor="asha", clock=clock, profile="main", dashboard=dashboard)
    async with opened(
        size=WIDE, mode=Mode.TEST, actions=actions, service=ServiceReader(dashboard)
    ) as (
        app,
        pilot,
    ):
        await press(pilot, at_rest, "2", "R", "tab", "enter")
        assert f"resent {event.id}: attempt 2 answered 200" in shown(app)
        await press(pilot, at_rest, "escape", *SENDER)
        assert "by hand" in shown(app)
    assert len(service.deliveries) == 2


def known_by_polling(service: PaymentService, seed: Any, n: int) -> str:
    """Let a payment come to its end, known from a poll alone; return its event's id."""
    service.create({"amount": 5000, "phone": "255754000001", "reference": f"order-{n}"})
    service.advance(30)
    event = decode_event(service.deliveries[-1].body)
    seed.polled(event.data, at=event.created_at)
    return event.id


@pytest.mark.anyio
async def test_a_missing_event_is_resent_by_its_payment(  # noqa: PLR0917 - fixtures
    opened: OpenConsole, store: Store, seed: Any, clock: ManualClock, service: PaymentService,
    dashboard: DashboardClient, at_rest: AtRest,
) -> None:  # fmt: skip
    event_id = known_by_polling(service, seed, 1)
    actions = StoreActions(store, actor="asha", clock=clock, profile="main", dashboard=dashboard)
    async with opened(size=WIDE, mode=Mode.TEST, actions=actions) as (app, pilot):
        await press(pilot, at_rest, "2", "R")
        assert "not known here: the sender is asked by the payment" in shown(app)
        assert len(service.deliveries) == 1
        await press(pilot, at_rest, "tab", "enter")
        assert f"resent {event_id}: attempt 2 answered 200" in shown(app)
    assert [one.event["id"] for one in service.deliveries] == [event_id] * 2
    assert store.audit.page().rows[0].act == "resend"


@pytest.mark.anyio
async def test_many_missing_events_are_resent_together(  # noqa: PLR0917 - fixtures
    opened: OpenConsole, store: Store, seed: Any, clock: ManualClock, service: PaymentService,
    dashboard: DashboardClient, at_rest: AtRest,
) -> None:  # fmt: skip
    ids = [known_by_polling(service, seed, n) for n in range(3)]
    actions = StoreActions(store, actor="asha", clock=clock, profile="main", dashboard=dashboard)
    async with opened("2", "asterisk", "R", size=WIDE, mode=Mode.TEST, actions=actions) as (
        app,
        pilot,
    ):
        assert "3: the sender is asked by payment" in shown(app)
        await press(pilot, at_rest, "3", "enter")
        assert "resent 3 of 3" in shown(app)
    assert sorted(one.event["id"] for one in service.deliveries[3:]) == sorted(ids)


class _QueriesOfNobody(ServiceQueries):
    """Asks nobody, and remembers for what."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def ask_collection(self, collection_id: str) -> ActionResult:
        self.asked.append(collection_id)
        return ActionResult("asked: it is failed")


@pytest.mark.anyio
@pytest.mark.parametrize("with_dashboard", [True, False])
async def test_where_the_sender_has_no_such_event_the_payment_is_asked_for(  # noqa: PLR0917 - fixtures
    opened: OpenConsole, store: Store, seed: Any, clock: ManualClock, dashboard: DashboardClient,
    at_rest: AtRest, *, with_dashboard: bool,
) -> None:  # fmt: skip
    at = clock.now() - timedelta(minutes=2)
    missed = seed.collection(1, at=at, mode=Mode.TEST, status="failed", completed_at=at)
    seed.polled(missed, at=at)
    queries = _QueriesOfNobody()
    actions = StoreActions(
        store, actor="asha", clock=clock, profile="main",
        dashboard=dashboard if with_dashboard else None,
    )  # fmt: skip
    async with opened("2", "R", size=WIDE, mode=Mode.TEST, actions=actions, queries=queries) as (
        app,
        pilot,
    ):
        if with_dashboard:
            await press(pilot, at_rest, "tab", "enter")
            assert f"nothing was resent for {missed.id}: the sender has no delivery" in shown(app)
        else:
            assert "the service has no resend; asked: it is failed" in shown(app)
    assert queries.asked == [missed.id]


@pytest.mark.anyio
async def test_a_missing_event_that_can_neither_be_resent_nor_asked_for_says_why(
    opened: OpenConsole, store: Store, seed: Any, clock: ManualClock
) -> None:
    at = clock.now() - timedelta(minutes=2)
    seed.polled(seed.collection(1, at=at, mode=Mode.TEST, status="failed", completed_at=at), at=at)
    actions = StoreActions(store, actor="asha", clock=clock, profile="main")
    async with opened("2", "R", size=WIDE, mode=Mode.TEST, actions=actions) as (app, _pilot):
        said = shown(app)
        assert "the service has no resend for merchants" in said
        assert "its next attempt: " in said
    assert store.audit.page().rows == ()


def _attempt(number: int, after: float, *, code: int | None = 200, **fields: Any) -> SentAttempt:
    at = NOON + timedelta(seconds=after)
    usual: dict[str, Any] = {
        "number": number, "started_at": at, "ended_at": at + timedelta(milliseconds=20),
        "outcome": "succeeded" if code == 200 else "failed", "status_code": code,
    }  # fmt: skip
    return SentAttempt(**usual | fields)


def _delivery(*attempts: SentAttempt) -> SentDelivery:
    return SentDelivery(
        id="del_1", event_id="evt_1", endpoint_id="we_1", url="https://x.example", mode="live",
        status="pending", attempts=attempts,
    )  # fmt: skip


def _arrival(store: Store, seed: Any, after: float, *, answer: int = 200) -> DeliveryRow:
    at = NOON + timedelta(seconds=after)
    made = seed.collection(1, at=NOON, status="succeeded", completed_at=NOON)
    verdict = Verdict.VERIFIED if answer == 200 else Verdict.REJECTED
    seed.delivered(seed.event(made, at=NOON), at=at, answer=answer, verdict=verdict)
    return store.deliveries.page(Mode.LIVE, limit=1).rows[0]


def test_what_reached_nobody_and_was_seen_by_nobody_is_no_difference(
    store: Store, seed: Any
) -> None:
    second = _arrival(store, seed, 61)
    found = compare(
        [_delivery(_attempt(1, 0.5, code=None, error="connect_failed"), _attempt(2, 60.9))],
        [second],
    )
    assert found.differences == 0
    assert [one.arrival for one in found.deliveries[0].attempts] == [None, second]


def test_an_answer_that_the_sender_never_received_is_one(store: Store, seed: Any) -> None:
    first = _arrival(store, seed, 0.6)
    found = compare([_delivery(_attempt(1, 0.5, code=None, error="timeout"))], [first])
    [one] = found.deliveries[0].attempts
    assert one.differs == "we answered 200; the sender received no answer"


def test_an_arrival_that_no_attempt_explains_is_a_stranger(store: Store, seed: Any) -> None:
    known, stranger = _arrival(store, seed, 0.6), _arrival(store, seed, 30)
    found = compare([_delivery(_attempt(1, 0.5))], [known, stranger])
    assert found.strangers == (stranger,)
    assert found.differences == 1


def test_a_number_that_was_inferred_otherwise_is_named(store: Store, seed: Any) -> None:
    second = _arrival(store, seed, 61)
    found = compare([_delivery(_attempt(3, 60.9))], [second])
    assert found.deliveries[0].attempts[0].differs == "inferred here as try 2"
    by_hand = compare([_delivery(_attempt(3, 60.9, manual=True))], [second])
    assert by_hand.differences == 0
