"""Books, service, operator and bank in one run, as a person starts it; the receipts are kept."""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.kit.payments import polled

from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.cli.command_line import main

pytestmark = pytest.mark.usefixtures("no_settings")
NOON = datetime(2026, 3, 5, 9, tzinfo=UTC)
STATEMENT = """Organization statement
Receipt No.,Completion Time,Details,Transaction Status,Paid In,Withdrawn,Balance,Reason Type,A/C No.
RC0000001A,05/03/2026 12:00:10,Pay Bill,Completed,1000.00,,1000.00,Pay Bill,r-1
RC0000001A,05/03/2026 12:00:10,Charge,Completed,,-10.00,990.00,Pay Bill Charge,
RC0000002B,05/03/2026 13:00:10,Pay Bill,Completed,1000.00,,1990.00,Pay Bill,R-2
RC0000003C,05/03/2026 20:00:10,Pay Bill,Completed,750.00,,2740.00,Pay Bill,GONE
PO00000001,06/03/2026 08:00:00,To bank,Completed,,-1990.00,750.00,Settlement,
"""
BANK = "at,amount,currency,kind,details\n2026-03-07,1990,TZS,other,MM PO00000001 settlement\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "store.db") as store:
        for number in (1, 2, 3):
            at = NOON + timedelta(hours=number - 1)
            phone = f"25575412345{number}"
            store.record(polled(number, at, phone=phone, channel="MPESA_TZ", currency="TZS"))
        # Known up to days later, so that nothing is merely on its way.
        late = NOON + timedelta(days=20)
        store.record(polled(9, late, status="failed", failure_code="declined"))
    lines = "".join(f"R-{number},1000,TZS,2026-03-05\n" for number in (1, 2, 3))
    (tmp_path / "books.csv").write_text(f"reference,amount,currency,booked_at\n{lines}")
    (tmp_path / "mpesa.csv").write_text(STATEMENT)
    (tmp_path / "bank.csv").write_text(BANK)
    return tmp_path


def kusanya(*arguments: str) -> Any:
    """Run the command and return its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["kusanya", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
    return ended.value.code or 0


def reconcile(home: Path, *more: str) -> Any:
    return kusanya(
        *("reconcile", "--mode", "live", "--from", "2026-03-01", "--to", "2026-03-31"),
        *("--store", str(home / "store.db"), "--ledger", str(home / "books.csv")),
        *("--operator", f"mpesa:{home / 'mpesa.csv'}", "--bank", str(home / "bank.csv")),
        *("--out", str(home / "packs"), *more),
    )


@pytest.mark.merge
def test_every_leg_is_matched_and_has_its_sum_on_the_first_page(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "tolerance.toml").write_text("[settle_days_of]\nMPESA_TZ = 3\n")
    tolerance = ("--tolerance", str(home / "tolerance.toml"))
    assert reconcile(home, "--json", "--keep-receipts", *tolerance) == 1
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    found = {row["finding"]: (row["rows"], row["amount"]) for row in said["findings"]}
    assert said["by_code"] == {
        "operator_fee_differs": 1,
        "operator_missing": 1,
        "operator_unknown_here": 1,
    }
    assert found["breaks of the operator's statements"] == (3, 1_750 + 8)
    assert found["breaks of the bank's statements"] == (0, None)
    assert found["movements that the balances beside them deny"] == (0, None)
    assert (said["unexplained"], said["receipts"]) == (0, 2)
    pack = Path(said["folder"])
    assert "operator_unknown_here" in (pack / "csv" / "operator.raw.csv").read_text()
    assert "not in the balances" in (pack / "csv" / "operator_bridge.raw.csv").read_text()
    assert "settle days of MPESA_TZ" in (pack / "report.html").read_text()
    with Store.open(home / "store.db", read_only=True) as store:
        fact = store.receipts.find("rc0000001a", Mode.LIVE)[0]
    assert (fact.collection_id[-1], "mpesa.csv" in fact.source) == ("1", True)


@pytest.mark.merge
def test_a_receipt_that_is_known_finds_a_payment_of_which_the_statement_says_no_more(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reconcile(home, "--keep-receipts")
    assert "new receipts of the operator in the store: 2" in capsys.readouterr().out
    bare = STATEMENT.replace(",r-1\n", ",\n").replace(",R-2\n", ",\n")
    (home / "mpesa.csv").write_text(bare)
    assert reconcile(home, "--json", "--keep-receipts") == 1
    said = json.loads(capsys.readouterr().out)
    assert said["by_code"] == {
        "operator_fee_differs": 1,
        "operator_missing": 1,
        "operator_unknown_here": 1,
    }
    assert said["receipts"] == 0


def test_receipts_are_not_kept_without_a_statement_or_a_store(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--out", str(home / "packs"))
    days = ("--from", "2026-03-01", "--to", "2026-03-31")
    assert kusanya("reconcile", *days, *out, "--keep-receipts") == 2
    assert "receipts come from an operator's statement" in capsys.readouterr().err
    named = ("--operator", f"mpesa:{home / 'mpesa.csv'}")
    folder = ("--store", str(home))
    assert kusanya("reconcile", *days, *out, *named, *folder, "--keep-receipts") == 2
    assert "receipts are kept in a store" in capsys.readouterr().err
