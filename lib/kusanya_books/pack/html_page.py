"""The pack's page: every table and picture, offline, without a script."""

import base64
import html
from typing import Any, Final

import pandas as pd

from kusanya.text import safe
from kusanya_books.judge import findings
from kusanya_books.judge.report import Report
from kusanya_books.judge.report_pages import ReportPage
from kusanya_books.match.ledger import Progress
from kusanya_books.pack.imprint import Imprint
from kusanya_books.pack.summary import Summary
from kusanya_books.present import chart, layout, stories, views

HTML_ROWS: Final = 200
PAPER_ROWS: Final = 100
"""How many rows of a table are printed."""
ON_PAPER: Final = frozenset(
    {
        *("findings", "open_items", "rolled_forward", "carried", "coverage", "accounted", "unread"),
        *("bridge", "settlement_bridge", "operator_bridge", "bank_bridge", "control_totals"),
        *("fee_exceptions", "late"),
    }
)
"""What is printed: what is open, and how it adds up. Every break is among what is open."""


def to_html(
    made: Report,
    *,
    summary: Summary,
    imprint: Imprint,
    report_step: Progress = lambda _: None,
) -> str:
    """Return the report as one page: plain tables and pictures, no script, nothing from outside.

    Of breaks and settlement it shows what differs, in the columns that people read; rows and
    columns that it leaves out are in the CSV files, and each table says how many rows those are.
    Printed, it is what a person signs: the tables of `ON_PAPER`, and every sheet of paper repeats
    the headings, the run and a verdict that is not clean.
    """
    facts = pd.DataFrame(
        {"": [name for name, _ in summary], "value": [_fact(value) for _, value in summary]},
        dtype="object",
    )
    found = stories.of(made)
    parts = [_headline(made, imprint)]
    for page in made.pages:
        if page.name == "findings":
            continue  # they stand on top
        report_step(f"writing the pack: {page.name} of report.html")
        picture = _picture(page)
        if picture is not None:
            data = base64.b64encode(picture).decode()
            image = f'<img alt="{page.name}" src="data:image/png;base64,{data}">'
            parts.append(f'<p class="screen">{image}</p>')
        parts.append(_part(page.name, _table(page, found), rows=len(page.frame)))
    parts.append(f'<div class="screen">{found.to_html()}</div>')
    parts.append(_part("summary", views.table(facts, "Facts of this run"), rows=len(facts)))
    parts.append(_sign_off(imprint))
    return _PAGE.format(
        body="\n".join(parts),
        line=_css_text(imprint.line),
        banner=_css_text(imprint.banner),
    )


def _headline(made: Report, imprint: Imprint) -> str:
    links = " · ".join(f'<a href="#{page.name}">{_named(page)}</a>' for page in made.pages)
    banner = f'<p class="banner">{html.escape(imprint.banner)}</p>\n' if imprint.banner else ""
    shown = made.findings[~made.findings["finding"].isin(findings.nil(made.findings))]
    nil = "; ".join(findings.nil(made.findings))
    return (
        f"<h1>Reconciliation of {html.escape(str(made.inputs.period))}</h1>\n{banner}"
        f'<p class="verdict">{html.escape(safe(imprint.sentence, 600))}</p>\n'
        f"<p>{html.escape(imprint.line)}</p>\n"
        f"{_part('findings', views.table(shown, 'What needs a person'), rows=len(shown))}\n"
        f"<p>Nil: {html.escape(nil)}.</p>\n"
        '<p class="paper">Printed is what is signed. The other tables, pictures and evidence are '
        "on this page where it is opened, and in the CSV files and the workbook beside it.</p>\n"
        f"<nav>{links}</nav>"
    )


def _sign_off(imprint: Imprint) -> str:
    """Return the place to sign, with what is signed."""
    hashes = "".join(
        f"<tr><td>SHA-256 of {html.escape(safe(name))}</td><td>{digest}</td></tr>"
        for name, digest in imprint.hashes
    )
    lines = "".join(
        f'<tr class="sign"><td>{who} by</td><td>name</td><td>signature</td><td>date</td></tr>'
        for who in ("prepared", "reviewed", "approved")
    )
    verdict = html.escape(safe(imprint.explained, 600))
    return (
        f'<section id="sign_off"><h2>Sign-off</h2><p>Run {imprint.run_id}, {verdict}</p>'
        f"<table>{hashes}</table><table>{lines}</table></section>"
    )


