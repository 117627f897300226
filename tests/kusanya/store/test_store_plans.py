"""What a person waits for never scans a table and never sorts a history (SQLite's own plans)."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from sqlalchemy import event

from kusanya.store import Store
from kusanya.store.queries.collections.indexing import index_all
from kusanya.store.records import (
    MISSING_ID,
    CollectionFilter,
    DeliveryFilter,
    IntentState,
    Key,
    MetadataTerm,
    SortOrder,
    Verdict,
)
from kusanya.wire import Mode

KEY = Key(1_772_366_400_000_000, "col_5")
MISSING_KEY = Key(1_772_366_400_000_000, f"{MISSING_ID}col_5")
DELIVERY_KEY = Key(1_772_366_400_000_000, "dlv_0000000000000005")
TEST = Mode.TEST


def listed(**terms: Any) -> Callable[[Store, Any], object]:
    return lambda store, _: store.collections.page(TEST, where=CollectionFilter(**terms))


ORDER = (MetadataTerm((("order_id", "A-1"),)),)
BRANCH = (MetadataTerm((("branch", "dar"),), negated=True),)
CALLS: dict[str, Callable[[Store, Any], object]] = {
    "newest page": lambda s, _: s.collections.page(TEST),
    "older page": lambda s, _: s.collections.page(TEST, older_than=KEY),
    "newer page": lambda s, _: s.collections.page(TEST, newer_than=KEY),
    "final page": lambda s, _: s.collections.page(TEST, order=SortOrder.FINAL, older_than=KEY),
    "amount page": lambda s, _: s.collections.page(TEST, order=SortOrder.AMOUNT, older_than=KEY),
    "oldest page": lambda s, _: s.collections.oldest(TEST),
    "unwell page": lambda s, _: s.collections.page(TEST, where=CollectionFilter(unwell=True)),
    "a day": lambda s, noon: s.collections.page(
        TEST, where=CollectionFilter(created_from=noon, created_to=noon + timedelta(days=1))
    ),
    "channels": listed(channels=("MPESA_TZ", "TIGO_TZ")),
    "a channel": listed(channels=("MPESA_TZ",)),
    "a channel by amount": lambda s, _: s.collections.page(
        TEST, where=CollectionFilter(channels=("MPESA_TZ",)), order=SortOrder.AMOUNT
    ),
    "failure codes": listed(failure_codes=("invalid_pin", "x")),
    "a failure code": listed(failure_codes=("invalid_pin",)),
    "metadata": listed(metadata=ORDER),
    "an older page of metadata": lambda s, _: s.collections.page(
        TEST, where=CollectionFilter(metadata=ORDER), older_than=KEY
    ),
    "other metadata": listed(metadata=BRANCH),
    "around": lambda s, noon: s.collections.around(TEST, noon),
    "open": lambda s, _: s.collections.still_open(TEST, after=KEY),
    "open by channel": lambda s, noon: s.collections.open_by_channel(
        TEST, {}, now=noon, known={"old": {None: timedelta()}}, phones="old", limit=50
    ),
    "by id": lambda s, _: s.collections.by_id(["col_1", "col_2"], Mode.TEST),
    "delivery page": lambda s, _: s.deliveries.page(TEST, older_than=DELIVERY_KEY),
    "deliveries and missing events": lambda s, _: s.deliveries.page_with_missing(
        TEST, older_than=DELIVERY_KEY
    ),
    "missing events alone": lambda s, _: s.deliveries.page_with_missing(
        TEST, where=DeliveryFilter(only_missing=True)
    ),
    "newer missing events": lambda s, _: s.deliveries.page_with_missing(
        TEST, where=DeliveryFilter(only_missing=True), newer_than=MISSING_KEY
    ),
    "older missing events": lambda s, _: s.deliveries.page_with_missing(
        TEST, where=DeliveryFilter(only_missing=True), older_than=MISSING_KEY
    ),
    "missing events of an hour": lambda s, noon: s.deliveries.count_missing(
        TEST, since=noon, until=noon + timedelta(hours=1)
    ),
    "unwell deliveries": lambda s, _: s.deliveries.page(TEST, where=DeliveryFilter(unwell=True)),
    "delivery body": lambda s, _: s.deliveries.body("dlv_0000000000000005"),
    "event": lambda s, _: s.events.get("evt_1"),
    "unchecked events": lambda s, noon: s.events.unchecked(TEST, since=noon, after=KEY),
    "figures": lambda s, noon: s.rollups.collections(
        TEST, since=noon, until=noon + timedelta(days=31)
    ),
    "delivery figures": lambda s, noon: s.rollups.deliveries(
        TEST, since=noon, until=noon + timedelta(days=31)
    ),
    "intents": lambda s, _: s.intents.page(older_than=KEY),
    "unknown intents": lambda s, _: s.intents.page(states=(IntentState.UNKNOWN,)),
    "intent by key": lambda s, _: s.intents.by_key(TEST, "shop", "key"),
    "audit": lambda s, _: s.audit.page(older_than=Key(5, "audit_1")),
    "acknowledgements": lambda s, _: s.acknowledgements.newest(["stuck:test", "x"]),
    "breaks": lambda s, _: s.breaks.page(TEST, older_than=Key(5, "")),
    "a break": lambda s, _: s.breaks.of("0123456789abcdef", TEST),
    "all breaks": lambda s, _: s.breaks.histories(TEST, as_of=5),
    "receipt": lambda s, _: s.receipts.find("SJ31HG4K2", TEST),
    "receipts": lambda s, _: s.receipts.of("col_1", TEST),
    "notes": lambda s, _: s.notes.of("col_1", Mode.TEST),
}
# A few rows that one indexed look-up finds may be sorted afterwards.
FEW: dict[str, Callable[[Store, Any], object]] = {
    "changes": lambda s, _: s.feed.changes(5, limit=10),
    "observations": lambda s, _: s.collections.observations("col_1", Mode.TEST),
    "reference": lambda s, _: s.collections.by_reference(TEST, "INV-000001"),
    "part of a reference": lambda s, _: s.collections.page(
        TEST, where=CollectionFilter(reference_part="V-000001")
    ),
    "part of a description": listed(description_part="school fees"),
    "metadata by its end": lambda s, _: s.collections.page(
        TEST, where=CollectionFilter(metadata=ORDER), order=SortOrder.FINAL
    ),
    "a value under any name": lambda s, _: s.collections.by_metadata(TEST, "A-1"),
    "ids": lambda s, _: s.collections.page(TEST, where=CollectionFilter(ids=("col_1", "col_2"))),
    "phone": lambda s, _: s.collections.by_phone(TEST, "255754000001"),
    "events of": lambda s, _: s.events.of_collection("col_1", Mode.TEST),
    "attempts of an event": lambda s, _: s.deliveries.page(
        TEST, where=DeliveryFilter(event_id="evt_1")
    ),
    "deliveries of a collection": lambda s, _: s.deliveries.page(
        TEST, where=DeliveryFilter(collection_id="col_1", verdicts=(Verdict.VERIFIED,))
    ),
    "intents by reference": lambda s, _: s.intents.by_reference(TEST, "INV-1"),
    "open intents by phone": lambda s, _: s.intents.still_open(TEST, phone="255754000001"),
    "open intents by a part": lambda s, _: s.intents.still_open(TEST, reference_part="NV-1"),
}


def plans(store: Store, call: Callable[[Store, Any], object], noon: Any) -> list[str]:
    """Return the steps by which SQLite answers everything that `call` asks."""
    asked: list[tuple[str, Any]] = []

    def listen(_c: Any, _cursor: Any, sql: str, values: Any, _context: Any, _many: bool) -> None:
        asked.append((sql, values))

    engine = store._engines.reader
    event.listen(engine, "before_cursor_execute", listen)
    call(store, noon)
    event.remove(engine, "before_cursor_execute", listen)
    steps: list[str] = []
    with engine.connect() as connection:
        for sql, values in asked:
            if sql.lstrip().upper().startswith("SELECT"):
                rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)
                steps += [row[3] for row in rows]
    assert steps
    return steps


@pytest.fixture(scope="module")
def few_rows(tmp_path_factory: pytest.TempPathFactory, make: Any) -> Path:
    """Return the file of a closed SQLite store with a few rows."""
    path = tmp_path_factory.mktemp("plans") / "store.db"
    with Store.open(path) as store:
        for number in range(8):
            store.record(
                make.arrival(number, metadata={"order_id": "A-1"}, description="School fees")
            )
        while store._act(index_all):
            pass
    return path


@pytest.fixture
def sqlite_store(few_rows: Path, tmp_path: Path) -> Iterator[Store]:
    """Return an SQLite store with a few rows."""
    with Store.open(copy(few_rows, tmp_path / "store.db")) as store:
        yield store


@pytest.mark.parametrize("name", [*CALLS, *FEW])
def test_no_question_reads_a_whole_table(sqlite_store: Store, make: Any, name: str) -> None:
    steps = plans(sqlite_store, {**CALLS, **FEW}[name], make.noon)
    # The counter has one row; a co-routine holds what an indexed step gave, up to the limit.
    made = {step.removeprefix("CO-ROUTINE ") for step in steps if step.startswith("CO-ROUTINE ")}
    scanned = {step.removeprefix("SCAN ") for step in steps if step.startswith("SCAN ")}
    # SQLite calls it a scan when a full-text index is asked for its matches ("M").
    scanned = {step for step in scanned if not re.search(r" VIRTUAL TABLE INDEX \d+:M", step)}
    assert scanned - made <= {"feed_head"}


GROUPED = {"open by channel"}
"""Calls that put a bounded number of rows into groups."""


@pytest.mark.parametrize("name", [name for name in CALLS if name not in GROUPED])
def test_no_page_is_sorted(sqlite_store: Store, make: Any, name: str) -> None:
    steps = plans(sqlite_store, CALLS[name], make.noon)
    assert [step for step in steps if "TEMP B-TREE" in step] == []


NARROW: dict[str, tuple[Callable[[Store, Any], object], str]] = {
    "reference": (FEW["reference"], "ix_collection_mode_reference"),
    "references": (
        lambda s, _: s.collections.by_reference(TEST, "INV 000001", "INV-000001"),
        "ix_collection_mode_reference",
    ),
    "intents by references": (
        lambda s, _: s.intents.by_reference(TEST, "INV 1", "INV-1"),
        "ix_intent_mode_reference",
    ),
    "phone": (FEW["phone"], "ix_collection_mode_phone_created_at"),
    "listed phone": (listed(phone="255754000001"), "ix_collection_mode_phone_created_at"),
    "unwell": (listed(unwell=True), "ix_collection_unwell"),
    "failed": (listed(statuses=("failed",)), "ix_collection_unwell"),
    "a failure code": (listed(failure_codes=("invalid_pin",)), "ix_collection_failure_code"),
    "failure codes": (listed(failure_codes=("invalid_pin", "x")), "ix_collection_unwell"),
    "a channel": (listed(channels=("MPESA_TZ",)), "ix_collection_mode_channel_created_at_id"),
    "failures of a channel": (
        listed(channels=("MPESA_TZ",), statuses=("failed",)),
        "ix_collection_unwell",
    ),
    "a phone and a channel": (
        listed(phone="255754000001", channels=("MPESA_TZ",)),
        "ix_collection_mode_phone_created_at",
    ),
    "channels": (
        listed(channels=("MPESA_TZ", "TIGO_TZ")),
        "ix_collection_mode_created_at_id",
    ),
    "created": (listed(statuses=("created",)), "ix_collection_open"),
    "open": (CALLS["open"], "ix_collection_open"),
    "an amount": (
        listed(amount_min=5_000, amount_max=5_000),
        "ix_collection_mode_amount_id",
    ),
    "large amounts": (listed(amount_min=5_000), "ix_collection_mode_amount_id"),
    "failures of an amount": (
        listed(amount_min=5_000, amount_max=5_000, statuses=("failed",)),
        "ix_collection_mode_amount_id",
    ),
    "an amount on a channel": (
        listed(amount_min=5_000, amount_max=5_000, channels=("MPESA_TZ",)),
        "ix_collection_mode_amount_id",
    ),
    "an amount by its end": (
        lambda s, _: s.collections.page(
            TEST,
            where=CollectionFilter(amount_min=5_000, amount_max=5_000),
            order=SortOrder.FINAL,
            older_than=KEY,
        ),
        "ix_collection_mode_amount_id",
    ),
    "missing events": (CALLS["missing events alone"], "ix_collection_missing_event"),
    "newer missing events": (CALLS["newer missing events"], "ix_collection_missing_event"),
    "older missing events": (
        CALLS["older missing events"],
        "ix_collection_missing_event (mode=? AND final_seen_at>? AND (final_seen_at,id)<(?,?))",
    ),
    "unwell deliveries": (CALLS["unwell deliveries"], "ix_delivery_unwell"),
    "rejected deliveries": (
        lambda s, _: s.deliveries.page(TEST, where=DeliveryFilter(verdicts=(Verdict.REJECTED,))),
        "ix_delivery_unwell",
    ),
    "intents by reference": (FEW["intents by reference"], "ix_intent_mode_reference"),
    "unchecked events": (CALLS["unchecked events"], "ix_event_unchecked"),
    "deliveries to an endpoint": (
        lambda s, _: s.deliveries.page(TEST, where=DeliveryFilter(endpoints=("shop",))),
        "ix_delivery_mode_endpoint_arrived_at_seq",
    ),
    "last success of an endpoint": (
        lambda s, noon: s.deliveries.last_success(TEST, "shop", before=noon),
        "ix_delivery_mode_endpoint_arrived_at_seq",
    ),
    "oldest delivery to an endpoint": (
        lambda s, noon: s.deliveries.oldest(
            TEST, where=DeliveryFilter(endpoints=("shop",), arrived_from=noon)
        ),
        "ix_delivery_mode_endpoint_arrived_at_seq",
    ),
    "first delivery to an endpoint after another": (
        lambda s, _: s.deliveries.oldest(
            TEST,
            where=DeliveryFilter(endpoints=("shop",)),
            after=s.deliveries.page(TEST, where=DeliveryFilter(endpoints=("shop",))).rows[0],
        ),
        "ix_delivery_mode_endpoint_arrived_at_seq",
    ),
    "rejected deliveries of an hour": (
        lambda s, noon: s.deliveries.count_rejected(
            TEST, "shop", since=noon, until=noon + timedelta(hours=1)
        ),
        "ix_delivery_rejected",
    ),
}


@pytest.mark.parametrize("name", list(NARROW))
def test_a_narrow_question_uses_its_own_index(sqlite_store: Store, make: Any, name: str) -> None:
    call, index = NARROW[name]
    # A search of all rows of a mode would look like an index search too.
    steps = [step for step in plans(sqlite_store, call, make.noon) if step.startswith("SEARCH")]
    assert steps
    assert all(index in step for step in steps)


def test_an_amount_of_a_time_in_which_little_was_made_is_met_on_the_way(
    sqlite_store: Store, make: Any
) -> None:
    later = make.noon + timedelta(days=9)
    steps = plans(sqlite_store, listed(amount_min=5_000, created_from=later), make.noon)
    assert "ix_collection_mode_created_at_id" in steps[-1]


@pytest.mark.parametrize(
    ("others", "index"),
    [(49, "ix_collection_mode_created_at_id"), (60, "ix_collection_mode_amount_id")],
)
def test_a_rare_amount_is_fetched_from_the_past_only_where_its_time_holds_fifty_times_as_many(
    tmp_path: Path, make: Any, others: int, index: str
) -> None:
    with Store.open(str(tmp_path / "store.db")) as store:
        for number in range(others):
            store.submit(make.arrival(number))
        store.record(make.arrival(others, amount=7_777))
        since = make.noon - timedelta(days=1)
        asked = listed(amount_min=7_777, amount_max=7_777, created_from=since)
        searched = [step for step in plans(store, asked, make.noon) if step.startswith("SEARCH")]
        assert index in searched[-1]
        where = CollectionFilter(amount_min=7_777, amount_max=7_777, created_from=since)
        [row] = store.collections.page(TEST, where=where).rows
        assert row.id == f"col_{others}"


def test_the_words_around_a_number_are_not_looked_for_where_the_number_suffices(
    sqlite_store: Store, make: Any
) -> None:
    def pieces(part: str) -> str:
        """Return what the index of descriptions is asked for last."""
        asked: list[str] = []

        def listen(_c: Any, _cursor: Any, sql: str, values: Any, _x: Any, _many: bool) -> None:
            if "MATCH" in sql:
                asked.append(values[0])

        engine = sqlite_store._engines.reader
        event.listen(engine, "before_cursor_execute", listen)
        sqlite_store.collections.described(TEST, part)
        event.remove(engine, "before_cursor_execute", listen)
        return asked[-1]

    assert pieces("4153 for kariakoo") == '"415" AND "153" AND "53 " AND "3 f"'
    assert '"koo"' in pieces("for kariakoo")


def test_what_was_paid_before_is_found_by_its_reference_and_not_in_the_whole_past(
    sqlite_store: Store, make: Any
) -> None:
    def paid_before(store: Store, noon: Any) -> None:
        with store.bulk_read.snapshot() as found:
            month = {"since": noon - timedelta(days=1), "until": noon + timedelta(days=31)}
            found.paid_before(TEST, **month, before=noon + timedelta(days=1))

    steps = plans(sqlite_store, paid_before, make.noon)
    (earlier,) = (step for step in steps if "earlier" in step)
    assert "ix_collection_mode_reference (mode=? AND reference=?)" in earlier
    assert not any(step.endswith("(mode=?)") for step in steps)


@pytest.mark.parametrize(
    ("name", "indexes"),
    [
        ("attempts of an event", {"ix_delivery_again_event_id", "PRIMARY KEY"}),
        (
            "deliveries of a collection",
            {"ix_delivery_again_collection_id", "ix_event_collection_id"},
        ),
    ],
)
def test_the_arrivals_of_an_event_are_found_through_it_and_the_few_others(
    sqlite_store: Store, make: Any, name: str, indexes: set[str]
) -> None:
    steps = [
        step for step in plans(sqlite_store, FEW[name], make.noon) if step.startswith("SEARCH")
    ]
    assert all(any(index in step for step in steps) for index in indexes), steps
    assert all(
        any(index in step for index in {*indexes, "INTEGER PRIMARY KEY (rowid=?)"})
        for step in steps
    ), steps
