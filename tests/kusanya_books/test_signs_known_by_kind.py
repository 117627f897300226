"""Books and statements whose signs are known by the kind: what goes out, and what takes back."""

from pathlib import Path

import pytest

from kusanya_books.read import files
from kusanya_books.read.mapping import Layout

COLUMNS: dict[str, str | tuple[str, ...]] = {
    "kind": "Kind", "reference": "Ref", "amount": "Sum", "booked_at": "Day", "currency": "=TZS",
}  # fmt: skip
KINDS: dict[str, tuple[str, ...]] = {
    "payment": ("sale",),
    "refund": ("refund",),
    "reversal": ("void",),
}
LAYOUT = Layout(columns=COLUMNS, kinds=KINDS, signs="kind")
BACK = ("reversal", -500_000)


@pytest.mark.parametrize(
    ("rows", "read", "warned"),
    [
        (["sale;5000", "sale;-500000"], [("payment", 5_000), BACK], [3]),
        (["sale;-500000", "sale;5000", "refund;700"], [BACK, ("payment", 5_000), ("refund", -700)],
         [2]),
        (["sale;-5000", "sale;-900", "refund;700"],
         [("payment", 5_000), ("payment", 900), ("refund", -700)], [2]),
        (["sale;5000", "refund;-700", "refund;700"],
         [("payment", 5_000), ("refund", -700), ("refund", -700)], []),
        (["sale;5000", "void;500000", "void;-500000"], [("payment", 5_000), BACK, BACK], []),
        (["sale;0", "sale;-500000", "sale;10"], [("payment", 0), BACK, ("payment", 10)], [3]),
    ],
)  # fmt: skip
def test_a_payment_below_zero_beside_others_takes_money_back_and_is_never_turned_in_silence(
    tmp_path: Path, rows: list[str], read: list[tuple[str, int]], warned: list[int]
) -> None:
    path = tmp_path / "books.csv"
    lines = (f"{row};INV-{number};2026-03-05" for number, row in enumerate(rows))
    path.write_text("\n".join(["Kind;Sum;Ref;Day", *lines]))
    frame, quality = files.ledger(path, LAYOUT)
    assert list(zip(frame["kind"], frame["amount"], strict=True)) == read
    assert [one.row for one in quality.remarks if one.verdict == "warned"] == warned
