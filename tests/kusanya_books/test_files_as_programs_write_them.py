"""Statements and books as banks and programs export them: sides, balances, sums, units, dashes."""

from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya.errors import InputRefused
from kusanya_books.read import files, movements
from kusanya_books.read.guess import guess
from kusanya_books.read.mapping import Layout
from kusanya_books.read.tables import headers, numbers
from kusanya_books.request.quality import Quality

SIGNED = [498_000, -2_500, -450]
WITH_BALANCES = (
    "NMB BANK,,,,\nAccount Number:,20110012345,,,\nPeriod:,01-Mar-2026 to 31-Mar-2026,,,\n,,,,\n"
    "Posting Date,Description,Debit,Credit,Book Balance (TZS)\n"
    '01-Mar-2026,OPENING BALANCE,,,"1,250,000.00"\n'
    '02-Mar-2026,SETTLEMENT,,"498,000.00","1,748,000.00"\n'
    '02-Mar-2026,LEDGER FEE,"2,500.00",,"1,745,500.00"\n'
    '03-Mar-2026,VAT,450.00,,"1,745,050.00"\n'
    ',CLOSING BALANCE,,,"1,745,050.00"\n,TOTAL,"2,950.00","498,000.00",\n*** End ***,,,,\n'
)
OF_SIDES = (
    "Trans Date;Narration;Withdrawals;Deposits;Balance\n"
    "02.03.2026;TIPS IN;0,00;498.000,00;1.748.000,00 CR\n"
    "02.03.2026;CHARGES;2.500,00;0,00;1.745.500,00 CR\n"
    "13.03.2026;CHARGES;450,00;0,00;1.745.050,00 CR\n"
)
BESIDE = (
    "Date,Details,Amount (TZS),Dr/Cr,Balance (TZS)\n02/03/2026,SETTLEMENT,498000.00,CR,1748000\n"
    "02/03/2026,LEDGER FEE,2500.00,DR,1745500\n13/03/2026,VAT,450.00,Dr.,1745050\n"
)
BEHIND = (
    "Date,Details,Amount TZS\n2026-03-02,SETTLEMENT,498000.00 Cr\n2026-03-02,LEDGER FEE,2500.00DR\n"
    "2026-03-13,VAT,-450 Dr.\n"
)
DASHES = (
    "Date,Description,Debit,Credit,Ccy\n2026-03-02,SETTLEMENT,-,498000,TZS\n"
    "2026-03-02,LEDGER FEE,2500, - ,TZS\n2026-03-13,VAT,450,nil,TZS\n"
)
KEPT = (
    '"Txn Date",Description,Debit (Tsh),Credit (Tsh),Balance (Tsh)\n'
    '"=""02/03/2026""",SETTLEMENT,,="498000","=""1748000"""\n'
    '"=""02/03/2026""",LEDGER FEE,"=""2,500.00""",,1745500\n"=""13/03/2026""",VAT,450,,1745050\n'
)


def write(folder: Path, text: str) -> Path:
    path = folder / "file.csv"
    path.write_text(text, encoding="utf-8")
    return path


def rejected(quality: Quality) -> list[tuple[int | None, str]]:
    return [(remark.row, remark.reason) for remark in quality.rejected]


@pytest.mark.parametrize(
    ("text", "balances"),
    [
        (WITH_BALANCES, [1_748_000, 1_745_500, 1_745_050]),
        (OF_SIDES, [1_748_000, 1_745_500, 1_745_050]),
        (OF_SIDES.replace(" CR", " Dr"), [-1_748_000, -1_745_500, -1_745_050]),
        (BESIDE, [1_748_000, 1_745_500, 1_745_050]),
        (BEHIND, [0, 0, 0]),
        (DASHES, [0, 0, 0]),
        (KEPT, [1_748_000, 1_745_500, 1_745_050]),
    ],
    ids=["balances", "sides", "overdrawn", "beside", "behind", "dashes", "kept"],
)
def test_a_bank_statement_is_read_whole_as_the_bank_exports_it(
    tmp_path: Path, text: str, balances: list[int]
) -> None:
    path = write(tmp_path, text)
    found = guess(path, "bank")
    assert found.rows["amount"].tolist() == SIGNED
    assert found.rows["balance"].fillna(0).tolist() == balances
    assert found.rows["currency"].tolist() == 3 * ["TZS"]
    assert rejected(found.quality) == []


