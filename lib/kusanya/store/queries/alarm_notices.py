"""Which alarms people were sent: one book for each mode, kept by the holder of its lease.

So no cause is sent twice, whichever process watches and however often it is started. The lease of
a process that died ends by itself.
"""

from datetime import datetime
from typing import Final, TypeVar

import msgspec
from sqlalchemy import Connection, select

from kusanya.errors import StoreDamaged
from kusanya.store.queries.base import StorePart
from kusanya.store.records import NoticeBook, UnsentNotice
from kusanya.store.tables.inserting import keep_in_meta
from kusanya.store.tables.schema import store_meta
from kusanya.store.tables.values import clean
from kusanya.store.writer.batch import Transaction
from kusanya.wire import Mode

_Kept = TypeVar("_Kept", bound=msgspec.Struct)
_LEASE: Final = "alarm lease "
_BOOK: Final = "alarm notices "
"""What the names of the rows in `store_meta` begin with; the mode follows."""


class NoticeLease(msgspec.Struct, frozen=True, kw_only=True):
    """Who keeps the book of a mode, and until when."""

    by: str
    until: datetime


class AlarmNotices(StorePart):
    """Reading and keeping the books."""

    def take_lease(self, mode: Mode, *, by: str, until: datetime) -> bool:
        """Take or prolong the lease of a mode; False while another process holds it.

        Durable on return. One's own lease is prolonged once half of it has passed.
        """
        now = self._clock.now()
        with self._reading("read who sends notifications") as connection:
            known = _lease(connection, mode)
        if known is not None and known.until > now:
            if known.by != by:
                return False
            if known.until - now > (until - now) / 2:
                return True

        def act(writing: Transaction) -> bool:
            held = _lease(writing.connection, mode)
            if held is not None and held.by != by and held.until > writing.now:
                return False
            _write(writing, _LEASE, mode, NoticeLease(by=clean(by), until=until))
            return True

        return self._act(act)

    def release_lease(self, mode: Mode, *, by: str) -> None:
        """Give up one's own lease, so that another process need not wait for its end."""

        def act(writing: Transaction) -> None:
            held = _lease(writing.connection, mode)
            if held is not None and held.by == by:
                _write(writing, _LEASE, mode, NoticeLease(by=held.by, until=writing.now))

        self._act(act)

    def is_leased(self, mode: Mode) -> bool:
        """Return whether any process holds the lease of a mode now."""
        with self._reading("read who sends notifications") as connection:
            held = _lease(connection, mode)
        return held is not None and held.until > self._clock.now()

    def load(self, mode: Mode) -> NoticeBook:
        """Return the book of a mode."""
        with self._reading("read the notices of alarms") as connection:
            return _book(connection, mode)

    def unsent(self, mode: Mode) -> tuple[UnsentNotice, ...]:
        """Return the addresses that do not take notifications now."""
        return self.load(mode).unsent

    def save(self, mode: Mode, book: NoticeBook, *, by: str) -> bool:
        """Keep a book as the holder of the lease; False, and nothing kept, for anybody else.

        Durable on return.
        """

        def act(writing: Transaction) -> bool:
            held = _lease(writing.connection, mode)
            if held is None or held.by != by:
                return False
            _write(writing, _BOOK, mode, book)
            return True

        return self._act(act)


def _lease(connection: Connection, mode: Mode) -> NoticeLease | None:
    value = _value(connection, _LEASE, mode)
    return None if value is None else _decoded(value, NoticeLease)


def _book(connection: Connection, mode: Mode) -> NoticeBook:
    value = _value(connection, _BOOK, mode)
    return NoticeBook() if value is None else _decoded(value, NoticeBook)


def _value(connection: Connection, what: str, mode: Mode) -> str | None:
    query = select(store_meta.c.value).where(store_meta.c.name == f"{what}{mode.value}")
    found: str | None = connection.execute(query).scalar_one_or_none()
    return found


def _write(writing: Transaction, what: str, mode: Mode, value: msgspec.Struct) -> None:
    text = msgspec.json.encode(value).decode()
    keep_in_meta(writing.connection, f"{what}{mode.value}", text)


def _decoded(value: str, kind: type[_Kept]) -> _Kept:
    try:
        return msgspec.json.decode(value, type=kind)
    except msgspec.MsgspecError as error:
        raise StoreDamaged(f"the notices of alarms cannot be read: {error}") from error
