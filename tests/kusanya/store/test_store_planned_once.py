"""What people ask for again and again is planned once: SQLite plans as long as it searches."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kusanya.store import Store
from kusanya.store.records import Key
from kusanya.wire import Mode

KEY = Key(1_772_366_400_000_000, "col_5")
TEST = Mode.TEST
_SELECT = 21
"""SQLite's number for the permission to run a SELECT."""
BOUNDED: dict[str, Callable[[Store, int], object]] = {
    "newest page": lambda s, limit: s.collections.page(TEST, limit=limit),
    "older page": lambda s, limit: s.collections.page(TEST, older_than=KEY, limit=limit),
    "reference": lambda s, limit: s.collections.by_reference(TEST, "INV-000001", limit=limit),
    "phone": lambda s, limit: s.collections.by_phone(TEST, "255754000001", limit=limit),
    "beginning": lambda s, limit: s.collections.by_prefix(TEST, "INV", limit=limit),
    "metadata": lambda s, limit: s.collections.by_metadata(TEST, "A-1", limit=limit),
    "open intents": lambda s, limit: s.intents.still_open(TEST, limit=limit),
    "open intents by a part": lambda s, limit: s.intents.still_open(
        TEST, reference_part="NV-1", limit=limit
    ),
    "note": lambda s, limit: s.notes.search(TEST, "SJ31", limit=limit),
}


@pytest.mark.parametrize("name", list(BOUNDED))
def test_what_is_asked_again_with_another_limit_is_not_planned_again(
    tmp_path: Path, make: Any, name: str
) -> None:
    planned: list[int] = []

    def allow(action: int, *_: object) -> int:
        planned.append(action)
        return 0

    with Store.open(str(tmp_path / "store.db")) as store:
        store.record(make.arrival(1))
        pooled = store._engines.reader.raw_connection()
        # Whenever SQLite plans a SELECT it asks whether that is allowed.
        driver: Any = pooled.driver_connection
        driver.set_authorizer(allow)
        pooled.close()
        BOUNDED[name](store, 50)
        assert _SELECT in planned
        planned.clear()
        BOUNDED[name](store, 40)
        assert _SELECT not in planned
