"""Journal entries: balanced each day, taxes apart, in the shape that each program imports."""

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya.errors import InputRefused, PackRefused
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import POSTINGS, TARIFF
from kusanya_books.judge import fees, postings
from kusanya_books.match import settlement
from kusanya_books.pack import close
from kusanya_books.pack.journals import account_map, journal_entries, journal_files
from kusanya_books.pack.journals.account_map import AccountMap
from kusanya_books.pack.journals.to_book import Booked, Continued
from kusanya_books.read import load, tariff_file
from kusanya_books.request.close_request import CloseRequest
from kusanya_console.cli.command_line import main

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
Kusanya = Callable[..., tuple[int, str, str]]
ACCOUNTS = """
currency = "TZS"
[accounts]
clearing = "Clearing"
receivable = "Receivable"
fee = "Charges"
vat = "VAT"
excise = "Excise"
refund = "Refunds"
bank = "=Bank"
[channels.MPESA_TZ]
clearing = "M-Pesa"
"""


def accounts(tmp_path: Path, text: str = ACCOUNTS) -> AccountMap:
    path = tmp_path / "accounts.toml"
    path.write_text(text, encoding="utf-8")
    return account_map.read(path)


def posted(*rows: dict[str, Any]) -> pd.DataFrame:
    plain = {
        "business_day": pd.Timestamp("2026-03-05"),
        "currency": "TZS",
        "channel": "MPESA_TZ",
        "kind": "collections",
        "break_code": None,
        "rows": 2,
        "gross": 0,
        "fee": 0,
        "excise": 0,
        "vat": 0,
        "net": 0,
    }
    made = [{**plain, **row} for row in rows]
    return columns.frame(
        POSTINGS, pd.DataFrame(made, columns=list(POSTINGS.columns), dtype="object")
    )


DAY = {"gross": 10_000, "fee": 180, "excise": 14, "vat": 27, "net": 9_820}


def cells(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode())))


@given(
    fee=st.integers(0, 10**12),
    excise=st.sampled_from([0, 1_000, 10_000]),
    vat=st.sampled_from([0, 1_800, 10_000]),
)
def test_taxes_are_whole_parts_of_the_fee(fee: int, excise: int, vat: int) -> None:
    of_excise, of_vat = postings.taxes(fee, excise=excise, vat=vat)
    bare = fee - of_excise - of_vat
    assert min(bare, of_excise, of_vat) >= 0
    assert (bare == fee) == (of_excise == of_vat == 0)
    # What stands on the bare fee again, each tax rounded, is the fee to the unit.
    assert abs(of_vat * 10_000 - (bare + of_excise) * vat) <= 10_000
    assert abs(of_excise * 10_000 - bare * excise) <= 10_000


def test_an_entry_has_each_part_on_its_account_and_balances(tmp_path: Path) -> None:
    found = journal_entries.journals(
        posted(
            DAY,
            {"kind": "payout", "net": 9_000},
            {"kind": "refund", "net": 500},
            {"channel": "AIRTEL_TZ", "gross": 100, "net": 100},
            {"currency": "KES", **DAY},
        ),
        accounts(tmp_path),
    )
    airtel, mpesa = found.entries
    assert re.fullmatch(r"20260305-[0-9a-f]{12}", mpesa.number)
    assert len(mpesa.number) <= 21
    assert [(line.account, line.amount) for line in mpesa.lines] == [
        *(("M-Pesa", 9_820), ("Charges", 139), ("Excise", 14), ("VAT", 27)),
        *(("Receivable", -10_000), ("=Bank", 9_000), ("M-Pesa", -9_000)),
        *(("Refunds", 500), ("M-Pesa", -500)),
    ]
    assert [(line.account, line.amount) for line in airtel.lines] == [
        *(("Clearing", 100), ("Receivable", -100)),
    ]
    assert found.other_currencies == {"KES": 1}


def test_a_day_that_does_not_balance_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PackRefused, match="2026-03-05 do not balance: debits - credits = -1"):
        journal_entries.journals(posted({**DAY, "net": 9_819}), accounts(tmp_path))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ACCOUNTS.replace("TZS", "shillings"), "currency is three letters"),
        (ACCOUNTS.replace("[accounts]", "[account]"), "accounts.toml cannot be used"),
    ],
)
def test_an_account_map_that_does_not_fit_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputRefused, match=says):
        accounts(tmp_path, text)


