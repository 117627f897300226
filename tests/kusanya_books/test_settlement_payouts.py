"""Payouts that come late, for several days at once, or twice, each against what earned it."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pandas as pd
import pytest
from tests.kit.statements import statement_of

from kusanya_books import columns
from kusanya_books.match import settlement
from kusanya_books.request.days import period
from kusanya_books.request.tolerance import Tolerance

WEEK = period("2026-03-02..2026-03-08")
JUDGED = date(2026, 3, 8)
Make = Callable[..., pd.DataFrame]
Row = dict[str, Any]


def paid_on(*parts: tuple[str | None, int, int], **more: Any) -> list[Row]:
    """Return lines of batch, day of March and net; they say neither gross nor fee."""
    plain = {"channel": "MPESA_TZ", "currency": "TZS", "collection_id": None}
    return [
        {
            **plain,
            "line_no": number,
            "batch_id": batch,
            "day": date(2026, 3, day),
            "gross": None,
            "fee": None,
            "net": net,
            **more,
        }
        for number, (batch, day, net) in enumerate(parts, start=1)
    ]


def verdicts(collections: pd.DataFrame, lines: list[Row], **terms: Any) -> list[Any]:
    found = settlement.match(
        collections,
        statement_of(lines),
        period=WEEK,
        tolerance=Tolerance(**terms),
        as_of=JUDGED,
    )
    rows = found.rows.sort_values(["business_day", "line_no"])
    return [
        (row.business_day.day, row.break_code, None if pd.isna(row.group_key) else row.group_key)
        for row in columns.records(rows)
    ]


def of_days(make: Make, *earned_on: tuple[int, int]) -> pd.DataFrame:
    """Return one success a day without a fee: day of March and amount."""
    moments = [datetime(2026, 3, day, 9, tzinfo=UTC) for day, _ in earned_on]
    return make(
        *(
            {"amount": amount, "fee": 0, "created_at": at, "completed_at": at}
            for at, (_, amount) in zip(moments, earned_on, strict=True)
        )
    )


def test_a_statement_dated_by_its_payouts_and_a_line_for_a_weekend_pay_the_days_that_earned(
    collections_of: Make,
) -> None:
    collections = of_days(collections_of, (2, 100), (3, 230), (4, 350), (5, 470), (6, 590))
    late = paid_on(("A", 3, 100), ("B", 4, 220), ("C", 5, 350), ("D", 7, 1_060))
    assert verdicts(collections, late) == [
        (2, "settled", None),
        (3, "settlement_short", None),
        (4, "settled", None),
        (5, "settled", "line 4"),
        (6, "settled", "line 4"),
    ]


def test_a_payout_that_is_paid_again_under_a_new_batch_is_a_duplicate_and_no_fee_to_claim(
    collections_of: Make,
) -> None:
    collections = of_days(collections_of, (2, 100), (3, 230))
    for again in (("B", 2, 100), ("A", 2, 100), ("A", 3, 100), ("A", 4, 100)):
        lines = [*paid_on(("A", 2, 100), ("C", 3, 230), again)]
        found = [code for _, code, _ in verdicts(collections, lines)]
        assert sorted(found) == ["settled", "settled", "settlement_duplicate"]


@pytest.mark.parametrize("batch", ["B", None])
@pytest.mark.parametrize(
    ("day", "found"),
    [
        (3, [(2, "settled", None), (3, "settlement_over", None)]),
        (4, [(2, "settled", None), (3, "settled", None), (4, "settlement_unexpected", None)]),
    ],
)
def test_a_batch_of_its_own_whose_sum_is_that_of_another_day_is_not_called_paid_twice(
    collections_of: Make, batch: str | None, day: int, found: list[tuple[int, str, str | None]]
) -> None:
    collections = of_days(collections_of, (2, 100), (3, 230))
    lines = paid_on((batch and "A", 2, 100), (batch and "C", 3, 230), (batch, day, 100))
    assert sorted(verdicts(collections, lines)) == found


@pytest.mark.parametrize("gross", [1_000, None], ids=["with its gross", "without"])
@pytest.mark.parametrize(
    ("fee", "code"), [(20, "settlement_within_tolerance"), (21, "settlement_fee_mismatch")]
)
def test_a_payout_that_is_short_by_its_fee_alone_claims_the_fee_beyond_the_tolerance(
    collections_of: Make, gross: int | None, fee: int, code: str
) -> None:
    at = datetime(2026, 3, 2, 9, tzinfo=UTC)
    collections = collections_of({"amount": 1_000, "fee": 18, "created_at": at, "completed_at": at})
    lines = paid_on(("A", 2, 1_000 - fee), gross=gross, fee=fee)
    assert verdicts(collections, lines, fee=2, amount=2) == [(2, code, None)]


def test_a_channel_may_be_paid_out_later_than_the_others(collections_of: Make) -> None:
    collections = of_days(collections_of, (5, 100))
    assert verdicts(collections, []) == [(5, "settlement_missing", None)]
    later = {"settle_days_of": {"MPESA_TZ": 4}}
    assert verdicts(collections, [], **later) == [(5, "settlement_pending", None)]
    with pytest.raises(ValueError, match="settle_days_of MPESA_TZ is not negative"):
        Tolerance(settle_days_of={"MPESA_TZ": -1})


@pytest.mark.parametrize(
    ("owed", "paid_to"),
    [((), 2), ((400,), 1), ((-100,), 2), ((-100, 100), 2), ((-100, 500), 1)],
    ids=str,
)
@pytest.mark.parametrize("channel", ["MPESA_TZ", None])
@pytest.mark.parametrize("net", [700, 400], ids=["of both days", "of the earlier day"])
def test_a_line_pays_a_day_of_an_earlier_period_only_where_that_waits_for_money(
    collections_of: Make, owed: tuple[int, ...], paid_to: int, channel: str | None, net: int
) -> None:
    """A day that was paid too much does not, though its sum and the next day's are the line's."""
    plain = {"collection_id": None, "business_day": pd.Timestamp(2026, 3, 1), "currency": "TZS"}
    rows = [{**plain, "channel": channel, "net": due} for due in owed]
    fields = settlement.OWED.columns
    known = settlement.Known(
        owed=columns.frame(settlement.OWED, {name: [row[name] for row in rows] for name in fields}),
        settled_before=[channel or ""],
    )
    found = settlement.match(
        of_days(collections_of, (1, 400), (2, 300)),
        statement_of(paid_on(("A", 2, net), channel=channel)),
        period=WEEK,
        as_of=JUDGED,
        known=known,
    )
    assert min(found.placed["business_day"]).day == paid_to


@pytest.mark.parametrize(
    ("earned", "lines", "before", "paid", "now"),
    [
        pytest.param([(4, 100), (5, 100)], [(5, 100)], 0, [5], 0, id="either, none before"),
        pytest.param([(4, 100), (5, 100)], [(5, 100)], 1, [4], 1, id="either, as before"),
        pytest.param([(5, 100)], [(6, 90)], 0, [6], 0, id="none agrees, none before"),
        pytest.param([(5, 100)], [(6, 90)], 1, [5], 1, id="none agrees, as before"),
        pytest.param([(5, 100)], [(6, 90)], 2, [6], 2, id="none agrees, later than is agreed"),
        pytest.param([(4, 100), (5, 70)], [(4, 100), (5, 70)], 1, [4, 5], 0, id="not later now"),
        pytest.param([(5, 100)], [(6, 100)], 0, [5], 1, id="later now"),
        pytest.param([(5, 100)], [], 1, [], 1, id="no line"),
    ],
)
@pytest.mark.parametrize("channel", ["MPESA_TZ", None])
def test_how_much_later_lines_are_dated_is_as_in_the_close_before_where_a_night_tells_nothing(
    collections_of: Make,
    *,
    earned: list[tuple[int, int]],
    lines: list[tuple[int, int]],
    before: int,
    paid: list[int],
    now: int,
    channel: str | None,
) -> None:
    found = settlement.match(
        of_days(collections_of, *earned),
        statement_of(paid_on(*((f"P{day}", day, net) for day, net in lines), channel=channel)),
        period=WEEK,
        as_of=JUDGED,
        known=settlement.Known(dated_later={channel or "": before} if before else {}),
    )
    with_line = found.rows[found.rows["line_no"].notna()]
    assert sorted(with_line["business_day"].dt.day) == paid
    assert found.dated_later == ({channel or "": now} if now else {})
