"""A sound store agrees with itself; a damaged one is noticed, rebuilt or copied."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from kusanya.errors import StoreUnavailable
from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.records import BreakSubject, Note, RebuildResult
from kusanya.wire import Mode


def fill(store: Store, make: Any) -> None:
    for number in range(12):
        store.submit(make.observation(number, source=Source.ANSWER))
    for number in range(8):
        status = ("succeeded", "failed", "expired", "odd")[number % 4]
        said = {"failure_code": "insufficient_funds"} if status == "failed" else {}
        store.submit(make.arrival(number, status=status, **said))
    store.submit(make.arrival(3, status="odd"))
    store.submit(make.rejected(1))
    store.notes.add("col_1", Note("called"), author="asha", mode=Mode.TEST)
    store.audit.add(actor="asha", act="look")
    store.receipts.record("col_1", Mode.TEST, "SJ31HG4K2", source="mpesa.csv", actor="asha")
    subject = BreakSubject(break_id="0123456789abcdef", leg="books", code="missing_in_ledger")
    store.breaks.record(subject, Mode.TEST, actor="asha", note="asked the shop")


def damage(store: Store, statement: str) -> None:
    with store._engines.writer.begin() as connection:
        connection.execute(text(statement))


def test_a_sound_store_has_no_findings_and_a_rebuild_changes_nothing(
    store: Store, make: Any
) -> None:
    fill(store, make)
    before = (store.collections.page(Mode.TEST), store.feed.head())
    assert store.maintenance.check() == ()
    assert store.maintenance.rebuild() == RebuildResult(collections=0, rollups=0)
    assert (store.collections.page(Mode.TEST), store.feed.head()) == before


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("UPDATE collection SET amount = amount + 1 WHERE id = 'col_2'", "projection"),
        ("DELETE FROM collection WHERE id = 'col_2'", "projection"),
        ("UPDATE rollup SET fee = fee + 1", "rollup"),
        ("DELETE FROM rollup", "rollup"),
        ("UPDATE observation SET payload = digest WHERE seq = 3", "fact"),
        ("DELETE FROM note", "journal"),
        ("DELETE FROM break_fact", "journal"),
        ("UPDATE receipt SET collection_id = 'col_x'", "receipt"),
        ("UPDATE feed_head SET seq = seq - 1", "journal"),
        ("UPDATE delivery_rollup SET count = 0 WHERE verdict = 'verified'", "delivery count"),
        ("UPDATE delivery SET body = headers WHERE event_id = 'evt_1'", "event"),
        ("UPDATE delivery SET event_id = 'evt_x' WHERE event_id = 'evt_1'", "event"),
    ],
)
def test_what_does_not_agree_is_found(store: Store, make: Any, statement: str, kind: str) -> None:
    fill(store, make)
    damage(store, statement)
    for since in (None, make.noon - timedelta(hours=2)):
        assert kind in {finding.kind for finding in store.maintenance.check(since=since)}


def test_a_rebuild_restores_projection_and_rollups_from_the_facts(store: Store, make: Any) -> None:
    fill(store, make)
    before = store.collections.page(Mode.TEST)
    damage(store, "UPDATE collection SET status = 'succeeded', fee = 0")
    damage(store, "DELETE FROM rollup WHERE status = 'failed'")
    damage(store, "DELETE FROM collection WHERE id = 'col_3'")
    changed = store.maintenance.rebuild()
    assert changed.collections == 12
    assert changed.rollups > 0
    assert store.collections.page(Mode.TEST) == before
    assert store.maintenance.check() == ()


@pytest.mark.parametrize("changed", ["id = 'col_nobody'", "mode = 'live'"])
def test_a_rebuild_removes_a_row_that_no_fact_bears_out(
    store: Store, make: Any, changed: str
) -> None:
    fill(store, make)
    before = store.collections.page(Mode.TEST)
    damage(store, f"UPDATE collection SET {changed} WHERE id = 'col_5'")  # noqa: S608 - our own
    changes = store.maintenance.rebuild()
    assert changes.collections == 2, "the one that was lost, and the one that nobody spoke of"
    assert store.collections.get("col_nobody", Mode.TEST) is None
    assert store.collections.get("col_5", Mode.LIVE) is None
    assert store.collections.page(Mode.TEST) == before
    assert store.maintenance.check() == ()


def test_a_damaged_fact_is_never_rebuilt_over(store: Store, make: Any) -> None:
    fill(store, make)
    damage(store, "UPDATE observation SET payload = digest WHERE seq = 3")
    with pytest.raises(StoreUnavailable, match="restore a backup"):
        store.maintenance.rebuild()


def test_old_bodies_are_forgotten_and_nothing_else_changes(store: Store, make: Any) -> None:
    old = store.record(make.arrival(1))
    new = store.record(make.arrival(2, at=make.noon + timedelta(days=40)))
    rows = store.deliveries.page(Mode.TEST)
    assert store.retention.forget_bodies(before=make.noon + timedelta(days=1)) == 1
    assert store.retention.forget_bodies(before=make.noon + timedelta(days=1)) == 0
    gone, kept = store.deliveries.body(old.delivery_id), store.deliveries.body(new.delivery_id)
    assert gone is not None
    assert kept is not None
    assert (gone.body, gone.headers) == (None, ())
    assert kept.body is not None
    assert store.deliveries.page(Mode.TEST) == rows
    assert store.maintenance.check() == ()
    assert store.record(make.arrival(1)).verdict == "repeat"


def test_a_backup_of_a_store_in_use_is_a_whole_store(tmp_path: Path, make: Any) -> None:
    with Store.open(str(tmp_path / "store.db")) as store:
        fill(store, make)
        store.maintenance.backup(tmp_path / "copy.db")
        store.record(make.arrival(90))
        with pytest.raises(StoreUnavailable, match="never overwrites"):
            store.maintenance.backup(tmp_path / "copy.db")
        with Store.open(str(tmp_path / "copy.db")) as copy:
            assert copy.maintenance.check() == ()
            assert copy.store_id == store.store_id
            assert copy.collections.get("col_90", Mode.TEST) is None
            assert copy.collections.get("col_1", Mode.TEST) == store.collections.get(
                "col_1", Mode.TEST
            )


def test_a_file_with_overwritten_pages_is_noticed(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "store.db"
    with Store.open(str(path)) as store:
        fill(store, make)
    content = bytearray(path.read_bytes())
    last = len(content) - 4096
    content[last : last + 200] = b"\xa5" * 200
    path.write_bytes(bytes(content))
    with Store.open(str(path)) as store:
        assert {finding.kind for finding in store.maintenance.check()} == {"integrity"}


def test_a_check_of_a_day_looks_at_what_was_said_in_it_and_counts_all_else(
    store: Store, make: Any
) -> None:
    today = make.noon + timedelta(days=3)
    for number in range(6):
        asked = make.observation(number, at=make.noon, created_at=make.noon, status="created")
        store.record(asked)
    later = {"created_at": make.noon, "status": "failed", "failure_code": "invalid_pin"}
    store.record(make.observation(1, at=today, source=Source.POLL, **later))
    since = today - timedelta(hours=1)
    assert store.maintenance.check(since=since) == ()
    damage(store, "UPDATE collection SET amount = amount + 1 WHERE id = 'col_1'")
    assert {it.subject for it in store.maintenance.check(since=since)} >= {"col_1"}
    store.maintenance.rebuild()
    damage(store, "UPDATE rollup SET count = count + 1 WHERE status = 'failed'")
    assert [it.kind for it in store.maintenance.check(since=since)] == ["rollup"]
    store.maintenance.rebuild()
    damage(store, "UPDATE collection SET reference = 'other' WHERE id = 'col_5'")
    assert store.maintenance.check(since=since) == (), "nothing was said of it since"
    assert [it.subject for it in store.maintenance.check()] == ["col_5"]
    damage(store, "DELETE FROM observation WHERE collection_id = 'col_4'")
    assert [it.kind for it in store.maintenance.check(since=since)] == ["journal"]
