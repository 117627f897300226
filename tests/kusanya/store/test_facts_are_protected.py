"""What each role may do with each table, and what the database refuses whoever was granted what."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import ProgrammingError
from tests.kit.intents import begin_intent
from tests.kit.roles import ROLES, logins_of, run_script

from kusanya.clock import ManualClock
from kusanya.errors import StoreError, StoreUnavailable
from kusanya.store import Store, roles_sql
from kusanya.store.records import IntentState, Note, NoticeBook
from kusanya.store.tables.engine import Engines, engines
from kusanya.store.tables.schema import metadata
from kusanya.wire import Mode

pytestmark = pytest.mark.postgres
As = Callable[[str], str]
_OPERATIONS = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE")
_MAY = {
    # table: what ask may beside reading; what act, and what decide may beside that.
    "acknowledgement": ("", "I", "I"),
    "audit": ("", "I", "I"),
    "break_fact": ("", "", "I"),
    "claim": ("IUD", "IUD", "IUD"),
    "collection": ("IU", "IU", "IU"),
    "consumer": ("u", "Iu", "Iu"),
    "delivery": ("IuD", "IuD", "IuD"),
    "delivery_rollup": ("IU", "IU", "IU"),
    "event": ("Iu", "Iu", "Iu"),
    "feed_head": ("u", "u", "u"),
    "intent": ("u", "Iu", "Iu"),
    "intent_attempt": ("", "Iu", "Iu"),
    "intent_change": ("I", "I", "I"),
    "metadata_entry": ("I", "I", "I"),
    "note": ("", "", "I"),
    "observation": ("I", "I", "I"),
    "outcome": ("I", "I", "I"),
    "outcome_work": ("IUD", "IUD", "IUD"),
    "receipt": ("", "", "I"),
    "rollup": ("IU", "IU", "IU"),
    "store_meta": ("IuD", "IuD", "IuD"),
}
"""By the first letter of the operation; u is an update of some columns alone."""
_COLUMNS = {
    "consumer": {"place", "epoch"},
    "delivery": {"body"},
    "event": {"arrivals", "checked_at"},
    "feed_head": {"seq", "removed", "searched", "texts_searched"},
    "intent": {
        "seq", "state", "first_sent_at", "collection_id", "outcome", "attempts", "claimed_by",
        "claimed_until", "window_closed_at",
    },
    "intent_attempt": {"ended_at", "outcome", "status", "request_id", "took_us"},
    "store_meta": {"value"},
}  # fmt: skip
"""Which ones."""


@pytest.fixture
def logins(postgres_url: str, make: Any, clock: ManualClock) -> Iterator[As]:
    """Return the address, by role, of a store that holds a row of everything."""
    with Store.open(postgres_url, clock=clock) as store:
        begin(store, make, "INV-1")
        store.record(make.arrival(1, reference="INV-1", phone="255754000001"))
        store.record(make.rejected(2))
        store.notes.add("col_1", Note("called"), author="asha", mode=Mode.TEST)
        store.audit.add(actor="asha", act="look")
        store.poll_leases.record_poll(Mode.TEST, by="poller-1")
    with logins_of(postgres_url) as login:
        yield login


def begin(store: Store, make: Any, reference: str) -> str:
    until = make.noon + timedelta(seconds=60)
    return begin_intent(store,
        idempotency_key=reference, body=b"{}", mode=Mode.TEST, profile="shop", reference=reference,
        amount=5000, phone="255754000001", at=make.noon, by="me", until=until,
    ).result().intent.id  # fmt: skip


def _privileges(connection: Connection, role: str, table: str) -> str:
    found = ""
    for operation in _OPERATIONS:
        whole = text("SELECT has_table_privilege(:role, :of, :may)")
        asked = {"role": f"kusanya_{role}", "of": f"public.{table}", "may": operation}
        if connection.execute(whole, asked).scalar_one():
            found += operation[0]
        elif operation == "UPDATE":
            columns = metadata.tables[table].c.keys()
            one = text("SELECT has_column_privilege(:role, :of, :column, 'UPDATE')")
            may = {
                it for it in columns if connection.execute(one, {**asked, "column": it}).scalar()
            }
            listed = _COLUMNS.get(table, set())
            # Who sends a creation keeps where to; who only learns what became of it does not.
            sends = {"target"} if table == "intent" and role != "ask" else set()
            assert may in (set(), listed | sends), (role, table)
            found += "u" if may else ""
    return found


@pytest.mark.merge
def test_each_role_may_do_with_each_table_what_is_written_here_and_nothing_else(
    logins: As, postgres_url: str
) -> None:
    owner = engines(postgres_url)
    with owner.reading() as connection:
        found = {
            (role, table): _privileges(connection, role, table)
            for role in ROLES
            for table in metadata.tables
        }
    owner.dispose()
    wanted: dict[tuple[str, str], str] = {}
    for table in metadata.tables:
        ask, act, decide = (f"S{may}" for may in _MAY[table])
        by_role = ("", ask, act, act, decide, "SIUDT")
        wanted |= {(role, table): may for role, may in zip(ROLES, by_role, strict=True)}
    assert found == wanted


def refused(found: Engines, change: str) -> str | None:
    """Return how the database refused a change, or None where it took it."""
    with found.writing() as connection:
        try:
            connection.execute(text(change))
        except ProgrammingError as error:
            return type(error.orig).__name__
        finally:
            connection.rollback()
    return None


_SIGN = "INSERT INTO audit (id, at, actor, act, detail, outcome, seq) VALUES"
_ATTACKS = (
    "DELETE FROM event",
    "UPDATE event SET digest = 'x'",
    "DELETE FROM delivery WHERE verdict = 'verified'",
    "UPDATE delivery SET body = NULL WHERE verdict = 'verified'",
    "UPDATE delivery SET body = 'other' WHERE verdict = 'rejected'",
    "UPDATE delivery SET arrived_at = 1",
    "DELETE FROM store_meta WHERE name = 'store_id'",
    "UPDATE store_meta SET value = 'other' WHERE name = 'store_id'",
    "INSERT INTO store_meta VALUES ('restored_test', '{}')",
    "INSERT INTO store_meta VALUES ('deliveries_since', '1')",
    "UPDATE intent SET body = 'other'",
    "UPDATE intent SET amount = 1",
    "UPDATE intent SET idempotency_key = 'new'",
    "UPDATE intent SET phone = '255754999999'",
    "DELETE FROM intent",
    "DELETE FROM intent_attempt",
    "UPDATE audit SET actor = 'x'",
    f"{_SIGN} ('a', 1, 'boss', 'x', '', 'done', 900)",
    "INSERT INTO acknowledgement (seq, alarm, at, actor, reason) VALUES (9, 'x', 1, 'boss', 'x')",
    "UPDATE note SET text = 'x'",
    "DELETE FROM observation",
    "UPDATE observation SET payload = 'x'",
    "DELETE FROM collection",
    "TRUNCATE observation",
    "DELETE FROM feed_head",
    "ALTER TABLE audit DISABLE TRIGGER ALL",
    "DROP TABLE note",
)


@pytest.mark.parametrize("role", ["ask", "act", "reveal", "decide"])
def test_no_program_and_no_person_changes_what_was_recorded(logins: As, role: str) -> None:
    entry = engines(logins(role))
    assert [it for it in _ATTACKS if refused(entry, it) != "InsufficientPrivilege"] == []
    entry.dispose()


def test_facts_stay_where_somebody_was_granted_too_much(logins: As, postgres_url: str) -> None:
    owner = engines(postgres_url)
    run_script(owner, "GRANT ALL ON ALL TABLES IN SCHEMA public TO as_decide")
    entry = engines(logins("decide"))
    for table in (
        "observation",
        "intent_change",
        "note",
        "audit",
        "acknowledgement",
        "break_fact",
        "receipt",
    ):
        column = next(iter(metadata.tables[table].c)).name
        for change in (
            f"DELETE FROM {table}",  # noqa: S608 - our own tables
            f"UPDATE {table} SET {column} = {column}",  # noqa: S608
            f"TRUNCATE {table}",
        ):
            assert refused(entry, change) == "InsufficientPrivilege", change
    entry.dispose()
    owner.dispose()


def test_an_act_is_signed_by_its_login_and_a_vouching_program_signs_for_people(
    logins: As, postgres_url: str
) -> None:
    said = f"{_SIGN} ('a', 1, 'as_act', 'x', '', 'done', 900)"
    entry = engines(logins("act"))
    assert refused(entry, said) is None
    entry.dispose()
    with Store.open(logins("act"), acting_as="asha") as store, pytest.raises(StoreError):
        store.audit.add(actor="asha", act="acknowledge")
    owner = engines(postgres_url)
    run_script(owner, "GRANT kusanya_vouch TO as_act")
    with Store.open(logins("act"), acting_as="asha") as store:
        row = store.audit.add(actor="asha", act="acknowledge")
    assert (row.actor, row.detail) == ("asha", "(through as_act)")
    run_script(owner, "REVOKE kusanya_vouch FROM as_act")
    owner.dispose()


@pytest.mark.parametrize("role", ["ask", "act", "reveal", "decide", "admin"])
def test_a_receiver_and_a_poller_do_all_their_work_as_each_role_that_has_it(
    logins: As, make: Any, clock: ManualClock, role: str
) -> None:
    until = make.noon + timedelta(minutes=5)
    with Store.open(logins(role), clock=clock, rejected_rows=2, rejected_body_bytes=150) as store:
        [lost] = store.intents.page().rows
        for number in range(20, 40):
            store.record(make.arrival(number, description="call me", metadata={"shop": "7"}))
        store.record(make.arrival(20))  # again
        store.record(make.arrival(20, amount=7))  # another body of the same event
        store.record(make.observation(50, status="created", source_id="answer"))
        for number in range(60, 66):  # only so many are kept
            store.record(make.rejected(number))
        [taken] = store.poll_leases.take(Mode.TEST, by="me", until=until)
        store.poll_leases.prolong(Mode.TEST, {taken.id: until}, by="me")
        store.poll_leases.release(Mode.TEST, [taken.id], by="me")
        store.poll_leases.record_poll(Mode.TEST, by="me", clock_offset=timedelta(seconds=1))
        clock.sleep(8 * 86_400)
        store.poll_leases.record_poll(Mode.TEST, by="me")  # forgets who polled long ago
        # What was sent without an answer is found by its event.
        assert store.intents.take_lease(lost.id, by="me", until=clock.now() + timedelta(minutes=1))
        done = store.intents.resolve(lost.id, collection_id="col_1", sentence="its event came")
        assert done.state is IntentState.SETTLED
        store.intents.release_lease(lost.id, by="me")
        assert store.alarm_notices.take_lease(Mode.TEST, by="w", until=clock.now() + 5 * _MINUTE)
        assert store.alarm_notices.save(Mode.TEST, NoticeBook(), by="w")
        store.alarm_notices.release_lease(Mode.TEST, by="w")
        store.prove_writable()
        assert store.maintenance.check() == ()


_MINUTE = timedelta(minutes=1)


def test_who_only_looks_reads_everything_that_people_look_at(
    logins: As, postgres_url: str, clock: ManualClock, make: Any
) -> None:
    clock.sleep(3_600)  # the instants of a poller look like a phone now
    with Store.open(postgres_url, clock=clock) as store:
        store.poll_leases.record_poll(Mode.TEST, by="p", clock_offset=timedelta(hours=211))
        [lost] = store.intents.page().rows
    with Store.open(logins("look"), read_only=True, clock=clock) as store:
        assert {it.name for it in store.poll_leases.pollers(Mode.TEST)} == {"p", "poller-1"}
        assert store.feed.changes(after=0)
        [row] = store.collections.page(Mode.TEST).rows
        assert store.collections.observations(row.id, Mode.TEST) == ()
        state = store.collections.state(row.id, Mode.TEST)
        assert state is not None
        assert (state.status, state.amount, state.observations) == (row.status, row.amount, 0)
        assert store.collections.state("col_none", Mode.TEST) is None
        assert [it.collection_id for it in store.events.of_collection(row.id, Mode.TEST)] == [
            row.id
        ]
        assert store.intents.attempts(lost.id)
        assert store.backups.status().last is None
        assert store.alarm_notices.load(Mode.TEST) == NoticeBook()
        assert store.audit.page().rows
        # It would compare what it may not see; the store is sound.
        with pytest.raises(StoreUnavailable, match="sees masked views"):
            store.maintenance.check()


def test_roles_before_there_is_a_store_say_what_to_do_first(databases: Any) -> None:
    with (
        databases.fresh(prepared=False) as empty,
        psycopg.connect(empty) as owner,
        pytest.raises(psycopg.errors.UndefinedTable, match="there is no store in kusanya_") as said,
    ):
        owner.execute(roles_sql().encode())
    assert "Run kusanya store migrate as the same login" in str(said.value)


@pytest.mark.skipif(shutil.which("psql") is None, reason="needs psql")
def test_who_may_not_make_roles_is_told_and_psql_fails(postgres_url: str) -> None:
    """An owner without CREATEROLE: nothing is half done, and no script goes on."""
    owner = engines(postgres_url)
    run_script(owner, "DROP ROLE IF EXISTS shop_owner; CREATE ROLE shop_owner LOGIN")
    from kusanya_console.cli.store.roles import script

    done = subprocess.run(
        ["psql", "-X", postgres_url.replace("//postgres:@", "//shop_owner@")],  # noqa: S607
        input=script(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3, done
    assert "shop_owner may not make roles" in done.stderr
    assert "ALTER ROLE shop_owner CREATEROLE" in done.stderr
    run_script(owner, "DROP ROLE shop_owner")
    owner.dispose()
    assert roles_sql() in script()
