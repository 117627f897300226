"""No secret and no full phone in anything that people or machines get to see.

One merchant's day with marked secrets and a marked phone: paid, refused, forged, broken, looked up,
exported. Everything that was logged, shown, raised or written for others is then searched.
"""

import logging
import queue
import re
import socket
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from tests.proofs.kit.deliveries import Sender, request_of

from kusanya.client import Client
from kusanya.domain.business_day import day_start
from kusanya.errors import KusanyaError, StoreUnavailable
from kusanya.health.report import health
from kusanya.intents import create_safely, resume
from kusanya.lookup import find, load_timeline
from kusanya.profiles import load
from kusanya.receiver import EndpointSecrets, app
from kusanya.receiver.endpoints import Endpoints
from kusanya.receiver.serve import RunningReceiver, serve
from kusanya.state.anomalies import anomalies
from kusanya.store import Store
from kusanya.store.records import Arrival, DeliveryCommit
from kusanya.webhooks import SignatureError, verify
from kusanya.webhooks.forensics import explain
from kusanya.wire import Mode
from kusanya_service.testing import PaymentService, payment_service  # noqa: F401 - a fixture

PHONE: Final = "255754987123"
SUBSCRIBER: Final = re.compile(r"7[\s.-]*5[\s.-]*4[\s.-]*9[\s.-]*8[\s.-]*7[\s.-]*1[\s.-]*2[\s.-]*3")
"""The marked number, however it is written."""
PASSWORD: Final = "canary-password-of-the-database"


class Sightings:
    """Everything that somebody could get to see, by where it was seen."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str]] = []

    def add(self, where: str, what: object) -> None:
        """Keep a text, or what is shown of any other object."""
        shown = [what] if isinstance(what, str) else [repr(what), str(what), f"{what}"]
        self.texts.extend((where, text) for text in shown)

    @contextmanager
    def error(self, where: str, kind: type[Exception]) -> Iterator[None]:
        """Run what must fail, and keep the message and the traceback."""
        try:
            yield
        except kind as error:
            self.add(where, error)
            self.add(f"{where}: traceback", "".join(traceback.format_exception(error)))
        else:
            pytest.fail(f"{where} did not fail")

    def singing(self, canaries: dict[str, str]) -> list[str]:
        """Return where a canary was seen."""
        found = [
            f"{name} in {where}: {text[:300]}"
            for name, canary in canaries.items()
            for where, text in self.texts
            if canary in text
        ]
        found += [f"phone in {w}: {t[:300]}" for w, t in self.texts if SUBSCRIBER.search(t)]
        return found


class Keeper(logging.Handler):
    """Keeps whatever anybody logs, on every level."""

    def __init__(self, seen: Sightings) -> None:
        super().__init__(logging.NOTSET)
        self._seen = seen

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record as a handler without any filter would write it."""
        self._seen.add(f"log of {record.name}", self.format(record))


@pytest.fixture
def seen() -> Iterator[Sightings]:
    """Return the collection of all that was seen, with everything that is logged from now on."""
    made = Sightings()
    root = logging.getLogger()
    keeper, level = Keeper(made), root.level
    root.addHandler(keeper)
    root.setLevel(logging.NOTSET)
    yield made
    root.setLevel(level)
    root.removeHandler(keeper)


@contextmanager
def receiving(store: Store, secret: str, seen: Sightings) -> Iterator[RunningReceiver]:
    """Run a receiver on loopback and keep what it tells its program."""
    ready: queue.Queue[RunningReceiver] = queue.Queue()

    def received(arrival: Arrival, commit: DeliveryCommit) -> None:
        seen.add("arrival", arrival)
        seen.add("commit", commit)

    endpoint = EndpointSecrets("shop", Mode.TEST, [secret])
    seen.add("endpoint", endpoint)
    seen.add("endpoints", Endpoints.of(endpoint))
    seen.add("receiver", app(store, endpoint))
    thread = threading.Thread(
        target=serve,
        args=(app(store, endpoint, on_receipt=received),),
        kwargs={"on_ready": ready.put},
    )
    thread.start()
    serving = ready.get(timeout=30)
    try:
        yield serving
    finally:
        serving.stop()
        thread.join(30)
        assert not thread.is_alive()


