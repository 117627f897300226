"""A Spark with a Connect server on loopback, for as long as it is measured."""

import socket
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from threading import Thread
from typing import Final

import msgspec

_CLASS: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"
_SETTINGS: Final = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    # One machine of few cores: two hundred parts of a small table cost more than they save.
    "spark.sql.shuffle.partitions": "8",
}


class SparkServer(msgspec.Struct, frozen=True):
    """A running server: where it listens, and its process."""

    address: str
    process: int


@contextmanager
def spark_server(folder: Path, *, memory: str = "4g") -> Iterator[SparkServer]:
    """Start a server on all cores of this machine; it spills below `folder` and ends with the call.

    Raises RuntimeError with the end of its log when it does not start.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Path(str(files("pyspark")))
    options = {
        **_SETTINGS,
        "spark.connect.grpc.binding.port": str(port),
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    command = [str(home / "bin" / "spark-submit"), "--master", "local[*]", "--class", _CLASS]
    command += ["--driver-memory", memory]
    command += [part for pair in options.items() for part in ("--conf", "=".join(pair))]
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=folder,
    ) as server:
        said: deque[bytes] = deque(maxlen=20)
        lines = iter(server.stderr or ())
        for line in lines:
            said.append(line)
            if b"Spark Connect server started" in line:
                break
        else:
            raise RuntimeError(b"".join(said).decode(errors="replace"))
        # Whoever reads no more would stop the server when the pipe is full.
        drain = Thread(target=deque, args=(lines, 0))
        drain.start()
        try:
            yield SparkServer(f"sc://127.0.0.1:{port}", server.pid)
        finally:
            server.terminate()
            server.wait()
            drain.join()
