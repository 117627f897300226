"""Who may do what, as PostgreSQL's own roles: the SQL that an administrator runs.

Each role has what the one before it has, but for `look`: it sees views in a schema of its own, in
which phones are masked and bodies are missing, and nothing else. Facts are never changed or removed
by anybody but `admin`: triggers hold that, and that an act is signed by the login that does it,
also where somebody was granted more.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import msgspec
from sqlalchemy import LargeBinary, Table, text

from kusanya.domain.roles import Role
from kusanya.store.queries.base import StorePart
from kusanya.store.tables.schema import (
    acknowledgement,
    audit,
    break_fact,
    claim,
    collection,
    consumer,
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
    outcome,
    outcome_work,
    receipt,
    rollup,
    store_meta,
)
from kusanya.store.tables.sessions import LOOK_SCHEMA


class Grant(msgspec.Struct, frozen=True):
    """What one role may do with a table beside reading it."""

    role: Role
    what: str
    """Operations of SQL; one with columns in parentheses is of those alone."""
    table: str


_ENDING: Final = "(ended_at, outcome, status, request_id, took_us)"
_PROGRESS: Final = (
    "(seq, state, first_sent_at, collection_id, outcome, attempts, claimed_by, claimed_until, "
    "window_closed_at)"
)
"""What becomes of a creation. Its bytes, key, amount, phone and reference nobody may change."""
GRANTS: Final = (
    # A receiver and a poller: new facts, and what follows from them.
    Grant(Role.ASK, "INSERT", observation.name),
    Grant(Role.ASK, "INSERT, UPDATE (arrivals, checked_at)", event.name),
    Grant(Role.ASK, "INSERT, DELETE, UPDATE (body)", delivery.name),
    Grant(Role.ASK, "INSERT, UPDATE", collection.name),
    Grant(Role.ASK, "INSERT, UPDATE", rollup.name),
    Grant(Role.ASK, "INSERT, UPDATE", delivery_rollup.name),
    Grant(Role.ASK, "INSERT", metadata_entry.name),
    Grant(Role.ASK, "INSERT", "reference_search"),
    Grant(Role.ASK, "INSERT", "description_search"),
    Grant(Role.ASK, "UPDATE (seq, removed, searched, texts_searched)", feed_head.name),
    Grant(Role.ASK, "INSERT, UPDATE, DELETE", claim.name),
    Grant(Role.ASK, "INSERT, UPDATE (value), DELETE", store_meta.name),
    # It learns the outcome of a creation whose answer was lost.
    Grant(Role.ASK, f"UPDATE {_PROGRESS}", intent.name),
    Grant(Role.ASK, "INSERT", intent_change.name),
    # Who consumes outcomes tells them, and keeps what is not done.
    Grant(Role.ASK, "INSERT", outcome.name),
    Grant(Role.ASK, "UPDATE (place, epoch)", consumer.name),
    Grant(Role.ASK, "INSERT, UPDATE, DELETE", outcome_work.name),
    Grant(Role.ACT, "INSERT", consumer.name),
    # Who sends a creation again keeps where it goes.
    Grant(Role.ACT, "INSERT, UPDATE (target)", intent.name),
    Grant(Role.ACT, f"INSERT, UPDATE {_ENDING}", intent_attempt.name),
    Grant(Role.ACT, "INSERT", audit.name),
    Grant(Role.ACT, "INSERT", acknowledgement.name),
    Grant(Role.DECIDE, "INSERT", note.name),
    Grant(Role.DECIDE, "INSERT", break_fact.name),
    Grant(Role.DECIDE, "INSERT", receipt.name),
)
"""What each role may do beyond the one before it. `admin` may all."""
_SIGNED: Final = (audit, acknowledgement, break_fact, receipt)
_FACTS: Final = (observation, intent_change, note, outcome, *_SIGNED)
_OF_PROGRAMS: Final = (
    "poller ",
    "clock offset ",
    "service silent ",
    "alarm lease ",
    "alarm notices ",
    "deployed ",
    "outcomes told",
)
_OF_ACTS: Final = ("backup",)
"""What the names of rows in `store_meta` begin with that a program, or who acts, keeps there."""
_VOUCHING: Final = "kusanya_vouch"
"""The role of a program that writes in the name of people whom it has asked who they are."""
_PROTECTION: Final = """
CREATE OR REPLACE FUNCTION public.kusanya_is(wanted text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
  SELECT pg_has_role(relowner, 'USAGE')
      OR EXISTS (SELECT FROM pg_roles WHERE rolname = wanted AND pg_has_role(oid, 'USAGE'))
  FROM pg_class WHERE oid = 'public.store_meta'::regclass
$$;
CREATE OR REPLACE FUNCTION public.kusanya_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    -- A delivery that was rejected makes room for others, and lets go of its body before.
    made_room boolean := false;
  BEGIN
    IF TG_LEVEL = 'ROW' THEN
      made_room := OLD.verdict = 'rejected'
        AND (TG_OP = 'DELETE' OR to_jsonb(NEW) = to_jsonb(OLD) || '{"body": null}');
    END IF;
    IF NOT made_room AND NOT public.kusanya_is('kusanya_admin') THEN
      RAISE insufficient_privilege
        USING MESSAGE = format(
          'facts are never changed or removed: %s of %s', TG_OP, TG_RELID::regclass
        );
    END IF;
    RETURN CASE WHEN TG_LEVEL = 'STATEMENT' THEN NULL WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
  END
$$;
CREATE OR REPLACE FUNCTION public.kusanya_sign() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    -- The owner of the tables moves a store here with what others did.
    IF NEW.actor <> session_user AND NOT public.kusanya_is('kusanya_vouch') THEN
      RAISE insufficient_privilege USING MESSAGE = 'an act is signed by the login that does it';
    END IF;
    RETURN NEW;
  END
$$;
CREATE OR REPLACE FUNCTION public.kusanya_keep() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    name text := CASE WHEN TG_OP = 'DELETE' THEN OLD.name ELSE NEW.name END;
  BEGIN
    IF NOT starts_with(name, ANY_OF_PROGRAMS)
      AND NOT (starts_with(name, ANY_OF_ACTS) AND public.kusanya_is('kusanya_act'))
      AND NOT public.kusanya_is('kusanya_admin')
    THEN
      RAISE insufficient_privilege
        USING MESSAGE = format('%s of the store is kept by kusanya_admin alone', name);
    END IF;
    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
  END
$$;
"""
_CHECKED_FIRST: Final = """SET LOCAL client_min_messages = warning;
DO $$
  BEGIN
    IF to_regclass('public.store_meta') IS NULL THEN
      RAISE undefined_table USING
        MESSAGE = format('there is no store in %I yet', current_database()),
        HINT = 'Run kusanya store migrate as the same login, then this again';
    END IF;
    IF NOT (SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user) THEN
      RAISE insufficient_privilege USING
        MESSAGE = format('%s may not make roles', current_user),
        HINT = format('As a superuser: ALTER ROLE %I CREATEROLE; then run it again', current_user);
    END IF;
  END
$$;"""
_PHONE: Final = r"(\+|%2B|00)?(255|0)?[67]([ ().-]*[0-9]){8}"
"""A phone inside of a text; a longer number that holds one is hidden as well."""
_PLAIN: Final = frozenset(
    {
        *("id", "mode", "status", "channel", "currency", "verdict", "state", "code", "leg"),
        *("collection_id", "event_id", "intent_id", "request_id", "run_id", "break_id"),
    }
)
"""Columns with words and ids of the service and of ours: no phone; rows are found by them."""


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
    the owner of the tables, who may create roles (CREATEROLE), with ON_ERROR_STOP. People and
    programs are made members of a role: GRANT kusanya_act TO asha.
    """
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    roles = tuple(f"kusanya_{role.value}" for role in Role)
    yield "-- Roles for a Kusanya store. Run it as the owner of the tables, and again after each"
    yield "-- kusanya store migrate. Then: GRANT kusanya_act TO asha;"
    yield "-- For who only looks also: ALTER ROLE asha SET search_path = kusanya_look;"
    yield "BEGIN;"
    yield _CHECKED_FIRST
    for role in (*roles, _VOUCHING):
        yield (
            f"DO $$ BEGIN CREATE ROLE {role} NOLOGIN; "
            "EXCEPTION WHEN duplicate_object THEN NULL; END $$;"
        )
    everybody = ", ".join((*roles, _VOUCHING))
    yield f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM PUBLIC, {everybody};"
    yield f"REVOKE CREATE ON SCHEMA public FROM PUBLIC, {everybody};"
    yield from _protection()
    yield from _look(roles[0])
    yield f"GRANT USAGE ON SCHEMA public TO {', '.join(roles[1:])};"
    yield f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {', '.join(roles[1:])};"
    # Programs that ask and act read phones, or they could write no row; a person is shown one by
    # a reveal alone, which asks for this role and leaves an audit row.
    for lower, higher in pairwise(roles[1:]):
        yield f"GRANT {lower} TO {higher};"
    for one in GRANTS:
        yield f"GRANT {one.what} ON public.{one.table} TO kusanya_{one.role.value};"
    yield f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {roles[-1]};"
    yield f"GRANT CREATE ON SCHEMA public TO {roles[-1]};"
    yield "COMMIT;"


def _protection() -> Iterator[str]:
    """Yield the triggers that hold whatever was granted."""
    yield _PROTECTION.replace("starts_with(name, ANY_OF_PROGRAMS)", _begins(_OF_PROGRAMS)).replace(
        "starts_with(name, ANY_OF_ACTS)", _begins(_OF_ACTS)
    )
    for table in _FACTS:
        yield from _trigger("refuse", table, "BEFORE UPDATE OR DELETE OR TRUNCATE", "STATEMENT")
    yield from _trigger("refuse", delivery, "BEFORE UPDATE OR DELETE", "ROW")
    yield from _trigger("keep", store_meta, "BEFORE INSERT OR UPDATE OR DELETE", "ROW")
    for table in _SIGNED:
        yield from _trigger("sign", table, "BEFORE INSERT", "ROW")


def _trigger(what: str, table: Table, when: str, each: str) -> Iterator[str]:
    name = f"kusanya_{what}"
    yield f"DROP TRIGGER IF EXISTS {name} ON public.{table.name};"
    yield (
        f"CREATE TRIGGER {name} {when} ON public.{table.name} "
        f"FOR EACH {each} EXECUTE FUNCTION public.{name}();"
    )


def _begins(names: tuple[str, ...]) -> str:
    return "(" + " OR ".join(f"starts_with(name, '{name}')" for name in names) + ")"


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
    if table is store_meta:
        # Instants and counts of programs, some of which look like a phone; no customer's words.
        return name
    if name == "phone":
        return f"'255000000' || right({name}, 3) AS {name}"
    if column.type.python_type is not str or name in _PLAIN:
        return name
    return f"regexp_replace({name}, '{_PHONE}', '(phone)', 'g') AS {name}"