def answers(port: int, seen: Sightings, *requests: bytes) -> None:
    """Keep whole answers of the receiver."""
    for request in requests:
        with socket.create_connection(("127.0.0.1", port), 10) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            received = b""
            while part := connection.recv(65_536):
                received += part
        seen.add("answer of the receiver", received.decode())


def sell(client: Client, store: Store, service: Any, seen: Sightings) -> None:
    """Create, lose answers, be refused, pay."""
    seen.add("client", client)
    made = create_safely(
        store, client, amount=5000, phone="0754 987 123", reference="order-1", description="Tea"
    )
    for part in (made, made.intent, made.collection, made.collection.response):
        seen.add("creation", part)
    service.advance(30)
    paid = client.get_collection(made.collection.id)
    seen.add("collection", paid)
    seen.add("event", client.get_event(service.deliveries[0].event["id"]))
    seen.add("principal", client.whoami())
    seen.add("resumed", resume(store, client, made.intent.id))
    with seen.error("reused key", KusanyaError):
        client.create_collection(
            amount=1, phone=PHONE, reference="x", idempotency_key=made.intent.idempotency_key
        )
    with seen.error("repeated reference", KusanyaError):
        create_safely(store, client, amount=5000, phone=PHONE, reference="order-1")
    with seen.error("impossible phone", ValueError):
        client.create_collection(amount=1, phone=PHONE + "9", reference="x")
    with seen.error("refused request", KusanyaError):
        client.create_collection(amount=10**15, phone=PHONE, reference="order-2")
    with seen.error("unknown collection", KusanyaError):
        client.get_collection("col_unknown")


def lose(service: Any, store: Store, seen: Sightings, key: str) -> None:
    """Use a key that is refused, and a service that is not there."""
    with Client(key + "x", base_url=service.base_url) as stranger:
        seen.add("client", stranger)
        with seen.error("refused API key", KusanyaError):
            create_safely(store, stranger, amount=5000, phone=PHONE, reference="order-3")
    with (
        Client(key, base_url="http://127.0.0.1:1", timeout=0.5, max_attempts=1) as alone,
        seen.error("no service", KusanyaError),
    ):
        create_safely(store, alone, amount=5000, phone=PHONE, reference="order-4")


def deliver(bodies: list[bytes], secret: str, port: int, seen: Sightings) -> None:
    """Deliver genuine, forged, repeated and broken bodies, and look at the pages."""
    with Sender(port) as sender:
        for body in bodies:
            assert sender.deliver(body) == 400
            assert sender.send(request_of(body, secret=secret)) == 200
            assert sender.send(request_of(body, secret=secret)) == 200
            assert sender.send(request_of(body[:-1], secret=secret)) == 200
            other = body.replace(b'"test"', b'"live"')
            assert sender.send(request_of(other, secret=secret)) == 400
            assert sender.send(request_of(body, secret=secret, at=1.0)) == 400
    forged = request_of(bodies[0], secret=secret + "x")
    pages = (b"GET /metrics HTTP/1.1\r\n\r\n", b"GET /healthz HTTP/1.1\r\n\r\n")
    answers(port, seen, forged, *pages)
    header = f"t=1,v1={'0' * 64}"
    with seen.error("signature", SignatureError):
        verify(bodies[0], header, secret)
    seen.add("forensics", explain(bodies[0], header, secret))


