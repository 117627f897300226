"""`--log` and KUSANYA_LOG: what a command writes about its work, on standard error."""

import os
import sys
from typing import Final

from kusanya_console.output import USAGE, Refused

LONG_RUNNING: Final = frozenset({"receive", "service", "watch"})
"""Commands that run for days and say what they do unless asked not to."""
_DRAW: Final = frozenset({"console", "demo"})
"""Commands that own the terminal they run in."""
_BUSY: Final = ("kusanya.receiver.accepted", "kusanya.intents.polling.asked")
"""Loggers of what comes by the thousand."""
_KINDS: Final = ("text", "json", "off")


def start_log(command: str, asked: str | None) -> None:
    """Set up the log that `command` writes; raises Refused for a format that there is not."""
    chosen = asked or os.environ.get("KUSANYA_LOG")
    kind = chosen or ("text" if command in LONG_RUNNING else "off")
    if kind not in _KINDS:
        named = "--log" if asked else "KUSANYA_LOG"
        raise Refused(f"{named} is text, json or off", code=USAGE)
    if kind != "off" and command in _DRAW and sys.stderr.isatty():
        if asked:
            raise Refused(
                f"a log would draw over the screen of kusanya {command}: "
                "send it elsewhere, as in 2>kusanya.log",
                code=USAGE,
            )
        return
    if kind == "off":
        return  # nothing is set up, and nothing loaded for it
    import logging

    from kusanya.telemetry.logs import configure, configure_other_libraries

    configure(kind)
    if kind == "json":
        configure_other_libraries()
    # A line for each delivery slows a busy receiver down: only where somebody asked for a log.
    for name in _BUSY:
        logging.getLogger(name).setLevel(logging.NOTSET if chosen else logging.WARNING)
