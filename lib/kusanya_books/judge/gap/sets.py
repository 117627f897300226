"""The smallest sets of rows that sum to an amount, with what is proven about smaller ones."""

from typing import Final

import msgspec
import numpy as np

from kusanya_books.judge.gap import meeting, polynomial
from kusanya_books.judge.gap.amounts import Amounts, Units, narrowed

LARGEST: Final = 6
"""Rows of a set at most: more rows explain any amount."""
COUNTED: Final = 10_000
"""Sets that are counted; where there are so many, they mean nothing."""
_LOOKS: Final = 400_000_000
"""Sums that are looked up for one size of sets,"""
_MADE: Final = 80_000_000
"""or that are made block by block where they are too many to hold."""
Set = tuple[int, ...]


class Sets(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a search; `size` is None where no set was found."""

    proven: int
    """There is no set of so many rows or fewer, apart from those of `size`."""
    size: int | None = None
    count: int = 0
    is_exact: bool = True
    """Whether there are exactly `count`, not more."""
    found: tuple[Set, ...] = ()
    """Amounts in rising order, some or all of the sets."""
    largest: int = LARGEST
    """How many rows were asked for at most."""


def smallest(
    amounts: Amounts,
    total: int,
    *,
    largest: int = LARGEST,
    counted: int = COUNTED,
    looks: int = _LOOKS,
    made: int = _MADE,
) -> Sets:
    """Return the sets of the fewest rows whose amounts sum to `total`, which is not 0.

    Searches sets of 1, 2, … `largest` rows, and stops at the first size that has one or whose
    search did not come to an end within `looks` or `made` sums.
    """
    for size in range(1, largest + 1):
        units = narrowed(amounts, size, total)
        if units is None:
            continue
        found = meeting.SubsetList(units, counted)
        work = looks if size in {3, 5} else made
        complete = meeting.search(units, found, work)
        count, is_exact = found.count, complete
        if not found.sets and not complete:
            try:
                counts = _counted(units, found)
            except OverflowError:
                counts = None
            if counts is None:
                return Sets(proven=size - 1, largest=largest)
            count, is_exact = max(counts.sets, found.count), counts.is_exact
        if count:
            return Sets(
                proven=size - 1,
                size=size,
                count=min(count, counted),
                is_exact=is_exact and count < counted,
                found=_amounts(units, found),
                largest=largest,
            )
    return Sets(proven=largest, largest=largest)


def _counted(units: Units, found: meeting.SubsetList) -> polynomial.Count | None:
    if not polynomial.fits(units):
        return None
    products = polynomial.Products(units)
    counts = products.count()
    if counts.sets:
        products.fill(found)
    return counts


def _amounts(units: Units, found: meeting.SubsetList) -> tuple[Set, ...]:
    return tuple(
        sorted(
            tuple(units.amount(int(np.int64(units.values[place]))) for place in places)
            for places in found.sets
        )
    )
