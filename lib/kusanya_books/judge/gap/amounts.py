"""The amounts that can take part in a set of `size` rows with a given sum, and no others.

A set of exactly `size` rows does not change when the same number is subtracted from every amount,
so amounts become units: (amount - smallest) / common step. All units are >= 0, whatever the signs.
"""

import math
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int64]

_MODULUS: Final = 1000
"""Prices in shillings are mostly multiples of a divisor of it."""


class Amounts(msgspec.Struct, frozen=True, kw_only=True):
    """Distinct amounts in rising order, and how many rows have each."""

    values: Whole
    counts: Whole


class Units(msgspec.Struct, frozen=True, kw_only=True):
    """Distinct units in rising order, the first is 0; the sum that `size` of them must have."""

    size: int
    values: Whole
    counts: Whole
    target: int
    lowest: int
    """The amount that unit 0 stands for,"""
    step: int
    """and how much one unit is."""

    def amount(self, unit: int) -> int:
        """Return the amount that a unit stands for."""
        return self.lowest + self.step * unit


def distinct(amounts: Whole) -> Amounts:
    """Return the distinct amounts without 0: a row of 0 never belongs to a smallest set."""
    values, counts = np.unique(amounts[amounts != 0], return_counts=True)
    return Amounts(values=values, counts=counts.astype(np.int64))


def narrowed(amounts: Amounts, size: int, total: int) -> Units | None:
    """Return what a set of `size` rows with the sum `total` may be made of.

    None is a proof that there is no such set: by the extremes, by the remainders, or by the step.
    """
    values, counts = amounts.values, amounts.counts
    while len(values):
        low, high = int(values[0]), int(values[-1])
        # A row beyond these cannot be balanced by the others, however they are chosen.
        least, most = total - (size - 1) * high, total - (size - 1) * low
        kept = (values >= least) & (values <= most)
        kept &= _fits_remainders(values, size, total)
        if kept.all():
            return _units(values, counts, size, total)
        values, counts = values[kept], counts[kept]
    return None


def _fits_remainders(values: Whole, size: int, total: int) -> Any:
    """Return for each value whether size - 1 others can bring the remainder that is missing."""
    remainders = values % _MODULUS
    present = np.unique(remainders)
    reached = np.zeros(_MODULUS, dtype=bool)
    reached[0] = True
    for _ in range(size - 1):
        more = np.zeros(_MODULUS, dtype=bool)
        if reached.all():
            break
        places = np.flatnonzero(reached)
        more[(places[:, None] + present[None, :]).ravel() % _MODULUS] = True
        reached = more
    return reached[(total - remainders) % _MODULUS]


def _units(values: Whole, counts: Whole, size: int, total: int) -> Units | None:
    if int(np.minimum(counts, size).sum()) < size:
        return None
    lowest = int(values[0])
    shifted = values - lowest
    step = int(np.gcd.reduce(shifted)) or 1
    target, rest = divmod(total - size * lowest, step)
    if rest or target > size * int(shifted[-1]) // step:
        return None
    return Units(
        size=size,
        values=shifted // step,
        counts=counts,
        target=target,
        lowest=lowest,
        step=step,
    )


def ways(counts: Whole, places: tuple[int, ...]) -> int:
    """Return how many sets of rows have the amounts at `places`; 0 where a row would repeat."""
    total = 1
    for place in set(places):
        total *= math.comb(int(counts[place]), places.count(place))
    return total
