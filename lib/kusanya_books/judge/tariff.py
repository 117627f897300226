"""What a channel charges: declared in a file, or inferred from what was charged.

Inference is exact. A fee on an amount confines the rate to an interval of fractions; the rate that
lies in the most intervals, counted by rows, is found by a sweep, and the simplest fraction there is
the rate. The model with the fewest parameters that explains 95 % of the rows wins; the others are
exceptions, listed by `fees.expected`. Source: What the service does, 4; assumption FEE.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final

import msgspec

from kusanya.domain.prices import ROUNDINGS, Band, Bands, Model, Point, Rate

EXPLAINS: Final = Fraction(95, 100)
"""The share of rows that a model must explain."""
FAILS: Final = Fraction(1, 2)
"""A day on which the model explains less than this may be the first of another price."""
FEW_ROWS: Final = 30
"""Rows that a new price is judged by."""
BANDS_MAX: Final = 12
POINTS_MAX: Final = 10_000
"""Distinct amounts and fees that a model is sought by."""
_SCALE: Final = 1 << 140
"""Two fractions of 63-bit numbers differ by more than this divides."""
_DENOMINATORS: Final = 10_000
_ENDS: Final = 5
"""Distinct amounts at either end that tell floor and cap."""


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A price and the days it was charged on; `model` is None where none explains enough."""

    first: int
    last: int
    """Places in the days that were given."""
    model: Model | None
    rows: int
    explained: int


def infer(days: Sequence[Sequence[Point]]) -> tuple[Span, ...]:
    """Return the prices charged over `days`, oldest first; a day is what was charged on it.

    A price changes on the first day on which the old model fails and a new one fits.
    """
    spans: list[Span] = []
    start = 0
    while start < len(days):
        end = _change(days, start)
        points = _together(days[start:end])
        model = fit(points)
        rows = sum(n for _, _, n in points)
        spans.append(
            Span(
                first=start,
                last=end - 1,
                model=model,
                rows=rows,
                explained=0 if model is None else model.explained(points),
            )
        )
        start = end
    return tuple(spans)


def fit(points: Sequence[Point]) -> Model | None:
    """Return the model with the fewest parameters that explains enough rows, or None."""
    whole = sum(n for _, _, n in points)
    if whole == 0:
        return None
    candidates: defaultdict[int, list[Model]] = defaultdict(list)
    for model in _candidates(_thinned(sorted(points))):
        candidates[model.parameters].append(model)
    for _, models in sorted(candidates.items()):
        rows = [model.explained(points) for model in models]
        if max(rows) >= EXPLAINS * whole:
            return models[rows.index(max(rows))]
    return None


