"""Files become frames cell by cell: nothing is guessed, and every row is accounted for."""

import zipfile
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kusanya.errors import InputRefused
from kusanya_books import columns
from kusanya_books.columns import LEDGER, STATEMENT
from kusanya_books.read import files, spreadsheets
from kusanya_books.read.mapping import Layout, read_mapping
from kusanya_books.request.days import cutoff
from kusanya_books.request.quality import FileTotal, account, remarks

openpyxl: Any = import_module("openpyxl")
PLAIN = "reference,amount,currency,booked_at\n"
TOML = """
[ledger]
date_format = "%d/%m/%Y %H:%M"
skip_when = { column = "Type", equals = ["Total"] }
columns = { reference = "Invoice No", amount = "Amount", booked_at = "Posted", currency = "=TZS", \
status = "State" }
values.status = { Paid = "paid", Cancelled = "not_paid" }
"""


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def written(text: str | bytes, name: str = "ledger.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return written


def reasons(quality: Any) -> list[tuple[int, str, str]]:
    return [(remark.row, remark.verdict, remark.reason) for remark in quality.remarks]


def test_a_plain_file_has_our_names_and_iso_stamps(write: Any) -> None:
    path = write(PLAIN + "A-1,1000,TZS,2026-03-05T23:30:00+03:00\nA-2,2000,TZS,2026-03-05 23:30\n")
    frame, quality = files.ledger(path)
    columns.check(frame, LEDGER)
    assert frame["amount"].tolist() == [1_000, 2_000]
    assert frame["booked_at"].tolist() == [datetime(2026, 3, 5, 20, 30, tzinfo=UTC)] * 2
    assert frame["booked_day"].tolist() == [pd.Timestamp("2026-03-05")] * 2
    assert frame["status"].tolist() == ["paid", "paid"]
    assert frame["row_no"].tolist() == [2, 3]
    assert (quality.rows, quality.kept, quality.remarks) == (2, 2, ())
    assert quality.sha256 is not None
    assert len(quality.sha256) == 64


def test_text_stays_text(write: Any) -> None:
    path = write(PLAIN + "00123,1,TZS,2026-03-05\nNULL,1,TZS,2026-03-05\n1e5,1,TZS,2026-03-05\n")
    assert files.ledger(path)[0]["reference"].tolist() == ["00123", "NULL", "1e5"]


def test_a_mapping_names_columns_words_dates_and_what_to_skip(write: Any) -> None:
    mapping = read_mapping(write(TOML, "map.toml"))
    path = write(
        "Invoice No,Amount,Posted,State,Type\n"
        'A-1,"1,000",05/03/2026 09:15,Paid,Sale\n'
        "A-2,250.00,31/12/2026 00:00,Cancelled,Sale\n"
        ',"1,250",31/12/2026 00:00,,Total\n'
    )
    frame, quality = files.ledger(path, mapping.ledger)
    assert frame["amount"].tolist() == [1_000, 250]
    assert frame["status"].tolist() == ["paid", "not_paid"]
    assert frame["currency"].tolist() == ["TZS", "TZS"]
    assert frame["booked_at"][0] == datetime(2026, 3, 5, 6, 15, tzinfo=UTC)
    assert reasons(quality) == [(4, "skipped", "not an entry")]


@pytest.mark.parametrize(
    ("amount", "reason"),
    [
        ("12.5", "amount is not a whole number"),
        ("1e5", "amount is not a whole number"),
        ('"1,0,0"', "amount is not a whole number"),
        ("٣", "amount is not a whole number"),
        ("9" * 19, "amount is not a whole number"),
        ("", "amount is missing"),
    ],
)
def test_what_is_no_whole_number_is_rejected_and_never_quoted(
    write: Any, amount: str, reason: str
) -> None:
    frame, quality = files.ledger(write(PLAIN + f"A-1,{amount},TZS,2026-03-05\n"))
    assert len(frame) == 0
    assert reasons(quality) == [(2, "rejected", reason)]


@pytest.mark.parametrize(
    ("amount", "thousands", "read"),
    [
        ("5.000", ",", None),
        ("5.000", "", None),
        ("1.234.000", ",", None),
        ("5.000", ".", 5_000),
        ('"5.000,00"', ".", 5_000),
        ('"5,000"', ".", None),
        ("5.00", ".", None),
        ('"5,000"', ",", 5_000),
        ('"5,000.0"', ",", 5_000),
        ("5.0", ",", 5),
        ("5.00", ",", 5),
        ('"5,000.000"', ",", None),
        ("5 000", " ", 5_000),
    ],
)
def test_a_mark_that_may_stand_for_thousands_is_read_as_the_mapping_says_or_refused(
    write: Any, amount: str, thousands: str, read: int | None
) -> None:
    path = write(PLAIN + f"A-1,{amount},TZS,2026-03-05\n")
    frame, quality = files.ledger(path, Layout(thousands=thousands))
    assert frame["amount"].tolist() == ([] if read is None else [read])
    assert quality.count("rejected") == (1 if read is None else 0)


def test_the_words_of_currency_and_channel_are_those_that_the_mapping_names(write: Any) -> None:
    words = {"currency": {"Sh": "TZS"}, "channel": {"M-Pesa": "MPESA_TZ"}}
    path = write(
        "reference,amount,currency,booked_at,channel\n"
        "A-1,1,Sh,2026-03-05,M-Pesa\nA-2,1,Sh,2026-03-05,\nA-3,1,Sh,2026-03-05,Tigo\n"
        "A-4,1,TZS,2026-03-05,M-Pesa\n"
    )
    frame, quality = files.ledger(path, Layout(values=words))
    assert frame["currency"].tolist() == ["TZS", "TZS"]
    assert frame["channel"].tolist() == ["MPESA_TZ", pd.NA]
    assert reasons(quality) == [
        (4, "rejected", "channel is none of those that the mapping names"),
        (5, "rejected", "currency is none of those that the mapping names"),
    ]
    path = write("business_day,channel,currency,net\n2026-03-05,M-Pesa,Sh,9\n", "paid.csv")
    frame, _ = files.statement(path, Layout(values=words))
    assert (frame["channel"][0], frame["currency"][0]) == ("MPESA_TZ", "TZS")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[statement]\namount_basis = "net"\n', "a statement has no amount_basis"),
        ('[ledger]\nvalues.amount = { x = "1" }\n', "not of amount"),
        ('[statement]\nvalues.status = { Paid = "paid" }\n', "no such column of ours: status"),
        ('[ledger]\ncolumns = { net = "Net" }\n', "no such column of ours: net, in the ledger"),
    ],
)
def test_what_a_mapping_says_is_done_or_refused(write: Any, text: str, says: str) -> None:
    with pytest.raises(InputRefused, match=says):
        read_mapping(write(text, "map.toml"))


