"""Where notifications of alarms go: addresses and a program of one's own."""

import shlex
import subprocess
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from kusanya.alarms import notify
from kusanya.alarms.notices.messages import AlarmMessage
from kusanya.errors import ConfigurationError, NotificationError

_PROGRAM_S: Final = 30.0
"""Longer is not waited for a program."""


class NoticeTarget(msgspec.Struct, frozen=True):
    """One place that messages go to; `send` raises NotificationError."""

    name: str
    """As far as it may be shown, and the same at the next start."""
    send: Callable[[AlarmMessage], None]


def targets(urls: Sequence[str], programs: Sequence[str]) -> tuple[NoticeTarget, ...]:
    """Return the targets of addresses and of command lines, which no shell reads.

    A program gets a message's data as JSON on its standard input, and has taken it when it ends
    with 0 within 30 s. Raises ConfigurationError for an address or a command that cannot be used.
    """
    notify.check(urls)
    shown = [
        f"address {place} ({notify.shown(url)})" if len(urls) > 1 else notify.shown(url)
        for place, url in enumerate(urls, start=1)
    ]
    return (
        *(NoticeTarget(name, _to(url)) for name, url in zip(shown, urls, strict=True)),
        *(_program(line) for line in programs),
    )


def _to(url: str) -> Callable[[AlarmMessage], None]:
    def send(message: AlarmMessage) -> None:
        for failure in notify.send([url], message.title, message.body, data=message.data):
            raise NotificationError(failure.reason)

    return send


def _program(command: str) -> NoticeTarget:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigurationError(f"the program cannot be read: {error}") from None
    if not words:
        raise ConfigurationError("the program is empty")

    def send(message: AlarmMessage) -> None:
        try:
            ended = subprocess.run(  # noqa: S603 - the program of whoever runs Kusanya, without a shell
                words,
                input=msgspec.json.encode(message.data),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_PROGRAM_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NotificationError(f"it did not end within {_PROGRAM_S:.0f} s") from None
        except OSError as error:
            raise NotificationError(f"it cannot be started: {error.strerror}") from None
        if ended.returncode:
            raise NotificationError(f"it ended with {ended.returncode}")

    # Its arguments may hold a secret.
    return NoticeTarget(f"program {words[0]}", send)
