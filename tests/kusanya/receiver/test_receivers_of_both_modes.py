"""Receivers of both modes on one store: what a test secret signs never touches a live payment."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import permutations
from typing import Any

import msgspec
import pytest

from kusanya.clock import Clock
from kusanya.receiver import app
from kusanya.state.anomalies import AnomalyKind, anomalies
from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.wire import Mode, decode_event

SECRETS = {Mode.TEST: "whsec_" + "t" * 32, Mode.LIVE: "whsec_" + "l" * 32}
Deliver = Callable[[Mode, bytes], Awaitable[int]]

pytestmark = pytest.mark.anyio


@pytest.fixture
def deliver(store: Store, clock: Clock, sign_headers: Any, ask: Any) -> Deliver:
    """Return what delivers a body to the receiver of a mode, signed with that mode's secret."""

    async def send(mode: Mode, body: bytes) -> int:
        receiver = app(store, SECRETS[mode], mode=mode.value, clock=clock)
        answer = await ask(receiver, body, sign_headers(body, secret=SECRETS[mode]))
        return int(answer.status)

    return send


def created(body: bytes, at: Any) -> Observation:
    event = decode_event(body)
    live = msgspec.structs.replace(event.data, status="created", completed_at=None, mode=Mode.LIVE)
    return Observation(
        source=Source.ANSWER,
        source_id="key-1",
        observed_at=at,
        observed_in=Mode.LIVE,
        collection=live,
    )


@pytest.mark.parametrize("order", list(permutations(["answer", "test", "wrong"])))
async def test_a_live_payment_stays_open_whatever_a_test_secret_signs(
    store: Store, clock: Clock, body: Any, deliver: Deliver, order: tuple[str, ...]
) -> None:
    forged = body(id="evt_forged")
    wrong = body(id="evt_wrong", mode="test", data={"mode": "live"})
    for what in order:
        if what == "answer":
            store.record(created(forged, clock.now()))
        elif what == "test":
            assert await deliver(Mode.TEST, forged) == 200
        else:
            assert await deliver(Mode.LIVE, wrong) == 400
    row, state = (
        store.collections.get("col_1", Mode.LIVE),
        store.collections.state("col_1", Mode.LIVE),
    )
    assert row is not None
    assert state is not None
    assert (row.status, row.final_seen_at, row.event_id) == ("created", None, None)
    assert [one.id for one in store.collections.still_open(Mode.LIVE).rows] == ["col_1"]
    found = anomalies(state, store.collections.observations("col_1", Mode.LIVE))
    assert [one.kind for one in found] == [AnomalyKind.MODE_MISMATCH]
    assert found[0].urgent
    span = {"since": clock.now() - timedelta(days=1), "until": clock.now() + timedelta(days=1)}
    assert [(one.status, one.count) for one in store.rollups.collections(Mode.LIVE, **span)] == [
        ("created", 1)
    ]
    assert store.maintenance.check() == ()


async def test_each_receiver_ends_the_payment_of_its_own_mode(
    store: Store, clock: Clock, body: Any, deliver: Deliver
) -> None:
    live = body(mode="live", data={"mode": "live"})
    store.record(created(live, clock.now()))
    assert await deliver(Mode.TEST, body(id="evt_forged", data={"status": "failed"})) == 200
    assert await deliver(Mode.LIVE, live) == 200
    rows = [store.collections.get("col_1", mode) for mode in (Mode.LIVE, Mode.TEST)]
    assert [row and row.status for row in rows] == ["succeeded", "failed"]
