"""What a masked copy of a store leaves out: phones, free text, bodies, and digests of them.

Such a copy is made to be handed on. A phone becomes a number that no operator has, begins with 0
after the country code and keeps its last three digits: the same one wherever the phone stood, so
that two payments of one customer are still seen as such. It follows from a key that nobody keeps,
so that trying all phones leads nowhere.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from secrets import token_bytes
from typing import Any, Final

import msgspec
from sqlalchemy import LargeBinary, Table, Text

from kusanya.domain.assumptions import PHONE_MIN_DIGITS
from kusanya.domain.collection_columns import COLUMNS
from kusanya.privacy import PhoneError, normalise_phone, redact
from kusanya.say import in_values
from kusanya.store.tables.payload import pack, pack_headers, unpack
from kusanya.store.tables.schema import (
    acknowledgement,
    audit,
    break_fact,
    delivery,
    event,
    intent,
    intent_change,
    note,
    observation,
)
from kusanya.wire import Collection, decode_collection

_COUNTRY: Final = "255"
_END: Final = 3
_TANZANIAN: Final = re.compile(r"(?<![0-9])(?:00|\+)?(?:255|0)?[67][0-9]{8}(?![0-9])")
"""A phone inside of a reference or an id, also where a letter stands before it."""
_NO_HEADERS: Final = pack_headers(())
_TAG_DIGITS: Final = 9
_Cell = Any


class Masks:
    """The masks of one copy: the same text is hidden the same way in all of it."""

    def __init__(self) -> None:
        self._key = token_bytes(32)
        self._cells: Mapping[tuple[str, str], Callable[[_Cell], _Cell]] = {
            (delivery.name, "headers"): lambda _: _NO_HEADERS,
            (delivery.name, "body"): lambda _: None,
            (event.name, "digest"): self._digest,
            (intent.name, "phone"): self.phone,
            (intent.name, "body"): lambda _: b"",
            (intent.name, "outcome"): self._said,
            (intent_change.name, "outcome"): self._said,
            (note.name, "text"): self.free_text,
            (audit.name, "detail"): self.free_text,
            (acknowledgement.name, "reason"): self.free_text,
            (break_fact.name, "note"): self.free_text,
        }

    def rows(self, table: Table, rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        """Return rows of `table`, their columns in the schema's order, as they may be handed on.

        A text is searched for phones and secrets unless there is a stricter rule for its column.
        """
        if table is observation:
            return [self._observation(*row) for row in rows]
        masks = [self._mask_of(table, column.name, column.type) for column in table.c]
        masked = [
            tuple(
                value if mask is None or value is None else mask(value)
                for mask, value in zip(masks, row, strict=True)
            )
            for row in rows
        ]
        if table is break_fact:
            return [self._break_id(row, hidden) for row, hidden in zip(rows, masked, strict=True)]
        return masked

    def _break_id(self, said: Sequence[Any], masked: Sequence[Any]) -> tuple[Any, ...]:
        """Return a masked row without the id that follows from a phone, where one stood in it."""
        names = break_fact.c.keys()
        before, after = (dict(zip(names, row, strict=True)) for row in (said, masked))
        if any(before[name] != after[name] for name in ("reference", "collection_id")):
            after["break_id"] = self._tag(before["break_id"].encode())[:16]
        return tuple(after.values())

    def phone(self, phone: str) -> str:
        """Return a number that is shown as `phone` is, and stands for it in this copy alone."""
        try:
            digits = normalise_phone(phone)
        except PhoneError:
            digits = "".join(character for character in phone if character in "0123456789")
        short = len(digits) < PHONE_MIN_DIGITS
        whole = len(digits) >= len(_COUNTRY) + PHONE_MIN_DIGITS and digits.startswith(_COUNTRY)
        head, end = (_COUNTRY if whole else ""), ("" if short else digits[-_END:])
        room = PHONE_MIN_DIGITS - 1 if short else len(digits) - len(head) - _END
        number = int(self._tag(digits.encode()), 16) % 10 ** min(room - 1, _TAG_DIGITS)
        return f"{head}{number:0{room}}{end}"

    def text(self, text: str) -> str:
        """Return a text without phones and secrets; ids and order numbers stay as they are."""
        return redact(_TANZANIAN.sub(lambda found: self.phone(found[0]), text))

    def _said(self, text: str) -> str:
        return in_values(text, self.text)

    def free_text(self, text: str) -> str:
        """Return what stands for words of a person: only whether two are the same is left."""
        return f"(hidden {self._tag(text.encode(errors='replace'))[:8]})"

    def _mask_of(self, table: Table, name: str, kind: object) -> Callable[[_Cell], _Cell] | None:
        if isinstance(kind, LargeBinary):
            return self._cells[table.name, name]
        return self._cells.get((table.name, name), self.text if isinstance(kind, Text) else None)

    def _observation(
        self, seq: int, id_: str, mode: str, at: int, _digest: bytes, payload: bytes
    ) -> tuple[Any, ...]:
        fact = unpack(payload)
        masked = msgspec.structs.replace(
            fact,
            source_id=self.text(fact.source_id),
            collection=self._collection(fact.collection),
            event_id=None if fact.event_id is None else self.text(fact.event_id),
            event_type=None if fact.event_type is None else self.text(fact.event_type),
        )
        return seq, self.text(id_), mode, at, *pack(masked)

    def _collection(self, said: Collection) -> Collection:
        fields = msgspec.json.decode(said.raw) if said.raw else msgspec.to_builtins(said)
        kept = {name: self._field(name, value) for name, value in fields.items()}
        return decode_collection(msgspec.json.encode(kept))

    def _field(self, name: str, value: Any) -> Any:
        if value is None:
            return None
        if name == "phone":
            return self.phone(value)
        if name == "metadata":
            return {"hidden": self.free_text(msgspec.json.encode(value).decode())}
        if name not in _KNOWN:
            return self.free_text(msgspec.json.encode(value).decode())
        return self.text(value) if isinstance(value, str) else value

    def _digest(self, digest: bytes) -> bytes:
        return blake2b(digest, key=self._key, digest_size=len(digest)).digest()

    def _tag(self, data: bytes) -> str:
        return blake2b(data, key=self._key, digest_size=16).hexdigest()


_KNOWN: Final = frozenset(
    {"object", *(one.name for one in COLUMNS if one.harmless or not one.type.is_text)}
)
"""Fields whose values the service makes, or that are searched for phones; others are free text."""
