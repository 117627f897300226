"""A real store on each engine, and a network between it and a service in memory.

The fake is the network and what lies behind it, never the store. It keeps every request that left,
checks on each that its intent was durable first, and can lose, delay and refuse.
"""

import itertools
import json
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import pytest
from tests.kusanya.intents.orders import ORDER

from kusanya.client import Client
from kusanya.client.effects import Effects, Failure, Reply, Request, Response, run_blocking
from kusanya.errors import OutcomeUnknown
from kusanya.intents import create_safely
from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.wire import Mode, decode_event

NOON: Final = datetime(2026, 3, 2, 12, tzinfo=UTC)
RETENTION: Final = timedelta(hours=24)
KEY: Final = "svc_test_sk_4242"


class TickingClock:
    """Time that a test sets; pauses pass at once."""

    def __init__(self) -> None:
        self.at = NOON
        self.elapsed_s = 0.0

    def now(self) -> datetime:
        """Return the time the test has set."""
        return self.at

    def monotonic(self) -> float:
        """Return the seconds passed so far."""
        return self.elapsed_s

    def sleep(self, seconds: float) -> None:
        """Let the pause pass at once."""
        self.pass_by(timedelta(seconds=seconds))

    async def asleep(self, seconds: float) -> None:
        """Let the pause pass at once."""
        self.sleep(seconds)

    def pass_by(self, delta: timedelta) -> None:
        """Let time pass."""
        self.at += delta
        self.elapsed_s += delta.total_seconds()


class Fault(StrEnum):
    """What happens to one request."""

    NONE = "none"
    NO_CONNECTION = "no connection"
    LOST_REQUEST = "lost before the service had it"
    LOST_ANSWER = "lost after the service acted"
    FAILED_BEFORE = "500 before anything was kept"
    FAILED_AFTER = "500 after the service acted"
    NOT_NOW = "429"
    BUSY = "409, another reason"
    REDIRECT = "307"
    KEY_REFUSED = "401"
    WENT_ASTRAY = "404"
    GATEWAY_GAVE_UP = "408 from between, after the service acted"
    TOO_EARLY = "425 from between, before the service had it"
    GATEWAY_HUNG_UP = "499 from between, after the service acted"
    BLOCK_PAGE = "403 with a page of HTML, after the service acted"
    BARE_REFUSAL = "400 without a word, after the service acted"
    LOGIN_PAGE = "404 with a page of HTML, before the service had it"


_ANSWERED_WITHOUT_ACTING: Final = {
    Fault.FAILED_BEFORE: 500,
    Fault.NOT_NOW: 429,
    Fault.BUSY: 409,
    Fault.REDIRECT: 307,
    Fault.KEY_REFUSED: 401,
    Fault.WENT_ASTRAY: 404,
}


_PAGE: Final = b"<html><body>Access denied</body></html>"
_FROM_BETWEEN: Final = {
    Fault.GATEWAY_GAVE_UP: (408, b'{"error": {"code": "request_timeout"}}'),
    Fault.TOO_EARLY: (425, b""),
    Fault.GATEWAY_HUNG_UP: (499, b""),
    Fault.BLOCK_PAGE: (403, _PAGE),
    Fault.BARE_REFUSAL: (400, b"{}"),
    Fault.LOGIN_PAGE: (404, _PAGE),
}
_NEVER_ARRIVED: Final = {Fault.TOO_EARLY, Fault.LOGIN_PAGE}


class SentRequest(NamedTuple):
    """One request that left, and when."""

    key: str
    body: bytes
    at: datetime


