"""The pack on disk: a workbook, every table as CSV twice, a page that opens offline, a manifest.

All outside text passes `safe()`; then each writer's own rule keeps it text: the only formulas of a
workbook are sums of its own cells, it has no link, and a CSV for spreadsheets has no cell that
begins like a formula. What a cell cannot hold is cut and counted. The `.raw.csv` files are exact,
for machines only.
"""

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from kusanya.errors import PackRefused
from kusanya.reconcile.analysis.report import Report
from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import CLOSED, ITEMS, LEDGER, MOVEMENTS, STATEMENT
from kusanya.reconcile.inputs.earlier_pack import (
    CLOSED_FILE,
    ITEMS_FILE,
    LINES_FILE,
    MOVEMENTS_FILE,
    PAYOUTS_FILE,
)
from kusanya.reconcile.pack.html_page import to_html
from kusanya.reconcile.pack.imprint import Imprint, digest
from kusanya.reconcile.pack.summary import Summary
from kusanya.reconcile.pack.tables import write_both
from kusanya.reconcile.pack.workbook import to_xlsx


def write(
    made: Report,
    folder: Path,
    *,
    summary: Summary,
    imprint: Imprint,
    manifest: dict[str, Any],
    others: Mapping[str, bytes] | None = None,
) -> Path:
    """Write a report's pack as `folder` and return it; it appears whole or not at all.

    `others` are more files of it, by their path in the folder.

    Where the folder is there already with the same contents it is left alone. Raises PackRefused
    when it cannot be written, or when what is there differs.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=".kusanya-", dir=folder.parent))
    except OSError as error:
        raise PackRefused(f"cannot write into {folder.parent}: {error.strerror}") from None
    try:
        _fill(
            made,
            beside,
            summary=summary,
            imprint=imprint,
            manifest=manifest,
            others=others or {},
        )
        if not folder.exists():
            beside.rename(folder)
        elif (folder / "manifest.json").read_bytes() != (beside / "manifest.json").read_bytes():
            raise PackRefused(f"{folder} is there and differs; move it away first")
    except OSError as error:
        raise PackRefused(f"cannot write {folder}: {error.strerror}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return folder


def _fill(
    made: Report,
    folder: Path,
    *,
    summary: Summary,
    imprint: Imprint,
    manifest: dict[str, Any],
    others: Mapping[str, bytes],
) -> None:
    folder.chmod(0o755)
    tables = folder / "csv"
    tables.mkdir()
    cut = {}
    for page in made.pages:
        names = (tables / f"{page.name}.csv", tables / f"{page.name}.raw.csv")
        cut[f"csv/{page.name}.csv"] = write_both(page.frame, *names)
    tables_kept = {
        CLOSED_FILE: columns.to_arrow(made.closed, CLOSED),
        ITEMS_FILE: columns.to_arrow(made.items, ITEMS),
        LINES_FILE: columns.to_arrow(made.lines, LEDGER),
        MOVEMENTS_FILE: columns.to_arrow(made.movements, MOVEMENTS),
        PAYOUTS_FILE: columns.to_arrow(made.payouts, STATEMENT),
    }
    for name, table in tables_kept.items():
        pq.write_table(table, folder / name)
    facts = [(name, digest((folder / name).read_bytes())) for name in tables_kept]
    signed = msgspec.structs.replace(imprint, hashes=(*imprint.hashes, *facts))
    to_xlsx(made, folder / "pack.xlsx", summary=summary, imprint=signed)
    text = to_html(made, summary=summary, imprint=signed)
    (folder / "report.html").write_text(text, encoding="utf-8")
    for name, data in others.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    files = {
        str(path.relative_to(folder)): {
            "sha256": digest(path.read_bytes()),
            "bytes": path.stat().st_size,
        }
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    rows = {page.name: len(page.frame) for page in made.pages}
    counts = {"rows": rows, "files": files, "cells_cut": {name: n for name, n in cut.items() if n}}
    text = json.dumps({**manifest, **counts}, indent=2, sort_keys=True)
    (folder / "manifest.json").write_text(f"{text}\n", encoding="utf-8")
