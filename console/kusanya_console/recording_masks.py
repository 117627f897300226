"""What a recording leaves out: whole phones, raw bodies, and digests they could be guessed from.

A recording is made to be handed on. A phone keeps what a screen shows of it; its other digits are
zeros, also where a merchant made it his reference. Free text loses whatever looks like a phone or a
key.
"""

import json
import re
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final

import msgspec
from sqlalchemy import Table

from kusanya.assumptions import PHONE_MIN_DIGITS
from kusanya.privacy import redact
from kusanya.store.tables.payload import pack, unpack
from kusanya.store.tables.schema import (
    audit,
    collection,
    delivery,
    event,
    intent,
    note,
    observation,
)
from kusanya.wire import decode_collection

_COUNTRY: Final = "255"
_END: Final = 3
_TANZANIAN: Final = re.compile(r"(?<![0-9])(?:00|\+)?(?:255|0)?[67][0-9]{8}(?![0-9])")
"""A phone inside of a name; other digits of it are left: an order's number tells it apart."""
_NO_HEADERS: Final = b"\x90"
"""No header lines, packed."""
Cell = Any
Row = list[Cell]


def zeroed(phone: str) -> str:
    """Return a number that `mask_phone` shows as it shows `phone`, and that tells no more."""
    digits = "".join(character for character in phone if character in "0123456789")
    if len(digits) < PHONE_MIN_DIGITS:
        return "0" * (PHONE_MIN_DIGITS - 1)
    whole = len(digits) >= len(_COUNTRY) + PHONE_MIN_DIGITS and digits.startswith(_COUNTRY)
    head = _COUNTRY if whole else ""
    return head + "0" * (len(digits) - len(head) - _END) + digits[-_END:]


def masked(table: Table, row: Row) -> Row:
    """Return a row of `table`, its columns in the schema's order, as it may be handed on."""
    columns = _MASKS.get(table.name)
    if columns is None:
        return row
    names = [column.name for column in table.c]
    seq = row[names.index("seq")]
    return [
        columns[name](value, seq) if name in columns and value is not None else value
        for name, value in zip(names, row, strict=True)
    ]


def _free(text: str, _seq: int) -> str:
    return redact(text)


def _name(text: str, _seq: int) -> str:
    return _TANZANIAN.sub(lambda found: zeroed(found[0]), text)


def _phone(phone: str, _seq: int) -> str:
    return zeroed(phone)


def _digest(_digest: bytes, seq: int) -> bytes:
    # It has to differ from row to row, and nothing more.
    return blake2b(seq.to_bytes(8, "big"), digest_size=16).digest()


def _payload(payload: bytes, _seq: int) -> bytes:
    heard = unpack(payload)
    said = heard.collection
    hidden = decode_collection(msgspec.json.encode(_said(msgspec.to_builtins(said))))
    return pack(msgspec.structs.replace(heard, collection=hidden))[1]


def _said(fields: dict[str, Any]) -> dict[str, Any]:
    """Return a collection's fields as they may be handed on."""
    kept = dict(fields)
    if isinstance(kept.get("phone"), str):
        kept["phone"] = zeroed(kept["phone"])
    if isinstance(kept.get("reference"), str):
        kept["reference"] = _name(kept["reference"], 0)
    for name in ("description", "failure_message"):
        if isinstance(kept.get(name), str):
            kept[name] = redact(kept[name])
    if kept.get("metadata") is not None:
        kept["metadata"] = _redacted(kept["metadata"])
    return kept


def _redacted(value: Any) -> Any:
    match value:
        case str():
            return redact(value)
        case dict():
            return {redact(str(key)): _redacted(item) for key, item in value.items()}
        case list():
            return [_redacted(item) for item in value]
        case bool() | None:
            return value
        case int() | float():
            return value if redact(str(value)) == str(value) else 0
    return None


def _body(body: bytes, _seq: int) -> bytes:
    try:
        fields = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return b""
    return json.dumps(_said(fields), ensure_ascii=False, separators=(",", ":")).encode()


_Mask = Callable[[Any, int], Any]
_MASKS: Final[dict[str, dict[str, _Mask]]] = {
    collection.name: {
        "phone": _phone,
        "reference": _name,
        "description": _free,
        "failure_message": _free,
    },
    observation.name: {"payload": _payload, "digest": _digest},
    delivery.name: {
        "body": lambda _body, _seq: None,
        "headers": lambda _h, _s: _NO_HEADERS,
        # What a forged delivery says here is anybody's words.
        "reference": _name,
        "event_type": _free,
        "event_mode": _free,
        "currency": _free,
    },
    event.name: {"digest": _digest, "type": _free},
    intent.name: {
        "phone": _phone,
        "body": _body,
        "reference": _name,
        "idempotency_key": _name,
        "outcome": _free,
    },
    note.name: {"text": _free},
    audit.name: {"detail": _free, "outcome": _free},
}
