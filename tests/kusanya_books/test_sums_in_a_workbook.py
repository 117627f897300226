"""A sum in a workbook is a formula over its cells, and comes to what the cells come to."""

import re

from hypothesis import given
from hypothesis import strategies as st

from kusanya_books.pack.cells import DIGITS_MAX, Formula, sum_of

cells = st.dictionaries(st.integers(0, 40), st.none() | st.integers(-(10**9), 10**9), max_size=20)


def calculated(formula: str, cells: dict[int, int | None]) -> int:
    """Return what a spreadsheet makes of sums over parts of the column C."""
    total = 0
    for part in formula.split("+"):
        found = re.fullmatch(r"SUM\(C(\d+):C(\d+)\)", part)
        assert found is not None, part
        first, last = (int(row) - 1 for row in found.groups())
        assert first <= last
        total += sum(cells.get(row) or 0 for row in range(first, last + 1))
    return total


@given(cells)
def test_it_adds_each_of_its_rows_once_and_no_other_one(cells: dict[int, int | None]) -> None:
    rows = sorted(cells)
    made = sum_of(2, rows, [cells[row] for row in rows])
    wanted = sum(value or 0 for value in cells.values())
    if not rows:
        assert made == 0
        return
    assert isinstance(made, Formula)
    others = {row: 10**12 for row in range(50) if row not in cells}
    assert (calculated(made.text, {**cells, **others}), made.value) == (wanted, wanted)


def test_of_a_cell_that_is_text_it_is_a_number() -> None:
    assert sum_of(2, [0, 1], [DIGITS_MAX, 1]) == DIGITS_MAX + 1
    assert isinstance(sum_of(2, [0, 1], [DIGITS_MAX - 1, 1]), Formula)
