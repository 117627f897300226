"""The store's schema through time: Alembic revisions, run by the library itself.

A store that a newer version wrote is refused untouched; an older one is brought up to date in one
transaction, so that a crash leaves it as it was.
"""

from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Final

from sqlalchemy import Connection, inspect, text

from kusanya.errors import StoreTooNew, StoreUnavailable

REVISIONS: Final = ("0001", "0002", "0003", "0004", "0005", "0006", "0007")
"""Every revision this version knows, oldest first."""
_BY_MODE: Final = "0006"
"""From this one on a collection is known by its mode and its id."""
_LOCK: Final = 7_582_019_443
"""An advisory lock's number, so that two processes on PostgreSQL do not migrate at once."""
_IDLE_MS: Final = 60_000
"""A migration whose program was stopped for so long is ended by the server."""


def revision(connection: Connection) -> str | None:
    """Return the revision of the store behind `connection`, None for an empty database.

    Raises StoreTooNew for one this version does not know, StoreUnavailable for a database that
    holds something else than a store.
    """
    tables = set(inspect(connection).get_table_names())
    if "alembic_version" not in tables:
        if tables:
            raise StoreUnavailable("this database holds something else: name another one")
        return None
    found: str | None = connection.execute(
        text("SELECT version_num FROM alembic_version")
    ).scalar_one_or_none()
    if found is not None and "store_meta" not in tables:
        raise StoreUnavailable("this database holds something else: name another one")
    if found is not None and found not in REVISIONS:
        raise StoreTooNew(
            "a newer version of Kusanya wrote this store; it was left untouched: "
            "install that version or a newer one"
        )
    return found


def upgrade(connection: Connection, *, to: str = REVISIONS[-1]) -> bool:
    """Bring the store behind `connection` to revision `to`; tell whether anything was done.

    Runs in the caller's transaction. An empty database becomes a store with an id of its own.
    """
    if connection.dialect.name == "postgresql":
        # Between two statements a revision may think for longer than a batch of the journal does.
        connection.execute(text(f"SET LOCAL idle_in_transaction_session_timeout = {_IDLE_MS}"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    was = revision(connection)
    if was == to:
        return False
    # Late: a store that is up to date never needs Alembic.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["store_id"] = token_hex(16)
    command.upgrade(config, to)
    if was is not None and was < _BY_MODE and to == REVISIONS[-1]:
        _part_modes(connection)
    return True


def _part_modes(connection: Connection) -> None:
    # Here and not in the revision: what folds and writes rows knows the newest tables only.
    from kusanya.store.writer.batch import Writing
    from kusanya.store.writer.refold import part_modes
    from kusanya.store.writer.statements import statements

    writing = Writing(
        connection, statements=statements(connection.dialect), now=datetime.now(tz=UTC)
    )
    part_modes(writing)
    writing.finish()