class FakeService:
    """What the specification says of creates and GETs, in memory, behind a faulty network."""

    def __init__(self, clock: TickingClock) -> None:
        self.clock = clock
        self.collections: dict[str, dict[str, Any]] = {}
        self.made_by: dict[str, str] = {}
        """For each collection the key that made it."""
        self.arrived: list[SentRequest] = []
        self.faults: list[Fault] = []
        self.looks = 0
        """How often somebody asked what something is."""
        self.is_away = False
        """Whether nobody answers a GET."""
        self.names_answers = False
        """Whether each answer to a GET has a name of its own, by which polls are told apart."""
        self.witness: Store | None = None
        """Where every create must be durable before it leaves."""
        self._kept: dict[str, tuple[datetime, str, bytes]] = {}

    def __call__(self, request: Request, within_s: float) -> Reply:
        """Carry one request."""
        if request.method == "GET":
            return self._get(request)
        return self._post(request)

    def _post(self, request: Request) -> Reply:
        fault = self.faults.pop(0) if self.faults else Fault.NONE
        key, body = request.idempotency_key or "", request.body or b""
        self._check_durable(key, body)
        if fault is Fault.NO_CONNECTION:
            return Failure(left=False, why="no connection")
        self.arrived.append(SentRequest(key, body, self.clock.now()))
        if fault is Fault.LOST_REQUEST:
            return Failure(left=True, why="no answer in time")
        if fault in _ANSWERED_WITHOUT_ACTING:
            return _answer(_ANSWERED_WITHOUT_ACTING[fault])
        reply = _from_between(fault) if fault in _NEVER_ARRIVED else self._create(key, body)
        if fault in _FROM_BETWEEN:
            return _from_between(fault)
        if fault is Fault.LOST_ANSWER:
            return Failure(left=True, why="no answer in time")
        return _answer(500) if fault is Fault.FAILED_AFTER else reply

    def _create(self, key: str, body: bytes) -> Reply:
        kept = self._kept.get(key)
        if kept is not None and self.clock.now() - kept[0] < RETENTION:
            if kept[1] != body.decode():
                return _answer(409, {"error": {"code": "idempotency_key_reused"}})
            headers = ((b"Idempotent-Replayed", b"true"),)
            return Response(status=202, headers=headers, body=kept[2])
        asked = json.loads(body)
        if asked["phone"] == "255700000422":
            return _answer(422, {"error": {"code": "invalid_request", "param": "phone"}})
        made = self._new(f"col_{len(self.collections) + 1}", asked)
        self.collections[made["id"]] = made
        self.made_by[made["id"]] = key
        answer = json.dumps(made).encode()
        self._kept[key] = (self.clock.now(), body.decode(), answer)
        return Response(status=202, headers=(), body=answer)

    def _new(self, collection_id: str, asked: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": collection_id,
            "object": "collection",
            "status": "created",
            "fee": 60,
            "currency": "TZS",
            "channel": "MPESA_TZ",
            "mode": "test",
            "created_at": self.clock.now().isoformat(),
            **asked,
        }

    def _get(self, request: Request) -> Reply:
        self.looks += 1
        if self.is_away:
            return Failure(left=True, why="no answer in time")
        found = self.collections.get(request.path.rpartition("/")[2])
        reply = _answer(404) if found is None else _answer(200, found)
        named = ((b"request-id", b"req_%d" % self.looks),) if self.names_answers else ()
        return Response(status=reply.status, headers=named, body=reply.body)

    def _check_durable(self, key: str, body: bytes) -> None:
        if self.witness is None:
            return
        intent = self.witness.intents.by_key(Mode.TEST, "main", key)
        assert intent is not None, "a create left before its intent was durable"
        assert intent.body == body, "other bytes left than were made durable"
        last = self.witness.intents.attempts(intent.id)[-1]
        assert last.ended_at is None, "an attempt left before it was durable"

    def create_elsewhere(self, collection_id: str, *, reference: str) -> None:
        """Create a collection that no request of ours asked for."""
        asked = {"amount": 5000, "phone": "255754000001", "reference": reference}
        self.collections[collection_id] = self._new(collection_id, asked)

    def pay(self, collection_id: str) -> None:
        """Let the customer pay."""
        self.collections[collection_id]["status"] = "succeeded"
        self.collections[collection_id]["completed_at"] = self.clock.now().isoformat()

    def event(self, collection_id: str) -> Observation:
        """Return what a verified delivery of the collection's event says."""
        data = {**self.collections[collection_id], "status": "succeeded"}
        event = decode_event(
            json.dumps(
                {
                    "id": collection_id.replace("col_", "evt_"),
                    "type": "collection.succeeded",
                    "created_at": data["created_at"],
                    "mode": "test",
                    "data": {**data, "completed_at": data["created_at"]},
                }
            ).encode()
        )
        return Observation(
            source=Source.EVENT,
            source_id=event.id,
            observed_at=self.clock.now(),
            observed_in=Mode.TEST,
            collection=event.data,
            event_id=event.id,
            event_type=event.type,
            event_created_at=event.created_at,
        )


