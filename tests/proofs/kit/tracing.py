"""Attach strace to a running receiver: to record what it does, to fail or kill it at a call."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.proofs.kit.receivers import ReceiverProcess
from tests.proofs.kit.trace import CALLS

WHOLE: Final = "10000000"
"""A string limit that cuts nothing."""
SYNCS: Final = "/^f(data)?sync$"
"""Which of the two SQLite calls depends on how it was built."""


@contextmanager
def traced(
    strace: str, receiver: ReceiverProcess, output: Path, *, inject: str | None = None
) -> Iterator[None]:
    """Trace a receiver into `output` until it ends or the context does.

    `inject` is strace's own expression, such as pwrite64:error=EIO:when=3; the N of `when` counts
    the calls of each thread, and all writing is done by one.
    """
    faults = [] if inject is None else ["-e", f"inject={inject}"]
    options = ["-f", "-y", "-s", WHOLE, "-o", str(output), "-e", f"trace={CALLS}", *faults]
    with subprocess.Popen(
        [strace, *options, "-p", str(receiver.pid)], stderr=subprocess.PIPE, text=True
    ) as tracer:
        assert tracer.stderr is not None
        said = tracer.stderr.readline()
        assert "attached" in said, said
        try:
            yield
        finally:
            tracer.terminate()
            tracer.stderr.read()