@pytest.mark.parametrize("text", [BESIDE, BEHIND, DASHES, KEPT.replace("Txn Date", "Date")])
def test_a_bank_statement_needs_no_mapping_where_its_columns_are_known(
    tmp_path: Path, text: str
) -> None:
    frame, quality = movements.read(write(tmp_path, text), leg="bank")
    assert frame["amount"].tolist() == SIGNED
    assert rejected(quality) == []


WORDS = ("Opening Balance", "CLOSING BALANCE:", "Balance b/f", "B/F", "c/d", "balance cf",
         "Balance brought forward", "Carried down", "Salio la mwanzo", "Previous balance",
         " Final balance ")  # fmt: skip
NO_BALANCES = ("Opening balance fee", "bf 12", "Refund of balance", "Salio", "Balance")


@pytest.mark.parametrize("words", [*WORDS, *NO_BALANCES])
@pytest.mark.parametrize(
    ("row", "is_still"),
    [
        ("2026-03-01,{},,,700", True),
        (",{},,700,700", True),
        ("2026-03-01,{},,700,700", True),
        ("2026-03-01,{},700,,700", True),
        ("2026-03-01,{},,700,701", False),
    ],
)
def test_a_row_of_a_balance_that_moves_nothing_is_no_entry(
    tmp_path: Path, words: str, row: str, is_still: bool
) -> None:
    text = (
        f"date,details,debit,credit,balance,ccy\n{row.format(words)},TZS\n2026-03-02,A,,5,705,TZS\n"
    )
    _, quality = movements.read(write(tmp_path, text), leg="bank")
    skipped = [remark.reason for remark in quality.remarks if remark.verdict == "skipped"]
    assert {remark.amount for remark in quality.remarks if remark.verdict == "skipped"} <= {None}
    assert skipped == (["a balance"] if is_still and words in WORDS else [])


@pytest.mark.parametrize(
    ("last", "is_sum"),
    [
        (",,12,7,", True),
        (",,12,,", True),
        (",,,7,", True),
        (",,12,8,", False),
        (",,11,7,", False),
        (",,-12,7,", False),
        (",LIPA,12,7,", False),
        ("2026-03-05,,12,7,", False),
        (",3,12,7,", True),
    ],
)
def test_a_last_row_without_a_word_is_the_total_where_its_sums_say_so(
    tmp_path: Path, last: str, is_sum: bool
) -> None:
    rows = ("2026-03-01,A,5,,TZS", "2026-03-02,B,7,,TZS", "2026-03-03,C,,7,TZS")
    text = "\n".join(("date,details,debit,credit,ccy", *rows, last, ""))
    frame, quality = movements.read(write(tmp_path, text), leg="bank")
    assert frame["amount"].tolist() == [-5, -7, 7]
    skipped = [remark.row for remark in quality.remarks if remark.verdict == "skipped"]
    assert skipped == ([5] if is_sum else [])
    assert [row for row, _ in rejected(quality)] == ([] if is_sum else [5])


def test_of_cents_the_sum_is_of_cents_and_the_last_row_alone_is_looked_at(tmp_path: Path) -> None:
    rows = "2026-03-01,5.25,TZS\n2026-03-02,7.50,TZS\n,12.75,\n,12.75,\n"
    _, quality = movements.read(write(tmp_path, f"date,amount,ccy\n{rows}"), leg="bank")
    assert [row for row, _ in rejected(quality)] == [4]
    assert quality.total is not None
    assert quality.total.difference == -13, "by what could not be read, and is no row of it"


def test_the_sum_of_one_row_is_perhaps_another_payment(tmp_path: Path) -> None:
    text = "date,reference,amount,currency\n2026-03-01,A,5,TZS\n,,5,\n"
    _, quality = files.ledger(write(tmp_path, text))
    assert rejected(quality) == [(3, "booked_at is missing")]


