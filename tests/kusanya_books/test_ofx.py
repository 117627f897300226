"""The bank part of OFX, in both of its generations, and files that are damaged or lie."""

from datetime import UTC, date, datetime

import pytest

from kusanya.errors import InputRefused
from kusanya_books.read.bank import ofx
from kusanya_books.read.bank.entries import BankEntry

HEADER = "OFXHEADER:100\nDATA:OFXSGML\nVERSION:102\nCHARSET:1252\n\n"
XML = '<?xml version="1.0" encoding="UTF-8"?>\n<?OFX OFXHEADER="200" VERSION="211"?>\n'
SGML_ENTRY = "<STMTTRN><TRNTYPE>CREDIT<DTPOSTED>20260305<TRNAMT>5000<FITID>F1<MEMO>{memo}</STMTTRN>"
XML_ENTRY = (
    "<STMTTRN><TRNTYPE>CREDIT</TRNTYPE><DTPOSTED>20260305</DTPOSTED><TRNAMT>5000</TRNAMT>"
    "<FITID>F1</FITID><NAME></NAME><MEMO>{memo}</MEMO></STMTTRN>"
)


def file(entries: str, *, header: str = HEADER, currency: str = "<CURDEF>TZS") -> bytes:
    body = f"<OFX><STMTTRNRS><STMTRS>{currency}<BANKTRANLIST>{entries}</BANKTRANLIST>"
    return f"{header}{body}<LEDGERBAL><BALAMT>1</LEDGERBAL></STMTRS></STMTTRNRS></OFX>\n".encode()


def entry(**said: str) -> BankEntry:
    fields = {"TRNTYPE": "CREDIT", "DTPOSTED": "20260305", "TRNAMT": "5000", "FITID": "F1", **said}
    written = "".join(f"<{tag}>{text}" for tag, text in fields.items())
    (found,) = ofx.read("x", file(f"<STMTTRN>{written}</STMTTRN>")).entries
    return found


def test_both_generations_say_the_same() -> None:
    old = ofx.read("x", file(SGML_ENTRY.format(memo="A &amp; B")))
    new = ofx.read("x", file(XML_ENTRY.format(memo="A &amp; B"), header=XML))
    assert old == new
    assert (old.entries[0].details, old.entries[0].receipt) == ("A & B", "F1")
    assert (old.entries[0].amount, old.entries[0].day) == (500_000, date(2026, 3, 5))


@pytest.mark.parametrize(
    ("said", "at"),
    [
        ("20260305103000", datetime(2026, 3, 5, 10, 30, tzinfo=UTC)),
        ("202603051030", datetime(2026, 3, 5, 10, 30, tzinfo=UTC)),
        ("20260305103000.123[+3:EAT]", datetime(2026, 3, 5, 7, 30, tzinfo=UTC)),
        ("20260305103000[3]", datetime(2026, 3, 5, 7, 30, tzinfo=UTC)),
        ("20260305103000[-5.5:X]", datetime(2026, 3, 5, 16, 0, tzinfo=UTC)),
        ("20260305103000[-0.30]", datetime(2026, 3, 5, 11, 0, tzinfo=UTC)),
        ("20260305103000[5.45:NPT]", datetime(2026, 3, 5, 4, 45, tzinfo=UTC)),
        ("20260305103000[14]", datetime(2026, 3, 4, 20, 30, tzinfo=UTC)),
    ],
)
def test_an_instant_is_read_with_its_offset(said: str, at: datetime) -> None:
    assert (entry(DTPOSTED=said).at, entry(DTPOSTED=said).day) == (at, None)


@pytest.mark.parametrize("said", ["20260305[3:EAT]", "20260305[-5]", "20260305"])
def test_a_day_without_a_time_is_that_day_whatever_the_offset(said: str) -> None:
    assert (entry(DTPOSTED=said).at, entry(DTPOSTED=said).day) == (None, date(2026, 3, 5))


@pytest.mark.parametrize(
    "said",
    [
        "20260230",
        "2026030",
        "20260305106000",
        "20260305103000[15]",
        "20260305103000[3.10]",
        "99991231",
        "99991231235959[-3]",
    ],
)
def test_a_date_that_cannot_be_read_is_refused(said: str) -> None:
    assert entry(DTPOSTED=said).column == "DTPOSTED"


