"""Collections are found by metadata and by parts of descriptions, before and after the index."""

from functools import partial
from typing import Any

import pytest
from sqlalchemy import event, text

from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.queries.collections.indexing import index_all
from kusanya.store.queries.collections.metadata import entries_of
from kusanya.store.records import CollectionFilter, MetadataTerm, SortOrder
from kusanya.wire import Mode

TEXTS: tuple[dict[str, Any], ...] = (
    {"metadata": {"order_id": "A-1", "branch": "Dar"}, "description": "School fees, term 2"},
    {"metadata": {"order_id": "A-2", "branch": "dar"}, "description": "SCHOOL FEES"},
    {"metadata": {"order_id": "A-1", "paid": True, "seats": 4}},
    {"description": 'Bus 100% _ "quoted" Straße'},
    {},
)


def fill(store: Store, make: Any) -> None:
    for number, texts in enumerate(TEXTS):
        store.record(make.arrival(number, **texts))


def index(store: Store) -> None:
    while store._act(partial(index_all)):
        pass


def met(*entries: str, negated: bool = False) -> MetadataTerm:
    pairs = (entry.partition("=") for entry in entries)
    return MetadataTerm(tuple((name, value) for name, _, value in pairs), negated=negated)


def listed(store: Store, order: SortOrder = SortOrder.CREATED, **where: Any) -> list[str]:
    page = store.collections.page(Mode.TEST, where=CollectionFilter(**where), order=order)
    return [row.id for row in page.rows]


@pytest.mark.parametrize("indexed", [False, True], ids=["before", "after"])
def test_metadata_is_found_by_name_and_value_in_any_case(
    store: Store, make: Any, indexed: bool
) -> None:
    fill(store, make)
    if indexed:
        index(store)
    for order in SortOrder:
        assert sorted(listed(store, order, metadata=(met("order_id=a-1"),))) == ["col_0", "col_2"]
    assert listed(store, metadata=(met("order_id=A-1"),)) == ["col_2", "col_0"]
    assert listed(store, metadata=(met("ORDER_ID=A-1", "seats=4"),)) == ["col_2", "col_0"]
    assert listed(store, metadata=(met("order_id=A-1"), met("branch=DAR"))) == ["col_0"]
    assert listed(store, metadata=(met("branch=dar", negated=True),)) == ["col_4", "col_3", "col_2"]
    assert listed(store, metadata=(met("order_id=A-1"), met("paid=true", negated=True))) == [
        "col_0"
    ]
    assert listed(store, metadata=(met("order_id=A"),)) == []
    assert listed(store, metadata=(met("branch=dar"),), statuses=("failed",)) == []
    assert listed(store, metadata=(met("branch=dar"),), reference_part="000001") == ["col_1"]
    assert [row.id for row in store.collections.by_metadata(Mode.TEST, " a-1 ")] == [
        "col_2", "col_0",
    ]  # fmt: skip
    assert store.collections.by_metadata(Mode.LIVE, "A-1") == ()


@pytest.mark.parametrize("indexed", [False, True], ids=["before", "after"])
def test_any_part_of_a_description_in_any_case_finds_it(
    store: Store, make: Any, indexed: bool
) -> None:
    fill(store, make)
    if indexed:
        index(store)
    for part, found in (
        ("school fees", ["col_1", "col_0"]),
        ("FEES, t", ["col_0"]),
        ('100% _ "q', ["col_3"]),
        ("strasse", ["col_3"]),
        ("nobody", []),
    ):
        assert listed(store, description_part=part) == found
        described = store.collections.described(Mode.TEST, part)
        assert [row.id for row in described] == found
    assert listed(store, description_part="school", metadata=(met("order_id=A-2"),)) == ["col_1"]


def test_a_name_beside_a_number_that_a_thousand_have_is_found(store: Store, make: Any) -> None:
    store.record(make.arrival(0, description="Fees 2026 of Baraka"))
    for number in range(1, 1_002):
        store.submit(make.arrival(number, description=f"Fees 2026 of Neema, {number}"))
    store.record(make.arrival(1_002, description="Fees 2026 of Asha"))
    index(store)
    found = [row.id for row in store.collections.described(Mode.TEST, "fees 2026 of baraka")]
    assert found == ["col_0"]
    found = [row.id for row in store.collections.described(Mode.TEST, "2026 of Neema, 777")]
    assert found == ["col_777"]


