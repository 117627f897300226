"""gunicorn --preload: the application is loaded, and used, before its workers are forked."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kusanya.store import Store
from kusanya.webhooks import sign
from kusanya.wire import Mode
from kusanya_service.options import Options
from kusanya_service.testing import running_service

pytestmark = pytest.mark.merge

SECRET = "whsec_gunicorn"
WORKERS = 3


class Answer(NamedTuple):
    """What one request came to."""

    status: int
    text: str
    worker: str


Ask = Callable[..., Answer]


@contextmanager
def _gunicorn(environment: dict[str, str], *arguments: str) -> Iterator[int]:
    """Run gunicorn on a port of its own choice; return the port once it listens."""
    with subprocess.Popen(
        [
            *(sys.executable, "-W", "ignore::DeprecationWarning", "-m", "gunicorn"),
            *("--preload", "--workers", str(WORKERS), "--bind", "127.0.0.1:0"),
            *("--chdir", str(Path(__file__).parent), "--no-control-socket", *arguments),
        ],
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr is not None
        try:
            line = next(line for line in server.stderr if "Listening at" in line)
            yield int(line.split("127.0.0.1:")[1].split()[0].rstrip(")"))
        finally:
            server.send_signal(signal.SIGTERM)
            server.stderr.read()


@pytest.fixture
def serve(url: str, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Return a way to run the shop, with a running service behind it."""
    with running_service(Options(data=tmp_path / "service", seed=7)) as service:
        environment = {
            "SHOP_STORE": url,
            "SHOP_KEY": service.test_key,
            "SHOP_SERVICE": service.base_url,
            "SHOP_SECRET": SECRET,
        }

        @contextmanager
        def run(*arguments: str) -> Iterator[Ask]:
            with _gunicorn(environment, *arguments) as port:

                def ask(path: str, body: bytes = b"", **headers: str) -> Answer:
                    # A connection each, so that the kernel shares them out among the workers.
                    connection = HTTPConnection("127.0.0.1", port, timeout=60)
                    connection.request("POST", path, body, headers)
                    got = connection.getresponse()
                    answer = Answer(got.status, got.read().decode(), got.headers["Worker"])
                    connection.close()
                    return answer

                yield ask

        yield run


def _everywhere(ask: Callable[[int], Answer], rounds: int) -> dict[int, Answer]:
    """Ask from several threads, `rounds` times and until every worker has answered."""
    answers: dict[int, Answer] = {}
    with ThreadPoolExecutor(2 * WORKERS) as threads:
        while len(answers) < rounds or len({one.worker for one in answers.values()}) < WORKERS:
            numbers = range(len(answers), len(answers) + 2 * WORKERS)
            answers.update(zip(numbers, threads.map(ask, numbers), strict=True))
    return answers


@pytest.mark.scale(30, 300, 2000)
@pytest.mark.timeout(600)
def test_preloaded_workers_create_each_collection_once_and_get_their_own_answers(
    serve: Callable[..., Any], url: str, rounds: int
) -> None:
    with serve("--worker-class", "gthread", "--threads", "2", "preloaded:shop") as ask:
        answers = _everywhere(lambda number: ask(f"/order-{number}"), rounds)
    for number, answer in answers.items():
        assert (answer.status, answer.text) == (200, f"order-{number}")
    with Store.open(url) as store:
        for number in answers:
            assert len(store.intents.by_reference(Mode.TEST, f"order-{number}")) == 1
        assert store.maintenance.check() == ()


@pytest.mark.scale(30, 300, 2000)
@pytest.mark.timeout(600)
def test_preloaded_workers_keep_every_delivery_that_they_acknowledge(
    serve: Callable[..., Any], url: str, make: Any, rounds: int
) -> None:
    with serve("--worker-class", "uvicorn_worker.UvicornWorker", "preloaded:receiver") as ask:

        def deliver(number: int) -> Answer:
            body = make.body(number)
            now = int(datetime.now(UTC).timestamp())
            signature = sign(body, SECRET, now)
            answer: Answer = ask("/shop", body, **{"Service-Signature": signature})
            return answer

        answers = _everywhere(deliver, rounds)
    assert {answer.status for answer in answers.values()} == {200}
    with Store.open(url) as store:
        kept = {
            row.id
            for number in answers
            for row in store.events.of_collection(f"col_{number}", Mode.TEST)
        }
        assert kept == {f"evt_{number}" for number in answers}
        assert store.maintenance.check() == ()
