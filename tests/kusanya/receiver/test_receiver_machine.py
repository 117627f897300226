"""Any order of deliveries, repeats, forgeries, crashes, polls and rebuilds: one truth.

Judge and store are real; the model is a handful of sets. After every step each collection is the
fold of its facts, and nothing acknowledged is missing.
"""

import json
import shutil
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from msgspec.structs import replace

from kusanya.receiver import EndpointSecrets, classify
from kusanya.receiver.endpoints import Endpoints
from kusanya.state import fold
from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.store.records import Verdict
from kusanya.webhooks import sign
from kusanya.wire import Mode, decode_collection

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECRETS = {"test": "whsec_" + "t" * 32, "live": "whsec_" + "l" * 32}
ENDPOINTS = Endpoints.of([EndpointSecrets(name, Mode(name), s) for name, s in SECRETS.items()])
NUMBERS = st.integers(1, 4)
STATUSES = st.sampled_from(["succeeded", "failed", "expired"])
FORGERIES = st.sampled_from(["other secret", "changed body", "too old", "too new", "two t"])


def collection(number: int, mode: str, status: str, amount: int = 5000) -> dict[str, Any]:
    done = {} if status == "created" else {"completed_at": "2026-03-02T12:00:15Z"}
    code = {"failure_code": "invalid_pin"} if status == "failed" else {}
    return {
        "id": f"col_{mode}{number}",
        "object": "collection",
        "status": status,
        "amount": amount,
        "fee": 50,
        "currency": "TZS",
        "channel": "MPESA_TZ",
        "phone": "255754000001",
        "reference": f"order-{number}",
        "mode": mode,
        "created_at": "2026-03-02T12:00:00Z",
        **done,
        **code,
    }


def event(number: int, mode: str, status: str, *, copy: int = 0, amount: int = 5000) -> bytes:
    said = {
        "id": f"evt_{mode}{number}{status}{copy}",
        "type": f"collection.{status}",
        "created_at": "2026-03-02T12:00:15Z",
        "mode": mode,
        "data": collection(number, mode, status, amount),
    }
    return json.dumps(said).encode()