def test_the_currency_of_an_entry_stands_above_that_of_its_statement() -> None:
    foreign = "<STMTTRN><DTPOSTED>20260305<TRNAMT>5<CURRENCY><CURRATE>1<CURSYM>USD</CURRENCY>{}"
    foreign = foreign.format("</STMTTRN>")
    original = foreign.replace("CURRENCY", "ORIGCURRENCY")
    found = ofx.read("x", file(foreign + original)).entries
    assert [one.currency for one in found] == ["USD", "TZS"]
    (nowhere,) = ofx.read("x", file(SGML_ENTRY, currency="")).entries
    assert (nowhere.column, nowhere.amount) == ("CURDEF", 500_000)


def test_the_name_of_the_payees_record_is_not_the_entrys() -> None:
    payee = "<STMTTRN><PAYEE><NAME>Other</PAYEE><DTPOSTED>20260305<TRNAMT>5<NAME>Mine</STMTTRN>"
    (found,) = ofx.read("x", file(payee)).entries
    assert found.details == "Mine"


@pytest.mark.parametrize("tag", ["TRNAMT", "DTPOSTED", "FITID"])
def test_an_entry_that_says_a_thing_twice_is_refused(tag: str) -> None:
    found = entry(MEMO=f"x<{tag}>20260306")
    assert (found.reason, found.column) == (f"the entry says {tag} twice", tag)


@pytest.mark.parametrize(
    "memo",
    ["<![CDATA[<STMTTRN><TRNAMT>9</STMTTRN>]]>", "<!--<STMTTRN><TRNAMT>9</STMTTRN>-->x"],
)
def test_literal_text_and_comments_make_no_entry(memo: str) -> None:
    (found,) = ofx.read("x", file(XML_ENTRY.format(memo=memo), header=XML)).entries
    assert (found.amount, found.reason) == (500_000, None)


def test_entries_are_counted_across_statements_and_each_has_its_statements_currency() -> None:
    one = f"<STMTRS><CURDEF>TZS{SGML_ENTRY}</STMTRS>"
    two = f"<CCSTMTRS><CURDEF>USD{SGML_ENTRY}{SGML_ENTRY}</CCSTMTRS>"
    found = ofx.read("x", f"{HEADER}<OFX>{one}{two}</OFX>".encode()).entries
    assert [(each.row, each.currency) for each in found] == [(1, "TZS"), (2, "USD"), (3, "USD")]


def test_a_bank_that_writes_windows_text_is_read() -> None:
    data = file(SGML_ENTRY.format(memo="Caf\u00e9")).decode().encode("cp1252")
    assert ofx.read("x", data).entries[0].details == "Caf\u00e9"


WHOLE = file(SGML_ENTRY + SGML_ENTRY).decode()


@pytest.mark.parametrize("end", range(len(HEADER), len(WHOLE) - 6, 3))
def test_a_file_that_is_cut_short_anywhere_is_refused(end: int) -> None:
    with pytest.raises(InputRefused, match="do not end in turn"):
        ofx.read("x", WHOLE[:end].encode())


@pytest.mark.parametrize(
    "body",
    [
        "<STMTRS><STMTTRN><STMTTRN></STMTTRN></STMTTRN></STMTRS>",
        "<STMTRS><STMTRS></STMTRS></STMTRS>",
        "<STMTRS><STMTTRN></STMTRS></STMTTRN>",
        "</STMTTRN>",
        "<![CDATA[",
        "<!--",
    ],
)
def test_elements_that_cross_are_refused(body: str) -> None:
    with pytest.raises(InputRefused, match="do not end in turn"):
        ofx.read("x", f"{HEADER}<OFX>{body}</OFX>".encode())


def test_an_entity_of_the_files_own_is_refused() -> None:
    with pytest.raises(InputRefused, match="a document type or an entity"):
        ofx.read("x", f'{XML}<!DOCTYPE x [<!ENTITY a "b">]><OFX></OFX>'.encode())