@pytest.mark.merge
@pytest.mark.postgres
def test_a_server_walks_what_everybody_has_in_its_order_and_sorts_nothing(
    postgres_url: str, make: Any
) -> None:
    asked: list[tuple[str, Any]] = []

    def listen(_c: Any, _cursor: Any, sql: str, values: Any, _x: Any, _many: bool) -> None:
        asked.append((sql, values))

    with Store.open(postgres_url) as store:
        for number in range(2_000):
            store.submit(make.arrival(number, metadata={"shop": "4"}))
        store.record(make.arrival(2_000, metadata={"shop": "4"}))
        index(store)
        with store._engines.writing() as connection, connection.begin():
            connection.execute(text("ANALYZE"))
        engine = store._engines.reader
        event.listen(engine, "before_cursor_execute", listen)
        where = CollectionFilter(metadata=(met("shop=4"),))
        page = store.collections.page(Mode.TEST, where=where, limit=5)
        assert [row.id for row in page.rows][:2] == ["col_2000", "col_1999"]
        event.remove(engine, "before_cursor_execute", listen)
        [(sql, values)] = [one for one in asked if "JOIN collection" in one[0]]
        with engine.connect() as connection:
            plan = connection.exec_driver_sql(f"EXPLAIN {sql}", values).scalars().all()
    assert not [step for step in plan if "Sort" in step or "Hash" in step], plan


def test_pages_of_one_entry_follow_one_another(store: Store, make: Any) -> None:
    for number in range(7):
        store.record(make.arrival(number, metadata={"branch": "dar"}))
    index(store)
    where = CollectionFilter(metadata=(met("branch=dar"),))
    page = store.collections.page(Mode.TEST, where=where, limit=3)
    assert ([row.id for row in page.rows], page.more) == (["col_6", "col_5", "col_4"], True)
    older = store.collections.page(Mode.TEST, where=where, older_than=page.rows[-1].key, limit=3)
    assert [row.id for row in older.rows] == ["col_3", "col_2", "col_1"]
    newer = store.collections.page(Mode.TEST, where=where, newer_than=older.rows[0].key, limit=3)
    assert newer.rows == page.rows
    last = store.collections.oldest(Mode.TEST, where=where, limit=2)
    assert [row.id for row in last.rows] == ["col_1", "col_0"]


def test_what_a_later_fact_brings_is_indexed_once(store: Store, make: Any) -> None:
    store.record(make.arrival(1))
    index(store)
    for at in range(3):
        store.record(
            make.observation(
                1, source=Source.POLL, source_id=f"req {at}", description="School fees",
                metadata={"order_id": "A-9"},
            )
        )  # fmt: skip
        index(store)
    assert listed(store, description_part="school fees") == ["col_1"]
    assert listed(store, metadata=(met("order_id=A-9"),)) == ["col_1"]
    with store._engines.reader.connect() as connection:
        if connection.dialect.name == "postgresql":
            held = connection.execute(text("SELECT count(*) FROM description_search")).scalar_one()
            assert held == 1
        entries = connection.execute(text("SELECT count(*) FROM metadata_entry")).scalar_one()
    assert entries == 1


def test_an_event_of_the_other_mode_gives_this_one_no_metadata(store: Store, make: Any) -> None:
    store.record(make.arrival(1, metadata={"order_id": "A-1"}))
    index(store)
    there = store.collections.page(
        Mode.LIVE, where=CollectionFilter(metadata=(met("order_id=A-1"),))
    )
    assert there.rows == ()


def test_values_are_compared_as_json_writes_them_and_long_ones_are_cut() -> None:
    entries = entries_of({"a": 1, "B": 1.5, "c": None, "d": {"x": [1]}, "e": "\0" + "É" * 400})
    assert {("a", "1"), ("b", "1.5"), ("c", "null"), ("d", '{"x":[1]}')} < entries
    [long] = [value for name, value in entries if name == "e"]
    assert (len(long), long[:2]) == (256, "␀é")
