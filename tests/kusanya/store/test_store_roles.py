"""PostgreSQL itself says who may do what; whoever only looks finds no phone anywhere."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError
from tests.kit.roles import ROLES, logins_of
from tests.kusanya.store.customer import begin

from kusanya.clock import ManualClock
from kusanya.domain.roles import Role
from kusanya.errors import StoreError, StoreUnavailable
from kusanya.store import Store
from kusanya.store.records import Note
from kusanya.store.tables.delivery_months import parts
from kusanya.store.tables.engine import engines
from kusanya.wire import Mode

pytestmark = pytest.mark.postgres
PHONE = "255754000001"
As = Callable[[str], str]


@pytest.fixture
def logins(postgres_url: str, make: Any, clock: ManualClock) -> Iterator[As]:
    """Return the address of a store with payments, for a login that has one of the roles."""
    with Store.open(postgres_url, clock=clock) as store:
        said = {
            "phone": PHONE,
            "description": f"call {PHONE}",
            "metadata": {"call": "0754 000 001"},
        }
        store.record(make.arrival(1, reference=f"R-{PHONE}", **said))
        store.record(make.arrival(2))
        store.notes.add("col_1", Note("ask 0754000001"), author="asha", mode=Mode.TEST)
        store.audit.add(actor="asha", act="look", detail=f"phone {PHONE}")
        begin(store, make, "INV-1", key="INV-1")
    with logins_of(postgres_url) as login:
        yield login


def test_who_only_looks_lists_payments_and_reads_no_phone(
    logins: As, postgres_url: str, clock: ManualClock
) -> None:
    with Store.open(logins("look"), read_only=True, clock=clock) as store:
        rows = store.collections.page(Mode.TEST).rows
        assert {row.id for row in rows} == {"col_1", "col_2"}
        assert {row.phone for row in rows} == {"255000000001", "255000000002"}
        assert len(store.deliveries.page(Mode.TEST).rows) == 2
        assert [row.phone for row in store.intents.page().rows] == ["255000000001"]
        with pytest.raises(StoreUnavailable, match="read-only"):
            store.audit.add(actor="x", act="y")
        with store._engines.reading() as connection:
            views = connection.execute(
                text("SELECT table_name FROM information_schema.views "
                     "WHERE table_schema = 'kusanya_look'")
            ).scalars().all()  # fmt: skip
            assert {"collection", "observation", "delivery", "note"} <= set(views)
            everything = " ".join(
                connection.execute(
                    text(f"SELECT coalesce(string_agg(t::text, ' '), '') FROM {view} t")  # noqa: S608
                ).scalar_one()
                for view in views
            )
        found = re.sub(r"[\s().-]", "", everything)
        assert "754000001" not in found
        assert b"754000001".hex() not in found  # a bytea as text
    found_ = engines(logins("look"))
    for table in ("collection", "observation", "intent", "delivery", "audit"):
        with (
            pytest.raises(Exception, match="permission denied") as refused,
            found_.reading() as connection,
        ):
            connection.execute(text(f"SELECT * FROM public.{table}"))  # noqa: S608
        assert "InsufficientPrivilege" in str(refused.value)
    found_.dispose()
    owner = engines(postgres_url)
    with owner.reading() as connection:  # the owner sees that there was one to find
        phone = connection.execute(text("SELECT phone FROM collection WHERE id = 'col_1'"))
        assert phone.scalar_one() == PHONE
    owner.dispose()


def test_who_does_not_own_the_months_lets_deliveries_go_row_by_row(
    logins: As, postgres_url: str, clock: ManualClock, make: Any
) -> None:
    owner = engines(postgres_url)
    with owner.reading() as connection:
        there = parts(connection)
    with Store.open(logins("admin"), clock=clock) as store:
        gone = store.retention.forget_deliveries(before=make.noon + timedelta(days=40))
        assert (gone, store.deliveries.page(Mode.TEST).rows) == (2, ())
        assert store.maintenance.check() == ()
        assert not store.migrate()  # nor does this login make months
    with owner.reading() as connection:
        assert parts(connection) == there
    owner.dispose()


NO_RIGHT = "this takes a login of another role"


def tried(act: Callable[[], object]) -> str:
    """Return how PostgreSQL, or a reveal, answered."""
    try:
        act()
    except StoreError as error:
        return next((said for said in (NO_RIGHT, "kusanya_reveal") if said in str(error)), "other")
    return "done"


def changed(found: Any, change: str) -> str:
    with found.writing() as connection:
        try:
            connection.execute(text(change))
        except ProgrammingError as error:
            return type(error.orig).__name__
        finally:
            connection.rollback()
    return "done"


@pytest.mark.parametrize(
    ("role", "answers"),
    [
        ("ask", ("done", NO_RIGHT, NO_RIGHT, NO_RIGHT, NO_RIGHT)),
        ("act", ("done", "done", "done", "kusanya_reveal", NO_RIGHT)),
        ("reveal", ("done", "done", "done", "done", NO_RIGHT)),
        ("decide", ("done", "done", "done", "done", "done")),
        ("admin", ("done", "done", "done", "done", "done")),
    ],
)
def test_each_role_may_do_what_its_name_says(
    logins: As,
    make: Any,
    clock: ManualClock,
    role: str,
    answers: tuple[str, ...],
) -> None:
    def show() -> str:
        return store.audit.reveal_phone("col_1", Mode.TEST, actor="x", why="call")

    with Store.open(logins(role), clock=clock) as store:
        found = tuple(
            map(
                tried,
                (
                    lambda: store.record(make.arrival(50)),
                    lambda: begin(store, make, "NEW", key="NEW"),
                    lambda: store.audit.add(actor="x", act="look"),
                    show,
                    lambda: store.notes.add("col_1", Note("seen"), author="x", mode=Mode.TEST),
                ),
            )
        )
        assert found == answers
        rows = store.audit.page().rows
        assert {row.actor for row in rows} <= {"postgres", f"as_{role}"}
        if role == "act":
            assert rows[0].outcome == "refused"
    entry = engines(logins(role))
    for change in ("UPDATE audit SET actor = 'x'", "DELETE FROM observation"):
        wanted = "done" if role == "admin" else "InsufficientPrivilege"
        assert changed(entry, change) == wanted
    entry.dispose()


def test_the_database_says_what_a_person_may_do(logins: As, postgres_url: str) -> None:
    with Store.open(logins("act")) as store:  # it may be asked by any program
        assert store.roles.are_kept
        assert [store.roles.of(f"as_{role}") for role in ROLES] == [Role(role) for role in ROLES]
        assert store.roles.of("nobody") is None
        assert store.roles.of("as_act'; DROP TABLE audit") is None
    with Store.open(postgres_url) as store:
        assert store.roles.of("postgres") is None, "a superuser was given no role by that"
