"""The specification's resources: what the service sends and what we read from it.

`Collection`, `Event` and `Principal` are frozen values with typed fields. What a newer service adds
is kept: `raw` holds the exact bytes the value was read from and `extra` the fields we do not know.
Statuses, failure codes, channels and currencies are open sets (assumption OPEN_SETS); the mode is
not. A status is a `Status` all the same, so that a type checker finds a misspelt one.
Source: specification, Resources and their fields.
"""

import re
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, NoReturn, TypeVar

import msgspec
from msgspec.structs import fields as struct_fields

from kusanya.domain.business_day import YEARS
from kusanya.domain.limits import INTEGER_MAX
from kusanya.domain.status import FINAL, PAID, Status
from kusanya.errors import WireError
from kusanya.privacy import mask_phone, mask_text

_WORD_MAX: Final = 20


class Mode(StrEnum):
    """Whether money moves. Values of the two modes are never added up."""

    LIVE = "live"
    TEST = "test"

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        # What stands in the wrong place may be a secret, which is no plain word.
        is_word = isinstance(value, str) and value.isalpha() and len(value) <= _WORD_MAX
        shown = repr(value) if is_word else f"this {type(value).__name__}"
        raise ValueError(f"a mode is 'live' or 'test', not {shown}")


Whole = Annotated[int, msgspec.Meta(ge=-INTEGER_MAX - 1, le=INTEGER_MAX)]
"""An integer that both database engines hold; decoding refuses 5000.0, true and larger ones."""
Instant = Annotated[datetime, msgspec.Meta(tz=True)]
"""An ISO 8601 instant with its offset."""

_matches_collection_id: Final = re.compile(r"col_[A-Za-z0-9_\-]{1,120}").fullmatch
_matches_event_id: Final = re.compile(r"evt_[A-Za-z0-9_\-]{1,120}").fullmatch
_ENUM_VALUE: Final = re.compile(
    r"Invalid enum value .*(?= - at )|Invalid enum value .*+\Z", re.DOTALL
)
_IDEMPOTENCY_KEY: Final = re.compile(r"[\x20-\x7e]{1,255}")


class ResponseInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What surrounded a resource: found as `.response` on every value a client returns."""

    status: int
    headers: tuple[tuple[str, str], ...]
    request_id: str | None
    """What to quote to the service's support."""
    replayed: bool
    """True where the service repeated an earlier answer: the value tells the past."""

    def header(self, name: str) -> str | None:
        """Return the first header of this name in any case, or None."""
        wanted = name.lower()
        return next((value for found, value in self.headers if found.lower() == wanted), None)


class _Resource(msgspec.Struct, frozen=True, kw_only=True, dict=True, omit_defaults=True):
    """A resource together with the bytes it was read from.

    The bytes live outside the fields, so that two readings of the same facts are equal.
    """

    @property
    def raw(self) -> bytes:
        """Return the exact bytes this was read from, or b"" for a value built in memory."""
        held = self.__dict__
        if "raw" not in held and "within" in held:
            held["raw"] = bytes(_envelope_decoder.decode(held["within"]).data)
        found: bytes = held.get("raw", b"")
        return found

    @property
    def response(self) -> ResponseInfo | None:
        """Return what surrounded it in the client's answer, or None for a value from elsewhere."""
        found: ResponseInfo | None = self.__dict__.get("response")
        return found

    @property
    def extra(self) -> dict[str, Any]:
        """Return the fields of `raw` that this version does not know, as decoded JSON."""
        if not self.raw:
            return {}
        known = {field.encode_name for field in struct_fields(type(self))}
        return {name: v for name, v in msgspec.json.decode(self.raw).items() if name not in known}


class Collection(_Resource, frozen=True, kw_only=True, dict=True, omit_defaults=True):
    """A customer payment started by a USSD push, as the service reports it.

    Amount and fee are integers in whole units of `currency`. Fields that do not apply yet are None
    (assumption OPTIONAL_FIELDS). Its repr masks the phone.
    """

    id: str
    object: str = "collection"
    status: Status
    amount: Whole
    fee: Whole
    currency: str
    channel: str
    phone: str
    reference: str
    description: str | None = None
    metadata: dict[str, Any] | None = None
    failure_code: str | None = None
    failure_message: str | None = None
    mode: Mode
    created_at: Instant
    completed_at: Instant | None = None

    @property
    def is_final(self) -> bool:
        """Return whether the status is one that never changes."""
        return self.status in FINAL

    @property
    def is_paid(self) -> bool:
        """Return whether the customer has paid."""
        return self.status in PAID

    def __repr__(self) -> str:
        return (
            f"Collection(id={self.id!r}, status={str(self.status)!r}, amount={self.amount}, "
            f"fee={self.fee}, currency={self.currency!r}, channel={self.channel!r}, "
            f"phone={mask_phone(self.phone)!r}, reference={mask_text(self.reference)!r}, "
            f"mode={self.mode.value!r})"
        )


