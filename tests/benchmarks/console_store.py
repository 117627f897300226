"""A store with millions of collections, for measuring the console: made by SQL, not by ingest.

    uv run python tests/benchmarks/console_store.py FILE ROWS

Only what lists and figures read is filled: the projection with its indexes, the rollups and the
feed's head. Nothing stands in the journal, so `kusanya store check` would complain: this file is
for benchmarks alone. Its newest collection is a minute old when it is made.
"""

import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pysqlite3 import dbapi2

from kusanya.store import Store
from kusanya.store.tables.values import HOUR_US, to_us

SPAN = timedelta(days=400)
_FILL = """
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :rows),
made AS (
    SELECT i, i * 7919 % 195000 + 5000 AS amount, :start + i * :gap AS born, i % 20 AS fate,
           CASE i % 5 WHEN 0 THEN 'TIGO_TZ' WHEN 1 THEN 'AIRTEL_TZ' WHEN 2 THEN 'HALOPESA_TZ'
                      ELSE 'MPESA_TZ' END AS channel
    FROM n
)
INSERT INTO collection (
    id, seq, mode, status, amount, fee, currency, channel, phone, reference, failure_code,
    failure_message, created_at, completed_at, first_seen_at, final_seen_at, learned_from,
    event_id, contradictions, unwell
)
SELECT printf('col_%016x', i), i + 1, 'live',
       CASE WHEN fate < 17 THEN 'succeeded' WHEN fate < 19 THEN 'failed' ELSE 'expired' END,
       amount, amount / 77, 'TZS', channel, printf('2557%08d', i * 7919 % 100000000),
       printf('INV-%08d', i),
       CASE fate WHEN 17 THEN 'insufficient_funds' WHEN 18 THEN 'user_cancelled' END,
       CASE fate WHEN 17 THEN 'Customer balance too low.' END,
       born, born + 17000000, born + 182000, born + 17700000, 'event', printf('evt_%016x', i),
       0, fate >= 17
FROM made
"""
_SUM = """
INSERT INTO rollup (mode, hour, channel, currency, status, failure_code, count, amount, fee)
SELECT mode, created_at / :hour * :hour, channel, currency, status, coalesce(failure_code, ''),
       count(*), sum(amount), sum(fee)
FROM collection GROUP BY 1, 2, 3, 4, 5, 6
"""


def fill(path: Path, rows: int, *, newest_at: datetime) -> None:
    """Make the store at `path`; its last collection is created at `newest_at`."""
    Store.open(path).close()
    connection: Any = dbapi2.connect(str(path), isolation_level=None)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -1000000"):
        connection.execute(f"PRAGMA {pragma}")
    indexes = connection.execute(
        "SELECT name, sql FROM sqlite_master"
        " WHERE type = 'index' AND tbl_name = 'collection' AND sql IS NOT NULL"
    ).fetchall()
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    gap = SPAN // timedelta(microseconds=1) // rows
    start = to_us(newest_at) - gap * (rows - 1)
    connection.execute("BEGIN")
    connection.execute(_FILL, {"rows": rows, "start": start, "gap": gap})
    connection.execute(_SUM, {"hour": HOUR_US})
    connection.execute("UPDATE feed_head SET seq = ?", (rows,))
    connection.execute("COMMIT")
    for _, statement in indexes:
        connection.execute(statement)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()


def main(path: str, rows: str) -> None:
    """Make the store and tell how long it took."""
    began = time.monotonic()
    target = Path(path)
    fill(target, int(rows), newest_at=datetime.now(UTC) - timedelta(minutes=1))
    size = target.stat().st_size / 2**30
    sys.stdout.write(f"{rows} rows, {size:.2f} GiB, {time.monotonic() - began:.0f} s\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