def _css_text(text: str) -> str:
    """Return text as it stands within the quotes of a style sheet."""
    return "".join(
        letter if letter.isalnum() or letter in " .,:·-" else f"\\{ord(letter):06x}"
        for letter in text
    )


def _named(page: ReportPage) -> str:
    return page.name.replace("_", " ")


def _part(name: str, table: Any, *, rows: int) -> str:
    # Scrolls by itself, so that a wide table does not make the whole page wide.
    more = ""
    if name in ON_PAPER and rows > PAPER_ROWS:
        said = f"The first {PAPER_ROWS} of {rows:,} rows: all are in csv/{name}.csv."
        more = f'<p class="paper">{said}</p>'
    where = "wide" if name in ON_PAPER and rows else "wide screen"
    return f'<div id="{name}" class="{where}">{table.to_html()}{more}</div>'


def _fact(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _table(page: ReportPage, found: stories.Stories) -> Any:
    frame, title = page.frame, page.title
    if "standing" in frame and "break_code" in frame and page.name != "ageing":
        frame = views.differing(page.frame)
        agree = len(page.frame) - len(frame)
        title = f"{title} · {agree:,} more agree" if agree else title
    return views.table(
        layout.read(frame),
        title,
        rows=HTML_ROWS,
        with_totals=True,
        of=None if page.every is None else page.rows,
        sums=page.sums,
        linked=found,
    )


def _picture(page: ReportPage) -> bytes | None:
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
.banner {{ background: #9b2226; color: #fff; padding: 0.4rem 0.8rem; font-weight: 600 }}
.wide {{ overflow-x: auto; margin: 1.5rem 0 }}
table {{ border-collapse: collapse }}
.story {{ margin: 1.2rem 0 }} .story caption {{ text-align: left; font-weight: 600 }}
.story:target {{ outline: 2px solid #2a6f97; outline-offset: 0.4rem }}
th, td {{ padding: 0.2rem 0.7rem; border-bottom: 1px solid #dde3e8; vertical-align: top }}
caption {{ font-size: 1.15rem }} img {{ max-width: 100% }}
.paper {{ display: none }}
.sign td {{ height: 3rem; width: 14rem; vertical-align: bottom; color: #5b6770 }}
@page {{
  size: A4 landscape; margin: 14mm 10mm 14mm 10mm;
  @top-center {{ content: "{banner}"; color: #9b2226; font: bold 10pt sans-serif }}
  @bottom-left {{ content: "{line}"; font: 9pt sans-serif; white-space: nowrap }}
  @bottom-right {{ content: "page " counter(page) " of " counter(pages); font: 9pt sans-serif }}
}}
@media print {{
  body {{ margin: 0; max-width: none; font-size: 9pt; line-height: 1.25 }} nav {{ display: none }}
  .wide {{ overflow: visible; margin: 4mm 0 }} .banner {{ print-color-adjust: exact }}
  table {{ max-width: 100% }} thead {{ display: table-header-group }}
  tr, img, #sign_off {{ break-inside: avoid }} caption, h2 {{ break-after: avoid }}
  .screen {{ display: none }} .paper {{ display: block }}
  .wide tbody tr:nth-child(n + 101) {{ display: none }}
  .wide th, .wide td {{
    padding: 0.3mm 1mm; white-space: normal !important; font-size: 9pt
  }}
  /* Ids stand in the CSV file, what a code means in the list of what is open. */
  #open_items tr > :is(:nth-child(7), :last-child), #rolled_forward tr > :nth-child(4) {{
    display: none
  }}
  .wide caption {{ white-space: normal !important; font-size: 11pt }}
  img {{ max-height: 120mm }}
}}
</style></head><body>
{body}
</body></html>
"""