def test_every_account_that_is_missing_is_said_at_once(tmp_path: Path) -> None:
    text = ACCOUNTS.replace('vat = "VAT"', "").replace('bank = "=Bank"', "")
    found = journal_entries.journals(
        posted(
            DAY,
            {**DAY, "business_day": pd.Timestamp("2026-03-06")},
            {"kind": "payout", "net": 9_000, "channel": None},
            {"channel": "AIRTEL_TZ", "gross": 100, "net": 100},
        ),
        accounts(tmp_path, text),
    )
    assert len(found.entries) == 1
    assert found.missing == {"vat of MPESA_TZ": 2, "bank": 1}
    assert "names no account for bank (1 entries), vat of MPESA_TZ (2 entries)" in found.refusal


def test_money_of_breaks_goes_to_suspense_or_is_listed(tmp_path: Path) -> None:
    rows = posted(
        {"kind": "payout", "net": 100, "break_code": "settlement_over"},
        {"kind": "payout_break", "net": 10, "break_code": "settlement_over"},
        {"kind": "line_break", "net": -7, "break_code": "operator_reversed"},
        {"kind": "not_booked", "net": 55, "break_code": "settlement_duplicate"},
    )
    with_account = ACCOUNTS.replace('fee = "C', 'suspense = "Suspense"\nfee = "C')
    found = journal_entries.journals(rows, accounts(tmp_path, with_account))
    plain, of_breaks = found.entries
    assert [(line.account, line.amount) for line in plain.lines] == [
        ("=Bank", 100),
        ("M-Pesa", -100),
    ]
    assert "settlement_over" in plain.lines[0].text
    assert sorted((line.account, line.amount) for line in of_breaks.lines) == [
        ("=Bank", 10),
        ("M-Pesa", -7),
        ("Suspense", -10),
        ("Suspense", 7),
    ]
    assert of_breaks.memo.startswith("Breaks of")
    assert [(each.break_code, each.amount) for each in found.not_booked] == [
        ("settlement_duplicate", 55)
    ]
    bare = journal_entries.journals(rows, accounts(tmp_path))
    # The entry of what is no break is the same one, so that an account can be added later.
    assert [entry.number for entry in bare.entries] == [plain.number]
    assert sorted(each.amount for each in bare.not_booked) == [-7, 10, 55]
    listed = cells(journal_files.not_booked(bare))
    assert sorted(int(row["amount"]) for row in listed) == [-7, 10, 55]


def booked_by(run: str, postings: pd.DataFrame) -> Booked:
    return Booked(postings, (Continued(date.min, date.max, run),))


def test_a_day_that_is_closed_again_has_its_numbers_and_a_change_is_an_entry_of_its_own(
    tmp_path: Path,
) -> None:
    booked_on = accounts(tmp_path)
    other = {"business_day": pd.Timestamp("2026-03-06"), **DAY}
    first, second = posted(DAY, other), posted({**DAY, "gross": 10_500, "net": 10_320}, other)

    def made(now: pd.DataFrame, booked: pd.DataFrame | None = None) -> list[Any]:
        before = None if booked is None else booked_by("run", booked)
        return list(journal_entries.journals(now, booked_on, booked=before).entries)

    assert made(first) == made(posted(other, DAY))
    assert made(first, first) == []
    [changed] = made(second, first)
    assert [(line.account, line.amount) for line in changed.lines] == [
        ("M-Pesa", 500),
        ("Receivable", -500),
    ]
    assert "changed since it was closed" in changed.memo
    [back] = made(first, second)
    [gone] = made(posted(other), first)
    assert sum(line.amount for line in gone.lines if line.account == "Receivable") == 10_000
    numbers = [entry.number for entry in (*made(first), *made(second), changed, back, gone)]
    assert len(set(numbers)) == len(numbers) - 1


def test_money_that_comes_and_goes_and_comes_again_is_booked_each_time(tmp_path: Path) -> None:
    """An importer takes no number twice: every file is given to it twice, as people do."""
    booked_on = accounts(tmp_path)
    day, other = DAY, {"business_day": pd.Timestamp("2026-03-06"), **DAY}
    closes = [posted(day, other), posted(other), posted(day, other), posted(other), posted(day)]
    known: set[str] = set()
    balance: Counter[str] = Counter()
    before: Booked | None = None
    for run, now in enumerate(closes):
        entries = journal_entries.journals(now, booked_on, booked=before).entries
        for entry in (*entries, *entries):
            if entry.number not in known:
                known.add(entry.number)
                for line in entry.lines:
                    balance[line.account] += line.amount
        assert balance["M-Pesa"] == int(now["net"].sum()), f"after close {run}"
        before = booked_by(f"run {run}", now)


