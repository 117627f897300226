"""Statements as operators, banks and accounting programs export them, read line by line."""

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kusanya.errors import InputRefused
from kusanya_books import columns
from kusanya_books.columns import MOVEMENTS
from kusanya_books.read import files, mapped_files, movements
from kusanya_books.read.bank.entries import BankEntry, Entries
from kusanya_books.read.mappings import SHIPPED, shipped
from kusanya_books.request.close_request import CloseRequest

Write = Callable[[str, str], Path]
MPESA = """Short Code:,100200
Organisation:,Duka la Mfano
Time Period:,"From 2026-03-01 to 2026-03-31"
,
Receipt No.,Completion Time,Initiation Time,Details,Transaction Status,Paid In,Withdrawn,Balance,\
Balance Confirmed,Reason Type,Other Party Info,Linked Transaction ID,A/C No.
RCP4,08-03-2026 11:00:00,,Pay Bill Reversal,Completed,,"-2,500.00","2,482.00",true,Reversal,,RCP3,
RCP3,07-03-2026 23:30:00,,Pay Bill from 255754000003 Acc. INV-3,Completed,"2,500.00",,"4,982.00",\
true,Pay Utility,,,
RCP2,06-03-2026 10:15:00,,Organization Settlement to bank,Completed,,"100,000.00","2,482.00",true,\
Settlement,,,
RCP5,06-03-2026 10:10:00,,Pay Bill from 255754000002 Acc. INV-2,Declined,"1,000.00",,"102,482.00",\
true,Pay Utility,,,INV-2
RCP1,05-03-2026 10:15:00,,Pay Bill Charge,Completed,,-18.00,"102,482.00",true,Charge,,,
RCP1,05-03-2026 10:15:00,,Pay Bill from 255754000001,Completed,"5,000.00",,"102,500.00",true,\
Pay Utility,255754000001 - X,,INV-1
Total,,,,,"8,500.00","102,518.00",,,,,,
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return written


def lines(frame: pd.DataFrame, *names: str) -> list[tuple[Any, ...]]:
    plain = frame[list(names)].astype("object")
    return list(plain.where(plain.notna(), None).itertuples(index=False, name=None))


def test_an_mpesa_statement_is_read_as_it_was_exported(write: Write) -> None:
    layout = shipped("mpesa").operator
    frame, quality = movements.read(write("m.csv", MPESA), layout, leg="operator")
    columns.check(frame, MOVEMENTS)
    assert lines(frame, "receipt", "reference", "kind", "status", "amount", "balance") == [
        ("RCP4", None, "reversal", "completed", -2_500, 2_482),
        ("RCP3", "INV-3", "payment", "completed", 2_500, 4_982),
        ("RCP2", None, "payout", "completed", -100_000, 2_482),
        ("RCP5", "INV-2", "payment", "Declined", 1_000, 102_482),
        ("RCP1", None, "fee", "completed", -18, 102_482),
        ("RCP1", "INV-1", "payment", "completed", 5_000, 102_500),
    ]
    assert frame["line_no"].tolist() == [6, 7, 8, 9, 10, 11]
    assert frame["business_day"][1] == pd.Timestamp("2026-03-07")
    assert set(frame["channel"]) == {"MPESA_TZ"}
    assert "25575400" not in " ".join(frame["details"])
    assert [(each.row, each.reason) for each in quality.remarks] == [(12, "a total")]
    late, _ = movements.read(
        write("m.csv", MPESA), layout, leg="operator", cutoff=timedelta(hours=-1)
    )
    assert late["business_day"][1] == pd.Timestamp("2026-03-08")


WALLET = (
    "Trans ID;Transaction Date;Service Type;Reference;Debit;Credit;Charge;Balance;Status\n"
    "T1;13/03/2026 10:15:00;Merchant Payment;INV-1;;5.000,00;18;105.000,00;Success\n"
    "T2;05/03/2026 10:20:00;Transfer to Bank;;100.000,00;;0;5.000,00;Success\n"
    "T3;05/03/2026 10:21:00;Merchant Payment;INV-2;;1.000,00;5;5.000,00;Failed\n"
)


@pytest.mark.parametrize(
    ("name", "channel"), [("mixx", "TIGO_TZ"), ("airtel", "AIRTEL_TZ"), ("halopesa", "HALOPESA_TZ")]
)
def test_a_wallets_statement_is_read_by_its_shipped_mapping(
    write: Write, name: str, channel: str
) -> None:
    frame, _ = movements.read(write("w.csv", WALLET), shipped(name).operator, leg="operator")
    assert lines(frame, "channel", "receipt", "reference", "kind", "status", "amount", "fee") == [
        (channel, "T1", "INV-1", "payment", "completed", 5_000, 18),
        (channel, "T2", None, "payout", "completed", -100_000, 0),
        (channel, "T3", "INV-2", "payment", "Failed", 1_000, 5),
    ]
    assert frame["business_day"].tolist()[1] == pd.Timestamp("2026-03-05")


def test_selcom_names_the_network_of_each_line(write: Write) -> None:
    path = write(
        "s.csv",
        "Trans ID,Date,Type,Order ID,Channel,Amount,Fee,Status\n"
        "S1,2026-03-05 10:15,Payment,INV-1,M-PESA,5000,18,Completed\n"
        "S2,2026-03-05 10:16,Payment,INV-2,Airtel Money,700,5,Completed\n",
    )
    frame, _ = movements.read(path, shipped("selcom").operator, leg="operator")
    assert lines(frame, "channel", "reference", "amount", "fee") == [
        ("MPESA_TZ", "INV-1", 5_000, 18),
        ("AIRTEL_TZ", "INV-2", 700, 5),
    ]


KIND_WORDS = {
    "chargeback": ("Chargeback", "Charge back of a customer", "CHARGEBACK FEE"),
    "fee": ("Charge", "Transaction fee", "Charge reversal", "Reversal of the fee", "Commission"),
    "tax": ("VAT", "Excise duty", "Government levy", "Reversal of excise"),
    "reversal": ("Reversal", "Merchant payment reversal", "Reverse transaction"),
    "refund": ("Refund", "B2C disbursement"),
    "payout": ("Withdrawal", "Settlement", "Transfer to bank"),
    "payment": ("Merchant payment", "C2B", "Lipa"),
}
OPERATORS = sorted(name for name in SHIPPED if shipped(name).operator.kinds)


@pytest.mark.parametrize("column", ["kind", "details"])
@pytest.mark.parametrize("name", OPERATORS)
def test_every_operators_mapping_takes_the_usual_words_for_what_they_mean(
    write: Write, name: str, column: str
) -> None:
    layout = shipped(name).operator
    texts = {text: kind for kind, words in KIND_WORDS.items() for text in words}
    names = {
        ours: said if isinstance(said, str) else said[0] for ours, said in layout.columns.items()
    }
    plain = {"at": "2026-03-05 10:00:00", "amount": "5", "money_in": "5", "channel": "Airtel"}
    rows = [",".join({**plain, column: text}.get(ours, "") for ours in names) for text in texts]
    path = write("s.csv", "\n".join([",".join(names.values()), *rows, ""]))
    frame, _ = movements.read(path, layout, leg="operator")
    assert dict(zip(texts, frame["kind"], strict=True)) == texts


BY_HAND = {
    "quickbooks": "Date,Transaction Type,Num,Name,Memo/Description,Amount\n",
    "xero": "Date,Source,Description,Reference,Debit,Credit\n",
    "odoo": "Date,Journal Entry,Reference,Label,Debit,Credit\n",
}


def line_of(name: str, word: str, reference: str, amount: int) -> str:
    sides = f"{max(amount, 0)},{max(-amount, 0)}"
    if name == "quickbooks":
        return f"13/03/2026,{word},{reference},,,{amount}\n"
    label = f"{word},,{reference}" if name == "xero" else f"MISC/1,{reference},{word}"
    return f"2026-03-13,{label},{sides}\n"


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize("name", sorted(BY_HAND))
def test_an_entry_by_hand_puts_a_booking_right_whatever_stands_beside_it(
    write: Write, name: str, *, beside: bool
) -> None:
    word = {"quickbooks": "Journal Entry", "xero": "Manual Journal", "odoo": "Correction"}[name]
    paid = {"quickbooks": "Payment", "xero": "Receivable Payment", "odoo": "Payment"}[name]
    given = [line_of(name, word, "INV-1", -45_000)]
    if beside:
        given += [line_of(name, word, "INV-2", 1_485), line_of(name, paid, "INV-3", 5_000)]
    path = write("b.csv", BY_HAND[name] + "".join(given))
    frame, quality = files.ledger(path, shipped(name).ledger)
    assert quality.rejected == ()
    assert (
        lines(frame, "reference", "kind", "amount")
        == [
            ("INV-1", "reversal", -45_000),
            ("INV-2", "payment", 1_485),
            ("INV-3", "payment", 5_000),
        ][: len(given)]
    )


def test_where_payments_are_below_zero_what_corrects_one_is_above(write: Write) -> None:
    given = [("Payment", "INV-1", -5_000), ("Journal Entry", "INV-1", 5_000)]
    rows = "".join(line_of("quickbooks", *one) for one in given)
    path = write("b.csv", BY_HAND["quickbooks"] + rows)
    frame, _ = files.ledger(path, shipped("quickbooks").ledger)
    assert lines(frame, "kind", "amount") == [("payment", 5_000), ("reversal", -5_000)]


BOOKS = {
    "quickbooks": "Transaction List by Date\nDuka la Mfano\nMarch 2026\n\n"
    "Date,Transaction Type,Num,Name,Memo/Description,Amount\n"
    '13/03/2026,Invoice,INV-1,,,"5,000.00"\n13/03/2026,Payment,INV-1,,,"5,000.00"\n'
    '14/03/2026,Refund,INV-2,,,"700.00"\n15/03/2026,Credit Memo,INV-3,,,"-300.00"\n'
    'TOTAL,,,,,"10,400.00"\n\n"Sunday, 01 Nov 2026 10:15 AM GMT+03:00 - Accrual Basis"\n',
    "xero": "Account Transactions\nDuka la Mfano\nFor 1 March 2026 to 31 March 2026\n\n"
    "Date,Source,Description,Reference,Debit,Credit,Running Balance\n"
    "Opening Balance,,,,,,0.00\n"
    "13 Mar 2026,Receivable Payment,Payment,INV-1,5000.00,0.00,5000.00\n"
    "14 Mar 2026,Refund,Refund,INV-2,0.00,700.00,4300.00\n"
    "15 Mar 2026,Credit Note,Credit,INV-3,0.00,300.00,4000.00\n"
    "Total,,,,5000.00,1000.00,4000.00\nClosing Balance,,,,,,4000.00\n",
    "odoo": "Date,Journal Entry,Reference,Label,Debit,Credit\n"
    "2026-03-13,BNK/1,INV-1,Payment,5000.0,0.0\n2026-03-14,BNK/2,INV-2,Refund,0.0,700.0\n"
    "2026-03-15,BNK/3,INV-3,Credit,0.0,300.0\n",
}


@pytest.mark.parametrize("name", sorted(BOOKS))
def test_books_of_an_accounting_program_are_read_with_their_kinds(write: Write, name: str) -> None:
    frame, quality = files.ledger(write("b.csv", BOOKS[name]), shipped(name).ledger)
    assert quality.rejected == ()
    known = name != "odoo"
    assert lines(frame, "reference", "kind", "amount") == [
        ("INV-1", "payment", 5_000),
        ("INV-2", "refund" if known else "reversal", -700),
        ("INV-3", "credit_note" if known else "reversal", -300),
    ]
    assert frame["booked_day"].tolist()[0] == pd.Timestamp("2026-03-13")


MT940 = """{1:F01AAAATZTZAXXX0000000000}{4:
:20:STMT001
:25:TZ/0150
:60F:C260301TZS1000000,00
:61:2603050305C5000,00NTRFNONREF//BATCH-77
:86:From the operator BATCH-77
for 255754000001
:61:2603060306D1500,NCHGNONREF
:86:Monthly charge
:62F:C260331TZS1003500,00
-}
"""
CAMT = """<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>
<Acct><Ccy>TZS</Ccy></Acct>
<Bal><Tp><CdOrPrtry><Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy="TZS">1000000</Amt>
<CdtDbtInd>CRDT</CdtDbtInd></Bal>
<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="TZS">1003500.00</Amt>
<CdtDbtInd>CRDT</CdtDbtInd></Bal>
<Ntry><Amt Ccy="TZS">5000.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
<BookgDt><Dt>2026-03-05</Dt></BookgDt><AcctSvcrRef>BATCH-77</AcctSvcrRef>
<NtryDtls><TxDtls><RmtInf><Ustrd>From the operator BATCH-77 for 255754000001</Ustrd>
</RmtInf></TxDtls></NtryDtls></Ntry>
<Ntry><Amt Ccy="TZS">1500.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>BOOK</Sts>
<BookgDt><Dt>2026-03-06</Dt></BookgDt>
<BkTxCd><Domn><Fmly><SubFmlyCd>CHRG</SubFmlyCd></Fmly></Domn></BkTxCd>
<AddtlNtryInf>Monthly charge</AddtlNtryInf></Ntry>
</Stmt></BkToCstmrStmt></Document>
"""
OFX = """OFXHEADER:100
DATA:OFXSGML
VERSION:102
SECURITY:NONE
ENCODING:USASCII
CHARSET:1252
COMPRESSION:NONE
OLDFILEUID:NONE
NEWFILEUID:NONE

