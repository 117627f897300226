"""The tables, as a list of named scripts that only grows.

`PRAGMA user_version` counts the scripts that a file has had. All `_at` and `due` columns are
milliseconds: `due_at`, `received_at`, `lit_at` and `disabled_at` in monotonic time, the others in
wall time (clock.py). Amounts live inside the bodies as integers, exactly as they were answered.
"""

from typing import Final

MIGRATIONS: Final[tuple[tuple[str, str], ...]] = (
    (
        "first",
        """
        CREATE TABLE meta (
            name TEXT PRIMARY KEY,
            value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE api_key (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            mode TEXT NOT NULL CHECK (mode IN ('test', 'live')),
            access TEXT NOT NULL CHECK (access IN ('full', 'read')),
            digest BLOB NOT NULL UNIQUE,
            hint TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            revoked_at INTEGER
        ) STRICT;

        CREATE TABLE collection (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            mode TEXT NOT NULL CHECK (mode IN ('test', 'live')),
            status TEXT NOT NULL,
            outcome TEXT NOT NULL,
            twice INTEGER NOT NULL CHECK (twice IN (0, 1)),
            due_at INTEGER,
            created_body BLOB NOT NULL,
            final_body BLOB,
            CHECK ((status = 'created') = (final_body IS NULL))
        ) STRICT;
        -- resume: what is still open
        CREATE INDEX collection_open ON collection (due_at) WHERE due_at IS NOT NULL;

        CREATE TABLE idempotency (
            scope BLOB PRIMARY KEY,
            body BLOB NOT NULL,
            collection INTEGER NOT NULL REFERENCES collection (seq),
            received_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        -- forget: what is past its retention
        CREATE INDEX idempotency_age ON idempotency (received_at);

        CREATE TABLE event (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            collection INTEGER NOT NULL UNIQUE REFERENCES collection (seq),
            mode TEXT NOT NULL CHECK (mode IN ('test', 'live')),
            type TEXT NOT NULL,
            body BLOB NOT NULL
        ) STRICT;

        CREATE TABLE endpoint (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            mode TEXT NOT NULL CHECK (mode IN ('test', 'live')),
            url TEXT NOT NULL,
            secret TEXT NOT NULL,
            old_secret TEXT,
            old_secret_until INTEGER,
            lit_at INTEGER,
            disabled_at INTEGER,
            created_at INTEGER NOT NULL,
            deleted_at INTEGER
        ) STRICT;

        CREATE TABLE delivery (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            event INTEGER NOT NULL REFERENCES event (seq),
            endpoint INTEGER NOT NULL REFERENCES endpoint (seq),
            copies INTEGER NOT NULL CHECK (copies >= 0),
            status TEXT NOT NULL CHECK (status IN ('pending', 'held', 'succeeded', 'failed')),
            tried INTEGER NOT NULL,
            due_at INTEGER
        ) STRICT;
        -- deliveries of an event, for the dashboard
        CREATE INDEX delivery_event ON delivery (event);
        -- resume: what is still to be sent
        CREATE INDEX delivery_pending ON delivery (due_at) WHERE status = 'pending';
        -- hold and release: one endpoint's open deliveries; the list by endpoint
        CREATE INDEX delivery_endpoint ON delivery (endpoint, status, seq);
        -- the list by status
        CREATE INDEX delivery_status ON delivery (status, seq);

        CREATE TABLE attempt (
            delivery INTEGER NOT NULL REFERENCES delivery (seq),
            number INTEGER NOT NULL,
            manual INTEGER NOT NULL CHECK (manual IN (0, 1)),
            started_at INTEGER NOT NULL,
            ended_at INTEGER NOT NULL,
            duration_ms INTEGER NOT NULL,
            outcome TEXT NOT NULL,
            status_code INTEGER,
            error TEXT,
            PRIMARY KEY (delivery, number)
        ) STRICT, WITHOUT ROWID;
        """,
    ),
)
