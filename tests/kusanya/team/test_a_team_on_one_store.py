"""Two receivers, a poller, three readers on one PostgreSQL: everything once, seen by everyone."""

import contextlib
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kusanya.client import Client
from kusanya.client.effects import Reply, Request, Response
from kusanya.client.observations import answer_observation, poll_observation
from kusanya.clock import ManualClock
from kusanya.errors import IntentError
from kusanya.intents import create_safely, resume
from kusanya.store import Store
from kusanya.store.records import Change, IntentState, Verdict
from kusanya.wire import Mode

pytestmark = pytest.mark.postgres

Join = Callable[..., Store]
EVENTS = 240
ENDED_UNHEARD = range(EVENTS, EVENTS + 40)
"""Collections that end without any event: only the poller learns of them."""
DIES_HOLDING = Path(__file__).with_name("dies_holding.py")


@pytest.mark.merge
@pytest.mark.spec("delivery-4")
def test_every_event_takes_effect_once_and_every_reader_sees_every_change_in_order(
    join: Join, said: Any, clock: ManualClock
) -> None:
    receivers, poller = (join(), join()), join()
    readers = [join(read_only=True) for _ in range(3)]
    done = threading.Event()

    def receive(store: Store, order: list[int]) -> list[Verdict]:
        kept = [store.submit(said.delivery(number)) for number in order]
        return [future.result().verdict for future in kept]

    def poll() -> None:
        created = [said.collection(number, "created") for number in range(ENDED_UNHEARD.stop)]
        facts = [answer_observation(made, key=f"key-{made.id}", at=clock.now()) for made in created]
        for kept in [poller.submit(fact) for fact in facts]:
            kept.result()
        until = clock.now() + timedelta(minutes=1)
        while claimed := poller.poll_leases.take(Mode.TEST, by="poller", until=until, limit=50):
            for row in claimed:
                number = int(row.id.removeprefix("col_"))
                status = "succeeded" if number in ENDED_UNHEARD else "created"
                poller.record(poll_observation(said.collection(number, status), at=clock.now()))

    def read(store: Store) -> list[Change]:
        seen: list[Change] = []
        while True:
            last_look = done.is_set()
            found = store.feed.changes(seen[-1].seq if seen else 0, limit=37)
            seen += found
            if last_look and not found:
                return seen

    orders = [random.Random(n).sample(range(EVENTS), EVENTS) for n in (1, 2)]  # noqa: S311 - a repeatable choice
    with ThreadPoolExecutor(6) as team:
        reading = [team.submit(read, reader) for reader in readers]
        try:
            working = [team.submit(receive, *pair) for pair in zip(receivers, orders, strict=True)]
            polling = team.submit(poll)
            verdicts = Counter(v for work in working for v in work.result())
            polling.result()
        finally:
            done.set()
        seen = [read.result() for read in reading]
    assert verdicts == {Verdict.VERIFIED: EVENTS, Verdict.REPEAT: EVENTS}
    assert {
        event.arrivals
        for n in range(EVENTS)
        for event in poller.events.of_collection(f"col_{n}", Mode.TEST)
    } == {2}
    rows = poller.collections.page(Mode.TEST, limit=1_000).rows
    assert len(rows) == ENDED_UNHEARD.stop
    assert {row.status for row in rows} == {"succeeded"}
    assert sum(row.missing_event for row in rows) == len(ENDED_UNHEARD)
    head = poller.feed.head()
    assert [change.seq for change in seen[0]] == list(range(1, head + 1))
    assert seen[1] == seen[0]
    assert seen[2] == seen[0]
    assert poller.maintenance.check() == ()


@pytest.mark.merge
@pytest.mark.spec("post-1")
def test_members_that_create_the_same_at_once_send_each_intent_once(
    join: Join, said: Any, clock: ManualClock
) -> None:
    left: Counter[str] = Counter()
    made: dict[str, bytes] = {}
    sending = threading.Lock()

    def network(request: Request, _within_s: float) -> Reply:
        if request.method == "GET":
            return Response(status=200, headers=(), body=made[request.path.rpartition("/")[2]])
        asked = msgspec.json.decode(request.body or b"")
        with sending:
            left[asked["reference"]] += 1
            number = len(made)
            body = msgspec.json.encode({**said.body(number, "created"), **asked})
            made[f"col_{number}"] = body
        return Response(status=202, headers=(), body=body)

    together = threading.Barrier(3)

    def member(store: Store) -> list[str]:
        client = Client(
            "svc_test_sk_4242", base_url="http://127.0.0.1:9", clock=clock, transport=network
        )
        answered: list[str] = []
        for number in range(30):
            order: dict[str, Any] = {"amount": 5000, "phone": "0754000001"}
            together.wait(30)
            # Who comes while it is sent is refused, who comes later is told of the same one.
            with contextlib.suppress(IntentError):
                found = create_safely(store, client, reference=f"order-{number}", **order)
                answered.append(found.collection.id)
        return answered

    with ThreadPoolExecutor(3) as team:
        answered = Counter(
            id_ for ids in team.map(member, [join() for _ in range(3)]) for id_ in ids
        )
    assert left == {f"order-{number}": 1 for number in range(30)}
    assert set(answered) == set(made)
    intents = join().intents.page(Mode.TEST).rows
    assert len(intents) == 30
    assert {intent.state for intent in intents} == {IntentState.ANSWERED}
    assert {intent.attempts for intent in intents} == {1}


def test_what_a_killed_member_held_is_taken_over(
    postgres_url: str, join: Join, said: Any, clock: ManualClock
) -> None:
    store = join()
    for number in range(5):
        made = said.collection(number, "created")
        store.record(answer_observation(made, key=f"key-{number}", at=clock.now()))
    with subprocess.Popen(
        [sys.executable, "-P", str(DIES_HOLDING), postgres_url, clock.now().isoformat()],
        stdout=subprocess.PIPE,
        text=True,
    ) as doomed:
        assert doomed.stdout is not None
        claimed, holding = doomed.stdout.readline(), doomed.stdout.readline()
        [intent] = store.intents.page(Mode.TEST).rows
        client = Client(
            "svc_test_sk_4242",
            base_url="http://127.0.0.1:9",
            clock=clock,
            transport=lambda request, _: _created(said, request),
        )
        with pytest.raises(IntentError, match="another call is sending"):
            resume(store, client, intent)
        doomed.kill()
    assert (claimed, holding) == ("5\n", "holding\n")
    # An intent's process is seen to be gone; a poller's lease ends by itself.
    made = resume(store, client, intent)
    assert (made.intent.state, made.intent.attempts) == (IntentState.ANSWERED, 2)
    until = clock.now() + timedelta(minutes=2)
    ours = {row.id for row in store.poll_leases.take(Mode.TEST, by="another", until=until)}
    assert ours == {made.collection.id}
    clock.sleep(61)
    taken_over = store.poll_leases.take(Mode.TEST, by="another", until=until)
    assert {row.id for row in taken_over} == {f"col_{n}" for n in range(5)}


def _created(said: Any, request: Request) -> Reply:
    asked = msgspec.json.decode(request.body or b"")
    body = msgspec.json.encode({**said.body(99, "created"), **asked})
    return Response(status=202, headers=(), body=body)