def test_the_sum_of_a_settlement_statement_is_held_against_its_rows(tmp_path: Path) -> None:
    text = (
        "Settlement Date,Network,Txn Count,Gross Amount (TZS),Commission (TZS),VAT (18%),"
        "Net Amount (TZS)\n"
        '02-Mar-26,M-PESA,3,"500,000","2,000",360,"497,640"\n'
        '02-Mar-26,TIGO PESA,1,"10,000",100,18,"9,882"\n,,4,"510,000","2,100",378,"507,522"\n'
    )
    frame, quality = files.statement(write(tmp_path, text))
    assert frame[["gross", "fee", "net", "count"]].to_numpy().tolist() == [
        [500_000, 2_360, 497_640, 3],
        [10_000, 118, 9_882, 1],
    ]
    assert quality.total is not None
    assert (quality.total.stated, quality.total.difference) == (507_522, 0)
    found = guess(write(tmp_path, text))
    assert (found.role, found.rows["net"].tolist()) == ("statement", [497_640, 9_882])


@pytest.mark.parametrize(
    ("header", "name", "currency"),
    [
        ("Amount (TZS)", "amount", "TZS"),
        ("AMOUNT [in Tshs]", "amount", "TZS"),
        ("Amount, Tsh.", "amount", "TZS"),
        ("Amount - KES", "amount", "KES"),
        ("Fee in TZS", "fee", "TZS"),
        ("TZS Amount", "amount", "TZS"),
        ("VAT (18%)", "vat", None),
        ("VAT (18% TZS)", "vat", "TZS"),
        ("Amount (net)", "amount (net)", None),
        ("TZS", "tzs", None),
        ("Paid in", "paid in", None),
        ("Amount in", "amount in", None),
        ("(TZS)", "", "TZS"),
        ("Sh", "sh", None),
        ("", "", None),
        (None, "", None),
    ],
)
def test_a_header_is_known_without_the_unit_beside_it(
    header: str | None, name: str, currency: str | None
) -> None:
    assert headers.bare(header) == (name, currency)


def test_a_header_of_our_own_name_is_taken_before_one_with_a_unit(tmp_path: Path) -> None:
    text = "date,amount (usd),amount,currency,reference\n2026-03-01,2,5000,TZS,A\n"
    frame, _ = files.ledger(write(tmp_path, text))
    assert frame["amount"].tolist() == [5_000]


def test_two_headers_with_units_are_not_chosen_from(tmp_path: Path) -> None:
    text = "date,amount (usd),amount (tzs),reference\n2026-03-01,2,5000,A\n"
    with pytest.raises(InputRefused, match="may both be amount"):
        files.ledger(write(tmp_path, text))


def test_a_mapping_may_leave_out_the_unit_of_a_header(tmp_path: Path) -> None:
    text = "date,Kiasi (TZS),reference\n2026-03-01,5000,A\n"
    columns: dict[str, str | tuple[str, ...]] = {"booked_at": "date", "reference": "reference"}
    for name in ("Kiasi (TZS)", "Kiasi"):
        layout = Layout(columns={**columns, "amount": name})
        assert files.ledger(write(tmp_path, text), layout)[0]["currency"].tolist() == ["TZS"]
    both = text.replace(",reference", ",reference,Kiasi (KES)").replace(",A", ",A,7")
    with pytest.raises(InputRefused, match="may both be amount; name one"):
        files.ledger(write(tmp_path, both), layout)
    whole = Layout(columns={**columns, "amount": "Kiasi (KES)"})
    assert files.ledger(write(tmp_path, both), whole)[0]["amount"].tolist() == [7]
    other = Layout(columns={**columns, "amount": "Kiasi", "currency": "=KES"})
    frame, quality = files.ledger(write(tmp_path, text), other)
    assert frame.empty
    assert rejected(quality) == [(2, "amount is written in another currency")]
    with pytest.raises(InputRefused, match="no column Kias for amount"):
        files.ledger(write(tmp_path, text), Layout(columns={**columns, "amount": "Kias"}))


