"""The counts above a list, from one snapshot; sums are of one mode and one currency."""

from collections.abc import Sequence

from rich.cells import cell_len

from kusanya.domain.status import MONEY_FIRST, OPEN, PAID, Status
from kusanya.store.records import Verdict
from kusanya.text import safe
from kusanya_console.feed import CollectionCounts, Snapshot, Tally
from kusanya_console.ui.format import Line, fit, format_percent
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import FAILED, MUTED, PLAIN, WARN, Run, role_of

_BARS = " ▁▂▃▄▅▆▇"
_LABEL = 13
_TAIL = 20
_LEAST = 16
"""Cells of a word, its figure and the gap behind it."""
_GAP = 5
"""Cells between two counts, where there is room."""


def collection_figures(snapshot: Snapshot, width: int, *, short: bool) -> list[Line]:
    """Return the last hour's counts, their trends, and the day's money."""
    hour, day = snapshot.hour, snapshot.day
    share = (f"{format_percent(hour.paid.count, hour.finals)}", PLAIN)
    wide = min((width - _LABEL - _TAIL) // len(MONEY_FIRST), 28)
    if short or width < 100 or wide < _LEAST:  # noqa: PLR2004 - the narrow breakpoint
        return [_counted(hour, width)]
    counts: list[Run] = [(fit(f" {translate('last 60 min')}", _LABEL), MUTED)]
    trend: list[Run] = [(fit(f" {translate('per minute')}", _LABEL), MUTED)]
    said = [(translate(one.value), f"{hour.of(one).count:,}") for one in MONEY_FIRST]
    longest = max(cell_len(word) + len(figure) for word, figure in said)
    gap = max(min(_GAP, wide - 1 - longest), 0)
    for status, (word, figure) in zip(MONEY_FIRST, said, strict=True):
        counts += [
            (f"{word} ", MUTED),
            (f"{figure:>{wide - cell_len(word) - 1 - gap}}", _role(status, hour.of(status))),
            (" " * gap, PLAIN),
        ]
        trend.append((fit(bars(snapshot.trends.get(status.value, ())), wide), MUTED))
    counts += [(f"{translate('success')} ", MUTED), share]
    trend += _others(hour.others, "")
    first = [tuple(counts), tuple(trend)]
    if gap < 1 or _width(tuple(counts)) > width:
        first = [_counted(hour, width)]
    return [*first, _money(day, width)]


def _money(day: CollectionCounts, width: int) -> Line:
    """Return the day's sums, closer and then without the explanation where room is short."""
    paid, code = day.paid, safe(day.currency, 8)
    sums = (("collected", paid.amount), ("fees", paid.fee), ("net", paid.amount - paid.fee))
    only = [(f"{translate('succeeded only')}", MUTED)]
    if day.other_currencies:
        only.append((translate(", {currency} only", currency=code), MUTED))
    lines: list[Line] = []
    for gap, tail in (("     ", only), ("  ", only), ("  ", [])):
        line: list[Run] = [(fit(f" {translate('today')}", _LABEL), MUTED)]
        for word, amount in sums:
            line += [(f"{translate(word)} ", MUTED), (f"{code} {amount:,}{gap}", PLAIN)]
        lines.append((*line, *tail))
    return next((line for line in lines if _width(line) <= width), lines[-1])


def _counted(hour: CollectionCounts, width: int) -> Line:
    """Return the counts on one line; where room is short closer, and then only what matters."""
    lines: list[Line] = []
    final = [status for status in MONEY_FIRST if status not in OPEN]
    some = [status for status in final if status in PAID or hour.of(status).count]
    for statuses, gap in ((MONEY_FIRST, "   "), (MONEY_FIRST, "  "), (final, "  "), (some, "  ")):
        line: list[Run] = [(f" {translate('last 60 min')}", MUTED)]
        for status in statuses:
            line += [
                (f"{gap}{translate(status.value)} ", MUTED),
                (f"{hour.of(status).count:,}", _role(status, hour.of(status))),
            ]
        lines.append((*line, *_others(hour.others, gap)))
    return next((line for line in lines if _width(line) <= width), lines[-1])


def delivery_figures(snapshot: Snapshot, missing: int | None, width: int) -> list[Line]:
    """Return the last hour's arrivals by verdict, and how many events are missing.

    Where there is no room for all of them, what is well is left out first.
    """
    arrivals, hour = snapshot.arrivals, f" {translate('last 60 min')}"
    first: Run = (fit(hour, _LABEL) if width >= 100 else f"{hour}  ", MUTED)  # noqa: PLR2004
    figures: list[tuple[str, int, str]] = [("arrivals", arrivals.total, PLAIN)]
    for verdict in Verdict:
        count = arrivals.verdicts.get(verdict, 0)
        if count or verdict in {Verdict.VERIFIED, Verdict.REJECTED, Verdict.REPEAT}:
            loud = count and verdict not in {Verdict.VERIFIED, Verdict.REPEAT}
            figures.append((verdict.value.replace("_", " "), count, FAILED if loud else PLAIN))
    unseen = [] if missing is None else [("missing", missing, WARN if missing else PLAIN)]
    well = {Verdict.REPEAT.value, Verdict.VERIFIED.value}
    shorter = (
        [*figures, *unseen],
        [*(one for one in figures if one[0] not in well), *unseen],
        [figures[0], *unseen, *(one for one in figures[1:] if one[0] not in well and one[1])],
    )
    lines = [_figure_line(first, chosen) for chosen in shorter]
    return [next((line for line in lines if _width(line) <= width), lines[-1])]


def _figure_line(first: Run, figures: Sequence[tuple[str, int, str]]) -> Line:
    line = [first]
    for place, (word, count, role) in enumerate(figures):
        line += [(f"{'   ' if place else ''}{translate(word)} ", MUTED), (f"{count:,}", role)]
    return tuple(line)


def _width(line: Line) -> int:
    return sum(cell_len(piece) for piece, _ in line)


def bars(values: Sequence[int]) -> str:
    """Return counts as a row of bars, the highest full; nothing is a space."""
    top = max(values, default=0)
    if top == 0:
        return "▁" * len(values)
    return "".join(_BARS[max(1, -(-value * 7 // top))] if value else " " for value in values)


def _role(status: Status, tally: Tally) -> str:
    loud = tally.count and role_of(status) == FAILED
    return FAILED if loud else PLAIN


def _others(count: int, gap: str) -> list[Run]:
    said = translate("? other {count}", count=f"{count:,}")
    return [(f"{gap}{said}", WARN)] if count else []
