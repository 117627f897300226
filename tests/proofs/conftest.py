"""What the proofs share: a warm parent of receivers, a folder in memory, and strace."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.proofs.kit.receivers import Nursery
from tests.proofs.kit.trace import CALLS


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Return the warm parent of this session's receivers."""
    made = Nursery()
    yield made
    made.close()


@pytest.fixture
def memory() -> Iterator[Path]:
    """Return an empty folder on tmpfs: what is checked there was made durable in a model."""
    if not os.access("/dev/shm", os.W_OK):  # noqa: S108 - the name of tmpfs
        pytest.skip("there is no tmpfs to write to")
    folder = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="kusanya-proof-"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def strace() -> str:
    """Return the path of an strace that may trace."""
    found = shutil.which("strace")
    if found is None:
        pytest.skip("strace is not installed")
    probe = subprocess.run([found, "-e", "trace=none", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("strace may not trace here: ptrace is not allowed")
    return found


@pytest.fixture(scope="session")
def strace_nursery(strace: str) -> Callable[[Path], Nursery]:
    """Return a starter of nurseries whose receivers are traced, whole contents included."""

    def start(output: Path) -> Nursery:
        options = ("-f", "-y", "-qq", "--seccomp-bpf", "-s", "10000000")
        return Nursery(strace, *options, "-o", str(output), "-e", f"trace={CALLS}")

    return start
