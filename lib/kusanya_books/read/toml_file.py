"""A TOML file that a person wrote, as one of our types; what is wrong with it in their words."""

import re
import tomllib
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from kusanya.errors import InputRefused

Kind = TypeVar("Kind")
_WORDS: Final = {
    "array": 'a list, as ["a", "b"]',
    "bool": "true or false",
    "date": "a day as 2026-03-31",
    "float": "a number",
    "int": "a whole number",
    "object": "a table of its own",
    "str": 'a text, as "a"',
}
_AT: Final = " - at `$"
_PLACE: Final = re.compile(r"\[(\d{1,9})\]")
_EXPECTED: Final = re.compile(r"Expected `(?P<wanted>[^`]*)`(?:, got `[^`]*`)?(?P<more>.*)")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(?P<name>[^`]*)`")
_MISSING: Final = re.compile(r"Object missing required field `(?P<name>[^`]*)`")


def read_toml(path: Path) -> dict[str, object]:
    """Return what a TOML file says. Raises InputRefused when it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputRefused(f"{path.name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputRefused(f"{path.name} is no text in UTF-8: save it as such") from None
    except RecursionError:
        raise InputRefused(f"{path.name} is nested too deep to be read") from None
    except tomllib.TOMLDecodeError as error:
        raise InputRefused(f"{path.name} is not TOML: {error}") from None


def fitted(said: dict[str, object], kind: type[Kind], name: str) -> Kind:
    """Return what a table of TOML says as a `kind`; `name` is what the file is to its reader.

    Raises InputRefused, with the place in the file and what is to stand there.
    """
    try:
        return msgspec.convert(said, kind)
    except msgspec.ValidationError as error:
        raise InputRefused(f"{name} cannot be used: {_in_words(str(error))}") from None


def _in_words(said: str) -> str:
    what, at, where = said.rpartition(_AT)
    if not at:
        what, where = said, ""
    where = where.removesuffix("`").removeprefix(".").replace("[...]", "")
    where = _PLACE.sub(lambda place: f" {int(place[1]) + 1}", where)
    for form, words in ((_UNKNOWN, "there is no {name} there"), (_MISSING, "{name} is missing")):
        if known := form.fullmatch(what):
            what = words.format(name=known["name"])
    if expected := _EXPECTED.fullmatch(what):
        wanted = [one.strip() for one in expected["wanted"].split("|")]
        what = " or ".join(_WORDS.get(one, one) for one in wanted if one != "null")
        what = f"it is {what}{expected['more']}"
    return f"[{where}] {what}" if where else what