def test_an_amount_in_another_currency_than_its_header_says_is_rejected(tmp_path: Path) -> None:
    text = (
        "date,amount (TZS),reference\n2026-03-01,5000,A\n2026-03-02,KES 7,B\n2026-03-02,Tsh 8,C\n"
    )
    frame, quality = files.ledger(write(tmp_path, text))
    assert frame["reference"].tolist() == ["A", "C"]
    assert rejected(quality) == [(3, "amount is written in another currency")]


@pytest.mark.parametrize(
    ("cell", "whole"),
    [
        *(("5 Cr", 5), ("5 DR", -5), ("-5 dr", -5), ("TZS 5.00Cr.", 5)),
        *(("-5 CR", None), ("5 CRDR", None), ("CR 5", 5), ("5 C", None)),
    ],
)
def test_a_side_behind_an_amount_is_its_sign(cell: str, whole: int | None) -> None:
    text = pd.Series([cell, "7"], dtype="string")
    assert numbers.read(text).whole.tolist() == [pd.NA if whole is None else whole, 7]
    of_books = numbers.read(text, sided=False)
    assert of_books.whole.isna().tolist() == [True, False]


def test_of_books_nobody_knows_whether_a_debit_is_money_in(tmp_path: Path) -> None:
    text = "date,reference,amount,currency\n2026-03-01,A,5 Cr,TZS\n2026-03-01,B,5,TZS\n"
    frame, quality = files.ledger(write(tmp_path, text))
    assert frame["reference"].tolist() == ["B"]
    assert rejected(quality) == [
        (2, "amount says Dr or Cr, and of books only a mapping says what that means")
    ]


BOOKS = "date,reference,amount,currency,Dr/Cr\n2026-03-01,A,5,TZS,Dr\n2026-03-02,A,-3,TZS,Cr\n"
OURS = ("reference", "amount", "currency")


def test_books_with_a_column_of_sides_are_refused_until_a_mapping_says(tmp_path: Path) -> None:
    path = write(tmp_path, BOOKS)
    columns: dict[str, str | tuple[str, ...]] = {
        **{name: name for name in OURS},
        "booked_at": "date",
        "side": "Dr/Cr",
    }
    for layout in (Layout(), Layout(columns=columns)):
        with pytest.raises(InputRefused, match="only a mapping says which is money in"):
            files.ledger(path, layout)
    said = Layout(columns=columns, values={"side": {"Dr": "in", "Cr": "out"}})
    assert files.ledger(path, said)[0]["amount"].tolist() == [5, -3]
    turned = Layout(columns=columns, values={"side": {"Dr": "out", "Cr": "in"}})
    frame, quality = files.ledger(path, turned)
    assert frame["amount"].tolist() == [-5]
    assert rejected(quality) == [(3, "amount is less than 0, and its side is money in")]
    found = guess(path, "ledger")
    assert "side" not in found.toml
    assert any("read as side once [values.side] says" in one for one in found.uncertain)


@pytest.mark.parametrize(("side", "amount"), [*product(("Cr", "C", "credit", "+"), ["5"]),
    *product(("dr", "D", "Debit", "-"), ["5", "-5"])])  # fmt: skip
def test_a_column_beside_the_amount_says_its_side(tmp_path: Path, side: str, amount: str) -> None:
    text = f"date,amount,currency,D/C\n2026-03-01,{amount},TZS,{side}\n"
    frame, _ = movements.read(write(tmp_path, text), leg="bank")
    assert frame["amount"].tolist() == [5 if side[0] in "Cc+" else -5]


@pytest.mark.parametrize("side", ["", "X", "CRDB"])
def test_a_side_that_says_neither_is_rejected(tmp_path: Path, side: str) -> None:
    text = f"date,amount,currency,D/C\n2026-03-01,5,TZS,{side}\n2026-03-01,5,TZS,D\n"
    frame, quality = movements.read(write(tmp_path, text), leg="bank")
    assert frame["amount"].tolist() == [-5]
    assert rejected(quality) == [(2, "side is neither money in nor money out")]