class Event(_Resource, frozen=True, kw_only=True, dict=True, omit_defaults=True):
    """A final state as it was announced: the payload of a webhook and of GET /v1/events/{id}."""

    id: str
    type: str
    created_at: Instant
    mode: Mode
    data: Collection

    def __repr__(self) -> str:
        return f"Event(id={self.id!r}, type={self.type!r}, mode={self.mode.value!r}, {self.data!r})"


class Principal(_Resource, frozen=True, kw_only=True, dict=True, omit_defaults=True):
    """Whose API key this is, from GET /v1/whoami."""

    key_id: str
    merchant_id: str
    mode: Mode
    object: str = "principal"


class _Envelope(msgspec.Struct, frozen=True):
    # Of an event whose fields were read already: only where its collection lies.
    data: msgspec.Raw


_UNREADABLE: Final = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
_Decoded = TypeVar("_Decoded")
_collection_decoder: Final = msgspec.json.Decoder(Collection)
_principal_decoder: Final = msgspec.json.Decoder(Principal)
_decode_event: Final = msgspec.json.Decoder(Event).decode
_envelope_decoder: Final = msgspec.json.Decoder(_Envelope)


def decode_collection(payload: bytes) -> Collection:
    """Read a collection object. Raises WireError when it is not one."""
    collection = _decode(_collection_decoder.decode, payload, "a collection")
    _check_collection(collection)
    collection.__dict__["raw"] = bytes(payload)
    return collection


def decode_event(payload: bytes) -> Event:
    """Read an event object. Raises WireError when it is not one."""
    try:
        event = _decode_event(payload)
    except _UNREADABLE as error:
        raise _unreadable(error, "an event") from None
    data = event.data
    if _matches_event_id(event.id) is None:
        raise WireError("not an event: its id is not evt_ and letters or digits")
    _check_instant(event.created_at, "an event")
    _check_collection(data)
    # The collection's own bytes are a part of these, cut out when somebody asks for them.
    event.__dict__["raw"] = data.__dict__["within"] = bytes(payload)
    return event


def decode_principal(payload: bytes) -> Principal:
    """Read a principal object. Raises WireError when it is not one."""
    principal = _decode(_principal_decoder.decode, payload, "a principal")
    principal.__dict__["raw"] = bytes(payload)
    return principal


def _decode(decode: Callable[[bytes], _Decoded], payload: bytes, what: str) -> _Decoded:
    try:
        return decode(payload)
    except _UNREADABLE as error:
        raise _unreadable(error, what) from None


def _unreadable(error: Exception, what: str) -> WireError:
    # The messages of the decoder name fields and types, and values of an enumeration alone; deep
    # nesting and bad UTF-8 leave it as errors of their own kinds.
    if isinstance(error, RecursionError):
        return WireError(f"not {what}: nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return WireError(f"not {what}: the bytes are not UTF-8")
    said = _ENUM_VALUE.sub("Invalid enum value", str(error))
    return WireError(f"not {what}: {said}")


def _check_collection(collection: Collection) -> None:
    if _matches_collection_id(collection.id) is None:
        raise WireError("not a collection: its id is not col_ and letters or digits")
    _check_instant(collection.created_at, "a collection")
    if collection.completed_at is not None:
        _check_instant(collection.completed_at, "a collection")


def _check_instant(at: datetime, what: str) -> None:
    # At the ends of time the day in East Africa is one that no datetime can hold.
    if at.year not in YEARS:
        raise WireError(f"not {what}: an instant is beyond the calendar")


def is_idempotency_key(text: str) -> bool:
    """Return whether `text` is 1 to 255 printable ASCII characters, no space at either end.

    A header value loses outer white space on its way, so such a key would arrive as another one.
    Source: Limits.
    """
    return _IDEMPOTENCY_KEY.fullmatch(text) is not None and text == text.strip(" ")


def is_collection_id(text: str) -> bool:
    """Return whether `text` has the form of a collection identifier."""
    return _matches_collection_id(text) is not None


def is_event_id(text: str) -> bool:
    """Return whether `text` has the form of an event identifier."""
    return _matches_event_id(text) is not None


def mode_of_key(api_key: str, *, prefix: str | None = None) -> Mode | None:
    """Return the mode that an API key selects, or None when its form does not say.

    The form is <service_prefix>_<test|live>_sk_<secret>; `prefix` is checked where given. Source:
    Authentication 2.
    """
    found = re.match(r"(?P<prefix>[A-Za-z0-9]+)_(?P<mode>test|live)_sk_[A-Za-z0-9]+", api_key)
    if found is None or (prefix is not None and found["prefix"] != prefix):
        return None
    return Mode(found["mode"])
