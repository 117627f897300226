"""The canvas that pictures are drawn on: no global state, no mathematics in outside text.

Figures are made without pyplot, so nothing is drawn twice and no backend is chosen; the same figure
gives the same bytes.
"""

import io
import warnings
from typing import Any, Final

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from kusanya.text import safe

_DOTS: Final = 110
_LABEL: Final = 40
BAR, LINE, SOFT, WARN = "#2a6f97", "#c8553d", "#a9c5d6", "#e09f3e"
AGES: Final = ("#a9c5d6", "#6f9fbd", "#2a6f97", "#e09f3e", "#c8553d")


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
            # The canvas draws once, `savefig` once for the layout and once for the file.
            drawn: Any = FigureCanvasAgg(self)
            drawn.print_png(buffer, metadata={"Software": None})
        return buffer.getvalue()


def canvas(*, height: float, width: float = 10) -> Chart:
    """Return an empty figure that makes room for its labels."""
    return Chart(figsize=(width, height), dpi=_DOTS, layout="constrained")


def plain() -> Any:
    """Return a context in which text is drawn as it stands."""
    return mpl.rc_context({"text.parse_math": False, "text.usetex": False, "font.size": 9})


def bare(axes: Any) -> None:
    """Take the frame off and put a quiet grid behind."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(visible=True, axis="both", color="#dddddd", linewidth=0.6)


def titled(chart: Chart, title: str) -> Chart:
    """Return the chart under a title."""
    chart.suptitle(title, x=0.01, ha="left", fontsize=12)
    return chart


def named(text: str) -> str:
    """Return outside text as a short label."""
    return safe(text, _LABEL)


def short(value: float, _place: int | None = None) -> str:
    """Return a number as an axis shows it: 12.5 mn."""
    for size, letter in ((1e9, "bn"), (1e6, "mn"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:,.4g} {letter}"
    return f"{value:,.4g}"