def test_a_row_with_more_cells_than_the_header_is_rejected_and_the_others_are_read(
    write: Any,
) -> None:
    path = write(PLAIN + "A-1,1,TZS,2026-03-05,extra\nA-2,2,TZS,2026-03-05,,\n")
    frame, quality = files.ledger(path)
    assert frame["reference"].tolist() == ["A-2"]
    assert [(row, verdict) for row, verdict, _ in reasons(quality)] == [(2, "rejected")]
    assert "more cells than the header has" in quality.remarks[0].reason


def test_an_amount_beyond_what_floats_hold_is_read_exactly(write: Any) -> None:
    frame, _ = files.ledger(write(PLAIN + f"A-1,{2**53 + 1},TZS,2026-03-05\nA-2,,TZS,2026-03-05\n"))
    assert frame["amount"].tolist() == [2**53 + 1]


@pytest.mark.parametrize("stamp", ["03/05/2026", "2026-02-30", "yesterday", "20260305x"])
def test_a_date_in_another_form_is_rejected_and_not_guessed(write: Any, stamp: str) -> None:
    _, quality = files.ledger(write(PLAIN + f"A-1,1,TZS,{stamp}\n"))
    assert [verdict for _, verdict, _ in reasons(quality)] == ["rejected"]


def test_a_date_without_a_time_is_a_business_day_whatever_the_cutoff(write: Any) -> None:
    path = write(PLAIN + "A-1,1,TZS,2026-03-05\n")
    frame, _ = files.ledger(path, cutoff=cutoff("06:00"))
    assert frame["booked_day"].tolist() == [pd.Timestamp("2026-03-05")]


