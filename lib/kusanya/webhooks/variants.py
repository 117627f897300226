"""What programs between sender and receiver do to a body, undone.

A signature covers the exact bytes. Each variant here is what the body may have been before some
well-meant change; where the signature fits a variant, that change is what broke it.
"""

import codecs
import json
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, Final


class BodyEdit(StrEnum):
    """What was done to a body on its way."""

    NEWLINE_ADDED = "newline_added"
    NEWLINE_REMOVED = "newline_removed"
    LINE_ENDINGS = "line_endings"
    BOM_ADDED = "bom_added"
    BOM_REMOVED = "bom_removed"
    SPACE_AROUND = "space_around"
    RESERIALISED = "reserialised"
    REENCODED = "reencoded"


SENTENCES: Final = {
    BodyEdit.NEWLINE_ADDED: "a line break was added at its end, as tools that save or echo text do",
    BodyEdit.NEWLINE_REMOVED: "the line break at its end was cut off",
    BodyEdit.LINE_ENDINGS: "its line endings were changed",
    BodyEdit.BOM_ADDED: "a byte order mark was put in front of it",
    BodyEdit.BOM_REMOVED: "the byte order mark in front of it was removed",
    BodyEdit.SPACE_AROUND: "white space was added around it",
    BodyEdit.RESERIALISED: "its JSON was parsed and written again: verify the raw bytes instead",
    BodyEdit.REENCODED: "its characters were written in another encoding",
}

_Dump = Callable[[Any], str]


def _dump(**options: Any) -> _Dump:
    return lambda value: json.dumps(value, **options)


_COMPACT: Final = (",", ":")
_FORMS: Final[tuple[_Dump, ...]] = tuple(
    _dump(sort_keys=in_order, ensure_ascii=ascii_only, **form)
    for in_order in (False, True)
    for ascii_only in (True, False)
    for form in ({"separators": _COMPACT}, {}, {"indent": 2}, {"indent": 4}, {"indent": "\t"})
)
"""The ways in which common programs write JSON."""


def bodies(payload: bytes) -> Iterator[tuple[BodyEdit, bytes]]:
    """Yield what `payload` may have been before it was changed, each with the change."""
    if payload.endswith(b"\n"):
        yield BodyEdit.NEWLINE_ADDED, payload.removesuffix(b"\n").removesuffix(b"\r")
    yield BodyEdit.NEWLINE_REMOVED, payload + b"\n"
    yield BodyEdit.NEWLINE_REMOVED, payload + b"\r\n"
    if b"\r\n" in payload:
        yield BodyEdit.LINE_ENDINGS, payload.replace(b"\r\n", b"\n")
    elif b"\n" in payload:
        yield BodyEdit.LINE_ENDINGS, payload.replace(b"\n", b"\r\n")
    if payload.startswith(codecs.BOM_UTF8):
        yield BodyEdit.BOM_ADDED, payload.removeprefix(codecs.BOM_UTF8)
    else:
        yield BodyEdit.BOM_REMOVED, codecs.BOM_UTF8 + payload
    if (stripped := payload.strip()) != payload:
        yield BodyEdit.SPACE_AROUND, stripped
    yield from ((BodyEdit.RESERIALISED, body) for body in _rewritten(payload))
    yield from ((BodyEdit.REENCODED, body) for body in _reencoded(payload))


def _rewritten(payload: bytes) -> Iterator[bytes]:
    try:
        value = json.loads(payload.removeprefix(codecs.BOM_UTF8))
        for form in _FORMS:
            written = form(value)
            # A lone surrogate in a string has no bytes in UTF-8; nobody can have signed it so.
            yield written.encode("utf-8", "replace")
            if "/" in written:
                yield written.replace("/", "\\/").encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return


def _reencoded(payload: bytes) -> Iterator[bytes]:
    if payload.isascii():
        return
    for was, became in (("latin-1", "utf-8"), ("utf-8", "latin-1"), ("utf-8", "utf-16-le")):
        try:
            yield payload.decode(became).encode(was)
        except UnicodeError:
            continue
