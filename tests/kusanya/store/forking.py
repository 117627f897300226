"""A program that forks after it has used its store and client. Run by tests, never imported.

Reads one JSON object from stdin, {"way", "store", "base_url", "key", "processes", "each",
"parent_writes", "parent_closes", "reference"}: the parent opens the store and a client, uses both
or only reads, and forks workers in the given way. Each worker records `each` deliveries and creates
a collection for every tenth. What a worker was told is durable goes to its own pipe at once, so
that it counts even where the worker dies or hangs later. Prints one JSON object: what was
confirmed, what the creates returned, and how many workers ended badly or never.
"""

import asyncio
import itertools
import json
import multiprocessing
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing.process import BaseProcess
from typing import Any, Final

from kusanya.client import AsyncClient, Client
from kusanya.errors import StoreUnavailable
from kusanya.intents import create_safely, create_safely_async
from kusanya.receiver.classification import classify
from kusanya.receiver.endpoints import Endpoints, EndpointSecrets
from kusanya.store import Store
from kusanya.store.records import Arrival
from kusanya.webhooks import sign
from kusanya.wire import Mode

NOON: Final = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECRET: Final = "whsec_forks"
CREATE_EVERY: Final = 10
HANGS_AFTER_S: Final = 60.0
"""So long without one word from any worker, and those that still run hang."""
_ENDPOINTS: Final = Endpoints.of(
    EndpointSecrets("shop", Mode.TEST, SECRET), signature_header="Service-Signature"
)


class Inheritance:
    """What the parent opened and used before it forked."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        self.store = Store.open(order["store"])
        self.client = Client(order["key"], base_url=order["base_url"])
        self.store.feed.head()
        if order["parent_writes"]:
            self.store.record(delivery("parent"))
            self.create("parent")

    def create(self, name: str) -> tuple[str, str]:
        """Create a collection and return its reference and the reference that came back."""
        reference = f"{self.order['reference']}-{name}"
        made = create_safely(
            self.store, self.client, amount=1000, phone="0754000001", reference=reference
        )
        return reference, made.collection.reference

    def work(self, worker: int, say: Callable[[str], None]) -> None:
        """Do a worker's whole work, and say of each piece that it is durable."""
        for number in range(self.order["each"]):
            self.one(worker, number, say)

    def one(self, worker: int, number: int, say: Callable[[str], None]) -> None:
        """Do one piece of work."""
        name = f"w{worker}n{number}"
        self.store.record(delivery(name))
        say(f"delivery evt_{name}")
        if number % CREATE_EVERY == 0:
            asked, answered = self.create(name)
            say(f"creation {asked} {answered}")


def delivery(name: str) -> Arrival:
    """Return a signed delivery of an event of its own."""
    data = {
        "id": f"col_{name}",
        "object": "collection",
        "status": "succeeded",
        "amount": 5000,
        "fee": 50,
        "currency": "TZS",
        "channel": "MPESA_TZ",
        "phone": "255754000001",
        "reference": f"delivered-{name}",
        "mode": "test",
        "created_at": NOON.isoformat(),
        "completed_at": NOON.isoformat(),
    }
    event = {
        "id": f"evt_{name}",
        "type": "collection.succeeded",
        "created_at": NOON.isoformat(),
        "mode": "test",
        "data": data,
    }
    body = json.dumps(event).encode()
    signature = sign(body, SECRET, int(NOON.timestamp())).encode()
    headers = ((b"service-signature", signature),)
    return classify(body, headers, arrived_at=NOON, endpoints=_ENDPOINTS)


_inherited: Inheritance | None = None


def _task(place: tuple[int, int]) -> list[str]:
    """Do one piece of work in a pool's process; what was opened is found by its name."""
    assert _inherited is not None
    said: list[str] = []
    _inherited.one(*place, said.append)
    return said


