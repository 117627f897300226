"""The demo's folder: one demo at a time, and everything another start needs to go on.

Ports and secrets stay the same from start to start, so that deliveries planned before a crash
find their receiver after it.
"""

import fcntl
import socket
from pathlib import Path
from typing import Final, Self

import msgspec

from kusanya.errors import ConfigurationError
from kusanya.platform.private_file import write_private
from kusanya_console.sandbox.demo import STORE

_LOOPBACK: Final = "127.0.0.1"


class DemoSettings(msgspec.Struct, kw_only=True):
    """What a demo keeps between starts; written with the owner's permissions only."""

    service_port: int
    receiver_port: int
    seed: int
    endpoint_id: str = ""
    signing_secret: str = ""
    test_key: str = ""

    def __repr__(self) -> str:
        return f"DemoSettings(service_port={self.service_port}, receiver_port={self.receiver_port})"


class DemoFolder:
    """The folder of one demo, locked until it is closed or the process ends.

    Raises ConfigurationError where it cannot be made or written, or another demo holds it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(0o700)
            self._lock = (path / "lock").open("w")
        except OSError as error:
            raise ConfigurationError(
                f"cannot use the folder {path}: {error.strerror}; choose another with --data"
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise ConfigurationError(
                f"another demo runs on {path}; stop it, or choose another folder with --data"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let another demo use the folder."""
        self._lock.close()

    @property
    def store_url(self) -> str:
        """Return the URL of the demo's store."""
        return f"sqlite:///{self.path / STORE}"

    def log(self, name: str) -> Path:
        """Return the log file of the child `name`."""
        return self.path / f"{name}.log"

    def settings(self, *, seed: int) -> DemoSettings:
        """Return the kept settings, or new ones on free ports."""
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=DemoSettings)
        except FileNotFoundError:
            service_port, receiver_port = _free_ports(2)
            return DemoSettings(service_port=service_port, receiver_port=receiver_port, seed=seed)
        except (OSError, msgspec.MsgspecError) as error:
            raise ConfigurationError(
                f"{self._file} cannot be read; begin anew with --fresh"
            ) from error

    def keep(self, settings: DemoSettings) -> None:
        """Save `settings` whole, readable by the owner alone."""
        write_private(self._file, msgspec.json.encode(settings).decode())

    def clear(self) -> None:
        """Remove what earlier demos left, but never the lock that we hold."""
        import shutil

        for entry in self.path.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name != "lock":
                entry.unlink()

    @property
    def _file(self) -> Path:
        return self.path / "demo.json"


def _free_ports(count: int) -> list[int]:
    # All are held at once, so that no two of them are the same.
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind((_LOOPBACK, 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()