def test_rows_without_a_known_status_are_rejected_and_those_without_a_key_are_said(
    write: Any,
) -> None:
    path = write(
        "reference,amount,currency,booked_at,status\n"
        ",1,TZS,2026-03-05,paid\nA-2,1,TZS,2026-03-05,maybe\nA-3,1,,2026-03-05,open\n,,,,\n"
    )
    frame, quality = files.ledger(path)
    assert frame["row_no"].tolist() == [2]
    assert reasons(quality) == [
        (2, "warned", "names no payment: taken for all payments of its day"),
        (3, "rejected", "status is none of those that the mapping names"),
        (4, "rejected", "currency is missing"),
        (5, "skipped", "not an entry"),
    ]
    assert account(quality)["rejected"].tolist() == [2]
    assert remarks(quality)["row"].tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not even a header"),
        ("reference,amount\nA,1\n", "has no column currency"),
        ("reference,amount,currency,booked_at,reference\n", "two columns called reference;"),
        (PLAIN + '"A,1,TZS\n', "is not CSV"),
        (PLAIN.encode() + b"\x81,1,TZS,2026-03-05\n", "is not utf-8"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(write: Any, text: str | bytes, why: str) -> None:
    with pytest.raises(InputRefused, match=why):
        files.ledger(write(text))


@pytest.mark.parametrize(
    "toml",
    [
        "ledger = 1",
        "[ledger]\nzone = 'Mars'",
        "[ledger]\namount_basis = 'both'",
        "[ledger]\ncolumns = { price = 'x' }",
        "[ledgr]",
        "not toml",
    ],
)
def test_a_mapping_that_cannot_be_meant_is_refused(write: Any, toml: str) -> None:
    with pytest.raises(InputRefused):
        read_mapping(write(toml, "map.toml"))


def test_a_missing_file_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match=r"none\.csv cannot be read"):
        files.ledger(tmp_path / "none.csv")


def test_xlsx_cells_keep_their_text_and_numbers_in_text_columns_warn(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["reference", "amount", "currency", "booked_at"])
    sheet.append(["00123", 1_000, "TZS", datetime(2026, 3, 5, 9, 15)])  # noqa: DTZ001 - Excel
    sheet.append([123, "2,500", "TZS", "2026-03-06"])
    path = tmp_path / "ledger.xlsx"
    book.save(path)
    frame, quality = files.ledger(path)
    assert frame["reference"].tolist() == ["00123", "123"]
    assert frame["amount"].tolist() == [1_000, 2_500]
    assert frame["booked_at"][0] == datetime(2026, 3, 5, 6, 15, tzinfo=UTC)
    assert reasons(quality) == [(3, "warned", "reference was a number, not text")]