def _thinned(points: list[Point]) -> list[Point]:
    # Enough to find the model by; whether it explains the rows is judged on all of them.
    return points[:: -(-len(points) // POINTS_MAX)]


def _change(days: Sequence[Sequence[Point]], start: int) -> int:
    model = None
    seen: list[Sequence[Point]] = []
    for place in range(start, len(days)):
        today = days[place]
        rows = sum(n for _, _, n in today)
        if model is not None and rows and model.explained(today) < FAILS * rows:
            ahead = _enough(days[place:])
            new = fit(ahead)
            few = model.explained(ahead) < FAILS * sum(n for _, _, n in ahead)
            if new is not None and few:
                return place
        seen.append(today)
        if model is None:
            known = _together(seen)
            if sum(n for _, _, n in known) >= FEW_ROWS:
                model = fit(known)
    return len(days)


def _enough(days: Sequence[Sequence[Point]]) -> list[Point]:
    for upto in range(1, len(days) + 1):
        points = _together(days[:upto])
        if sum(n for _, _, n in points) >= FEW_ROWS:
            return points
    return _together(days)


def _together(days: Iterable[Sequence[Point]]) -> list[Point]:
    counts: Counter[tuple[int, int]] = Counter()
    for day in days:
        for amount, fee, n in day:
            counts[amount, fee] += n
    return sorted((amount, fee, n) for (amount, fee), n in counts.items())


def _candidates(points: Sequence[Point]) -> Iterator[Model]:
    banded = _bands(points)
    if banded is not None:
        yield banded
    low, high = _common(points, smallest=True), _common(points, smallest=False)
    for rounding in ROUNDINGS:
        for least in (None, low):
            for most in (None, high):
                inside = [
                    point
                    for point in points
                    if point[1] not in {least, most} and 0 < point[1] < point[0]
                ]
                found = _rate(inside, rounding)
                if found is not None:
                    rate, start, end = found
                    yield Rate(
                        rate=rate, low=start, high=end, rounding=rounding, floor=least, cap=most
                    )


def _common(points: Sequence[Point], *, smallest: bool) -> int:
    amounts = sorted({amount for amount, _, _ in points}, reverse=not smallest)[:_ENDS]
    counts: Counter[int] = Counter()
    for amount, fee, n in points:
        if amount in amounts:
            counts[fee] += n
    return min(counts, key=lambda fee: (-counts[fee], fee))


def _rate(points: Sequence[Point], rounding: str) -> tuple[Fraction, Fraction, Fraction] | None:
    if not points:
        return None
    # Edges as whole numbers in the order of the fractions they stand for: exact, and quick to sort.
    steps: defaultdict[int, int] = defaultdict(int)
    edges: dict[int, tuple[int, int]] = {}
    for amount, fee, n in points:
        low, high, of = _interval(amount, fee, rounding)
        for edge, weight in ((low, n), (high, -n)):
            key = edge * _SCALE // of
            steps[key] += weight
            edges[key] = (edge, of)
    keys = sorted(steps)
    covered, best, at = 0, 0, 0
    for place, key in enumerate(keys):
        covered += steps[key]
        if covered > best:
            best, at = covered, place
    first, last = Fraction(*edges[keys[at]]), Fraction(*edges[keys[at + 1]])
    return _simplest(first, last, upper=rounding == "up"), first, last


def _interval(amount: int, fee: int, rounding: str) -> tuple[int, int, int]:
    """Return the ends of the rates that give this fee, and what both are divided by."""
    if rounding == "up":
        return fee - 1, fee, amount
    if rounding == "down":
        return fee, fee + 1, amount
    return 2 * fee - 1, 2 * fee + 1, 2 * amount


def _simplest(low: Fraction, high: Fraction, *, upper: bool) -> Fraction:
    # In basis points, because that is how rates are agreed; the end that belongs to the interval is
    # the upper one when fees are rounded up.
    found = _between(low * 10_000, high * 10_000, upper=upper)
    if found.denominator < _DENOMINATORS:
        return found / 10_000
    return high if upper else low


def _between(low: Fraction, high: Fraction | None, *, upper: bool) -> Fraction:
    """Return the fraction of the smallest denominator from `low` to `high`; None has no end.

    One end belongs to the interval. By continued fractions: without a whole number between them,
    both ends have the same whole part, and the rest is the same question of its reciprocal.
    """
    whole = low.numerator // low.denominator
    above = whole + 1 if upper or low != whole else whole
    if high is None or above < high or (upper and above == high):
        return Fraction(above)
    rest = low - whole
    return whole + 1 / _between(1 / (high - whole), 1 / rest if rest else None, upper=not upper)


def _bands(points: Sequence[Point]) -> Bands | None:
    rows: Counter[int] = Counter()
    amounts: defaultdict[int, set[int]] = defaultdict(set)
    for amount, fee, n in points:
        rows[fee] += n
        amounts[fee].add(amount)
    whole = sum(rows.values())
    # A fee of a few rows is an exception; a run of amounts with one fee is a band.
    kept = [fee for fee in rows if rows[fee] * 100 > whole and len(amounts[fee]) > 1]
    kept = kept or [min(rows, key=lambda fee: (-rows[fee], fee))]
    if len(kept) > BANDS_MAX:
        return None
    middle = {fee: _median([(a, n) for a, f, n in points if f == fee]) for fee in kept}
    order = sorted(kept, key=lambda fee: (middle[fee], fee))
    starts = [0]
    for left, right in pairwise(order):
        starts.append(_edge(points, left, right))
    if starts != sorted(starts):
        return None
    bands = []
    for place, fee in enumerate(order):
        until = starts[place + 1] if place + 1 < len(order) else None
        seen = [a for a in amounts[fee] if a >= starts[place] and (until is None or a < until)]
        if not seen:
            return None
        bands.append(Band(fee=fee, first=min(seen), last=max(seen)))
    return Bands(tuple(bands))


def _median(weighted: Sequence[tuple[int, int]]) -> int:
    half, so_far = sum(n for _, n in weighted) / 2, 0
    for amount, n in sorted(weighted):
        so_far += n
        if so_far >= half:
            return amount
    raise AssertionError("a fee that was kept has rows")


def _edge(points: Sequence[Point], left: int, right: int) -> int:
    """Return the amount from which `right` is the better guess than `left`."""
    both = [(a, f, n) for a, f, n in points if f in {left, right}]
    wrong = sum(n for _, f, n in both if f == left)
    best, at = wrong, both[0][0]
    for place, (amount, fee, n) in enumerate(both):
        wrong += -n if fee == left else n
        following = both[place + 1][0] if place + 1 < len(both) else amount + 1
        if following != amount and wrong < best:
            best, at = wrong, following
    return at
