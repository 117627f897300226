"""What follows from the declaration of a column, of each one that there is."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from kusanya.domain.collection_columns import (
    COLUMN_OF_KEY,
    COLUMNS,
    CollectionColumn,
    FieldType,
    IndexScope,
)
from kusanya.filters import KEYS, parse
from kusanya.state.fold import LATER
from kusanya.store.records import CollectionRow
from kusanya.wire import Collection
from kusanya_console.live.filtering import COLLECTION_KEYS, collection_query

NOW = datetime(2026, 3, 5, 12, tzinfo=UTC)
WORDS = [key for key, kind in KEYS.items() if kind is FieldType.WORD and key in COLUMN_OF_KEY]


def test_a_row_has_every_column_and_no_other() -> None:
    declared = [column.name for column in COLUMNS if column.name != "unwell"]
    assert list(CollectionRow.__struct_fields__) == declared


def test_what_the_service_may_leave_out_is_merged_from_all_facts() -> None:
    assert set(LATER) == {
        field.name for field in msgspec.structs.fields(Collection) if field.default is None
    }


def test_free_text_and_phones_are_masked_and_everything_else_is_declared_harmless() -> None:
    masked = {column.name for column in COLUMNS if column.type.is_text and not column.harmless}
    assert masked == {"phone", "description"}


@pytest.mark.parametrize("key", WORDS)
def test_each_word_is_found_by_its_index_or_row_by_row(key: str) -> None:
    column: CollectionColumn = COLUMN_OF_KEY[key]
    where, test = collection_query(parse(f"{key}=x7", keys=COLLECTION_KEYS), now=NOW)
    sought: dict[str, Any] = {**where.wanted, "id": where.ids}
    if sought.get(column.name):
        assert (sought[column.name], test) == (("x7",), None)
    else:
        assert column.indexed is IndexScope.NO
        assert test is not None
        fields = dict.fromkeys(CollectionRow.__struct_fields__, None)
        held: Any = CollectionRow(**{**fields, column.name: "x7"})  # type: ignore[arg-type]
        other: Any = CollectionRow(**{**fields, column.name: "x8"})  # type: ignore[arg-type]
        assert (test(held), test(other)) == (True, False)
