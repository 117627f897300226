"""On PostgreSQL each program of a shop works with the login that the pages name, and no more."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.kit.roles import logins_of
from tests.kusanya.intents.conftest import FakeService, TickingClock, clock, service
from tests.kusanya.outcomes.http_shop import http_shop

from kusanya import channels, orders
from kusanya.client import Client
from kusanya.client.observations import poll_observation
from kusanya.errors import KusanyaError, RulingRefused, StoreError
from kusanya.intents.ruling import ruling
from kusanya.outcomes import Consumer, Forwarder, Kind, Outcome, ddl
from kusanya.privacy.secret import Secret
from kusanya.store import Store
from kusanya.watch.contradicted import Contradictions
from kusanya.watch.poller import PollSettings, poll_once
from kusanya.wire import Mode, decode_collection

__all__ = ["clock", "service"]
pytestmark = pytest.mark.postgres
SECRET = "whsec_" + "bmV3" * 10
As = Callable[[str], Any]


class Team:
    """A store on PostgreSQL, its logins, and the service."""

    def __init__(self, login: Callable[[str], str], service: FakeService) -> None:
        self._login, self.service = login, service

    @contextmanager
    def opened(self, role: str) -> Iterator[Store]:
        """Open the store with the login of a role."""
        with Store.open(self._login(role), clock=self.service.clock, create=False) as store:
            yield store

    def client(self) -> Client:
        """Return a client of the service."""
        return Client(
            "svc_test_sk_aaaa", base_url="https://pay.example", transport=self.service,
            clock=self.service.clock, random=lambda: 0.5, max_attempts=1,
        )  # fmt: skip

    def ends(self, collection_id: str, status: str) -> None:
        """Let a collection end, and let a poller with its own login learn it."""
        self.service.clock.sleep(1)
        fields = {"status": status, "completed_at": self.service.clock.now().isoformat()}
        self.service.collections[collection_id] |= {"failure_code": None, **fields}
        with self.opened("ask") as store:
            raw = self.client().get_collection(collection_id).raw
            at = self.service.clock.now()
            store.record(poll_observation(decode_collection(raw), at=at, observed_in=Mode.TEST))


@pytest.fixture
def team(postgres_url: str, clock: TickingClock) -> Iterator[Team]:
    Store.open(postgres_url, clock=clock).close()
    with logins_of(postgres_url) as login:
        yield Team(login, FakeService(clock))


def paid(team: Team, reference: str = "INV-1") -> str:
    """Let an order be paid by the shop's login, and return its collection."""
    with team.opened("act") as store:
        order = orders.pay(store, team.client(), reference, amount=5000, phone="0754 000 001")
        assert order.collection is not None
    team.ends(order.collection.id, "succeeded")
    return order.collection.id


@pytest.mark.merge
def test_who_asks_consumes_and_who_acts_adds_and_decides_what_is_parked(
    team: Team, tmp_path: Path
) -> None:
    with team.opened("ask") as store, pytest.raises(StoreError):
        store.outcomes.add("shipping", mode=Mode.TEST, begin=None, all_=True, actor="x")
    with team.opened("act") as store:
        store.outcomes.add("shipping", mode=Mode.TEST, begin=None, all_=True, actor="x")
    paid(team)
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as shop, shop:
        shop.execute(ddl("sqlite"))
    shipped: list[str] = []

    @contextmanager
    def connect() -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(path)) as shop, shop:
            yield shop

    with team.opened("ask") as store:
        consumer = Consumer(store, "shipping", mode=Mode.TEST)

        @consumer.on(*Kind)
        def ship(outcome: Outcome, tx: Any) -> None:
            shipped.append(outcome.reference)

        assert consumer.drain(connect) == 1
        with pytest.raises(StoreError):
            store.outcomes.replay("shipping", since=store.clock.now() - timedelta(1), actor="x")
    assert shipped == ["INV-1"]
    with team.opened("act") as store:
        since = store.clock.now() - timedelta(days=1)
        assert store.outcomes.replay("shipping", since=since, actor="x") == 1


def test_who_asks_forwards(team: Team) -> None:
    with team.opened("act") as store:
        store.outcomes.add("forward", mode=Mode.TEST, begin=None, all_=True, actor="x")
    paid(team)
    with (
        http_shop(SECRET) as shop,
        team.opened("ask") as store,
        Forwarder(
            store, "forward", mode=Mode.TEST, url=shop.url, secrets=[Secret(SECRET)]
        ) as forwarder,
    ):
        assert forwarder.drain() == 1


def test_a_watch_that_resumes_acts_and_says_that_the_service_is_silent(team: Team) -> None:
    now = team.service.clock.now()
    with team.opened("ask") as store:
        store.poll_leases.record_poll(Mode.TEST, by="till-3:1:a", silent_since=now)
        [poller] = store.poll_leases.pollers(Mode.TEST)
        assert poller.silent_since == now
        store.poll_leases.record_poll(Mode.TEST, by="till-3:1:a")
    with team.opened("act") as store:
        client = team.client()
        team.service.collections.clear()
        settings = PollSettings(resumes="main")
        made = client.run(poll_once(store, client.core, by="till-3:1:a", settings=settings))
        assert made.trouble is None


def test_the_channels_are_told_to_who_asks(team: Team) -> None:
    paid(team)
    with team.opened("ask") as store:
        assert {one.state.value for one in channels.now(store, mode=Mode.TEST)} == {"ok"}


def test_only_who_decides_rules_and_a_watch_that_is_told_to(team: Team) -> None:
    made = paid(team)
    team.ends(made, "expired")
    for role, allowed in (("ask", False), ("act", False), ("decide", True)):
        with team.opened(role) as store:
            client = team.client()
            steps = ruling(store, client.core, made, mode=Mode.TEST, why="seen")
            if allowed:
                assert client.run(steps).is_ruled
            else:
                with pytest.raises(KusanyaError) as refused:
                    client.run(steps)
                assert isinstance(refused.value, RulingRefused | StoreError)
    team.ends(made, "succeeded")
    team.service.clock.sleep(61)
    with team.opened("act") as store:
        client = team.client()
        watch = Contradictions(store, client.core, Mode.TEST, rules=True)
        ruled = 0
        for _ in range(3):
            team.service.clock.sleep(61)
            ruled += client.run(watch.ask())
        assert ruled == 1
