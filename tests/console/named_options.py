"""The commands and their options; of those that a complaint names each must be one of them."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from kusanya_console.cli.command_line import command_line

_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
_COMMAND = re.compile(r"kusanya((?: [a-z][a-z-]*)+)")


def unknown_options(arguments: Sequence[str], complaint: str) -> list[str]:
    """Return the options that a complaint names and nobody could give: not as they were given."""
    named = dict.fromkeys(_OPTION.findall(complaint))
    known = set(_options(arguments))
    for words in _COMMAND.findall(complaint):
        known.update(_options(words.split()))
    given = {one.partition("=")[0] for one in arguments}
    return [one for one in named if one not in known | given]


def leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield each command with its words, groups left out."""
    if hasattr(command, "commands"):
        for word, under in command.commands.items():
            yield from leaves(under, (*words, word))
    else:
        yield " ".join(words), command


def _options(words: Sequence[str]) -> Iterator[str]:
    """Yield the options of a command and of the groups above it."""
    here: Any = command_line()
    yield from _of(here)
    for word in words:
        here = getattr(here, "commands", {}).get(word)
        if here is None:
            return
        yield from _of(here)


def _of(command: Any) -> Iterator[str]:
    yield "--help"
    for param in command.params:
        yield from (*param.opts, *param.secondary_opts)
