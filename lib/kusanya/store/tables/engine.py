"""Connections to the two engines, set up so that a commit is durable and a reader cannot write.

`kusanya.platform.sqlite` says which SQLite opens a file. Writers begin with BEGIN IMMEDIATE, so
that a transaction never fails half-way because another one got ahead of it.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

import msgspec
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.dialects import registry
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from kusanya.errors import StoreDamaged, StoreError, StoreUnavailable
from kusanya.platform.sqlite import bind_unchanged, sqlite_driver, sqlite_refusal
from kusanya.privacy.secret_url import MASK, SecretUrl, mask_url
from kusanya.store.tables.connections import Connections
from kusanya.store.tables.file_identity import FileIdentity
from kusanya.store.tables.sessions import (
    CONNECTION,
    SessionLimits,
    bound_reader,
    bound_writer,
    end_stalled_copies,
    is_lock_timeout,
    prepare_nothing_behind_poolers,
)
from kusanya.store.tables.sqlite_file import SqliteFile

_log: Final = logging.getLogger("kusanya.store")
BUSY_TIMEOUT_S: Final = 5.0
"""How long one statement waits for another process's lock before it fails."""
_READER: Final = "kusanya_reader"
registry.register(f"sqlite.{_READER}", "kusanya.store.tables.sqlite_reader", "SqliteReader")
_NO_DATABASE: Final = "file is not a database"
_POOL: Final = 5
_POOL_MAX: Final = 20
_POOL_WAIT_S: Final = 10.0


_NO_LIMITS_GIVEN: Final = SessionLimits()


_ACTING_AS: Final = "kusanya_acting_as"


def acting_as(connection: Connection) -> str | None:
    """Return the person in whose name a program writes that vouches for them, or None."""
    found: str | None = connection.get_execution_options().get(_ACTING_AS)
    return found


