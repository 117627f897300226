"""Two sides' hashes sorted together, so that equal ones stand side by side in a run.

A hash is cut short and the row's place is put where its last bits were: sorting whole numbers is
several times faster than sorting places by them, and what shares a shortened hash only shares a
run. A side sorts before the other within a run. Work goes in blocks that stay in the cache: fresh
memory costs more than the arithmetic.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np

Rows = tuple[Any, Any]
"""Hashes, and the places of their rows; None where they stand row by row."""
NONE: Final = np.empty(0, dtype="uint64")
BLOCK: Final = 1 << 16


def blocks(rows: int) -> Iterator[slice]:
    """Yield slices that cover so many rows."""
    for start in range(0, rows, BLOCK):
        yield slice(start, min(rows, start + BLOCK))


def index_bits(*sides: Any) -> int:
    """Return how many bits a run gives to the place of a row and its side."""
    return max(len(side) for side in sides).bit_length() + 1


def members(values: Any, of: Any) -> Any:
    """Return which values are among the sorted ones of `of`."""
    found = np.zeros(len(values), dtype=bool)
    if len(of):
        for block in blocks(len(values)):
            at = np.searchsorted(of, values[block])
            found[block] = of[np.minimum(at, len(of) - 1)] == values[block]
    return found


class Crowd(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of runs that are no pair, run by run."""

    keys: Any
    """Of each run."""
    starts: Any
    """Where each run begins among the rows."""
    places: Any
    theirs: Any
    """Whether a row is of the other side."""

    def part(self, runs: slice) -> "Crowd":
        """Return some of the runs."""
        starts = self.starts[runs]
        rows = slice(starts[0], self.starts[runs.stop] if runs.stop < len(self.starts) else None)
        return Crowd(
            keys=self.keys[runs],
            starts=starts - starts[0],
            places=self.places[rows],
            theirs=self.theirs[rows],
        )

    def total(self, values: Any) -> Any:
        """Return the sums of whole numbers, run by run."""
        return np.add.reduceat(values.astype("int64"), self.starts)

    def spread(self, of_runs: Any) -> Any:
        """Return what is said of each run for each of its rows."""
        sizes = np.diff(self.starts, append=len(self.places))
        return np.repeat(of_runs, sizes)


class Runs:
    """Runs of equal keys; a key is a hash without its last `shift` bits."""

    def __init__(self, ours: Rows, theirs: Rows, *, shift: int) -> None:
        self.shift = shift
        self._side = np.uint64(1 << shift - 1)
        both = np.empty(len(ours[0]) + len(theirs[0]), dtype="uint64")
        for part, (hashes, rows), mark in (
            (both[: len(ours[0])], ours, np.uint64(0)),
            (both[len(ours[0]) :], theirs, self._side),
        ):
            for block in blocks(len(part)):
                packed = hashes[block] >> shift << shift
                packed |= (
                    np.arange(block.start, block.stop, dtype="uint64")
                    if rows is None
                    else rows[block].astype("uint64")
                )
                np.bitwise_or(packed, mark, out=part[block])
        both.sort()
        begins = np.ones(len(both) + 1, dtype=bool)
        second = np.zeros(len(both), dtype=bool)
        for block in blocks(len(both) - 1):
            here, after = both[block], both[block.start + 1 : block.stop + 1]
            apart = (here ^ after) >> shift != 0
            begins[block.start + 1 : block.stop + 1] = apart
            # Two rows of one side are no pair.
            second[block.start + 1 : block.stop + 1] = ~apart & ((here ^ after) & self._side != 0)
        self._rows = both
        self._begins = begins[:-1]
        self._alone = begins[:-1] & begins[1:]
        # The first and the second row of a pair.
        self._pairs = np.zeros(len(both), dtype=bool)
        self._pairs[:-1] = begins[:-2] & second[1:] & begins[2:]

    def mates(self, rows: int, *, without: Any = NONE) -> Any:
        """Return for each of our `rows` places the one of theirs that it meets, or -1."""
        mate = np.full(rows, -1, dtype="int32" if len(self._rows) < 1 << 31 else "int64")
        first = self._but(self._pairs, without)
        for block in blocks(len(first)):
            at = np.flatnonzero(first[block]) + block.start
            mate[self._place(self._rows[at])] = self._place(self._rows[at + 1])
        return mate

    def alone(self, *, without: Any = NONE) -> tuple[Any, Any]:
        """Return the places of rows whose key nothing else has, of each side."""
        rows = self._rows[self._but(self._alone, without)]
        ours = rows & self._side == 0
        return self._place(rows[ours]), self._place(rows[~ours])

    def crowd(self) -> Crowd:
        """Return the rows of all other runs."""
        free = ~(self._alone | self._pairs)
        free[1:] &= ~self._pairs[:-1]
        at = np.flatnonzero(free)
        rows = self._rows[at]
        starts = np.flatnonzero(self._begins[at])
        return Crowd(
            keys=rows[starts] >> self.shift,
            starts=starts,
            places=self._place(rows),
            theirs=rows & self._side != 0,
        )

    def _but(self, flags: Any, without: Any) -> Any:
        if not len(without):
            return flags
        left = flags.copy()
        at = np.searchsorted(self._rows, without << self.shift)
        at = at[at < len(left)]
        left[at[members(self._rows[at] >> self.shift, without)]] = False
        return left

    def _place(self, rows: Any) -> Any:
        return (rows & (self._side - np.uint64(1))).astype("int64")
