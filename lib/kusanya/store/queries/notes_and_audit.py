"""What people leave behind: notes on a subject, and an audit of their acts."""

import logging
import os
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, bindparam, func, insert, or_, select
from sqlalchemy import text as sql_text

from kusanya.errors import StoreError
from kusanya.store.queries.base import StorePart
from kusanya.store.queries.planner_hints import bound_asked
from kusanya.store.records import AuditFilter, AuditRow, Key, Note, NoteRow, Page
from kusanya.store.records.notes_and_audit import NOT_DONE
from kusanya.store.tables.engine import acting_as
from kusanya.store.tables.schema import audit, collection, note
from kusanya.store.tables.values import ESCAPE, Ids, clean, from_us, maybe_clean, part_of, to_us
from kusanya.store.writer.batch import Transaction
from kusanya.text import claimed
from kusanya.wire import Mode

_log: Final = logging.getLogger("kusanya.audit")
_NOTE: Final = tuple(note.c[name] for name in NoteRow.__struct_fields__)
_AUDIT: Final = tuple(audit.c[name] for name in AuditRow.__struct_fields__)
# Made once: building a statement costs more than running it does.
_WITH_PART: Final = (
    select(*_NOTE)
    .where(
        note.c.mode == bindparam("of_mode"),
        func.lower(note.c.text).contains(bindparam("part"), escape=ESCAPE),
    )
    .order_by(note.c.seq.desc())
    .limit(bound_asked())
)
_ALL: Final = AuditFilter()
_note_ids: Final = Ids("note")
_audit_ids: Final = Ids("audit")


class Notes(StorePart):
    """Keeping and reading notes; none is ever changed or removed."""

    def add(self, subject: str, written: Note, *, author: str, mode: Mode) -> NoteRow:
        """Make a note on the collection or intent `subject` durable and return it."""
        fields: dict[str, Any] = {
            name: clean(value) if isinstance(value, str) else value
            for name, value in msgspec.structs.asdict(written).items()
        }

        def act(writing: Transaction) -> NoteRow:
            row = NoteRow(
                **fields,
                id=_note_ids.new(),
                seq=writing.seq(),
                subject=clean(subject),
                mode=mode,
                author=clean(author),
                at=writing.now,
            )
            values = msgspec.structs.asdict(row)
            writing.connection.execute(
                insert(note).values(**{**values, "mode": mode.value, "at": to_us(row.at)})
            )
            return row

        return self._act(act)

    def of(self, subject: str, mode: Mode) -> tuple[NoteRow, ...]:
        """Return the notes on a subject of one mode, oldest first."""
        query = (
            select(*_NOTE)
            .where(note.c.subject == clean(subject), note.c.mode == mode.value)
            .order_by(note.c.seq)
        )
        with self._reading("read notes") as connection:
            return tuple(_to_note(row) for row in connection.execute(query))

    def search(self, mode: Mode, text: str, *, limit: int = 50) -> tuple[NoteRow, ...]:
        """Return the notes of one mode whose text contains `text`, in any case, newest first."""
        asked = {"of_mode": mode.value, "part": part_of(text), "bound": limit}
        with self._reading("read notes") as connection:
            return tuple(_to_note(row) for row in connection.execute(_WITH_PART, asked))


class Audit(StorePart):
    """Keeping and reading audit rows; none is ever changed or removed."""

    @property
    def actor(self) -> str:
        """Return who works on the store: the name that audit rows are kept under.

        PostgreSQL tells the login role, an SQLite file the operating system's user of this process.
        Neither can be chosen by the environment. A program that vouches for its people, such as a
        console behind an authenticating proxy, opens the store in the name of one: then it is that
        name, and each row says through which login. Raises StoreError.
        """
        with self._reading("read who is logged in") as connection:
            return _actor(connection)

    def add(
        self,
        *,
        actor: str,
        act: str,
        subject: str | None = None,
        detail: str = "",
        outcome: str = "done",
    ) -> AuditRow:
        """Make an audit row durable and return it: who did what, on what, why, how it ended.

        Who did it says the store, see `actor`. The caller's own name for them is kept in the detail
        where it is another.
        """
        return self._act(
            lambda writing: audited(
                writing, actor=actor, act=act, subject=subject, detail=detail, outcome=outcome
            )
        )

    def page(
        self,
        *,
        where: AuditFilter = _ALL,
        older_than: Key | None = None,
        newer_than: Key | None = None,
        limit: int = 200,
    ) -> Page[AuditRow]:
        """Return a page of audit rows, newest first, also when it was read upwards.

        `older_than` begins below a key and `newer_than` ends just above one; keys are those of
        `AuditRow.key`. `more` speaks of the direction that was read.
        """
        query = select(*_AUDIT).where(*_conditions(where))
        upwards = newer_than is not None
        if newer_than is not None:
            query = query.where(audit.c.seq > newer_than.value).order_by(audit.c.seq)
        else:
            if older_than is not None:
                query = query.where(audit.c.seq < older_than.value)
            query = query.order_by(audit.c.seq.desc())
        with self._reading("read the audit") as connection:
            found = tuple(_to_audit(row) for row in connection.execute(query.limit(limit + 1)))
        rows = found[:limit]
        return Page(rows=rows[::-1] if upwards else rows, more=len(found) > limit)

    def count_by_actor(self, where: AuditFilter) -> dict[str, int]:
        """Return how many acts each person did; raises StoreError."""
        query = select(audit.c.actor, func.count()).where(*_conditions(where))
        with self._reading("count the audit") as connection:
            return {row[0]: row[1] for row in connection.execute(query.group_by(audit.c.actor))}

    def by_id(self, ids: Sequence[str]) -> dict[str, AuditRow]:
        """Return the audit rows among `ids`, by id."""
        query = select(*_AUDIT).where(audit.c.id.in_([clean(one) for one in ids]))
        with self._reading("read the audit") as connection:
            return {row[0]: _to_audit(row) for row in connection.execute(query)}

    def reveal_phone(self, collection_id: str, mode: Mode, *, actor: str, why: str) -> str:
        """Return the whole phone number of a collection, once the reveal itself is audited.

        Raises StoreError for an unknown collection; the attempt is audited all the same.
        """

        def act(writing: Transaction) -> tuple[str | None, str]:
            query = select(collection.c.phone).where(
                collection.c.id == clean(collection_id), collection.c.mode == mode.value
            )
            phone: str | None = writing.connection.execute(query).scalar_one_or_none()
            outcome = "unknown collection" if phone is None else "revealed"
            if not _may_reveal(writing.connection):
                phone, outcome = None, "refused"
            audited(
                writing,
                actor=actor,
                act="reveal_phone",
                subject=collection_id,
                detail=why,
                outcome=outcome,
            )
            return phone, outcome

        phone, outcome = self._act(act)
        if outcome == "refused":
            raise StoreError("your login is no member of the role kusanya_reveal")
        if phone is None:
            raise StoreError("there is no such collection")
        return phone


