"""An observation as bytes: all that the fold needs, kept so that it can be read back exactly.

A collection that came over the wire is kept as its raw bytes alone, because its fields follow from
them; one that was built in memory is kept field by field.
"""

from datetime import datetime
from hashlib import blake2b
from typing import Final

import msgspec

from kusanya.state.observation import Dispute, Observation, Source
from kusanya.wire import Collection, Mode, decode_collection

_DIGEST_BYTES: Final = 16
SOURCE_AT: Final = 3
"""Which byte of an observation, counted from 1, is the first letter of its source: the list and the
text have a header of one byte each."""


class _StoredFact(msgspec.Struct, array_like=True, frozen=True):
    source: str
    source_id: str
    observed_in: str
    replayed: bool
    event_id: str | None
    event_type: str | None
    event_created_at: datetime | None
    raw: bytes
    built: Collection | None
    # Last and outside the digest: the same saying observed again is the same fact.
    observed_at: datetime | None = None
    # Written for disputed facts alone: all others are the bytes that they always were.
    disputed: str | None = None
    # Written for rulings alone.
    overrules: tuple[str, ...] = ()


class _StoredFactHead(msgspec.Struct, array_like=True, frozen=True):
    """The first elements of a `_StoredFact`; the others are skipped unread."""

    source: str
    source_id: str
    observed_in: str


_encode: Final = msgspec.msgpack.Encoder(order="deterministic").encode
_decode: Final = msgspec.msgpack.Decoder(_StoredFact).decode
_decode_head: Final = msgspec.msgpack.Decoder(_StoredFactHead).decode


def pack(observation: Observation) -> tuple[bytes, bytes]:
    """Return the digest of what `observation` says, and itself as bytes.

    The digest covers source, source id and everything said, but not when we observed it. Raises
    ValueError, OverflowError or TypeError for a value that no wire could have carried.
    """
    raw = observation.collection.raw
    said = (
        str(observation.source),
        observation.source_id,
        str(observation.observed_in),
        observation.replayed,
        observation.event_id,
        observation.event_type,
        observation.event_created_at,
        raw,
        None if raw else observation.collection,
    )
    doubt: tuple[object, ...] = ()
    if observation.overrules:
        doubt = (None, observation.overrules)
    elif observation.disputed is not None:
        doubt = (str(observation.disputed),)
    return (
        blake2b(_encode((*said, *doubt)), digest_size=_DIGEST_BYTES).digest(),
        _encode((*said, observation.observed_at, *doubt)),
    )


HIDDEN: Final = b"\x90"
"""What stands for bytes, also for header lines, where a login may not see them."""


def unpack(payload: bytes) -> Observation:
    """Return the observation that `pack` made `payload` from.

    Raises WireError or msgspec.MsgspecError for bytes that `pack` did not make.
    """
    kept = _decode(payload)
    if kept.observed_at is None:
        raise msgspec.ValidationError("an observation says when it was observed")
    return Observation(
        source=Source(kept.source),
        source_id=kept.source_id,
        observed_at=kept.observed_at,
        observed_in=Mode(kept.observed_in),
        collection=decode_collection(kept.raw) if kept.built is None else kept.built,
        replayed=kept.replayed,
        event_id=kept.event_id,
        event_type=kept.event_type,
        event_created_at=kept.event_created_at,
        disputed=None if kept.disputed is None else Dispute(kept.disputed),
        overrules=kept.overrules,
    )


def source_of(payload: bytes) -> Source:
    """Return where the observation in `payload` came from, at a tenth of the cost of `unpack`.

    Raises MsgspecError or ValueError for bytes that `pack` did not make.
    """
    return Source(_decode_head(payload).source)


def mode_of(payload: bytes) -> Mode:
    """Return the mode in which the observation in `payload` was made, as cheaply.

    Raises MsgspecError or ValueError for bytes that `pack` did not make.
    """
    return Mode(_decode_head(payload).observed_in)


def body_digest(body: bytes) -> bytes:
    """Return what tells one event body from another: attempts of one event are byte-equal."""
    return blake2b(body, digest_size=_DIGEST_BYTES).digest()


_headers_encode: Final = msgspec.msgpack.Encoder().encode
_headers_decode: Final = msgspec.msgpack.Decoder(tuple[tuple[bytes, bytes], ...]).decode


def pack_headers(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Return the exact header lines as bytes."""
    return _headers_encode(headers)


def unpack_headers(packed: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """Return the header lines that `pack_headers` was given."""
    return _headers_decode(packed)
