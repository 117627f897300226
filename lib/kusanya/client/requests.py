"""The four requests, checked before the wire and turned into exact bytes.

What is refused here was the caller's own mistake: ValueError or TypeError, and nothing was sent.
Source: specification, Endpoints and Limits; assumptions AMOUNT, PHONE and OPTIONAL_FIELDS.
"""

import uuid
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import force_setattr

from kusanya.client.effects import Request
from kusanya.domain.assumptions import AMOUNT_MIN, DEFAULT_PROFILE
from kusanya.domain.limits import INTEGER_MAX
from kusanya.platform.arguments import plain_text
from kusanya.privacy import PhoneError, is_wire_phone, normalise_phone
from kusanya.wire import is_collection_id, is_event_id, is_idempotency_key

COLLECTIONS: Final = "/v1/collections"


def new_idempotency_key() -> str:
    """Return a key that no other operation has: a random UUID."""
    return str(uuid.uuid4())


def check_idempotency_key(key: str) -> str:
    """Return `key`, or raise ValueError where it could not arrive as it is. Source: Limits."""
    key = plain_text("an idempotency key", key)
    if not is_idempotency_key(key):
        raise ValueError(
            "an idempotency key is 1 to 255 printable ASCII characters without outer spaces"
        )
    return key


class CreateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be created, and under which key. Its repr shows nothing of the customer.

    `amount` is whole shillings, at least 1. `phone` is read in any Tanzanian spelling and sent as
    255 and nine digits; `phone_as_is` sends 8 to 15 digits of another country unchanged.
    """

    amount: int
    phone: str
    reference: str
    description: str | None = None
    metadata: Mapping[str, str] | None = None
    idempotency_key: str | None = None
    phone_as_is: bool = False
    profile: str = DEFAULT_PROFILE
    """Whose key and intent it is; of no meaning without an intent."""
    force_repeat_reason: str | None = None
    """Why an order that brought no money is asked for again; of no meaning without an intent."""
    although_paid: str | None = None
    """Why a person has it asked for again although it is paid, or nobody knows."""

    def __post_init__(self) -> None:
        # In what is kept and in what is sent a text is a plain one.
        force_setattr(self, "reference", plain_text("reference", self.reference))
        force_setattr(self, "profile", plain_text("profile", self.profile))
        if self.idempotency_key is not None:
            force_setattr(self, "idempotency_key", check_idempotency_key(self.idempotency_key))
        for reason in (self.force_repeat_reason, self.although_paid):
            if reason is not None and not reason.strip():
                raise ValueError("an order is asked for again with a reason")

    def body(self) -> bytes:
        """Return the exact bytes of the create.

        Raises ValueError or TypeError; no message repeats the phone.
        """
        fields: dict[str, object] = {
            "amount": _checked_amount(self.amount),
            "phone": _checked_phone(self.phone, as_is=self.phone_as_is),
            "reference": self.reference,
        }
        if not self.reference:
            raise ValueError("reference is not empty: it is how a lost answer is found again")
        if self.description is not None:
            fields["description"] = plain_text("description", self.description)
        if self.metadata is not None:
            if not isinstance(self.metadata, Mapping):
                kind = type(self.metadata).__name__
                raise TypeError(f"metadata is names with values, as in a dict, not {kind}")
            fields["metadata"] = {
                plain_text("a metadata key", key): plain_text("a metadata value", value)
                for key, value in self.metadata.items()
            }
        return msgspec.json.encode(fields)

    def wire_phone(self) -> str:
        """Return the phone as it is sent, all of the request checked. Raises as `body` does."""
        self.body()
        return _checked_phone(self.phone, as_is=self.phone_as_is)

    def __repr__(self) -> str:
        return f"CreateRequest(reference={self.reference!r}, amount={self.amount})"


def creation(body: bytes, *, idempotency_key: str) -> Request:
    """Return the request that starts a USSD push. Source: POST /v1/collections."""
    return Request(
        method="POST",
        path=COLLECTIONS,
        idempotency_key=check_idempotency_key(idempotency_key),
        body=body,
    )


def collection(collection_id: str) -> Request:
    """Return the request for a collection. Source: GET /v1/collections/{id}."""
    if not is_collection_id(plain_text("a collection id", collection_id)):
        raise ValueError("a collection id is col_ and letters or digits")
    return Request(method="GET", path=f"{COLLECTIONS}/{collection_id}")


def event(event_id: str) -> Request:
    """Return the request for an event. Source: GET /v1/events/{id}."""
    if not is_event_id(plain_text("an event id", event_id)):
        raise ValueError("an event id is evt_ and letters or digits")
    return Request(method="GET", path=f"/v1/events/{event_id}")


def whoami() -> Request:
    """Return the request for the principal of the API key. Source: GET /v1/whoami."""
    return Request(method="GET", path="/v1/whoami")


def _checked_amount(amount: int) -> int:
    # bool is an int to Python, and True would be charged as one shilling.
    if type(amount) is not int:
        raise TypeError(f"amount is an int in whole shillings, not {type(amount).__name__}")
    if not AMOUNT_MIN <= amount <= INTEGER_MAX:
        raise ValueError("amount is at least 1 shilling")
    return amount


def _checked_phone(phone: str, *, as_is: bool) -> str:
    phone = plain_text("phone", phone)
    if not as_is:
        return normalise_phone(phone)
    if not is_wire_phone(phone):
        raise PhoneError("a phone that is sent as it is has 8 to 15 digits and an optional +")
    return phone
