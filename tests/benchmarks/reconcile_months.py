"""Months of any size for the benchmarks of reconciliation: Parquet, CSV, and a store.

Made by DuckDB from hashes of row numbers, so that ten million rows take seconds and the same size
is the same month. One reference in twenty was tried twice; one ledger line in a hundred is wrong:
missing, doubled, unknown to the provider, of another amount, fee, status or day.
"""
# ruff: noqa: S608 - every query is made of this file's own constants

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import duckdb
from sqlalchemy import insert, text

from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.store.tables.engine import engines
from kusanya.store.tables.payload import pack
from kusanya.store.tables.schema import collection, feed_head, observation, rollup
from kusanya.wire import Mode, decode_collection

BEGINS: Final = "1772312400000000"
"""Microseconds of 2026-03-01 00:00 in East Africa Time."""
SPAN: Final = "2678000000000"
"""Microseconds of a month of 31 days, less some minutes."""
_EAT: Final = "10800000000"

_COLLECTIONS: Final = f"""
CREATE OR REPLACE TEMP VIEW made AS
WITH numbered AS (
    SELECT i, i * 20 // 21 AS ref, i * 20 // 21 = (i + 1) * 20 // 21 AS again,
        i > 0 AND (i - 1) * 20 // 21 = i * 20 // 21 AS second
    FROM range({{rows}}) AS t(i)
),

drawn AS (
    SELECT *, hash(ref) AS h, (hash(i, 'status') % 1000)::INT AS luck, hash(i, 'id') AS token
    FROM numbered
),

started AS (
    SELECT *,
        CASE
            WHEN again THEN 'failed'
            WHEN luck < 860 THEN 'succeeded'
            WHEN luck < 950 THEN 'failed'
            WHEN luck < 995 THEN 'expired'
            ELSE 'created'
        END AS status,
        ({BEGINS} + h % {SPAN} + CASE WHEN second THEN 600000000 ELSE 0 END)::BIGINT AS created,
        500 + ((h >> 7) % 2000)::BIGINT * 100 AS amount,
        ((h >> 20) % 100)::INT AS place,
        ((h >> 30) % 3000000)::BIGINT AS payer
    FROM drawn
)

SELECT *,
    CASE
        WHEN place < 46 THEN 'MPESA_TZ'
        WHEN place < 70 THEN 'TIGO_TZ'
        WHEN place < 88 THEN 'AIRTEL_TZ'
        ELSE 'HALOPESA_TZ'
    END AS channel,
    CASE status
        WHEN 'created' THEN NULL ELSE created + 4000000 + (luck * 86000)::BIGINT
    END AS done,
    greatest(9, (amount * 180 + 9999) // 10000)::BIGINT AS fee,
    CASE WHEN status = 'failed' THEN ['insufficient_funds', 'user_cancelled', 'invalid_pin',
        'payer_unreachable', 'payer_limit_reached'][1 + luck % 5] END AS failure_code
FROM started
"""

_FRAME: Final = f"""
SELECT
    format('col_{{:016x}}', token) AS id,
    'live' AS mode,
    'TZS' AS currency,
    channel,
    format('INV-2603-{{:08d}}', ref) AS reference,
    format('+255•••••{{:03d}}', payer % 1000) AS phone_masked,
    format('{{:016x}}', hash(payer)) AS phone_key,
    amount,
    fee,
    status,
    failure_code,
    make_timestamptz(created) AS created_at,
    make_timestamptz(done) AS completed_at,
    make_timestamp((created + {_EAT}) // 86400000000 * 86400000000) AS created_day,
    (created + {_EAT}) // 3600000000 % 24 AS created_hour,
    ((created + {_EAT}) // 86400000000 + 3) % 7 AS created_weekday,
    make_timestamp((done + {_EAT}) // 86400000000 * 86400000000) AS business_day,
    CASE WHEN done IS NOT NULL THEN 'completed_at' END AS day_source,
    fee AS fee_202,
    fee AS fee_event,
    NULL::BIGINT AS fee_get,
    0::BIGINT AS contradictions,
    i + 1 AS seq
FROM made
ORDER BY created, id
"""

_LEDGER: Final = f"""
WITH lines AS (
    SELECT *, (hash(i, 'fault') % 1000)::INT AS fault, coalesce(done, created) + 30000000 AS booked
    FROM made
),

listed AS (
    SELECT 0 AS extra, * FROM lines WHERE fault NOT IN (0, 1)
    UNION ALL
    SELECT 1 AS extra, * FROM lines WHERE fault IN (2, 3)
)

SELECT
    row_number() OVER (ORDER BY booked, i, extra) AS row_no,
    CASE
        WHEN extra = 1 AND fault = 3 THEN format('LOST-{{:08d}}', i)
        ELSE format('INV-2603-{{:08d}}', ref)
    END AS reference,
    NULL::VARCHAR AS collection_id,
    CASE WHEN fault IN (4, 5) THEN amount + 1000 ELSE amount END AS amount,
    CASE WHEN fault IN (6, 7) THEN fee + 5 ELSE fee END AS fee,
    'TZS' AS currency,
    channel,
    CASE
        WHEN (status = 'succeeded') <> (fault = 8) THEN 'paid'
        WHEN status = 'created' THEN 'open'
        ELSE 'not_paid'
    END AS status,
    moment AS booked,
    make_timestamptz(moment) AS booked_at,
    make_timestamp((moment + {_EAT}) // 86400000000 * 86400000000) AS booked_day
FROM (SELECT *, booked + CASE WHEN fault = 9 THEN 86400000000 ELSE 0 END AS moment FROM listed)
ORDER BY row_no
"""