class Engines(msgspec.Struct, frozen=True):
    """The ways into one store: `reader` pools connections that cannot write.

    Connections are taken by `reading` and `writing` alone, which know of forks.
    """

    reader: Engine
    writer: Engine
    shown: str
    """The address for people, without a password."""
    path: Path | None
    """The file of an SQLite store."""
    connections: Connections
    file: SqliteFile | None = None
    identity: FileIdentity | None = None
    """Whether the file is still the one that was opened."""
    limits: SessionLimits | None = None
    """Of the sessions on PostgreSQL."""

    def act_as(self, name: str) -> None:
        """Call the person who writes through these engines `name`; see `acting_as`."""
        for engine in (self.reader, self.writer):
            engine.update_execution_options(**{_ACTING_AS: name})

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a connection that cannot write. Raises StoreUnavailable where the file was lost.

        Inside `one_moment` it is always the same one.
        """
        shared = self._shared()
        if shared is not None:
            yield shared
            return
        with self.connections.use():
            self._confirm()
            with self.reader.connect() as connection:
                yield connection

    @contextmanager
    def reading_one_moment(self) -> Iterator[Connection]:
        """Open such a connection whose every query sees what the first one did."""
        with self.reading() as connection:
            if not self.sqlite and self._shared() is None:
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield connection

    def _shared(self) -> Connection | None:
        """Return the connection of this thread's `one_moment` on these engines, if it is in one."""
        moment = _MOMENT.get()
        return moment[1] if moment is not None and moment[0] is self else None

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        """Let every `reading` of this thread inside the block see what the first one did."""
        with self.reading_one_moment() as connection:
            before = _MOMENT.set((self, connection))
            try:
                yield
            finally:
                _MOMENT.reset(before)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a connection that writes; the caller begins and commits.

        What was committed counts once the block is left: raises StoreUnavailable at its end too,
        where the commit is in a file that is not the store any more.
        """
        with self.connections.use():
            self._confirm()
            with self.writer.connect() as connection:
                yield connection
            self._confirm()

    def after_failing(self, error: BaseException) -> None:
        """End who holds the journal without using it, where `error` is a wait for it in vain."""
        if self.limits is not None and is_lock_timeout(error):
            with only_store_errors("end a stopped writer"), self.writing() as connection:
                ended = end_stalled_copies(connection, self.limits)
            if ended:
                _log.warning("ended a stopped writer", extra={"sessions": ended})

    def _confirm(self) -> None:
        if self.identity is not None:
            self.identity.confirm()

    @property
    def sqlite(self) -> bool:
        """Return whether this is an SQLite store."""
        return self.path is not None

    def dispose(self) -> None:
        """Close every connection for good; those of a lost store leave alone what replaced it."""
        self.connections.closed = True
        with nullcontext() if self.identity is None else self.identity.let_go():
            self.reader.dispose()
            self.writer.dispose()


_MOMENT: ContextVar[tuple[Engines, Connection] | None] = ContextVar("moment", default=None)
"""The connection that all reading of this thread shares, and whose it is."""


def engines(
    url: str | SecretUrl, *, read_only: bool = False, limits: SessionLimits = _NO_LIMITS_GIVEN
) -> Engines:
    """Return the engines for `url` without connecting yet.

    `url` is a plain path, sqlite:/// and a path, or postgresql://, for whose sessions `limits` are.
    Raises StoreUnavailable when it is none of these or the driver is missing or too old.
    """
    url = url.reveal() if isinstance(url, SecretUrl) else url
    if "://" not in url:
        if MASK in mask_url(url) and MASK not in url:
            # No file: libpq's form, or a URL whose scheme was forgotten.
            raise StoreUnavailable(
                f"the store's address {mask_url(url)} cannot be read: write "
                "postgresql://user:password@host/database"
            )
        return _sqlite(Path(url), read_only=read_only)
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # a port that is no number is quoted
        raise StoreUnavailable(
            "the store's address cannot be read: give a path, sqlite:///path or postgresql://…"
        ) from None
    if "@" in (parsed.host or ""):
        # What is taken for the host would be told to name servers and logs.
        raise StoreUnavailable(
            f"the store's address {mask_url(url)} has more than one @: write %40 in user or "
            "password"
        )
    if parsed.get_backend_name() == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise StoreUnavailable("a store lives in a file: name one after sqlite:///")
        return _sqlite(Path(parsed.database), read_only=read_only)
    if parsed.get_backend_name() in {"postgresql", "postgres"}:
        return _postgresql(parsed, limits=limits)
    raise StoreUnavailable("a store is an SQLite file or a postgresql:// address")


def _sqlite(path: Path, *, read_only: bool) -> Engines:
    try:
        dbapi2 = sqlite_driver()
    except ImportError as error:
        raise StoreUnavailable(str(error)) from None
    if refusal := sqlite_refusal(dbapi2):
        raise StoreUnavailable(refusal)
    bind_unchanged(dbapi2)
    path = path.absolute()
    if not path.name:
        raise StoreUnavailable(f"a store lives in a file: {path} is none")
    address = URL.create(
        "sqlite",
        database=f"file:{_quoted(path)}",
        query={"uri": "true", "mode": "ro" if read_only else "rw"},
    )

    def connect(query: str) -> Any:
        return dbapi2.connect(
            f"file:{_quoted(path)}?{query}",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            check_same_thread=False,
            isolation_level=None,
        )

    file = SqliteFile(path, connect=connect, error=dbapi2.Error)
    identity = FileIdentity(file)
    reader, writer = (_sqlite_engine(dbapi2, address, writes=writes) for writes in (False, True))
    return Engines(
        reader,
        writer,
        f"sqlite:///{path}",
        path,
        Connections(reader, writer, identity=identity),
        file,
        identity,
    )


def _sqlite_engine(dbapi2: Any, address: URL, *, writes: bool) -> Engine:
    made = create_engine(
        address if writes else address.set(drivername=f"sqlite+{_READER}"),
        module=dbapi2,
        connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False},
        pool_size=_POOL,
        max_overflow=_POOL_MAX - _POOL,
        pool_timeout=_POOL_WAIT_S,
        hide_parameters=True,
    )
    event.listen(made, "connect", _set_up_writer if writes else _set_up_reader)
    if writes:
        event.listen(made, "begin", _begin_immediate)
    return made


def _quoted(path: Path) -> str:
    from urllib.parse import quote

    return quote(str(path))


def _set_up_reader(connection: Any, _record: object) -> None:
    _set_up(connection, "query_only = 1", "cache_size = -16384")


def _set_up_writer(connection: Any, _record: object) -> None:
    _set_up(
        connection,
        "synchronous = FULL",
        "foreign_keys = 1",
        # What is removed or changed leaves no former bytes behind: a customer can be erased while
        # others use the file, without VACUUM, which no running program would survive.
        "secure_delete = ON",
        "cache_size = -65536",
        # A page that many batches touch goes to the file once; but those in the batch that
        # copies them waits for it: 8,000 pages take 50 ms.
        "wal_autocheckpoint = 2000",
    )


def _set_up(connection: Any, *pragmas: str) -> None:
    # The driver's own transactions begin too late and too weakly: BEGIN is ours, see below.
    connection.isolation_level = None
    for pragma in ("mmap_size = 0", *pragmas):
        connection.execute(f"PRAGMA {pragma}")


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _postgresql(address: URL, *, limits: SessionLimits) -> Engines:
    address = address.set(drivername="postgresql+psycopg")
    shown = address.set(drivername="postgresql").render_as_string(hide_password=False)

    def engine(role: str) -> Engine:
        ours = {**CONNECTION, "application_name": f"kusanya/{role}"}
        return create_engine(
            address,
            connect_args={name: to for name, to in ours.items() if name not in address.query},
            pool_size=_POOL,
            max_overflow=_POOL_MAX - _POOL,
            pool_timeout=_POOL_WAIT_S,
            pool_pre_ping=True,
            hide_parameters=True,
        )

    try:
        reader, writer = engine("reader"), engine("writer")
    except ImportError:
        raise StoreUnavailable(
            "a postgresql:// store needs psycopg: pip install 'kusanya[postgres]'"
        ) from None
    bound_reader(reader, limits)
    bound_writer(writer, limits)
    for one in (reader, writer):
        prepare_nothing_behind_poolers(one)
    return Engines(
        reader,
        writer,
        mask_url(shown),
        None,
        Connections(reader, writer, identity=None),
        limits=limits,
    )


@contextmanager
def only_store_errors(doing: str) -> Iterator[None]:
    """Turn what the engines raise into StoreUnavailable: "cannot {doing}: …".

    Messages name the failure, never a value; the cause is dropped where its text could quote one.
    """
    try:
        yield
    except StoreError:
        raise
    except (SQLAlchemyError, OSError) as error:
        if isinstance(error, DBAPIError) and "malformed" in str(error.orig):
            raise StoreDamaged(
                f"cannot {doing}: the file is damaged; stop using it and restore a backup"
            ) from None
        raise StoreUnavailable(f"cannot {doing}: {why(error)}") from None


def why(error: BaseException) -> str:
    """Return what `error` says, as far as it cannot quote a value."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    raw = _raw(error)
    lines = str(raw).strip().splitlines()
    # SQLite's own sentences, and those of a connection that failed, hold no values.
    if lines and ("OperationalError" in _kinds(raw) or lines[0] == _NO_DATABASE):
        return lines[0]
    state = getattr(raw, "sqlstate", None)
    if lines and state == _NO_RIGHT:
        # It names tables and functions, and what our own triggers say; never a row.
        return f"{lines[0]}; this takes a login of another role (kusanya store roles)"
    return type(raw).__name__ + (f" {state}" if state else "")


def is_outage(error: BaseException) -> bool:
    """Return whether `error` is the store failing, not one row being wrong."""
    if isinstance(error, OSError):
        return True
    raw = _raw(error)
    if raw is error and isinstance(error, SQLAlchemyError):
        # A pool that ran out, a connection that could not be made.
        return True
    return type(raw).__name__ == "DatabaseError" or not _kinds(raw).isdisjoint(_OUTAGES)


_NO_RIGHT: Final = "42501"
_OUTAGES: Final = frozenset({"OperationalError", "InterfaceError", "InternalError"})


def _raw(error: BaseException) -> BaseException:
    """Return the driver's own error, which SQLAlchemy may have wrapped."""
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error


def _kinds(error: BaseException) -> set[str]:
    # By name, because each driver has its own classes with the names of PEP 249.
    return {kind.__name__ for kind in type(error).__mro__}
