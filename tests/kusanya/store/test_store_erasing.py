"""A customer is erased: no byte of the phone is left, and the money adds up as before."""

import logging
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from msgspec.structs import replace
from sqlalchemy import text
from tests.kusanya.store.customer import PHONE, SPELLINGS, THEIRS, begin, end, fill, kept
from tests.kusanya.store.older import everything

from kusanya.clock import ManualClock
from kusanya.errors import IntentError, IntentReason, StoreError
from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.queries.collections.indexing import index_all
from kusanya.store.records import Note
from kusanya.store.records.erased_names import ERASED, erased_name
from kusanya.store.tables.schema import (
    acknowledgement,
    audit,
    break_fact,
    collection,
    delivery,
    intent,
    intent_change,
    metadata_entry,
    note,
    receipt,
)
from kusanya.wire import Mode

Opener = Callable[..., Store]


def index_everything(store: Store) -> None:
    """Index what the journal's chore reaches when it has nothing better to do."""
    while store._act(index_all):
        pass


def money(store: Store) -> list[Any]:
    return [
        (row.id, row.amount, row.fee, row.currency, row.status, row.created_at, row.contradictions)
        for row in store.collections.page(Mode.TEST, limit=100).rows
    ]


def bytes_of(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file())


def test_nothing_of_the_phone_is_left_and_money_and_proofs_stay(
    open_store: Opener, make: Any, url: str, tmp_path: Path
) -> None:
    store = open_store()
    fill(store, make)
    index_everything(store)
    before, head = money(store), store.feed.head()
    assert SPELLINGS.search(repr(everything(store._engines)).encode())
    done = store.erasing.erase("0754 000 001", actor="asha")
    assert (done.collections, done.creations, done.notes) == (4, 2, 2)
    assert money(store) == before
    assert store.maintenance.check() == ()
    changed = store.maintenance.rebuild()
    assert (changed.collections, changed.rollups, store.feed.head()) == (0, 0, head + 1)
    assert not SPELLINGS.search(repr(everything(store._engines)).encode())
    if url.startswith("sqlite"):
        left = bytes_of(tmp_path)
        assert not SPELLINGS.search(left)
        assert b"Neema" not in left
        assert b"INV-2" in left
    row = store.collections.get("col_1", Mode.TEST)
    assert row is not None
    assert re.fullmatch(r"2550[0-9]{8}", row.phone)
    assert row.description is None
    same = store.collections.page(Mode.TEST, limit=100).rows
    assert {one.id for one in same if one.phone == row.phone} == {"col_1", "col_2", "col_3"}
    other = store.collections.get("col_30", Mode.TEST)
    assert other is not None
    assert other.phone == make.event(30).data.phone
    assert [one.id for one in store.collections.containing(Mode.TEST, "000033")] == ["col_33"]
    assert store.collections.containing(Mode.TEST, PHONE) == ()
    [last] = store.audit.page(limit=1).rows
    assert (last.act, last.detail[:11]) == ("erase customer", "phone hash ")
    assert store.erasing.erase(PHONE, actor="asha").collections == 0
    assert store.events.unchecked(Mode.TEST).rows[0].collection_id != "col_1"
    assert store.record(make.arrival(1, fee=51, **THEIRS)).verdict == "repeat"


def exported(store: Store, folder: Path) -> bytes:
    """Return every value of an export with whole phones."""
    store.parquet.write(folder, Mode.TEST, phones_for=("asha", "asked by the tax office"))
    query = "SELECT COLUMNS(*)::VARCHAR FROM read_parquet(?)"
    files = [str(path) for path in folder.rglob("*.parquet")]
    return repr([duckdb.execute(query, [[file]]).fetchall() for file in files]).encode()


