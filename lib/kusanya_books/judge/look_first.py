"""Whether a whole file is wrong: then no single line of it is a person's work.

Books of another month, amounts in thousands or a column that was mapped wrongly make a break of
each line, with an advice that is right for one line and wrong for all.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

import pandas as pd

from kusanya.text import safe
from kusanya_books import columns

_FEW: Final = 10
"""Of fewer lines all may be breaks by chance."""
_NEARLY_ALL: Final = 90
_PER_CENT: Final = 100
_PARTS: Final = ("read", "break", "outside")
_COLLECTIONS: Final = "collections"
_BOOKS: Final = "ledger"


def look_first(accounted: pd.DataFrame, *, has_books: bool) -> Iterator[str]:
    """Yield what to see to before any single line, of an `ACCOUNTED` frame; nothing as a rule.

    `has_books` says whether books were given, whose page may lack them where they have no line.
    """
    files: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(_PARTS, 0))
    for row in columns.records(accounted):
        for part in _PARTS:
            files[row.input][part] += int(getattr(row, f"rows_{part}"))
    paid = files.pop(_COLLECTIONS, dict.fromkeys(_PARTS, 0))
    is_paid = paid["read"] - paid["outside"] >= _FEW
    if has_books and _BOOKS not in files and is_paid:
        yield "there is no line in the books: see whether they are the right file"
    for name, rows in files.items():
        said = "the books" if name == _BOOKS else safe(name, 120)
        within = rows["read"] - rows["outside"]
        # Of statements there may be one more, of the days after the period.
        if name == _BOOKS and not within and rows["read"] >= _FEW and is_paid:
            yield (
                f"none of the {rows['read']:,} lines of {said} is of this period: see whether it "
                "is the right file"
            )
        elif rows["break"] >= _FEW and rows["break"] * _PER_CENT >= within * _NEARLY_ALL:
            yield (
                f"{rows['break']:,} of the {within:,} lines of {said} are breaks: see whether it "
                "is the right file, and whether its mapping is right, before you act on one of them"
            )