class Workers:
    """Forked workers, each with a pipe to us."""

    def __init__(self, work: Callable[[int, Callable[[str], None]], None]) -> None:
        self._work = work
        self._pipes: dict[int, int] = {}
        self._forked: list[int] = []
        self._started: list[BaseProcess] = []
        self.answers: list[str] = []

    def fork(self, worker: int, *, processes: bool) -> None:
        """Start a worker, as multiprocessing does or by hand as a prefork server does."""
        reads, writes = os.pipe()
        if processes:
            context = multiprocessing.get_context("fork")
            started = context.Process(target=self._run, args=(worker, writes))
            started.start()
            assert started.pid is not None
            pid = started.pid
            self._started.append(started)
        else:
            pid = os.fork()
            if pid == 0:
                try:
                    self._run(worker, writes)
                    os._exit(0)
                except BaseException:  # noqa: BLE001 - nothing may return into the parent's code
                    traceback.print_exc()
                    os._exit(1)
            self._forked.append(pid)
        os.close(writes)
        self._pipes[reads] = pid

    def _run(self, worker: int, writes: int) -> None:
        self._work(worker, lambda text: _say(writes, text))

    def listen(self, *, until: int | None = None) -> bool:
        """Read the workers until all are silent for good, or have said `until` lines in all.

        Returns False when they were silent for too long: then those that still run hang.
        """
        while self._pipes and (until is None or len(self.answers) < until):
            ready, _, _ = select.select(list(self._pipes), [], [], HANGS_AFTER_S)
            if not ready:
                return False
            for pipe in ready:
                answer = os.read(pipe, 65_536)
                if not answer:
                    os.close(pipe)
                    del self._pipes[pipe]
                # A line is far shorter than what a pipe takes at once: none comes in parts.
                self.answers.extend(answer.decode().splitlines())
        return True

    def end(self) -> tuple[int, int]:
        """Return how many workers failed and how many hung; those are killed."""
        hung = len(self._pipes)
        for pid in self._pipes.values():
            os.kill(pid, signal.SIGKILL)
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in self._forked]
        for process in self._started:
            process.join()
            codes.append(process.exitcode or 0)
        return sum(code not in (0, -signal.SIGKILL) for code in codes), hung


def _say(pipe: int, text: str) -> None:
    os.write(pipe, f"{text}\n".encode())