def audited(
    writing: Transaction, *, actor: str, act: str, subject: str | None, detail: str, outcome: str
) -> AuditRow:
    """Append an audit row in the open transaction and return it; `actor` is the caller's claim."""
    who, login = _actor(writing.connection), _login(writing.connection)
    said = claimed(detail, who=who, actor=actor)
    row = AuditRow(
        id=_audit_ids.new(),
        seq=writing.seq(),
        at=writing.now,
        actor=clean(who),
        act=clean(act),
        subject=maybe_clean(subject),
        detail=clean(said if who == login else f"{said} (through {login})".lstrip()),
        outcome=clean(outcome),
    )
    values = {name: getattr(row, name) for name in AuditRow.__struct_fields__}
    writing.connection.execute(insert(audit).values(**{**values, "at": to_us(row.at)}))
    writing.after_commit.append(partial(_log_act, row))
    return row


def _log_act(row: AuditRow) -> None:
    # Without the detail, which is a person's own words.
    details = {name: getattr(row, name) for name in ("act", "actor", "subject", "outcome")}
    _log.info("act", extra={"audit_id": row.id, **details})


_MAY_REVEAL: Final = sql_text(
    """
    SELECT pg_has_role(session_user, oid, 'MEMBER')
    FROM pg_roles
    WHERE rolname = 'kusanya_reveal'
      AND has_table_privilege(oid, 'collection', 'SELECT')
    """
)
"""No row where this database has no roles. By number: a name that is unknown is an error."""


def _may_reveal(connection: Connection) -> bool:
    if connection.dialect.name != "postgresql":
        return True
    return connection.execute(_MAY_REVEAL).scalar_one_or_none() is not False


def _actor(connection: Connection) -> str:
    return acting_as(connection) or _login(connection)


def _login(connection: Connection) -> str:
    if connection.dialect.name == "postgresql":
        role: str = connection.execute(sql_text("SELECT session_user")).scalar_one()
        return role
    return operating_system_user()


def operating_system_user() -> str:
    """Return the name of the user whom the operating system runs this process for.

    Asked by the user's number, never from variables that anybody may set.
    """
    try:
        import pwd
    except ImportError:  # Windows has no such numbers
        try:
            return os.getlogin()
        except OSError:
            return "unknown user"
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # a container's user often has no name
        return f"uid {number}"


def _conditions(where: AuditFilter) -> list[ColumnElement[bool]]:
    it = audit.c
    found: list[ColumnElement[bool]] = []
    if where.actors:
        found.append(_contains_any(func.lower(it.actor), where.actors))
    if where.acts:
        found.append(_contains_any(func.lower(it.act), where.acts))
    if where.exactly:
        found.append(it.act.in_(where.exactly))
    if where.but:
        found.append(it.act.not_in(where.but))
    if where.subjects:
        found.append(it.subject.in_([clean(subject) for subject in where.subjects]))
    if where.since is not None:
        found.append(it.at >= to_us(where.since))
    if where.until is not None:
        found.append(it.at < to_us(where.until))
    if where.unwell:
        found.append(or_(*(it.outcome.startswith(word) for word in NOT_DONE)))
    return found


def _contains_any(said: ColumnElement[Any], parts: Sequence[str]) -> ColumnElement[bool]:
    wanted = [clean(part).lower().replace("_", " ") for part in parts]
    return or_(*(func.replace(said, "_", " ").contains(part, autoescape=True) for part in wanted))


def _to_note(row: Row[Any]) -> NoteRow:
    values = dict(zip(NoteRow.__struct_fields__, row, strict=True))
    return NoteRow(**{**values, "mode": Mode(values["mode"]), "at": from_us(values["at"])})


def _to_audit(row: Row[Any]) -> AuditRow:
    values = dict(zip(AuditRow.__struct_fields__, row, strict=True))
    return AuditRow(**{**values, "at": from_us(values["at"])})
