"""The store: one object for everything that is kept, on SQLite or PostgreSQL."""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from os import PathLike, fspath
from shutil import disk_usage
from types import TracebackType
from typing import Final, Literal, Self, overload

from kusanya.clock import Clock, SystemClock
from kusanya.errors import StoreUnavailable
from kusanya.privacy.secret_url import SecretUrl
from kusanya.state.observation import Observation
from kusanya.store.maintenance.erasing import Erasing
from kusanya.store.maintenance.export import Parquet
from kusanya.store.maintenance.maintenance import Maintenance
from kusanya.store.maintenance.opening import bring_up_to_date, prepare
from kusanya.store.maintenance.retention import Retention
from kusanya.store.maintenance.roles import Roles
from kusanya.store.queries.acknowledgements import Acknowledgements
from kusanya.store.queries.alarm_notices import AlarmNotices
from kusanya.store.queries.backups import Backups
from kusanya.store.queries.base import StorePart, StoreParts
from kusanya.store.queries.breaks import Breaks
from kusanya.store.queries.bulk.bulk_read import BulkRead
from kusanya.store.queries.collections.collections import Collections
from kusanya.store.queries.collections.indexing import STEP, index_all
from kusanya.store.queries.deliveries import Deliveries
from kusanya.store.queries.events import Events
from kusanya.store.queries.feed import Feed, touch
from kusanya.store.queries.intents.intents import Intents
from kusanya.store.queries.notes_and_audit import Audit, Notes
from kusanya.store.queries.outcomes import Outcomes
from kusanya.store.queries.poll_leases import PollLeases
from kusanya.store.queries.receipts import Receipts
from kusanya.store.queries.restores import Restores
from kusanya.store.queries.rollups import Rollups
from kusanya.store.records import Arrival, DeliveryCommit, Verdict
from kusanya.store.tables.engine import engines, only_store_errors
from kusanya.store.tables.sessions import are_masked, is_behind_a_pooler
from kusanya.store.writer.journal import BatchSettings, Journal
from kusanya.store.writer.rejected import RejectedLimits

_PROVEN_S: Final = 1.0
"""So long a commit proves that the next one will do."""


