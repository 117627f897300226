"""A store in which an older version mixed test and live under one id is repaired when migrated."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text
from tests.kusanya.store.older import OlderStore, everything

from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.store.maintenance import migrations
from kusanya.store.tables.engine import Engines, engines
from kusanya.store.tables.payload import pack
from kusanya.store.tables.sqlite_file import create_file
from kusanya.store.tables.values import to_us
from kusanya.store.writer import refold
from kusanya.wire import Mode

Opener = Callable[..., Store]
TEST, LIVE = Mode.TEST, Mode.LIVE
_SUMS = """
    INSERT INTO rollup
    SELECT mode, (created_at / 3600000000) * 3600000000, channel, currency, status,
           coalesce(failure_code, ''), count(*), sum(amount), sum(fee)
    FROM collection GROUP BY 1, 2, 3, 4, 5, 6
"""


@pytest.fixture
def prepared() -> bool:
    """Begin with nothing: these tests make a store of an older revision."""
    return False


@pytest.fixture
def older(url: str, make: Any) -> Engines:
    """Return a store as the fifth revision kept it: folded by id, whatever the mode.

    col_1 was created live and ended by a test signature; of col_2 a test signature was heard first;
    col_3 is sound; of col_4 a live key once told a test collection.
    """
    found = engines(url)
    if found.path is not None:
        create_file(found.path)
    with found.writer.begin() as connection:
        migrations.upgrade(connection, to="0005")
        # With this index the tables serve a journal of today.
        connection.execute(text("CREATE UNIQUE INDEX by_mode ON collection (id, mode)"))
    with OlderStore(found) as journal:
        for number in (1, 3, 4):
            journal.record(make.observation(number, source=Source.ANSWER, mode="live"))
        journal.record(make.observation(2, mode="test", amount=77))
        journal.record(make.observation(3, source=Source.POLL, mode="live"))
    ended = make.observation(1, mode="test", amount=77, event_id="evt_9")
    add(found, ended, "test")
    add(found, make.observation(2, source=Source.ANSWER, mode="live"), "live")
    add(found, make.observation(4, source=Source.POLL, mode="test", observed_in=LIVE), "test")
    ends = (
        "UPDATE collection SET status = 'succeeded', final_seen_at = :at, completed_at = :at, "
        "contradictions = 1, unwell = 1 WHERE id IN ('col_1', 'col_4')"
    )
    with found.writer.begin() as connection:
        connection.execute(text("DROP INDEX by_mode"))
        connection.execute(text(ends), {"at": to_us(ended.observed_at)})
        connection.execute(text("UPDATE collection SET contradictions = 2 WHERE id = 'col_2'"))
        connection.execute(text("DELETE FROM rollup"))
        connection.execute(text(_SUMS))
    return found


def add(found: Engines, fact: Observation, mode: str) -> None:
    """Append a fact as the older version kept it: under the mode of its body."""
    digest, payload = pack(fact)
    with found.writer.begin() as connection:
        connection.execute(text("UPDATE feed_head SET seq = seq + 1"))
        connection.execute(
            text(
                "INSERT INTO observation SELECT seq, :id, :mode, :at, :digest, :payload "
                "FROM feed_head"
            ),
            {
                "id": fact.collection.id,
                "mode": mode,
                "at": to_us(fact.observed_at),
                "digest": digest,
                "payload": payload,
            },
        )
        connection.execute(
            text("UPDATE collection SET seq = (SELECT seq FROM feed_head) WHERE id = :id"),
            {"id": fact.collection.id},
        )


def test_what_was_mixed_is_parted_and_what_was_sound_stays(
    older: Engines, open_store: Opener, make: Any
) -> None:
    sound = [row for row in everything(older)["collection"] if "'col_3'" in row]
    older.dispose()
    store = open_store(migrate=True)
    assert store.maintenance.check() == ()
    rebuilt = store.maintenance.rebuild()
    assert (rebuilt.collections, rebuilt.rollups) == (0, 0)
    rows = {
        (row.id, row.mode): (row.status, row.amount, row.contradictions)
        for mode in Mode
        for row in store.collections.page(mode).rows
    }
    assert rows == {
        ("col_1", LIVE): ("created", 5000, 1),
        ("col_1", TEST): ("succeeded", 77, 1),
        ("col_2", LIVE): ("created", 5000, 1),
        ("col_2", TEST): ("succeeded", 77, 1),
        ("col_3", LIVE): ("succeeded", 5000, 0),
        ("col_4", LIVE): ("created", 5000, 1),
    }
    assert [row for row in everything(store._engines)["collection"] if "'col_3'" in row] == sound
    assert [row.id for row in store.collections.still_open(LIVE).rows] == [
        "col_1",
        "col_2",
        "col_4",
    ]
    span = {"since": make.noon, "until": make.noon + timedelta(days=1)}
    sums = {(row.status, row.count, row.amount) for row in store.rollups.collections(LIVE, **span)}
    assert sums == {("created", 3, 15_000), ("succeeded", 1, 5_000)}
    assert [(row.count, row.amount) for row in store.rollups.collections(TEST, **span)] == [
        (2, 154)
    ]
    store.record(make.observation(1, source=Source.POLL, mode="live", status="failed"))
    ended = store.collections.get("col_1", LIVE)
    assert ended is not None
    assert ended.status == "failed"
    assert not store.migrate()


def test_a_migration_that_fails_leaves_the_older_store_as_it_was(
    older: Engines, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(older)
    older.dispose()
    parted: list[int] = []

    def fail(writing: Any) -> int:
        parted.append(part_modes(writing))
        raise OSError("the power went")

    part_modes = refold.part_modes
    monkeypatch.setattr(refold, "part_modes", fail)
    with pytest.raises(Exception, match="open the store"):
        Store.open(url, migrate=True)
    assert parted == [5]
    again = engines(url)
    with again.reader.connect() as connection:
        assert migrations.revision(connection) == "0005"
    assert everything(again) == before
    again.dispose()
    monkeypatch.undo()
    with Store.open(url, migrate=True) as store:
        assert store.maintenance.check() == ()
