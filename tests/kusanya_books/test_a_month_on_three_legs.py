"""One month of books, service, operator and bank: every planted fault by its name, none false."""

from collections import Counter

import msgspec
import pandas as pd
import pytest
from tests.kit import three_legs

from kusanya_books import columns
from kusanya_books.judge.report import Report, ReportVerdict, report
from kusanya_books.match import breaks
from kusanya_books.match.legs import Leg
from kusanya_books.read import load
from kusanya_books.request.close_request import CloseRequest

pytestmark = pytest.mark.usefixtures("no_settings")


def made_of(month: three_legs.Month) -> Report:
    plain = load.inputs(CloseRequest(mode="live", period="2020-01"))
    made = month.made
    return report(
        msgspec.structs.replace(
            plain,
            collections=made.collections,
            other_mode=made.other_mode,
            intents=made.intents,
            ledger=made.ledger,
            statement=made.statement,
            movements=month.movements,
            period=made.period,
            judged_on=made.period.last,
            quality=(),
        )
    )


def broken(leg: Leg | None, *keys: str) -> "Counter[tuple[str, str]]":
    """Return the breaks of a leg: code and the first of these keys that a row has."""
    assert leg is not None
    rows = leg.rows[leg.rows["standing"] == "break"]
    found: Counter[tuple[str, str]] = Counter()
    for row in columns.records(rows):
        named = (getattr(row, key) for key in keys)
        found[row.break_code, next((str(name) for name in named if not pd.isna(name)), "")] += 1
    return found


@pytest.mark.merge
@pytest.mark.scale(1, 4, 12)
def test_every_fault_of_a_month_is_found_named_advised_and_bridged_to_zero(rounds: int) -> None:
    for seed in range(rounds):
        month = three_legs.month(seed=seed, rows=1_200)
        made = made_of(month)
        assert len(month.made.collections) >= 400
        assert broken(made.operator, "receipt", "collection_id") == Counter(month.operator)
        assert broken(made.bank, "payout") == Counter(month.bank)
        planted = month.made.planted
        expected = {code for code, rule in breaks.EVERY.items() if rule.standing != "break"}
        of_books = planted[~planted["break_code"].isin(expected)]
        listed = [leg.rows for leg in (made.matched, made.settled) if leg is not None]
        found = pd.concat([rows[rows["standing"] == "break"]["break_code"] for rows in listed])
        assert Counter(found) == Counter(of_books["break_code"])
        everything = [*found, *(code for code, _ in (*month.operator, *month.bank))]
        assert len(everything) >= 40
        assert len(set(everything)) >= 25
        for code in set(everything):
            assert len(breaks.EVERY[code].action) > len("None.")
        lines = made.page("reconciliation").frame
        left = lines[lines["role"] == "difference"]
        assert len(left["part"].unique()) == 4
        assert set(left["amount"]) == {0}
        assert (made.unexplained, made.verdict()) == (0, ReportVerdict.BREAKS)
