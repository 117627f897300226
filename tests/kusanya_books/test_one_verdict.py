"""One verdict counts everything that a pack knows, and says each with its count and its sum."""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.kit.payments import polled, watch

import kusanya_books as reconcile
from kusanya.state.observation import Observation
from kusanya.store import Store
from kusanya_books.judge import findings, report
from kusanya_books.judge.report import CloseResult, ReportVerdict
from kusanya_books.present import views
from kusanya_books.read import load
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.tolerance import Tolerance
from kusanya_console.cli.command_line import main

pytestmark = pytest.mark.usefixtures("no_settings")
openpyxl: Any = import_module("openpyxl")
NOON = datetime(2026, 3, 5, 9, tzinfo=UTC)
TARIFF = """
[[price]]
channel = "MPESA_TZ"
currency = "TZS"
fee = 10
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.db") as opened:
        for number in (1, 2, 3):
            opened.record(paid(number))
        watch(tmp_path / "store.db")
        yield opened


def paid(number: int, at: datetime | None = None, **fields: Any) -> Observation:
    created = at or NOON + timedelta(hours=number)
    return polled(number, created, **{"phone": f"25575412345{number}", **fields})


def books(folder: Path, *references: str) -> str:
    path = folder / "books.csv"
    lines = "".join(f"{reference},1000,TZS,2026-03-05\n" for reference in references)
    path.write_text(f"reference,amount,currency,booked_at\n{lines}", encoding="utf-8")
    return str(path)


def run(folder: Path, *references: str, month: int = 3, **options: Any) -> CloseResult:
    request = CloseRequest(
        period=f"2026-{month:02d}-01..2026-{month:02d}-30",
        mode="live",
        store=str(folder / "store.db"),
        ledger=books(folder, *references),
        **options,
    )
    return reconcile.run(request, out=folder / "packs")


def findings_of(ended: CloseResult) -> dict[str, tuple[int, int | None]]:
    return {row["finding"]: (row["rows"], row["amount"]) for row in ended.findings if row["rows"]}


@pytest.mark.merge
def test_fees_above_the_agreed_tariff_are_not_reconciled_and_stand_on_the_first_page(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / "tariff.toml").write_text(TARIFF)
    ended = run(tmp_path, "R-1", "R-2", "R-3", tariff=str(tmp_path / "tariff.toml"))
    assert (ended.verdict, ended.exit_code, ended.breaks) == ("breaks", 1, 0)
    assert findings_of(ended) == {"fees above the agreed tariff": (3, 24)}
    assert "What needs a person: fees above the agreed tariff 3" in ended.sentence
    assert ended.folder is not None
    book = openpyxl.load_workbook(ended.folder / "pack.xlsx")
    first = {row[0].value: row[1].value for row in book["summary"].iter_rows()}
    page = {row[0].value: (row[6].value, row[7].value) for row in book.worksheets[0].iter_rows()}
    book.close()
    assert page["fees above the agreed tariff"] == (3, 24)
    assert first["verdict"] == "breaks"
    assert first["fees above the agreed tariff, TZS"] == 3
    assert first["fees above the agreed tariff, TZS: sum"] == 24
    assert first["suspected double payments"] == 0
    text = (ended.folder / "report.html").read_text()
    assert text.index("fees above the agreed tariff</td>") < text.index("<nav>")
    # A limit of breaks is no leave to pay more than was agreed.
    within = run(tmp_path, "R-1", "R-2", "R-3", tariff=str(tmp_path / "tariff.toml"), max_breaks=9)
    assert within.exit_code == 1


def test_fees_that_the_tariff_does_not_price_are_counted(store: Store, tmp_path: Path) -> None:
    (tmp_path / "tariff.toml").write_text(TARIFF.replace("MPESA_TZ", "TIGO_TZ"))
    ended = run(tmp_path, "R-1", "R-2", "R-3", tariff=str(tmp_path / "tariff.toml"))
    assert findings_of(ended) == {"fees that the agreed tariff does not price": (3, 54)}
    assert ended.exit_code == 1


@pytest.mark.merge
def test_a_suspected_double_payment_is_not_reconciled_and_its_window_is_an_option(
    store: Store, tmp_path: Path
) -> None:
    again = NOON + timedelta(hours=1, minutes=9)
    store.record(paid(4, at=again, phone="255754123451"))
    names = ("R-1", "R-2", "R-3", "R-4")
    ended = run(tmp_path, *names)
    assert findings_of(ended) == {"suspected double payments": (1, 1_000)}
    assert (ended.verdict, ended.exit_code) == ("breaks", 1)
    narrow = run(tmp_path, *names, tolerance=Tolerance(double_minutes=8))
    assert (narrow.verdict, narrow.exit_code) == ("reconciled", 0)


@pytest.mark.merge
def test_late_changes_of_an_earlier_period_are_not_reconciled(store: Store, tmp_path: Path) -> None:
    closed = run(tmp_path, "R-1", "R-2", "R-3")
    assert (closed.exit_code, findings_of(closed)) == (0, {})
    store.record(paid(9, at=NOON + timedelta(hours=9)))
    april = run(tmp_path, "R-1", "R-2", "R-3", month=4, previous=str(closed.folder))
    late = {"late changes of an earlier period": (1, 1_000)}
    assert findings_of(april) == {**late, "open items of earlier periods": (1, 1_000)}
    booked = run(tmp_path, "R-1", "R-2", "R-3", "R-9", month=4, previous=str(closed.folder))
    assert findings_of(booked) == late
    assert (april.exit_code, booked.exit_code) == (1, 1)
    said = "The bridge closes to zero. What needs a person: late changes of an earlier period 1."
    assert booked.sentence == said, "no break is counted where there is none"


@pytest.mark.merge
def test_a_row_that_could_not_be_read_is_the_same_verdict_in_command_and_notebook(
    store: Store, tmp_path: Path
) -> None:
    ledger = books(tmp_path, "R-1", "R-2", "R-3")
    with Path(ledger).open("a", encoding="utf-8") as file:
        file.write("R-4,x,TZS,2026-03-05\n")
    path = str(tmp_path / "store.db")
    made = report.report(
        load.inputs(CloseRequest(store=path, mode="live", period="2026-03", ledger=ledger))
    )
    assert made.breaks == 0
    assert made.verdict(max_breaks=99) == "not closed"
    shown = views.verdict(made).to_html()
    assert ">not closed<" in shown
    assert ">reconciled<" not in shown
    request = CloseRequest(period="2026-03", mode="live", store=path, ledger=ledger)
    ended = reconcile.run(request, out=tmp_path / "packs")
    assert (ended.verdict, ended.exit_code) == ("not closed", 1)
    assert ended.run_id is not None
    assert findings_of(ended) == {"input rows that could not be read": (1, None)}


@pytest.mark.merge
def test_the_command_prints_every_finding_with_its_sum(
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "tariff.toml").write_text(TARIFF)
    (tmp_path / "empty.toml").touch()
    monkeypatch.setenv("KUSANYA_CONFIG", str(tmp_path / "empty.toml"))
    monkeypatch.chdir(tmp_path)
    store.record(paid(4, at=NOON + timedelta(hours=1, minutes=20), phone="255754123451"))
    ledger = books(tmp_path, "R-1", "R-2", "R-3", "R-4")
    given = f"--mode live --ledger {ledger} --store store.db --from 2026-03-01 --to 2026-03-31"
    given += " --out packs --tariff tariff.toml --double-minutes 20"

    def said(*more: str) -> str:
        monkeypatch.setattr(sys, "argv", ["kusanya", "reconcile", *given.split(), *more])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 1
        return capsys.readouterr().out

    lines = said().splitlines()
    assert "  suspected double payments: 1, TZS 1,000" in lines
    assert "  fees above the agreed tariff: 4, TZS 32" in lines
    findings = json.loads(said("--json"))["findings"]
    assert {"finding": "fees above the agreed tariff", "rows": 4, "amount": 32}.items() <= next(
        row for row in findings if row["finding"] == "fees above the agreed tariff"
    ).items()


@pytest.mark.parametrize("verdict", ReportVerdict)
def test_only_a_run_that_ends_with_zero_is_one_to_sign(verdict: ReportVerdict) -> None:
    ended = CloseResult(verdict=verdict, sentence="")
    assert (ended.exit_code == 0) == verdict.may_sign == ended.to_dict()["may_sign"]
    assert verdict.banner.endswith("do not sign.") != verdict.may_sign


@pytest.mark.parametrize(
    ("currency", "amount", "says"),
    [("TZS", 1_000, "TZS 1,000"), (None, 1_000, "1,000"), (pd.NA, 7, "7"), ("TZS", pd.NA, "")],
)
def test_a_sum_without_a_currency_is_a_number(currency: Any, amount: Any, says: str) -> None:
    assert findings.money(currency, amount) == says


def test_what_agrees_only_within_the_tolerance_is_said_with_its_sum_and_needs_nobody(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / "own.csv").write_text(
        "reference,amount,currency,booked_at\nR-1,1002,TZS,2026-03-05\n"
        "R-2,600,TZS,2026-03-05\nR-2,399,TZS,2026-03-05\nR-3,1000,TZS,2026-03-05\n"
    )
    (tmp_path / "paid_out.csv").write_text(
        "batch_id,business_day,channel,currency,gross,fee,net\n"
        "B1,2026-03-05,MPESA_TZ,TZS,2999,54,2945\n"
    )
    request = CloseRequest(
        period="2026-03-05",
        mode="live",
        store=str(tmp_path / "store.db"),
        ledger=str(tmp_path / "own.csv"),
        statement=str(tmp_path / "paid_out.csv"),
        tolerance=Tolerance(amount=2),
    )
    ended = reconcile.run(request, out=tmp_path / "packs")
    assert ended.verdict is ReportVerdict.RECONCILED
    # 2 of R-1, 1 of R-2 on three rows, 1 of the payout.
    assert findings_of(ended) == {"agreed only within the tolerance": (5, 4)}
