"""Which packages a command needs beyond the library, and what installs them.

The bare library holds none of them. A command whose packages are missing says in one line what to
install and exits with 1.
"""

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

FAILED: Final = 1


class Extra(NamedTuple):
    """An extra of the distribution and the modules by which its presence is recognised."""

    name: str
    modules: tuple[str, ...]


_SERVER: Final = ("uvicorn", "httptools")
_TABLES: Final = (
    *("defusedxml", "duckdb", "mt940", "openpyxl", "pandas", "pyarrow", "xlrd"),
    "xlsxwriter",
)
NEEDS: Final = {
    "console": Extra("console", ("textual",)),
    "talk": Extra("console", ("textual",)),
    "demo": Extra("demo", ("aiohttp", "textual", "prometheus_client", "starlette", *_SERVER)),
    "receive": Extra("receiver", ("prometheus_client", *_SERVER)),
    "gateway": Extra("receiver", ("prometheus_client", *_SERVER)),
    "service": Extra("testing", ("starlette", *_SERVER)),
    "reconcile": Extra("reconcile", _TABLES),
    "gap": Extra("reconcile", _TABLES),
    "journals": Extra("reconcile", _TABLES),
    **dict.fromkeys(("breaks list", "breaks note", "breaks resolve"), Extra("reconcile", _TABLES)),
    **dict.fromkeys(("mapping list", "mapping show", "mapping try"), Extra("reconcile", _TABLES)),
    "store export": Extra("reconcile", ("pyarrow", "numpy")),
    "notebooks": Extra(
        "notebooks", ("jupyterlab", "ipywidgets", "itables", "matplotlib", *_TABLES)
    ),
}
"""Commands that need more than the command line itself."""
UNIX_ONLY: Final = frozenset({"demo", "service"})
"""Commands that lock files and stop child processes in ways that Windows does not have."""
COMMAND_LINE: Final = Extra("cli", ("typer",))


def lacks(extra: Extra) -> bool:
    """Return whether a package of `extra` is not installed."""
    return any(find_spec(module) is None for module in extra.modules)


def remedy(command: str, extra: Extra) -> str:
    """Return the line that says what to install."""
    return f"kusanya {command} needs more packages: pip install 'kusanya[{extra.name}]'"


def with_its_packages(command: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return `call`, which refuses with one line where packages of `command` are missing."""
    extra = NEEDS.get(command)
    if extra is None:
        return call

    @wraps(call)
    def run(*arguments: Any, **named: Any) -> Any:
        # Late: this module is read before the command line is known to be there.
        from kusanya_console.output import Refused

        if command in UNIX_ONLY and sys.platform == "win32":
            raise Refused(f"kusanya {command} needs Linux or macOS; on Windows use WSL")
        if lacks(extra):
            raise Refused(remedy(command, extra))
        return call(*arguments, **named)

    return run


def answer_bare(arguments: Sequence[str]) -> int:
    """Answer without the command line: the version, what to install; return the exit code."""
    if "--version" in arguments:
        sys.stdout.write(f"{version_line()}\n")
        return 0
    command = next((word for word in arguments if not word.startswith("-")), None)
    if command is None:
        names = sorted({extra.name for extra in NEEDS.values()})
        sys.stdout.write(
            f"{version_line()}: the library is installed, its commands are not.\n"
            f"pip install 'kusanya[{COMMAND_LINE.name}]' brings most of them; "
            f"more come with the extras {', '.join(names)}.\n"
        )
        return 0
    sys.stderr.write(f"kusanya: {remedy(command, NEEDS.get(command, COMMAND_LINE))}\n")
    return FAILED


def version_line() -> str:
    """Return the name and the version of what is installed."""
    import kusanya

    return f"kusanya {kusanya.__version__}"