def write(folder: Path, rows: int) -> None:
    """Write collections.parquet, ledger.parquet and ledger.csv of `rows` collections."""
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        con.execute(_COLLECTIONS.format(rows=rows))
        con.execute(f"COPY ({_FRAME}) TO '{folder}/collections.parquet'")
        con.execute(
            f"COPY (SELECT * EXCLUDE (booked) FROM ({_LEDGER})) TO '{folder}/ledger.parquet'"
        )
        con.execute(
            f"""COPY (
                SELECT reference, amount, fee, currency, channel, status,
                    strftime(make_timestamp(booked), '%Y-%m-%dT%H:%M:%SZ') AS booked_at
                FROM ({_LEDGER}) ORDER BY row_no
            ) TO '{folder}/ledger.csv' (HEADER)"""
        )


_STORED: Final = """
SELECT
    format('col_{:016x}', token) AS id,
    2 * row_number() OVER (ORDER BY created, id) AS seq,
    'live' AS mode,
    status,
    amount,
    fee,
    'TZS' AS currency,
    channel,
    format('2557{:08d}', payer) AS phone,
    format('INV-2603-{:08d}', ref) AS reference,
    failure_code,
    created AS created_at,
    done AS completed_at,
    created AS first_seen_at,
    done AS final_seen_at,
    CASE WHEN done IS NOT NULL THEN 'event' END AS learned_from,
    0 AS contradictions,
    0 AS unwell
FROM made
ORDER BY seq
"""
_HOURLY: Final = """
SELECT
    'live' AS mode, created // 3600000000 * 3600000000 AS hour, channel, 'TZS' AS currency, status,
    coalesce(failure_code, '') AS failure_code, count(*) AS count, sum(amount)::BIGINT AS amount,
    sum(fee)::BIGINT AS fee
FROM made
GROUP BY ALL
ORDER BY ALL
"""
_PIECE: Final = 20_000


def store(path: Path, rows: int, *, facts: bool = False) -> None:
    """Make a store of `rows` collections; with `facts` also what the 202 and the event said."""
    Store.open(path).close()
    found = engines(str(path))
    with duckdb.connect() as con, found.writer.begin() as writing:
        con.execute(_COLLECTIONS.format(rows=rows))
        indexes = sorted(collection.indexes, key=lambda index: str(index.name))
        for index in indexes:
            index.drop(writing)
        for piece in _pieces(con, _STORED):
            writing.execute(insert(collection), piece)
            if facts:
                writing.execute(
                    insert(observation), [fact for row in piece for fact in _facts(row)]
                )
        for piece in _pieces(con, _HOURLY):
            writing.execute(insert(rollup), piece)
        for index in indexes:
            index.create(writing)
        writing.execute(text(f"UPDATE {feed_head.name} SET seq = {2 * rows}"))
    found.dispose()


def _pieces(con: duckdb.DuckDBPyConnection, query: str) -> Iterator[list[dict[str, Any]]]:
    for batch in con.sql(query).to_arrow_reader(_PIECE):
        yield batch.to_pylist()


def _facts(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield _fact(row, row["seq"] - 1, Source.ANSWER, "created", row["created_at"])
    if row["completed_at"] is not None:
        yield _fact(row, row["seq"], Source.EVENT, row["status"], row["completed_at"])


def _fact(row: dict[str, Any], seq: int, source: Source, status: str, at: int) -> dict[str, Any]:
    done = f',"completed_at":"{_instant(at)}"' if status != "created" else ""
    code = f',"failure_code":"{row["failure_code"]}"' if status == "failed" else ""
    said = (
        f'{{"id":"{row["id"]}","object":"collection","status":"{status}","amount":{row["amount"]},'
        f'"fee":{row["fee"]},"currency":"TZS","channel":"{row["channel"]}",'
        f'"phone":"{row["phone"]}","reference":"{row["reference"]}","mode":"live",'
        f'"created_at":"{_instant(row["created_at"])}"{done}{code}}}'
    )
    event = None if source is Source.ANSWER else f"evt_{seq}"
    digest, payload = pack(
        Observation(
            source=source,
            source_id=event or f"key-{seq}",
            observed_at=datetime.fromtimestamp(at / 1e6, UTC),
            observed_in=Mode.LIVE,
            collection=decode_collection(said.encode()),
            event_id=event,
            event_type=event and f"collection.{status}",
            event_created_at=datetime.fromtimestamp(at / 1e6, UTC) if event else None,
        )
    )
    return {
        "seq": seq,
        "collection_id": row["id"],
        "mode": "live",
        "observed_at": at,
        "digest": digest,
        "payload": payload,
    }


def _instant(at: int) -> str:
    return datetime.fromtimestamp(at / 1e6, UTC).isoformat(timespec="milliseconds")
