"""How many sets of four, five or six rows have a sum: counted without making one of them.

The rows are the polynomial p1 = sum of x^unit, and pj is p1 of x^j. Newton's identities give the
number of sets of distinct rows from products of these, and only one coefficient of the last product
is asked for. Products are made with the fast Fourier transform, under a bound of its error that is
checked: a result that rounding could have touched is not used.
"""

from typing import Final

import msgspec
import numpy as np

from kusanya_books.judge.gap.amounts import Units, Whole
from kusanya_books.judge.gap.meeting import SubsetList, Values

LONGEST: Final = 1 << 23
"""Coefficients of the longest product: 64 MB each for it and for its transform."""
_ERROR: Final = 307 * 2.0**-53
"""Of a product of 2^24 coefficients at most, as a share of the product of both norms (Brent,
Percival and Zimmermann, Error bounds on complex floating-point multiplication, 2007)."""
_WRAPS: Final = 2**64
"""Sums of products are made in 64 bits that wrap around: half of this and more is not exact."""
FOUR: Final = 4
FIVE: Final = 5
SIX: Final = 6


class Count(msgspec.Struct, frozen=True):
    """How many sets there are; where not exact, at least so many."""

    sets: int
    is_exact: bool


class Power:
    """A product of polynomials of rows: its coefficients, 0 outside."""

    def __init__(self, coefficients: Whole) -> None:
        self.all = coefficients

    def at(self, unit: int, divisor: int = 1) -> int:
        """Return the coefficient of unit / divisor, 0 where that is no whole number."""
        place, rest = divmod(unit, divisor)
        return 0 if rest else int(self.take(np.array([place]))[0])

    def take(self, units: Whole) -> Whole:
        """Return the coefficients at these places, 0 outside."""
        inside = (units >= 0) & (units < len(self.all))
        taken: Whole = np.where(inside, self.all[np.where(inside, units, 0)], 0)
        return taken

    def meet(self, other: "Power", target: int) -> Whole:
        """Return the places where this one and, at target - place, the other have a coefficient."""
        begin, near, far = self._overlap(other, target)
        return np.flatnonzero((near > 0) & (far > 0)) + begin

    def times(self, other: "Power", target: int) -> int:
        """Return one coefficient of the product, in 64 bits that wrap around."""
        _, near, far = self._overlap(other, target)
        return int(np.dot(near, far))

    def estimate(self, other: "Power", target: int) -> float:
        """Return one coefficient of the product, as a float."""
        _, near, far = self._overlap(other, target)
        return float(np.dot(near.astype(np.float64), far.astype(np.float64)))

    def _overlap(self, other: "Power", target: int) -> tuple[int, Whole, Whole]:
        begin = max(0, target - len(other.all) + 1)
        end = max(begin, min(len(self.all), target + 1))
        far = other.all[target - end + 1 : target - begin + 1][::-1]
        return begin, self.all[begin:end], far


def fits(units: Units) -> bool:
    """Return whether the products are short enough to be made."""
    degree = 2 if units.size == FOUR else 3
    return units.size >= FOUR and degree * int(units.values[-1]) < LONGEST


