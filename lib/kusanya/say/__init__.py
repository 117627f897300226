"""Every sentence that people read, as its English text with what fills it; words at the edge.

A text of ours is its own key: `Said("{count} prompts wait").of(count=3)` reads "3 prompts wait"
wherever a str does, and still knows key and values, so that whoever shows it renders it by
`in_language` from the one catalogue, `sw.po`. What came from outside is a value and is never looked
up; a value may be said itself, and a whole number is written with its thousands, as 12,500. A field
whose name begins with `our_` holds a text of ours, looked up as it stands. What an f-string or `+`
makes of a text of ours is plain English from then on: `joined` puts texts one behind the other.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, Final, Self

import msgspec

_CATALOGUE: Final = "sw.po"
_OURS: Final = "our_"
_KEPT: Final = "\x1e"
"""Begins a text that the store keeps as key and values: no text that people read has it."""


class Language(StrEnum):
    """The languages that Kusanya speaks."""

    ENGLISH = "en"
    SWAHILI = "sw"


class Said(str):
    """A text of ours in English, which knows its key and what fills it."""

    __slots__ = ("key", "values")
    key: str
    values: Mapping[str, object]

    def __new__(cls, key: str, values: Mapping[str, object] | None = None) -> Self:
        """Return `key` in English, its fields filled with `values` where there are any."""
        self = super().__new__(cls, key.format_map(_written(values)) if values else key)
        self.key, self.values = key, values or {}
        return self

    def of(self, **values: object) -> "Said":
        """Return the text with its fields filled."""
        return Said(self.key, values)

    def __str__(self) -> "Said":
        return self  # the text of an error stays one of ours

    def __getnewargs__(self) -> tuple[str, Mapping[str, object]]:  # type: ignore[override]
        return self.key, self.values

    @property
    def english(self) -> str:
        """Return the English text alone."""
        return str.__str__(self)


def plural(count: int, one: str, many: str, *, shown: str = "", **values: object) -> Said:
    """Return the text for one or, its {count} filled, that for many; `shown` is how it is written.

    0 takes the form of many, as in both languages. `values` fill either.
    """
    return Said(one, values) if count == 1 else Said(many, {"count": shown or count, **values})


def joined(between: str, parts: Iterable[str]) -> Said:
    """Return texts one behind the other, empty ones left out; each is looked up by itself."""
    values = {f"{_OURS}{n}": part for n, part in enumerate(filter(None, parts))}
    return Said(between.join(f"{{{name}}}" for name in values), values)


def dated(at: datetime, form: str) -> Said:
    """Return an instant written by a form of `strftime`, its day and month texts of ours."""
    key = at.strftime(form.replace("%a", "{our_day}").replace("%b", "{our_month}"))
    return Said(key).of(our_day=f"{at:%a}", our_month=f"{at:%b}") if "{" in key else Said(key)


def in_language(text: str, language: Language) -> str:
    """Return a text of ours in a language; what the catalogue does not have stays English."""
    if language is Language.ENGLISH:
        return text.english if isinstance(text, Said) else text
    words = swahili()
    if not isinstance(text, Said):
        return words.get(text, text)
    found = words.get(text.key, text.key)
    if not text.values:
        return found
    values = {name: _value(name, one) for name, one in text.values.items()}
    return found.format_map(_written(values))


def _written(values: Mapping[str, object]) -> dict[str, object]:
    return {n: f"{one:,}" if type(one) is int else one for n, one in values.items()}


def _value(name: str, value: object) -> object:
    is_ours = isinstance(value, Said) or (name.startswith(_OURS) and isinstance(value, str))
    return in_language(str(value), Language.SWAHILI) if is_ours else value


@cache
def swahili() -> dict[str, str]:
    """Return the catalogue: each English text with its Swahili one."""
    from importlib.resources import files  # late: who reads English needs none of it

    texts: list[str] = []
    for line in (files("kusanya.say") / _CATALOGUE).read_text(encoding="utf-8").splitlines():
        word, _, quoted = line.partition('"')
        if word in {"msgid ", "msgstr "}:
            texts.append("")
        if quoted and not line.startswith("#"):
            texts[-1] += msgspec.json.decode(f'"{quoted}', type=str)
    return dict(zip(texts[2::2], texts[3::2], strict=True))  # the first entry is of the file


def keep(text: str) -> str:
    """Return a text as the store keeps it, key and values of one of ours in it; see `kept`."""
    said = Said("{text}").of(text=text) if text.startswith(_KEPT) else text
    if not isinstance(said, Said):
        return said
    return f"{_KEPT}{_json(said)}" if said.values else said.english


def kept(text: str) -> str:
    """Return a text that the store kept, as it was said; a plain one as it is."""
    return _read(msgspec.json.decode(text[1:])) if text.startswith(_KEPT) else text


def in_values(text: str, change: Callable[[str], str]) -> str:
    """Return a text that the store keeps, changed: the values of one of ours, or all of another."""
    return keep(_changed(kept(text), change)) if text.startswith(_KEPT) else change(text)


def _changed(text: str, change: Callable[[str], str]) -> str:
    if not isinstance(text, Said):
        return change(text)
    return Said(text.key, {n: _changed(str(one), change) for n, one in text.values.items()})


def _json(value: object) -> str:
    return msgspec.json.encode(value, enc_hook=_parts).decode()


def _parts(value: object) -> Any:
    if isinstance(value, Said):
        values = {
            name: one if isinstance(one, Said) else f"{one}".encode(errors="replace").decode()
            for name, one in _written(value.values).items()
        }
        return [value.key, values]
    raise TypeError(f"no text: {value!r}")


def _read(parts: Any) -> Said:
    key, values = parts
    read = {n: _read(one) if isinstance(one, list) else one for n, one in values.items()}
    return Said(key, read)
