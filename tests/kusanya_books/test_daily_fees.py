"""Fees by business day: only what succeeded is money, test and live never meet."""

from collections.abc import Callable
from datetime import UTC, datetime

import pandas as pd
import pytest

from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS, TARIFF
from kusanya_books.judge import fees
from kusanya_books.request.days import cutoff, period

MARCH = period("2026-03")
Make = Callable[..., pd.DataFrame]


def rule(**given: object) -> pd.DataFrame:
    plain = {"mode": "live", "currency": "TZS", "channel": "MPESA_TZ"}
    row = {**dict.fromkeys(TARIFF.columns), **plain, **given}
    return columns.frame(TARIFF, {name: [value] for name, value in row.items()})


def total(frame: pd.DataFrame, mode: str = "live", currency: str = "TZS") -> "pd.Series[int]":
    chosen = (frame["mode"] == mode) & (frame["currency"] == currency)
    return frame[chosen & frame["business_day"].isna()].iloc[0]


def test_fees_and_net_count_only_what_succeeded(collections_of: Make) -> None:
    frame = collections_of(
        {"amount": 1_000, "fee": 18},
        {"amount": 2_000, "fee": 36},
        {"status": "failed", "failure_code": "insufficient_funds", "amount": 5_000, "fee": 90},
        {"status": "expired", "amount": 7_000, "fee": 126},
        {"status": "created", "completed_at": None},
        {"status": "on_hold", "completed_at": None},
    )
    day = fees.daily(frame, period=MARCH).iloc[0]
    counts = ["attempts", "succeeded", "failed", "expired", "open", "other"]
    assert [day[name] for name in counts] == [6, 2, 1, 1, 1, 1]
    assert [day[name] for name in ("gross", "fee", "net")] == [3_000, 54, 2_946]
    assert day["effective_bps"] == 180


def test_a_payment_completed_after_midnight_is_money_of_the_new_day(collections_of: Make) -> None:
    late = {
        "created_at": datetime(2026, 3, 4, 20, 59, 50, tzinfo=UTC),
        "completed_at": datetime(2026, 3, 4, 21, 0, 5, tzinfo=UTC),
    }
    plain = fees.daily(collections_of(late), period=MARCH)
    assert plain["business_day"][0] == pd.Timestamp("2026-03-05")
    shift = cutoff("02:00")
    moved = fees.daily(collections_of(late, cutoff=shift), period=period("2026-03", cutoff=shift))
    assert moved["business_day"][0] == pd.Timestamp("2026-03-04")


def test_modes_and_currencies_are_never_summed(collections_of: Make) -> None:
    frame = collections_of(
        {"amount": 1_000}, {"amount": 10, "currency": "KES"}, {"amount": 7, "mode": "test"}
    )
    result = fees.daily(frame, period=MARCH)
    assert total(result)["gross"] == 1_000
    assert total(result, currency="KES")["gross"] == 10
    assert total(result, mode="test")["gross"] == 7
    assert result["business_day"].isna().sum() == 3


def test_the_effective_rate_rounds_half_up_and_is_missing_without_money(
    collections_of: Make,
) -> None:
    half = fees.daily(collections_of({"amount": 20_000, "fee": 1}), period=MARCH)
    assert half["effective_bps"][0] == 1
    none = fees.daily(collections_of({"status": "failed"}), period=MARCH)
    assert none["effective_bps"].isna().all()
    assert none["gross"].tolist() == [0, 0]


def test_amounts_beyond_what_floats_hold_stay_exact(collections_of: Make) -> None:
    result = fees.daily(collections_of({"amount": 2**53 + 1, "fee": 2}), period=MARCH)
    assert total(result)["net"] == 2**53 - 1
    with pytest.raises(OverflowError):
        fees.daily(collections_of({"amount": 2**62}, {"amount": 2**62}), period=MARCH)


@pytest.mark.parametrize(
    ("band", "expected"),
    [
        ({"fee": 20}, 20),
        ({"rate_num": 180, "rate_den": 10_000, "rounding": "up"}, 19),
        ({"rate_num": 180, "rate_den": 10_000, "rounding": "down"}, 18),
        ({"rate_num": 180, "rate_den": 10_000, "rounding": "half_up"}, 18),
        ({"rate_num": 1, "rate_den": 10_000, "rounding": "up", "floor": 9}, 9),
        ({"rate_num": 9_000, "rate_den": 10_000, "rounding": "up", "cap": 50}, 50),
        ({"fee": 5_000}, 1_001),
    ],
)
def test_a_tariff_says_what_each_fee_should_be(
    collections_of: Make, band: dict[str, object], expected: int
) -> None:
    result = fees.daily(
        collections_of({"amount": 1_001, "fee": 25}), period=MARCH, tariff=rule(**band)
    )
    assert total(result)["expected_fee"] == expected
    assert total(result)["fee_drift"] == 25 - expected


def test_the_expectation_is_missing_where_the_tariff_has_no_price(collections_of: Make) -> None:
    frame = collections_of({}, {"channel": "NEW_TZ"})
    result = fees.daily(frame, period=MARCH, tariff=rule(fee=18))
    assert result["expected_fee"].tolist()[0] == 18
    assert result["expected_fee"].isna().tolist() == [False, True, False]
    assert (total(result)["expected_fee"], total(result)["fee_drift"]) == (18, 0)
    assert result["unpriced"].tolist() == [0, 1, 1]


def test_an_empty_month_has_no_row_and_the_same_types() -> None:
    result = fees.daily(columns.empty(COLLECTIONS), period=MARCH)
    assert len(result) == 0
    assert str(result["fee"].dtype) == "Int64"


def test_what_completed_in_another_month_is_not_counted(collections_of: Make) -> None:
    frame = collections_of({}, {"completed_at": datetime(2026, 3, 31, 21, tzinfo=UTC)})
    assert total(fees.daily(frame, period=MARCH))["attempts"] == 1


def test_without_completed_at_the_event_and_then_the_first_sight_give_the_day(
    collections_of: Make,
) -> None:
    event, seen = datetime(2026, 3, 7, 5, tzinfo=UTC), datetime(2026, 3, 9, 5, tzinfo=UTC)
    frame = collections_of(
        {"completed_at": None, "event_at": event, "final_seen_at": seen},
        {"completed_at": None, "final_seen_at": seen},
        {"completed_at": None, "status": "created"},
    )
    assert frame["day_source"].tolist()[:2] == ["event", "first seen"]
    assert frame["business_day"].tolist()[:2] == [
        pd.Timestamp("2026-03-07"),
        pd.Timestamp("2026-03-09"),
    ]
    assert frame["business_day"].isna().tolist() == [False, False, True]


def test_no_frame_holds_a_full_phone(collections_of: Make) -> None:
    frame = collections_of({"phone": "255754123456"}, {"phone": "255754123456"}, {"phone": "x"})
    assert "255754123456" not in frame.to_csv()
    assert frame["phone_masked"][0] == "+255•••••456"
    assert frame["phone_key"][0] == frame["phone_key"][1] != frame["phone_key"][2]
