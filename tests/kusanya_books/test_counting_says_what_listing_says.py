"""Rows that agree travel as counts: nothing that is read may change by it."""

import pandas as pd
import pytest

from kusanya_books.columns import LEDGER
from kusanya_books.engine.duckdb_engine import DuckDbEngine
from kusanya_books.match import ledger
from kusanya_books.read.sample import faults as sample_faults

pytestmark = pytest.mark.merge


@pytest.fixture(scope="module")
def made() -> sample_faults.Month:
    return sample_faults.month(rows=2_500, each=2)


def books(made: sample_faults.Month, *, named: str) -> pd.DataFrame:
    """Return the month's books where `named` (none, some, all) of the lines name a collection."""
    lines = made.ledger.copy()
    won = made.collections[made.collections["status"] == "succeeded"]
    ids = lines["reference"].map(dict(zip(won["reference"], won["id"], strict=True)))
    chosen = {"none": lines["row_no"] < 0, "some": lines["row_no"] % 3 == 0}
    lines["collection_id"] = ids.where(chosen.get(named, lines["row_no"] > 0)).astype(
        LEDGER.columns["collection_id"].pandas
    )
    return lines


@pytest.mark.parametrize("named", ["none", "some", "all"])
@pytest.mark.parametrize("basis", ["gross", "net"])
def test_what_is_counted_says_what_is_listed(
    made: sample_faults.Month, named: str, basis: str
) -> None:
    lines = books(made, named=named)
    listed, counted = (
        ledger.match(
            made.collections,
            lines,
            period=made.period,
            basis=basis,
            beside=ledger.Beside(other_mode=made.other_mode, intents=made.intents),
            everything=everything,
        )
        for everything in (True, False)
    )
    read = listed.rows[listed.rows["standing"] != "ok"].reset_index(drop=True)
    assert len(listed.rows) > 2_000
    assert len(read) > 10
    pd.testing.assert_frame_equal(counted.rows, read)
    for name in ("bridge", "ageing", "doubles"):
        pd.testing.assert_frame_equal(getattr(counted, name), getattr(listed, name))
    assert counted.unexplained == 0


def test_a_collection_without_a_reference_is_known_by_its_id(made: sample_faults.Month) -> None:
    lines = books(made, named="all")
    rows = ledger.match(made.collections, lines, period=made.period).rows
    agree = rows[(rows["break_code"] == "matched") & (rows["age_days"] == 10)]
    named, unbooked = agree["collection_id"].iloc[[0, 1]]
    collections = made.collections.copy()
    collections.loc[collections["id"].isin([named, unbooked]), "reference"] = None
    lines = lines[lines["collection_id"] != unbooked]
    listed, counted = (
        ledger.match(collections, lines, period=made.period, everything=everything)
        for everything in (True, False)
    )
    code = listed.rows.set_index("collection_id")["break_code"]
    assert (code[named], code[unbooked]) == ("matched", "missing_in_ledger")
    read = listed.rows[listed.rows["standing"] != "ok"].reset_index(drop=True)
    pd.testing.assert_frame_equal(counted.rows, read)
    assert counted.unexplained == 0


def test_texts_that_share_a_number_change_no_answer(
    made: sample_faults.Month, monkeypatch: pytest.MonkeyPatch
) -> None:
    def match() -> ledger.LedgerMatch:
        return ledger.match(
            made.collections,
            made.ledger,
            period=made.period,
            beside=ledger.Beside(other_mode=made.other_mode, intents=made.intents),
            everything=False,
        )

    apart = match()
    for shared in ("0 * hash", "1023 & hash"):
        monkeypatch.setattr(DuckDbEngine, "hash_function", shared)
        for name in ("rows", "bridge", "ageing", "doubles"):
            pd.testing.assert_frame_equal(getattr(match(), name), getattr(apart, name))


def test_a_customer_who_pays_the_same_again_soon_is_suspected_and_later_is_not(
    made: sample_faults.Month,
) -> None:
    won = made.collections[made.collections["status"] == "succeeded"].iloc[[100, 101]]
    twin = made.collections.copy()
    for name in ("phone_key", "amount", "currency"):
        twin.loc[won.index[1], name] = twin.loc[won.index[0], name]
    moved = twin.loc[won.index[0], "created_at"] + pd.Timedelta(minutes=10)
    twin.loc[won.index[1], "created_at"] = moved
    match = ledger.match(twin, made.ledger, period=made.period, everything=False).doubles
    suspected = match[match["suspected"] & match["collection_ids"].str.contains(won["id"].iloc[1])]
    assert len(suspected) == 1
    twin.loc[won.index[1], "created_at"] = moved + pd.Timedelta(microseconds=1)
    match = ledger.match(twin, made.ledger, period=made.period, everything=False).doubles
    assert not match["collection_ids"].str.contains(won["id"].iloc[1]).any()


def test_a_success_whose_rival_was_booked_under_another_reference_is_a_second_payment(
    made: sample_faults.Month,
) -> None:
    met = ledger.match(made.collections, made.ledger, period=made.period).rows
    first, second, other = met[met["break_code"] == "matched"]["collection_id"].iloc[[0, 1, 2]]
    rows, lines = made.collections.copy(), made.ledger.copy()
    of = dict(zip(rows["id"], rows["reference"], strict=True))
    rows.loc[rows["id"] == second, "reference"] = of[first]
    # The first payment's line names it by id and says another reference; the second has no line.
    lines.loc[lines["reference"] == of[first], ["collection_id", "reference"]] = [first, of[other]]
    lines = lines[lines["reference"] != of[second]]
    for everything in (True, False):
        found = ledger.match(rows, lines, period=made.period, everything=everything)
        code_of = found.rows.set_index("collection_id")["break_code"]
        assert code_of[second] == "double_payment"
        assert found.doubles["collection_ids"].str.contains(second).any()
