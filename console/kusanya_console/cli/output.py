"""How commands speak: results on standard output, complaints in one line on standard error."""

import sys
from typing import Any, NoReturn

import msgspec
import typer

from kusanya.errors import KusanyaError
from kusanya.privacy import redact
from kusanya.text import safe

DONE, FAILED, USAGE = 0, 1, 2


class Refused(KusanyaError):  # noqa: N818 - what the command says to its user
    """A command ends without having done what was asked; `code` is its exit code."""

    def __init__(self, message: str, *, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def complain(message: str) -> None:
    """Print one line on standard error, safe to show and without secrets or phones."""
    line = redact(safe(" ".join(message.split()), 600))
    sys.stderr.write(f"kusanya: {line}\n")


def stop(code: int) -> NoReturn:
    """End the command with an exit code and no further word."""
    raise Refused("", code=code)


def say(line: str = "") -> None:
    """Print one line of a result; the caller has made outside text safe."""
    typer.echo(line)
    sys.stdout.flush()


def say_json(value: object) -> None:
    """Print one JSON document in one line; integers stay integers."""
    typer.echo(msgspec.json.encode(value, enc_hook=_encode).decode())
    sys.stdout.flush()


def _encode(value: Any) -> Any:
    raise TypeError(f"no JSON form for {type(value).__name__}")