class Store(StorePart):
    """Everything that is kept: facts with their evidence, and what follows from them.

    Facts come in by `submit` and `record`; the rest is in the parts. Every method of theirs may be
    called from any thread. Only StoreError and its subclasses leave them, and IntentError where an
    intent cannot do what is asked. `with` closes the store.
    """

    def __init__(self, opened: StoreParts) -> None:
        super().__init__(opened)
        self.store_id = opened.store_id
        """An id minted when the store was created."""
        self.collections = Collections(opened)
        self.deliveries = Deliveries(opened)
        self.events = Events(opened)
        self.intents = Intents(opened)
        self.notes = Notes(opened)
        self.audit = Audit(opened)
        self.acknowledgements = Acknowledgements(opened)
        self.breaks = Breaks(opened)
        self.receipts = Receipts(opened)
        self.outcomes = Outcomes(opened)
        self.rollups = Rollups(opened)
        self.feed = Feed(opened)
        self.poll_leases = PollLeases(opened)
        self.alarm_notices = AlarmNotices(opened)
        self.maintenance = Maintenance(opened)
        self.parquet = Parquet(opened)
        self.restores = Restores(opened)
        self.backups = Backups(opened)
        self.roles = Roles(opened)
        self.erasing = Erasing(opened)
        self.retention = Retention(opened)
        self.bulk_read = BulkRead(opened)

    @classmethod
    def open(
        cls,
        url: str | PathLike[str] | SecretUrl,
        *,
        clock: Clock | None = None,
        create: bool = True,
        migrate: bool = False,
        upgrade: bool = False,
        read_only: bool = False,
        acting_as: str = "",
        queue_rows: int = 10_000,
        batch_rows: int = 500,
        batch_wait_s: float = 0.002,
        rejected_rows: int = 1_000,
        rejected_body_bytes: int = 64 * 1024 * 1024,
    ) -> Self:
        """Open the store at a path or a postgresql:// address.

        Where there is none it is made, unless `create` is False. An older store is refused unless
        `migrate` or `upgrade` brings it up to date: programs of the older version cannot open it
        any more. With `migrate` the files are also taken as they stand: a store is begun where one
        was lost, and what a removed -wal held is given up. `upgrade` does nothing of this, so that
        a program may be started with it again and again. `read_only` is for looking into someone
        else's store: nothing is created or migrated. `acting_as` is the person in whose name a
        program writes that vouches for them, see `Audit.actor`. The last two bound what is kept of
        deliveries rejected at one endpoint for one reason; all together have four times the rows
        and twice the bytes.
        Raises StoreUnavailable with what to do, StoreTooNew for a store of a newer version,
        StoreDamaged for one whose files are not whole.
        """
        found = engines(url if isinstance(url, SecretUrl) else fspath(url), read_only=read_only)
        clock = clock or SystemClock()
        if acting_as:
            found.act_as(acting_as)
        try:
            store_id = prepare(
                found,
                create=create,
                migrate=migrate,
                read_only=read_only,
                upgrade=upgrade and not read_only,
                clock=clock,
            )
        except BaseException:
            found.dispose()
            raise
        journal = None
        if not read_only:
            journal = Journal(
                found,
                clock=clock,
                settings=BatchSettings(
                    queue_rows=queue_rows,
                    batch_rows=batch_rows,
                    batch_wait_s=batch_wait_s,
                    chore_rows=STEP,
                ),
                rejected=RejectedLimits(rows=rejected_rows, body_bytes=rejected_body_bytes),
                chore=index_all,
            )
        return cls(StoreParts(found, journal, clock, store_id))

    @property
    def url_shown(self) -> str:
        """Return the store's address for people, without a password."""
        return self._engines.shown

    @property
    def hides_phones(self) -> bool:
        """Return whether this login sees the ends of phones alone. Raises StoreError."""
        with self._reading("read who is logged in") as connection:
            return are_masked(connection)

    @property
    def free_bytes(self) -> int | None:
        """Return the room on the disk of the store's file, or None for a database server's.

        Raises StoreUnavailable where the disk does not say.
        """
        path = self._engines.path
        if path is None:
            return None
        try:
            return disk_usage(path.parent).free
        except OSError as error:
            raise StoreUnavailable(f"cannot read the room on the disk: {error.strerror}") from error

    @property
    def is_behind_a_pooler(self) -> bool:
        """Return whether a pooler such as PgBouncer stands between us and the database.

        Raises StoreUnavailable where the store cannot be read.
        """
        if self._engines.path is not None:
            return False
        with self._reading("look for a pooler") as connection:
            return is_behind_a_pooler(connection.connection.driver_connection)

    @property
    def queue_depth(self) -> int:
        """Return how many submissions wait to be written."""
        return 0 if self._journal is None else self._journal.depth

    @overload
    def submit(self, item: Arrival) -> Future[DeliveryCommit]: ...
    @overload
    def submit(self, item: Observation) -> Future[int]: ...
    def submit(self, item: Arrival | Observation) -> Future[DeliveryCommit] | Future[int]:
        """Queue a fact; the future resolves once it is durable.

        An arrival resolves to its receipt, an observation to its place in the journal: that of the
        first where the same was said before. The future fails with StoreUnavailable where the fact
        is not durable. Raises StoreBusy at once when the queue is full.
        """
        _check(item)
        return self._writer().submit(item)

    @overload
    def record(self, item: Arrival) -> DeliveryCommit: ...
    @overload
    def record(self, item: Observation) -> int: ...
    def record(self, item: Arrival | Observation) -> DeliveryCommit | int:
        """Submit a fact and wait until it is durable; see `submit`."""
        return self.submit(item).result()

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        """Let all that this thread reads inside the block be of one moment.

        What commits meanwhile is not seen. Raises StoreUnavailable where it cannot be read.
        """
        with only_store_errors("read the store"), self._engines.one_moment():
            yield

    def prove_writable(self) -> None:
        """Return once it is known that the store can be read and written; for a health check.

        Known is what was made durable within the last second; else something is written now.
        Raises StoreError where it is not so.
        """
        self.feed.head()
        journal = self._writer()
        if not journal.outage.committed_within(_PROVEN_S):
            self._act(touch)

    def migrate(self) -> bool:
        """Bring an older store up to date; tell whether anything was done."""
        self._writer()
        with only_store_errors("migrate the store"):
            return bring_up_to_date(self._engines, self._clock)

    @property
    def clock(self) -> Clock:
        """Return the clock by which the store, and who acts on it, judges what is due."""
        return self._clock

    @property
    def is_closed(self) -> bool:
        """Return whether the store was closed, which is for good."""
        return self._engines.connections.closed

    def close(self) -> None:
        """Write what is queued, stop the writer and close every connection."""
        if self._journal is not None:
            self._journal.close()
        self._engines.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]:
        self.close()
        return False


def check_store(store: object) -> None:
    """Raise TypeError for what is no open store, such as the address of one."""
    if not hasattr(store, "submit"):
        raise TypeError(
            f"the store is an open Store, not a {type(store).__name__}: give "
            "kusanya.Store.open(...)"
        )


def _check(item: Arrival | Observation) -> None:
    if (
        isinstance(item, Arrival)
        and item.verdict is Verdict.VERIFIED
        and (item.event_id is None or item.observation is None)
    ):
        raise ValueError("a verified arrival has an event id and an observation")