def look(store: Store, seen: Sightings) -> None:
    """Look at everything that a console or a notebook shows."""
    now = datetime.now(UTC)
    seen.add("store", store)
    seen.add("store", store.url_shown)
    deliveries = store.deliveries.page(Mode.TEST)
    seen.add("deliveries", deliveries)
    for delivery in deliveries.rows:
        seen.add("delivery body", store.deliveries.body(delivery.id))
    page = store.collections.page(Mode.TEST)
    assert page.rows
    seen.add("collections", page)
    for row in page.rows:
        facts = store.collections.observations(row.id, row.mode)
        state = store.collections.state(row.id, row.mode)
        assert state is not None
        for part in (row, state, *facts, load_timeline(store, row.id, row.mode, now=now)):
            seen.add("collection", part)
        seen.add("anomalies", anomalies(state, facts, now=now))
    for intent in store.intents.page().rows:
        seen.add("intent", intent)
        seen.add("attempts", store.intents.attempts(intent.id))
    seen.add("health", health(store, Mode.TEST, now=now))
    for asked in ("order-1", "0754 987 123", "5000", "754987"):
        found = find(store, asked, mode=Mode.TEST, now=now, day=day_start)
        # What was typed is shown to whoever typed it; what was found is not his yet.
        seen.add("lookup", (found.matches, found.trouble))
    seen.add("changes", list(store.feed.changes(0, limit=1000)))
    seen.add("findings", store.maintenance.check())


def open_elsewhere(seen: Sightings, folder: Path, secret: str, key: str) -> None:
    """Open stores and profiles that cannot be used, and show those that can."""
    address = f"postgresql://merchant:{PASSWORD}@127.0.0.1:1/kusanya"
    with seen.error("no database", StoreUnavailable):
        Store.open(address)
    with seen.error("no such driver", StoreUnavailable):
        Store.open(address.replace("postgresql", "mysql"))
    environ = {
        "KUSANYA_API_KEY": key,
        "KUSANYA_WEBHOOK_SECRET": secret,
        "KUSANYA_STORE": address,
        "XDG_CONFIG_HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "HOME": str(folder),
    }
    seen.add("profile", load(environ=environ))


def export(store: Store, folder: Path, seen: Sightings) -> None:
    """Export and read every cell again."""
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    store.parquet.write(folder, Mode.TEST)
    files = list(folder.rglob("*.parquet"))
    assert files
    for file in files:
        seen.add("export", str(parquet.ParquetFile(file).read().to_pylist()))


def test_no_secret_and_no_full_phone_is_seen_anywhere(
    payment_service: PaymentService,  # noqa: F811 - the fixture's name
    seen: Sightings,
    tmp_path: Path,
) -> None:
    service, secret = payment_service, payment_service.signing_secret
    canaries = {
        "API key": service.test_key,
        "signing secret": secret,
        "password": PASSWORD,
        "dashboard token": service.dashboard_token,
    }
    with (
        Store.open(tmp_path / "store.db") as store,
        Client(service.test_key, base_url=service.base_url) as client,
        receiving(store, secret, seen) as serving,
    ):
        sell(client, store, service, seen)
        lose(service, store, seen, service.test_key)
        deliver([captured.body for captured in service.deliveries], secret, serving.port, seen)
        look(store, seen)
        export(store, tmp_path / "export", seen)
        open_elsewhere(seen, tmp_path, secret, service.test_key)
        assert seen.singing(canaries) == []
        # That the search finds what is there: an audited act shows the phone, and is audited.
        collection = store.collections.page(Mode.TEST).rows[0].id
        phone = store.audit.reveal_phone(
            collection, Mode.TEST, actor="till 4", why="the customer asked"
        )
        seen.add("reveal", phone)
        assert len(seen.singing(canaries)) == 1
        assert store.audit.page().rows[0].act


@pytest.mark.parametrize("spelling", [PHONE, "0754987123", "+255 754 987 123", "754-987-123"])
def test_the_search_knows_every_spelling(spelling: str) -> None:
    seen = Sightings()
    seen.add("somewhere", f"call {spelling} now")
    assert len(seen.singing({})) == 1


def test_the_search_finds_secrets_in_what_is_shown() -> None:
    seen = Sightings()
    seen.add("somewhere", {"authorization": "Bearer svc_test_sk_1"})
    assert seen.singing({"API key": "svc_test_sk_1"})
