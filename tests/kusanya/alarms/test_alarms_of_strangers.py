"""What no secret of ours has signed lights no fuse and pages nobody; what may be ours is said."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from tests.kit.payments import by_event, polled
from tests.kit.watched_shop import WatchedShop, assert_no_phone

from kusanya.alarms.alarm import Alarm, Severity
from kusanya.alarms.inputs import load
from kusanya.alarms.rules import raised
from kusanya.clock import ManualClock
from kusanya.health.endpoints import load_endpoints
from kusanya.receiver.classification import classify
from kusanya.receiver.endpoints import Endpoints, EndpointSecrets
from kusanya.store import Store
from kusanya.webhooks import sign
from kusanya.wire import Mode

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
OURS, OTHERS = "whsec_" + "a" * 32, "whsec_" + "b" * 32


class Door:
    """A receiver's endpoint, and what comes to it."""

    def __init__(self, store: Store, clock: ManualClock) -> None:
        self.store, self.clock = store, clock
        self._endpoints = Endpoints([EndpointSecrets("shop", Mode.LIVE, [OURS])])

    def comes(self, body: bytes = b"hello", header: str | None = None) -> str | None:
        """Let a request come; return why it was refused."""
        headers = () if header is None else ((b"service-signature", header.encode()),)
        now = self.clock.now()
        arrival = classify(body, headers, arrived_at=now, endpoints=self._endpoints, path="shop")
        self.store.record(arrival)
        return arrival.reason

    def event(self, key: str, *, secret: str = OURS, ago_s: float = 0) -> str | None:
        """Let the event of a payment come, signed so long ago."""
        fact = by_event(key, self.clock.now() - timedelta(seconds=90))
        body = EVENT % {b"key": key.encode(), b"at": self.clock.now().isoformat().encode()}
        assert fact.event_id == f"evt_{key}"
        return self.comes(body, sign(body, secret, int(self.clock.now().timestamp() - ago_s)))

    def alarms(self) -> dict[str, Alarm]:
        """Return the alarms by their codes."""
        inputs = load(self.store, Mode.LIVE, now=self.clock.now())
        found = raised(inputs, format_time=lambda at: f"{at:%H:%M}")
        assert_no_phone(found)
        return {one.code: one for one in found}


EVENT = (
    b'{"id":"evt_%(key)s","type":"collection.succeeded","created_at":"%(at)s","mode":"live",'
    b'"data":{"id":"col_%(key)s","object":"collection","status":"succeeded","amount":1000,"fee":18,'
    b'"currency":"TZS","channel":"MPESA_TZ","phone":"255754123456","reference":"R-%(key)s",'
    b'"mode":"live","created_at":"%(at)s","completed_at":"%(at)s"}}'
)


@pytest.fixture
def door(tmp_path: Path, empty_store: Path) -> Iterator[Door]:
    clock = ManualClock(NOON)
    with Store.open(copy(empty_store, tmp_path / "store.db"), clock=clock) as store:
        yield Door(store, clock)


STRANGERS: dict[str, tuple[bytes, str | None]] = {
    "no signature": (b"hello", None),
    "a header of nothing": (b"hello", "nonsense"),
    "no v1": (b"hello", "t=1772625600"),
    "a digest of nothing": (b"hello", f"t={int(NOON.timestamp())},v1={'0' * 64}"),
    "an old digest of nothing": (b"hello", f"t=1,v1={'0' * 64}"),
    "an event of nobody, unsigned": (EVENT % {b"key": b"1", b"at": b"2026-03-04T12:00:00Z"}, None),
}


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("is_first", [True, False])
def test_strangers_light_no_fuse_and_page_nobody(door: Door, stranger: str, is_first: bool) -> None:
    if not is_first:
        assert door.event("good") is None
    for _ in range(99):
        assert door.comes(*STRANGERS[stranger])
    assert not door.alarms().keys() & {"failing", "noise", "unmatched", "silent"}
    found = load_endpoints(door.store, Mode.LIVE, now=door.clock.now())
    assert [one.failures for one in found] == ([] if is_first else [0])


@pytest.mark.merge
def test_a_flood_of_strangers_is_one_warning_that_leads_nowhere_else(door: Door) -> None:
    watched = WatchedShop(door.store, door.clock)
    watcher = watched.watcher()
    for _ in range(6):
        for _ in range(50):
            door.comes()
        watched.run([watcher], timedelta(minutes=1))
    watched.run([watcher], timedelta(minutes=30))
    assert watched.inbox.codes == ["noise"]
    alarm = door.alarms()["noise"]
    assert alarm.severity is Severity.WARNING
    assert "shop refused 300 requests" in alarm.sentence


@pytest.mark.parametrize("how", ["signed too long ago", "of a collection that we know"])
def test_what_the_service_can_have_sent_is_a_failure_of_ours(door: Door, how: str) -> None:
    fields: dict[str, Any] = {"status": "created", "completed_at": None}
    if how == "signed too long ago":
        assert door.event("1", ago_s=400) == "too_old"
    else:
        door.store.record(polled("1", door.clock.now(), **fields))
        assert door.event("1", secret=OTHERS) == "no_match"
    assert door.alarms()["failing"].severity is Severity.URGENT
    [found] = load_endpoints(door.store, Mode.LIVE, now=door.clock.now())
    assert found.failures == 1
    assert found.fuse.lit_at == NOON
    for _ in range(300):
        door.comes()
    [found] = load_endpoints(door.store, Mode.LIVE, now=door.clock.now())
    assert (found.failures, found.fuse.lit_at) == (1, NOON), "noise hides no failure"


def test_what_is_written_like_an_event_of_nobody_is_a_warning_about_the_secret(door: Door) -> None:
    assert door.event("9", secret=OTHERS) == "no_match"
    alarm = door.alarms()["unmatched"]
    assert alarm.severity is Severity.WARNING
    assert "1 request written like events" in alarm.sentence
    assert "failing" not in door.alarms()
    door.clock.sleep(timedelta(hours=3).total_seconds())
    assert "unmatched" not in door.alarms()


def test_an_old_delivery_that_was_changed_is_no_failure_of_our_clock(door: Door) -> None:
    body = EVENT % {b"key": b"1", b"at": b"2026-03-04T12:00:00Z"}
    header = sign(body, OURS, int(NOON.timestamp()) - 400)
    assert door.comes(body, header) == "too_old"
    assert door.comes(body + b" ", header) == "no_match"
