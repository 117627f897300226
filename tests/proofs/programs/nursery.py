"""A warm parent: it forks receivers that are ready in milliseconds. Run by tests, never imported.

Reads one JSON object a line: {"url": the store's address, "plant": a planted bug's name or null,
"checkpoint_pages": how long the log may get or null, "connections": ConnectionLimits}. Each child
prints {"pid", "port"} once it accepts connections, or {"error"}. When the input ends, every child
is killed.
"""

import contextlib
import gc
import json
import os
import signal
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from tests.proofs.kit.deliveries import SECRET
from tests.proofs.planted.bugs import checkpointing_every, planted

from kusanya.platform.http_limits import ConnectionLimits
from kusanya.receiver import app
from kusanya.receiver.serve import RunningReceiver, limits_of, serve
from kusanya.store import Store


def main() -> None:
    """Fork a receiver for every line of the input."""
    with tempfile.TemporaryDirectory() as folder:
        # Everything that opening a store imports is now imported once for all children.
        Store.open(Path(folder) / "warm.db").close()
    gc.freeze()
    children: set[int] = set()
    for line in sys.stdin:
        _reap(children)
        pid = os.fork()
        if pid == 0:
            _child(json.loads(line))
        children.add(pid)
    _reap(children)
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _reap(children: set[int]) -> None:
    for pid in tuple(children):
        if os.waitpid(pid, os.WNOHANG)[0]:
            children.discard(pid)


def _say(**what: Any) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


def _child(job: dict[str, Any]) -> None:
    status = 1
    try:
        # The input is the parent's lifeline, not ours.
        os.close(0)
        _receive(job)
        status = 0
    except BaseException as error:  # noqa: BLE001 - a forked child reports and ends here, always
        traceback.print_exc()
        with contextlib.suppress(OSError):
            _say(error=repr(error))
    finally:
        os._exit(status)


def _receive(job: dict[str, Any]) -> None:
    def ready(serving: RunningReceiver) -> None:
        _say(pid=os.getpid(), port=serving.port)

    pages = job["checkpoint_pages"]
    short_log = contextlib.nullcontext() if pages is None else checkpointing_every(pages)
    with short_log, planted(job["plant"]), Store.open(job["url"]) as store:
        connections = ConnectionLimits(**job["connections"])
        receiver = app(store, SECRET, mode="test", limits=limits_of(connections))
        serve(receiver, connections=connections, on_ready=ready)


if __name__ == "__main__":
    main()
