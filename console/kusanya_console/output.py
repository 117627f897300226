"""How commands speak: results on standard output, complaints in one line on standard error."""

import logging
import os
import sys
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec
import typer

from kusanya.errors import KusanyaError
from kusanya.privacy import redact
from kusanya.say import Said
from kusanya.text import safe

if TYPE_CHECKING:
    from kusanya.watch import PollResult

DONE, FAILED, USAGE = 0, 1, 2
_log: Final = logging.getLogger("kusanya.command")


class Refused(KusanyaError):  # noqa: N818 - what the command says to its user
    """A command ends without having done what was asked; `code` is its exit code."""

    def __init__(self, message: str, *, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def complain(message: str) -> None:
    """Print one line on standard error, safe to show and without secrets or phones.

    Where the log is JSON it is an event of the log: each line there is read by a program.
    """
    line = redact(safe(" ".join(message.split()), 600))
    if _logs_json():
        _log.error("%s", line)
    else:
        sys.stderr.write(f"kusanya: {line}\n")


def note(message: str) -> None:
    """Print how far a long work has come, on standard error; an event where the log is JSON."""
    if _logs_json():
        _log.info("%s", message)
    else:
        typer.echo(message, err=True)


def _logs_json() -> bool:
    from kusanya.telemetry.logs import configure, writes_json

    if writes_json():
        return True
    if os.environ.get("KUSANYA_LOG") != "json" or sys.stderr.isatty():
        return False
    # Said before the command could set its log up: a mistake in its words.
    configure("json")
    return True


def stop(code: int) -> NoReturn:
    """End the command with an exit code and no further word."""
    raise Refused("", code=code)


def say(line: str = "") -> None:
    """Print one line of a result; the caller has made outside text safe."""
    typer.echo(line)
    sys.stdout.flush()


def say_json(value: object) -> None:
    """Print one JSON document in one line; integers stay integers.

    Characters that a terminal may act on or that nobody can see are written as escapes, which
    leaves the value the same for a parser.
    """
    document = msgspec.json.encode(value, enc_hook=_encode).decode()
    typer.echo("".join(map(_visible, document)))
    sys.stdout.flush()


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if code > 0xFFFF:  # noqa: PLR2004 - beyond it JSON writes two surrogates
        high, low = divmod(code - 0x10000, 0x400)
        return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
    return f"\\u{code:04x}"


def _encode(value: Any) -> Any:
    if isinstance(value, Said):
        return value.english
    raise TypeError(f"no JSON form for {type(value).__name__}")


def say_poll_result(made: "PollResult") -> None:
    """Say what a round learned; a round that learned nothing is silent."""
    if made.became_final or made.resolved or made.resumed:
        say(
            f"{made.became_final} became final, {made.missing_events} of them without an event; "
            f"{made.resolved} intents resolved, {made.resumed} resumed"
        )
    if made.ruled:
        say(f"{made.ruled} payments with contradicting facts were ruled by the service's answers")
    if made.unknown:
        complain(f"the service does not know {made.unknown} collections that the store holds")
    if made.trouble:
        complain(made.trouble)
