"""Many look-ups from standard input: what is read of it, and one answer for each line, in order."""

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from itertools import chain
from typing import Any, Final, TextIO

import msgspec

from kusanya.confirmations import read
from kusanya.privacy import mask_text
from kusanya.text import safe
from kusanya_console.output import DONE, FAILED, USAGE, Refused, say, say_json
from kusanya_console.ui.language import translate

_MESSAGES_MAX: Final = 100_000
"""Characters that are read of a message; none has as many."""
_ASKED_MAX: Final = 200
"""Characters of a line as an answer repeats it."""


class ExitCode(IntEnum):
    """How one look-up ends, and with it the command."""

    DONE = DONE
    NOT_FOUND = FAILED
    CONTRADICTION = 3


_WORST_FIRST: Final = (ExitCode.NOT_FOUND, ExitCode.CONTRADICTION, ExitCode.DONE)


class LookupReport(msgspec.Struct, frozen=True):
    """What one look-up says: as lines for people, as a document for programs."""

    lines: Sequence[str]
    document: dict[str, Any]
    exit_code: ExitCode
    why: str = ""
    """Why nothing was found."""


def read_texts(stream: TextIO, *, messages: bool = True) -> Iterator[str]:
    """Yield each line of a stream that says something, or the one message that it holds whole.

    A message may have many lines. With `messages` False each line stands for itself.
    """
    head = stream.read(_MESSAGES_MAX)
    if messages and len(head) < _MESSAGES_MAX and _is_one_message(head):
        yield head.strip()
        return
    # What is cut at the end of the first piece goes on in the next.
    head += stream.readline(_MESSAGES_MAX) if len(head) == _MESSAGES_MAX else ""
    for line in chain(head.splitlines(), stream):
        if line.strip():
            yield line.strip()


def _is_one_message(text: str) -> bool:
    """Tell a message of many lines from a list in which messages may stand, a line each."""
    whole = read(text)
    if not whole.is_message:
        return False
    lines = [line.split() for line in text.splitlines()]
    names = [words for words in lines if len(words) == 1 and any(map(str.isdigit, words[0]))]
    in_lines = sum(len(read(" ".join(words)).confirmations) for words in lines)
    return not names or in_lines < len(whole.confirmations)


def answer_all(
    texts: Iterator[str], ask: Callable[[str], LookupReport], *, as_json: bool
) -> ExitCode:
    """LookupReport each text in turn and return how the command ends: well only if all were found.

    A text alone is answered as if it had been given on the command line. Of several each is
    answered even where one is no id. Raises Refused where there is none, and what `ask` does.
    """
    first, second = next(texts, None), next(texts, None)
    if first is None:
        raise Refused("nothing to look up: standard input is empty", code=USAGE)
    if second is None:
        return _answer_one(ask(first), as_json=as_json)
    ends = set()
    for number, text in enumerate(chain((first, second), texts), 1):
        try:
            found = ask(text)
        except Refused as error:
            why = str(error) if as_json else translate(str(error))
            found = LookupReport((), {}, ExitCode.NOT_FOUND, why)
        asked = safe(mask_text(text), _ASKED_MAX)
        if as_json:
            said = {"trouble": found.why} if found.why else {}
            say_json({"line": number, "asked": asked} | found.document | said)
        else:
            say(f"{asked}:")
            for line in (*found.lines, *((found.why,) if found.why else ())):
                say(f"  {line}")
        ends.add(found.exit_code)
    return next(end for end in _WORST_FIRST if end in ends)


def _answer_one(found: LookupReport, *, as_json: bool) -> ExitCode:
    if as_json and found.document:
        say_json(found.document)
    elif not as_json:
        for line in found.lines:
            say(line)
    if found.why:
        raise Refused(found.why)
    return found.exit_code