def test_each_program_gets_its_own_columns_and_no_formula(tmp_path: Path) -> None:
    booked_on = accounts(tmp_path)
    entries = journal_entries.journals(
        posted(DAY, {"kind": "payout", "net": 9_000}), booked_on
    ).entries
    [books] = journal_files.files(entries, booked_on, "quickbooks")
    rows = cells(books)
    [entry] = entries
    assert {(row["*JournalNo"], row["*JournalDate"]) for row in rows} == {
        (entry.number, "03/05/2026")
    }
    assert [row["*AccountName"] for row in rows][-2:] == ["'=Bank", "M-Pesa"]
    debit, credit = (sum(int(row[name] or 0) for row in rows) for name in ("*Debits", "*Credits"))
    assert debit == credit == 19_000
    [lines] = journal_files.files(entries, booked_on, "xero")
    rows = cells(lines)
    assert sum(int(row["*Amount"]) for row in rows) == 0
    assert {row["*Date"] for row in rows} == {"05/03/2026"}
    assert len({row["*Narration"] for row in rows}) == 1
    [moves] = journal_files.files(entries, booked_on, "odoo")
    rows = cells(moves)
    assert [row["id"] for row in rows] == [f"kusanya_{entry.number.replace('-', '_')}", *[""] * 6]
    assert rows[0]["ref"] == entry.number
    assert sum(int(row["line_ids/debit"]) - int(row["line_ids/credit"]) for row in rows) == 0


def test_xero_gets_files_of_300_lines_and_no_entry_is_split(tmp_path: Path) -> None:
    booked_on = accounts(tmp_path)
    days = [{**DAY, "business_day": day} for day in pd.date_range("2026-01-01", periods=90)]
    entries = journal_entries.journals(posted(*days), booked_on).entries
    made = journal_files.files(entries, booked_on, "xero")
    assert [len(cells(data)) for data in made] == [300, 150]
    assert journal_files.names("march", made) == ["march-1.csv", "march-2.csv"]
    named = [{row["*Narration"] for row in cells(data)} for data in made]
    assert not named[0] & named[1]


@pytest.mark.merge
def test_a_month_is_posted_with_its_payouts_refunds_and_taxes(tmp_path: Path) -> None:
    text = (
        '[[price]]\nchannel = "MPESA_TZ"\ncurrency = "TZS"\nbasis_points = "180"\n'
        'vat = 1800\nexcise = 1000\ntaxes = "inside"\n'
    )
    (tmp_path / "agreed.toml").write_text(text, encoding="utf-8")
    month = load.inputs(CloseRequest(period="2026-03", tariff=str(tmp_path / "agreed.toml")))
    daily = fees.daily(month.collections, period=month.period, tariff=month.tariff)
    found = postings.postings(month, daily, payouts=settlement.of(month)).rows
    columns.check(found, POSTINGS)
    taken = found[found["kind"] == "collections"]
    totals = daily[daily["business_day"].isna()]
    for name in ("gross", "fee", "net"):
        assert taken[name].sum() == totals[name].sum()
    mpesa = (taken["channel"] == "MPESA_TZ") & (taken["currency"] == "TZS")
    assert (taken.loc[mpesa, "vat"] > 0).all()
    assert (taken.loc[~mpesa, "vat"] == 0).all()
    matched = settlement.of(month)
    assert matched is not None
    paid_out = found[found["kind"] != "collections"]
    assert paid_out["net"].sum() == matched.rows["net_settled"].sum() > 0
    assert tariff_file.read(tmp_path / "agreed.toml")["vat_bps"].tolist() == [1_800, 1_800]


PRICES: list[dict[str, Any]] = [
    {"mode": "live", "last_day": pd.Timestamp("2026-03-09"), "vat_bps": 1_600},
    {"mode": "live", "first_day": pd.Timestamp("2026-03-10"), "vat_bps": 1_800},
    {"mode": "test", "vat_bps": 100},
    {"mode": "live", "channel": "TIGO_TZ", "vat_bps": 200},
    {"mode": "live", "currency": "KES", "vat_bps": 300, "excise_bps": None},
]
"""VAT that differs by each thing that a price is of; excise is 1,000 but for Kenya."""


@pytest.mark.merge
@pytest.mark.parametrize(
    ("of", "rates"),
    [
        ({"business_day": pd.Timestamp("2026-03-09")}, (1_000, 1_600)),
        ({"business_day": pd.Timestamp("2026-03-10")}, (1_000, 1_800)),
        ({"mode": "test"}, (1_000, 100)),
        ({"channel": "TIGO_TZ"}, (1_000, 200)),
        ({"currency": "KES"}, (0, 300)),
        ({"channel": "AIRTEL_TZ"}, (0, 0)),
    ],
)
def test_taxes_are_those_of_the_price_of_its_mode_currency_channel_and_day(
    of: dict[str, Any], rates: tuple[int, int]
) -> None:
    plain = {"currency": "TZS", "channel": "MPESA_TZ"}
    rows = [
        {**dict.fromkeys(TARIFF.columns), **plain, "excise_bps": 1_000, **price} for price in PRICES
    ]
    agreed = columns.frame(TARIFF, {name: [row[name] for row in rows] for name in TARIFF.columns})
    asked = {"mode": "live", "business_day": pd.Timestamp("2026-03-20"), **plain, **of}
    inputs = load.inputs(CloseRequest(mode="live", period="2026-03"))
    inputs = msgspec.structs.replace(inputs, tariff=agreed, mode=Mode(asked.pop("mode")))
    found = postings._rates(inputs, asked["business_day"], asked["currency"], asked["channel"])
    assert found == rates