@pytest.mark.parametrize("nothing", ["-", "\u2013", "nil", "N/A", ""])
def test_a_dash_is_no_amount(tmp_path: Path, nothing: str) -> None:
    rows = f"2026-03-01,A,5,{nothing},TZS\n2026-03-01,B,{nothing},1,TZS\n"
    text = f"date,reference,amount,fee,currency\n{rows}"
    frame, quality = files.ledger(write(tmp_path, text))
    assert frame["fee"].isna().tolist() == [True]
    assert rejected(quality) == [(3, "amount is missing")]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Txn Date,Value Dt,Debit (TZS),Credit (TZS)\n20260302,20260302,,5\n", 'at = "Txn Date"'),
        (
            "Txn ID,Date,Amount,Previous Balance,Post Balance\nA,2026-03-01,5,0,5\n",
            'balance = "Post Balance"',
        ),
        ("Order,Created at,Total\n1,2026-03-01 10:00,5\n", 'booked_at = "Created at"'),
        (
            "Date,Opening Balance,Paid in,Ledger bal. balance\n2026-03-01,0,5,5\n",
            'balance = "Ledger bal. balance"',
        ),
    ],
)
def test_a_guess_takes_the_column_that_a_person_would(tmp_path: Path, text: str, line: str) -> None:
    assert line in guess(write(tmp_path, text)).toml.splitlines()


def test_a_value_date_is_no_amount(tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="no column that looks like amount"):
        guess(write(tmp_path, "Posted,Value Dt,Reference\n20260302,20260302,A\n"), "ledger")


def test_texts_that_are_kept_from_spreadsheets_read_the_same(tmp_path: Path) -> None:
    rows = '2026-03-01,="0012",5,TZS\n2026-03-01,"=""A"" & ""B""",5,TZS\n'
    text = f"date,reference,amount,currency\n{rows}"
    frame, _ = files.ledger(write(tmp_path, text))
    assert frame["reference"].tolist() == ["0012", '="A" & "B"']


@pytest.mark.parametrize("amount", ["5", '"5"'])
def test_two_columns_of_one_name_are_refused_only_where_one_of_them_is_read(
    tmp_path: Path, amount: str
) -> None:
    text = (
        "date,Notes,reference,,amount,currency,Notes,Notes (2),notes,Notes\n"
        f"2026-03-01,,A,,{amount},TZS,a,b,c,d\n"
    )
    frame, _ = files.ledger(write(tmp_path, text))
    assert frame["reference"].tolist() == ["A"]
    names = ("date", "reference", "amount", "currency")
    columns: dict[str, str | tuple[str, ...]] = {name: name for name in names}
    columns["booked_at"] = columns.pop("date")
    for name in ("fee", "channel", "details"):
        with pytest.raises(InputRefused, match="two columns called Notes; rename one"):
            files.ledger(write(tmp_path, text), Layout(columns={**columns, name: "Notes"}))


@pytest.mark.parametrize("cell", ["2.55754E+11", "2,55754e+11"])
@pytest.mark.parametrize("name", ["reference", "collection_id"])
def test_a_reference_that_lost_its_digits_in_a_spreadsheet_is_rejected(
    tmp_path: Path, cell: str, name: str
) -> None:
    rows = f'2026-03-01,"{cell}",5,TZS\n2026-03-01,E+11,5,TZS\n2026-03-01,2.5E11,5,TZS\n'
    frame, quality = files.ledger(write(tmp_path, f"date,{name},amount,currency\n{rows}"))
    assert frame[name].tolist() == ["E+11", "2.5E11"]
    [(row, reason)] = rejected(quality)
    assert (row, reason.split(" in ")[0]) == (2, f"{name} lost digits")


def test_a_receipt_that_lost_its_digits_is_rejected_too(tmp_path: Path) -> None:
    text = "date,receipt,amount,currency\n2026-03-01,2.55754E+11,5,TZS\n2026-03-01,R,5,TZS\n"
    frame, quality = movements.read(write(tmp_path, text), leg="operator")
    assert (frame["receipt"].tolist(), len(rejected(quality))) == (["R"], 1)