def _by_hand(inherited: Inheritance) -> dict[str, Any]:
    order = inherited.order
    workers = Workers(inherited.work)
    for worker in range(order["processes"]):
        workers.fork(worker, processes=order["way"] == "multiprocessing")
    going = True
    if order["parent_closes"]:
        going = workers.listen(until=order["processes"] * max(1, order["each"] // 10))
        inherited.store.close()
        inherited.client.close()
    elif order["parent_writes"]:
        inherited.store.record(delivery("parent-again"))
        inherited.create("parent-again")
        workers.answers.append("delivery evt_parent-again")
    if going:
        workers.listen()
    failed, hung = workers.end()
    return {"said": workers.answers, "failed": failed, "hung": hung}


def _by_pool(inherited: Inheritance) -> dict[str, Any]:
    order = inherited.order
    places = [(w, n) for w in range(order["processes"]) for n in range(order["each"])]
    pool = ProcessPoolExecutor(order["processes"], mp_context=multiprocessing.get_context("fork"))
    said: list[str] = []
    failed = 0
    pending = [pool.submit(_task, place) for place in places]
    if order["parent_closes"]:
        inherited.store.close()
        inherited.client.close()
    until = time.monotonic() + HANGS_AFTER_S
    hung = 0
    for task in pending:
        try:
            said.extend(task.result(max(0.0, until - time.monotonic())))
        except TimeoutError:
            hung += 1
        except Exception:  # noqa: BLE001 - counted, whatever it is
            traceback.print_exc()
            failed += 1
    if hung:
        for process in list(pool._processes.values()):
            process.kill()
    pool.shutdown(cancel_futures=True)
    return {"said": said, "failed": failed, "hung": hung}


def _while_busy(inherited: Inheritance) -> dict[str, Any]:
    """Fork while other threads read and write without a pause."""
    order = inherited.order
    workers = Workers(inherited.work)
    said: list[str] = []
    done = threading.Event()

    def write(thread: int) -> None:
        for number in itertools.count():
            if done.is_set():
                return
            name = f"t{thread}n{number}"
            inherited.store.record(delivery(name))
            said.append(f"delivery evt_{name}")

    def read() -> None:
        while not done.is_set():
            inherited.store.collections.page(Mode.TEST)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    threads += [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for worker in range(order["processes"]):
        workers.fork(worker, processes=False)
    workers.listen()
    done.set()
    for thread in threads:
        thread.join()
    failed, hung = workers.end()
    return {"said": [*workers.answers, *said], "failed": failed, "hung": hung}


def _inside(inherited: Inheritance) -> dict[str, Any]:
    """Fork in the midst of reading; the child says what it may do with the store."""
    order = inherited.order

    def child(_worker: int, say: Callable[[str], None]) -> None:
        acts = (inherited.store.feed.head, lambda: inherited.store.record(delivery("child")))
        for act in (*acts, lambda: Store.open(order["store"]).close()):
            try:
                act()
            except StoreUnavailable as error:
                say(f"refused: {error}")
            else:
                say("done")

    workers = Workers(child)
    with inherited.store._reading("read") as connection:
        rows = connection.exec_driver_sql("SELECT 1 UNION SELECT 2 UNION SELECT 3")
        rows.fetchone()
        workers.fork(0, processes=False)
        workers.listen()
        left = len(rows.fetchall())
    failed, hung = workers.end()
    inherited.store.record(delivery("parent-again"))
    said = [*workers.answers, f"parent read {left} more", "delivery evt_parent-again"]
    return {"said": said, "failed": failed, "hung": hung}


def _on_a_loop(inherited: Inheritance) -> dict[str, Any]:
    """Fork in the midst of an event loop whose client holds connections."""
    order = inherited.order
    client = AsyncClient(order["key"], base_url=order["base_url"])

    async def create(name: str) -> str:
        reference = f"{order['reference']}-{name}"
        made = await create_safely_async(
            inherited.store, client, amount=1000, phone="0754000001", reference=reference
        )
        return f"creation {reference} {made.collection.reference}"

    async def several(name: str) -> list[str]:
        names = [f"{name}n{number}" for number in range(order["each"])]
        return await asyncio.gather(*map(create, names))

    def child(worker: int, say: Callable[[str], None]) -> None:
        for line in asyncio.run(several(f"w{worker}")):
            say(line)

    workers = Workers(child)

    async def parent() -> list[str]:
        said = await several("before")
        for worker in range(order["processes"]):
            workers.fork(worker, processes=False)
        said += await several("after")
        await asyncio.to_thread(workers.listen)
        said += await several("later")
        await client.aclose()
        return said

    said = asyncio.run(parent())
    failed, hung = workers.end()
    return {"said": [*workers.answers, *said], "failed": failed, "hung": hung}


WAYS: Final = {
    "prefork": _by_hand,
    "multiprocessing": _by_hand,
    "pool": _by_pool,
    "busy": _while_busy,
    "inside": _inside,
    "loop": _on_a_loop,
}


def main() -> None:
    """Do what the order says."""
    global _inherited  # noqa: PLW0603 - how a pool's task finds what was opened before
    order = json.loads(sys.stdin.read())
    _inherited = Inheritance(order)
    result = WAYS[order["way"]](_inherited)
    print(json.dumps(result), flush=True)  # noqa: T201 - the answer to the test
    if not order["parent_closes"]:
        _inherited.store.close()
    os._exit(0)


if __name__ == "__main__":
    main()
