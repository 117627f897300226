"""Every notebook runs top to bottom, says nothing on stderr and shows what the library computes."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.kit.payments import polled

from kusanya.store import Store
from kusanya_books.judge import failures, report
from kusanya_books.match import ledger, settlement
from kusanya_books.pack import close
from kusanya_books.present import views
from kusanya_books.read import load
from kusanya_books.request.close_request import CloseRequest

Run = Callable[..., Any]


def outputs(notebook: Any, cell_id: str) -> Any:
    return next(cell.outputs for cell in notebook.cells if cell.id == cell_id)


def stderr(notebook: Any) -> str:
    return "".join(
        output.text
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "stream" and output.name == "stderr"
    )


def html(notebook: Any, cell_id: str) -> str:
    shown: str = outputs(notebook, cell_id)[0].data["text/html"]
    return shown


@pytest.mark.merge
def test_the_daily_notebook_shows_the_sample_month_as_the_library_computes_it(
    run_notebook: Run,
) -> None:
    ran = run_notebook("20_daily_reconciliation")
    day = load.inputs()
    made = report.report(day)
    summary = views.brief(made.page("fees").frame)
    codes = failures.pareto(day.collections, period=day.period)
    matched, settled = ledger.of(day), settlement.of(day)
    assert stderr(ran) == ""
    assert "sample data" in html(ran, "heading")
    assert (
        html(ran, "summary") == views.table(summary, "Fees by business day and channel").to_html()
    )
    assert html(ran, "codes") == views.table(codes, "Failure codes by count").to_html()
    bridge = views.leg(matched, "bridge", "From the ledger to the service").to_html()
    assert html(ran, "bridge") == bridge
    paid = views.leg(settled, "bridge", "From gross to what was paid out", wants="statement")
    assert html(ran, "settlement") == paid.to_html()
    assert "image/png" in outputs(ran, "summary-chart")[0].data
    assert "image/png" in outputs(ran, "codes-chart")[0].data
    assert html(ran, "verdict") == views.verdict(made).to_html()
    # The verdict and the way to it stand on top; what it is made from below.
    places = [cell.id for cell in ran.cells]
    top = ("load", "verdict", "bridge", "settlement", "breaks", "summary", "heading", "quality")
    assert [place for place in places if place in top] == list(top)
    assert ">3, KES 42,000; 42, TZS 1,058,264<" in html(ran, "verdict")


@pytest.mark.merge
def test_the_month_end_notebook_writes_the_pack_of_the_command(
    run_notebook: Run, tmp_path: Path
) -> None:
    noon = datetime(2026, 3, 5, 9, tzinfo=UTC)
    with Store.open(tmp_path / "shop.db") as store:
        for number in range(1, 6):
            store.record(polled(number, noon + timedelta(days=number)))
    books = tmp_path / "books.csv"
    books.write_text(
        "reference,amount,currency,booked_at\n"
        "R-1,1000,TZS,2026-03-06\nR-2,900,TZS,2026-03-07\nR-9,5,TZS,2026-03-07\n"
    )
    shop = str(tmp_path / "shop.db")
    given = {"STORE": shop, "MODE": "live", "LEDGER": str(books), "OUT": str(tmp_path / "packs")}
    ran = run_notebook("50_month_end_pack", given)
    closing = close.prepare(
        CloseRequest(store=shop, mode="live", period="2026-03", ledger=str(books))
    )
    made = close.finish(closing, out=str(tmp_path / "again"))
    assert stderr(ran) == ""
    assert made.breaks > 1
    assert made.run_id is not None
    assert made.run_id in html(ran, "pack")
    folders = [next((tmp_path / name).iterdir()) for name in ("packs", "again")]
    one, other = ((folder / "manifest.json").read_bytes() for folder in folders)
    assert one == other


@pytest.mark.ci
@pytest.mark.parametrize("name", ["00_start", "10_explorer", "30_fee_audit", "40_failure_codes"])
def test_a_notebook_runs_on_the_sample_month(run_notebook: Run, name: str) -> None:
    ran = run_notebook(name)
    assert stderr(ran) == ""
    assert all(cell.execution_count for cell in ran.cells if cell.cell_type == "code")


@pytest.mark.ci
@pytest.mark.parametrize(
    "name", ["20_daily_reconciliation", "30_fee_audit", "40_failure_codes", "50_month_end_pack"]
)
def test_a_report_of_an_empty_month_says_so(run_notebook: Run, name: str, tmp_path: Path) -> None:
    given = {"PERIOD": "2020-01"}
    if name.startswith("50"):
        given["OUT"] = str(tmp_path / "packs")
    assert stderr(run_notebook(name, given)) == ""
