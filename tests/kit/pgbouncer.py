"""A real PgBouncer in transaction mode before the tests' PostgreSQL."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import make_url

_PROGRAM: Final = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@contextmanager
def pooled(address: str, *, sessions: int) -> Iterator[str]:
    """Return the address of the database `address` by way of a pooler with so many sessions.

    Skips where PgBouncer is not installed. It refuses to run as root: root runs it as the user of
    the server.
    """
    if _PROGRAM is None:
        pytest.skip("needs pgbouncer")
    found = make_url(address)
    host = Path(str(found.query["host"]))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="pooler"))
    folder.chmod(0o755)
    (folder / "ini").write_text(
        f"""[databases]
* = host={host} port={found.port or 5432} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {sessions}
server_round_robin = 1
max_client_conn = 200
"""
    )
    # Who owns the folder of the server's socket may use it.
    as_owner = ["-u", host.owner()] if os.geteuid() == 0 else []
    running = subprocess.Popen(
        [_PROGRAM, *as_owner, str(folder / "ini")], stderr=subprocess.PIPE, text=True
    )
    try:
        assert running.stderr is not None
        lines = []
        for line in running.stderr:
            lines.append(line)
            if "process up" in line:
                break
        else:
            pytest.fail("pgbouncer did not start: " + "".join(lines))
        yield f"postgresql://postgres@127.0.0.1:{port}/{found.database}"
    finally:
        running.terminate()
        running.communicate()
        shutil.rmtree(folder)
