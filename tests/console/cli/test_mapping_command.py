"""`kusanya mapping`: what is shipped, and what a file looks like before a month depends on it."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

from kusanya_books.read import files
from kusanya_books.read.mapping import read_mapping

Kusanya = Callable[..., tuple[int, str, str]]
BOOKS = (
    "Duka la Mfano\nMachi 2026\n\n"
    "Invoice No;Date paid;Amount paid;Remarks\n"
    "INV-1;13/03/2026;5.000,00;255754000001\nINV-2;05/03/2026;1.250.000,00;\n"
    "INV-3;05/03/2026;x;\nJumla;;1.255.000,00;\n"
)


def test_what_is_shipped_is_listed_and_shown(kusanya: Kusanya) -> None:
    code, out, err = kusanya("mapping", "list")
    assert (code, err) == (0, "")
    for name in ("mpesa", "mixx", "airtel", "halopesa", "selcom", "quickbooks", "xero", "odoo"):
        assert f"\n{name} " in f"\n{out}"
        code, shown, _ = kusanya("mapping", "show", name)
        assert code == 0
        assert {"ledger", "operator"} & tomllib.loads(shown).keys()
    code, out, err = kusanya("mapping", "show", "nobody")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "there is no mapping nobody; there are mpesa" in err


def test_a_file_is_guessed_and_what_is_written_reads_it(kusanya: Kusanya, tmp_path: Path) -> None:
    path, made = tmp_path / "books.csv", tmp_path / "books.toml"
    path.write_text(BOOKS, encoding="utf-8")
    code, out, err = kusanya("mapping", "try", str(path), "--as", "ledger", "--out", str(made))
    assert (code, err) == (0, "")
    assert "delimiter semicolon; header in row 4" in out
    assert "4 rows: 2 read, 1 no entries, 1 that cannot be read" in out
    assert 'cannot be read: row 7, column "Amount paid": amount is not a whole number' in out
    assert "uncertain: Date paid is taken for booked_at" in out
    assert "uncertain: no column says the currency: taken for TZS" in out
    assert "255754000001" not in out
    frame, quality = files.ledger(path, read_mapping(made).ledger)
    assert frame["amount"].tolist() == [5_000, 1_250_000]
    assert [remark.row for remark in quality.rejected] == [7]
    code, _, err = kusanya("mapping", "try", str(path), "--out", str(made))
    assert (code, err.count("\n")) == (2, 1)
    assert "is there already" in err


def test_a_settlement_statement_shows_its_days_and_which_words_say_what_a_line_is(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    path = tmp_path / "paid.csv"
    path.write_text(
        "Settlement Date,Network,Type,Net Amount\n03/13/2026,MPESA,Payout,9800\n"
        "03/14/2026,MPESA,Monthly fee,-500\n"
    )
    code, out, _ = kusanya("mapping", "try", str(path), "--as", "statement")
    assert code == 0
    assert [line.split()[1] for line in out.splitlines()[2:5]] == [
        *("business_day", "2026-03-13", "2026-03-14")
    ]
    said = "Type says Payout, Monthly fee: it is read as kind once [kinds] says which of its words"
    assert f"uncertain: {said} mean what" in out


def test_a_guess_names_the_shipped_mapping_that_fits(kusanya: Kusanya, tmp_path: Path) -> None:
    path = tmp_path / "mpesa.csv"
    path.write_text(
        "Receipt No.,Completion Time,Details,Transaction Status,Paid In,Withdrawn,Balance\n"
        'R1,2026-03-05 10:15:00,Pay Bill,Completed,"5,000.00",,"5,000.00"\n',
        encoding="utf-8",
    )
    code, out, _ = kusanya("mapping", "try", str(path), "--json")
    document = json.loads(out)
    assert (code, document["as"], document["fits"], document["kept"]) == (
        0,
        "operator",
        ["mpesa"],
        1,
    )


def test_what_has_no_columns_of_ours_is_refused_in_one_line(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("colour,size\nred,\x1b[31m5\n", encoding="utf-8")
    code, out, err = kusanya("mapping", "try", str(path))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "has no column that looks like amount; row 1 has: colour, size" in err
    code, _, err = kusanya("mapping", "try", str(tmp_path / "none.csv"))
    assert (code, "there is no file" in err) == (2, True)
