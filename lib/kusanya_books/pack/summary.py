"""What a pack says about itself: what it was made from, its run id, and its first sheet.

No wall clock takes part: the same inputs and version give the same identity, and so the same bytes.
"""

import hashlib
import json
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.text import safe
from kusanya_books import columns
from kusanya_books.judge import coverage, findings
from kusanya_books.judge.report import Report, ReportVerdict
from kusanya_books.read.sample.month import STORE_ID as SAMPLE
from kusanya_books.request import quality
from kusanya_books.request.days import Period, format_cutoff
from kusanya_books.request.report_inputs import EXPORT, Inputs

FORMAT: Final = 13
"""Of the pack; it is in the run id, because another layout is other bytes."""
_RUN_ID_HEX: Final = 16
Summary = list[tuple[str, Any]]
"""Lines of the first sheet: a label and its value."""


def identity(inputs: Inputs, files: dict[str, str | None]) -> dict[str, Any]:
    """Return everything that a pack was made from; `files` names what is no input."""
    # Imported here: the name of the schema's revision is all that is wanted of the migrations.
    from kusanya.store import REVISIONS

    span: Period = inputs.period
    return {
        "first": span.first.isoformat(),
        "last": span.last.isoformat(),
        "zone": "Africa/Dar_es_Salaam",
        "cutoff": format_cutoff(span.cutoff),
        "mode": inputs.mode.value,
        "basis": inputs.basis,
        "tolerance": msgspec.to_builtins(inputs.tolerance),
        "store_id": inputs.store_id,
        "as_of": inputs.as_of,
        "judged_on": inputs.judged_on.isoformat(),
        "expect": [each.name for each in inputs.expect],
        "inputs": {load.source: load.sha256 for load in inputs.quality if load.sha256},
        "layouts": {
            load.source: load.layout_sha256 for load in inputs.quality if load.layout_sha256
        },
        "files": files,
        "library": version("kusanya"),
        "schema": REVISIONS[-1],
        "format": FORMAT,
    }


def run_id(made_from: dict[str, Any]) -> str:
    """Return the name of a run: the same inputs give the same name."""
    text = json.dumps(made_from, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_RUN_ID_HEX]


def first_sheet(
    made: Report, run_id: str, verdict: ReportVerdict, made_from: dict[str, Any]
) -> Summary:
    """Return the lines of the pack's first sheet, in order: label and value."""
    inputs = made.inputs
    facts: list[tuple[str, Any]] = [
        ("verdict", verdict.value),
        ("what it means", sentence(made, verdict)),
        *(("look first", said) for said in made.look_first),
        *(("not proven", said) for said in made.unproven),
        *(("compared, of what succeeded", said) for said in [_covered(made)] if said),
        *_findings(made),
        ("business days", str(inputs.period)),
        ("money counts by", "business day of completion; fees and failures by day of creation"),
        ("mode", inputs.mode.value),
        ("source", _origin(inputs)),
        ("facts known up to", inputs.as_of),
        ("ages counted to", inputs.judged_on.isoformat()),
        ("run id", run_id),
        ("books of", made_from["entity"]),
        ("library", made_from["library"]),
        ("ledger books", f"{inputs.basis} amounts"),
        *_outside(made),
    ]
    facts += [(f"tolerance: {name}", value) for name, value in _tolerances(made_from["tolerance"])]
    facts += [(f"SHA-256 of {name}", value) for name, value in made_from["inputs"].items()]
    return facts


