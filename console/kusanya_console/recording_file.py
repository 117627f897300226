"""The file of a recording: what a store held and what changed in it, each with its instant.

A line that names the format, then frames: a length, a digest and packed rows. Each digest also
covers the frame before, so that a frame that is missing, moved or changed is noticed. Frames are
appended whole; a console that was killed leaves a file that ends early but reads well.
"""

import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

import msgspec

from kusanya.errors import KusanyaError

_MAGIC: Final = b"KUSANYA RECORDING 1\n"
_DIGEST: Final = 16
_HEAD: Final = 4 + _DIGEST
_FRAME_MAX: Final = 64 * 1024 * 1024
_UNPACKED_MAX: Final = 256 * 1024 * 1024
Tables = Mapping[str, Sequence[Sequence[Any]]]
"""Rows by table, each with its columns in the schema's order."""


class Opening(msgspec.Struct, frozen=True, kw_only=True, tag="opening"):
    """What a recording begins with."""

    revision: str
    """The schema that its rows have."""
    started_at: int
    """Microseconds since the epoch, as all instants here."""
    reaches_back_to: int
    mode: str
    profile: str


class Frame(msgspec.Struct, frozen=True, kw_only=True, tag="frame"):
    """Rows as they stood at an instant; those of the beginning come in several frames."""

    at: int
    tables: dict[str, list[list[Any]]]
    beginning: bool = False


class Ending(msgspec.Struct, frozen=True, kw_only=True, tag="ending"):
    """The recording was ended in order."""

    at: int


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """A whole recording, read and found undamaged."""

    opening: Opening
    beginning: tuple[Frame, ...]
    frames: tuple[Frame, ...]
    ends_at: int
    in_order: bool
    """False where the recording console was killed: the file ends with its last whole frame."""


_Part = Opening | Frame | Ending
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(_Part).decode


class RecordingWriter:
    """Appends frames to a new file that only its owner may read. Raises KusanyaError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last = b""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            self._file: BinaryIO = os.fdopen(os.open(path, flags, 0o600), "wb", buffering=0)
        except FileExistsError:
            raise KusanyaError(
                f"{path} exists already; a recording never overwrites: name another file"
            ) from None
        except OSError as error:
            raise KusanyaError(f"cannot write {path}: {error.strerror}") from error
        self._write(_MAGIC)

    def append(self, part: _Part) -> None:
        """Write one part; raises KusanyaError where the disk refuses it."""
        packed = zlib.compress(_encode(part), 6)
        self._last = blake2b(self._last + packed, digest_size=_DIGEST).digest()
        self._write(len(packed).to_bytes(4, "big") + self._last + packed)

    def close(self) -> None:
        """Make the file durable and close it."""
        try:
            os.fsync(self._file.fileno())
        finally:
            self._file.close()

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._file.fileno(), rest) :]
        except OSError as error:
            raise KusanyaError(f"cannot write {self._path}: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_recording(path: Path) -> Recorded:
    """Return what a file holds; raises KusanyaError for one that is damaged or cut short."""
    opening: Opening | None = None
    beginning: list[Frame] = []
    frames: list[Frame] = []
    ending: Ending | None = None
    try:
        with path.open("rb") as file:
            for part in _parts(file, path):
                if ending is not None or (opening is None) is not isinstance(part, Opening):
                    raise _damaged(path, "its parts are not in their order")
                match part:
                    case Opening():
                        opening = part
                    case Frame(beginning=True):
                        beginning.append(part)
                    case Frame():
                        frames.append(part)
                    case Ending():
                        ending = part
    except OSError as error:
        raise KusanyaError(f"cannot read {path}: {error.strerror}") from error
    if opening is None:
        raise _damaged(path, "it holds nothing")
    last = max([opening.started_at, *(frame.at for frame in frames)])
    return Recorded(
        opening=opening,
        beginning=tuple(beginning),
        frames=tuple(frames),
        ends_at=last if ending is None else max(ending.at, last),
        in_order=ending is not None,
    )


def _parts(file: BinaryIO, path: Path) -> Iterator[_Part]:
    if file.read(len(_MAGIC)) != _MAGIC:
        raise KusanyaError(f"{path} is no recording of a console, or of another version")
    last = b""
    while head := file.read(_HEAD):
        size = int.from_bytes(head[:4], "big")
        if len(head) == _HEAD and size > _FRAME_MAX:
            raise _damaged(path, "a frame is longer than any is")
        packed = file.read(size)
        if len(head) < _HEAD or len(packed) < size:
            raise KusanyaError(f"{path} is cut short in the middle of a frame; get it whole again")
        last = blake2b(last + packed, digest_size=_DIGEST).digest()
        if last != head[4:]:
            raise _damaged(path, "a frame is not the one that was written")
        try:
            unpacking = zlib.decompressobj()
            yield _decode(unpacking.decompress(packed, _UNPACKED_MAX))
        except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise _damaged(path, "a frame cannot be read") from None


def _damaged(path: Path, how: str) -> KusanyaError:
    return KusanyaError(f"{path} is damaged: {how}; take another copy of it")
