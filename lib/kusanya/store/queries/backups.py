"""The newest verified backup as the store remembers it, and how old it may become.

A store that was never backed up expects no backup: a demo or a test wants none. Once one was made,
or somebody said `expect`, an old one is worth an alarm.
"""

from datetime import datetime, timedelta
from typing import Final, TypeVar

import msgspec
from sqlalchemy import Connection, select

from kusanya.errors import StoreDamaged
from kusanya.store.queries.base import StorePart
from kusanya.store.queries.notes_and_audit import audited
from kusanya.store.records import Backup, BackupStatus
from kusanya.store.tables.inserting import keep_in_meta
from kusanya.store.tables.schema import store_meta
from kusanya.store.tables.values import clean
from kusanya.store.writer.batch import Transaction

WITHIN: Final = timedelta(hours=36)
"""Unless somebody says otherwise: a missed night raises the alarm before the next one."""
_LAST: Final = "backup"
_EXPECTED: Final = "backup expected"
"""Names of rows in `store_meta`."""
_Kept = TypeVar("_Kept", bound=msgspec.Struct)


class BackupExpectation(msgspec.Struct, frozen=True, kw_only=True):
    """Since when somebody wants backups, and how old they may become; None for any age."""

    since: datetime
    within: timedelta | None


class Backups(StorePart):
    """What the store remembers of its backups."""

    def status(self) -> BackupStatus:
        """Return the newest verified backup and how old it may become. Raises StoreError."""
        with self._reading("read when the store was backed up") as connection:
            last = _value(connection, _LAST, Backup)
            said = _value(connection, _EXPECTED, BackupExpectation)
        if said is not None:
            return BackupStatus(last=last, expected_since=said.since, within=said.within)
        return BackupStatus(last=last, within=None if last is None else WITHIN)

    def record(self, backup: Backup, *, actor: str) -> None:
        """Remember a backup that was verified; audited, durable on return.

        One that is older than what is remembered is audited and changes nothing else.
        """
        self._act(lambda writing: record(writing, backup, actor=actor))

    def expect(self, within: timedelta | None, *, actor: str) -> None:
        """Say how old the newest backup may become, None for any age; audited, durable on return.

        Counted from now on where there is no backup yet. Raises ValueError for no time.
        """
        if within is not None and within <= timedelta():
            raise ValueError("a backup is expected within a time, not at once")

        def act(writing: Transaction) -> None:
            said = _value(writing.connection, _EXPECTED, BackupExpectation)
            # Saying the same again, as a nightly job may, begins no new time.
            if said is not None and said.within == within:
                return
            _keep(writing, _EXPECTED, BackupExpectation(since=writing.now, within=within))
            audited(
                writing,
                actor=actor,
                act="expect backups",
                subject=None,
                detail="any age will do" if within is None else f"within {within}",
                outcome="done",
            )

        self._act(act)


def record(writing: Transaction, backup: Backup, *, actor: str) -> None:
    """Remember a verified backup in the open transaction; see `Backups.record`."""
    last = _value(writing.connection, _LAST, Backup)
    if last is None or last.at <= backup.at:
        _keep(writing, _LAST, msgspec.structs.replace(backup, name=clean(backup.name)))
    digest = f", sha256 {backup.sha256}" if backup.sha256 else ""
    audited(
        writing,
        actor=actor,
        act="backup",
        subject=None,
        detail=f"{backup.name}, as of {backup.at.isoformat()}{digest}",
        outcome="done",
    )


def _value(connection: Connection, name: str, kind: type[_Kept]) -> _Kept | None:
    query = select(store_meta.c.value).where(store_meta.c.name == name)
    found: str | None = connection.execute(query).scalar_one_or_none()
    if found is None:
        return None
    try:
        return msgspec.json.decode(found, type=kind)
    except msgspec.MsgspecError as error:
        raise StoreDamaged(
            f"what the store knows of its backups cannot be read: {error}"
        ) from error


def _keep(writing: Transaction, name: str, value: msgspec.Struct) -> None:
    keep_in_meta(writing.connection, name, msgspec.json.encode(value).decode())
