"""Deliveries by month: nothing is refused for its date, and what is let go changes no figure."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import text

from kusanya.alarms.alarm import Alarm
from kusanya.alarms.inputs import load
from kusanya.alarms.rules import raised
from kusanya.clock import ManualClock
from kusanya.store import Store, move_store
from kusanya.store.tables import delivery_months
from kusanya.store.tables.delivery_months import AHEAD, month_begin
from kusanya.store.tables.engine import engines
from kusanya.wire import Mode

Opener = Callable[..., Store]
LAST_YEAR = datetime(2025, 11, 5, 9, tzinfo=UTC)


@pytest.fixture
def prepared() -> bool:
    """Begin with nothing: the clock of these tests says which months there are."""
    return False


def months(url: str) -> dict[str, int]:
    """Return the tables of deliveries on a server, each with its rows."""
    found = engines(url)
    with found.reading() as connection:
        names = [part.name for part in delivery_months.parts(connection)]
        rows = {
            name: connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one()  # noqa: S608 - names of ours
            for name in (*names, "delivery_other")
        }
    found.dispose()
    return rows


def holding(url: str) -> dict[str, int]:
    return {name: rows for name, rows in months(url).items() if rows}


def fill(store: Store, make: Any) -> None:
    """Keep six events of three months, and a repeat and a forgery of each."""
    for number in range(6):
        at = month_begin(make.noon, later=number // 2) + timedelta(days=10, hours=number)
        store.record(make.arrival(number, at=at, created_at=at))
        store.record(make.arrival(number, at=at + timedelta(hours=1), created_at=at))
        store.record(replace(make.rejected(number), arrived_at=at))


def figures(store: Store, make: Any) -> Any:
    since, until = make.noon, make.noon + timedelta(days=150)
    return (
        store.rollups.deliveries(Mode.TEST, since=since, until=until),
        store.rollups.collections(Mode.TEST, since=since, until=until),
        store.collections.page(Mode.TEST),
        [store.events.get(f"evt_{number}") for number in range(6)],
    )


def test_deliveries_of_months_that_are_over_go_and_nothing_else_does(
    open_store: Opener, make: Any, url: str, tmp_path: Path
) -> None:
    store = open_store()
    fill(store, make)
    before = figures(store, make)
    # In the midst of May: March and April are over.
    until = month_begin(make.noon, later=2) + timedelta(days=12)
    assert store.retention.forget_deliveries(before=until) == 12
    assert store.retention.forget_deliveries(before=until) == 0
    assert figures(store, make) == before
    assert {row.event_id for row in store.deliveries.page(Mode.TEST).rows} == {
        "evt_4", "evt_5", None
    }  # fmt: skip
    assert store.maintenance.check() == ()
    changed = store.maintenance.rebuild()
    assert (changed.collections, changed.rollups) == (0, 0)
    # The place of the rest in the feed is as it was, and what is new comes after it.
    places = [change.seq for change in store.feed.changes(0)]
    assert places == sorted(places)
    first = month_begin(make.noon) + timedelta(days=10)
    again = store.record(make.arrival(0, created_at=first, at=make.noon + timedelta(days=99)))
    assert (again.verdict, again.seq) == ("repeat", store.feed.head())
    copied = store.maintenance.copy(tmp_path / "copy.db", as_of=make.noon + timedelta(days=200))
    assert copied.facts > 0
    with Store.open(tmp_path / "copy.db", read_only=True) as copy:
        assert copy.maintenance.check() == ()
        assert figures(copy, make)[:3] == figures(store, make)[:3]
        assert copy.events.get("evt_0") == store.events.get("evt_0")
    if url.startswith("postgres"):
        assert "delivery_2026_04" not in months(url)


def test_a_delivery_that_is_missing_from_a_month_that_stays_is_a_finding(
    open_store: Opener, make: Any, url: str
) -> None:
    store = open_store()
    fill(store, make)
    store.retention.forget_deliveries(before=month_begin(make.noon, later=1))
    found = engines(url)
    with found.writing() as connection, connection.begin():
        connection.execute(text("DELETE FROM delivery WHERE event_id = 'evt_4'"))
    found.dispose()
    kinds = {(one.kind, one.subject) for one in store.maintenance.check()}
    assert ("event", "evt_4") in kinds


@pytest.mark.merge
@pytest.mark.postgres
def test_a_history_that_is_moved_to_a_server_lies_in_its_months(
    postgres_url: str, make: Any, clock: ManualClock, tmp_path: Path
) -> None:
    path = tmp_path / "store.db"
    with Store.open(path, clock=clock) as store:
        fill(store, make)
    clock.sleep(100 * 86_400)
    late = month_begin(clock.now())
    move_store(path, postgres_url, clock=clock)
    names = [f"delivery_{month_begin(make.noon, later=later):%Y_%m}" for later in range(3)]
    assert holding(postgres_url) == dict.fromkeys(names, 6)
    with Store.open(postgres_url, clock=clock) as store:
        before = figures(store, make)
        assert store.retention.forget_deliveries(before=month_begin(make.noon, later=2)) == 12
        assert figures(store, make) == before
        assert store.maintenance.check() == ()
        store.record(make.arrival(50, at=late))
    assert not months(postgres_url).keys() & set(names[:2]), "they were dropped, not emptied"
    assert holding(postgres_url) == {names[2]: 6, f"delivery_{late:%Y_%m}": 1}


@pytest.mark.postgres
def test_months_are_made_ahead_and_no_date_is_refused(
    postgres_url: str, make: Any, clock: ManualClock
) -> None:
    with Store.open(postgres_url, clock=clock) as store:
        assert len(months(postgres_url)) == AHEAD + 3  # before, this month, those ahead, the others
        late = month_begin(make.noon, later=AHEAD + 1)
        for number, at in enumerate((datetime(1970, 1, 2, tzinfo=UTC), make.noon, late)):
            store.record(make.arrival(number, at=at))
        assert holding(postgres_url) == {
            "delivery_before": 1, "delivery_2026_03": 1, "delivery_other": 1
        }  # fmt: skip
        assert not store.migrate()
        clock.sleep(31 * 86_400)
        assert store.migrate()
        assert holding(postgres_url) == {
            "delivery_before": 1, "delivery_2026_03": 1, "delivery_2027_04": 1
        }  # fmt: skip
        assert store.maintenance.check() == ()
        newest_first = [row.arrived_at for row in store.deliveries.page(Mode.TEST).rows]
        assert newest_first == sorted(newest_first, reverse=True)
        assert store.deliveries.get("dlv_0000000000000001") is not None


@pytest.mark.merge
@pytest.mark.postgres
def test_who_owns_the_tables_makes_the_months_to_come_by_opening_the_store(
    postgres_url: str, make: Any, clock: ManualClock
) -> None:
    Store.open(postgres_url, clock=clock).close()
    clock.sleep(400 * 86_400)
    with Store.open(postgres_url, clock=clock, read_only=True) as store:
        assert store.retention.months_until() == month_begin(make.noon, later=AHEAD + 1)
        [alarm] = (one for one in alarms(store, clock) if one.code == "months_ahead")
        assert "lies in no table of its month" in alarm.sentence
    with Store.open(postgres_url, clock=clock, create=False) as store:
        late = month_begin(clock.now(), later=AHEAD + 1)
        assert store.retention.months_until() == late
        store.record(make.arrival(1, at=clock.now()))
        assert holding(postgres_url) == {f"delivery_{clock.now():%Y_%m}": 1}
        assert not [one for one in alarms(store, clock) if one.code == "months_ahead"]


@pytest.mark.postgres
def test_an_opening_waits_for_nobody_who_reads_the_deliveries_and_the_next_makes_the_months(
    postgres_url: str, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    Store.open(postgres_url, clock=clock).close()
    until = month_begin(clock.now(), later=AHEAD + 1)
    clock.sleep(62 * 86_400)
    reader = engines(postgres_url)
    with reader.reading() as connection, connection.begin():
        connection.execute(text("SELECT count(*) FROM delivery"))
        with Store.open(postgres_url, clock=clock) as store:
            assert store.retention.months_until() == until
            assert "months not made" in caplog.messages
    reader.dispose()
    with Store.open(postgres_url, clock=clock) as store:
        assert store.retention.months_until() == month_begin(clock.now(), later=AHEAD + 1)


@pytest.mark.postgres
def test_two_openings_at_once_make_each_month_once(postgres_url: str, clock: ManualClock) -> None:
    Store.open(postgres_url, clock=clock).close()
    clock.sleep(400 * 86_400)
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(lambda _: Store.open(postgres_url, clock=clock), range(4)))
    for store in opened:
        assert store.retention.months_until() == month_begin(clock.now(), later=AHEAD + 1)
        store.close()


def alarms(store: Store, clock: ManualClock) -> tuple[Alarm, ...]:
    inputs = load(store, Mode.TEST, now=clock.now())
    return raised(inputs, format_time=str)
