"""The pack on disk: a workbook, every table as CSV twice, a page that opens offline, a manifest.

All outside text passes `safe()`; then each writer's own rule keeps it text: the only formulas of a
workbook are sums of its own cells, it has no link, and a CSV for spreadsheets has no cell that
begins like a formula. What a cell cannot hold is cut and counted. The `.raw.csv` files are exact,
for machines only.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from kusanya.errors import PackRefused
from kusanya.platform.digest import digest_of
from kusanya_books import columns
from kusanya_books.columns import (
    CLOSED,
    ITEMS,
    LEDGER,
    MOVEMENTS,
    POSTINGS,
    STATEMENT,
    Schema,
)
from kusanya_books.engine.on_disk import even
from kusanya_books.judge.report import Report
from kusanya_books.match.ledger import Progress
from kusanya_books.pack.html_page import to_html
from kusanya_books.pack.imprint import Imprint
from kusanya_books.pack.summary import Summary
from kusanya_books.pack.tables import write_both
from kusanya_books.pack.workbook import to_xlsx
from kusanya_books.read.earlier_pack import (
    CLOSED_FILE,
    EARNED_FILE,
    ITEMS_FILE,
    LINES_FILE,
    MOVEMENTS_FILE,
    PAYOUTS_FILE,
    SETTLEMENT_FILE,
)


def write(
    made: Report,
    folder: Path,
    *,
    summary: Summary,
    imprint: Imprint,
    manifest: dict[str, Any],
    others: Mapping[str, bytes] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write a report's pack as `folder` and return it; it appears whole or not at all.

    `others` are more files of it, by their path in the folder. `progress` is called with what is
    being written.

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
            report_step=progress or (lambda _: None),
        )
        _put_in_place(beside, folder)
    except OSError as error:
        raise PackRefused(f"cannot write {folder}: {error.strerror}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return folder


def _put_in_place(made: Path, folder: Path) -> None:
    """Rename a folder that is whole; where another run was first, it must have made the same."""
    try:
        made.rename(folder)
    except OSError:
        there = folder / "manifest.json"
        if not there.exists():
            raise
        if there.read_bytes() != (made / "manifest.json").read_bytes():
            raise PackRefused(f"{folder} is there and differs; move it away first") from None
        os.utime(there)  # made again, it is the newest of its period


def _fill(
    made: Report,
    folder: Path,
    *,
    summary: Summary,
    imprint: Imprint,
    manifest: dict[str, Any],
    others: Mapping[str, bytes],
    report_step: Progress,
) -> None:
    folder.chmod(0o755)
    cut = _write_tables(made, folder, report_step)
    report_step(f"writing the pack: {CLOSED_FILE}")
    facts = _write_facts(made, folder)
    signed = msgspec.structs.replace(imprint, hashes=(*imprint.hashes, *facts))
    to_xlsx(made, folder / "pack.xlsx", summary=summary, imprint=signed, report_step=report_step)
    text = to_html(made, summary=summary, imprint=signed, report_step=report_step)
    (folder / "report.html").write_text(text, encoding="utf-8")
    for name, data in others.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    report_step("writing the pack: manifest.json")
    rows = {page.name: page.rows for page in made.pages}
    counts = {"rows": rows, "files": _files(folder), "cells_cut": cut}
    text = json.dumps({**manifest, **counts}, indent=2, sort_keys=True)
    (folder / "manifest.json").write_text(f"{text}\n", encoding="utf-8")


def _write_tables(made: Report, folder: Path, report_step: Progress) -> dict[str, int]:
    """Write each page as CSV twice; return by file how many cells had to be cut."""
    tables = folder / "csv"
    tables.mkdir()
    cut = {}
    for page in made.pages:
        report_step(f"writing the pack: csv/{page.name}.csv")
        names = (tables / f"{page.name}.csv", tables / f"{page.name}.raw.csv")
        cut[f"csv/{page.name}.csv"] = write_both(page.parts, *names)
    return {name: cells for name, cells in cut.items() if cells}


def _write_facts(made: Report, folder: Path) -> list[tuple[str, str]]:
    """Write what a later run reads of this one; return the digest of each file by its name."""
    kept = made.settlement_lines
    frames = (
        (ITEMS_FILE, ITEMS, made.items),
        (LINES_FILE, LEDGER, made.lines),
        (MOVEMENTS_FILE, MOVEMENTS, made.movements),
        (PAYOUTS_FILE, STATEMENT, made.payouts),
        (EARNED_FILE, POSTINGS, made.earned),
        (SETTLEMENT_FILE, STATEMENT, columns.empty(STATEMENT) if kept is None else kept),
    )
    facts: list[tuple[str, Schema, Iterable[pa.Table]]] = [
        (CLOSED_FILE, CLOSED, made.closed()),
        *((name, schema, [columns.to_arrow(frame, schema)]) for name, schema, frame in frames),
    ]
    return [(name, _keep(tables, schema, folder / name)) for name, schema, tables in facts]


def _files(folder: Path) -> dict[str, dict[str, str | int]]:
    return {
        str(path.relative_to(folder)): {"sha256": digest_of(path), "bytes": path.stat().st_size}
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _keep(tables: Iterable[pa.Table], schema: Schema, path: Path) -> str:
    """Write a table in pieces of as many rows whichever way it came; return the file's digest."""
    # To pyarrow a path as a:b is an address.
    with pq.ParquetWriter(path.absolute(), schema.arrow) as writer:
        for table in even(tables):
            writer.write_table(table.replace_schema_metadata())
    return digest_of(path)
