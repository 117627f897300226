"""A leg is of the files that were given for it, also where none of their rows can be read."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.kit.payments import polled
from tests.kit.statements import statement_of

from kusanya.store import Store
from kusanya_books import columns
from kusanya_books.match import bank, operator, settlement
from kusanya_books.match.settlement import PaidFor, paid_for
from kusanya_books.read import load
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.earlier_period import ALL, Compared
from kusanya_books.request.quality import UNREAD_LINE
from kusanya_books.request.report_inputs import Inputs

pytestmark = pytest.mark.usefixtures("no_settings")
NOON = datetime(2026, 3, 5, 9, tzinfo=UTC)
OPERATOR = (
    "receipt,reference,amount,currency,channel,at,status\n"
    "RC1,R-1,{},TZS,MPESA_TZ,2026-03-05 12:00,completed\n"
    "RC2,R-2,{},TZS,MPESA_TZ,2026-03-05 12:30,completed\n"
)
BANK = "date,details,amount,currency\n2026-03-06,PAY B1,{},TZS\n2026-03-06,PAY B2,{},TZS\n"
FILES: dict[str, tuple[Any, str]] = {"operator": (operator, OPERATOR), "bank": (bank, BANK)}


@pytest.fixture
def given(tmp_path: Path, empty_store: Path) -> Any:
    """Return a maker of a period's inputs from the text of a leg's file."""
    path = tmp_path / "store.db"
    path.write_bytes(empty_store.read_bytes())
    with Store.open(path) as store:
        for number in (1, 2):
            store.record(polled(number, NOON, channel="MPESA_TZ"))

    def inputs(leg: str = "", text: str = "") -> Inputs:
        file = tmp_path / f"{leg}.csv"
        file.write_text(text, encoding="utf-8")
        asked: dict[str, Any] = {leg: [str(file)]} if leg else {}
        request = CloseRequest(store=str(path), mode="live", period="2026-03", **asked)
        return load.inputs(request)

    return inputs


def unread(bridge: pd.DataFrame) -> list[tuple[int, int]]:
    lines = columns.records(bridge[bridge["line"] == UNREAD_LINE])
    return [(int(row.rows), int(row.amount)) for row in lines]


def test_a_leg_of_which_no_file_was_given_is_none(given: Any) -> None:
    inputs = given()
    assert [leg.of(inputs) for leg in (operator, bank, settlement)] == [None] * 3


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_which_no_row_can_be_read_is_a_leg_that_proves_nothing(
    given: Any, name: str
) -> None:
    leg, text = FILES[name]
    found = leg.of(given(name, text.format(700, 800).replace("2026-03", "2026-13")))
    assert found is not None
    assert found.is_unread
    assert found.rows.empty
    assert unread(found.bridge) == [(2, 1_500)]
    if name == "operator":
        assert found.receipts.empty


@pytest.mark.parametrize("name", FILES)
def test_what_could_not_be_read_stands_in_the_bridge_beside_what_could(
    given: Any, name: str
) -> None:
    leg, text = FILES[name]
    bad = text.format(1_000, 800)
    place = bad.rindex("2026-03")
    found = leg.of(given(name, f"{bad[:place]}2026-13{bad[place + 7 :]}"))
    assert found is not None
    assert not found.is_unread
    assert len(found.rows)
    assert unread(found.bridge) == [(1, 800)]


@pytest.mark.parametrize(
    ("line", "before", "item", "by_channel"),
    [
        ({}, None, False, True),
        ({"channel": None}, None, False, False),
        ({"collection_id": "col_1"}, None, True, True),
        ({"collection_id": "col_1", "channel": None}, None, True, True),
        # A statement that has lines says it itself, whatever the one before it was for.
        ({"channel": None}, {"by_item": True}, False, False),
        (None, None, False, True),
        (None, {"by_item": True}, True, True),
        (None, {"by_item": True, "settled": (ALL,)}, True, True),
        (None, {"settled": ("MPESA_TZ",)}, False, True),
        (None, {"settled": (ALL,)}, False, False),
    ],
)
def test_a_statement_is_of_collections_or_of_days_and_of_each_channel_or_of_all(
    line: dict[str, Any] | None, before: dict[str, Any] | None, *, item: bool, by_channel: bool
) -> None:
    plain = {"line_no": 1, "batch_id": "B", "day": date(2026, 3, 5), "currency": "TZS"}
    plain |= {"channel": "MPESA_TZ", "collection_id": None, "gross": None, "fee": None, "net": 5}
    days: dict[str, Any] = {"first": date(2026, 2, 1), "last": date(2026, 2, 28)}
    known = None if before is None else Compared(**days, **before)
    said = statement_of([] if line is None else [{**plain, **line}])
    assert paid_for(said, known) == PaidFor(item, by_channel)
    if line is None:
        assert paid_for(None, known) == PaidFor(item, by_channel)
