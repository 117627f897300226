"""The resources as this service writes them; what it once answered stays as bytes.

Fields that do not apply yet are absent (assumption OPTIONAL_FIELDS). The OpenAPI document is made
of these types. Source: Resources and their fields.
"""

from enum import StrEnum
from typing import Annotated, Final, Literal

import msgspec

from kusanya.wire import Mode
from kusanya_service.simulation.clock import iso

encode: Final = msgspec.json.Encoder().encode
Instant = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]


class Status(StrEnum):
    """The states of a collection: this service's own list, as a check of the library's."""

    CREATED = "created"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    EXPIRED = "expired"

    @property
    def is_final(self) -> bool:
        """Return whether it never changes; each such state is announced by an event."""
        return self is not Status.CREATED

    @property
    def event_type(self) -> str:
        """Return the type of the event that announces this final state."""
        return f"collection.{self.value}"


EVENT_TYPES: Final = tuple(status.event_type for status in Status if status.is_final)


class Collection(msgspec.Struct, kw_only=True, frozen=True, gc=False):
    """A payment that was asked of a customer's phone."""

    id: Annotated[str, msgspec.Meta(pattern="^col_")]
    object: Literal["collection"]
    status: Status
    amount: int
    fee: Annotated[int, msgspec.Meta(ge=0)]
    currency: str
    channel: str
    phone: str
    reference: str
    description: str | msgspec.UnsetType = msgspec.UNSET
    metadata: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    failure_code: str | msgspec.UnsetType = msgspec.UNSET
    failure_message: str | msgspec.UnsetType = msgspec.UNSET
    mode: Mode
    created_at: Instant
    completed_at: Instant | msgspec.UnsetType = msgspec.UNSET


class Event(msgspec.Struct, kw_only=True, frozen=True):
    """The message that a collection became final; `data` is the collection at that moment."""

    id: Annotated[str, msgspec.Meta(pattern="^evt_")]
    type: Annotated[str, msgspec.Meta(extra_json_schema={"enum": EVENT_TYPES})]
    created_at: Instant
    mode: Mode
    data: Annotated[
        msgspec.Raw,
        msgspec.Meta(extra_json_schema={"$ref": "#/components/schemas/Collection"}),
    ]


class Principal(msgspec.Struct, kw_only=True, frozen=True):
    """Whose API key a request carries."""

    key_id: Annotated[str, msgspec.Meta(pattern="^key_")]
    merchant_id: Annotated[str, msgspec.Meta(pattern="^mer_")]
    mode: Mode
    object: Literal["principal"]


_collection_decoder: Final = msgspec.json.Decoder(Collection)


def final_json(
    created: bytes, *, status: Status, failure_code: str | None, message: str | None, at_ms: int
) -> bytes:
    """Return a created collection's JSON in its final state; amount and fee stay as they are.

    Never completed before it was created: two clocks that are cut to milliseconds differ by one.
    """
    body = _collection_decoder.decode(created)
    body = msgspec.structs.replace(
        body, status=status, completed_at=max(body.created_at, iso(at_ms))
    )
    if failure_code is not None and message is not None:
        body = msgspec.structs.replace(body, failure_code=failure_code, failure_message=message)
    return encode(body)
