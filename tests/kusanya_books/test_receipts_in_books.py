"""Books that name payments by the operator's receipt, as a bookkeeper reads it on the statement."""

import shutil
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest
from tests.kit.books import books_of
from tests.kit.chain import shapes, world
from tests.kit.chain.closing import close_chain
from tests.kit.movements import movements_of

from kusanya_books import columns
from kusanya_books.columns import RECEIPTS
from kusanya_books.judge.report import ReportVerdict
from kusanya_books.read.store import known_receipts

PAID = {"receipt": "QGH7", "reference": "INV-1", "collection_id": "col_1"}


def names(frame: pd.DataFrame) -> list[tuple[Any, Any]]:
    both = zip(frame["reference"], frame["collection_id"], strict=True)
    return [(None if pd.isna(a) else a, None if pd.isna(b) else b) for a, b in both]


@pytest.mark.parametrize("spelling", ["QGH7", "qgh7", " QGH7 "])
@pytest.mark.parametrize("kind", ["payment", "refund", "chargeback"])
def test_a_line_that_names_a_receipt_is_of_what_the_statement_says_it_is_for(
    spelling: str, kind: str
) -> None:
    books = books_of({"reference": spelling, "kind": kind}, {"reference": "INV-2"})
    found = known_receipts.books_by_statements(books, movements_of(PAID))
    assert names(found) == [("INV-1", "col_1"), ("INV-2", None)]
    only = movements_of({**PAID, "collection_id": None})
    assert names(known_receipts.books_by_statements(books, only))[0] == ("INV-1", None)
    only = movements_of({**PAID, "reference": None})
    assert names(known_receipts.books_by_statements(books, only))[0] == (spelling, "col_1")


@pytest.mark.parametrize(
    "moved",
    [
        [{**PAID, "reference": None, "collection_id": None}],
        [{**PAID, "kind": "payout"}],
        [{**PAID, "leg": "bank"}],
        # Two operators gave the same receipt.
        [PAID, {**PAID, "reference": "INV-2", "collection_id": "col_2"}],
        # Somebody calls an order so.
        [PAID, {"receipt": "QGH8", "reference": "qgh7"}],
    ],
)
def test_a_receipt_of_no_one_payment_stays_what_the_books_say(moved: list[dict[str, Any]]) -> None:
    books = books_of({"reference": "QGH7"})
    assert names(known_receipts.books_by_statements(books, movements_of(*moved))) == [
        ("QGH7", None)
    ]


def test_a_line_that_names_its_collection_is_of_that_one() -> None:
    books = books_of({"reference": "QGH7", "collection_id": "col_9"}, {"reference": None})
    found = known_receipts.books_by_statements(books, movements_of(PAID))
    assert names(found) == [("QGH7", "col_9"), (None, None)]


def test_a_receipt_that_an_earlier_close_kept_names_its_collection() -> None:
    one = {"receipt": "QGH7", "collection_id": "col_1"}
    kept = columns.from_dicts(RECEIPTS, [one, {"receipt": "QGH8", "collection_id": "col_2"}])
    books = books_of({"reference": "qgh7"}, {"reference": "INV-2"})
    found = known_receipts.books_by_kept(books, kept)
    assert names(found) == [("qgh7", "col_1"), ("INV-2", None)]


@pytest.mark.merge
@pytest.mark.usefixtures("no_settings", "papers_are_blank")
@pytest.mark.parametrize("also", [[], ["refunds", "booked on the next day"]], ids=str)
def test_months_that_are_booked_by_receipt_are_reconciled(
    tmp_path: Path, empty_store: Path, also: list[str]
) -> None:
    rng = Random(6)  # noqa: S311 - a repeatable choice
    made = world.chain(rng, months=2, size=14)
    for name in [name for name in shapes.SHAPES if name in {*also, "booked by receipt"}]:
        shapes.SHAPES[name](made, rng)
    lines = [row["reference"] for month in made.months for row in month.books]
    receipts = {one.receipt for paid in made.payments for one in paid}
    assert len(receipts & set(lines)) > len(lines) / 2
    shutil.copy(empty_store, tmp_path / "store.db")
    for close in close_chain(made, tmp_path, tmp_path / "store.db"):
        assert close.result.verdict is ReportVerdict.RECONCILED, close.result.sentence