class Products:
    """The products that the count of sets of one size needs."""

    def __init__(self, units: Units) -> None:
        """Make them. Raises OverflowError where rounding could have touched one."""
        self.units = units
        self._values = Values(units.values)
        self.one = Power(_spread(units, 1))
        self.two = _product(self.one, self.one)
        self.three = self.mixed = self.one
        if units.size > FOUR:
            self.three = _product(self.two, self.one)
        if units.size == SIX:
            self.mixed = _product(self.one, Power(_spread(units, 2)))

    def count(self) -> Count:
        """Return how many sets of distinct rows have the target as their sum.

        Raises OverflowError where the numbers are too large to be certain that there is one.
        """
        target = self.units.target
        near, far, orders, ordered = {FOUR: self._four, FIVE: self._five, SIX: self._six}[
            self.units.size
        ]()
        if near.estimate(far, target) < _WRAPS / 4:
            return Count(ordered // orders, is_exact=True)
        if ordered % _WRAPS:
            return Count(1, is_exact=False)
        raise OverflowError("the number of sets is past 64 bits")

    def fill(self, found: SubsetList) -> bool:
        """Find sets until all are found or `found` is full. Return whether all are found."""
        near = self.three if self.units.size == SIX else self.two
        far = self.two if self.units.size == FOUR else self.three
        target = self.units.target
        for sum_ in near.meet(far, target).tolist():
            others = None
            for one in self._parts(near, sum_):
                if others is None:
                    others = list(self._parts(far, target - sum_))
                for other in others:
                    found.add((*one, *other))
                    if found.is_full:
                        return False
        return True

    def _parts(self, power: Power, sum_: int) -> list[tuple[int, ...]]:
        if power is self.two:
            return [*self._values.pairs(sum_)]
        firsts = np.flatnonzero(self.two.take(sum_ - self.units.values))
        return [
            (first, *pair)
            for first in firsts.tolist()
            for pair in self._values.pairs(sum_ - int(self.units.values[first]), first)
        ]

    def _four(self) -> tuple[Power, Power, int, int]:
        at, one, two = self.units.target, self.one, self.two
        ordered = (
            two.times(two, at)
            - 6 * self._and_one(two, 2)
            + 3 * two.at(at, 2)
            + 8 * self._and_one(one, 3)
            - 6 * one.at(at, 4)
        )
        return two, two, 24, ordered

    def _five(self) -> tuple[Power, Power, int, int]:
        at, one, two, three = self.units.target, self.one, self.two, self.three
        ordered = (
            two.times(three, at)
            - 10 * self._and_one(three, 2)
            + 15 * self._and_one(two, 1, divisor=2)
            + 20 * self._and_one(two, 3)
            - 20 * self._and_one(one, 3, divisor=2)
            - 30 * self._and_one(one, 4)
            + 24 * one.at(at, 5)
        )
        return two, three, 120, ordered

    def _six(self) -> tuple[Power, Power, int, int]:
        at, one, two, three, mixed = (
            *(self.units.target, self.one),
            *(self.two, self.three, self.mixed),
        )
        ordered = (
            three.times(three, at)
            - 15 * three.times(mixed, at)
            + 45 * mixed.times(mixed, at)
            - 15 * three.at(at, 2)
            + 40 * self._and_one(three, 3)
            - 120 * self._and_one(mixed, 3)
            + 40 * two.at(at, 3)
            - 90 * self._and_one(two, 4)
            + 90 * self._and_one(one, 4, divisor=2)
            + 144 * self._and_one(one, 5)
            - 120 * one.at(at, 6)
        )
        return three, three, 720, ordered

    def _and_one(self, power: Power, times: int, *, divisor: int = 1) -> int:
        """Return the coefficient of `power` of x^divisor times p1 of x^times."""
        units = self.units
        rest, over = np.divmod(units.target - times * units.values, divisor)
        return int(np.dot(np.where(over == 0, power.take(rest), 0), units.counts))


def _spread(units: Units, times: int) -> Whole:
    spread = np.zeros(times * int(units.values[-1]) + 1, dtype=np.int64)
    spread[times * units.values] = units.counts
    return spread


def _product(one: Power, other: Power) -> Power:
    length = len(one.all) + len(other.all) - 1
    padded = 1 << max(length - 1, 1).bit_length()
    factors = [part.all.astype(np.float64) for part in (one, other)]
    norms = [float(np.linalg.norm(factor)) for factor in factors]
    if norms[0] * norms[1] * _ERROR > 1 / 4:
        raise OverflowError("too many rows of one amount to count without rounding")
    made = np.fft.rfft(factors[0], padded)
    made *= made if one is other else np.fft.rfft(factors[1], padded)
    return Power(np.rint(np.fft.irfft(made, padded)[:length]).astype(np.int64))
