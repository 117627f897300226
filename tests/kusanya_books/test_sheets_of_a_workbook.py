"""A workbook with several sheets: which one is read is said beside its name, and never guessed."""

import re
from pathlib import Path
from typing import Any

import openpyxl  # type: ignore[import-untyped]
import pytest

from kusanya.errors import InputRefused
from kusanya_books.read import gap_rows, guess, mapped_files, mappings
from kusanya_books.request.close_request import CloseRequest

HEAD = ("Transaction ID", "Transaction Date", "Type", "Credit", "Debit", "Reference No")


def workbook(folder: Path) -> Path:
    """Return a workbook with one sheet for each of two operators, and one with notes."""
    book = openpyxl.Workbook()
    book.active.title = "Notes"
    book.active.append(["Statements of March"])
    for title, name, amount in (("Airtel", "A1", 700), ("Mixx", "T1", 40)):
        sheet = book.create_sheet(title)
        sheet.append(HEAD)
        sheet.append([name, "05/03/2026 10:00", "payment", amount, None, f"R-{name}"])
    path = folder / "march.xlsx"
    book.save(path)
    return path


def read(**files: Any) -> dict[str, Any]:
    return mapped_files.read(CloseRequest(mode="live", **files))


def test_each_sheet_is_a_statement_of_its_own(tmp_path: Path) -> None:
    path = workbook(tmp_path)
    found = read(operator=(f"airtel:{path}#Airtel", f"mixx:{path}#Mixx"))
    moved = found["movements"]
    lines = moved[["input", "channel", "receipt", "amount"]].values.tolist()
    assert lines == [
        ["march.xlsx#Airtel", "AIRTEL_TZ", "A1", 700],
        ["march.xlsx#Mixx", "TIGO_TZ", "T1", 40],
    ]


def test_a_sheet_that_is_or_may_be_given_twice_is_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path)
    own, alone = tmp_path / "own.toml", tmp_path / "alone.xlsx"
    shipped = mappings.text("airtel").replace("[operator]", '[operator]\nsheet = "Airtel"', 1)
    own.write_text(shipped)
    book = openpyxl.load_workbook(path)
    del book["Mixx"]
    book.save(alone)
    for one, two in (
        (f"airtel:{path}#Airtel", f"airtel:{path}#Airtel"),
        (f"airtel:{path}#Airtel", f"{own}:{path}"),
        (f"airtel:{alone}", f"airtel:{alone}#Airtel"),
    ):
        with pytest.raises(InputRefused, match="was given twice"):
            read(operator=(one, two))


def test_a_workbook_of_which_two_sheets_fit_is_refused_with_what_to_write(tmp_path: Path) -> None:
    path = workbook(tmp_path)
    with pytest.raises(InputRefused, match=re.escape("name one: march.xlsx#Airtel")):
        read(operator=(f"airtel:{path}",))
    with pytest.raises(InputRefused, match="no sheet April; there: Notes, Airtel, Mixx"):
        read(operator=(f"airtel:{path}#April",))
    with pytest.raises(InputRefused, match=re.escape("name one: march.xlsx#Airtel")):
        guess.guess(path, "operator")


def test_a_mapping_is_guessed_of_one_sheet_and_fits_the_others(tmp_path: Path) -> None:
    path = workbook(tmp_path)
    found = guess.guess(f"{path}#Mixx", "operator")
    assert found.rows["receipt"].tolist() == ["T1"]
    assert "sheet" not in found.toml
    own = tmp_path / "own.toml"
    own.write_text(found.toml)
    moved = read(operator=(f"{own}:{path}#Airtel",))["movements"]
    assert moved["receipt"].tolist() == ["A1"]


def test_a_gap_is_searched_in_one_sheet(tmp_path: Path) -> None:
    rows = gap_rows.of_file(Path(f"{workbook(tmp_path)}#Mixx"), column="Credit")
    assert rows.frame["amount"].tolist() == [40]


def test_a_file_whose_name_has_the_mark_is_itself(tmp_path: Path) -> None:
    path = workbook(tmp_path).rename(tmp_path / "march #2.xlsx")
    moved = read(operator=(f"airtel:{path}#Airtel",))["movements"]
    assert moved["input"].tolist() == ["march #2.xlsx#Airtel"]
