"""A store in a file moved to PostgreSQL: the same rows, proved by a digest, and never two stores.

While it moves, the file is locked against every other program and the database is no store yet.
The file stops being a store before the database becomes one, so that no program can work on each.
A move that was killed at any place goes on where it was when it is called again: facts are copied
in the order of the journal, so the last place in the database says how far it came.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import blake2b
from os import PathLike, fspath
from typing import Any, Final

import msgspec
from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Integer,
    Table,
    cast,
    delete,
    select,
    text,
    update,
)

from kusanya.clock import Clock
from kusanya.errors import StoreTooNew, StoreUnavailable
from kusanya.privacy.secret_url import SecretUrl
from kusanya.store.maintenance import migrations
from kusanya.store.maintenance.maintenance import JOURNAL
from kusanya.store.maintenance.opening import prepare
from kusanya.store.queries.collections.indexing import index_all
from kusanya.store.records import MoveResult
from kusanya.store.tables.delivery_months import begin_with
from kusanya.store.tables.engine import Engines, engines, only_store_errors
from kusanya.store.tables.schema import feed_head, metadata, metadata_entry, store_meta
from kusanya.store.tables.sessions import refuse_poolers
from kusanya.store.tables.sqlite_file import SqliteFile
from kusanya.store.tables.values import from_us
from kusanya.store.writer.batch import Transaction
from kusanya.store.writer.statements import statements

Progress = Callable[[int, int], None]
"""Called with the rows that are in the database now, and with all there are."""

_SLICE: Final = 5_000
"""Rows that are in memory at a time, and facts in one transaction."""
_OF: Final = "move_of"
"""In the database's meta: the id of the store that is being moved there."""
_TO: Final = "moved_to"
"""In the file's meta: where the store was moved to."""
_LOCK: Final = 7_582_019_444
"""An advisory lock's number, so that two moves do not write at once."""
_IDLE_MS: Final = 60_000
_INDEXES: Final = ("reference_search", "description_search", metadata_entry.name)
"""What the journal's chore makes anew on the other engine."""
_KEPT: Final = tuple(table for table in metadata.sorted_tables if table.name not in _INDEXES)
_DERIVED: Final = tuple(table for table in _KEPT if table not in JOURNAL)
"""Tables whose rows change: they are copied together, once the facts are there."""
_LEFT_OUT: Final = {feed_head.c.searched, feed_head.c.texts_searched}
"""How far the indexes came, which each engine has of its own."""
_Row = tuple[Any, ...]


def move_store(
    source: str | PathLike[str] | SecretUrl,
    target: str | SecretUrl,
    *,
    clock: Clock,
    progress: Progress | None = None,
) -> MoveResult:
    """Move the store of the file `source` into the empty database `target`.

    Calling it again after a failure goes on. Raises StoreUnavailable where any program has the file
    open, where the database holds something else, and where both do not hold the same at the end:
    then the file is the store still.
    """
    found = engines(source if isinstance(source, SecretUrl) else fspath(source))
    to = engines(target)
    try:
        if found.file is None or to.sqlite:
            raise StoreUnavailable(
                "a store is moved from a file to a postgresql:// address; between files it is "
                "copied with kusanya store backup, between servers with PostgreSQL's own tools"
            )
        with only_store_errors(f"move the store to {to.shown}"):
            if _version(found.file) != migrations.MOVED:
                prepare(found, create=False, migrate=False, read_only=False)
                found.dispose()
            with _alone(found.file) as file, _alone_in(to):
                return _Move(file, to, clock, progress).run()
    finally:
        found.dispose()
        to.dispose()


