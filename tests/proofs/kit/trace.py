"""What a traced process did to its files and sockets, read from the output of strace.

A write counts from the moment it was entered, a sync and a read from the moment they returned: the
harshest reading for whoever claims that bytes were durable before an answer left.
"""

import re
from codecs import escape_decode
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

CALLS: Final = (
    "openat,pwrite64,write,writev,fsync,fdatasync,ftruncate,unlink,unlinkat,rename,read,recvfrom,"
    "sendto,sendmsg"
)
"""What is traced: everything that changes a file, and what goes through sockets."""


class Write(NamedTuple):
    """Bytes went into a file, not durable yet."""

    path: str
    offset: int
    data: bytes


class Truncation(NamedTuple):
    """A file was cut or extended to a size."""

    path: str
    size: int


class Sync(NamedTuple):
    """A sync of a file or a folder returned; what was written before `began` is meant."""

    path: str
    ok: bool
    began: int


class Creation(NamedTuple):
    """A name was opened with O_CREAT."""

    path: str


class Removal(NamedTuple):
    """A name was removed."""

    path: str


class Rename(NamedTuple):
    """A file got another name, in the place of what had it."""

    path: str
    to: str


class SocketRead(NamedTuple):
    """Bytes were read from a socket."""

    socket: str
    data: bytes


class SocketWrite(NamedTuple):
    """Bytes were handed to a socket."""

    socket: str
    data: bytes


Step = Write | Truncation | Sync | Creation | Removal | Rename | SocketRead | SocketWrite

_LINE: Final = re.compile(rb"(\d+) +(.*)", re.DOTALL)
_CALL: Final = re.compile(rb"(\w+)\((.*)\) += (-?\d+|\?)", re.DOTALL)
_RESUMED: Final = re.compile(rb"<\.\.\. (\w+) resumed>(.*)", re.DOTALL)
_UNFINISHED: Final = b" <unfinished ...>"
_TARGET: Final = re.compile(rb"\d+<(.*?)>(?:, |$)", re.DOTALL)
_STRING: Final = re.compile(rb'"((?:[^"\\]|\\.)*)"(\.\.\.)?', re.DOTALL)
_ENTERED: Final = (b"pwrite64(", b"write(", b"sendto(")


def read_trace(path: Path, *, below: Path) -> list[Step]:
    """Return the steps on files below a folder and on sockets, in order.

    The trace was made with -f, -y, a string limit that cuts nothing, and CALLS.
    """
    steps: list[Step | None] = []
    open_: dict[bytes, tuple[bytes, int]] = {}
    prefix = str(below).encode()
    for line in path.read_bytes().splitlines():
        matched = _LINE.match(line)
        if matched is None:
            continue
        pid, text = matched.groups()
        if text.endswith(_UNFINISHED):
            began = len(steps)
            if text.startswith(_ENTERED):
                # Its place in the order is kept for when we know how it ended.
                steps.append(None)
            open_[pid] = text.removesuffix(_UNFINISHED), began
            continue
        resumed = _RESUMED.match(text)
        if resumed is None:
            steps.append(_step(text, prefix, len(steps)))
            continue
        before, began = open_.pop(pid)
        whole = before + resumed[2]
        if before.startswith(_ENTERED):
            steps[began] = _step(whole, prefix, began)
        else:
            steps.append(_step(whole, prefix, began))
    # `began` of a sync is a place in this list, so nothing is taken out of it before that is read.
    return _compact(steps)


def _compact(steps: list[Step | None]) -> list[Step]:
    places: list[int] = []
    kept: list[Step] = []
    for step in steps:
        places.append(len(kept))
        if isinstance(step, Sync):
            kept.append(step._replace(began=places[step.began]))
        elif step is not None:
            kept.append(step)
    return kept


def _step(text: bytes, prefix: bytes, began: int) -> Step | None:
    matched = _CALL.match(text)
    if matched is None:
        return None
    call, arguments = matched[1].decode(), matched[2]
    result = -1 if matched[3] == b"?" else int(matched[3])
    if call in {"fsync", "fdatasync"}:
        path = _target(arguments)
        return Sync(path, result == 0, began) if path.startswith(prefix.decode()) else None
    if result < 0:
        return None
    if call in {"openat", "unlink", "unlinkat", "rename"}:
        return _on_name(call, arguments, prefix)
    if call not in {"writev", "sendmsg"}:
        return _on_descriptor(call, arguments, result, prefix.decode())
    # None of these is used on what we watch; one that appears must not go unseen.
    if prefix in arguments or b"HTTP/1.1" in arguments:
        raise ValueError(f"{call} is not modelled: {arguments[:200]!r}")
    return None


def _on_name(call: str, arguments: bytes, prefix: bytes) -> Step | None:
    name = _string(arguments)
    if not name.startswith(prefix):
        return None
    if call == "rename":
        return Rename(name.decode(), _string(arguments.partition(b'", ')[2]).decode())
    if call != "openat":
        return Removal(name.decode())
    return Creation(name.decode()) if b"O_CREAT" in arguments else None


def _on_descriptor(call: str, arguments: bytes, result: int, prefix: str) -> Step | None:
    target = _target(arguments)
    if target.startswith("socket:"):
        made = SocketRead if call in {"read", "recvfrom"} else SocketWrite
        return made(target, _string(arguments)[:result])
    if not target.startswith(prefix) or call == "read":
        return None
    if call == "ftruncate":
        return Truncation(target, int(arguments.rpartition(b", ")[2]))
    if call == "pwrite64":
        return Write(target, int(arguments.rpartition(b", ")[2]), _string(arguments)[:result])
    if Path(target).name.startswith("."):
        # The note beside a store, written in one go.
        return Write(target, 0, _string(arguments)[:result])
    raise ValueError(f"{call} to {target} has no offset")


def _target(arguments: bytes) -> str:
    found = _TARGET.match(arguments)
    return "" if found is None else found[1].decode()


def _string(arguments: bytes) -> bytes:
    found = _STRING.search(arguments)
    if found is None:
        return b""
    if found[2]:
        raise ValueError("the trace was cut: its string limit is too low")
    return escape_decode(found[1])[0]


class Acknowledgement(NamedTuple):
    """A delivery that was answered with 2xx: where in the history, and its body."""

    place: int
    body: bytes


def acknowledged(steps: Iterable[Step]) -> list[Acknowledgement]:
    """Return every delivery that the traced receiver acknowledged, in order."""
    found: list[Acknowledgement] = []
    requests: dict[str, bytes] = {}
    for place, step in enumerate(steps):
        if isinstance(step, SocketRead):
            requests[step.socket] = requests.get(step.socket, b"") + step.data
        elif isinstance(step, SocketWrite) and step.data.startswith(b"HTTP/1.1 "):
            request = requests.pop(step.socket, b"")
            if step.data.startswith(b"HTTP/1.1 2"):
                found.append(Acknowledgement(place, request.partition(b"\r\n\r\n")[2]))
    return found
