"""Pictures where people look rather than read; every function returns its figure."""

from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import DateFormatter, DayLocator, date2num
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from kusanya_books import columns
from kusanya_books.match.ledger import LedgerMatch
from kusanya_books.present.figure import (
    AGES,
    BAR,
    LINE,
    SOFT,
    WARN,
    Chart,
    bare,
    canvas,
    named,
    plain,
    short,
    titled,
)

_AGE_COLUMNS: Final = {
    "0-1": "rows_0_1",
    "2-3": "rows_2_3",
    "4-7": "rows_4_7",
    "8-30": "rows_8_30",
    ">30": "rows_over_30",
}
_WEEK: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_GREY: Final = "#e6e6e6"
_PARTS_MAX: Final = 12
_DAY_LABELS: Final = 12
"""Days that are named on an axis; further ones stand between them."""
_FEWEST_DAYS: Final = 7
"""Days that an axis has room for, so that one day is a bar and not a wall."""
_FEWEST_BANDS: Final = 5
"""Amount bands that an axis has room for, for the same reason."""


def pareto(frame: pd.DataFrame) -> Chart:
    """Draw failure codes by count and by the money asked for, the most frequent on top."""
    with plain():
        chart = canvas(height=0.36 * max(len(frame), 3) + 1.4)
        counts, values = chart.subplots(1, 2, sharey=True)
        places = _downwards(frame)
        for axes, column, unit, colour in (
            (counts, "attempts", "attempts", BAR),
            (values, "value", "amount asked for", LINE),
        ):
            axes.barh(places, _whole(frame[column]), color=colour, height=0.7)
            axes.set_xlabel(unit)
            axes.xaxis.set_major_formatter(FuncFormatter(short))
            bare(axes)
        counts.set_yticks(places, labels=_labels(frame, "code"))
        return titled(chart, "Why attempts did not succeed")


def daily(frame: pd.DataFrame) -> Chart:
    """Draw net and fees by business day, all channels of a mode and currency together."""
    days = frame[frame["business_day"].notna()]
    with plain():
        panels = _panels(days, "mode", "currency")
        chart = canvas(height=2.6 * len(panels) + 0.6)
        stack = chart.subplots(len(panels), 1, squeeze=False)[:, 0]
        for axes, (mode, currency), part in zip(stack, panels, panels.values(), strict=True):
            sums = part.groupby("business_day")[["net", "fee"]].sum()
            net, fee = _whole(sums["net"]), _whole(sums["fee"])
            axes.bar(sums.index, net, color=BAR, label="net", width=0.8)
            axes.bar(sums.index, fee, bottom=net, color=WARN, label="fee", width=0.8)
            axes.set_ylabel(f"{named(currency)}, {mode}" if mode else "")
            axes.yaxis.set_major_formatter(FuncFormatter(short))
            bare(axes)
            if len(sums):
                _by_day(axes, sums.index.min(), sums.index.max())
                axes.legend(frameon=False, ncols=2, loc="upper left", bbox_to_anchor=(0, 1.15))
        return titled(chart, "Gross by business day: net and fee")


