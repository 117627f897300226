"""References are found by any part of them, before and after the index has reached them."""

from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kusanya.store import Store
from kusanya.store.queries.collections.indexing import index_references
from kusanya.wire import Mode

REFERENCES = ("INV-000123", "inv-000124", "Ankara ☃ Straße", '"quoted" AND it', "%_%", "ab", "")


def fill(store: Store, make: Any) -> None:
    for number, reference in enumerate(REFERENCES):
        store.record(make.arrival(number, reference=reference))


def index(store: Store) -> None:
    while store._act(partial(index_references)):
        pass


def found(store: Store, fragment: str, **options: Any) -> list[str]:
    rows = store.collections.containing(Mode.TEST, fragment, **options)
    return [row.reference for row in rows]


@pytest.mark.parametrize("indexed", [False, True], ids=["before", "after"])
def test_any_part_in_any_case_finds_it(store: Store, make: Any, indexed: bool) -> None:
    fill(store, make)
    if indexed:
        index(store)
    assert found(store, "nv-00012") == ["inv-000124", "INV-000123"]
    assert found(store, "000123") == ["INV-000123"]
    assert found(store, "strASSE") == ["Ankara ☃ Straße"]
    assert found(store, "a ☃ ") == ["Ankara ☃ Straße"]
    assert found(store, '" AND') == ['"quoted" AND it']
    assert found(store, "%_%") == ["%_%"]
    assert found(store, "000125") == []
    assert found(store, "NV-0", limit=1) == ["inv-000124"]
    assert store.collections.containing(Mode.LIVE, "000123") == ()


def test_fewer_than_three_characters_are_the_callers_mistake(store: Store) -> None:
    with pytest.raises(ValueError, match="3 characters"):
        store.collections.containing(Mode.TEST, "ab")


def test_a_collection_is_indexed_once_whatever_is_observed_of_it(store: Store, make: Any) -> None:
    for _ in range(3):
        store.record(make.arrival(1))
        index(store)
        store.record(make.observation(1, source_id=f"later {store.feed.head()}"))
    assert found(store, "000001") == ["INV-000001"]
    index(store)
    assert found(store, "000001") == ["INV-000001"]


def test_a_reference_that_changes_with_a_late_fact_is_found_too(store: Store, make: Any) -> None:
    store.record(make.arrival(1))
    index(store)
    store.record(make.observation(1, at=make.noon, source_id="late", reference="EARLIER-77"))
    index(store)
    assert found(store, "lier-7") == ["EARLIER-77"]
    assert found(store, "INV-0") == []


def test_an_idle_journal_catches_up_by_itself(store: Store, make: Any) -> None:
    # 500 facts are worth a step at once.
    for future in [store.submit(make.arrival(n)) for n in range(600)]:
        future.result()
    index(store)
    assert len(found(store, "INV-0", limit=1000)) == 600
    assert store.maintenance.check() == ()


@pytest.mark.merge
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    reference=st.text(st.characters(codec="utf-8"), min_size=3, max_size=20),
    part=st.slices(20),
    number=st.integers(0, 10**9),
)
def test_every_part_of_every_reference_finds_it(
    store: Store, make: Any, reference: str, part: slice, number: int
) -> None:
    fragment = reference[part.start : part.stop]
    store.record(make.arrival(number, reference=reference))
    index(store)
    row = store.collections.get(f"col_{number}", Mode.TEST)
    assert row is not None
    if len(fragment.casefold()) >= 3 and row.reference == reference:
        assert row in store.collections.containing(Mode.TEST, fragment, limit=1000)
