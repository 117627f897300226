"""Start the contestants as processes of their own, on free ports of this machine."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

HERE = Path(__file__).parent
COMMAND = ("-m", "kusanya_console.cli")


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running(arguments: list[str], port: int, **environ: str) -> Iterator[int]:
    """Run a Python program until the block ends; it listens on `port` when the block begins."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.DEVNULL,
        env=os.environ | environ,
        cwd=HERE,
    )
    try:
        deadline = time.monotonic() + 30
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, f"{arguments} ended with {process.returncode}"
            assert time.monotonic() < deadline, f"{arguments} does not listen"
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(20)


class Service(msgspec.Struct):
    """An embedded service under load."""

    port: int
    test_key: str


@contextlib.contextmanager
def our_service() -> Iterator[Service]:
    """Run `kusanya service` on a fresh folder."""
    with tempfile.TemporaryDirectory() as data:
        process = subprocess.Popen(
            [sys.executable, *COMMAND, "service", "--port=0", f"--data={data}", "--json"],
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        try:
            facts = msgspec.json.decode(process.stdout.readline())
            yield Service(int(facts["base_url"].rpartition(":")[2]), facts["test_key"])
        finally:
            process.terminate()
            process.wait(20)
