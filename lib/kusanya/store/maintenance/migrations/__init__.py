"""The store's schema through time: Alembic revisions, run by the library itself.

A store that a newer version wrote is refused untouched; an older one is brought up to date in one
transaction, so that a crash leaves it as it was. A new one is made from the tables as they stand.
"""

from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from typing import Final

from sqlalchemy import Connection, insert, inspect, text

from kusanya.errors import StoreTooNew, StoreUnavailable
from kusanya.store.tables.schema import create_tables, feed_head, store_meta

_VERSIONS: Final = Path(__file__).parent / "versions"
REVISIONS: Final = tuple(sorted(path.name[1:5] for path in _VERSIONS.glob("r[0-9]*.py")))
"""Every revision this version knows, oldest first: each is one file."""
_WORKS_FROM: Final = "works_from"
"""In the store's meta: the oldest revision whose programs can work with the store."""
MOVING: Final = "moving"
"""In the place of a revision: a store is being moved here, and is none yet."""
MOVED: Final = "moved"
"""In the place of a revision: the store was moved away, and this file must not be used."""
_LOCK: Final = 7_582_019_443
"""An advisory lock's number, so that two processes on PostgreSQL do not migrate at once."""
_IDLE_MS: Final = 60_000
"""A migration whose program was stopped for so long is ended by the server."""


def revision(connection: Connection) -> str | None:
    """Return the revision of the store behind `connection`, None for an empty database.

    That of a newer store that this version can work with is this version's own newest. Raises
    StoreTooNew for one this version does not know, StoreUnavailable for a database that
    holds something else than a store.
    """
    found = version(connection)
    if found == MOVING:
        raise StoreUnavailable(
            "a move into this database is not finished: run kusanya store move again"
        )
    if found == MOVED:
        query = text("SELECT value FROM store_meta WHERE name = 'moved_to'")
        raise StoreUnavailable(
            f"this store was moved to {connection.execute(query).scalar_one()}: use that one; this "
            "file does not know what was sent since"
        )
    if found is not None and found not in REVISIONS:
        query = text("SELECT value FROM store_meta WHERE name = :name")
        if connection.execute(query, {"name": _WORKS_FROM}).scalar_one_or_none() in REVISIONS:
            return REVISIONS[-1]
        raise StoreTooNew(
            "a newer version of Kusanya wrote this store; it was left untouched: "
            "install that version or a newer one"
        )
    return found


def version(connection: Connection) -> str | None:
    """Return what stands in the place of a revision, None for an empty database.

    Raises StoreUnavailable for a database that holds something else than a store.
    """
    found_by = inspect(connection)
    tables = set(found_by.get_table_names())
    if connection.dialect.name == "postgresql":
        tables.update(found_by.get_view_names())  # of who may only look
    if "alembic_version" not in tables:
        if tables:
            raise StoreUnavailable("this database holds something else: name another one")
        return None
    found: str | None = connection.execute(
        text("SELECT version_num FROM alembic_version")
    ).scalar_one_or_none()
    if found is not None and "store_meta" not in tables:
        raise StoreUnavailable("this database holds something else: name another one")
    return found


def upgrade(
    connection: Connection, *, to: str = REVISIONS[-1], now: datetime | None = None
) -> bool:
    """Bring the store behind `connection` to revision `to`; tell whether anything was done.

    Runs in the caller's transaction. An empty database becomes a store with an id of its own, and a
    server's store has the months that are to come from `now` on.
    """
    now = now or datetime.now(tz=UTC)
    if connection.dialect.name == "postgresql":
        # Between two statements a revision may think for longer than a batch of the journal does.
        connection.execute(text(f"SET LOCAL idle_in_transaction_session_timeout = {_IDLE_MS}"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    was = revision(connection)
    if was == to:
        return _add_months(connection, now) > 0
    if was is None and to == REVISIONS[-1]:
        _make(connection, now)
    else:
        _walk(connection, to, now)
    _say_works_from(connection, to)
    return True


def _make(connection: Connection, now: datetime) -> None:
    """Make a new store at once, as all revisions one after the other would leave it."""
    create_tables(connection)
    if connection.dialect.name == "postgresql":
        from kusanya.store.tables.delivery_months import part_by_month

        part_by_month(connection, now)
    connection.execute(insert(feed_head).values(one=1, seq=0, removed=0, searched=0))
    beginning = {"store_id": token_hex(16), "epoch": "1"}
    connection.execute(
        insert(store_meta), [{"name": name, "value": value} for name, value in beginning.items()]
    )
    # The table in which Alembic notes where a store stands, in its own words.
    connection.execute(
        text(
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
            "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
        )
    )
    connection.execute(
        text("INSERT INTO alembic_version (version_num) VALUES (:newest)"),
        {"newest": REVISIONS[-1]},
    )


def _walk(connection: Connection, to: str, now: datetime) -> None:
    # Late: a store that is new or up to date never needs Alembic.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["store_id"] = token_hex(16)
    config.attributes["now"] = now
    command.upgrade(config, to)


def _say_works_from(connection: Connection, to: str) -> None:
    oldest = to
    while _is_additive(oldest):
        oldest = REVISIONS[REVISIONS.index(oldest) - 1]
    said = {"name": _WORKS_FROM, "value": oldest}
    connection.execute(text("DELETE FROM store_meta WHERE name = :name"), said)
    if oldest != to:
        connection.execute(
            text("INSERT INTO store_meta (name, value) VALUES (:name, :value)"), said
        )


def _is_additive(number: str) -> bool:
    """Return what a revision says: that programs of the one before go on working with it.

    Such a revision adds tables, and columns that may be left out. The programs can be upgraded one
    after the other, none has to stop.
    """
    (path,) = _VERSIONS.glob(f"r{number}_*.py")
    said: bool = import_module(f"{__name__}.versions.{path.stem}").additive
    return said


def _add_months(connection: Connection, now: datetime) -> int:
    if connection.dialect.name != "postgresql":
        return 0
    from kusanya.store.tables.delivery_months import add_months

    return add_months(connection, now)
