"""The tariff that was charged is found exactly, also where some fees are wrong."""

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya.domain.prices import ROUNDINGS, Bands, Point, Rate, rounded
from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS
from kusanya_books.judge import fees
from kusanya_books.judge.tariff import fit, infer
from kusanya_books.read.sample import faults as sample_faults
from kusanya_books.request.days import period

MARCH = period("2026-03")


def charged(
    price: Callable[[int], int], *, rows: int = 1_500, wrong: float = 0.01, seed: int = 1
) -> list[Point]:
    chance = random.Random(seed)  # noqa: S311 - a seeded month, no secret
    points: Counter[tuple[int, int]] = Counter()
    for _ in range(rows):
        amount = chance.randrange(500, 300_000)
        slip = chance.randrange(1, 50) if chance.random() < wrong else 0
        points[amount, price(amount) + slip] += 1
    return [(amount, fee, n) for (amount, fee), n in points.items()]


@pytest.mark.parametrize("rounding", ["half_up", "up", "down"])
def test_a_rate_is_found_exactly_with_one_fee_in_a_hundred_falsified(rounding: str) -> None:
    model = fit(charged(lambda amount: rounded(amount * 150, 10_000, rounding)))
    assert isinstance(model, Rate)
    assert (model.rate, model.rounding) == (Fraction(15, 1_000), rounding)
    assert model.low <= model.rate <= model.high
    assert model.high - model.low < Fraction(1, 100_000)


@given(
    rate=st.fractions(0, Fraction(1, 2)),
    rounding=st.sampled_from(ROUNDINGS),
    floor=st.none() | st.integers(0, 2_000),
    cap=st.none() | st.integers(0, 2_000),
    amounts=st.lists(st.integers(0, 9_000) | st.integers(2**53, 2**63 - 1), min_size=1),
    slips=st.lists(st.sampled_from([0, 0, 0, 1, -1]), min_size=1),
)
def test_a_rate_explains_exactly_the_rows_whose_fee_it_asks(
    *,
    rate: Fraction,
    rounding: str,
    floor: int | None,
    cap: int | None,
    amounts: list[int],
    slips: list[int],
) -> None:
    model = Rate(rate=rate, low=rate, high=rate, rounding=rounding, floor=floor, cap=cap)
    points = [
        (amount, model.fee(amount) + slips[place % len(slips)], place + 1)
        for place, amount in enumerate(amounts)
    ]
    right = [n for place, (_, _, n) in enumerate(points) if slips[place % len(slips)] == 0]
    assert model.explained(points) == sum(right)


def test_a_floor_and_a_cap_are_found() -> None:
    model = fit(
        charged(lambda amount: max(500, min(3_000, rounded(amount * 25, 2_000, "half_up"))))
    )
    assert isinstance(model, Rate)
    assert (model.rate, model.floor, model.cap) == (Fraction(25, 2_000), 500, 3_000)


def test_bands_are_found_with_their_edges_between_two_amounts() -> None:
    model = fit(charged(lambda amount: 100 if amount < 20_000 else 300 if amount < 90_000 else 900))
    assert isinstance(model, Bands)
    assert [band.fee for band in model.bands] == [100, 300, 900]
    assert model.bands[0].last < 20_000 <= model.bands[1].first
    assert model.bands[1].last < 90_000 <= model.bands[2].first


def test_one_fee_for_everything_is_flat_and_the_fewest_parameters_win() -> None:
    model = fit(charged(lambda _: 700))
    assert isinstance(model, Bands)
    assert (len(model.bands), model.parameters) == (1, 1)


def test_fees_without_a_rule_are_unknown() -> None:
    chance = random.Random(2)  # noqa: S311 - a seeded month, no secret
    assert (
        fit([(chance.randrange(1, 10**6), chance.randrange(1, 999), 1) for _ in range(300)]) is None
    )
    assert fit([]) is None


def test_a_price_changes_on_the_first_day_on_which_the_old_one_fails() -> None:
    def days(bps: int, seed: int) -> list[list[Point]]:
        return [
            charged(lambda amount: rounded(amount * bps, 10_000, "up"), rows=40, seed=seed + day)
            for day in range(10)
        ]

    first, second = infer([*days(160, 0), *days(190, 50)])
    assert (first.first, first.last, second.first, second.last) == (0, 9, 10, 19)
    assert isinstance(first.model, Rate)
    assert isinstance(second.model, Rate)
    assert [first.model.rate, second.model.rate] == [Fraction(16, 1_000), Fraction(19, 1_000)]
    assert first.explained > 0.95 * first.rows


def test_a_day_of_wrong_fees_is_no_change_of_price() -> None:
    good = [
        charged(lambda amount: rounded(amount * 160, 10_000, "up"), rows=40, seed=day)
        for day in range(10)
    ]
    good[6] = charged(lambda amount: amount % 97 + 1, rows=40, seed=9)
    assert len(infer(good)) == 1


def test_the_sample_month_has_one_price_a_channel_and_one_change() -> None:
    month = sample_faults.month(rows=6_000)
    found = fees.tariff(month.collections, period=MARCH)
    prices = [
        (channel, bps, None if pd.isna(first) else f"{first:%d}")
        for channel, bps, first in zip(
            found["channel"], found["bps"], found["first_day"], strict=True
        )
    ]
    assert prices == [
        ("AIRTEL_TZ", "160", None),
        ("AIRTEL_TZ", "190", "16"),
        ("HALOPESA_TZ", "150", None),
        ("MPESA_TZ", "180", None),
        ("TIGO_TZ", "170", None),
        ("TTCL_TZ", "150", None),
    ]
    odd = fees.exceptions(month.collections, period=MARCH, tariff=found)
    assert odd["drift"].tolist() == [37, 37, 37]
    assert found["exceptions"].sum() == 3
    audited = fees.expected(month.collections, period=MARCH, tariff=found)
    assert audited["drift"].sum() == 3 * 37
    assert audited["exceptions"].sum() == 3


def test_a_month_without_collections_has_no_tariff() -> None:
    found = fees.tariff(columns.empty(COLLECTIONS), period=MARCH)
    assert len(found) == 0
    assert len(fees.expected(columns.empty(COLLECTIONS), period=MARCH, tariff=found)) == 0
