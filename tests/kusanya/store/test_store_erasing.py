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
from tests.kusanya.store.older import everything

from kusanya.errors import IntentError, IntentReason, StoreError
from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.queries.collections.indexing import index_all
from kusanya.store.records import BreakSubject, IntentState, Note
from kusanya.wire import Mode

Opener = Callable[..., Store]
PHONE = "255754000001"
SPELLINGS = re.compile(
    rb"(?<![0-9])(?:(?:\+|%2B|00)?255|0)?[\s().-]*7[\s().-]*5[\s().-]*4[\s().-]*0[\s().-]*0[\s().-]*0"
    rb"[\s().-]*0[\s().-]*0[\s().-]*1(?![0-9])"
)
THEIRS: dict[str, Any] = {
    "phone": PHONE,
    "description": "Neema, 0754 000 001",
    "metadata": {"name": "Neema Mushi", "call": "+255 754-000-001"},
}


def begin(store: Store, make: Any, reference: str, *, key: str, phone: str = PHONE) -> str:
    started = store.intents.begin(
        idempotency_key=key,
        body=f'{{"amount":5000,"phone":"{phone}","reference":"{reference}"}}'.encode(),
        mode=Mode.TEST,
        profile="shop",
        reference=reference,
        amount=5000,
        phone=phone,
        at=make.noon,
        by="me",
        until=make.noon + timedelta(seconds=60),
    ).result()
    assert started.new
    return started.intent.id


def end(store: Store, make: Any, intent_id: str, collection_id: str) -> None:
    store.intents.finish_attempt(
        intent_id,
        1,
        at=make.noon,
        outcome="answered",
        status=202,
        request_id=None,
        took_us=1,
        state=IntentState.ANSWERED,
        collection_id=collection_id,
        by="me",
    ).result()


def fill(store: Store, make: Any) -> None:
    """Keep three payments of one customer, many of others, and words about them everywhere."""
    for number in range(20, 60):
        store.submit(make.observation(number, source=Source.ANSWER))
        store.submit(make.arrival(number, status=("succeeded", "failed")[number % 2]))
    reference = f"SHOP-{PHONE}-7"
    names = {reference: f"job-{PHONE}", "INV-2": "job-2"}
    sent = [begin(store, make, name, key=key) for name, key in names.items()]
    for number, said in ((1, {}), (2, {"reference": "INV-2"}), (3, {"reference": reference})):
        theirs = {**THEIRS, **said}
        store.submit(
            make.observation(number, source=Source.ANSWER, source_id=f"job-{PHONE}", **theirs)
        )
        store.submit(make.arrival(number, fee=50 + number % 2, **theirs))
        store.submit(make.arrival(number, fee=50 + number % 2, **theirs))  # a repeat
    store.submit(
        make.observation(3, source=Source.POLL, **{**THEIRS, "reference": reference, "fee": 9})
    )
    store.record(make.arrival(4, metadata={"paid for": "0754000001"}))
    store.record(replace(make.rejected(1), body=b'{"from": "+255 754 000 001"}'))
    store.notes.add("col_1", Note("called Neema"), author="asha", mode=Mode.TEST)
    store.notes.add("col_30", Note("ask 0754 000 001"), author="asha", mode=Mode.TEST)
    store.audit.add(actor="asha", act="look", subject=reference, detail=f"phone {PHONE}")
    store.acknowledgements.record(f"odd:x:{reference}", actor="asha", reason=f"asked {PHONE}")
    store.receipts.record("col_1", Mode.TEST, "SJ31HG4K2", source="m.csv", actor="asha")
    subject = BreakSubject(
        break_id="0123456789abcdef", leg="books", code="missing_in_ledger", reference=reference
    )
    store.breaks.record(subject, Mode.TEST, actor="asha", note="asked 0754-000-001")
    for intent, made in zip(sent, ("col_3", "col_2"), strict=True):
        end(store, make, intent, made)


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


def test_what_is_still_open_is_not_erased(store: Store, make: Any) -> None:
    fill(store, make)
    begin(store, make, "INV-900", key="open")
    before = everything(store._engines)
    with pytest.raises(StoreError, match="1 creations and 0 payments of this customer are open"):
        store.erasing.erase(PHONE, actor="asha")
    assert everything(store._engines) == before


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
