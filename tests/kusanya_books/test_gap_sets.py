"""The smallest sets of rows: equal to trying every combination, and never a false claim."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya_books.judge.gap import meeting, polynomial
from kusanya_books.judge.gap.amounts import distinct, narrowed
from kusanya_books.judge.gap.sets import Sets, smallest

AMOUNTS = st.lists(
    st.integers(-40, 40).flatmap(lambda unit: st.sampled_from([unit, 50 * unit, unit * 10**9])),
    min_size=1,
    max_size=11,
)


def search(amounts: Sequence[int], total: int, **bounds: int) -> Sets:
    return smallest(distinct(np.array(amounts, dtype=np.int64)), total, **bounds)


def by_trying_all(amounts: Sequence[int], total: int, size: int) -> Counter[tuple[int, ...]]:
    rows = [amount for amount in amounts if amount]
    sets = (tuple(sorted(some)) for some in combinations(rows, size))
    return Counter(some for some in sets if sum(some) == total)


@given(amounts=AMOUNTS, data=st.data())
def test_the_smallest_sets_are_those_that_trying_all_finds(
    amounts: list[int], data: st.DataObject
) -> None:
    some = data.draw(st.lists(st.sampled_from(range(len(amounts))), unique=True, max_size=6))
    total = sum(amounts[place] for place in some) or data.draw(st.integers(1, 60))
    found = search(amounts, total)
    for size in range(1, 7):
        wanted = by_trying_all(amounts, total, size)
        if wanted:
            assert (found.size, found.count, found.is_exact) == (size, wanted.total(), True)
            assert found.proven == size - 1
            assert list(found.found) == sorted(wanted)
            return
    assert (found.size, found.proven, found.found) == (None, 6, ())


@given(amounts=AMOUNTS, size=st.sampled_from([4, 5, 6]), data=st.data())
def test_counting_by_products_and_by_meeting_say_the_same(
    amounts: list[int], size: int, data: st.DataObject
) -> None:
    # The products of amounts around 10**10 are too long: these are counted by meeting alone.
    amounts = [amount for amount in amounts if abs(amount) < 10**6]
    total = sum(data.draw(st.permutations(amounts))[:size])
    units = narrowed(distinct(np.array(amounts, dtype=np.int64)), size, total)
    wanted = by_trying_all(amounts, total, size).total()
    if units is None:
        assert wanted == 0
        return
    assert polynomial.fits(units)
    products = polynomial.Products(units)
    assert products.count() == polynomial.Count(wanted, is_exact=True)
    made, met = meeting.SubsetList(units, 10**9), meeting.SubsetList(units, 10**9)
    assert products.fill(made)
    assert meeting.search(units, met, 10**9)
    assert (made.count, made.sets) == (wanted, met.sets)


def months(random: Random, rows: int) -> list[int]:
    """Return amounts as a month has them, of one of several kinds."""
    kind = random.randrange(4)
    if kind == 0:
        return [random.randint(100, 3_000_000) for _ in range(rows)]
    if kind == 1:
        return [500 * random.randint(1, 2_000) for _ in range(rows)]
    if kind == 2:
        return [random.randint(-(10**6), 10**6) for _ in range(rows)]
    return [
        random.choice([1_000, 5_000, 12_500, 99_900]) + random.randint(0, 9) * 7
        for _ in range(rows)
    ]


def has_smaller(amounts: list[int], total: int, size: int) -> bool:
    """Return whether a set of fewer than `size` rows, up to 3, has this sum: another method."""
    rows = [amount for amount in amounts if amount]
    counted = Counter(rows)
    if size > 1 and total in counted:
        return True
    if size > 2:
        for one in counted:
            other = total - one
            if counted[other] > (one == other):
                return True
    if size > 3:
        values = sorted(counted)
        for place, one in enumerate(values):
            for second in values[place:]:
                third = total - one - second
                if third < second:
                    break
                needed = Counter([one, second, third])
                if all(counted[value] >= n for value, n in needed.items()):
                    return True
    return False


@pytest.mark.timeout(600)
@pytest.mark.scale(8, 100, 1_000)
def test_gaps_made_of_up_to_six_rows_are_found_and_nothing_false_is_claimed(rounds: int) -> None:
    random = Random(46_052)  # noqa: S311 - a seed, so that it repeats
    for number in range(rounds):
        rows = random.choice([20, 60, 300, 2_000, 50_000 if rounds > 8 else 5_000])
        amounts = months(random, rows)
        planted = random.sample(amounts, random.randint(1, 6))
        total = sum(planted)
        if total == 0:
            continue
        found = search(amounts, total)
        assert found.size is not None, number
        assert found.size <= len(planted), number
        assert found.found, number
        counted = Counter(amounts)
        for some in found.found[:50]:
            assert sum(some) == total, number
            assert len(some) == found.size, number
            assert not Counter(some) - counted, number
        if len(counted) <= 2_000:
            assert not has_smaller(amounts, total, found.size), number


def test_no_set_is_a_proof_where_remainders_forbid_one() -> None:
    amounts = [500 * unit for unit in range(1, 50_001)]
    assert search(amounts, 46_052) == Sets(proven=6)
    assert search([*amounts, 52], 46_052).size == 2


def test_so_many_sets_that_they_mean_nothing_are_not_all_counted() -> None:
    found = search(list(range(1, 2_000)), 4_100)
    assert (found.size, found.count, found.is_exact) == (3, 10_000, False)


def test_beyond_the_bound_of_work_nothing_is_claimed() -> None:
    random = Random(1)  # noqa: S311 - a seed, so that it repeats
    amounts = [random.randint(1, 10**13) for _ in range(150)]
    total = sum(amounts[:5]) + 1
    assert search(amounts, total) == Sets(proven=6)
    assert search(amounts, total, looks=1_000) == Sets(proven=2)
    assert search(amounts, sum(amounts[:4]), made=10_000).size in {None, 4}


def test_what_meeting_leaves_open_is_counted_by_products() -> None:
    amounts = [1_000 * unit for unit in range(1, 700)] + [7] * 5
    total = 1_000 * 699 + 1_000 * 698 + 35 - 7
    found = search(amounts, total, looks=10**9, made=1)
    assert (found.size, found.proven) == (6, 5)
    assert found.count == by_weight(amounts, total)


def by_weight(amounts: list[int], total: int) -> int:
    """Return the sets of two thousands and four sevens."""
    large = {amount for amount in amounts if amount > 7}
    pairs = sum(1 for one in large if total - 28 - one in large and one < total - 28 - one)
    return 5 * pairs


def test_rows_that_are_too_many_of_one_amount_leave_the_count_open() -> None:
    units = narrowed(distinct(np.array([1] * 3_000_000 + [4_000_000])), 5, 4_000_004)
    assert units is not None
    with pytest.raises(OverflowError, match="rounding"):
        polynomial.Products(units)