def test_what_is_exported_or_logged_from_then_on_does_not_name_the_customer(
    open_store: Opener, make: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store()
    fill(store, make)
    assert SPELLINGS.search(exported(store, tmp_path / "before"))
    caplog.set_level(logging.DEBUG)
    store.erasing.erase("+255 754 000 001", actor="asha")
    after = exported(store, tmp_path / "after")
    with pytest.raises(IntentError):
        begin(store, make, f"SHOP-{PHONE}-7", key="new")
    assert b"INV-2" in after
    assert not SPELLINGS.search(after)
    assert b"Neema" not in after
    said = repr([vars(record) for record in caplog.records])
    assert "erase customer" in said
    assert not SPELLINGS.search(said.encode())


def test_neither_the_file_nor_its_wal_holds_a_former_byte(tmp_path: Path, make: Any) -> None:
    with Store.open(tmp_path / "store.db") as store:
        fill(store, make)
        wal = tmp_path / "store.db-wal"
        assert SPELLINGS.search(wal.read_bytes())
        store.erasing.erase(PHONE, actor="asha")
        # Nothing of before: not in the log, nor in pages of the file that are free by now.
        assert not SPELLINGS.search(wal.read_bytes())
        assert not SPELLINGS.search((tmp_path / "store.db").read_bytes())


def test_a_reference_or_key_that_held_the_phone_stays_used(store: Store, make: Any) -> None:
    fill(store, make)
    store.erasing.erase(PHONE, actor="asha")
    reference = f"SHOP-{PHONE}-7"
    for key, said, reason in (
        ("new", reference, IntentReason.REFERENCE_USED),
        (f"job-{PHONE}", "another", IntentReason.KEY_USED),
        ("job-2", "INV-2", IntentReason.KEY_USED),
        ("new", "INV-2", IntentReason.REFERENCE_USED),
    ):
        with pytest.raises(IntentError) as refused:
            begin(store, make, said, key=key)
        assert refused.value.reason is reason
    begin(store, make, "INV-900", key="new")


def test_names_go_on_naming_and_of_words_the_phone_alone_goes(store: Store, make: Any) -> None:
    fill(store, make)
    reference = f"SHOP-{PHONE}-7"
    store.erasing.erase(PHONE, actor="asha")
    [looked] = [row for row in kept(store, audit) if row["act"] == "look"]
    words = f"phone {ERASED} (as asha)"
    assert (looked["subject"], looked["detail"]) == (erased_name(reference), words)
    [asked] = kept(store, acknowledgement)
    assert asked["alarm"] == erased_name(f"odd:x:{reference}")
    assert asked["reason"] == f"asked {ERASED} (as asha)"
    [said] = kept(store, break_fact)
    assert (said["reference"], said["note"]) == (erased_name(reference), f"asked {ERASED}")
    assert [row["text"] for row in kept(store, note)] == [ERASED, ERASED]
    assert [row["subject"] for row in kept(store, note)] == ["col_1", "col_30"]
    assert [row["receipt"] for row in kept(store, receipt)] == ["SJ31HG4K2"]
    first, second = sorted(kept(store, intent), key=lambda row: str(row["collection_id"]))
    assert (first["reference"], first["idempotency_key"]) == ("INV-2", "job-2")
    assert (second["reference"], second["idempotency_key"]) == (
        erased_name(reference),
        erased_name(f"job-{PHONE}"),
    )


def test_of_deliveries_only_those_that_speak_of_the_customer_are_cleared(
    store: Store, make: Any
) -> None:
    fill(store, make)
    of_theirs = replace(
        make.rejected(2), body=b"{}", collection_id="col_1", headers=((b"x", b"y"),)
    )
    store.record(of_theirs)
    store.record(replace(make.rejected(3), body=b"{}", reference=f"SHOP-{PHONE}-7"))
    store.record(replace(make.rejected(4), body=b"{}", reference="INV-4"))
    before = kept(store, delivery)
    done = store.erasing.erase(PHONE, actor="asha")
    after = kept(store, delivery)
    cleared = [new for old, new in zip(before, after, strict=True) if old != new]
    assert len(cleared) == done.deliveries == 10
    assert {row["collection_id"] for row in cleared} == {
        "col_1", "col_2", "col_3", "col_4", None
    }  # fmt: skip
    assert {row["body"] for row in cleared} == {None}
    assert len({row["headers"] for row in cleared}) == 1
    for old, new in zip(before, after, strict=True):
        named = old["reference"]
        assert new["reference"] == (erased_name(named) if named and PHONE in named else named)
        for name in old.keys() - {"body", "headers", "reference"}:
            assert new[name] == old[name]
    assert store.erasing.erase(PHONE, actor="asha").deliveries == 0


def test_another_customer_who_is_named_with_the_phone_keeps_their_own(
    store: Store, make: Any
) -> None:
    fill(store, make)
    other = "255754000222"
    end(store, make, begin(store, make, f"for {PHONE}", key="k", phone=other), "col_9")
    store.record(
        make.observation(
            9, source=Source.ANSWER, phone=other, reference=f"for {PHONE}", description="Juma"
        )
    )
    store.erasing.erase(PHONE, actor="asha")
    [sent] = [row for row in kept(store, intent) if row["collection_id"] == "col_9"]
    assert (sent["phone"], sent["reference"]) == (other, erased_name(f"for {PHONE}"))
    row = store.collections.get("col_9", Mode.TEST)
    assert row is not None
    assert (row.phone, row.description) == (other, "Juma")


def test_creations_of_others_stay_whole_and_what_is_said_of_one_loses_the_phone(
    store: Store, make: Any
) -> None:
    other = "255754000222"
    for number in range(8):
        mine = number == 5
        sent = begin(store, make, f"R-{number}", key=f"k{number}", phone=PHONE if mine else other)
        sentence = f"asked 0754 000 001 and {number}" if mine else None
        end(store, make, sent, f"col_{number}", sentence=sentence)
    before = kept(store, intent)
    done = store.erasing.erase(PHONE, actor="asha")
    assert done.creations == 1
    changed = [(o, n) for o, n in zip(before, kept(store, intent), strict=True) if o != n]
    [(old, new)] = changed
    assert (old["reference"], new["reference"], new["body"]) == ("R-5", "R-5", b"")
    assert new["outcome"] == f"asked {ERASED} and 5"
    assert new["outcome"] in {row["outcome"] for row in kept(store, intent_change)}


def test_words_of_another_payment_lose_the_phone_and_keep_the_rest(store: Store, make: Any) -> None:
    said = {"paid for": f"Asha, {PHONE}", "class": "4B"}
    store.record(make.observation(4, source=Source.POLL, metadata=said))
    index_everything(store)
    assert any(PHONE in row["value"] for row in kept(store, metadata_entry))
    store.erasing.erase(PHONE, actor="asha")
    [fact] = store.collections.observations("col_4", Mode.TEST)
    assert fact.collection.metadata == {"paid for": f"Asha, {ERASED}", "class": "4B"}
    assert not any(PHONE in row["value"] for row in kept(store, metadata_entry))


def test_a_longer_number_in_which_the_phone_stands_is_no_phone(store: Store, make: Any) -> None:
    fill(store, make)
    store.record(replace(make.rejected(5), body=b"order 17540000012"))
    store.erasing.erase(PHONE, actor="asha")
    assert b"order 17540000012" in {row["body"] for row in kept(store, delivery)}


def test_what_comes_of_the_customer_after_an_erasure_goes_with_the_next(
    store: Store, make: Any
) -> None:
    fill(store, make)
    store.erasing.erase(PHONE, actor="asha")
    row = store.collections.get("col_1", Mode.TEST)
    store.record(make.arrival(1, event_id="evt_late", fee=51, **THEIRS))
    done = store.erasing.erase(PHONE, actor="asha")
    assert (done.collections, done.deliveries) == (1, 1)
    store.record(make.arrival(1, event_id="evt_later", fee=51, **THEIRS))
    store.erasing.purge_personal(before=make.noon + timedelta(days=1), actor="asha")
    assert row is not None
    facts = store.collections.observations("col_1", Mode.TEST)
    assert {fact.collection.phone for fact in facts} == {row.phone}


def test_every_payment_is_found_again_by_a_part_of_its_name_once_the_indexes_are_made_anew(
    store: Store, make: Any
) -> None:
    store.record(make.observation(1, source=Source.POLL, reference=f"SHOP-{PHONE}-7"))
    store.record(make.observation(2, source=Source.POLL, reference="SHOP-second"))
    index_everything(store)
    assert len(store.collections.containing(Mode.TEST, "SHOP-2557540000")) == 1
    is_sqlite = store._engines.sqlite
    asked = "reference_search MATCH '\"754\"'" if is_sqlite else "grams @> ARRAY['754']"
    held = text(f"SELECT count(*) FROM reference_search WHERE {asked}")  # noqa: S608 - our own
    with store._engines.reader.connect() as connection:
        assert connection.execute(held).scalar_one() == 1
    store.erasing.erase(make.event(1).data.phone, actor="asha")
    store.erasing.erase(PHONE, actor="asha")
    with store._engines.reader.connect() as connection:
        assert connection.execute(held).scalar_one() == 0
    assert [one.id for one in store.collections.containing(Mode.TEST, "HOP-sec")] == ["col_2"]
    [renamed] = store.collections.containing(Mode.TEST, erased_name(f"SHOP-{PHONE}-7")[3:20])
    assert renamed.id == "col_1"


def test_facts_that_differ_only_by_what_is_gone_stay_two(store: Store, make: Any) -> None:
    for number, words in enumerate(("Neema", "Mushi")):
        said = {**THEIRS, "description": words, "fee": 50}
        store.record(
            make.observation(
                1, source=Source.POLL, source_id="one", at=make.noon + timedelta(minutes=9), **said
            )
        )
        assert len(store.collections.observations("col_1", Mode.TEST)) == number + 1
    store.erasing.erase(PHONE, actor="asha")
    facts = store.collections.observations("col_1", Mode.TEST)
    assert len({fact.source_id for fact in facts}) == 2
    assert facts[0].source_id == "one"


def test_what_is_still_open_is_not_erased(store: Store, make: Any) -> None:
    fill(store, make)
    begin(store, make, "INV-900", key="open")
    before = everything(store._engines)
    with pytest.raises(StoreError, match="1 creations and 0 payments of this customer are open"):
        store.erasing.erase(PHONE, actor="asha")
    assert everything(store._engines) == before


def test_what_is_as_old_as_the_instant_is_not_past_it(
    store: Store, make: Any, clock: ManualClock
) -> None:
    at = clock.now()
    store.record(make.arrival(1, created_at=at, at=at, **THEIRS))
    store.notes.add("col_9", Note("called Neema"), author="asha", mode=Mode.TEST)
    store.audit.add(actor="asha", act="look", subject="col_9", detail=f"phone {PHONE}")
    end(store, make, begin(store, make, "INV-2", key="job-2"), "col_2")
    tables = (collection, delivery, note, audit, intent)
    before = [kept(store, table) for table in tables]
    done = store.erasing.purge_personal(before=at, actor="asha")
    assert (done.collections, done.deliveries, done.notes, done.creations) == (0, 0, 0, 0)
    after = [kept(store, table) for table in tables]
    after[3] = after[3][: len(before[3])]  # the purge itself is audited
    assert after == before
    done = store.erasing.purge_personal(before=at + timedelta(microseconds=1), actor="asha")
    assert (done.collections, done.deliveries, done.notes, done.creations) == (1, 1, 1, 1)
    assert not SPELLINGS.search(repr([kept(store, table) for table in tables]).encode())


def test_words_past_an_age_are_purged_of_phones_and_younger_ones_stay(
    store: Store, make: Any, clock: ManualClock
) -> None:
    fill(store, make)
    clock.sleep(86_400)
    store.audit.add(actor="asha", act="look", subject="col_30", detail=f"again {PHONE}")
    store.record(make.arrival(70, created_at=make.noon + timedelta(days=1)))
    store.notes.add("col_70", Note("called Juma"), author="asha", mode=Mode.TEST)
    done = store.erasing.purge_personal(before=make.noon + timedelta(hours=1), actor="asha")
    old, young = [row["detail"] for row in kept(store, audit) if row["act"] == "look"]
    assert (PHONE in old, old[:6]) == (False, "phone ")
    assert young == f"again {PHONE} (as asha)"
    assert [row["text"] for row in kept(store, note)] == [ERASED, ERASED, "called Juma"]
    assert done.notes == 2


def test_personal_data_past_an_age_is_purged_and_younger_stays(store: Store, make: Any) -> None:
    fill(store, make)
    late = make.noon + timedelta(days=40)
    store.record(make.arrival(70, created_at=late, **THEIRS))
    store.record(make.observation(71, source=Source.ANSWER, **THEIRS))
    before = money(store)
    done = store.erasing.purge_personal(before=make.noon + timedelta(days=1), actor="asha")
    assert (done.collections, done.creations) == (44, 2)
    assert money(store) == before
    assert store.maintenance.check() == ()
    rows = {row.id: row for row in store.collections.page(Mode.TEST, limit=100).rows}
    assert {id_ for id_, row in rows.items() if not row.phone.startswith("2550")} == {
        "col_70", "col_71"
    }  # fmt: skip
    assert rows["col_1"].phone == rows["col_2"].phone != rows["col_30"].phone
    again = store.erasing.purge_personal(before=make.noon + timedelta(days=1), actor="asha")
    assert (again.collections, again.creations, again.deliveries) == (0, 0, 0)
