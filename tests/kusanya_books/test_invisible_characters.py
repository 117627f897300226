"""What nobody sees in a cell changes nothing: a text copied from elsewhere is as one typed."""

import io
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pytest

from kusanya.errors import InputRefused
from kusanya_books.read import files, movements
from kusanya_books.read.mapping import Layout
from kusanya_books.read.tables.numbers import currency_of
from kusanya_books.request.quality import Quality

xlsxwriter: Any = import_module("xlsxwriter")
Read = Callable[[Path], tuple[pd.DataFrame, Quality]]
NONE: Final = ("\u200b", "\ufeff", "\u200e", "\u2060", "\u00ad", "\u3164", "\ufe0f")
BLANKS: Final = ("\u00a0", "\u202f", "\u3000")
READERS: Final[dict[str, tuple[Read, list[list[str]]]]] = {
    "books": (
        files.ledger,
        [
            ["reference", "amount", "currency", "channel", "status", "kind", "booked_at"],
            ["INV 001", "5,000", "TZS", "MPESA_TZ", "paid", "payment", "2026-03-05"],
        ],
    ),
    "settlement": (
        files.statement,
        [
            ["batch_id", "collection_id", "channel", "currency", "gross", "fee", "net"],
            ["B 1", "col_1", "MPESA_TZ", "TZS", "1 000", "18", "982"],
        ],
    ),
    "operator": (
        lambda path: movements.read(path, leg="operator"),
        [
            ["receipt", "reference", "amount", "currency", "channel", "status", "details", "at"],
            ["RC1", "INV 1", "1,000", "TZS", "MPESA_TZ", "completed", "for shoes", "2026-03-05"],
        ],
    ),
    "bank": (
        lambda path: movements.read(path, leg="bank"),
        [
            ["at", "money_in", "money_out", "balance", "reference", "currency", "details"],
            ["2026-03-05", "1 000", "0", "5,000", "INV 1", "TZS", "from the operator"],
        ],
    ),
}


def _csv(rows: list[list[str]]) -> bytes:
    return "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in rows).encode()


def _xlsx(rows: list[list[str]]) -> bytes:
    packed = io.BytesIO()
    made = xlsxwriter.Workbook(packed, {"in_memory": True})
    sheet = made.add_worksheet()
    for place, row in enumerate(rows):
        for at, cell in enumerate(row):
            sheet.write_string(place, at, cell)
    made.close()
    return packed.getvalue()


def _within(cell: str, mark: str) -> str:
    """Return a cell with a mark at its begin, in its midst and at its end."""
    return f"{mark}{cell[:1]}{mark}{cell[1:]}{mark}"


def _around(cell: str, mark: str) -> str:
    return f"{mark}{cell.replace(' ', mark)}{mark}"


@pytest.mark.merge
@pytest.mark.parametrize("made", [_csv, _xlsx])
@pytest.mark.parametrize("name", READERS)
def test_every_column_reads_the_same_with_and_without_what_nobody_sees(
    tmp_path: Path, name: str, made: Callable[[list[list[str]]], bytes]
) -> None:
    read, rows = READERS[name]
    file = tmp_path / "file"
    file = file.with_suffix(".csv" if made is _csv else ".xlsx")

    def frame(cells: list[list[str]]) -> tuple[list[Any], int]:
        file.write_bytes(made(cells))
        found, quality = read(file)
        return found.astype("object").where(found.notna(), None).to_dict("records"), quality.kept

    plain = frame(rows)
    assert plain[1] == 1
    changes = [(_within, mark) for mark in NONE] + [(_around, mark) for mark in BLANKS]
    wrong = []
    for place in (0, 1):
        for change, mark in changes:
            cells = [list(row) for row in rows]
            cells[place] = [change(cell, mark) for cell in cells[place]]
            try:
                same = frame(cells) == plain
            except InputRefused:
                same = False
            if not same:
                wrong.append((place, mark))
    assert not wrong


def _camt(mark: str) -> str:
    return (
        '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>'
        f'<Ntry><Amt Ccy="T{mark}ZS">10{mark}00</Amt><CdtDbtInd>CR{mark}DT</CdtDbtInd>'
        f"<Sts>BO{mark}OK</Sts><BookgDt><Dt>2026-{mark}03-05</Dt></BookgDt>"
        f"<AcctSvcrRef>R{mark}C1</AcctSvcrRef><NtryDtls><TxDtls><Refs><EndToEndId>I{mark}NV 1"
        f"</EndToEndId></Refs><RmtInf><Ustrd>a{mark}b</Ustrd></RmtInf></TxDtls></NtryDtls>"
        "</Ntry></Stmt></BkToCstmrStmt></Document>"
    )


def _ofx(mark: str) -> str:
    return (
        f"OFXHEADER:100\n\n<OFX><STMTRS><CURDEF>T{mark}ZS<STMTTRN><TRNTYPE>CREDIT"
        f"<DTPOSTED>2026{mark}0305"
        f"<TRNAMT>10{mark}00<FITID>R{mark}C1<REFNUM>I{mark}NV 1<NAME>a{mark}b"
        "</STMTTRN></STMTRS></OFX>"
    )


def _mt940(mark: str) -> str:
    return (
        f":20:A\n:25:1\n:28C:1\n:60F:C2603{mark}01TZS0,\n"
        f":61:2603050305C10{mark}00,NTRFI{mark}NV1//R{mark}C1\n"
        f":86:a{mark}b\n:62F:C260331TZS1{mark}000,\n"
    )


@pytest.mark.parametrize("write", [_camt, _ofx, _mt940])
@pytest.mark.parametrize("mark", NONE)
def test_every_format_of_banks_reads_the_same_with_and_without(
    tmp_path: Path, write: Callable[[str], str], mark: str
) -> None:
    found = []
    for text in (write(""), write(mark)):
        (tmp_path / "bank").write_text(text, encoding="utf-8")
        frame, quality = movements.read(tmp_path / "bank", leg="bank")
        assert (quality.kept, quality.rejected) == (1, ())
        found.append(frame)
    pd.testing.assert_frame_equal(found[0], found[1])


@pytest.mark.parametrize(
    ("word", "code"),
    [
        *((word, "TZS") for word in ("TZS", "tzs", "Tsh", "TSh", "TSHS", "Tsh.", "Tshs/=", "/=")),
        *(("KSh", "KES"), ("usd", "USD"), ("Sh", "Sh"), ("BTC", "BTC"), ("x/=", "x/=")),
    ],
)
def test_a_currency_is_known_by_the_names_that_people_write(
    tmp_path: Path, word: str, code: str
) -> None:
    assert currency_of(word) == code
    file = tmp_path / "books.csv"
    file.write_text(
        f"reference,amount,currency,channel,booked_at\nA,1000,{word}, m-Pesa ,2026-03-05\n"
    )
    frame, _ = files.ledger(file)
    assert frame[["currency", "channel"]].to_numpy().tolist() == [[code, "MPESA_TZ"]]
    fixed = Layout(
        columns={
            **{name: name for name in ("reference", "amount", "booked_at")},
            "currency": f"={word}",
        }
    )
    assert files.ledger(file, fixed)[0]["currency"].tolist() == [code]