def _answer(status: int, body: Any = None) -> Response:
    document = body or {"error": {"code": f"word_for_{status}"}}
    return Response(status=status, headers=(), body=json.dumps(document).encode())


def _from_between(fault: Fault) -> Response:
    status, body = _FROM_BETWEEN[fault]
    return Response(status=status, headers=(), body=body)


class Killed(BaseException):
    """The process ended here."""


def run_killed(client: Client, steps: Effects[Any], *, after: int, done: bool) -> Any:
    """Carry out steps and die at effect number `after` (from 0), once it is `done` or before it."""
    effect = next(steps)
    for number in itertools.count():
        if number == after and not done:
            raise Killed
        outcome, trouble = None, None
        try:
            outcome = run_blocking(client._perform(effect))
        except Exception as error:  # noqa: BLE001 - the steps decide
            trouble = error
        if number == after:
            raise Killed
        try:
            effect = steps.send(outcome) if trouble is None else steps.throw(trouble)
        except StopIteration as stop:
            return stop.value
    raise AssertionError("count() never ends")


@pytest.fixture
def store_role(request: pytest.FixtureRequest) -> str:
    """Return the role of who creates and consumes, with which the pages say that a shop works."""
    marker = request.node.get_closest_marker("role")
    return "act" if marker is None else str(marker.args[0])


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a store that does not exist yet, on each engine."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
def clock() -> TickingClock:
    """Return a clock that stands at noon."""
    return TickingClock()


@pytest.fixture
def store(
    store_url: str, clock: TickingClock, tmp_path: Path, empty_store: Path
) -> Iterator[Store]:
    """Return a fresh store."""
    path = tmp_path / "store.db"
    if store_url.startswith("sqlite:") and not path.exists():
        shutil.copy(empty_store, path)
    with Store.open(store_url, clock=clock) as opened:
        yield opened


@pytest.fixture
def service(store: Store, clock: TickingClock) -> FakeService:
    """Return a service whose every create is checked against the store."""
    made = FakeService(clock)
    made.witness = store
    return made


class Clients:
    """Makes clients, as every start of a process does."""

    def __init__(self, service: FakeService) -> None:
        self.service = service
        self.clock = service.clock

    def __call__(self, **options: Any) -> Client:
        """Return a new client in front of the service."""
        settings = {
            "api_key": KEY,
            "base_url": "http://127.0.0.1:9",
            "random": lambda: 0.5,
            "transport": self.service,
            **options,
        }
        return Client(clock=self.clock, **settings)


@pytest.fixture
def new_client(service: FakeService) -> Clients:
    """Return a way to make clients."""
    return Clients(service)


@pytest.fixture
def play() -> SimpleNamespace:
    """Return the vocabulary of these tests, for files that import nothing from here."""
    return SimpleNamespace(
        Fault=Fault,
        Killed=Killed,
        FakeService=FakeService,
        TickingClock=TickingClock,
        run_killed=run_killed,
        key=KEY,
    )


@pytest.fixture
def lose_the_answer(store: Store, new_client: Any, service: FakeService) -> Callable[[], None]:
    """Return what creates the order, and loses the answer after the service acted."""

    def lose() -> None:
        service.faults = [Fault.LOST_ANSWER]
        with pytest.raises(OutcomeUnknown):
            create_safely(store, new_client(max_attempts=1), **ORDER)

    return lose
