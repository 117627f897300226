"""Books whose payments stand as credits: a first mapping says that the signs are a question."""

from pathlib import Path

import pytest

from kusanya_books.read.guess import guess

ODOO = """Date,Number,Partner,Reference,Amount in Currency,Currency
2026-03-05,BNK1/2026/0001,Asha,INV/1,{0}5000.00,TZS
2026-03-06,BNK1/2026/0002,Juma,INV/2,{0}7000.00,TZS
2026-03-07,BNK1/2026/0003,Neema,INV/3,-1000.00,TZS
"""
XERO = """Date,Source,Description,Reference,Amount,Currency
5 Mar 2026,Receivable Payment,Payment: Asha,INV-1,{0}5000.00,TZS
6 Mar 2026,Receivable Payment,Payment: Juma,INV-2,{0}7000.00,TZS
7 Mar 2026,Receivable Credit Note,Refund: Neema,INV-3,-1000.00,TZS
"""


@pytest.mark.parametrize("export", [ODOO, XERO], ids=["Odoo", "Xero"])
@pytest.mark.parametrize("role", ["ledger", ""])
def test_signs_that_make_most_lines_a_reversal_are_uncertain(
    tmp_path: Path, export: str, role: str
) -> None:
    file = tmp_path / "books.csv"
    file.write_text(export.format("-"))
    said = [one for one in guess(file, role).uncertain if "less than 0" in one]
    assert [one.partition(",")[0] for one in said] == ["3 of 3 amounts are less than 0"]
    file.write_text(export.format(""))
    assert not [one for one in guess(file, role).uncertain if "less than 0" in one]