@pytest.fixture
def kusanya(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Kusanya:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["kusanya", "journals", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


@pytest.mark.merge
def test_the_command_writes_what_the_pack_of_the_same_run_holds(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    accounts(tmp_path)
    result = close.finish(
        close.prepare(CloseRequest(period="2026-03-02", accounts="accounts.toml")),
        out="packs",
    )
    assert result.folder is not None
    for form, booked in (("quickbooks", ()), ("xero", ("--booked", "none")), ("odoo", ())):
        code, out, _ = kusanya(
            *("--pack", str(result.folder), "--accounts", "accounts.toml"),
            *("--format", form, "--out", "out.csv", *booked),
        )
        assert code == 0
        assert " entries in TZS, each balanced" in out
        assert (
            Path("out.csv").read_bytes()
            == (result.folder / "journals" / f"{form}.csv").read_bytes()
        )
    manifest = (result.folder / "manifest.json").read_text()
    assert '"journals/odoo.csv"' in manifest
    gap = ACCOUNTS.replace('bank = "=Bank"', "")
    accounts(tmp_path, gap)
    closing = close.prepare(CloseRequest(period="2026-03-02", accounts="accounts.toml"))
    written = close.finish(closing, out="gap")
    assert written.folder is not None
    assert (written.folder / "report.html").exists()
    assert {path.name for path in (written.folder / "journals").iterdir()} == {
        "missing_accounts.csv",
        "not_booked.csv",
    }
    code, _, err = kusanya(
        *("--pack", str(written.folder), "--accounts", "accounts.toml"),
        *("--format", "odoo", "--out", "x.csv"),
    )
    assert (code, "no journal entries: the account map names no account for bank" in err) == (
        1,
        True,
    )
    assert not Path("x.csv").exists()
    code, _, err = kusanya(
        *("--pack", ".", "--accounts", "accounts.toml", "--format", "odoo", "--out", "x.csv")
    )
    assert (code, "is not the folder of a pack" in err) == (1, True)
    code, _, err = kusanya(
        *("--pack", ".", "--accounts", "accounts.toml", "--format", "sage", "--out", "x.csv")
    )
    assert (code, "--format is one of quickbooks, xero, odoo" in err) == (2, True)


@pytest.mark.merge
@pytest.mark.parametrize(
    ("day", "taxes"),
    [
        *[("04", (0, 0)), ("05", (13_867, 27_458)), ("06", (13_867, 27_458))],
        *[("07", (14_862, 0)), ("09", (0, 0))],
    ],
)
def test_a_days_taxes_are_those_of_the_price_that_holds_on_it(
    tmp_path: Path, collections_of: Callable[..., pd.DataFrame], day: str, taxes: tuple[int, int]
) -> None:
    import msgspec

    price = '[[price]]\nchannel = "MPESA_TZ"\ncurrency = "TZS"\nfee = 180000\n'
    text = (
        f'{price}from = 2026-03-05\nto = 2026-03-06\nvat = 1800\nexcise = 1000\ntaxes = "inside"\n'
        f'{price}from = 2026-03-07\nto = 2026-03-08\nexcise = 900\ntaxes = "inside"\n'
        '[[price]]\nchannel = "MPESA_TZ"\ncurrency = "KES"\nfee = 1\nvat = 5000\ntaxes = "inside"\n'
        '[[price]]\nchannel = "TIGO_TZ"\ncurrency = "TZS"\nfee = 1\nvat = 5000\ntaxes = "inside"\n'
    )
    (tmp_path / "agreed.toml").write_text(text, encoding="utf-8")
    at = datetime.fromisoformat(f"2026-03-{day}T09:00:00+00:00")
    rows = collections_of(
        {"amount": 1_000_000, "fee": 180_000, "created_at": at, "completed_at": at}
    )
    month = msgspec.structs.replace(
        load.inputs(CloseRequest(period="2026-03", tariff=str(tmp_path / "agreed.toml"))),
        collections=rows,
        statement=None,
    )
    daily = fees.daily(rows, period=month.period, tariff=month.tariff)
    [posted_] = columns.records(postings.postings(month, daily).rows)
    assert (posted_.excise, posted_.vat) == taxes