CENTS = (
    "Date,Details,Debit,Credit,Balance,Ccy\n2026-03-01,SETTLEMENT,,498000.00,1748000.64,TZS\n"
    "2026-03-02,LEDGER FEE,2500.36,,1745500.28,TZS\n2026-03-03,VAT,450.07,,1745050.21,TZS\n"
    "2026-03-03,INTEREST,,0.90,1745051.11,TZS\n2026-03-04,SETTLEMENT,,1000,1746051.11,TZS\n"
    "Total,,2950.43,499000.90,,\n"
)


def test_cents_of_a_bank_are_counted_in_whole_so_that_its_balances_agree(tmp_path: Path) -> None:
    frame, quality = movements.read(write(tmp_path, CENTS), leg="bank")
    assert frame["amount"].tolist() == [498_000, -2_500, -450, 1, 1_000]
    assert frame["balance"].tolist() == [1_748_000, 1_745_500, 1_745_050, 1_745_051, 1_746_051]
    warned = [remark.row for remark in quality.remarks if remark.reason == numbers.HAS_CENTS]
    assert warned == [3, 4, 5]
    [total] = [remark for remark in quality.remarks if remark.verdict == "skipped"]
    assert (total.row, total.reason, total.amount) == (7, "a total", 496_050)
    assert quality.total is not None
    assert quality.total.difference == 0
    moved = frame["balance"].diff().fillna(frame["amount"].iloc[0])
    assert (moved.iloc[1:] == frame["amount"].iloc[1:]).all()


@pytest.mark.parametrize(("stated", "difference"), [("499000.91", 1), ("499000.89", -1)])
def test_a_total_of_cents_is_held_against_cents(
    tmp_path: Path, stated: str, difference: int
) -> None:
    text = CENTS.replace("499000.90", stated)
    _, quality = movements.read(write(tmp_path, text), leg="bank")
    assert quality.total is not None
    assert quality.total.difference == difference


def test_cents_without_a_balance_are_rounded(tmp_path: Path) -> None:
    rows = "".join(
        f"2026-03-0{day},{amount},TZS\n"
        for day, amount in enumerate(("2.49", "2.5", "-2.49", "-2.51", "7"), start=1)
    )
    frame, _ = movements.read(write(tmp_path, f"date,amount,ccy\n{rows}"), leg="bank")
    assert frame["amount"].tolist() == [2, 3, -2, -3, 7]


def test_cents_behind_a_comma_prove_the_comma(tmp_path: Path) -> None:
    path = write(tmp_path, "date;amount;ccy\n2026-03-01;450,36;TZS\n2026-03-01;7,5;TZS\n")
    assert movements.read(path, leg="bank")[0]["amount"].tolist() == [450, 8]


@pytest.mark.parametrize("amount", ["2.505", "2.5.0", "0,5", "12345678901234567", "1e2"])
def test_what_has_no_cents_is_no_amount_of_a_bank(tmp_path: Path, amount: str) -> None:
    rows = f'2026-03-01,"{amount}",TZS\n2026-03-01,"7,007.10",TZS\n'
    _, quality = movements.read(write(tmp_path, f"date,amount,ccy\n{rows}"), leg="bank")
    assert [row for row, _ in rejected(quality)] == [2]


def test_only_a_bank_has_cents(tmp_path: Path) -> None:
    path = write(tmp_path, "date,receipt,amount,ccy\n2026-03-01,A,2.50,TZS\n2026-03-01,B,7,TZS\n")
    _, quality = movements.read(path, leg="operator")
    assert rejected(quality) == [(2, "amount is not a whole number")]


@given(
    opening=st.integers(-(10**9), 10**9), amounts=st.lists(st.integers(-(10**7), 10**7), max_size=9)
)
def test_whole_amounts_lead_from_each_whole_balance_to_the_next(
    opening: int, amounts: list[int]
) -> None:
    held = opening
    for amount in amounts:
        before, held = held, held + amount
        whole = numbers.made_whole(amount, held)
        assert before // 100 + whole == held // 100
        assert abs(100 * whole - amount) < 100
        assert amount % 100 or whole == amount // 100


