"""The pack on disk: a workbook, every table as CSV twice, a page that opens offline, a manifest.

All outside text passes `safe()`; then each writer's own rule keeps it text: a workbook has no
formula and no link, a CSV for spreadsheets no cell that begins like a formula. What a cell cannot
hold is cut and counted. The `.raw.csv` files are exact, for machines only.
"""

import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from kusanya.errors import PackRefused
from kusanya.reconcile.analysis.report import Report
from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import CLOSED
from kusanya.reconcile.pack.html_page import to_html
from kusanya.reconcile.pack.summary import Summary
from kusanya.reconcile.pack.tables import to_csv, to_raw_csv
from kusanya.reconcile.pack.workbook import to_xlsx


def write(made: Report, folder: Path, *, summary: Summary, manifest: dict[str, Any]) -> Path:
    """Write a report's pack as `folder` and return it; it appears whole or not at all.

    Where the folder is there already with the same contents it is left alone. Raises PackRefused
    when it cannot be written, or when what is there differs.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=".kusanya-", dir=folder.parent))
    except OSError as error:
        raise PackRefused(f"cannot write into {folder.parent}: {error.strerror}") from None
    try:
        _fill(made, beside, summary=summary, manifest=manifest)
        if not folder.exists():
            beside.rename(folder)
        elif (folder / "manifest.json").read_bytes() != (beside / "manifest.json").read_bytes():
            raise PackRefused(f"{folder} is there and differs; move it away first")
    except OSError as error:
        raise PackRefused(f"cannot write {folder}: {error.strerror}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return folder


def _fill(made: Report, folder: Path, *, summary: Summary, manifest: dict[str, Any]) -> None:
    folder.chmod(0o755)
    tables = folder / "csv"
    tables.mkdir()
    cut = {}
    for page in made.pages:
        cut[f"csv/{page.name}.csv"] = to_csv(page.frame, tables / f"{page.name}.csv")
        to_raw_csv(page.frame, tables / f"{page.name}.raw.csv")
    to_xlsx(made, folder / "pack.xlsx", summary=summary)
    (folder / "report.html").write_text(to_html(made, summary=summary), encoding="utf-8")
    pq.write_table(columns.to_arrow(made.closed, CLOSED), folder / "closed.parquet")
    files = {
        str(path.relative_to(folder)): {
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "bytes": path.stat().st_size,
        }
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    rows = {page.name: len(page.frame) for page in made.pages}
    counts = {"rows": rows, "files": files, "cells_cut": {name: n for name, n in cut.items() if n}}
    text = json.dumps({**manifest, **counts}, indent=2, sort_keys=True)
    (folder / "manifest.json").write_text(f"{text}\n", encoding="utf-8")
