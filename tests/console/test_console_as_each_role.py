"""On PostgreSQL each role sees every screen, may do what its name says, and reads why not else."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.console.looking import AtRest, console_on, press, shown
from tests.console.seeding import NOW, Seed
from tests.kit.roles import ROLES, logins_of

from kusanya.clock import ManualClock
from kusanya.domain.roles import Role
from kusanya.state.anomalies import AnomalyKind, anomalies
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.actions.store_actions import StoreActions
from kusanya_console.application.app import ConsoleApp

pytestmark = pytest.mark.postgres
PHONE = "754123456"


@pytest.fixture
def logins(postgres_url: str) -> Iterator[Callable[[str], str]]:
    with Store.open(postgres_url, clock=ManualClock(NOW)) as store:
        seed = Seed(store)
        seed.busy(3)
        seed.life(950, at=NOW - timedelta(minutes=3), phone=f"255{PHONE}", status="succeeded",
                  failure_code=None, failure_message=None)  # fmt: skip
        other = seed.life(960, at=NOW - timedelta(minutes=5), status="expired", failure_code=None)
        seed.polled(replace(other, amount=other.amount + 1), at=NOW)
        seed.intents()
    with logins_of(postgres_url) as login:
        yield login


def console(store: Store, clock: ManualClock, **options: Any) -> ConsoleApp:
    plain: dict[str, Any] = {"store_shown": "postgresql://db", "profile": "main", "tick_s": None}
    return console_on(store, mode=Mode.LIVE, clock=clock, **plain, **options)


@pytest.mark.merge
@pytest.mark.anyio
@pytest.mark.parametrize("role", ROLES)
async def test_every_screen_is_read_and_no_phone_is_seen_by_who_only_looks(
    logins: Callable[[str], str], at_rest: AtRest, role: str
) -> None:
    clock = ManualClock(NOW)
    with Store.open(logins(role), read_only=role == "look", clock=clock) as store:
        app = console(store, clock)
        async with app.run_test(size=(120, 36)) as pilot:
            await at_rest(pilot)
            assert "INV-482950" in shown(app)
            for key in "24579":
                await press(pilot, at_rest, key)
                seen = shown(app)
                assert "cannot be" not in seen.replace("cannot all be", ""), seen
                assert PHONE not in seen
            await press(pilot, at_rest, "3", *PHONE, "enter")
            seen = shown(app)
            assert ("hidden from this login" in seen) == (role == "look"), seen
            assert ("INV-482950" in seen) == (role != "look"), seen


def test_who_only_looks_reads_of_no_oddity_that_others_do_not(logins: Callable[[str], str]) -> None:
    def odd(role: str) -> dict[str, set[AnomalyKind]]:
        with Store.open(logins(role), read_only=True) as store:
            rows = store.collections.page(Mode.LIVE).rows
            states = {row.id: store.collections.state(row.id, Mode.LIVE) for row in rows}
        return {
            id_: {one.kind for one in anomalies(state)} for id_, state in states.items() if state
        }

    masked, plain = odd("look"), odd("ask")
    assert masked.keys() == plain.keys()
    differ = {AnomalyKind.FACTS_DIFFER}
    assert any(kinds & differ for kinds in masked.values())
    for id_, kinds in masked.items():
        assert kinds - differ <= plain[id_], id_
        assert len(plain[id_]) >= len(kinds), id_


@pytest.mark.merge
@pytest.mark.anyio
@pytest.mark.parametrize("role", ROLES[1:])
async def test_an_act_above_a_role_is_refused_in_words_and_leaves_nothing(
    logins: Callable[[str], str], postgres_url: str, at_rest: AtRest, role: str
) -> None:
    clock = ManualClock(NOW)
    with Store.open(logins(role), clock=clock) as store:
        app = console(
            store, clock, actions=StoreActions(store, actor="asha", clock=clock, profile="main")
        )
        async with app.run_test(size=(120, 36), notifications=True) as pilot:
            await at_rest(pilot)
            await press(pilot, at_rest, "A", *"seen at the till", "enter")
            seen = shown(app)
    may = Role(role).includes(Role.DECIDE)
    with Store.open(postgres_url) as owner:
        notes = [one.text for one in owner.notes.of("col_0000000000000900", Mode.LIVE)]
        assert notes == (["seen at the till"] if may else []), seen
    assert ("this takes a login of another role" in " ".join(seen.split())) is not may, seen
    assert "42501" not in seen
