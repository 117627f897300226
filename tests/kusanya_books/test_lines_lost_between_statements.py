"""A line that is in no statement though the balances have it, between two months and within one."""

import csv
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.kit.chain import world
from tests.kit.chain.closing import Closed, close_chain
from tests.kit.chain.world import Chain, at_of, credited

from kusanya.store import Store
from kusanya_books.judge.report import CloseResult, ReportVerdict
from kusanya_books.pack import close, decisions
from kusanya_books.request.close_request import CloseRequest

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
DENIED = "movements that the balances beside them deny"


@pytest.fixture
def made() -> Chain:
    return world.chain(Random(6), months=2)  # noqa: S311 - a repeatable choice


def lose_rent(made: Chain, number: int, day: date, hour: int) -> None:
    line = credited("RENT", -350_000, day, kind="charge")
    made.months[number].bank.append({**line, "at": at_of(day, hour), "is_lost": True})


def lose_float(made: Chain, number: int, day: date, hour: int) -> None:
    """Let a till pay a supplier, and no statement have the line."""
    channel, rows = next(iter(made.months[number].operator.items()))
    line = {"receipt": "OTLOST1", "amount": -350_000, "currency": "TZS", "kind": "own"}
    rows.append({**line, "at": at_of(day, hour), "channel": channel, "is_lost": True})


def refused(close: Closed) -> dict[str, Any]:
    """Return the one item of a close that is not reconciled for its balances alone."""
    assert close.result.verdict is ReportVerdict.BREAKS
    left = {one["finding"]: one["amount"] for one in close.result.findings if one["rows"]}
    assert left[DENIED] == 350_000
    [item] = [one for one in close.items if one["standing"] == "break"]
    return item


Lose = Callable[[Chain, int, date, int], None]


@pytest.mark.merge
@pytest.mark.parametrize("lose", [lose_rent, lose_float])
@pytest.mark.parametrize("is_of_the_first", [True, False])
def test_what_no_statement_has_is_found_by_the_month_that_goes_on_after_it(
    made: Chain, tmp_path: Path, empty_store: Path, lose: Lose, *, is_of_the_first: bool
) -> None:
    if is_of_the_first:
        lose(made, 0, made.months[0].last, 23)
    else:
        lose(made, 1, made.months[1].first, 0)
    shutil.copy(empty_store, tmp_path / "store.db")
    march, april = close_chain(made, tmp_path, tmp_path / "store.db")
    assert march.result.verdict is ReportVerdict.RECONCILED, march.result.sentence
    item = refused(april)
    assert (item["leg"], item["break_code"], item["amount"]) == (
        "balances",
        "balances_apart",
        "350000",
    )
    assert "give the whole statement" in item["suggested_action"]


@pytest.mark.merge
def test_it_is_gone_where_the_whole_statement_is_given_or_somebody_accepts_it(
    tmp_path: Path, empty_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = world.chain(Random(6), months=3)  # noqa: S311 - a repeatable choice
    lose_rent(made, 1, made.months[1].first, 0)
    asked: list[CloseRequest] = []
    run = close.run

    def kept(request: CloseRequest, **more: Any) -> CloseResult:
        asked.append(request)
        return run(request, **more)

    monkeypatch.setattr(close, "run", kept)
    shutil.copy(empty_store, tmp_path / "store.db")
    _, april, may = close_chain(made, tmp_path, tmp_path / "store.db")
    item = refused(april)
    # May goes on where April ended.
    assert may.result.verdict is ReportVerdict.RECONCILED, may.result.sentence
    assert april.result.folder is not None
    with Store.open(tmp_path / "store.db") as store:
        items = decisions.load(store, april.result.folder)
        decisions.record(store, items, item["break_id"], status="accepted", note="two accounts")
    again = run(asked[1], out=tmp_path / "again")
    assert again.verdict is ReportVerdict.RECONCILED, again.sentence
    left = {one["finding"]: one["amount"] for one in again.findings if one["rows"]}
    assert left["accepted by name"] == 350_000
    # The line as the bank has it, in its place.
    with Store.open(tmp_path / "store.db") as store:
        decisions.record(store, items, item["break_id"], status="open")
    path = Path(asked[1].bank[0])
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    [lost] = [row for row in made.months[1].bank if row.get("is_lost")]
    first = {**lost, "at": lost["at"].isoformat()}
    first["balance"] = int(rows[0]["balance"]) - int(rows[0]["amount"])
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, world.BANKED, extrasaction="ignore")
        writer.writeheader()
        writer.writerows([first, *rows])
    whole = run(asked[1], out=tmp_path / "whole")
    assert whole.verdict is ReportVerdict.RECONCILED, whole.sentence
