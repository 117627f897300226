"""Who may do what, as PostgreSQL's own roles: the SQL that an administrator runs.

Each role has what the one before it has, but for `look`: it sees views in a schema of its own, in
which phones are masked and bodies are missing, and nothing else. Facts are never changed or removed
by anybody but `admin`.
"""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import LargeBinary, Table, text

from kusanya.roles import Role
from kusanya.store.queries.base import StorePart
from kusanya.store.tables.schema import (
    audit,
    break_fact,
    claim,
    collection,
    delivery,
    delivery_rollup,
    event,
    feed_head,
    intent,
    intent_attempt,
    intent_change,
    metadata,
    metadata_entry,
    note,
    observation,
    receipt,
    rollup,
    store_meta,
)

LOOK_SCHEMA: Final = "kusanya_look"
"""The schema of the masked views; it has to be first in the search path of who only looks."""
_INDEXES: Final = ("reference_search", "description_search")
_CHANGING: Final = (
    collection, event, rollup, delivery, delivery_rollup, feed_head, claim, store_meta,
    metadata_entry,
)  # fmt: skip
"""Tables of which rows change in the course of receiving, polling and counting."""
_PHONE: Final = r"(\+|%2B|00)?(255|0)?[67]([ ().-]*[0-9]){8}"
"""A phone inside of a text; a longer number that holds one is hidden as well."""
_PLAIN: Final = frozenset(
    {"id", "mode", "status", "channel", "currency", "verdict", "state", "code", "leg", "break_id"}
)
"""Columns with words of the service and of ours, which hold no phone and are filtered by."""


_MEMBER_OF: Final = text(
    """
    SELECT role.rolname
    FROM pg_roles AS person, pg_roles AS role
    WHERE person.rolname = :name
      AND NOT person.rolsuper
      AND role.rolname LIKE 'kusanya\\_%'
      AND pg_has_role(person.oid, role.oid, 'MEMBER')
    """
)
"""A superuser is a member of every role: none is meant where nobody gave it one."""


class Roles(StorePart):
    """What people may do, as the database knows it."""

    @property
    def are_kept(self) -> bool:
        """Return whether the database keeps roles: PostgreSQL does, a file does not."""
        return not self._engines.sqlite

    def of(self, name: str) -> Role | None:
        """Return the most that the login `name` may do, None for nobody known. Raises StoreError.

        Always None beside a file.
        """
        if not self.are_kept:
            return None
        with self._reading("read the roles of a person") as connection:
            found = {row[0] for row in connection.execute(_MEMBER_OF, {"name": name})}
        mine = [role for role in Role if f"kusanya_{role.value}" in found]
        return mine[-1] if mine else None


def roles_sql() -> str:
    """Return the SQL that makes the six roles, the masked views and their grants.

    It may be run again, and has to be after each migration: it makes the views anew. To be run by
    the owner of the tables, who may create roles. People and programs are made members of a role:
    GRANT kusanya_act TO asha.
    """
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    roles = tuple(f"kusanya_{role.value}" for role in Role)
    yield "-- Roles for a Kusanya store. Run it as the owner of the tables, and again after each"
    yield "-- kusanya store migrate. Then: GRANT kusanya_act TO asha;"
    yield "-- For who only looks also: ALTER ROLE asha SET search_path = kusanya_look;"
    yield "BEGIN;"
    for role in roles:
        yield (
            f"DO $$ BEGIN CREATE ROLE {role} NOLOGIN; "
            "EXCEPTION WHEN duplicate_object THEN NULL; END $$;"
        )
    everybody = ", ".join(roles)
    yield f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM PUBLIC, {everybody};"
    yield f"REVOKE CREATE ON SCHEMA public FROM PUBLIC, {everybody};"
    yield from _look(roles[0])
    yield f"GRANT USAGE ON SCHEMA public TO {', '.join(roles[1:])};"
    yield f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {', '.join(roles[1:])};"
    ask, act, reveal, decide, admin = roles[1:]
    yield _grant("INSERT, UPDATE, DELETE", (*_CHANGING, *_INDEXES), ask)
    yield _grant("INSERT", (observation,), ask)
    yield f"GRANT {ask} TO {act};"
    yield _grant("INSERT, UPDATE", (intent, intent_attempt), act)
    yield _grant("INSERT", (intent_change, audit), act)
    # Programs that ask and act read phones, or they could write no row; a person is shown one by
    # a reveal alone, which asks for this role and leaves an audit row.
    yield f"GRANT {act} TO {reveal};"
    yield f"GRANT {reveal} TO {decide};"
    yield _grant("INSERT", (note, break_fact, receipt), decide)
    yield f"GRANT {decide} TO {admin};"
    yield f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {admin};"
    yield f"GRANT CREATE ON SCHEMA public TO {admin};"
    yield "COMMIT;"


def _grant(what: str, tables: tuple[Table | str, ...], role: str) -> str:
    names = ", ".join(f"public.{one if isinstance(one, str) else one.name}" for one in tables)
    return f"GRANT {what} ON {names} TO {role};"


def _look(role: str) -> Iterator[str]:
    yield f"DROP SCHEMA IF EXISTS {LOOK_SCHEMA} CASCADE;"
    yield f"CREATE SCHEMA {LOOK_SCHEMA};"
    for table in metadata.sorted_tables:
        columns = ", ".join(_shown(table, column.name) for column in table.c)
        yield (
            f"CREATE VIEW {LOOK_SCHEMA}.{table.name} WITH (security_barrier) AS "  # noqa: S608
            f"SELECT {columns} FROM public.{table.name};"
        )
    yield (
        f"CREATE VIEW {LOOK_SCHEMA}.alembic_version AS "  # noqa: S608 - names of ours
        "SELECT version_num FROM public.alembic_version;"
    )
    yield f"GRANT USAGE ON SCHEMA {LOOK_SCHEMA} TO {role};"
    yield f"GRANT SELECT ON ALL TABLES IN SCHEMA {LOOK_SCHEMA} TO {role};"


def _shown(table: Table, name: str) -> str:
    """Return a column as who only looks sees it."""
    column = table.c[name]
    if isinstance(column.type, LargeBinary):
        return f"NULL::bytea AS {name}" if column.nullable else f"'\\x90'::bytea AS {name}"
    if name == "phone":
        return f"'255000000' || right({name}, 3) AS {name}"
    if column.type.python_type is not str or name in _PLAIN:
        return name
    return f"regexp_replace({name}, '{_PHONE}', '(phone)', 'g') AS {name}"
