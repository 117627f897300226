"""A first mapping of a file that nobody has described: a guess, said to be one, and readable."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest

from kusanya.errors import InputRefused
from kusanya_books.read import files, movements
from kusanya_books.read.guess import ROLES, guess
from kusanya_books.read.mapping import (
    LEDGER_MAY,
    LEDGER_NEEDS,
    MOVEMENT_MAY,
    MOVEMENT_NEEDS,
    STATEMENT_MAY,
    STATEMENT_NEEDS,
    read_mapping,
)
from kusanya_books.read.tables import headers

LEGS = {
    "ledger": (LEDGER_NEEDS, LEDGER_MAY),
    "statement": (STATEMENT_NEEDS, STATEMENT_MAY),
    **dict.fromkeys(("operator", "bank"), (MOVEMENT_NEEDS, MOVEMENT_MAY)),
}
DAY_OR_MONTH = "every date could have the day or the month first: taken for the day"
TZS = "no column says the currency: taken for TZS"
KINDS = "type says Sale: it is read as kind once [kinds] says which of its words mean what"
STATUSES = (
    "hali ya malipo says Done: it is read as status once [values.status] says which of its words "
    "mean what"
)
SOME = "some amounts say TZS, the others nothing: taken for it"
THOUSANDS = "a mark in the amounts is for thousands or for a fraction: thousands"
BOOKS = "date,reference,amount,currency\n2026-03-05,INV-1,5000,TZS\n2026-03-06,INV-2,7000,TZS\n"
PAID_OUT = (
    "date,network,currency,gross,fee,net\n2026-03-05,MPESA_TZ,TZS,2000,36,1964\n"
    "2026-03-06,MPESA_TZ,TZS,1000,18,982\n"
)
MOVED = (
    "Receipt No\tCompletion Time\tDetails\tPaid In\tWithdrawn\tBalance\tCcy\n"
    "R1\t2026-03-05 10:15:00\tMalipo caf\u00e9\t5,000.00\t\t5,000.00\tTZS\n"
    "R2\t2026-03-06 10:15:00\tAda\t\t50.00\t4,950.00\tTZS\n"
)
MT940 = (
    ":20:A\n:25:1\n:28C:1\n:60F:C260301TZS1000,\n:61:2603060306C2000,NTRFNONREF\n"
    ":62F:C260331TZS3000,\n"
)


def taxed(first: str, second: str) -> str:
    """Return a settlement statement with a VAT beside its fee; the ends of its lines are given."""
    return (
        "date,network,currency,gross,commission,net,VAT\n"
        f"2026-03-05,MPESA_TZ,TZS,2000,36,{first}\n"
        f"2026-03-06,MPESA_TZ,TZS,1000,18,{second}\n"
    )


def write(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "file.csv"
    path.write_bytes(text.encode(encoding))
    return path


def read_again(path: Path, toml: str, role: str) -> pd.DataFrame:
    """Return the rows of a file as the kept mapping reads them."""
    kept = path.with_suffix(".toml")
    kept.write_text(toml, encoding="utf-8")
    layout: Any = getattr(read_mapping(kept), role)
    if role in {"operator", "bank"}:
        return movements.read(path, layout, leg=role)[0]
    return (files.ledger if role == "ledger" else files.statement)(path, layout)[0]


@pytest.mark.parametrize(
    ("text", "role", "uncertain", "amounts"),
    [
        (BOOKS, "ledger", [], [5_000, 7_000]),
        (BOOKS.replace(",currency", "").replace(",TZS", ""), "ledger", [TZS], [5_000, 7_000]),
        (BOOKS.replace(",5000,", ",TZS 5000,").replace(",TZS\n", ",\n"), "ledger", None, None),
        (BOOKS.replace("2026-03-0", "05/03/2026").replace("20265", "2026").replace("20266", "2026"),
         "ledger", [DAY_OR_MONTH], [5_000, 7_000]),
        (BOOKS.replace("2026-03-05", "13/03/2026").replace("2026-03-06", "05/03/2026"),
         "ledger", [], [5_000, 7_000]),
        (BOOKS.replace("2026-03-05", "03/13/2026").replace("2026-03-06", "03/05/2026"),
         "ledger", [], [5_000, 7_000]),
        (BOOKS.replace("5000", "5.000").replace("7000", "7.000"), "ledger", [THOUSANDS], None),
        (BOOKS.replace("amount", "amount paid by them"), "ledger",
         ["amount paid by them is taken for amount"], [5_000, 7_000]),
        (BOOKS.replace("currency", "currency,type,hali ya malipo").replace("TZS", "TZS,Sale,Done"),
         "ledger",
         [KINDS, STATUSES],
         [5_000, 7_000]),
        ('date,reference,amount\n2026-03-05,INV-1,"Tsh\u00a05,000/="\n2026-03-06,INV-2,7000\n',
         "ledger", [SOME], [5_000, 7_000]),
        (BOOKS.replace("currency", "currency,paid by").replace("TZS\n2", "TZS,M-Pesa\n2").replace(
            "TZS\n", "TZS,Airtel money\n"), "ledger", ["paid by is taken for channel"], None),
        ("Date,Description,Debit,Credit,Balance\n2026-03-05,PAYOUT,,5000,5000\n", "bank",
         [TZS], [5_000]),
        (PAID_OUT, "statement", [], [1_964, 982]),
        ("Date,Gross Amount,Fee Amount\n2026-03-05,TZS 2000,36\n2026-03-06,TZS 1000,18\n",
         "statement", [], [1_964, 982]),
        ("Date,Gross Amount,Fee Amount\n2026-03-05,TZS 2000,-36\n2026-03-06,TZS 1000,-18\n",
         "statement", ["no fee has the sign of its gross: read as what is taken off"],
         [1_964, 982]),
        (taxed("1958,6", "979,3"), "statement", ["taken to be part of the fee: VAT"], [1_958, 979]),
        (taxed("1964,6", "982,3"), "statement", [], [1_964, 982]),
        (taxed("1958,6", "982,3"), "statement", ["taken to be part of the fee: VAT"], [1_958, 982]),
        (taxed("1964,no", "982,"), "statement", [], [1_964, 982]),
        (MOVED, "operator", [], [5_000, -50]),
        (MOVED.replace("Balance", "Charge\tVAT\tExcise duty").replace(",000.00\tTZS", "\t3\t2\tTZS")
         .replace("4,950.00\tTZS", "\t\t\tTZS"), "operator",
         ["taken to be part of the fee: VAT, Excise duty"], [5_000, -50]),
    ],
)  # fmt: skip
def test_a_guess_says_what_is_certain_and_what_is_not(
    tmp_path: Path, text: str, role: str, uncertain: Sequence[str] | None,
    amounts: list[int] | None,
) -> None:  # fmt: skip
    path = write(tmp_path, text)
    found = guess(path)
    assert found.role == role
    first, *rest = found.uncertain
    assert first == f"read as {role}; say --as if it is something else"
    if uncertain is not None:
        assert rest == list(uncertain)
    column = "net" if role == "statement" else "amount"
    if amounts is not None:
        assert found.rows[column].tolist() == amounts
    pd.testing.assert_frame_equal(read_again(path, found.toml, role), found.rows)
    assert guess(path, role).uncertain == tuple(rest), "who said the role is told so no more"


@pytest.mark.parametrize(
    ("header", "fits", "uncertain"),
    [
        (
            "Date,Transaction Type,Num,Memo/Description,Amount",
            ("quickbooks",),
            "Num is taken for reference",
        ),
        ("Date,Source,Description,Reference,Debit,Credit", ("xero",), ""),
        ("Date,Journal Entry,Reference,Label,Debit,Credit", ("odoo",), ""),
        (
            "Date,Customer,Amount",
            ("quickbooks",),
            "no column is taken for reference",
        ),
    ],
)
def test_the_programs_that_write_such_columns_are_named_and_a_reference_that_is_lacking(
    tmp_path: Path, header: str, fits: tuple[str, ...], uncertain: str
) -> None:
    cells = {"Date": "2026-03-13", "Amount": "5000", "Debit": "5000", "Credit": "0"}
    row = ",".join(cells.get(name, "INV-1") for name in header.split(","))
    found = guess(write(tmp_path, f"{header}\n{row}\n"), "ledger")
    assert found.fits == fits
    named = [one for one in found.uncertain if "reference" in one]
    assert [one.startswith(uncertain) for one in named] == [True] * bool(uncertain)


@pytest.mark.parametrize("role", ["bank", "operator"])
def test_two_dates_and_two_sides_are_read_as_what_they_are(tmp_path: Path, role: str) -> None:
    text = (
        "CRDB BANK PLC\n\nPosting Date,Value Date,Details,Debit,Credit,Book Balance\n"
        '04-May-2026,05-May-2026,CHEQUE 000123,"700,000.00",,"2,300,000.00"\n'
        '05-May-2026,05-May-2026,PAYOUT ST260504,,"425,000.00","2,725,000.00"\n'
    )
    found = guess(write(tmp_path, text), role)
    assert found.rows["amount"].tolist() == [-700_000, 425_000]
    assert found.rows["balance"].tolist() == [2_300_000, 2_725_000]
    assert not any("amount" in said for said in found.uncertain)


@pytest.mark.merge
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.scale(20, 100, 1_000)
def test_a_header_that_is_known_is_taken_for_its_own_column_alone(
    tmp_path: Path, role: str, rounds: int
) -> None:
    cells = dict.fromkeys(("booked_at", "at", "business_day"), "2026-03-13")
    cells |= dict.fromkeys(("amount", "money_in", "money_out", "net", "gross", "fee"), "5000")
    cells |= {"currency": "TZS", "channel": "M-Pesa", "status": "paid", "count": "1"}
    for seed in range(rounds):
        chance = Random(f"headers {seed}")  # noqa: S311 - a repeatable choice
        needs, may = LEGS[role]
        wanted = [name for group in needs for name in group] + [*may]
        sides = {"money_in", "money_out"}
        left_out = {"amount"} if role in {"operator", "bank"} and chance.random() < 0.5 else sides
        needed = {"business_day", *(name for group in needs for name in group)}
        names = [
            name
            for name in chance.sample(wanted, len(wanted))
            if name not in left_out and (name in needed or chance.random() < 0.7)
        ]
        said: dict[str, str] = {}
        for name in names:
            free = [one for one in headers.names_of(name) if one not in said]
            for header in chance.sample(free, min(len(free), chance.choice([1, 1, 2]))):
                said[header] = name
        row = ",".join(cells.get(name, "5000") for name in said.values())
        found = guess(write(tmp_path, f"{','.join(said)}\n{row}\n"), role)
        taken = tomllib.loads(found.toml)[role]["columns"]
        for name, header in taken.items():
            known = {one for one in wanted if header in headers.names_of(one)}
            assert header.startswith("=") or name in known, (seed, name, header)


@pytest.mark.parametrize(
    ("column", "names"), [("Rejea", True), ("Risiti", True), ("Namba", False), ("Simu", False)]
)
def test_an_operators_line_meets_its_payment_by_reference_or_receipt(
    tmp_path: Path, column: str, *, names: bool
) -> None:
    text = f"Tarehe;{column};Kilichoingia;Salio\n13/03/2026;X1;5.000,00;5.000,00\n"
    found = guess(write(tmp_path, text), "operator")
    said = "no column is taken for reference, and no line will meet its payment by name: say which"
    assert any(one.startswith(said) for one in found.uncertain) is not names


@pytest.mark.parametrize("role", ROLES)
def test_a_file_is_read_as_what_it_is_said_to_be(tmp_path: Path, role: str) -> None:
    path = write(tmp_path, PAID_OUT if role == "statement" else BOOKS)
    found = guess(path, role)
    assert found.role == role
    assert found.quality.source.startswith(role)
    if role in {"operator", "bank"}:
        assert set(found.rows["leg"]) == {role}


@pytest.mark.parametrize(
    ("encoding", "mark", "kept"),
    [
        ("utf-8", ",", ()),
        ("utf-8", ";", ('delimiter = ";"',)),
        ("utf-8-sig", "|", ('delimiter = "|"',)),
        ("cp1252", "\t", ('delimiter = "\\t"', 'encoding = "cp1252"')),
        ("utf-16", ",", ()),
        ("utf-16-le", ",", ()),
        ("utf-16-be", ",", ()),
    ],
)
def test_encoding_and_delimiter_are_seen_and_kept_where_they_must_be(
    tmp_path: Path, encoding: str, mark: str, kept: tuple[str, ...]
) -> None:
    text = MOVED.replace(",", "").replace("\t", mark)
    path = write(tmp_path, text, encoding)
    found = guess(path)
    said = [line for line in found.toml.splitlines() if line.startswith(("delim", "encod"))]
    assert sorted(said) == sorted(kept)
    assert found.known[0] == f"encoding {encoding if encoding != 'utf-8' else 'utf-8-sig'}"
    assert found.rows["details"].tolist() == ["Malipo caf\u00e9", "Ada"]
    pd.testing.assert_frame_equal(read_again(path, found.toml, "operator"), found.rows)


@pytest.mark.parametrize("role", ["", "bank", "operator", "ledger"])
def test_a_banks_format_needs_no_mapping(tmp_path: Path, role: str) -> None:
    found = guess(write(tmp_path, MT940), role)
    leg = role if role == "operator" else "bank"
    assert (found.role, found.toml, found.uncertain) == (leg, "", ())
    assert found.known == ("MT940: needs no mapping",)
    assert found.rows["leg"].tolist() == [leg]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("net,currency,receipt\n1964,TZS,R1\n", "looks like business_day"),
        ("reference,amount\nINV-1,5000\n", "looks like booked_at"),
    ],
)
def test_what_lacks_a_column_that_is_needed_is_refused(
    tmp_path: Path, text: str, says: str
) -> None:
    with pytest.raises(InputRefused, match=says):
        guess(write(tmp_path, text))
    with pytest.raises(InputRefused, match="a file is one of ledger, operator, bank, statement"):
        guess(write(tmp_path, text), "books")
