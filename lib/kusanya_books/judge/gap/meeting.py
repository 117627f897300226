"""Sets of rows by meeting in the middle: sums of two or three against what is missing.

All sums lie in blocks of an interval, so that memory stays bounded; a table of remainders finds in
one look most sums that have no partner. The search is complete unless its bound of work ends it.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from kusanya_books.judge.gap.amounts import Units, Whole, ways

BLOCK: Final = 1 << 21
"""Sums that are held at one time, on each of two sides."""
PAIRS_MOST: Final = 6_000_000
"""Sums of two that are held as a whole, for sets of five and six."""
_TABLE: Final = 1 << 23
_SAMPLE: Final = 400
_CANDIDATES: Final = 400_000
"""Sums that are looked at one by one."""

Places = tuple[int, ...]
"""One set as places in the distinct units, in rising order."""


class SubsetList:
    """Sets of one size, each once, up to a cap."""

    def __init__(self, units: Units, cap: int) -> None:
        self.units = units
        self.sets: dict[Places, int] = {}
        self.count = 0
        """Sets of rows; rows of one amount stand for each other."""
        self._cap = cap
        self._looked = 0

    @property
    def is_full(self) -> bool:
        """Return whether there is no use in finding more."""
        return self.count >= self._cap or self._looked >= _CANDIDATES

    def add(self, places: Places) -> None:
        """Add a set where it has enough rows."""
        self._looked += 1
        ordered = tuple(sorted(places))
        if ordered not in self.sets:
            found = ways(self.units.counts, ordered)
            if found:
                self.sets[ordered] = found
                self.count += found


def search(units: Units, found: SubsetList, work: int) -> bool:
    """Find sets until none is left, `found` is full, or `work` sums were looked at.

    Return whether the search is complete: then there are no others.
    """
    return _SEARCHES[units.size](units, found, work)


def _ones(units: Units, found: SubsetList, _: int) -> bool:
    place = int(np.searchsorted(units.values, units.target))
    if place < len(units.values) and units.values[place] == units.target:
        found.add((place,))
    return True


def _twos(units: Units, found: SubsetList, _: int) -> bool:
    for pair in Values(units.values).pairs(units.target):
        found.add(pair)
        if found.is_full:
            return False
    return True


def _threes(units: Units, found: SubsetList, work: int) -> bool:
    values, spent = Values(units.values), 0
    for first in range(values.thirds(units.target)):
        rest = units.target - int(units.values[first])
        made, looks = values.pairs_and_looks(rest, first)
        for pair in made:
            found.add((first, *pair))
        spent += looks
        if found.is_full or spent > work:
            return False
    return True


class Values:
    """The distinct units, asked which two or three of them have a sum."""

    def __init__(self, values: Whole) -> None:
        self.all = values
        self._table = _table(values)

    def pairs(self, total: int, first: int = 0) -> list[tuple[int, int]]:
        """Return the places, from `first` on, of two values with this sum, in rising order."""
        begin, end = self._range(total, first)
        return self._pairs(total, begin, end)

    def threes(self, total: int) -> Iterator[Places]:
        """Yield the places of three values with this sum, in rising order."""
        for first in range(self.thirds(total)):
            for pair in self.pairs(total - int(self.all[first]), first):
                yield (first, *pair)

    def thirds(self, total: int) -> int:
        """Return how many places the smallest of three values with this sum may have."""
        return int(np.searchsorted(self.all, total // 3, side="right"))

    def pairs_and_looks(self, total: int, first: int) -> tuple[list[tuple[int, int]], int]:
        """Return what `pairs` returns, and how many values were looked up for it."""
        begin, end = self._range(total, first)
        return self._pairs(total, begin, end), end - begin

    def _range(self, total: int, first: int) -> tuple[int, int]:
        begin = max(first, int(np.searchsorted(self.all, total - int(self.all[-1]))))
        end = int(np.searchsorted(self.all, total // 2, side="right"))
        return begin, max(begin, end)

    def _pairs(self, total: int, begin: int, end: int) -> list[tuple[int, int]]:
        wanted = total - self.all[begin:end]
        likely = self._table.contains(wanted)
        if not len(likely):
            return []
        second = np.minimum(np.searchsorted(self.all, wanted[likely]), len(self.all) - 1)
        meets = self.all[second] == wanted[likely]
        return list(zip((likely[meets] + begin).tolist(), second[meets].tolist(), strict=True))


class _Table:
    """Remainders of numbers: what is not in it is none of them, what is in it may be one."""

    def __init__(self, numbers: Whole, size: int) -> None:
        self._mask = size - 1
        self._has = np.zeros(size, dtype=bool)
        self._has[numbers & self._mask] = True

    def contains(self, wanted: Whole) -> Whole:
        """Return the places of the numbers that may be in it."""
        return np.flatnonzero(self._has[wanted & self._mask])


def _table(numbers: Whole) -> _Table:
    size = 1 << 16
    while size < 16 * len(numbers) and size < _TABLE:
        size *= 2
    return _Table(numbers, size)


class _Sums:
    """All sums of two or three values in rising places, one interval at a time."""

    def __init__(self, values: Whole, base: Whole, first: Whole, *, terms: int) -> None:
        order = np.argsort(base, kind="stable")
        self.values, self.terms = values, terms
        self._base, self._first = base[order], first[order]

    @classmethod
    def of_two(cls, values: Whole) -> "_Sums":
        """Return the sums of two."""
        return cls(values, values, np.arange(len(values)), terms=2)

    @classmethod
    def of_three(cls, values: Whole) -> "_Sums":
        """Return the sums of three."""
        first, second = np.triu_indices(len(values))
        return cls(values, values[first] + values[second], second, terms=3)

    def bounds(self, begin: int, end: int) -> list[int]:
        """Return ends of intervals from `begin` to `end` that hold about a block of sums each."""
        base = self._base[:: max(1, len(self._base) // _SAMPLE)]
        values = self.values[:: max(1, len(self.values) // _SAMPLE)]
        sums = np.sort((base[:, None] + values[None, :]).ravel())
        # Every unordered set of places is drawn about so often as the product of the samples says.
        scale = len(self._base) * len(self.values) / len(sums) / self.terms
        ends = sums[max(1, int(BLOCK / 2 / scale)) :: max(1, int(BLOCK / 2 / scale))]
        inside = np.unique(ends[(ends > begin) & (ends < end)])
        return [*inside.tolist(), end]

    def count(self, begin: int, end: int) -> tuple[Whole, Whole]:
        """Return for each base the first place and the number of places with begin <= sum < end."""
        starts = np.maximum(np.searchsorted(self.values, begin - self._base), self._first)
        ends = np.searchsorted(self.values, end - self._base)
        return starts, np.maximum(ends - starts, 0)

    def within(self, starts: Whole, lengths: Whole) -> Whole:
        """Return the sums that `count` counted."""
        total = int(lengths.sum())
        base = np.repeat(self._base, lengths)
        offset = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
        return base + self.values[np.arange(total) + offset]


def _halves(units: Units, found: SubsetList, sums: _Sums, work: int) -> bool:
    """Meet the sums up to half of the target with those from there on."""
    values, target = Values(units.values), units.target
    begin = max(0, target - sums.terms * int(units.values[-1]))
    waiting = []
    for end in sums.bounds(begin, target // 2 + 1):
        waiting.append((begin, end))
        begin = end
    waiting.reverse()
    spent = 0
    while waiting:
        begin, end = waiting.pop()
        near = sums.count(begin, end)
        far = sums.count(target - end + 1, target - begin + 1)
        sizes = int(near[1].sum()), int(far[1].sum())
        if max(sizes) > 2 * BLOCK and end - begin > 1:
            half = (begin + end) // 2
            waiting += [(half, end), (begin, half)]
            continue
        spent += sum(sizes)
        if min(sizes):
            for sum_ in _meeting(sums.within(*near), target - sums.within(*far)):
                _add_products(found, values, sum_, terms=sums.terms)
                if found.is_full:
                    return False
        if spent > work and waiting:
            return False
    return True


def _meeting(near: Whole, far: Whole) -> list[int]:
    """Return the numbers that both have."""
    far = far[_table(near).contains(far)]
    near = near[_table(far).contains(near)]
    both: list[int] = np.intersect1d(near, far).tolist()
    return both


def _add_products(found: SubsetList, values: Values, sum_: int, *, terms: int) -> None:
    parts = values.pairs if terms == 2 else values.threes  # noqa: PLR2004 - sums of two
    others = list(parts(found.units.target - sum_))
    for one in parts(sum_):
        for other in others:
            found.add((*one, *other))
            if found.is_full:
                return


def _fives(units: Units, found: SubsetList, work: int) -> bool:
    """Take each value as the smallest, and two pairs of what is not smaller."""
    if _pairs(units) > PAIRS_MOST:
        return False
    values, asked = units.values, Values(units.values)
    # Pairs in falling order of their first place: those from a place on stand at the beginning.
    many = len(values)
    parts = [values[place] + values[place:] for place in range(many - 1, -1, -1)]
    sums = np.concatenate(parts)
    table, sorted_sums = _table(sums), np.unique(sums)
    spent = 0
    for place in range(int(np.searchsorted(values, units.target // 5, side="right"))):
        rest = units.target - int(values[place])
        upto = (many - place) * (many - place + 1) // 2
        wanted = rest - sums[:upto]
        likely = wanted[table.contains(wanted)]
        at = np.minimum(np.searchsorted(sorted_sums, likely), len(sorted_sums) - 1)
        for sum_ in np.unique(likely[sorted_sums[at] == likely]).tolist():
            if 2 * sum_ <= rest:
                for one in asked.pairs(sum_):
                    for other in asked.pairs(rest - sum_):
                        found.add((place, *one, *other))
                    if found.is_full:
                        return False
        spent += upto
        if spent > work:
            return False
    return True


def _fours(units: Units, found: SubsetList, work: int) -> bool:
    return _halves(units, found, _Sums.of_two(units.values), work)


def _sixes(units: Units, found: SubsetList, work: int) -> bool:
    if _pairs(units) > PAIRS_MOST:
        return False
    return _halves(units, found, _Sums.of_three(units.values), work)


def _pairs(units: Units) -> int:
    return len(units.values) * (len(units.values) + 1) // 2


_SEARCHES: Final = {1: _ones, 2: _twos, 3: _threes, 4: _fours, 5: _fives, 6: _sixes}
"""By the size of the set."""
