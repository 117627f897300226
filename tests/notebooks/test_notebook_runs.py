"""Every notebook runs top to bottom, says nothing on stderr and shows what the library computes."""

from collections.abc import Callable
from typing import Any

import pytest

from kusanya.reconcile import failures, fees, load, show

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


@pytest.mark.xdist_group("notebooks")
def test_the_daily_notebook_shows_the_sample_month_as_the_library_computes_it(
    run_notebook: Run,
) -> None:
    ran = run_notebook("20_daily_reconciliation")
    day = load.inputs()
    summary = fees.daily(day.collections, period=day.period)
    codes = failures.pareto(day.collections, period=day.period)
    assert stderr(ran) == ""
    assert "sample data" in html(ran, "load")
    assert html(ran, "summary") == show.table(summary, "Fees by business day and channel").to_html()
    assert html(ran, "codes") == show.table(codes, "Failure codes by count").to_html()
    assert "image/png" in outputs(ran, "summary-chart")[0].data
    assert "image/png" in outputs(ran, "codes-chart")[0].data


@pytest.mark.xdist_group("notebooks")
def test_the_daily_notebook_says_that_an_empty_month_is_empty(run_notebook: Run) -> None:
    ran = run_notebook("20_daily_reconciliation", {"PERIOD": "2020-01"})
    assert stderr(ran) == ""
    assert "<td" not in html(ran, "summary")
