"""The resources as this service writes them; what it once answered is kept as bytes.

Fields that do not apply yet are absent (assumption OPTIONAL_FIELDS). Source: Resources and their
fields.
"""

from typing import Final

import msgspec

from kusanya_service.simulation.timeline import iso

_encode = msgspec.json.Encoder().encode


class CollectionBody(msgspec.Struct, kw_only=True, frozen=True, gc=False):
    """A collection object."""

    id: str
    object: str = "collection"
    status: str
    amount: int
    fee: int
    currency: str
    channel: str
    phone: str
    reference: str
    description: str | msgspec.UnsetType = msgspec.UNSET
    metadata: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    failure_code: str | msgspec.UnsetType = msgspec.UNSET
    failure_message: str | msgspec.UnsetType = msgspec.UNSET
    mode: str
    created_at: str
    completed_at: str | msgspec.UnsetType = msgspec.UNSET


class EventBody(msgspec.Struct, kw_only=True, frozen=True):
    """An event object; `data` is the collection's exact bytes at that moment."""

    id: str
    type: str
    created_at: str
    mode: str
    data: msgspec.Raw


class PrincipalBody(msgspec.Struct, kw_only=True, frozen=True):
    """A principal object."""

    key_id: str
    merchant_id: str
    mode: str
    object: str = "principal"


_collection_decoder: Final = msgspec.json.Decoder(CollectionBody)


def encode(body: msgspec.Struct) -> bytes:
    """Return the JSON of a resource."""
    return _encode(body)


def final_json(
    created: bytes, *, status: str, failure_code: str | None, message: str | None, at_ms: int
) -> bytes:
    """Return a created collection's JSON in its final state; amount and fee stay as they are."""
    body = msgspec.structs.replace(
        _collection_decoder.decode(created), status=status, completed_at=iso(at_ms)
    )
    if failure_code is not None and message is not None:
        body = msgspec.structs.replace(body, failure_code=failure_code, failure_message=message)
    return _encode(body)
