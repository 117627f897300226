"""Pictures where people look rather than read; every function returns its figure.

Figures are made without pyplot, so nothing global is touched and nothing is drawn twice. Outside
text is made safe and never read as mathematics.
"""

import io
import warnings
from typing import Any, Final

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from kusanya.text import safe

_DOTS: Final = 110
_BAR, _LINE, _SOFT, _WARN = "#2a6f97", "#c8553d", "#a9c5d6", "#e09f3e"
_AGES: Final = ("#a9c5d6", "#6f9fbd", "#2a6f97", "#e09f3e", "#c8553d")
_LABEL: Final = 40


class Chart(Figure):
    """A figure that shows itself in a notebook, without a drawing backend."""

    def _repr_png_(self) -> bytes:
        return self.png()

    def png(self) -> bytes:
        """Return the picture; the same figure gives the same bytes."""
        buffer = io.BytesIO()
        with warnings.catch_warnings():
            # A letter that the font lacks is drawn as a box, which is what we want to see.
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            self.savefig(buffer, format="png", dpi=_DOTS, metadata={"Software": None})
        return buffer.getvalue()


def pareto(frame: pd.DataFrame) -> Chart:
    """Draw failure codes by count and by the money asked for, the most frequent on top."""
    with _plain():
        chart = Chart(figsize=(10, 0.36 * max(len(frame), 3) + 1.4), layout="constrained")
        counts, values = chart.subplots(1, 2, sharey=True)
        places = list(range(len(frame)))[::-1]
        for axes, column, unit in ((counts, "attempts", "attempts"), (values, "value", "amount")):
            numbers = [int(number) for number in frame[column]]
            axes.barh(places, numbers, color=_BAR if column == "attempts" else _LINE, height=0.7)
            axes.set_xlabel(unit)
            axes.xaxis.set_major_formatter(FuncFormatter(_short))
            _bare(axes)
        counts.set_yticks(places, labels=[safe(code, _LABEL) for code in frame["code"]])
        chart.suptitle("Why attempts did not succeed", x=0.01, ha="left", fontsize=12)
        return chart


def daily(frame: pd.DataFrame) -> Chart:
    """Draw net and fees by business day, all channels of a currency together."""
    days = frame[frame["business_day"].notna()]
    with _plain():
        currencies = sorted(days["currency"].dropna().unique()) or [""]
        chart = Chart(figsize=(10, 2.6 * len(currencies) + 0.6), layout="constrained")
        for axes, currency in zip(
            chart.subplots(len(currencies), 1, squeeze=False)[:, 0], currencies, strict=True
        ):
            part = days[days["currency"] == currency]
            sums = part.groupby("business_day")[["net", "fee"]].sum()
            axes.bar(sums.index, sums["net"].astype("int64"), color=_BAR, label="net", width=0.8)
            axes.bar(
                sums.index,
                sums["fee"].astype("int64"),
                bottom=sums["net"].astype("int64"),
                color=_WARN,
                label="fee",
                width=0.8,
            )
            axes.set_ylabel(safe(currency, _LABEL))
            axes.yaxis.set_major_formatter(FuncFormatter(_short))
            axes.tick_params(axis="x", labelrotation=35)
            _bare(axes)
            if len(sums):
                axes.legend(frameon=False, ncols=2, loc="upper left", bbox_to_anchor=(0, 1.15))
        chart.suptitle("Gross by business day: net and fee", x=0.01, ha="left", fontsize=12)
        return chart


def ageing(frame: pd.DataFrame) -> Chart:
    """Draw how many rows each break code has, by age in days; what agrees is left out."""
    open_rows = frame[frame["standing"] != "ok"]
    ages = {
        "0-1": "rows_0_1",
        "2-3": "rows_2_3",
        "4-7": "rows_4_7",
        "8-30": "rows_8_30",
        ">30": "rows_over_30",
    }
    with _plain():
        chart = Chart(figsize=(10, 0.34 * max(len(open_rows), 3) + 1.4), layout="constrained")
        axes = chart.subplots()
        places = list(range(len(open_rows)))[::-1]
        left = [0] * len(open_rows)
        for (age, column), colour in zip(ages.items(), _AGES, strict=True):
            numbers = [int(number) for number in open_rows[column]]
            axes.barh(places, numbers, left=left, color=colour, label=f"{age} days", height=0.7)
            left = [start + number for start, number in zip(left, numbers, strict=True)]
        names = [
            f"{safe(code, _LABEL)} · {safe(currency, 12)}"
            for code, currency in zip(open_rows["break_code"], open_rows["currency"], strict=True)
        ]
        axes.set_yticks(places, labels=names)
        axes.set_xlabel("rows")
        _bare(axes)
        axes.legend(frameon=False, ncols=5, loc="lower left", bbox_to_anchor=(0, 1.0))
        chart.suptitle("How old the breaks are", x=0.01, ha="left", fontsize=12)
        return chart


def _plain() -> Any:
    return mpl.rc_context({"text.parse_math": False, "text.usetex": False, "font.size": 9})


def _bare(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(visible=True, axis="both", color="#dddddd", linewidth=0.6)


def _short(value: float, _place: int | None = None) -> str:
    for size, letter in ((1e9, "bn"), (1e6, "mn"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:,.4g} {letter}"
    return f"{value:,.4g}"


PERCENT: Final = PercentFormatter(xmax=1.0, decimals=0)
