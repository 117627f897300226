"""The sessions of a store on PostgreSQL, bounded so that a stopped program stops nobody else.

All writers stand behind one row, the journal's counter. One that is stopped while it has that row
(by SIGSTOP, a paused container, a lost network) would hold it for hours, so the server ends a
session that is idle inside a transaction. It cannot do that in the middle of a COPY, where it waits
for the rest of the data: such a session is ended by the one that waited for its lock in vain.

The settings go with each transaction, in the message that begins it. Settings of the whole session
would be refused or mixed up by a pooler such as PgBouncer, which shares a server's session for one
transaction; what the address itself says in `options` is the operator's and stays as it is. Behind
a pooler no statement is prepared either: the next transaction may meet a session that has none of
that name, or one of another program's.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Engine, event, text

from kusanya.errors import StoreUnavailable

LOOK_SCHEMA: Final = "kusanya_look"
"""The schema of the masked views; it has to be first in the search path of who only looks."""


def are_masked(connection: Connection) -> bool:
    """Return whether this login reads the masked views."""
    if connection.dialect.name != "postgresql":
        return False
    schema: str | None = connection.execute(text("SELECT current_schema()")).scalar_one()
    return schema == LOOK_SCHEMA


class SessionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long a session may wait, and how long it may keep others waiting."""

    lock_s: float = 5.0
    """A statement that waits longer for a lock fails."""
    writer_idle_s: float = 5.0
    """A transaction that writes and is sent nothing for so long is ended by the server."""
    reader_idle_s: float = 300.0
    """The same for one that reads: it holds up no writer, only the clearing of old rows."""


CONNECTION: Final[Mapping[str, int]] = {
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""How soon our side gives up a server that is gone, in libpq's own words; an address may differ."""


def prepare_nothing_behind_poolers(engine: Engine) -> None:
    """Let no connection of `engine` prepare statements where its session may change.

    No setting is needed, and a connection straight to the server keeps its prepared statements.
    """

    def look(connection: Any, _record: object) -> None:
        if is_behind_a_pooler(connection):
            connection.prepare_threshold = None

    event.listen(engine, "connect", look)


def is_behind_a_pooler(connection: Any) -> bool:
    """Return whether a driver's connection ends at a pooler, which may change its session.

    A server tells each client the number of its process, to cancel by; a pooler tells one of its
    own.
    """
    asked = connection.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    return bool(asked[0] != connection.info.backend_pid)


def refuse_poolers(connection: Any, what: str) -> None:
    """Raise StoreUnavailable where `what` would change a session for a pooler's next client.

    PostgreSQL's own programs set what names mean in it, for as long as it lasts.
    """
    if is_behind_a_pooler(connection):
        raise StoreUnavailable(
            f"{what} takes the server itself, not a pooler: give the server's own address"
        )


def bound_writer(engine: Engine, limits: SessionLimits) -> None:
    """Begin every transaction of `engine` as one that writes."""
    _begin_with(
        engine,
        # Each statement sees what committed while it waited for the journal's lock.
        "BEGIN ISOLATION LEVEL READ COMMITTED",
        lock_timeout=_ms(limits.lock_s),
        idle_in_transaction_session_timeout=_ms(limits.writer_idle_s),
        timezone="'UTC'",
        synchronous_commit="on",
        # The journal only ever looks up by key; without statistics the planner reads whole tables
        # for it.
        enable_seqscan="off",
        jit="off",
    )


def bound_reader(engine: Engine, limits: SessionLimits) -> None:
    """Begin every transaction of `engine` as one that cannot write."""
    _begin_with(
        engine,
        "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY",
        lock_timeout=_ms(limits.lock_s),
        idle_in_transaction_session_timeout=_ms(limits.reader_idle_s),
        timezone="'UTC'",
    )


def _begin_with(engine: Engine, begin: str, **settings: str) -> None:
    statement = "; ".join([begin, *(f"SET LOCAL {name} = {to}" for name, to in settings.items())])

    def own_transactions(connection: Any, _record: object) -> None:
        # The driver's own BEGIN would be a message more; COMMIT and ROLLBACK stay its own.
        connection.autocommit = True

    def start(connection: Connection) -> None:
        # A reader row by row has asked for cursors on the server: this is no query.
        connection.exec_driver_sql(statement, execution_options={"stream_results": False})

    event.listen(engine, "connect", own_transactions)
    event.listen(engine, "begin", start)


def _ms(seconds: float) -> str:
    return str(int(seconds * 1000))


_END_STALLED: Final = text(
    """
    SELECT count(pg_terminate_backend(other.pid))
    FROM pg_stat_activity AS other
    WHERE other.datname = current_database()
      AND other.usename = current_user
      AND other.pid <> pg_backend_pid()
      AND other.state = 'active'
      AND other.wait_event = 'ClientRead'
      AND other.query LIKE 'COPY %'
      AND other.query_start < clock_timestamp() - make_interval(secs => :idle_s)
      AND EXISTS (
        SELECT FROM pg_locks AS held
        WHERE held.pid = other.pid AND held.granted AND held.relation = 'feed_head'::regclass
      )
    """
)


def end_stalled_copies(connection: Connection, limits: SessionLimits) -> int:
    """End the sessions of this role that hold the journal while their COPY gets no data.

    Returns how many. What they had not committed is rolled back; their programs get an error.
    """
    with connection.begin():
        ended: int = connection.execute(_END_STALLED, {"idle_s": limits.writer_idle_s}).scalar_one()
        return ended


def is_lock_timeout(error: BaseException) -> bool:
    """Return whether PostgreSQL gave up waiting for a lock."""
    raw = getattr(error, "orig", error)
    return getattr(raw, "sqlstate", None) == _LOCK_NOT_AVAILABLE


_LOCK_NOT_AVAILABLE: Final = "55P03"
