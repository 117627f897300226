"""A real Spark with a Connect server on loopback."""

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

import pytest

SERVER: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"
SETTINGS: Final = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    # Of a few thousand rows compiling takes longer than running.
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@contextmanager
def spark_server(folder: Path) -> Iterator[str]:
    """Run a server that keeps its files in `folder`, and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Path(str(files("pyspark")))
    options = {
        **SETTINGS,
        "spark.connect.grpc.binding.port": str(port),
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    command = [str(home / "bin" / "spark-submit"), "--master", "local[2]", "--class", SERVER]
    command += ["--driver-java-options", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"]
    command += [part for pair in options.items() for part in ("--conf", "=".join(pair))]
    log = folder / "log"
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with (
        log.open("wb") as kept,
        subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=folder,
        ) as server,
    ):
        assert server.stderr is not None
        said = (line for line in server.stderr if kept.write(line))
        if not any(b"Spark Connect server started" in line for line in said):
            pytest.fail(log.read_text()[-2_000:])
        # Whoever reads no more would stop the server when the pipe is full.
        drain = Thread(target=deque, args=(server.stderr, 0))
        drain.start()
        try:
            yield f"sc://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()
            drain.join()
