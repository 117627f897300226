"""Months that nobody plans for: empty, all failed, full of what no table of ours knows."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pandas as pd
import pytest

from kusanya_books import columns
from kusanya_books.columns import KEYS, LEDGER, STATEMENT
from kusanya_books.judge import failures, fees, report
from kusanya_books.match import settlement
from kusanya_books.read import load
from kusanya_books.read.sample import faults as sample_faults
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.days import period
from kusanya_books.request.report_inputs import Inputs

MARCH = period("2026-03")
MIDNIGHT = datetime(2026, 3, 5, 21, tzinfo=UTC)
"""When the sixth of March begins, East Africa Time."""
Make = Callable[..., pd.DataFrame]


@pytest.fixture(scope="module")
def empty() -> Inputs:
    """Return the inputs of a month in which nothing happened."""
    return load.inputs(CloseRequest(mode="live", period="2020-01"))


def month_of(inputs: Inputs, frame: pd.DataFrame) -> report.Report:
    return report.report(
        msgspec.structs.replace(
            inputs,
            collections=frame,
            ledger=columns.empty(LEDGER),
            statement=columns.empty(STATEMENT),
            other_mode=columns.empty(KEYS),
            period=MARCH,
            judged_on=MARCH.last,
        )
    )


@pytest.mark.merge
def test_a_month_in_which_nothing_happened_has_every_page_and_closes(empty: Inputs) -> None:
    made = report.report(msgspec.structs.replace(empty, statement=columns.empty(STATEMENT)))
    assert (made.breaks, made.unexplained, made.disagrees) == (0, 0, 0)
    assert made.verdict() == "reconciled"
    filled = [page.name for page in made.pages if not page.frame.empty]
    # The files of another month do not vanish: their lines are shown as outside.
    front = ["reconciliation", "control_totals"]
    assert filled == [*front, "findings", "accounted", "inputs", "lines"]
    assert "in the period" not in set(made.page("lines").frame["part"])
    assert not made.findings["rows"].fillna(0).any()


def test_a_month_in_which_everything_failed_earns_nothing_and_closes(
    empty: Inputs, collections_of: Make
) -> None:
    codes = ["declined", None, "invalid_pin"]
    made = month_of(
        empty, collections_of(*({"status": "failed", "failure_code": code} for code in codes))
    )
    assert (made.breaks, made.unexplained) == (0, 0)
    total = made.page("fees").frame.iloc[-1]
    assert [total[name] for name in ("failed", "gross", "fee", "net")] == [3, 0, 0, 0]
    assert pd.isna(total["effective_bps"])
    assert made.page("failure_codes").frame["code"].tolist() == [
        "(no code)",
        "declined",
        "invalid_pin",
    ]
    assert failures.rates(made.inputs.collections, period=MARCH)["rate"].tolist() == [0.0]


def test_what_no_table_knows_is_kept_shown_and_never_money(
    empty: Inputs, collections_of: Make
) -> None:
    frame = collections_of(
        {"status": "on_hold", "completed_at": None},
        {"status": "reversed", "channel": "=NEW()"},
        {"channel": "NEW_TZ", "currency": "XXX"},
        {"status": "failed", "failure_code": "quantum_flux", "channel": "NEW_TZ"},
    )
    made = month_of(empty, frame)
    assert made.unexplained == 0
    assert made.matched is not None
    verdicts = made.matched.rows["break_code"].value_counts().to_dict()
    assert verdicts == {"unknown_status": 2, "missing_in_ledger": 1}
    daily = made.page("fees").frame
    totals = daily[daily["channel"] == "(all)"].set_index("currency")
    assert totals["other"].to_dict() == {"TZS": 2, "XXX": 0}
    assert totals["gross"].to_dict() == {"TZS": 0, "XXX": 1_000}
    assert set(daily["channel"]) == {"MPESA_TZ", "NEW_TZ", "=NEW()", "(all)"}
    strange = failures.unknown(frame, period=MARCH)
    assert strange[["code", "class"]].to_numpy().tolist() == [["quantum_flux", "unknown"]]
    assert strange["advice"].str.contains("never retry").all()


def test_a_payment_over_midnight_counts_once_on_the_day_it_completed(collections_of: Make) -> None:
    second = timedelta(seconds=1)
    frame = collections_of(
        {"created_at": MIDNIGHT - second, "completed_at": MIDNIGHT},
        {"created_at": MIDNIGHT - 2 * second, "completed_at": MIDNIGHT - second},
    )
    daily = fees.daily(frame, period=MARCH).dropna(subset="business_day")
    days = daily["business_day"].dt.strftime("%Y-%m-%d").tolist()
    assert (days, daily["gross"].tolist()) == (["2026-03-05", "2026-03-06"], [1_000, 1_000])
    assert fees.straddlers(frame, period=MARCH)["collection_id"].tolist() == ["col_1"]
    one = fees.daily(frame, period=period("2026-03-06"))
    assert one["gross"].tolist() == [1_000, 1_000]


def test_two_currencies_and_two_modes_have_totals_of_their_own(collections_of: Make) -> None:
    frame = collections_of(
        {}, {"currency": "KES", "amount": 7}, {"mode": "test", "amount": 5}, {"amount": 2}
    )
    daily = fees.daily(frame, period=MARCH)
    totals = daily[daily["channel"] == "(all)"][["mode", "currency", "gross"]]
    assert totals.to_numpy().tolist() == [
        ["live", "KES", 7],
        ["live", "TZS", 1_002],
        ["test", "TZS", 5],
    ]
    for table in (
        failures.rates(frame, period=MARCH),
        failures.by_hour(frame, period=MARCH),
        fees.expected(frame, period=MARCH, tariff=fees.tariff(frame, period=MARCH)),
    ):
        assert len(table.groupby(["mode", "currency"])) == 3


def settled(month: sample_faults.Month, **changed: Any) -> settlement.SettlementMatch:
    given = {"collections": month.collections, "statement": month.statement, **changed}
    return settlement.match(given["collections"], given["statement"], period=month.period)


def test_the_order_of_a_statement_and_the_size_of_its_money_change_no_verdict() -> None:
    month, factor = sample_faults.month(rows=1_200), 10**9 + 7
    plain = settled(month)
    mixed = settled(
        month,
        collections=month.collections.sample(frac=1, random_state=1),
        statement=month.statement.sample(frac=1, random_state=2),
    )
    pd.testing.assert_frame_equal(plain.rows, mixed.rows)
    pd.testing.assert_frame_equal(plain.bridge, mixed.bridge)
    money = {name: month.collections[name] * factor for name in ("amount", "fee")}
    paid = {name: month.statement[name] * factor for name in ("gross", "fee", "net")}
    larger = settled(
        month,
        collections=month.collections.assign(**money),
        statement=month.statement.assign(**paid),
    )
    assert larger.rows["break_code"].equals(plain.rows["break_code"])
    assert larger.rows["open_balance"].equals(plain.rows["open_balance"] * factor)
    assert larger.bridge["amount"].equals(plain.bridge["amount"] * factor)
