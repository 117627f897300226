"""The systemd units that `kusanya deploy` writes start as they stand, on real parts."""

import http.client
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.console.cli.deploying import Kusanya, deployed, unit

from kusanya.store import Store
from kusanya.webhooks import sign
from kusanya_service.testing import PaymentService, payment_service

pytestmark = pytest.mark.merge

__all__ = ["payment_service"]
SECRET = "whsec_" + "a" * 32


@contextmanager
def started(words: list[str], environ: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=60)
    assert process.returncode == 0, words


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def ask(port: int, method: str, path: str, body: bytes = b"", **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


def first_line(command: list[str], environ: dict[str, str]) -> str:
    """Return what a program says first; then it is stopped."""
    with started(command, environ) as program:
        assert program.stdout is not None
        return program.stdout.readline()


def test_the_units_start_as_they_stand(
    kusanya: Kusanya, payment_service: PaymentService, tmp_path: Path
) -> None:
    made = deployed(kusanya, tmp_path / "new", "systemd")
    settings = dict(
        line.split("=", 1) for line in made["kusanya.env"].splitlines() if not line.startswith("#")
    )
    for name in ("packs", "backups"):
        (tmp_path / name).mkdir()
    secrets = {"api-key": payment_service.test_key, "secrets": f"shop={SECRET}"}
    secrets["notify"] = "http://127.0.0.1:9/hooks"
    for name, text in secrets.items():
        (tmp_path / name).touch(mode=0o640)
        (tmp_path / name).write_text(f"{text}\n")
    (tmp_path / "books.csv").write_text("reference,amount,date\nINV-1,5000,2026-03-02\n")
    settings = {
        name: value.replace("/etc/kusanya", str(tmp_path)).replace(
            "/var/lib/kusanya", str(tmp_path)
        )
        for name, value in settings.items()
    }
    settings |= {
        "KUSANYA_BASE_URL": payment_service.base_url,
        "KUSANYA_PORT": f"{free_port()}",
        "KUSANYA_METRICS_PORT": f"{free_port()}",
    }
    environ = settings | {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    def command(name: str) -> list[str]:
        text = unit(made[f"kusanya-{name}.service"])["Service"]["ExecStart"]
        assert text.startswith(str(Path(sys.executable).with_name("kusanya")))
        return [re.sub(r"\$\{(\w+)\}", lambda m: environ[m[1]], word) for word in shlex.split(text)]

    def of_unit(name: str) -> dict[str, str]:
        """Return the variables that a unit sets itself."""
        said = unit(made[f"kusanya-{name}.service"])["Service"]["Environment"]
        pairs = (word.partition("=") for word in shlex.split(said))
        return {key: value.replace("/etc/kusanya", str(tmp_path)) for key, _, value in pairs}

    def run(name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(name), env=environ, capture_output=True, text=True, timeout=100, check=False
        )

    assert run("migrate").returncode == 0
    with (
        started(command("receive"), environ) as receiver,
        started(command("watch"), environ) as watcher,
    ):
        assert receiver.stdout is not None
        assert watcher.stdout is not None
        assert "receiving test events for shop" in receiver.stdout.readline()
        assert "watching" in watcher.stdout.readline()
        assert "metrics on" in watcher.stdout.readline()
        for port in ("KUSANYA_PORT", "KUSANYA_METRICS_PORT"):
            for page in ("/livez", "/readyz", "/metrics"):
                assert ask(int(settings[port]), "GET", page) == 200
        rotated = "whsec_" + "b" * 32
        (tmp_path / "secrets").write_text(f"shop={SECRET}\nshop={rotated}\n")
        receiver.send_signal(signal.SIGHUP)
        body = b"{}"
        (tmp_path / "forward-to").write_text("http://127.0.0.1:9/orders\n")
        (tmp_path / "forward-secret").write_text("whsec_" + "bmV3" * 10 + "\n")
        for name in ("forward-to", "forward-secret"):
            (tmp_path / name).chmod(0o640)
        said = first_line(command("forward"), environ | of_unit("forward"))
        assert said.startswith("forwarding test mode to http://127.0.0.1:9/")
        deadline = 200
        while deadline and ask(
            int(settings["KUSANYA_PORT"]), "POST", "/", body,
            **{"Service-Signature": sign(body, rotated, now())},
        ) != 200:  # fmt: skip
            deadline -= 1
        assert deadline, "the rotated secret was never taken"
    backup = run("backup")
    assert backup.returncode == 0, backup.stderr
    [copy] = (tmp_path / "backups").iterdir()
    with Store.open(copy, read_only=True) as store:
        assert store.feed.head() > 0
    # There is no such column: refused in one line, as any books that were not described.
    reconciled = run("reconcile")
    assert "books.csv has no column" in reconciled.stderr
    assert "Traceback" not in reconciled.stderr
    # Nobody listens where the notification of it goes: that is said too, and is the exit code.
    assert reconciled.returncode == 3
    assert "was not sent" in reconciled.stderr


def now() -> int:
    from kusanya.clock import SystemClock

    return int(SystemClock().now().timestamp())