class _Move:
    """One move, from a connection that has the file for itself to a database."""

    def __init__(self, file: Any, to: Engines, clock: Clock, progress: Progress | None) -> None:
        self._file = file
        self._to = to
        self._clock = clock
        self._progress = progress
        self._store_id: str = self._one("SELECT value FROM store_meta WHERE name = 'store_id'")
        self._total = sum(
            int(self._one(f"SELECT count(*) FROM {table.name}"))  # noqa: S608 - our own names
            for table in _KEPT
        )
        self._there = self._copied = 0
        self._began = clock.monotonic()

    def run(self) -> MoveResult:
        """Carry it out, or on."""
        if self._one("SELECT version_num FROM alembic_version") == migrations.MOVED:
            self._release()
            return MoveResult(rows=self._total - 1, digest=None, seconds=0.0, copied=0)
        if self._one("SELECT version_num FROM alembic_version") != migrations.REVISIONS[-1]:
            raise StoreTooNew("a newer version of Kusanya wrote this store: move it with that one")
        self._prepare()
        for table in JOURNAL:
            self._copy_facts(table)
        self._copy_derived()
        while self._index():
            pass
        digest = self._verify()
        self._mark_moved()
        self._release()
        return MoveResult(
            rows=self._total,
            digest=digest,
            seconds=self._clock.monotonic() - self._began,
            copied=self._copied,
        )

    def _prepare(self) -> None:
        """Make the tables in an empty database, or find those of a move that was cut short."""
        with self._writing() as connection:
            if migrations.version(connection) is None:
                migrations.upgrade(connection, now=self._clock.now())
                if (oldest := self._one("SELECT min(arrived_at) FROM delivery")) is not None:
                    # So that letting go of old months drops tables, from the first day on.
                    begin_with(connection, from_us(oldest))
                connection.execute(_version_set(migrations.MOVING))
                connection.execute(store_meta.insert(), {"name": _OF, "value": self._store_id})
                return
            if migrations.version(connection) != migrations.MOVING or self._moving(connection) != (
                self._store_id
            ):
                raise StoreUnavailable(
                    f"{self._to.shown} holds a store already: name an empty database"
                )

    def _copy_facts(self, table: Table) -> None:
        """Copy what is not there yet, place by place; each slice is durable."""
        last = max(0, self._reached(table))
        rows = self._rows(table, f"WHERE seq > {last} ORDER BY seq")
        while slice_ := rows.fetchmany(_SLICE):
            with self._writing() as connection:
                _copy_in(connection, table, slice_)
            self._report(len(slice_))

    def _reached(self, table: Table) -> int:
        """Return the last place that is in the database, and count its rows as there."""
        with self._to.reading() as connection:
            counted = connection.execute(
                text(f"SELECT count(*), coalesce(max(seq), 0) FROM {table.name}")  # noqa: S608
            ).one()
        self._there += counted[0]
        return int(counted[1])

    def _copy_derived(self) -> None:
        """Copy the tables whose rows change, in one transaction: they fit each other."""
        with self._writing() as connection:
            for index in _INDEXES:
                connection.execute(text(f"DELETE FROM {index}"))  # noqa: S608 - names of ours
            for table in _DERIVED:
                emptied = delete(table)
                if table is store_meta:
                    emptied = emptied.where(store_meta.c.name != _OF)
                connection.execute(emptied)
                rows = self._rows(table, "")
                while slice_ := rows.fetchmany(_SLICE):
                    _copy_in(connection, table, slice_)
                    self._report(len(slice_))
            connection.execute(update(feed_head).values(searched=0, texts_searched=0))
        with self._writing() as connection:
            # Without statistics the index of references is made by the worst of plans.
            connection.execute(text("ANALYZE"))

    def _index(self) -> bool:
        with self._writing() as connection:
            writing = Transaction(
                connection, statements=statements(connection.dialect), now=self._clock.now()
            )
            more = index_all(writing, step=_SLICE)
            writing.finish()
            return more

    def _verify(self) -> str:
        """Return the digest of everything; raises StoreUnavailable where the two differ."""
        whole = blake2b(digest_size=32)
        for table in _KEPT:
            columns = [column for column in table.c if column not in _LEFT_OUT]
            names = ", ".join(column.name for column in columns)
            order = ", ".join(column.name for column in table.primary_key.columns)
            query = f"SELECT {names} FROM {table.name} ORDER BY {order}"  # noqa: S608 - our names
            here = _digest(self._file.execute(query))
            with self._to.reading() as connection:
                copied = select(*map(_as_in_a_file, columns)).order_by(*table.primary_key.columns)
                if table is store_meta:
                    copied = copied.where(store_meta.c.name != _OF)
                there = _digest(connection.execute(copied.execution_options(yield_per=_SLICE)))
            if here != there:
                self._start_over(table)
                raise StoreUnavailable(
                    f"the file and {self._to.shown} do not hold the same ({table.name}): the file "
                    "was changed between two parts of the move, and is the store still; run the "
                    "same command again"
                )
            whole.update(here)
        return whole.hexdigest()

    def _start_over(self, table: Table) -> None:
        with self._writing() as connection:
            connection.execute(delete(table))

    def _mark_moved(self) -> None:
        """Say durably in the file that it is no store any more."""
        self._file.execute(
            "INSERT OR REPLACE INTO store_meta (name, value) VALUES (?, ?)", (_TO, self._to.shown)
        )
        self._file.execute("UPDATE alembic_version SET version_num = ?", (migrations.MOVED,))
        self._file.execute("COMMIT")

    def _release(self) -> None:
        """Make a store of the database, unless that was done already."""
        with self._writing() as connection:
            if self._moving(connection) == self._store_id:
                connection.execute(delete(store_meta).where(store_meta.c.name == _OF))
                connection.execute(_version_set(migrations.REVISIONS[-1]))
                return
            query = select(store_meta.c.value).where(store_meta.c.name == "store_id")
            if connection.execute(query).scalar_one_or_none() == self._store_id:
                return
        moved_to = self._one("SELECT value FROM store_meta WHERE name = 'moved_to'")
        raise StoreUnavailable(f"this store was moved to {moved_to}, not to {self._to.shown}")

    def _moving(self, connection: Connection) -> str | None:
        if migrations.version(connection) is None:
            return None
        of: str | None = connection.execute(
            select(store_meta.c.value).where(store_meta.c.name == _OF)
        ).scalar_one_or_none()
        return of

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._to.writing() as connection, connection.begin():
            connection.execute(text(f"SET LOCAL idle_in_transaction_session_timeout = {_IDLE_MS}"))
            yield connection

    def _rows(self, table: Table, rest: str) -> Any:
        names = ", ".join(table.c.keys())
        return self._file.execute(f"SELECT {names} FROM {table.name} {rest}")  # noqa: S608

    def _one(self, query: str) -> Any:
        return self._file.execute(query).fetchone()[0]

    def _report(self, rows: int) -> None:
        self._there += rows
        self._copied += rows
        if self._progress is not None:
            self._progress(self._there, self._total)


