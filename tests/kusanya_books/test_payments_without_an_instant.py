"""A service may name no instant at which a payment completed: its day is that of its event.

`completed_at` is optional: what is open of such payments is what would be open of any.
"""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pandas as pd
import pytest
from tests.kit.chain import world
from tests.kit.chain.closing import Closed, close_chain
from tests.kit.chain.drawing import WAYS
from tests.kit.chain.faults import FAULTS, Planter
from tests.kit.payments import polled, watch

import kusanya_books as reconcile
from kusanya.state.observation import Observation
from kusanya.store import Store
from kusanya_books.request.close_request import CloseRequest

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")


def without_an_instant(fact: Observation) -> Observation:
    """Return a fact that names none, said on the day on which it was so."""
    at = fact.collection.completed_at
    return msgspec.structs.replace(
        fact,
        observed_at=fact.observed_at if at is None else at,
        collection=msgspec.structs.replace(fact.collection, completed_at=None),
    )


def open_of(close: Closed) -> list[tuple[Any, ...]]:
    names = ("leg", "break_code", "standing", "currency", "channel", "amount", "day", "reference")
    found = [tuple(str(item[name]) for name in names) for item in close.items]
    return sorted(found)


@pytest.mark.parametrize("way", list(WAYS)[:1])
def test_what_is_open_is_the_same_where_no_payment_names_its_instant(
    tmp_path: Path, empty_store: Path, way: str
) -> None:
    found: list[list[tuple[str, list[tuple[Any, ...]]]]] = []
    for has_instants in (True, False):
        rng = Random(7)  # noqa: S311 - a repeatable choice
        made = world.chain(rng, months=2, size=90, **WAYS[way])
        planter = Planter(made, rng)
        for name in FAULTS:
            planter.plant(name, 0, is_put_right=True)
        if not has_instants:
            for month in made.months:
                month.facts = [without_an_instant(fact) for fact in month.facts]
        home = tmp_path / str(has_instants)
        home.mkdir()
        shutil.copy(empty_store, home / "store.db")
        closes = close_chain(made, home, home / "store.db")
        found.append([(close.result.verdict.value, open_of(close)) for close in closes])
    assert found[1] == found[0]


@pytest.mark.parametrize("has_instant", [True, False])
@pytest.mark.parametrize("second", ["R-2", "R-1"], ids=["soon again", "one reference"])
def test_a_suspected_second_payment_is_of_the_business_day_of_the_last(
    tmp_path: Path, second: str, *, has_instant: bool
) -> None:
    at = datetime(2026, 3, 5, 21, 30, tzinfo=UTC)  # past midnight in East Africa
    with Store.open(tmp_path / "store.db") as store:
        for number, reference in enumerate(("R-1", second)):
            fact = polled(number + 1, at + number * timedelta(minutes=2), reference=reference)
            store.record(fact if has_instant else without_an_instant(fact))
        store.record(polled(9, at + timedelta(days=20), status="failed", failure_code="x"))
    watch(tmp_path / "store.db")
    lines = "".join(f"{one},1000,TZS,2026-03-06\n" for one in ("R-1", second))
    (tmp_path / "books.csv").write_text(f"reference,amount,currency,booked_at\n{lines}")
    request = CloseRequest(
        mode="live", store=str(tmp_path / "store.db"), ledger=str(tmp_path / "books.csv"),
        period="2026-03",
    )  # fmt: skip
    found = reconcile.run(request, out=tmp_path / "packs")
    assert found.folder is not None
    items = pd.read_parquet(found.folder / "open_items.parquet")
    suspected = items[items["break_code"] == "suspected_double"]
    assert suspected["day"].tolist() == [pd.Timestamp("2026-03-06")]
