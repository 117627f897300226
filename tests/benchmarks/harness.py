"""Compare fairly: ours, a peer and the limit, interleaved in one run, medians of several rounds.

Only ratios of one run count; absolute figures move with the machine.
"""

import gc
import statistics
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

Measure = Callable[[], float]
"""One round of one contestant; returns its figure."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the table: figures in `unit`, and the ratio that the goal is about."""

    what: str
    unit: str
    ours: float
    against: str
    """The peer or the limit that the ratio compares with."""
    theirs: float
    goal: float
    """The ratio to reach: how many times better than the peer, or what share of the limit."""
    better: Literal["lower", "higher"]

    @property
    def ratio(self) -> float:
        """Return how many times better than theirs ours is; 1 is equal, more is better."""
        if self.better == "lower":
            return self.theirs / self.ours
        return self.ours / self.theirs

    @property
    def is_reached(self) -> bool:
        """Return whether the goal is reached."""
        return self.ratio >= self.goal


def interleaved(contestants: Mapping[str, Measure], *, rounds: int = 5) -> dict[str, float]:
    """Return the median figure of each contestant, measured in turns after one warm-up turn."""
    figures: dict[str, list[float]] = {name: [] for name in contestants}
    for measure in contestants.values():
        measure()
    for _ in range(rounds):
        for name, measure in contestants.items():
            gc.collect()
            figures[name].append(measure())
    return {name: statistics.median(values) for name, values in figures.items()}


def table(rows: list[Row]) -> str:
    """Return the rows as lines of text."""
    lines = [
        (
            f"{'what':<44} {'unit':<9} {'ours':>12} {'against':<30} {'theirs':>12} "
            f"{'ratio':>7} {'goal':>6}"
        )
    ]
    lines += [
        f"{row.what:<44} {row.unit:<9} {row.ours:>12,.1f} {row.against:<30} {row.theirs:>12,.1f} "
        f"{row.ratio:>7.2f} {row.goal:>6.2f} {'reached' if row.is_reached else 'NOT REACHED'}"
        for row in rows
    ]
    return "\n".join(lines)
