"""The lines on top of a page say what the tables below them say."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import msgspec
import pandas as pd
import pytest

from kusanya_books import columns
from kusanya_books.columns import STATEMENT, TARIFF
from kusanya_books.judge import failures, fees
from kusanya_books.present import answers, views
from kusanya_books.read import load
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.days import period
from kusanya_books.request.report_inputs import Inputs

MARCH = period("2026-03")
Make = Callable[..., pd.DataFrame]


@pytest.fixture(scope="module")
def sample() -> Inputs:
    return load.inputs(CloseRequest(period="2026-03"))


def of(sample: Inputs, rows: pd.DataFrame, **parts: Any) -> Inputs:
    given: dict[str, Any] = {"statement": None, "tariff": None, **parts}
    return msgspec.structs.replace(sample, collections=rows, **given)


def answers_of(inputs: Inputs) -> dict[str, str]:
    moved = fees.drifted(inputs.collections, period=MARCH)
    return answers.fees(fees.audit(inputs), moved, inputs)


def flat_fee(fee: int) -> pd.DataFrame:
    row = {**dict.fromkeys(TARIFF.columns), "mode": "live", "currency": "TZS", "fee": fee}
    row["channel"] = "MPESA_TZ"
    return columns.frame(TARIFF, {name: [value] for name, value in row.items()})


@pytest.mark.merge
def test_the_fee_audit_says_each_finding_with_its_count_and_sum(
    sample: Inputs, collections_of: Make
) -> None:
    rows = collections_of(
        {"amount": 1_000, "fee": 25},
        {"amount": 2_000, "fee": 15},
        {"amount": 3_000, "fee": 18, "fee_202": 18, "fee_event": 20},
        {"amount": 3_000, "fee": 18, "currency": "KES"},
        {"amount": 9_000, "fee": 18, "status": "failed", "failure_code": "invalid_pin"},
    )
    said = answers_of(of(sample, rows, tariff=flat_fee(18)))
    assert said == {
        "measured against": "the agreed tariff",
        "fees above it": "1, TZS 7",
        "fees below it": "1, TZS -3",
        "collections that it does not price": "1",
        "fees of which two sources differ": "1, TZS 2",
        "fees deducted on what did not succeed": "not proven: no statement was given",
        "fees quoted on what did not succeed": "1, TZS 18",
        "fees on what succeeded, KES": "18 of 3,000; the tariff does not price all",
        "fees on what succeeded, TZS": "58 of 6,000; the tariff asks 54",
    }


def test_without_an_agreed_tariff_the_measure_is_named_and_a_deducted_fee_is_counted(
    sample: Inputs, collections_of: Make
) -> None:
    failed = {"amount": 9_000, "fee": 18, "status": "failed", "failure_code": "invalid_pin"}
    rows = collections_of({"amount": 1_000, "fee": 18}, failed)
    line = {
        **dict.fromkeys(STATEMENT.columns),
        **STATEMENT.defaults,
        "line_no": 1,
        "currency": "TZS",
        "fee": 18,
    }
    line |= {"collection_id": rows["id"].iloc[1], "channel": "MPESA_TZ", "gross": 0, "net": -18}
    line |= {"business_day": pd.Timestamp(date(2026, 3, 5))}
    lines_ = columns.frame(STATEMENT, {name: [value] for name, value in line.items()})
    said = answers_of(of(sample, rows, statement=lines_))
    assert said["measured against"].startswith("the tariff found in the fees")
    assert said["fees deducted on what did not succeed"] == "1, TZS 18"
    assert said["fees above it"] == said["fees below it"] == "0"


def test_failures_say_who_paid_in_the_end_and_what_costs_most(collections_of: Make) -> None:
    def at(hour: int) -> dict[str, datetime]:
        when = datetime(2026, 3, 5, hour, tzinfo=UTC)
        return {"created_at": when, "completed_at": when}

    rows = collections_of(
        {"reference": "A", "amount": 500, "status": "failed", "failure_code": "x_code", **at(6)},
        {"reference": "A", "amount": 500, **at(7)},
        {"reference": "B", "amount": 900, "status": "failed", "failure_code": "y_code", **at(6)},
        {"reference": "C", "amount": 100, **at(6)},
    )
    rates = failures.rates(rows, period=MARCH)
    codes = failures.pareto(rows, period=MARCH)
    recovered = failures.recovery(rows, period=MARCH, as_of=date(2026, 4, 20))
    said = answers.failures(rates, codes, recovered)
    assert said == {
        "references paid in the end, TZS": "66.7%, 2 of 3",
        "attempts that succeeded, TZS": "50.0%, 2 of 4",
        "came back after a failure, TZS": "500",
        "may still come back, TZS": "0",
        "lost, TZS": "900",
        "most is lost to, TZS": "y_code, 900 of 900",
        "most money failed with, TZS": "y_code, 900 of 1,400",
    }
    nothing = answers.failures(rates.iloc[:0], codes.iloc[:0], recovered.iloc[:0])
    assert nothing == {"attempts": "none was made in this period"}


def test_a_sortable_table_begins_with_the_worst_and_leaves_sums_out(collections_of: Make) -> None:
    rows = collections_of({"amount": 1_000, "fee": 18}, {"amount": 9_000, "channel": "TIGO_TZ"})
    shown = views.sortable(fees.daily(rows, period=MARCH), "Days", worst="gross")
    assert isinstance(shown, views.SortableTable)
    assert shown.frame["gross"].tolist() == ["9,000", "1,000"]
    empty = views.sortable(fees.daily(rows.iloc[:0], period=MARCH), "Days")
    assert not isinstance(empty, views.SortableTable)
    assert "Days: none" in empty.to_html()