@pytest.mark.parametrize(
    ("cell", "read"),
    [
        *(("1745049.6399999999", 174_504_964), ("-0.5", -50), ("7", 700), ("-7.10", -710)),
        *(
            ("1745049.645", None),
            ("7.00001", None),
            ("1e5", None),
            ("--7", None),
            ("12345678901234567", None),
        ),
    ],
)
def test_a_number_of_a_workbook_has_cents_though_it_is_kept_in_binary(
    cell: str, read: int | None
) -> None:
    text, typed = pd.Series([cell], dtype="string"), pd.Series([True])
    found = numbers.read(text, was_number=typed, cents=True)
    assert found.whole.fillna(-1).tolist() == [-1 if read is None else read]


def skipped(quality: Quality) -> list[tuple[int | None, str]]:
    return [
        (remark.row, remark.reason) for remark in quality.remarks if remark.verdict == "skipped"
    ]


OF_BOOKS: dict[str, str | tuple[str, ...]] = {
    **{name: name for name in ("reference", "amount", "currency")},
    "booked_at": "date",
}
WITH_NOTES = (
    "date,reference,amount,currency\n2026-03-01,A,5,TZS\n,,,\nNotes: all times are local,,,\n"
    "2026-03-02,B,6,TZS\ndate,reference,amount,currency\n2026-03-03,Total,7,TZS\nTotal,,18,\n,C,9,\n"
)


def test_a_footer_of_the_mapping_ends_the_table_and_what_follows_is_no_entry(
    tmp_path: Path,
) -> None:
    path, after = write(tmp_path, WITH_NOTES), "after the end of the table"
    frame, quality = files.ledger(path, Layout(columns=OF_BOOKS, footer=("notes",)))
    assert frame["reference"].tolist() == ["A"]
    assert skipped(quality) == [
        (3, "not an entry"),
        *((row, after) for row in (4, 5, 6, 7)),
        *((8, after), (9, after)),
    ]


def test_without_a_footer_a_text_alone_a_repeated_header_and_a_total_are_no_entries(
    tmp_path: Path,
) -> None:
    frame, quality = files.ledger(write(tmp_path, WITH_NOTES), Layout(columns=OF_BOOKS))
    assert frame["reference"].tolist() == ["A", "B", "Total"], "a row with a date is an entry"
    assert skipped(quality) == [
        *((3, "not an entry"), (4, "a text alone"), (6, "the header again"), (8, "a total"))
    ]
    assert rejected(quality) == [(9, "booked_at is missing")]


def test_a_file_of_a_header_alone_has_no_row(tmp_path: Path) -> None:
    frame, quality = files.ledger(write(tmp_path, WITH_NOTES.split("\n", maxsplit=1)[0] + "\n"))
    assert (len(frame), quality.rows) == (0, 0)


@pytest.mark.parametrize("nothing", ["-", "nil", ""])
def test_a_dash_in_a_column_that_is_added_is_no_tax(tmp_path: Path, nothing: str) -> None:
    rows = f"2026-03-01,A,5,1,{nothing},TZS\n2026-03-01,B,5,1,2,TZS\n"
    path = write(tmp_path, f"date,reference,amount,fee,Tax,currency\n{rows}")
    layout = Layout(columns={**OF_BOOKS, "fee": "fee"}, added={"fee": ("Tax",)})
    frame, quality = files.ledger(path, layout)
    assert (frame["fee"].tolist(), rejected(quality)) == ([1, 3], [])


def test_of_two_columns_of_one_name_none_is_added(tmp_path: Path) -> None:
    text = "date,reference,amount,fee,Tax,currency,Tax\n2026-03-01,A,5,1,2,TZS,3\n"
    layout = Layout(columns={**OF_BOOKS, "fee": "fee"}, added={"fee": ("Tax",)})
    with pytest.raises(InputRefused, match="two columns called Tax; rename one"):
        files.ledger(write(tmp_path, text), layout)


def test_a_fee_with_cents_at_a_bank_is_rounded(tmp_path: Path) -> None:
    rows = "".join(f"2026-03-01,5,{fee},TZS\n" for fee in ("0.49", "0.50", "-1.20", "", "2"))
    frame, _ = movements.read(write(tmp_path, f"date,amount,fee,ccy\n{rows}"), leg="bank")
    assert frame["fee"].fillna(-1).tolist() == [0, 1, 1, -1, 2]
