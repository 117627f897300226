"""Files made to hurt are refused in one line, in bounded memory, and never end the process."""

import gzip
import io
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kusanya.errors import InputRefused
from kusanya_books.read import files, guess, movements

Make = Callable[[], bytes]
SHEET = "xl/worksheets/sheet1.xml"
HEADER = b"reference,amount,currency,booked_at\n"
LIMIT = 1_200_000_000
"""Address space of the process that reads, in bytes: the libraries alone take half of it."""
READ = """
import resource, sys
from pathlib import Path
from kusanya.errors import InputRefused
from kusanya_books.read import files, guess, movements
import openpyxl, xlrd, mt940, defusedxml.ElementTree
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
limit = used + {limit}
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for path in map(Path, sys.argv[1:]):
    try:
        read = movements.read if path.suffix != ".xlsx" else None
        read(path, leg="bank") if read else files.ledger(path)
        print("read")
    except InputRefused as refused:
        print(refused)
"""


def workbook(**parts: bytes) -> bytes:
    """Return an XLSX of one sheet; `sheet` and others replace its parts."""
    packed = io.BytesIO()
    kind = b"application/vnd.openxmlformats-officedocument.spreadsheetml"
    main = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    links = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = b"http://schemas.openxmlformats.org/package/2006"
    whole = {
        "[Content_Types].xml": b'<Types xmlns="' + package + b'/content-types">'
        b'<Override PartName="/xl/workbook.xml" ContentType="' + kind + b'.sheet.main+xml"/>'
        b'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="'
        + kind
        + b'.worksheet+xml"/></Types>',
        "_rels/.rels": b'<Relationships xmlns="' + package + b'/relationships"><Relationship '
        b'Id="r1" Type="' + links + b'/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": b"<workbook " + main + b' xmlns:r="' + links + b'"><sheets>'
        b'<sheet name="One" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": b'<Relationships xmlns="'
        + package
        + b'/relationships"><Relationship Id="r1" Type="'
        + links
        + b'/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        SHEET: b"<worksheet " + main + b"><sheetData>%s</sheetData></worksheet>",
    }
    whole[SHEET] = whole[SHEET].replace(b"%s", parts.pop("sheet", b""))
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as book:
        for name, content in {**whole, **parts}.items():
            book.writestr(name, content)
    return packed.getvalue()


def cell(place: str, text: bytes = b"x") -> bytes:
    return b'<c r="%s" t="inlineStr"><is><t>%s</t></is></c>' % (place.encode(), text)


def far_cell() -> bytes:
    rows = b'<row r="1">' + cell("A1") + b"</row>"
    return workbook(sheet=rows + b'<row r="1048576">' + cell("XFD1048576") + b"</row>")


def far_beyond() -> bytes:
    return workbook(sheet=b'<row r="99999999999">' + cell("A99999999999") + b"</row>")


def long_cell() -> bytes:
    return workbook(sheet=b'<row r="1">' + cell("A1", b"x" * 10_000_000) + b"</row>")


def bomb() -> bytes:
    return workbook(**{"xl/media/bomb.bin": bytes(60_000_000)})


def many_parts() -> bytes:
    return workbook(**{f"xl/part{number}.xml": b"" for number in range(3_000)})


