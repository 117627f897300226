"""A fresh store on each engine, facts to put into it, and a store whose files a test harms."""

import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec.structs import replace

from kusanya.clock import ManualClock
from kusanya.state.observation import Dispute, Observation, Source
from kusanya.store import Store
from kusanya.store.records import Arrival, Verdict
from kusanya.wire import Event, Mode, decode_collection, decode_event

if TYPE_CHECKING:
    # Programs that tests start read this file, and find no other of the tests.
    from tests.kit.databases import Databases

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Make:
    """Facts as they would come over the wire; every field can be said otherwise."""

    noon = NOON

    def body(self, number: int, **said: Any) -> bytes:
        """Return the raw bytes of an event."""
        created = said.pop("created_at", NOON + timedelta(seconds=number))
        status = said.pop("status", "succeeded")
        mode = said.pop("mode", "test")
        event_id = said.pop("event_id", f"evt_{number}")
        spaces = said.pop("spaces", False)
        data = {
            "id": f"col_{number}",
            "object": "collection",
            "status": status,
            "amount": 5000,
            "fee": 50,
            "currency": "TZS",
            "channel": "MPESA_TZ",
            "phone": f"2557540{number % 100_000:05d}",
            "reference": f"INV-{number:06d}",
            "mode": mode,
            "created_at": created,
            **({} if status == "created" else {"completed_at": created + timedelta(seconds=15)}),
            **said,
        }
        body = msgspec.json.encode(
            {
                "id": event_id,
                "type": f"collection.{status}",
                "created_at": created + timedelta(seconds=15),
                "mode": mode,
                "data": data,
            }
        )
        return body + b" " if spaces else body

    def event(self, number: int, **said: Any) -> Event:
        """Return a decoded event with its raw bytes."""
        return decode_event(self.body(number, **said))

    def observation(
        self,
        number: int,
        *,
        source: Source = Source.EVENT,
        at: datetime | None = None,
        source_id: str | None = None,
        observed_in: Mode | None = None,
        **said: Any,
    ) -> Observation:
        """Return an observation from `source`, heard a second after the event."""
        if source is Source.ANSWER:
            said.setdefault("status", "created")
        event = self.event(number, **said)
        from_event = source in {Source.EVENT, Source.EVENT_CHECK}
        return Observation(
            source=source,
            source_id=source_id or (event.id if from_event else f"{source.value}-{number}"),
            observed_at=at or event.created_at + timedelta(seconds=1),
            observed_in=observed_in or event.mode,
            collection=decode_collection(event.data.raw),
            event_id=event.id if from_event else None,
            event_type=event.type if from_event else None,
            event_created_at=event.created_at if from_event else None,
        )

    def arrival(self, number: int, *, at: datetime | None = None, **said: Any) -> Arrival:
        """Return a verified delivery of an event."""
        body = self.body(number, **said)
        event = decode_event(body)
        arrived_at = at or event.created_at + timedelta(seconds=1)
        return Arrival(
            arrived_at=arrived_at,
            endpoint="shop",
            observed_in=event.mode,
            body=body,
            headers=((b"service-signature", b"t=1,v1=ab"), (b"x-odd", b"\xff\x00")),
            verdict=Verdict.VERIFIED,
            signed_at=event.created_at,
            secrets_tried=1,
            event_id=event.id,
            event_type=event.type,
            event_created_at=event.created_at,
            event_mode=event.mode.value,
            collection_id=event.data.id,
            reference=event.data.reference,
            amount=event.data.amount,
            currency=event.data.currency,
            observation=self.observation(number, at=arrived_at, **said),
            answer=200,
            took_us=700,
        )

    def disputed(self, arrival: Arrival, *, observed_in: Mode) -> Arrival:
        """Return a delivery as an endpoint of another mode than its event's judges it."""
        assert arrival.observation is not None
        fact = replace(arrival.observation, observed_in=observed_in, disputed=Dispute.OTHER_MODE)
        return replace(
            arrival,
            observed_in=observed_in,
            verdict=Verdict.WRONG_MODE,
            reason="wrong_mode",
            observation=fact,
        )

    def rejected(self, number: int, *, reason: str = "wrong_digest", size: int = 100) -> Arrival:
        """Return a forged delivery."""
        return Arrival(
            arrived_at=NOON + timedelta(milliseconds=number),
            endpoint="shop",
            observed_in=Mode.TEST,
            body=number.to_bytes(8, "big") + b"x" * (size - 8),
            headers=(),
            verdict=Verdict.REJECTED,
            reason=reason,
            answer=400,
            took_us=90,
        )


@pytest.fixture(scope="session")
def make() -> Make:
    """Return the maker of facts."""
    return Make()


@pytest.fixture
def prepared() -> bool:
    """Return whether an empty store is there already: most tests need not wait for migrations."""
    return True


@pytest.fixture
def postgres_url(databases: "Databases", prepared: bool) -> Iterator[str]:
    """Return the address of a fresh database."""
    with databases.fresh(prepared=prepared) as address:
        yield address


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path, prepared: bool) -> str:
    """Return the address of a store, on each engine."""
    if request.param == "sqlite":
        path = tmp_path / "store.db"
        if prepared:
            shutil.copyfile(request.getfixturevalue("empty_store"), path)
        return f"sqlite:///{path}"
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock that stands at noon."""
    return ManualClock(NOON)


Opener = Callable[..., Store]


@pytest.fixture
def open_store(url: str, clock: ManualClock) -> Iterator[Opener]:
    """Return a way to open the store any number of times; all are closed at the end."""
    opened: list[Store] = []

    def opener(**options: Any) -> Store:
        opened.append(Store.open(url, **{"clock": clock, **options}))
        return opened[-1]

    yield opener
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Opener) -> Store:
    """Return a fresh, open store."""
    return open_store()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the store is to be."""
    return tmp_path / "store.db"


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory, make: Any) -> Path:
    """Return a folder with a closed store that has been at work, an older state and a backup."""
    from tests.kusanya.store.store_files import checkpoint, copy, take

    path = tmp_path_factory.mktemp("worked") / "store.db"
    with Store.open(path) as store:
        take(store, make, range(10))
        checkpoint(path)
        copy(path, path.with_name("older.db"))
        take(store, make, range(10, 20))
        store.maintenance.backup(path.with_name("backup.db"))
    return path.parent


@pytest.fixture
def running(worked: Path, path: Path, make: Any) -> Iterator[Store]:
    """Return an open store that is at work, with backups beside it."""
    from tests.kusanya.store.store_files import take

    for name in ("store.db", "older.db", "backup.db"):
        shutil.copy(worked / name, path.with_name(name))
    with Store.open(path) as store:
        take(store, make, range(20, 30))
        yield store