def test_what_is_no_xlsx_or_unpacks_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.xlsx"
    path.write_bytes(b"reference,amount\n")
    with pytest.raises(InputRefused, match="not an XLSX"):
        files.ledger(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/bomb.xml", bytes(100_001))
    assert path.stat().st_size < 1_000
    with pytest.raises(InputRefused, match="unpacks to more than 100,000 bytes"):
        spreadsheets.read(path, Layout(), unpacked_max=100_000)


def test_a_statement_is_read_by_day_and_says_when_its_net_is_odd(write: Any) -> None:
    path = write(
        "batch_id,business_day,channel,currency,gross,fee,net\n"
        "B-1,2026-03-05,MPESA_TZ,TZS,1000,18,982\nB-2,2026-03-06,MPESA_TZ,TZS,1000,18,990\n"
    )
    frame, quality = files.statement(path)
    columns.check(frame, STATEMENT)
    assert frame["business_day"].tolist() == [
        pd.Timestamp("2026-03-05"),
        pd.Timestamp("2026-03-06"),
    ]
    assert reasons(quality) == [(3, "warned", "net is not gross less fee")]


TAKEN_OFF = "no fee has the sign of its gross: read as what is taken off"
DAYS = (
    *(("2026-03-05", 1_000, 18), ("2026-03-06", -200, -4), ("2026-03-08", 500, 0)),
    *(("2026-03-09", 0, 5), ("2026-03-10", 0, -3)),
)


@pytest.mark.parametrize("has_net", [True, False])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_statement_may_take_its_fees_off_and_leave_out_its_net(
    write: Any, has_net: bool, sign: int
) -> None:
    lines: list[tuple[Any, ...]] = [("day", "ccy", "gross", "fee", "net")]
    lines += [(day, "TZS", gross, sign * fee, gross - fee) for day, gross, fee in DAYS]
    lines += [("Total", "", 1_300, sign * 16, 1_284)]
    width = 5 if has_net else 4
    path = write("\n".join(",".join(map(str, line[:width])) for line in lines))
    frame, quality = files.statement(path)
    assert frame[["gross", "fee", "net"]].to_numpy().tolist() == [
        [gross, fee, gross - fee] for _, gross, fee in DAYS
    ]
    assert quality.total == FileTotal(currency="TZS", stated=1_284, rows=5, read=1_284, unread=0)
    assert [reason for reason in reasons(quality) if reason[1] != "skipped"] == [
        (1, "warned", "read as currency"),
        (1, "warned", "read as business_day"),
        *([(2, "warned", TAKEN_OFF)] if sign < 0 and not has_net else []),
    ]


def test_of_gross_and_fee_alone_a_fee_may_be_empty_and_a_gross_may_not(write: Any) -> None:
    path = write(
        "business_day,gross,fee\n2026-03-05,TZS 1000,18\n2026-03-06,TZS 500,\n"
        "2026-03-07,,5\n2026-03-08,TZS 300,-6\n2026-03-09,TZS 0,-7\nTotal,TZS 1500,\n"
    )
    frame, quality = files.statement(path)
    assert frame["net"].tolist() == [982, 500, 7]
    assert frame["currency"].tolist() == 3 * ["TZS"]
    assert [reason for reason in reasons(quality) if reason[1] == "rejected"] == [
        (4, "rejected", "gross is missing"),
        (5, "rejected", "fee has another sign than its gross, and no net says why"),
    ]
    assert quality.total is None, "a total that names no fee says nothing of the net"


SMALL = [(gross, fee) for gross in range(-2, 3) for fee in range(-2, 3)]


@pytest.mark.parametrize("agreeing", [(1, 1), (-1, -1), None])
def test_without_a_net_fees_are_turned_where_none_has_the_sign_of_its_gross(
    write: Any, agreeing: tuple[int, int] | None
) -> None:
    lines = [line for line in SMALL if line[0] * line[1] <= 0 or line == agreeing]
    text = "\n".join(f"2026-03-05,TZS,{gross},{fee}" for gross, fee in lines)
    frame, quality = files.statement(write(f"business_day,currency,gross,fee\n{text}\n"))
    kept = [(gross, fee) for gross, fee in lines if not (agreeing and gross * fee < 0)]
    assert frame["net"].tolist() == [
        gross - fee if agreeing else gross + fee for gross, fee in kept
    ]
    assert len(quality.remarks) == (len(lines) - len(kept) if agreeing else 1)


TAXED = "part of the fee: the net is without it"
UNREAD = "not read: if it is part of the fee, a mapping says so, as added.fee"


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("net", [982, 979, 973, 974])
def test_taxes_beside_a_fee_are_part_of_it_where_the_net_says_so(
    write: Any, net: int, sign: int
) -> None:
    path = write(
        "business_day,currency,gross,fee,net,VAT,Levy\n"
        f"2026-03-05,TZS,1000,{18 * sign},{net},{3 * sign},{6 * sign}\n"
        f"2026-03-06,TZS,1000,{18 * sign},{982},{3 * sign},\n"
        f"2026-03-07,TZS,1000,{18 * sign},{979},{3 * sign},no\n"
    )
    frame, quality = files.statement(path)
    known = {982: 18, 973: 27}
    assert frame["fee"].tolist()[1:] == [18, 21], "a tax that says nothing is none"
    assert frame["fee"].tolist()[0] == known.get(net, 18 * sign)
    first = 2 if net == 973 else 4
    assert reasons(quality) == [
        *([] if net in known else [(2, "warned", "net is not gross less fee")]),
        *2 * [(first, "warned", TAXED)],
    ]
    assert {remark.column for remark in quality.remarks if remark.reason == TAXED} == {
        "VAT",
        "Levy",
    }


@pytest.mark.parametrize("sign", [1, -1])
def test_taxes_that_no_net_speaks_of_are_left_out_and_remarked(write: Any, sign: int) -> None:
    path = write(
        "business_day,currency,gross,fee,vat,levy\n2026-03-05,TZS,1000,18,0,0\n"
        f"2026-03-06,TZS,1000,18,{sign},0\n2026-03-07,TZS,1000,18,2,\n"
    )
    frame, quality = files.statement(path)
    assert frame["net"].tolist() == 3 * [982]
    assert reasons(quality) == [(3, "warned", UNREAD)]


ADDED = Layout(
    columns={
        **{name: name for name in ("business_day", "currency", "gross", "net")},
        "fee": "Commission",
    },
    added={"fee": ("vat", "Levy")},
)


def test_a_mapping_adds_columns_to_the_fee(write: Any) -> None:
    path = write(
        "business_day,currency,gross,Commission,net,VAT,Levy\n"
        "2026-03-05,TZS,1000,18,973,3,6\n2026-03-06,TZS,1000,18,982,,\n"
        "2026-03-07,TZS,1000,,997,3,\n2026-03-08,TZS,1000,,1000,,\n"
        "2026-03-09,TZS,1000,18,980,2.5,\n"
    )
    frame, quality = files.statement(path, ADDED)
    assert frame["fee"].fillna(-1).tolist() == [27, 18, 3, -1]
    assert reasons(quality) == [(6, "rejected", "vat is not a whole number")]
    assert quality.remarks[0].column == "VAT"


def test_what_a_mapping_adds_to_a_fee_is_no_less_than_0_in_the_books(write: Any) -> None:
    columns: dict[str, str | tuple[str, ...]] = {
        **{name: name for name in ("reference", "amount", "fee")},
        "booked_at": "day",
        "currency": "=TZS",
    }
    layout = Layout(columns=columns, added={"fee": ("tax",)})
    path = write("reference,amount,day,fee,tax\nA,1000,2026-03-05,18,3\nB,1000,2026-03-05,18,-3\n")
    frame, quality = files.ledger(path, layout)
    assert frame["fee"].tolist() == [21]
    assert reasons(quality) == [(3, "rejected", "tax is less than 0")]


def test_a_column_that_a_mapping_adds_must_be_there(write: Any) -> None:
    path = write("business_day,currency,gross,Commission,net,VAT\n2026-03-05,TZS,1000,18,982,\n")
    with pytest.raises(InputRefused, match="has no column Levy to add"):
        files.statement(path, ADDED)


@pytest.mark.parametrize("said", [{"net": ("vat",)}, {"fee": ("vat",), "net": ("vat",)}])
def test_columns_are_added_to_the_fee_alone(said: dict[str, tuple[str, ...]]) -> None:
    with pytest.raises(ValueError, match="added is of fee alone"):
        Layout(columns={"fee": "Commission"}, added=said)


def test_columns_are_added_to_a_fee_that_is_named() -> None:
    with pytest.raises(ValueError, match="beside a column of it"):
        Layout(columns={"net": "Net"}, added={"fee": ("vat",)})


def test_fees_that_stand_beside_no_gross_are_read_as_they_are(write: Any) -> None:
    path = write(
        "business_day,currency,gross,fee\n2026-03-05,TZS,0,5\n2026-03-06,TZS,100,0\nTotal,,-100,5\n"
    )
    assert files.statement(path)[0]["net"].tolist() == [-5, 100]


def test_a_net_that_one_line_lacks_is_not_reckoned(write: Any) -> None:
    path = write(
        "business_day,currency,gross,fee,net\n2026-03-05,TZS,1000,18,982\n2026-03-06,TZS,500,9,\n"
    )
    frame, quality = files.statement(path)
    assert frame["net"].tolist() == [982]
    assert reasons(quality) == [(3, "rejected", "net is missing")]


def test_a_statement_without_a_day_and_a_collection_is_refused_with_both_names(write: Any) -> None:
    with pytest.raises(InputRefused, match=r"no column business_day .*; name it or collection_id"):
        files.statement(write("currency,net\nTZS,1000\n"))


def test_a_statement_of_gross_alone_is_refused(write: Any) -> None:
    with pytest.raises(InputRefused, match="without a net has a gross and a fee"):
        files.statement(write("business_day,currency,gross\n2026-03-05,TZS,1000\n"))


def test_sums_above_the_table_are_no_header(write: Any) -> None:
    path = write(
        "Gross:,1000\nFee:,18\nNet:,982\n\nDay,Ccy,Gross,Fee,Net\n2026-03-05,TZS,1000,18,982\n"
    )
    assert files.statement(path)[0]["net"].tolist() == [982]


def test_a_statement_by_collection_needs_no_day_but_a_collection_on_every_line(write: Any) -> None:
    good = "collection_id,currency,net\ncol_1,TZS,982\n"
    assert files.statement(write(good))[0]["collection_id"].tolist() == ["col_1"]
    with pytest.raises(InputRefused, match="every line"):
        files.statement(write(good + ",TZS,982\n"))


def test_a_charge_and_a_total_name_no_collection(write: Any) -> None:
    path = write(
        "collection_id,currency,net,kind\ncol_1,TZS,982,payment\n,TZS,-500,charge\nTotal,,482,\n"
    )
    frame, quality = files.statement(path)
    assert frame["kind"].tolist() == ["payment", "charge"]
    assert quality.total == FileTotal(currency="TZS", stated=482, rows=2, read=482, unread=0)


def test_a_day_of_a_statement_is_that_day_in_any_zone(write: Any) -> None:
    path = write("business_day,currency,net\n2026-03-05,TZS,982\n")
    frame, _ = files.statement(path, Layout(zone="Asia/Tokyo"))
    assert frame["business_day"].tolist() == [pd.Timestamp("2026-03-05")]


def test_layouts_are_checked_when_they_are_made() -> None:
    with pytest.raises(ValueError, match="one character"):
        Layout(delimiter=";;")