def lying_size() -> bytes:
    """Return a workbook whose sheet unpacks to more than its directory says."""
    rows = b"".join(b'<row r="%d">%s</row>' % (n, cell(f"A{n}")) for n in range(1, 4_000))
    data = workbook(sheet=rows)
    at = data.rfind(b"PK\x01\x02", 0, data.rfind(SHEET.encode()))
    size = struct.unpack_from("<I", data, at + 24)[0]
    return data[: at + 24] + struct.pack("<I", size // 100) + data[at + 28 :]


def entity_sheet() -> bytes:
    bomb_ = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    return workbook(**{"xl/workbook.xml": bomb_ + b"<workbook>&b;</workbook>"})


WORKBOOKS: dict[str, tuple[Make, str]] = {
    "one cell in the last corner": (far_cell, "has no column"),
    "a row beyond every sheet": (far_beyond, "more cells than we read"),
    "a cell of ten megabytes": (long_cell, "a cell of over 1,000,000 characters"),
    "a part that unpacks to a lot": (bomb, "a part of more than 50,000,000 bytes"),
    "many small parts": (many_parts, "3,005 parts"),
    "a declared size that lies": (lying_size, "is not an XLSX file"),
    "an entity in a workbook": (entity_sheet, "is not an XLSX file"),
}
CAMT = b"<Document xmlns='urn:iso:std:iso:20022:tech:xsd:camt.053.001.02'><BkToCstmrStmt>%s"
OFX = b"OFXHEADER:100\nDATA:OFXSGML\nVERSION:102\nSECURITY:NONE\nENCODING:USASCII\nCHARSET:1252\n"
OFX += b"COMPRESSION:NONE\nOLDFILEUID:NONE\nNEWFILEUID:NONE\n\n"
STATEMENTS: dict[str, tuple[Make, str]] = {
    "entities that grow": (
        lambda: b'<!DOCTYPE x [<!ENTITY a "a"><!ENTITY b "&a;&a;">]>' + CAMT % b"&b;",
        "a document type or an entity",
    ),
    "an external entity": (
        lambda: b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>' + CAMT % b"&a;",
        "a document type or an entity",
    ),
    "an external document type": (
        lambda: b'<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">' + CAMT % b"",
        "a document type or an entity",
    ),
    "elements in elements": (lambda: CAMT % (b"<a>" * 100_000), "lie too deep"),
    "a text of ten megabytes": (
        lambda: CAMT % (b"<Stmt><Ntry><Amt>" + b"1" * 10_000_000 + b"</Amt></Ntry></Stmt>"),
        "a text of over 1,000,000 characters",
    ),
    "one entry of a million elements": (
        lambda: CAMT % (b"<Stmt><Ntry>" + b"<a/>" * 1_000_000),
        "an entry of over 500,000 elements",
    ),
    "a statement cut short": (lambda: CAMT % b"<Stmt>", "is not XML that can be read"),
    "OFX in OFX": (lambda: OFX + b"<OFX>" * 200_000, "do not end in turn"),
    "OFX in OFX with texts between": (lambda: OFX + b"<A><B>1" * 100_000, "do not end in turn"),
    "OFX without an element": (lambda: OFX + b"none", "is not OFX that can be read"),
    "a CSV cell of ten megabytes": (
        lambda: b"at,amount,currency\n" + b'"' + b"x" * 10_000_000 + b'",1,TZS\n',
        "is not CSV: field larger than field limit",
    ),
    "a quote that never ends": (
        lambda: b'at,amount,currency\n"' + b"2026-03-05,1,TZS\n" * 10,
        "is not CSV: unexpected end of data",
    ),
    "a web page called a spreadsheet": (lambda: b"<html><table>", "is a web page and no table"),
    "a PDF called a spreadsheet": (
        lambda: b"%PDF-1.7\n%...",
        "is a PDF and no table; save it, or ask",
    ),
    "a text document": (lambda: b"{\\rtf1 Date", "is a text document and no table"),
    "an object of JSON": (lambda: b' {"data": []}', "is JSON and no table"),
    "a list of JSON": (lambda: b"[1]", "is JSON and no table"),
    "zeros": (lambda: bytes(1_000), "has no column"),
}


def _packed(*parts: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        for part in parts:
            packed.writestr(part, "<x/>")
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.docx", _packed("[Content_Types].xml", "word/document.xml"), "is a text document"),
        ("a.pptx", _packed("[Content_Types].xml", "ppt/presentation.xml"), "is a slide show"),
        ("a.ods", _packed("mimetype", "content.xml"), "is an OpenDocument file; save it as XLSX"),
        ("a.numbers", _packed("Index/Document.iwa"), "is a file of Numbers; save it as XLSX"),
        ("a.zip", _packed("books.csv"), "is an archive; take the file that is wanted out of it"),
        ("a.xlsx", _packed(), "is not an XLSX file"),
        ("b.xlsx", _packed("xl/nothing.xml"), "is not an XLSX file"),
        ("c.xlsx", b"PK\x03\x04 and no more", "is not an XLSX file"),
        (
            "d.xlsx",
            bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600) + "EncryptedPackage".encode("utf-16-le"),
            "is protected by a password; save it as XLSX or CSV",
        ),
        ("a.csv.gz", gzip.compress(b"a,b"), "is a packed file and no table"),
        ("a.jpg", b"\xff\xd8\xff\xe0JFIF", "is a picture and no table"),
        ("a.png", b"\x89PNG\r\n", "is a picture and no table"),
        ("a.eml", b"Received: from x", "is an e-mail and no table"),
        ("a.xls", b"\xef\xbb\xbf<HTML><table>", "is a web page and no table"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_of_another_program_is_called_what_it_is(
    tmp_path: Path, name: str, data: bytes, says: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    for read in (guess.guess, files.ledger):
        with pytest.raises(InputRefused) as refused:
            read(path)
        assert str(refused.value).startswith(f"{name} {says}")


@pytest.mark.merge
def test_every_hostile_file_is_refused_in_one_line_and_in_bounded_memory(tmp_path: Path) -> None:
    paths, says = [], []
    for place, (make, why) in enumerate([*WORKBOOKS.values(), *STATEMENTS.values()]):
        ending = "xlsx" if place < len(WORKBOOKS) else "txt"
        path = tmp_path / f"file{place}.{ending}"
        path.write_bytes(make())
        paths.append(str(path))
        says.append((path.name, why))
    program = READ.format(limit=LIMIT)
    ended = subprocess.run(
        [sys.executable, "-c", program, *paths], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    answers = ended.stdout.splitlines()
    assert len(answers) == len(says)
    for answer, (name, why) in zip(answers, says, strict=True):
        assert answer.startswith(name), answer
        assert why in answer


def test_an_old_workbook_that_only_pretends_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.xls"
    path.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(2_000))
    with pytest.raises(InputRefused, match=r"old\.xls is not an XLS file"):
        files.ledger(path)


def test_what_a_statement_says_reaches_nobody_unescaped(tmp_path: Path) -> None:
    path = tmp_path / "b.sta"
    path.write_text(
        ":20:X\n:25:Y\n:60F:C260301TZS0,\n:61:2603050305C5,NTRFNONREF\n:86:=1+1 \x1b[31m red\n",
        encoding="utf-8",
    )
    frame, _ = movements.read(path, leg="bank")
    assert frame["details"].tolist() == ["=1+1 ␛[31m red"]
