"""Reading a request's body: strict JSON first, then what a collection may be.

The two are apart because a reused key is judged between them: a body that differs is 409 even
where it would have been refused by itself. Errors name the field and never repeat its value.
"""

import json
import math
import re
from typing import Annotated, Any, Final, NoReturn

import msgspec

from kusanya.domain.assumptions import (
    DESCRIPTION_MAX_LENGTH,
    METADATA_KEY_MAX_LENGTH,
    METADATA_MAX_KEYS,
    METADATA_VALUE_MAX_LENGTH,
    REFERENCE_MAX_LENGTH,
)
from kusanya.privacy import is_wire_phone
from kusanya_service.errors import ApiError
from kusanya_service.simulation.rules import Bounds

BODY_MAX_BYTES: Final = 64 * 1024
"""Largest request body; a delivery of what it holds stays far below what receivers take."""

_HARMLESS_NAME: Final = re.compile(r"[A-Za-z_]{1,64}")
_DEPTH: Final = 32


class NewCollection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request that may become a collection."""

    # The annotations describe it in the OpenAPI document. `validate` checks them all the same: its
    # errors name the field, in words.
    amount: int
    phone: Annotated[str, msgspec.Meta(pattern=r"^\+?[0-9]{8,15}$")]
    reference: Annotated[str, msgspec.Meta(min_length=1, max_length=REFERENCE_MAX_LENGTH)]
    description: Annotated[str, msgspec.Meta(max_length=DESCRIPTION_MAX_LENGTH)] | None = None
    metadata: (
        Annotated[
            dict[
                Annotated[str, msgspec.Meta(min_length=1, max_length=METADATA_KEY_MAX_LENGTH)],
                Annotated[str, msgspec.Meta(max_length=METADATA_VALUE_MAX_LENGTH)],
            ],
            msgspec.Meta(max_length=METADATA_MAX_KEYS),
        ]
        | None
    ) = None


class JsonBody(msgspec.Struct, frozen=True):
    """A body as a JSON value, and its canonical bytes."""

    value: Any
    canonical: bytes


def parse(body: bytes) -> JsonBody:
    """Read a body as strict JSON; raises ApiError 400.

    Refused are other encodings than UTF-8, a byte order mark, repeated keys, NaN and infinities,
    lone surrogates, integers of thousands of digits and deep nesting.
    """
    try:
        value = _decoder.decode(body.decode("utf-8"))
        _check_depth(value)
        canonical = _canonical(value).encode("utf-8")
    except UnicodeDecodeError:
        raise _malformed("the body is not UTF-8") from None
    except UnicodeEncodeError:
        raise _malformed("the body has half a surrogate pair") from None
    except RecursionError:
        raise _malformed("the body is nested too deeply") from None
    except _NotStrict as refusal:
        raise _malformed(str(refusal)) from None
    except ValueError:
        raise _malformed("the body is not JSON") from None
    return JsonBody(value, canonical)


class _NotStrict(ValueError):  # noqa: N818 - reads as the condition it states
    """The body is JSON to a lenient reader only."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _NotStrict("the body repeats a key in one object")
    return value


def _refuse_constant(_name: str) -> NoReturn:
    raise _NotStrict("the body has a number that JSON does not know")


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _NotStrict(_TOO_LARGE) from None


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _NotStrict(_TOO_LARGE)
    return number


_TOO_LARGE: Final = "the body has a number that is too large"
_decoder: Final = json.JSONDecoder(
    object_pairs_hook=_unique_keys,
    parse_constant=_refuse_constant,
    parse_int=_integer,
    parse_float=_finite,
)
_canonical: Final = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")
).encode


def _check_depth(value: Any, depth: int = 0) -> None:
    if depth > _DEPTH:
        raise _NotStrict("the body is nested too deeply")
    if isinstance(value, dict):
        for member in value.values():
            if isinstance(member, dict | list):
                _check_depth(member, depth + 1)
    elif isinstance(value, list):
        for member in value:
            if isinstance(member, dict | list):
                _check_depth(member, depth + 1)


def validate(value: Any, bounds: Bounds) -> NewCollection:
    """Return the collection that a body asks for; raises ApiError 422 naming the field."""
    if not isinstance(value, dict):
        raise _unacceptable("the body is a JSON object", None)
    for name in value:
        if name not in NewCollection.__struct_fields__:
            # A name with digits in it could be a phone number.
            shown = name if _HARMLESS_NAME.fullmatch(name) else "body"
            raise _unacceptable("the body has a field that a collection does not take", shown)
    return NewCollection(
        amount=_amount(value.get("amount"), bounds),
        phone=_phone(value.get("phone")),
        reference=_text(value.get("reference"), "reference", 1, REFERENCE_MAX_LENGTH),
        description=_optional_text(value.get("description")),
        metadata=_metadata(value.get("metadata")),
    )


def _amount(value: Any, bounds: Bounds) -> int:
    # bool is an int to Python and 5000.0 is a float; neither is an amount of whole shillings.
    if type(value) is not int or not bounds.least <= value <= bounds.most:
        raise _unacceptable(
            f"amount is an integer of {bounds.least} to {bounds.most} whole shillings", "amount"
        )
    return value


def _phone(value: Any) -> str:
    if not isinstance(value, str) or not is_wire_phone(value):
        raise _unacceptable("phone is 8 to 15 digits with an optional leading +", "phone")
    return value


def _text(value: Any, name: str, least: int, most: int) -> str:
    if not isinstance(value, str) or not least <= len(value) <= most:
        raise _unacceptable(f"{name} is a string of {least} to {most} characters", name)
    return value


def _optional_text(value: Any) -> str | None:
    return None if value is None else _text(value, "description", 0, DESCRIPTION_MAX_LENGTH)


def _metadata(value: Any) -> dict[str, str] | None:
    if value is None:
        return None
    if not isinstance(value, dict) or len(value) > METADATA_MAX_KEYS:
        raise _unacceptable(
            f"metadata is an object of at most {METADATA_MAX_KEYS} keys", "metadata"
        )
    for key, member in value.items():
        if not 1 <= len(key) <= METADATA_KEY_MAX_LENGTH:
            raise _unacceptable(
                f"a key of metadata has 1 to {METADATA_KEY_MAX_LENGTH} characters", "metadata"
            )
        _text(member, "metadata", 0, METADATA_VALUE_MAX_LENGTH)
    return value


def _malformed(message: str) -> ApiError:
    return ApiError(400, "invalid_request", message)


def _unacceptable(message: str, param: str | None) -> ApiError:
    return ApiError(422, "invalid_request", message, param=param)
