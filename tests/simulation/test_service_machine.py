"""Any order of creating, repeating, failing, healing, enabling, rotating, resending and restarting.

The service is the real one, in virtual time; its endpoints answer as the machine says. The checker
of the simulated weeks judges what crossed the wires.
"""

import asyncio
import itertools
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)
from tests.simulation.checker import check_service, ledger_of
from tests.simulation.one import MEMORY
from tests.simulation.world import World

from kusanya.wire import Mode

HOSTS = ("shop.example", "dead.example", "live.example")
PHONES = ("255754000001", "255754000002", "255754000009", "255754000010", "255754000012")
MODES = st.sampled_from([Mode.TEST, Mode.TEST, Mode.LIVE])
SPANS_S = st.sampled_from([0, 1, 20, 130, 61, 300, 7_200, 43_200, 86_399, 86_400, 260_000])


class ServiceMachine(RuleBasedStateMachine):
    """One service and the people and programs around it."""

    @initialize()
    def start(self) -> None:
        """Begin with three endpoints and nothing else."""
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY)
        self.world = World(Path(self.folder.name), 1)
        self.numbers = itertools.count(1)
        self.down: set[str] = set()
        self.ids: dict[str, str] = {}
        self.runner.run(self._begin())

    async def _begin(self) -> None:
        world = self.world
        world.open_store()
        await world.start_service()
        for host in HOSTS:
            mode = "live" if host == "live.example" else "test"
            asked = {"url": f"https://{host}/webhooks", "mode": mode}
            made = await world.dashboard("POST", "endpoints", asked)
            self.ids[host] = made["id"]
            world.record.secrets[host] = [(world.now_ms, made["secret"])]
            world.handlers[host] = self._behind(host)

    def _behind(self, host: str) -> Any:
        async def handle(_body: bytes, _headers: object) -> int:
            return 500 if host in self.down else 200

        return handle

    def _post(self, mode: Mode, key: str, body: bytes) -> None:
        self.runner.run(self.world.v1(mode, "POST", "/v1/collections", body, key))

    @rule(mode=MODES, phone=st.sampled_from(PHONES), amount=st.integers(1, 10**6))
    def creates(self, mode: Mode, phone: str, amount: int) -> None:
        """Create a collection under a new key."""
        number = next(self.numbers)
        order = {"amount": amount, "phone": phone, "reference": f"order-{number}"}
        self.world.record.left.append(self._left(mode, f"key-{number}"))
        self._post(mode, f"key-{number}", msgspec.json.encode(order))

    def _left(self, mode: Mode, key: str) -> Any:
        from tests.simulation.records import LeavingPost

        return LeavingPost(at_ms=self.world.now_ms, mode=mode, key=key, body=b"", kept_body=b"")

    @rule(data=st.data(), other=st.booleans())
    def repeats(self, data: Any, other: bool) -> None:
        """Send a key again, with its own body or with another one."""
        kept = [
            post
            for post in self.world.record.posts
            if post.status == 202 and self.world.now_ms - post.at_ms < 86_400_000
        ]
        firsts = [post for post in kept if not post.replayed]
        if not firsts:
            return
        post = data.draw(st.sampled_from(firsts))
        said = msgspec.json.decode(post.body)
        changed = {**said, "amount": said["amount"] + other}
        # Another order of the keys is the same body.
        again = dict(reversed(changed.items()))
        self._post(post.mode, post.key, msgspec.json.encode(again))

    @rule(seconds=SPANS_S)
    def time_passes(self, seconds: int) -> None:
        """Let time pass."""
        self.runner.run(self.world.pass_by(seconds))

    @rule(host=st.sampled_from(HOSTS))
    def fails_or_heals(self, host: str) -> None:
        """Turn an endpoint over."""
        self.down ^= {host}

    @rule(host=st.sampled_from(HOSTS))
    def rotates(self, host: str) -> None:
        """Give an endpoint another secret."""
        path = f"endpoints/{self.ids[host]}/rotate-secret"
        made = self.runner.run(self.world.dashboard("POST", path))
        self.world.record.secrets[host].append((self.world.now_ms, made["secret"]))

    @rule(host=st.sampled_from(HOSTS))
    def enables(self, host: str) -> None:
        """Enable an endpoint, disabled or not."""
        self.world.record.enabled.append((self.world.now_ms, host))
        path = f"endpoints/{self.ids[host]}/enable"
        shown = self.runner.run(self.world.dashboard("POST", path))
        # Where it was killed in the middle of sending what it had held, there is no answer.
        assert shown is None or shown["status"] == "enabled"

    @rule(data=st.data())
    def resends(self, data: Any) -> None:
        """Send some delivery by hand."""
        found = self.runner.run(self.world.dashboard("GET", "deliveries?limit=100"))["data"]
        if not found:
            return
        one = data.draw(st.sampled_from([delivery["id"] for delivery in found]))
        self.world.resending = True
        self.runner.run(self.world.dashboard("POST", f"deliveries/{one}/resend"))
        self.world.resending = False

    @rule(away_s=st.sampled_from([0, 60, 7_200, 100_000]))
    def restarts(self, away_s: int) -> None:
        """Stop the service, let time pass without it, and start it."""
        self.runner.run(self.world.stop_service())
        self.runner.run(self.world.pass_by(away_s))
        self.runner.run(self.world.start_service())
        self.runner.run(self.world.pass_by(0))

    @rule(after=st.integers(1, 4))
    def will_be_killed(self, after: int) -> None:
        """Let the service die in the middle of a coming attempt."""
        self.world.kill_sender_after = after

    @rule()
    def is_judged(self) -> None:
        """Judge everything so far."""
        self.runner.run(self._judge())

    async def _judge(self) -> None:
        check_service(self.world, await ledger_of(self.world))

    def teardown(self) -> None:
        """Let everything end, and judge that."""
        if not hasattr(self, "runner"):
            return
        if len(self.ids) == len(HOSTS):
            self.runner.run(self.world.pass_by(200))
            ledger = self.runner.run(ledger_of(self.world))
            check_service(self.world, ledger)
            for one in ledger.collections.values():
                never = one["phone"] == "255754000010" and one["mode"] == "test"
                assert (one["status"] == "created") == never
        self.runner.run(self.world.close())
        self.runner.close()
        self.folder.cleanup()


@pytest.mark.timeout(3_600)
@pytest.mark.scale(15, 500, 5_000)
def test_no_order_of_acts_breaks_a_rule_of_the_service(rounds: int) -> None:
    run_state_machine_as_test(
        ServiceMachine,
        settings=settings(
            max_examples=rounds,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
