"""The pack's page: every table and picture, offline, without a script."""

import base64
import html
from typing import Any, Final

import pandas as pd

from kusanya.reconcile.analysis.report import Page, Report
from kusanya.reconcile.notebook import chart, views
from kusanya.reconcile.pack.summary import Summary
from kusanya.text import safe

HTML_ROWS: Final = 200


def to_html(made: Report, *, summary: Summary) -> str:
    """Return the report as one page: plain tables and pictures, no script, nothing from outside.

    Of breaks and settlement it shows what differs, in the columns that people read; rows and
    columns that it leaves out are in the CSV files, and each table says how many rows those are.
    """
    facts = pd.DataFrame(
        {"": [name for name, _ in summary], "value": [_fact(value) for _, value in summary]},
        dtype="object",
    )
    parts = [_headline(made, dict(summary)), _part("summary", views.table(facts, "Summary"))]
    for page in made.pages:
        if page.name == "findings":
            continue  # they stand on top
        picture = _picture(page)
        if picture is not None:
            data = base64.b64encode(picture).decode()
            parts.append(f'<p><img alt="{page.name}" src="data:image/png;base64,{data}"></p>')
        parts.append(_part(page.name, views.table(*_read(page), rows=HTML_ROWS)))
    return _PAGE.format(body="\n".join(parts))


def _headline(made: Report, summary: dict[str, Any]) -> str:
    links = " · ".join(f'<a href="#{page.name}">{_named(page)}</a>' for page in made.pages)
    return (
        f"<h1>Reconciliation of {html.escape(str(made.inputs.period))}</h1>\n"
        f'<p class="verdict">{html.escape(safe(str(summary.get("what it means", "")), 400))}</p>\n'
        f"{_part('findings', views.table(made.findings, 'What needs a person'))}\n"
        f"<nav>{links}</nav>"
    )


def _named(page: Page) -> str:
    return page.name.replace("_", " ")


def _part(name: str, table: Any) -> str:
    # Scrolls by itself, so that a wide table does not make the whole page wide.
    return f'<div id="{name}" class="wide">{table.to_html()}</div>'


def _fact(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _read(page: Page) -> tuple[pd.DataFrame, str]:
    if page.name not in {"breaks", "settlement"} or page.frame.empty:
        return views.brief(page.frame), page.title
    shown = views.differing(page.frame)
    agree = len(page.frame) - len(shown)
    return views.brief(shown), f"{page.title}{f' · {agree:,} more agree' if agree else ''}"


def _picture(page: Page) -> bytes | None:
    if page.frame.empty:
        return None
    draw = {
        "fees": chart.daily,
        "failure_codes": chart.pareto,
        "recovery": chart.recovery,
        "ageing": chart.ageing,
    }
    return draw[page.name](page.frame).png() if page.name in draw else None


_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Reconciliation</title>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<style>
body {{ font: 14px/1.45 system-ui, sans-serif; margin: 2rem; color: #1c2733; max-width: 100rem }}
h1 {{ font-size: 1.5rem; margin: 0 0 0.3rem }} nav {{ margin: 0.8rem 0 }} nav a {{ color: #2a6f97 }}
.verdict {{ font-size: 1.15rem; font-weight: 600; margin: 0 }}
.wide {{ overflow-x: auto; margin: 1.5rem 0 }}
table {{ border-collapse: collapse }}
th, td {{ padding: 0.2rem 0.7rem; border-bottom: 1px solid #dde3e8; vertical-align: top }}
caption {{ font-size: 1.15rem }} img {{ max-width: 100% }}
@media print {{ @page {{ size: landscape }} .wide {{ overflow: visible }} nav {{ display: none }} }}
</style></head><body>
{body}
</body></html>
"""