def _by_day(axes: Axes, first: pd.Timestamp, last: pd.Timestamp) -> None:
    # Whole days alone: left to itself the axis of a short period counts hours.
    span = (last - first).days + 1
    every = -(-span // _DAY_LABELS)
    axes.xaxis.set_major_locator(DayLocator(interval=every))  # type: ignore[no-untyped-call] # theirs
    axes.xaxis.set_major_formatter(DateFormatter("%d %b"))  # type: ignore[no-untyped-call] # theirs
    around = pd.Timedelta(days=max(1, (_FEWEST_DAYS - span) / 2))
    ends = date2num([first - around, last + around])  # type: ignore[no-untyped-call] # theirs
    axes.set_xlim(*ends)


def ageing(frame: pd.DataFrame) -> Chart:
    """Draw how many rows each break code has, by age in days; what agrees is left out."""
    rows = frame[frame["standing"] != "ok"]
    with plain():
        chart = canvas(height=0.34 * max(len(rows), 3) + 1.4)
        axes = chart.subplots()
        places = _downwards(rows)
        left = [0] * len(rows)
        for (age, column), colour in zip(_AGE_COLUMNS.items(), AGES, strict=True):
            numbers = _whole(rows[column])
            axes.barh(places, numbers, left=left, color=colour, label=f"{age} days", height=0.7)
            left = [start + number for start, number in zip(left, numbers, strict=True)]
        labels = [
            f"{named(code)} · {named(currency)}"
            for code, currency in zip(rows["break_code"], rows["currency"], strict=True)
        ]
        axes.set_yticks(places, labels=labels)
        axes.set_xlabel("rows")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        bare(axes)
        axes.legend(frameon=False, ncols=5, loc="lower left", bbox_to_anchor=(0, 1.0))
        return titled(chart, "How old the breaks are")


def ages(matched: LedgerMatch | None) -> Chart:
    """Draw the ages of a match's breaks; without a match, a picture that says so."""
    if matched is not None:
        return ageing(matched.ageing)
    return titled(canvas(height=0.6), "How old the breaks are: not proven, no ledger was given")


def rate_by_day(frame: pd.DataFrame) -> Chart:
    """Draw the share of references that succeed by day, with its 95 % interval."""
    with plain():
        chart = canvas(height=3.2)
        axes = chart.subplots()
        for (mode, currency), part in frame.groupby(["mode", "currency"]):
            days = pd.to_datetime(part["part"].astype("object"), format="%Y-%m-%d")
            low, high = (part[name].astype("float64") for name in _BOUNDS)
            rate = part["reference_rate"].astype("float64")
            axes.fill_between(days, low, high, color=SOFT, alpha=0.5, linewidth=0)
            axes.plot(days, rate, color=BAR, linewidth=1.4, label=f"{named(str(currency))}, {mode}")
        axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
        bare(axes)
        if len(frame):
            every = pd.to_datetime(frame["part"].astype("object"), format="%Y-%m-%d")
            _by_day(axes, every.min(), every.max())
            axes.legend(frameon=False, loc="lower left")
        return titled(chart, "References that succeed, by day of creation, 95 % interval")


_BOUNDS: Final = ("reference_low", "reference_high")


def rates(frame: pd.DataFrame, title: str) -> Chart:
    """Draw a rate and its interval for every part; parts with few attempts are grey."""
    shown = frame.head(_PARTS_MAX)
    with plain():
        chart = canvas(height=0.36 * max(len(shown), 3) + 1.2)
        axes = chart.subplots()
        places = _downwards(shown)
        for place, row in zip(places, columns.records(shown), strict=True):
            colour = SOFT if row.few else BAR
            axes.plot([row.reference_low, row.reference_high], [place, place], color=colour)
            axes.plot([row.reference_rate], [place], "o", color=colour)
        axes.set_yticks(places, labels=_labels(shown, "part"))
        axes.xaxis.set_major_formatter(PercentFormatter(xmax=1.0))
        bare(axes)
        return titled(chart, title)


def hours(frame: pd.DataFrame) -> Chart:
    """Draw the share of attempts that do not succeed by weekday and hour, East Africa Time.

    Hours of few attempts are grey: their share is chance. Raises ValueError for attempts of both
    modes.
    """
    if _several(frame["mode"]):
        raise ValueError("test and live are never counted together: choose one mode")
    with plain():
        chart = canvas(height=3.4)
        axes = chart.subplots()
        grid = [[float("nan")] * 24 for _ in _WEEK]
        axes.set_facecolor(_GREY)
        sums = frame.groupby(["weekday", "hour"]).agg(
            attempts=("attempts", "sum"), succeeded=("succeeded", "sum"), few=("few", "all")
        )
        for row in columns.records(sums[~sums["few"].astype(bool)]):
            weekday, hour = (int(part) for part in row.Index)
            grid[weekday][hour] = 1 - float(row.succeeded) / float(row.attempts)
        image = axes.imshow(grid, aspect="auto", cmap="YlOrRd", vmin=0)
        axes.set_yticks(range(7), labels=_WEEK)
        axes.set_xticks(range(0, 24, 2), labels=[f"{hour:02d}" for hour in range(0, 24, 2)])
        axes.set_xlabel("hour of creation, EAT")
        chart.colorbar(image, ax=axes, format=PercentFormatter(xmax=1.0))
        return titled(
            chart, "Attempts that do not succeed, by weekday and hour; grey: too few to tell"
        )


def recovery(frame: pd.DataFrame) -> Chart:
    """Draw the money of first failures by code: recovered, still open, lost."""
    with plain():
        chart = canvas(height=0.36 * max(len(frame), 3) + 1.4)
        axes = chart.subplots()
        places = _downwards(frame)
        left = [0] * len(frame)
        for column, label, colour in (
            ("value_recovered", "recovered", BAR),
            ("value_open", "still open", SOFT),
            ("value_lost", "lost", LINE),
        ):
            numbers = _whole(frame[column])
            axes.barh(places, numbers, left=left, color=colour, label=label, height=0.7)
            left = [start + number for start, number in zip(left, numbers, strict=True)]
        axes.set_yticks(places, labels=_labels(frame, "code"))
        axes.set_xlabel("amount of the first failure")
        axes.xaxis.set_major_formatter(FuncFormatter(short))
        bare(axes)
        axes.legend(frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(0, 1.0))
        return titled(chart, "What became of the money that failed at first")


def bands(frame: pd.DataFrame) -> Chart:
    """Draw what was charged and what the tariff asks by amount band.

    There is a panel for each channel, mode and currency. A band in which the tariff has no price
    for some row has no mark of the tariff: the two would not be of the same rows.
    """
    with plain():
        panels = dict(list(_panels(frame, "channel", "mode", "currency").items())[:_PARTS_MAX])
        one = len({key[1:] for key in panels}) == 1
        chart = canvas(height=1.9 * len(panels) + 0.6)
        stack = chart.subplots(len(panels), 1, squeeze=False)[:, 0]
        for axes, (channel, mode, currency), part in zip(
            stack, panels, panels.values(), strict=True
        ):
            places = list(range(len(part)))
            priced = [place for place, left in enumerate(part["unpriced"]) if left == 0]
            axes.bar(places, _whole(part["charged"]), color=BAR, width=0.6, label="charged")
            asked = _whole(part["expected"].iloc[priced])
            axes.plot(priced, asked, "_", color=LINE, ms=22, mew=2, label="tariff")
            axes.set_xticks(places, labels=[str(band) for band in part["band"]], fontsize=7)
            axes.set_xlim(-0.6, max(len(part), _FEWEST_BANDS) - 0.4)
            beside = "" if one else f"\n{named(currency)}, {mode}"
            axes.set_ylabel(f"{named(channel)}{beside}")
            axes.yaxis.set_major_formatter(FuncFormatter(short))
            bare(axes)
        if len(frame):
            stack[0].legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
        return titled(chart, "Fees by amount band: charged, and what the tariff asks")


def _panels(frame: pd.DataFrame, *names: str) -> dict[tuple[str, ...], pd.DataFrame]:
    """Return the rows of each group, so that nothing is summed across modes or currencies."""
    parts: dict[tuple[str, ...], pd.DataFrame] = {}
    for key, part in frame.groupby(list(names), dropna=False, sort=True):
        found: Any = key
        parts[tuple("" if pd.isna(value) else str(value) for value in found)] = part
    return parts or {("",) * len(names): frame}


def _labels(frame: pd.DataFrame, name: str) -> list[str]:
    """Return a label for every row; it names the mode and currency where there are several."""
    more = [part for part in ("mode", "currency") if _several(frame[part])]
    return [
        " · ".join(named(str(value)) for value in row)
        for row in frame[[name, *more]].itertuples(index=False)
    ]


def _several(column: "pd.Series[Any]") -> bool:
    return len(set(column.dropna())) > 1


def _downwards(frame: pd.DataFrame) -> list[int]:
    return list(range(len(frame)))[::-1]


def _whole(column: "pd.Series[Any]") -> list[int]:
    return [0 if pd.isna(number) else int(number) for number in column]
