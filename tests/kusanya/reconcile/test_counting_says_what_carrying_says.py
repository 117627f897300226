"""Rows that agree travel as counts: nothing that is read may change by it."""

import pandas as pd
import pytest

from kusanya.reconcile import ledger, plants
from kusanya.reconcile.columns import LEDGER


@pytest.fixture(scope="module")
def made() -> plants.Month:
    return plants.month(rows=2_500, each=2)


def books(made: plants.Month, *, named: str) -> pd.DataFrame:
    """Return the month's books where `named` (none, some, all) of the lines name a collection."""
    lines = made.ledger.copy()
    won = made.collections[made.collections["status"] == "succeeded"]
    ids = lines["reference"].map(dict(zip(won["reference"], won["id"], strict=True)))
    chosen = {"none": lines["row_no"] < 0, "some": lines["row_no"] % 3 == 0}
    lines["collection_id"] = ids.where(chosen.get(named, lines["row_no"] > 0)).astype(
        LEDGER.columns["collection_id"].dtype
    )
    return lines


@pytest.mark.parametrize("named", ["none", "some", "all"])
@pytest.mark.parametrize("basis", ["gross", "net"])
def test_what_is_counted_says_what_is_carried(made: plants.Month, named: str, basis: str) -> None:
    lines = books(made, named=named)
    carried, counted = (
        ledger.match(
            made.collections,
            lines,
            period=made.period,
            basis=basis,
            other_mode=made.other_mode,
            intents=made.intents,
            everything=everything,
        )
        for everything in (True, False)
    )
    read = carried.rows[carried.rows["standing"] != "ok"].reset_index(drop=True)
    assert len(carried.rows) > 2_000
    assert len(read) > 10
    pd.testing.assert_frame_equal(counted.rows, read)
    for name in ("bridge", "ageing", "doubles"):
        pd.testing.assert_frame_equal(getattr(counted, name), getattr(carried, name))
    assert counted.unexplained == 0


def test_a_customer_who_pays_the_same_again_soon_is_suspected_and_later_is_not(
    made: plants.Month,
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
