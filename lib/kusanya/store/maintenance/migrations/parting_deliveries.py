"""The deliveries of an older store on PostgreSQL are parted by month, without copying a row.

What is there becomes the part before the first month. First the server looks through it while
programs go on receiving; then everybody waits for a moment. What was killed is run again.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, text

from kusanya.store.tables.delivery_months import (
    OTHER,
    WHOLE,
    add_months,
    add_primary_key,
    attach,
    kind,
    lock_journal,
    month_begin,
)
from kusanya.store.tables.engine import Engines
from kusanya.store.tables.values import from_us, to_us

_BEFORE: Final = f"{WHOLE}_before"
_BOUNDED: Final = f"ck_{WHOLE}_before"
_NOTICE: Final = timedelta(days=32)
"""So far ahead of all arrivals lies a bound that is being proven."""


def prove_bound(found: Engines, now: datetime) -> None:
    """Have the server look through the deliveries before they are parted, while others write.

    Each step is a transaction of its own and may be repeated. Without it `part_by_month` looks
    through them while everybody waits. Until then an arrival dated a month ahead is refused.
    """
    with _own_step(found) as connection:
        if kind(connection) != "r":
            return
        bound, end = _bound(connection), month_begin(now + _NOTICE, later=1)
        if bound is not None and bound < to_us(now + _NOTICE / 2):
            connection.execute(text(f"ALTER TABLE {WHOLE} DROP CONSTRAINT {_BOUNDED}"))
            bound = None
        if bound is None and not _has_rows_from(connection, end):
            connection.execute(
                text(
                    f"ALTER TABLE {WHOLE} ADD CONSTRAINT {_BOUNDED} "
                    f"CHECK (arrived_at < {to_us(end)}) NOT VALID"
                )
            )
            bound = to_us(end)
    if bound is not None:
        with _own_step(found) as connection:
            connection.execute(text(f"ALTER TABLE {WHOLE} VALIDATE CONSTRAINT {_BOUNDED}"))


def part_by_month(connection: Connection, now: datetime) -> None:
    """Keep deliveries by month from the next one on; in the caller's transaction.

    What is there stays where it is, but for rows dated after the next month, which are moved.
    Rights and views of the table go over to what takes its place.
    """
    lock_journal(connection)
    connection.execute(text(f"LOCK TABLE {WHOLE} IN ACCESS EXCLUSIVE MODE"))
    empty = connection.execute(text(f"SELECT NOT EXISTS (SELECT FROM {WHOLE})")).scalar_one()  # noqa: S608 - names of ours
    bound = _bound(connection)
    end = from_us(bound) if bound else month_begin(now, later=0 if empty else 1)
    connection.execute(text(f"ALTER TABLE {WHOLE} RENAME TO {_BEFORE}"))
    connection.execute(text(f"ALTER INDEX pk_{WHOLE} RENAME TO pk_{_BEFORE}"))
    indexes = _indexes(connection)
    for name in indexes:
        connection.execute(text(f"ALTER INDEX {name} RENAME TO {_renamed(name)}"))
    connection.execute(
        text(
            f"CREATE TABLE {WHOLE} (LIKE {_BEFORE} INCLUDING DEFAULTS) "
            "PARTITION BY RANGE (arrived_at)"
        )
    )
    for definition in indexes.values():
        connection.execute(text(definition))
    _hand_over(connection)
    connection.execute(text(f"CREATE TABLE {OTHER} PARTITION OF {WHOLE} DEFAULT"))
    add_primary_key(connection, OTHER)
    moved = f"DELETE FROM {_BEFORE} WHERE arrived_at >= {to_us(end)} RETURNING *"  # noqa: S608
    connection.execute(text(f"WITH moved AS ({moved}) INSERT INTO {OTHER} SELECT * FROM moved"))  # noqa: S608
    attach(connection, _BEFORE, begin=None, end=end)
    connection.execute(text(f"ALTER TABLE {_BEFORE} DROP CONSTRAINT IF EXISTS {_BOUNDED}"))
    add_months(connection, now)


@contextmanager
def _own_step(found: Engines) -> Iterator[Connection]:
    with found.writing() as connection, connection.begin():
        yield connection


def _bound(connection: Connection) -> int | None:
    """Return the instant that deliveries are proven, or about to be proven, to lie before."""
    query = text(
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE conrelid = to_regclass(:whole) AND conname = :name"
    )
    said = connection.execute(query, {"whole": WHOLE, "name": _BOUNDED}).scalar_one_or_none()
    found = None if said is None else re.search(r"arrived_at < '?(\d+)", said)
    return None if found is None else int(found[1])


def _has_rows_from(connection: Connection, end: datetime) -> bool:
    query = f"SELECT EXISTS (SELECT FROM {WHOLE} WHERE arrived_at >= {to_us(end)})"  # noqa: S608
    return bool(connection.execute(text(query)).scalar_one())


def _indexes(connection: Connection) -> dict[str, str]:
    """Return the indexes of the former table but for its key, each with what makes it anew."""
    rows = connection.execute(
        text(
            "SELECT name.relname, pg_get_indexdef(indexrelid) FROM pg_index "
            "JOIN pg_class AS name ON name.oid = indexrelid "
            "WHERE indrelid = to_regclass(:before) AND NOT indisprimary"
        ),
        {"before": _BEFORE},
    )
    return {
        name: re.sub(rf" ON (?:ONLY )?(\S+\.)?{_BEFORE} ", f" ON {WHOLE} ", definition)
        for name, definition in rows
    }


def _renamed(index: str) -> str:
    return index.replace(f"ix_{WHOLE}_", f"ix_{_BEFORE}_", 1)


def _hand_over(connection: Connection) -> None:
    """Give rights and views of the former table to the new one."""
    connection.execute(
        text(
            f"""DO $$
            DECLARE it record;
            BEGIN
                FOR it IN
                    SELECT CASE WHEN held.grantee = 0 THEN 'PUBLIC'
                                ELSE quote_ident(pg_get_userbyid(held.grantee)) END AS who,
                           held.privilege_type AS what,
                           CASE WHEN held.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END AS more
                    FROM pg_class AS old, aclexplode(old.relacl) AS held
                    WHERE old.oid = '{_BEFORE}'::regclass AND held.grantee <> old.relowner
                LOOP
                    EXECUTE format('GRANT %s ON {WHOLE} TO %s%s', it.what, it.who, it.more);
                END LOOP;
                FOR it IN
                    SELECT DISTINCT view.oid::regclass AS name, view.reloptions AS options,
                           pg_get_viewdef(view.oid) AS said
                    FROM pg_depend JOIN pg_rewrite ON pg_rewrite.oid = objid
                    JOIN pg_class AS view ON view.oid = ev_class
                    WHERE refobjid = '{_BEFORE}'::regclass AND view.relkind = 'v'
                LOOP
                    EXECUTE format('CREATE OR REPLACE VIEW %s %s AS %s', it.name,
                        CASE WHEN it.options IS NULL THEN ''
                             ELSE format('WITH (%s)', array_to_string(it.options, ', ')) END,
                        regexp_replace(it.said, '\\m{_BEFORE}\\M', '{WHOLE}', 'g'));
                END LOOP;
            END $$"""  # noqa: S608 - names of ours
        )
    )