def _tolerances(said: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield every tolerance by its name, those of single channels one by one."""
    for name, value in said.items():
        label = name.replace("_", " ")
        if isinstance(value, dict):
            yield from ((f"{label} {safe(channel, 40)}", days) for channel, days in value.items())
        else:
            yield label, value


def _findings(made: Report) -> list[tuple[str, Any]]:
    """Return every finding with its count and its sum, the nil ones too."""
    facts: list[tuple[str, Any]] = []
    for row in columns.records(made.findings):
        if pd.isna(row.rows):
            facts.append((row.finding, row.note))
            continue
        name = row.finding if pd.isna(row.currency) else f"{row.finding}, {row.currency}"
        facts.append((name, int(row.rows)))
        if row.finding == findings.ACCEPTED:
            facts.append((f"{name}: names", row.note))
        if not pd.isna(row.amount):
            facts.append((f"{name}: sum", int(row.amount)))
    return facts


def _outside(made: Report) -> list[tuple[str, Any]]:
    """Return how many lines of the files lie outside the period, and their sum."""
    lines = made.page("lines").frame
    beyond = lines[lines["part"].isin(["before the period", "after the period"])]
    facts: list[tuple[str, Any]] = []
    for row in columns.records(beyond):
        name = f"{row.input} lines {row.part}, {row.currency}"
        facts.append((name, int(row.rows) + int(row.rows_not_paid)))
        facts.append((f"{name}: sum of those that are paid", int(row.amount)))
    return facts


def _origin(inputs: Inputs) -> str:
    """Return which data these are, by what the identity holds: a path would be other bytes."""
    if inputs.store_id == SAMPLE:
        return inputs.source
    if inputs.store_id.startswith(EXPORT):
        return "an export; the SHA-256 of its collections is below"
    return f"store {inputs.store_id}"


def sentence(made: Report, verdict: ReportVerdict) -> str:
    """Return what the verdict means, for people."""
    why = list(_not_closed(made))
    if why:
        return f"Not closed: {'; '.join(why)}."
    if made.unexplained or made.disagrees:
        return "The bridge does not close: rows were lost or counted twice; do not sign."
    left = findings.left(made.findings, within=True)
    first = f"Look first: {'; '.join(made.look_first)}. " if made.look_first else ""
    if verdict is ReportVerdict.NOT_PROVEN:
        return f"{first}Not proven: {'; '.join(made.unproven)}."
    if made.matched is not None and made.matched.ageing.empty and not made.breaks and left.empty:
        return "Nothing to reconcile: the period has no collection and no line of the books."
    given = _accepted(made)
    if verdict is ReportVerdict.RECONCILED and not made.breaks:
        agree = "The books agree with the service, and the bridge closes to zero."
        agree += f" Compared, of {_covered(made)}."
        but = f"The bridge closes to zero, and nothing is left to do but for {given}."
        return but if given else agree
    within = " (within the limit)" if verdict is ReportVerdict.RECONCILED else ""
    parts = [f"breaks {made.breaks:,}"] if made.breaks else []
    parts += [f"{row.finding} {row.rows:,}" for row in columns.records(left)]
    also = f"; {given}" if given else ""
    lacks = f" Not proven: {'; '.join(made.unproven)}." if made.unproven else ""
    needs = f"What needs a person{within}: {', '.join(parts)}{also}."
    return f"{first}The bridge closes to zero. {needs}{lacks}"


def _covered(made: Report) -> str:
    """Return how much of what succeeded each leg compared; of nothing it is no money."""
    return "; ".join(coverage.in_words(made.coverage)) or "no payment"


def _accepted(made: Report) -> str:
    """Return what was accepted by name, for people; empty for nothing."""
    rows = made.findings[made.findings["finding"] == findings.ACCEPTED]
    if rows.empty:
        return ""
    money = " and ".join(findings.money(row.currency, row.amount) for row in columns.records(rows))
    count, note = int(rows["rows"].sum()), rows["note"].iloc[0]
    return f"{count:,} accepted {safe(note, 120)}, worth {money}"


def _not_closed(made: Report) -> Iterator[str]:
    """Yield why a period is not closed: rows not read, or lost, or totals that do not agree."""
    inputs = made.inputs
    if len(made.lost):
        files = ", ".join(sorted(set(made.lost["input"])))
        yield f"lines of {safe(files, 120)} are in no result, or in two"
    if inputs.rejected:
        yield _unread(inputs)
    for load in inputs.differing:
        total = load.total
        if total is not None:
            and_unread = f", with {total.unread:,} unread" if total.unread else ""
            yield (
                f"{load.source} states a total of {safe(total.currency or '', 8)} "
                f"{total.stated:,}, and its rows come to {total.read:,}{and_unread}"
            )


def _unread(inputs: Inputs) -> str:
    rejected = [(load.source, row) for load in inputs.quality for row in load.rejected]
    source, first = rejected[0]
    column = f', column "{first.column}"' if first.column else ""
    sums = columns.records(quality.unread_lines(*inputs.quality))
    known = [findings.money(line.currency, line.amount) for line in sums]
    known = [text for text in known if text]
    money = f", worth {' and '.join(known)} where it could be read" if known else ""
    more = f", and {len(rejected) - 1:,} more on the page unread" if len(rejected) > 1 else ""
    return (
        f"{len(rejected):,} input row(s) could not be read{money}: "
        f"{source}, row {first.row}{column}: {first.reason}{more}"
    )
