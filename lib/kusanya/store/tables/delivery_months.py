"""Deliveries by month of their arrival, on PostgreSQL: a month that is let go is a dropped table.

Of the tables that grow only this one is parted. What makes a fact take effect once for ever is in
the keys of `event` and `observation`, and a key of a parted table holds within each part alone.
The place of a delivery in the journal is unique because the journal's counter gives it out; each
month keeps a key of its own that says so.

Programs that open the store for writing and own the tables make months ahead. What belongs to
none of them goes to a part of its own, so that no arrival is ever refused for its date.
"""

import re
from datetime import UTC, datetime
from typing import Final

import msgspec
from sqlalchemy import Connection, text

from kusanya.store.tables.schema import delivery, feed_head
from kusanya.store.tables.values import from_us, to_us

AHEAD: Final = 12
"""Months that are there before they come: each costs a query for all of them a little."""
BEHIND: Final = 36
"""So many months of a history that is moved here have tables of their own."""
WHOLE: Final = delivery.name
"""The table that all programs name."""
OTHER: Final = f"{WHOLE}_other"
"""Holds what belongs to no month that is there."""
_LOCK_MS: Final = 1_000
"""So long arrivals wait where somebody reads what is to be removed."""


class DeliveryPart(msgspec.Struct, frozen=True):
    """One table of deliveries: those that arrived from `begin` on and before `end`."""

    name: str
    begin: int | None
    """Microseconds; None for no bound."""
    end: int | None


def month_begin(at: datetime, *, later: int = 0) -> datetime:
    """Return the begin of the month of `at` in UTC, or of one so many months later."""
    at = at.astimezone(UTC)
    years, month = divmod(at.month - 1 + later, 12)
    return datetime(at.year + years, month + 1, 1, tzinfo=UTC)


def is_parted(connection: Connection) -> bool:
    """Return whether deliveries are kept by month in this database."""
    return kind(connection) == "p"


def parts(connection: Connection) -> tuple[DeliveryPart, ...]:
    """Return the tables of deliveries that have bounds, oldest first."""
    rows = connection.execute(
        text(
            "SELECT part.relname, pg_get_expr(part.relpartbound, part.oid) "
            "FROM pg_inherits JOIN pg_class AS part ON part.oid = inhrelid "
            "WHERE inhparent = to_regclass(:whole)"
        ),
        {"whole": WHOLE},
    )
    found = [_part(name, bound) for name, bound in rows if bound != "DEFAULT"]
    return tuple(sorted(found, key=lambda part: -1 if part.begin is None else part.begin))


def months_until(connection: Connection) -> datetime | None:
    """Return the end of the last month that is there; None where deliveries are in one table."""
    ends = [part.end for part in parts(connection) if part.end is not None]
    return from_us(max(ends)) if ends else None


def part_by_month(connection: Connection, now: datetime) -> None:
    """Keep the deliveries of a new store by month, from that of `now` on; they are none yet.

    In the caller's transaction. What arrives with an earlier date goes into a part before them all.
    """
    before = f"{WHOLE}_before"
    connection.execute(text(f"ALTER TABLE {WHOLE} RENAME TO {before}"))
    connection.execute(text(f"ALTER INDEX pk_{WHOLE} RENAME TO pk_{before}"))
    indexes = _indexes(connection, before)
    for name in indexes:
        renamed = name.replace(f"ix_{WHOLE}_", f"ix_{before}_", 1)
        connection.execute(text(f"ALTER INDEX {name} RENAME TO {renamed}"))
    connection.execute(
        text(
            f"CREATE TABLE {WHOLE} (LIKE {before} INCLUDING DEFAULTS) "
            "PARTITION BY RANGE (arrived_at)"
        )
    )
    for definition in indexes.values():
        connection.execute(text(definition))
    connection.execute(text(f"CREATE TABLE {OTHER} PARTITION OF {WHOLE} DEFAULT"))
    add_primary_key(connection, OTHER)
    attach(connection, before, begin=None, end=month_begin(now))
    add_months(connection, now)


def _indexes(connection: Connection, table: str) -> dict[str, str]:
    """Return the indexes of a table but for its key, each with what makes it of the whole."""
    rows = connection.execute(
        text(
            "SELECT name.relname, pg_get_indexdef(indexrelid) FROM pg_index "
            "JOIN pg_class AS name ON name.oid = indexrelid "
            "WHERE indrelid = to_regclass(:table) AND NOT indisprimary"
        ),
        {"table": table},
    )
    return {
        name: re.sub(rf" ON (?:ONLY )?(\S+\.)?{table} ", f" ON {WHOLE} ", definition)
        for name, definition in rows
    }


def add_months(connection: Connection, now: datetime) -> int:
    """Make the months up to `AHEAD` from now that are missing; return how many were made.

    In the caller's transaction. Rows of such a month that arrived before it was there go into it.
    Nothing is made by a login that does not own the tables. Fails after a second where somebody
    reads the deliveries for longer: arrivals wait for as long.
    """
    until = month_begin(now, later=AHEAD + 1)
    if not is_parted(connection) or not is_owner(connection):
        return 0
    if (months_until(connection) or month_begin(now)) >= until:
        return 0
    connection.execute(text(f"SET LOCAL lock_timeout = {_LOCK_MS}"))
    lock_journal(connection)
    # Once more: another program may have been faster.
    begin, made = months_until(connection) or month_begin(now), 0
    while begin < until:
        begin, made = _make_month(connection, begin), made + 1
    return made


