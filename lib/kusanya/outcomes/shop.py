"""The one table in a shop's own database, and the one statement that makes an effect happen once.

    INSERT INTO kusanya_done (consumer, outcome_id) VALUES (?, ?) ON CONFLICT DO NOTHING

In the transaction of the effect: one row means do it, none means that it was done. Any language can
say it. Two that say it at once stand behind each other: the second one learns what became of the
first.
"""

import sys
from typing import Any, Final

from kusanya.errors import ConfigurationError
from kusanya.store.records.outcomes import Outcome

_TABLE: Final = """CREATE TABLE IF NOT EXISTS kusanya_done (
  consumer {name} NOT NULL,
  outcome_id {name} NOT NULL,
  done_at {instant} NOT NULL DEFAULT {now},
  PRIMARY KEY (consumer, outcome_id)
)"""
_KINDS: Final = {
    "sqlite": {"name": "TEXT", "instant": "TEXT", "now": "CURRENT_TIMESTAMP"},
    "postgresql": {"name": "text", "instant": "timestamptz", "now": "now()"},
    "mysql": {"name": "VARCHAR(64)", "instant": "TIMESTAMP", "now": "CURRENT_TIMESTAMP"},
}
_INSERT: Final = "INSERT INTO kusanya_done (consumer, outcome_id) VALUES ({0}, {1})"
_OR_NOTHING: Final = _INSERT + " ON CONFLICT DO NOTHING"
_IGNORED: Final = _INSERT.replace("INSERT", "INSERT IGNORE")
_PLACES: Final = {
    "qmark": ("?", "?"),
    "format": ("%s", "%s"),
    "pyformat": ("%s", "%s"),
    "numeric": (":1", ":2"),
    "numeric_dollar": ("$1", "$2"),
}
_MYSQL: Final = frozenset({"pymysql", "MySQLdb", "mysql", "mariadb", "asyncmy", "aiomysql"})


class NoTransactionError(ConfigurationError):
    """What was opened is no transaction that holds effect and claim together: an order is lost."""


def ddl(database: str) -> str:
    """Return the SQL that makes the table in a shop's `postgresql`, `sqlite` or `mysql`.

    It may be run again. Raises ConfigurationError for another database.
    """
    if database not in list(_KINDS):  # of any type, also of one without a hash
        raise ConfigurationError(f"{database!r} is none of {', '.join(sorted(_KINDS))}")
    return _TABLE.format(**_KINDS[database])


def claim(tx: Any, consumer: str, outcome: Outcome) -> bool:
    """Keep in the shop's open transaction that an outcome is being done; False where it was done.

    `tx` is a connection or a cursor of the DB-API (sqlite3, psycopg, ...), a `Connection` or
    `Session` of SQLAlchemy, or `django.db.connection`. Durable when the caller commits `tx`, with
    whatever it writes in it. Errors are those of the driver; NoTransactionError for something else,
    and for a connection that commits each statement by itself.
    """
    if hasattr(tx, "exec_driver_sql") or hasattr(tx, "get_bind"):
        opened = tx.connection() if hasattr(tx, "get_bind") else tx
        _check_transaction(opened.connection.dbapi_connection)
        return _rows(tx.execute(*_of_sqlalchemy(tx, consumer, outcome))) == 1
    statement = _statement(tx)
    if not hasattr(tx, "cursor"):
        if not hasattr(tx, "execute"):
            raise NoTransactionError(f"a {type(tx).__qualname__} is no transaction of a database")
        _check_transaction(getattr(tx, "connection", tx))
        tx.execute(statement, (consumer, outcome.id))
        return _rows(tx) == 1
    _check_transaction(tx)
    cursor = tx.cursor()
    try:
        cursor.execute(statement, (consumer, outcome.id))
        return _rows(cursor) == 1
    finally:
        cursor.close()


async def claim_async(tx: Any, consumer: str, outcome: Outcome) -> bool:
    """Do what `claim` does, with psycopg's AsyncConnection, asyncpg, or SQLAlchemy's async ones."""
    if hasattr(tx, "exec_driver_sql") or hasattr(tx, "get_bind"):
        opened = await tx.connection() if hasattr(tx, "get_bind") else tx
        pooled = opened.sync_connection.connection
        # The adapter of aiosqlite hides whether it commits, that of asyncpg when it begins.
        is_sqlite = type(pooled.driver_connection).__module__.startswith("aiosqlite")
        _check_transaction(pooled.driver_connection if is_sqlite else pooled.dbapi_connection)
        return _rows(await tx.execute(*_of_sqlalchemy(tx, consumer, outcome))) == 1
    _check_transaction(tx)
    if type(tx).__module__.startswith("asyncpg"):
        said: str = await tx.execute(_OR_NOTHING.format("$1", "$2"), consumer, outcome.id)
        return said.endswith(" 1")
    async with tx.cursor() as cursor:
        await cursor.execute(_statement(tx), (consumer, outcome.id))
        return _rows(cursor) == 1


def _check_transaction(driver: Any) -> None:
    """Raise NoTransactionError where a driver's connection is known to commit each statement."""
    kind = type(driver).__module__.partition(".")[0]
    if kind in {"sqlite3", "aiosqlite"}:
        alone = driver.isolation_level is None and not driver.in_transaction
    elif hasattr(driver, "is_in_transaction"):  # asyncpg
        alone = not driver.is_in_transaction()
    elif kind == "django":
        alone = driver.get_autocommit()
    else:
        info = getattr(driver, "info", None)
        is_open = getattr(driver, "in_transaction", False) is True
        is_open = is_open or getattr(info, "transaction_status", 0) != 0
        alone = getattr(driver, "autocommit", False) is True and not is_open
    if alone:
        raise NoTransactionError(
            f"a {type(driver).__qualname__} that commits each statement by itself is no "
            "transaction: what fails after the claim would never be done (let connect open one)"
        )


def _of_sqlalchemy(tx: Any, consumer: str, outcome: Outcome) -> tuple[Any, dict[str, str]]:
    from sqlalchemy import text

    bind = tx.get_bind() if hasattr(tx, "get_bind") else tx
    insert = _IGNORED if bind.dialect.name in _MYSQL else _OR_NOTHING
    return text(insert.format(":consumer", ":outcome")), {
        "consumer": consumer,
        "outcome": outcome.id,
    }


def _statement(tx: Any) -> str:
    """Return the statement as the driver of `tx` spells it."""
    # Django wraps the driver, and takes %s for each of them.
    driver = type(tx).__module__.partition(".")[0]
    if driver == "django":
        style, name = "format", getattr(tx, "vendor", "")
    else:
        style, name = getattr(sys.modules.get(driver), "paramstyle", "format"), driver
    insert = _IGNORED if name in _MYSQL else _OR_NOTHING
    return insert.format(*_PLACES.get(style, _PLACES["format"]))


def _rows(result: Any) -> int:
    count: int = result.rowcount
    return count
