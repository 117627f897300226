"""Tolerances from a file in TOML, single ones given beside it.

amount = 5              # whole units of the currency
fee = 1
grace_days = 2
double_minutes = 30

What neither names is as in `Tolerance`.
"""

from pathlib import Path

from kusanya_books.read.toml_file import fitted, read_toml
from kusanya_books.request.tolerance import Tolerance


def read(path: str = "", **numbers: int | None) -> Tolerance:
    """Return the tolerances of a file, none where empty; those in `given` that are not None win.

    Raises InputRefused for a file that cannot be read or used, and for a negative number.
    """
    named = {name: number for name, number in numbers.items() if number is not None}
    kept = read_toml(Path(path)) if path else {}
    where = f"the tolerances of {Path(path).name}" if path else "the tolerances"
    return fitted({**kept, **named}, Tolerance, where)
