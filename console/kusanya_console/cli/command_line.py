"""The command line: one module for each group of commands, each importing late what it needs.

Exit codes: 0 done, 1 refused or failed (also where a command's packages are not installed), 2 wrong
usage, 130 stopped by Ctrl-C. An error is one line on standard error: never a traceback, never a
secret or a full phone number.
"""

import os
import signal
import sys
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from kusanya.errors import KusanyaError
from kusanya.privacy import quiet_logs
from kusanya.privacy.secret_url import mask_url
from kusanya.text import safe
from kusanya_console.cli import (
    create,
    deliveries,
    deploy,
    doctor,
    forward,
    gateway,
    handover,
    health,
    init,
    outcomes,
    receive,
    rule,
    tail,
    watch,
)
from kusanya_console.cli.console import command as console
from kusanya_console.cli.extras import version_line, with_its_packages
from kusanya_console.cli.finance import breaks, gap, journals, mapping, notebooks, reconcile
from kusanya_console.cli.lookup import command as lookup
from kusanya_console.cli.plain_values import taking_plain_values
from kusanya_console.cli.process.log_option import start_log
from kusanya_console.cli.store import command as store
from kusanya_console.cli.talk import command as talk
from kusanya_console.output import DONE, FAILED, USAGE, Refused, complain, say
from kusanya_console.sandbox.commands import dashboard, demo, service

app = typer.Typer(
    name="kusanya",
    help="Collect mobile money safely: service, receiver, console, look-ups and reconciliation.",
    epilog="Begin with: kusanya demo",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for room in (
    demo,
    init,
    doctor,
    console,
    talk,
    lookup,
    create,
    rule,
    watch,
    health,
    handover,
    tail,
    deliveries,
    outcomes,
    forward,
    gateway,
    receive,
    service,
    dashboard,
    store,
    deploy,
    reconcile,
    gap,
    journals,
    breaks,
    mapping,
    notebooks,
):
    room.add_to(app)


_EVERYWHERE: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Settings that every command and group below inherits."""
_INTERRUPTED = 128 + signal.SIGINT


def main() -> NoReturn:
    """Run the command line and exit with 0, 1 or 2."""
    quiet_logs()
    sys.exit(_run())


@cache  # building all of them takes 20 ms, and gives the same at every call
def command_line() -> Any:
    """Return every command, ready to be called with arguments."""
    line = taking_plain_values(typer.main.get_command(app))
    for name, command in line.commands.items():
        _prepare(name, command)
    return line


def _prepare(name: str, command: Any) -> None:
    """Let a command refuse where its packages are missing."""
    # In a list of commands: the whole first sentence, which would be cut after 45 characters.
    command.short_help = " ".join((command.help or "").split()).partition(". ")[0].rstrip(".")
    for word, under in getattr(command, "commands", {}).items():
        _prepare(f"{name} {word}", under)
    if command.callback is not None:
        command.callback = with_its_packages(name, command.callback)


def _print_version(asked: bool) -> None:  # noqa: FBT001 - called by the command line
    if asked:
        say(version_line())
        raise typer.Exit


@app.callback(context_settings=_EVERYWHERE)
def _options_of_all(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001 - its callback acts
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version and exit."
        ),
    ] = False,
    log: Annotated[
        str | None,
        typer.Option(
            "--log",
            metavar="text|json|off",
            help="Write what happens to standard error; KUSANYA_LOG otherwise. "
            "By default text for receive, watch and service, without a line for each "
            "delivery that was taken and each question that was asked.",
        ),
    ] = None,
) -> None:
    start_log(context.invoked_subcommand or "", log)


def _run() -> int:
    try:
        result = command_line()(prog_name="kusanya", standalone_mode=False)
    except BrokenPipeError:
        # The reader of our output has gone; say nothing more to a closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        complain("stopped")
        return _INTERRUPTED
    except Exception as error:
        from kusanya_console.ui.language import translate

        if type(error).__name__ == "NoArgsIsHelpError":
            # A group without a command: its help is what was asked for, not a mistake.
            say(str(getattr(error, "message", "")))
            return DONE
        if os.environ.get("KUSANYA_DEBUG"):
            raise
        code, message = _judge(error)
        if message:
            complain(translate(message))
        return code
    if result == _INTERRUPTED:
        # The command line swallows Ctrl-C and returns its code.
        complain("stopped")
    return result if isinstance(result, int) else DONE


def _judge(error: Exception) -> tuple[int, str]:
    """Return the exit code and the one line for whatever a command raised."""
    if isinstance(error, Refused):
        return error.code, str(error)
    if isinstance(error, KusanyaError):
        return FAILED, str(error) or (type(error).__doc__ or "").partition("\n")[0]
    if isinstance(error, typer.Abort):
        return FAILED, "stopped"
    if isinstance(error, typer.TyperException):
        # The command line's own complaints: an unknown command, a missing or unfit option.
        message = getattr(error, "format_message", error.__str__)()
        if getattr(error, "option_name", "") == "--log":
            message = "--log stands before the command, as in: kusanya --log json receive"
        where = getattr(getattr(error, "ctx", None), "command_path", "kusanya")
        hint = f"{message} ({where} -h shows what there is)" if message else ""
        return getattr(error, "exit_code", USAGE), hint
    return _judge_what_nobody_expected(error)


def _judge_what_nobody_expected(error: Exception) -> tuple[int, str]:
    if isinstance(error, OSError) and error.filename is not None:
        return FAILED, f"cannot use {safe(mask_url(str(error.filename)), 200)}: {error.strerror}"
    if isinstance(error, UnicodeEncodeError) and "surrogates" in error.reason:
        return USAGE, "a name or a value of the command line is not UTF-8: write it in UTF-8"
    # The last line: a bug is reported in one line, with its place and never with its locals.
    return FAILED, f"unexpected {type(error).__name__} {_where(error)}: {error}"


def _where(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "somewhere"
    code = trace.tb_frame.f_code
    return f"in {Path(code.co_filename).name}:{trace.tb_lineno}"
