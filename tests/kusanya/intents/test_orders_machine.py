"""Any order of wishes, workers that die, lost answers, other phones, late events and cut networks.

The network and the service behind it are played; store, orders and client are real. At each
collection that the service makes, every other one of its order must be over and unpaid there: no
prompt while another can still charge, none after the order is paid.
"""

import contextlib
import json
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from kusanya import orders
from kusanya.client import Client
from kusanya.client.observations import poll_observation
from kusanya.errors import AmountChanged, KusanyaError
from kusanya.intents import create_safely, resolve_waiting
from kusanya.lookup.creation_timeline import load_creation_timeline
from kusanya.lookup.new_request import new_request
from kusanya.lookup.timeline import load_timeline
from kusanya.orders import Limits, OrderStatus
from kusanya.orders.paying import Wish, paying
from kusanya.store import Store
from kusanya.store.records.order import judge
from kusanya.wire import Mode, decode_collection

REFERENCES = st.sampled_from(["a", "b"])
PHONES = st.sampled_from(["0754000001", "0754000002"])
FREE = Limits(attempts=1_000, phone_hour=10_000, phone_day=10_000, wrong_pins=10_000)


class OrderMachine(RuleBasedStateMachine):
    """Two orders of a shop, whose workers die, on a network that loses."""

    play: Any

    @initialize()
    def start(self) -> None:
        """Begin with nothing sold."""
        memory = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
        self.folder = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
        self.clock = self.play.TickingClock()
        self.store = Store.open(
            f"sqlite:///{Path(self.folder.name) / 'store.db'}", clock=self.clock
        )
        self.service = self.play.FakeService(self.clock)
        self.service.witness = self.store
        self._make = self.service._new
        self.service._new = self._made

    def _made(self, collection_id: str, asked: dict[str, Any]) -> dict[str, Any]:
        others = [
            one["status"]
            for one in self.service.collections.values()
            if one["reference"] == asked["reference"]
        ]
        assert set(others) <= {"failed", "expired"}, others
        made: dict[str, Any] = self._make(collection_id, asked)
        return made

    def _client(self) -> Client:
        return Client(
            self.play.key,
            base_url="http://127.0.0.1:9",
            clock=self.clock,
            random=lambda: 0.0,
            max_attempts=2,
            transport=self.service,
        )

    def _faults(self, data: Any) -> None:
        faults = st.lists(st.sampled_from(list(self.play.Fault)), max_size=2)
        self.service.faults = data.draw(faults)

    @rule(data=st.data(), reference=REFERENCES, phone=PHONES, amount=st.sampled_from([5, 6]))
    def pays(self, data: Any, reference: str, phone: str, amount: int) -> None:
        """Say that an order is to be paid."""
        self._faults(data)
        with contextlib.suppress(KusanyaError):
            order = orders.pay(
                self.store, self._client(), reference, amount=amount, phone=phone, limits=FREE
            )
            assert order.status is not OrderStatus.UNPAID
            assert order == orders.get(self.store, reference, mode=Mode.TEST)
        self.service.faults = []

    @rule(
        data=st.data(), reference=REFERENCES, phone=PHONES, at=st.integers(0, 12),
        done=st.booleans(),
    )  # fmt: skip
    def dies(self, data: Any, reference: str, phone: str, at: int, done: bool) -> None:
        """Die at some step of a payment."""
        self._faults(data)
        client = self._client()
        wish = Wish(reference=reference, amount=5, phone=phone)
        steps = paying(self.store, client.core, wish, FREE)
        with contextlib.suppress(KusanyaError, self.play.Killed):
            self.play.run_killed(client, steps, after=at, done=done)
        self.service.faults = []

    @rule(reference=REFERENCES, phone=PHONES, why=st.sampled_from([None, "again"]))
    def creates(self, reference: str, phone: str, why: str | None) -> None:
        """Create by the older way, with and without a reason."""
        with contextlib.suppress(KusanyaError):
            create_safely(
                self.store, self._client(), amount=5, phone=phone, reference=reference,
                force_repeat_reason=why,
            )  # fmt: skip

    @rule(number=st.integers(0, 5), status=st.sampled_from(["failed", "expired", "succeeded"]))
    def ends(self, number: int, status: str) -> None:
        """Let a prompt come to its end; nobody is told."""
        open_ = [one for one in self.service.collections.values() if one["status"] == "created"]
        if open_:
            at = self.clock.now().isoformat()
            open_[number % len(open_)] |= {"status": status, "completed_at": at}

    @rule(number=st.integers(0, 20))
    def tells(self, number: int) -> None:
        """Let the store hear of a collection, as an event or a poll does, sooner or later."""
        known = list(self.service.collections.values())
        if known:
            found = decode_collection(json.dumps(known[number % len(known)]).encode())
            at = self.clock.now()
            self.store.record(poll_observation(found, at=at, observed_in=Mode.TEST))
            resolve_waiting(self.store, now=at)

    @rule(minutes=st.sampled_from([1, 10, 60, 23 * 60, 30 * 60]))
    def time_passes(self, minutes: int) -> None:
        """Let time pass, also past the window and past what the service remembers."""
        self.clock.pass_by(timedelta(minutes=minutes))

    @rule(reference=REFERENCES)
    def is_refused_another_amount(self, reference: str) -> None:
        """Once it is paid, another amount is an error, and nothing is sent."""
        found = orders.get(self.store, reference, mode=Mode.TEST)
        if found.status is OrderStatus.PAID:
            sent = len(self.service.arrived)
            with pytest.raises(AmountChanged):
                orders.pay(self.store, self._client(), reference, amount=7, phone="0754000001")
            assert len(self.service.arrived) == sent

    @rule(reference=REFERENCES)
    def is_looked_up(self, reference: str) -> None:
        """Who looks a payment up is offered a new request only where `pay` would make one."""
        now = self.clock.now()
        order = self.store.intents.order(Mode.TEST, reference)
        rows = [load_timeline(self.store, one.id, Mode.TEST, now=now) for one in order.collections]
        made = [load_creation_timeline(self.store, one.id, now=now) for one in order.intents]
        for timeline in (*rows, *made):
            assert timeline is not None
            if new_request(timeline).safe:
                assert judge(order).may_be_asked

    def teardown(self) -> None:
        """Close the store and remove it."""
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()


@pytest.mark.scale(25, 400, 20_000)
@pytest.mark.timeout(3_600)
def test_no_prompt_is_sent_while_another_can_charge_and_none_after_the_order_is_paid(
    play: Any, rounds: int
) -> None:
    machine = type("OrderMachine", (OrderMachine,), {"play": play})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=rounds,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