def begin_with(connection: Connection, at: datetime) -> None:
    """Make the months from that of `at` on, `BEHIND` at most, in a store without deliveries.

    In the caller's transaction, of the owner of the tables. What is older lies in one table.
    """
    before = parts(connection)[0]
    if before.end is None:
        return
    end = from_us(before.end)
    begin = max(month_begin(at), month_begin(end, later=-BEHIND))
    if begin >= end:
        return
    connection.execute(text(f"ALTER TABLE {WHOLE} DETACH PARTITION {before.name}"))
    attach(connection, before.name, begin=None, end=begin)
    while begin < end:
        begin = _make_month(connection, begin)


def _make_month(connection: Connection, begin: datetime) -> datetime:
    """Make the table of the month that begins then, and return its end."""
    end = month_begin(begin, later=1)
    name = f"{WHOLE}_{begin:%Y_%m}"
    connection.execute(text(f"CREATE TABLE {name} (LIKE {WHOLE} INCLUDING DEFAULTS)"))
    add_primary_key(connection, name)
    of_it = f"arrived_at >= {to_us(begin)} AND arrived_at < {to_us(end)}"
    moved = f"DELETE FROM {OTHER} WHERE {of_it} RETURNING *"  # noqa: S608 - names of ours
    connection.execute(text(f"WITH moved AS ({moved}) INSERT INTO {name} SELECT * FROM moved"))  # noqa: S608
    attach(connection, name, begin=begin, end=end)
    return end


def count_kept(connection: Connection, name: str) -> tuple[int, int]:
    """Return the journal's end, and the deliveries in a table that nobody makes room of.

    Of one moment: the caller's transaction is such.
    """
    row = connection.execute(
        text(
            f"SELECT (SELECT seq FROM {feed_head.name}), "  # noqa: S608 - names of ours
            f"(SELECT count(*) FROM {name} WHERE verdict <> 'rejected')"
        )
    ).one()
    return row[0], row[1]


def drop_part(connection: Connection, name: str, *, head: int, kept: int) -> int:
    """Remove a table of deliveries of which `count_kept` gave head and kept; return its rows.

    In a transaction of the journal, which counts only what may have changed: everybody waits.
    """
    if connection.execute(text("SELECT to_regclass(:name)"), {"name": name}).scalar_one() is None:
        return 0  # another program was faster
    connection.execute(text(f"SET LOCAL lock_timeout = {_LOCK_MS}"))
    more: int = connection.execute(
        text(
            f"SELECT (SELECT count(*) FROM {name} WHERE verdict = 'rejected') + "  # noqa: S608
            f"(SELECT count(*) FROM {name} WHERE seq > {head} AND verdict <> 'rejected')"
        )
    ).scalar_one()
    connection.execute(text(f"DROP TABLE {name}"))
    return kept + more


def is_owner(connection: Connection) -> bool:
    """Return whether this login may make and remove tables of deliveries."""
    query = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass(:whole)"
    return bool(connection.execute(text(query), {"whole": WHOLE}).scalar_one())


_BOUND: Final = re.compile(r"FOR VALUES FROM \((?:'(-?\d+)'|MINVALUE)\) TO \('(-?\d+)'\)")


def _part(name: str, bound: str) -> DeliveryPart:
    found = _BOUND.fullmatch(bound)
    if found is None:
        raise ValueError(f"{name} has a bound that is none of ours")
    return DeliveryPart(name, None if found[1] is None else int(found[1]), int(found[2]))


def lock_journal(connection: Connection) -> None:
    """Stand in the journal's line, as a writer of deliveries does before touching them."""
    connection.execute(text(f"SELECT seq FROM {feed_head.name} FOR UPDATE"))  # noqa: S608


def kind(connection: Connection) -> str | None:
    """Return which kind of table deliveries are in: p where they are parted, None for none."""
    query = text("SELECT relkind::text FROM pg_class WHERE oid = to_regclass(:whole)")
    kind: str | None = connection.execute(query, {"whole": WHOLE}).scalar_one_or_none()
    return kind


def add_primary_key(connection: Connection, name: str) -> None:
    """Give a table of deliveries its own key."""
    connection.execute(text(f"ALTER TABLE {name} ADD CONSTRAINT pk_{name} PRIMARY KEY (seq)"))


def attach(connection: Connection, name: str, *, begin: datetime | None, end: datetime) -> None:
    """Make a table one of the parts of all deliveries."""
    since = "MINVALUE" if begin is None else to_us(begin)
    connection.execute(
        text(
            f"ALTER TABLE {WHOLE} ATTACH PARTITION {name} "
            f"FOR VALUES FROM ({since}) TO ({to_us(end)})"
        )
    )