def _copy_in(connection: Connection, table: Table, rows: list[_Row]) -> None:
    raw: Any = connection.connection.cursor()
    names = ", ".join(table.c.keys())
    with raw.copy(f"COPY {table.name} ({names}) FROM STDIN") as out:
        for row in rows:
            out.write_row(row)
    raw.close()


def _as_in_a_file(column: Column[Any]) -> ColumnElement[Any]:
    """Return what a server's column says as SQLite keeps it: yes and no as 1 and 0."""
    return cast(column, Integer) if isinstance(column.type, Boolean) else column


def _digest(rows: Any) -> bytes:
    """Return the digest of rows; of the same row both engines' drivers give the same values."""
    digest = blake2b(digest_size=32)
    encoder = msgspec.msgpack.Encoder()
    while some := rows.fetchmany(_SLICE):
        digest.update(encoder.encode([tuple(row) for row in some]))
    return digest.digest()


def _version(file: SqliteFile) -> str | None:
    """Return the revision of a store's file, without recovering or changing anything."""
    if not file.path.exists():
        raise StoreUnavailable(f"there is no store at {file.path}")
    try:
        with closing(file.connect("mode=ro")) as connection:
            found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except file.error:
        return None  # the opening says what is wrong with it
    return None if found is None else str(found[0])


def _version_set(version: str) -> Any:
    return text("UPDATE alembic_version SET version_num = :version").bindparams(version=version)


@contextmanager
def _alone(file: SqliteFile) -> Iterator[Any]:
    """Yield a connection that has the file for itself, for as long as the block lasts."""
    with closing(file.connect("mode=rw")) as connection:
        try:
            for setting in ("busy_timeout = 0", "locking_mode = EXCLUSIVE", "synchronous = FULL"):
                connection.execute(f"PRAGMA {setting}")
            connection.execute("BEGIN EXCLUSIVE")
        except file.error as error:
            if "locked" not in str(error):
                raise StoreUnavailable(f"cannot open {file.path}: {error}") from None
            raise StoreUnavailable(
                f"another program has {file.path} open: stop every program that uses the store"
            ) from None
        try:
            yield connection
        except file.error as error:
            raise StoreUnavailable(f"cannot read {file.path}: {error}") from None


@contextmanager
def _alone_in(to: Engines) -> Iterator[None]:
    """Keep other moves out of the database until the end of the block."""
    # Outside of any transaction: one that is idle for long is ended by the server.
    with closing(to.writer.raw_connection()) as session:
        asked: Any = session.cursor()
        refuse_poolers(session.driver_connection, "a move of a store")
        asked.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK,))
        if not asked.fetchone()[0]:
            raise StoreUnavailable(f"another move into {to.shown} is under way: wait for its end")
        try:
            yield
        finally:
            asked.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))