class ReceiverMachine(RuleBasedStateMachine):
    """One receiver's classification and journal, through crashes."""

    @initialize()
    def start(self) -> None:
        """Begin with an empty store."""
        memory = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
        self.folder = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
        self.path = Path(self.folder.name) / "0.db"
        self.generation = 0
        self.store = Store.open(self.path, batch_wait_s=0.0)
        self.now = NOON
        self.acknowledged: Counter[bytes] = Counter()
        self.known: dict[tuple[str, str], bytes] = {}
        self.observed: set[tuple[str, str]] = set()
        self.sent: list[bytes] = []

    def _hand(self, body: bytes, header: str) -> Verdict:
        self.now += timedelta(seconds=1)
        headers = ((b"service-signature", header.encode()),)
        arrival = classify(body, headers, arrived_at=self.now, endpoints=ENDPOINTS)
        commit = self.store.record(arrival)
        if arrival.answer == 200:
            self.acknowledged[body] += 1
        return commit.verdict

    def _signed(self, body: bytes, mode: str, age_s: int = 0) -> str:
        return sign(body, SECRETS[mode], int(self.now.timestamp()) + 1 - age_s)

    @rule(number=NUMBERS, mode=st.sampled_from(["test", "live"]), status=STATUSES)
    def delivers(self, number: int, mode: str, status: str) -> None:
        """Deliver an event, new or known."""
        self._deliver(event(number, mode, status), mode)

    @rule(number=NUMBERS, status=STATUSES, amount=st.sampled_from([5000, 5001]))
    def contradicts(self, number: int, status: str, amount: int) -> None:
        """Deliver another event of the same collection, perhaps with another amount."""
        self._deliver(event(number, "test", status, copy=1, amount=amount), "test")

    @rule(data=st.data(), age_s=st.integers(-300, 300))
    def repeats(self, data: Any, age_s: int) -> None:
        """Deliver again what was delivered, signed anew."""
        if self.sent:
            body = data.draw(st.sampled_from(self.sent))
            self._deliver(body, json.loads(body)["mode"], age_s)

    def _deliver(self, body: bytes, mode: str, age_s: int = 0) -> None:
        said = json.loads(body)
        key = (said["id"], mode)
        before = self.known.setdefault(key, body)
        verdict = self._hand(body, self._signed(body, mode, age_s))
        if body != before:
            assert verdict is Verdict.CONFLICT
        elif body in self.sent:
            assert verdict is Verdict.REPEAT
        else:
            assert verdict is Verdict.VERIFIED
            self.sent.append(body)
            self.observed.add((said["data"]["id"], mode))

    @rule(number=NUMBERS, status=STATUSES, how=FORGERIES)
    def forges(self, number: int, status: str, how: str) -> None:
        """Deliver what no service sent: nothing changes."""
        before = self._states()
        body = event(number, "test", status, copy=9)
        header = self._signed(body, "test")
        if how == "other secret":
            header = sign(body, "whsec_nobodys", int(self.now.timestamp()))
        elif how == "changed body":
            body = body.replace(b"5000", b"5999")
        elif how == "two t":
            header = f"t={int(self.now.timestamp())},{header}"
        else:
            header = self._signed(body, "test", 301 if how == "too old" else -301)
        assert self._hand(body, header) is Verdict.REJECTED
        assert self._states() == before

    @rule(number=NUMBERS, status=STATUSES)
    def takes_the_wrong_mode(self, number: int, status: str) -> None:
        """Deliver a live event under the test secret: an anomaly of what it names at most."""
        before = self._figures()
        body = event(number, "live", status, copy=8)
        assert self._hand(body, self._signed(body, "test")) is Verdict.WRONG_MODE
        assert self._figures() == before

    @rule(number=NUMBERS, status=STATUSES)
    def names_a_live_collection(self, number: int, status: str) -> None:
        """Deliver a test event, signed as one, that names a live collection: nothing live ends."""
        before = self._figures(Mode.LIVE)
        body = event(number, "test", status, copy=7)
        body = body.replace(b'"col_test', b'"col_live')
        self._deliver(body, "test")
        assert self._figures(Mode.LIVE) == before

    @rule(number=NUMBERS, mode=st.sampled_from(["test", "live"]), status=STATUSES)
    def polls(self, number: int, mode: str, status: str) -> None:
        """Learn a state from a poll."""
        self._observe(Source.POLL, number, mode, status)

    @rule(number=NUMBERS, mode=st.sampled_from(["test", "live"]))
    def answers(self, number: int, mode: str) -> None:
        """Learn the answer to a create, perhaps after its event."""
        self._observe(Source.ANSWER, number, mode, "created")

    def _observe(self, source: Source, number: int, mode: str, status: str) -> None:
        self.now += timedelta(seconds=1)
        said = collection(number, mode, status)
        self.store.record(
            Observation(
                source=source,
                source_id=f"{source.value}-{status}",
                observed_at=self.now,
                observed_in=Mode(mode),
                collection=decode_collection(json.dumps(said).encode()),
            )
        )
        self.observed.add((said["id"], mode))

    @rule()
    def crashes(self) -> None:
        """Go on with what is in the files, as after a kill: nothing is closed first."""
        old, self.generation = self.path.parent, self.generation + 1
        self.path = old / f"{self.generation}.db"
        for suffix in ("", "-wal"):
            kept = old / f"{self.generation - 1}.db{suffix}"
            if kept.exists():
                shutil.copyfile(kept, f"{self.path}{suffix}")
        self.store.close()
        self.store = Store.open(self.path, batch_wait_s=0.0)

    @rule()
    def rebuilds(self) -> None:
        """Recompute everything: nothing changes."""
        before = self._states()
        rebuilt = self.store.maintenance.rebuild()
        assert (rebuilt.collections, rebuilt.rollups) == (0, 0)
        assert self._states() == before
        assert self.store.maintenance.check() == ()

    def _states(self) -> list[Any]:
        return [self.store.collections.page(mode).rows for mode in Mode]

    def _figures(self, *modes: Mode) -> list[Any]:
        """Return the rows but for how much is odd about them, and the sums."""
        span = {"since": NOON - timedelta(days=1), "until": NOON + timedelta(days=1)}
        found: list[Any] = []
        for mode in modes or Mode:
            rows = self.store.collections.page(mode).rows
            found.append([replace(row, seq=0, contradictions=0) for row in rows])
            found.append(self.store.rollups.collections(mode, **span))
        return found

    @invariant()
    def a_collection_is_the_fold_of_its_facts(self) -> None:
        """Hold the projection against the facts."""
        if not hasattr(self, "store"):
            return
        rows = [row for mode in Mode for row in self.store.collections.page(mode).rows]
        assert {(row.id, row.mode.value) for row in rows} == self.observed
        for row in rows:
            assert fold(self.store.collections.observations(row.id, row.mode)).amount == row.amount
            state = fold(self.store.collections._facts(row.id)[::-1], mode=row.mode)
            said = (row.status, row.amount, row.fee, row.final_seen_at, row.contradictions)
            assert said == (
                state.status,
                state.amount,
                state.fee,
                state.final_seen_at,
                len(state.contradictions),
            )

    @invariant()
    def nothing_acknowledged_is_missing(self) -> None:
        """Hold the deliveries against what was answered with a 2xx."""
        if not hasattr(self, "store"):
            return
        kept: Counter[bytes] = Counter()
        for mode in Mode:
            for row in self.store.deliveries.page(mode).rows:
                found = self.store.deliveries.body(row.id)
                if row.answer == 200 and found is not None and found.body is not None:
                    kept[found.body] += 1
        assert kept == self.acknowledged

    def teardown(self) -> None:
        """Hold the whole store against itself."""
        if not hasattr(self, "store"):
            return
        self.rebuilds()
        self.store.close()
        self.folder.cleanup()


@pytest.mark.timeout(3_600)
@pytest.mark.scale(8, 500, 5_000)
def test_no_order_of_deliveries_makes_another_truth(rounds: int) -> None:
    run_state_machine_as_test(
        ReceiverMachine,
        settings=settings(
            max_examples=rounds,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
