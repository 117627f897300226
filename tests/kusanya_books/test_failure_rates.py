"""Failure codes by count and by money, with honest intervals."""

from collections.abc import Callable

import pandas as pd
import pytest

from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS
from kusanya_books.judge import failures
from kusanya_books.judge.wilson import wilson
from kusanya_books.request.days import period
from kusanya_service.simulation.networks import FAILURES

MARCH = period("2026-03")
Make = Callable[..., pd.DataFrame]


def whole(*values: int) -> "pd.Series[int]":
    return pd.Series(values, dtype="Int64")


def test_wilson_holds_for_a_handful_of_attempts() -> None:
    rate, low, high = wilson(whole(3, 0, 5, 0), whole(40, 10, 5, 0))
    assert rate.round(4).tolist()[:3] == [0.075, 0.0, 1.0]
    assert low.round(4).tolist()[:3] == [0.0258, 0.0, 0.5655]
    assert high.round(4).tolist()[:3] == [0.1986, 0.2775, 1.0]
    assert [column[3] for column in (rate, low, high)] == [pd.NA] * 3


def test_codes_come_by_count_then_by_name_and_their_shares_end_at_one(collections_of: Make) -> None:
    frame = collections_of(
        {"status": "failed", "failure_code": "user_cancelled", "amount": 900, "reference": "A"},
        {"status": "failed", "failure_code": "insufficient_funds", "amount": 50, "reference": "A"},
        {"status": "failed", "failure_code": "insufficient_funds", "amount": 50, "reference": "A"},
        {"status": "expired", "amount": 1_000},
        {"status": "failed", "failure_code": None},
        {"status": "succeeded"},
        {"status": "created", "completed_at": None},
    )
    result = failures.pareto(frame, period=MARCH)
    assert result["code"].tolist() == [
        "insufficient_funds",
        "(expired)",
        "(no code)",
        "user_cancelled",
    ]
    assert result["attempts"].tolist() == [2, 1, 1, 1]
    assert result["references"].tolist() == [1, 1, 1, 1]
    assert result["share"].tolist() == pytest.approx([0.4, 0.2, 0.2, 0.2])
    assert result["cum_share"].tolist() == pytest.approx([0.4, 0.6, 0.8, 1.0])
    assert result["rate"][0] == pytest.approx(2 / 6)
    assert result["value"].tolist() == [100, 1_000, 1_000, 900]
    assert result["value_cum_share"].tolist() == pytest.approx([1.0, 1 / 3, 2 / 3, 2.9 / 3])


def test_an_unknown_code_appears_as_itself(collections_of: Make) -> None:
    frame = collections_of({"status": "failed", "failure_code": "new_thing"})
    row = failures.pareto(frame, period=MARCH).iloc[0]
    assert (row["code"], row["class"]) == ("new_thing", "unknown")
    assert "provider" in row["advice"]


def test_the_codes_of_test_and_live_are_counted_apart(collections_of: Make) -> None:
    frame = collections_of({"status": "expired"}, {"status": "expired", "mode": "test"})
    result = failures.pareto(frame, period=MARCH)
    assert result["mode"].tolist() == ["live", "test"]
    assert result["rate"].tolist() == [1.0, 1.0]


def test_every_code_of_the_embedded_service_has_a_class_and_an_advice() -> None:
    known = failures.known()
    assert set(FAILURES) - {"unknown"} <= set(known["code"])
    assert known["advice"].str.len().min() > 0


def test_a_month_without_failures_has_no_row_and_the_same_types(collections_of: Make) -> None:
    for frame in (columns.empty(COLLECTIONS), collections_of({})):
        result = failures.pareto(frame, period=MARCH)
        assert len(result) == 0
        assert str(result["share"].dtype) == "Float64"
