"""The parts of the inference of a tariff against trying everything."""

from fractions import Fraction
from itertools import count
from math import floor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya.domain.prices import Point, Rate
from kusanya_books.judge import tariff

SHARE = st.fractions(0, 60, max_denominator=40)
WEIGHTED = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 4)), min_size=1, max_size=8)


def by_trying(low: Fraction, high: Fraction, *, upper: bool) -> Fraction:
    """Return the fraction of the smallest denominator in the interval, the smallest of several."""
    for denominator in count(1):
        first = floor(low * denominator)
        for numerator in range(first, first + 3 + floor((high - low) * denominator)):
            found = Fraction(numerator, denominator)
            if (low < found <= high) if upper else (low <= found < high):
                return found
    raise AssertionError("an interval has a fraction")


@given(SHARE, SHARE.filter(bool), st.booleans())
def test_the_simplest_fraction_of_an_interval_has_the_smallest_denominator(
    low: Fraction, width: Fraction, upper: Any
) -> None:
    wanted = by_trying(low, low + width, upper=upper)
    assert tariff._between(low, low + width, upper=upper) == wanted
    basis = Fraction(1, 10_000)
    found = tariff._simplest(low * basis, (low + width) * basis, upper=upper)
    assert found == wanted * basis


@pytest.mark.parametrize("upper", [True, False])
def test_where_no_agreed_rate_is_as_fine_the_end_that_belongs_to_the_interval_is_taken(
    upper: Any,
) -> None:
    low, high = Fraction(100_001, 10**9), Fraction(100_002, 10**9)
    assert tariff._simplest(low, high, upper=upper) == (high if upper else low)


@given(WEIGHTED)
def test_the_median_is_the_amount_in_the_middle_of_all_rows(
    weighted: list[tuple[int, int]],
) -> None:
    rows = sorted(amount for amount, n in weighted for _ in range(n))
    assert tariff._median(weighted) == rows[(len(rows) - 1) // 2]


@given(
    st.lists(
        st.tuples(st.integers(1, 12), st.sampled_from([50, 90, 7]), st.integers(1, 3)),
        min_size=1, max_size=9,
    ).filter(lambda points: any(fee != 7 for _, fee, _ in points)),
)  # fmt: skip
def test_the_edge_of_a_band_leaves_the_fewest_rows_on_the_wrong_side(points: list[Point]) -> None:
    ordered = sorted(points)
    both = [point for point in ordered if point[1] != 7]
    cuts = sorted({amount for amount, _, _ in both} | {both[-1][0] + 1})

    def wrong(cut: int) -> int:
        return sum(n for a, fee, n in both if (fee == 50) != (a < cut))

    assert tariff._edge(ordered, 50, 90) == min(cuts, key=lambda cut: (wrong(cut), cut))


def day(rate: int, rows: int) -> list[Point]:
    return [(1_000 * place, 10 * rate * place, 1) for place in range(1, rows + 1)]


@pytest.mark.parametrize(
    ("first", "then", "prices"),
    [
        (30, 30, [1, 2]), (31, 40, [1, 2]),
        # Too few to be judged by alone: both days have one price, and it is nobody's.
        (29, 30, None), (30, 29, [1, 2]),
    ],
)  # fmt: skip
def test_a_price_is_judged_by_thirty_rows(first: int, then: int, prices: list[int] | None) -> None:
    spans = tariff.infer([day(1, first), day(2, then)])
    if prices is None:
        assert [span.model for span in spans] == [None]
    else:
        rates = [span.model.rate for span in spans if isinstance(span.model, Rate)]
        assert rates == [Fraction(price, 100) for price in prices]
        assert [(span.first, span.last, span.rows) for span in spans] == [
            (0, 0, first), (1, 1, then),
        ]  # fmt: skip


def test_what_comes_after_is_gathered_until_thirty_rows_tell_its_price() -> None:
    spans = tariff.infer([day(1, 40), day(2, 10), day(2, 10), day(2, 10), day(2, 5)])
    assert [(span.first, span.last, span.rows) for span in spans] == [(0, 0, 40), (1, 4, 35)]
    assert [len(tariff._enough([day(2, 10)] * days)) for days in (1, 2, 3, 4)] == [10] * 4
    assert [sum(n for _, _, n in tariff._enough([day(2, 10)] * days)) for days in (2, 3, 4)] == [
        20, 30, 30,
    ]  # fmt: skip