<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>TZS<BANKTRANLIST>
<STMTTRN><TRNTYPE>CREDIT<DTPOSTED>20260305<TRNAMT>5000.00<FITID>BATCH-77
<NAME>From the operator<MEMO>BATCH-77 for 255754000001</STMTTRN>
<STMTTRN><TRNTYPE>FEE<DTPOSTED>20260306<TRNAMT>-1500<FITID>F2<NAME>Monthly charge</STMTTRN>
</BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>
"""


FORMATS = {"mt940": MT940, "camt": CAMT, "ofx": OFX}


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_banks_own_formats_need_no_mapping(write: Write, name: str) -> None:
    frame, quality = movements.read(write(f"b.{name}", FORMATS[name]), leg="bank")
    columns.check(frame, MOVEMENTS)
    assert lines(frame, "leg", "currency", "kind", "status", "amount") == [
        ("bank", "TZS", "other", "completed", 5_000),
        ("bank", "TZS", "charge", "completed", -1_500),
    ]
    assert frame["receipt"][0] == "BATCH-77"
    assert frame["business_day"].tolist() == [
        pd.Timestamp("2026-03-05"),
        pd.Timestamp("2026-03-06"),
    ]
    assert frame["details"][0] == "From the operator BATCH-77 for +255•••••001"
    balances = [None, None] if name == "ofx" else [1_005_000, 1_003_500]
    assert lines(frame, "balance") == [(each,) for each in balances]
    assert (quality.rows, quality.remarks) == (2, ())


@pytest.mark.parametrize(
    ("name", "wrong", "right", "column"),
    [
        ("mt940", "D1500,NCHG", "D1500,505NCHG", ":61:"),
        ("camt", ">1500.00<", ">1500.505<", "Amt"),
        ("camt", "2026-03-06", "2026-02-30", "BookgDt"),
        ("ofx", "-1500", "1.500,00", "TRNAMT"),
        ("ofx", "20260306", "2026030", "DTPOSTED"),
    ],
)
def test_one_entry_that_cannot_be_read_leaves_the_others(
    write: Write, name: str, wrong: str, right: str, column: str
) -> None:
    path = write(name, FORMATS[name].replace(wrong, right))
    frame, quality = movements.read(path, leg="bank")
    assert frame["amount"].tolist() == [5_000]
    (rejected,) = quality.rejected
    assert (rejected.column, rejected.currency) == (column, "TZS")
    # A balance after each entry is only said where the entries lead to the closing one.
    assert frame["balance"].isna().all()


def test_several_statements_are_read_at_once_and_none_twice(write: Write) -> None:
    bank = [str(write("b.sta", MT940))]
    first, second = write("m.csv", MPESA), write("w.csv", WALLET)
    both = CloseRequest(operator=[f"mpesa:{first}", f"airtel:{second}"], bank=bank)
    found = mapped_files.read(both)
    by_input = found["movements"].groupby("input").size()
    assert by_input.to_dict() == {"m.csv": 6, "w.csv": 3, "b.sta": 2}
    columns.check(found["movements"], MOVEMENTS)
    assert [load.source for load in found["quality"]] == [
        "operator m.csv",
        "operator w.csv",
        "bank b.sta",
    ]
    copied = write("copy.csv", MPESA)
    twice = CloseRequest(operator=[f"mpesa:{first}", f"mpesa:{copied}"], bank=bank)
    with pytest.raises(InputRefused, match="given twice"):
        mapped_files.read(twice)


def test_a_file_is_named_with_its_mapping_or_without(write: Write) -> None:
    assert mapped_files.split("mpesa:a.csv") == ("mpesa", "a.csv")
    assert mapped_files.split("maps/own.toml:a.csv") == ("maps/own.toml", "a.csv")
    assert mapped_files.split("a.csv") == ("", "a.csv")
    assert mapped_files.split("C:\\books\\a.csv") == ("", "C:\\books\\a.csv")
    odd = write("a:b.csv", "x")
    assert mapped_files.split(str(odd)) == ("", str(odd))
    with pytest.raises(InputRefused, match="no mapping mpessa; there are mpesa, "):
        mapped_files.split("mpessa:a.csv")


def test_every_shipped_mapping_says_what_is_known_and_what_is_assumed() -> None:
    for name in SHIPPED:
        about = shipped(name).about
        assert about is not None, name
        assert about.known, name
        assert about.assumed, name


@pytest.mark.parametrize("said", ["", "<CdtDbtInd></CdtDbtInd>", "<CdtDbtInd>CREDIT</CdtDbtInd>"])
def test_an_entry_that_does_not_say_which_way_its_money_went_is_refused(
    write: Write, said: str
) -> None:
    begin, entry, rest = CAMT.partition("<Ntry>")
    assert "<CdtDbtInd>CRDT</CdtDbtInd>" in rest
    changed = begin + entry + rest.replace("<CdtDbtInd>CRDT</CdtDbtInd>", said, 1)
    frame, quality = movements.read(write("camt", changed), leg="bank")
    assert frame["amount"].tolist() == [-1_500]
    (rejected,) = quality.rejected
    assert (rejected.column, rejected.amount) == ("CdtDbtInd", None)


@pytest.mark.parametrize("said", ["PDNG", "INFO", "FUTR"])
@pytest.mark.parametrize("form", ["<Sts>{}</Sts>", "<Sts><Cd>{}</Cd></Sts>"])
def test_an_entry_that_is_not_booked_yet_moved_no_money(write: Write, said: str, form: str) -> None:
    waiting = CAMT.replace("<Sts>BOOK</Sts>", form.format(said))
    frame, quality = movements.read(write("camt", waiting), leg="bank")
    assert lines(frame, "status", "amount") == [("completed", 5_000), (said, -1_500)]
    # The closing balance has what was booked alone.
    assert quality.remarks
    right = waiting.replace(">1003500.00<", ">1005000.00<")
    frame, quality = movements.read(write("camt", right), leg="bank")
    assert quality.remarks == ()
    assert quality.total is not None
    assert (quality.total.stated, quality.total.read) == (5_000, 5_000)
    unsaid = CAMT.replace("<Sts>BOOK</Sts>", "")
    frame, _ = movements.read(write("camt", unsaid), leg="bank")
    assert lines(frame, "status") == [("completed",), ("completed",)]


def test_a_statement_without_a_closing_balance_proves_nothing_and_says_so(write: Write) -> None:
    closing = next(line for line in MT940.splitlines() if line.startswith(":62F:"))
    frame, quality = movements.read(write("x", MT940.replace(closing, "")), leg="bank")
    assert frame["amount"].tolist() == [5_000, -1_500]
    assert frame["balance"].isna().all()
    assert quality.total is None
    assert ["no closing balance" in one.reason for one in quality.remarks] == [True]
    assert "no closing balance" in quality.unproven
    assert movements.read(write("x", MT940), leg="bank")[1].unproven == ""


@pytest.mark.parametrize(
    ("moved", "stated"), [((), None), ((None,), None), ((3, None), None), ((300, 400), 7)]
)
def test_balances_are_a_files_total_where_each_of_its_statements_says_them(
    moved: tuple[int | None, ...], stated: int | None
) -> None:
    entry = BankEntry(row=1, day=date(2026, 3, 5), currency="TZS", amount=700)
    found = Entries(entries=(entry,), moved=moved)
    _, quality = found.finish("bank.sta", "0" * 64, leg="bank", cutoff=timedelta())
    assert (None if quality.total is None else quality.total.stated) == stated


def test_a_statement_that_only_begins_proves_nothing_also_before_another_one(write: Write) -> None:
    begun = "".join(line + "\n" for line in MT940.splitlines() if not line.startswith(":6"))
    opening = next(line for line in MT940.splitlines() if line.startswith(":60F:"))
    cut = f"{begun}{opening}\n"
    for text in (cut, f"{cut}-\n{MT940}"):
        assert "no closing balance" in movements.read(write("x", text), leg="bank")[1].unproven
