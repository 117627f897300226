"""The front of the command: version, help, completion, hints, and what to install."""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer

from kusanya_console.cli import extras
from kusanya_console.cli.command_line import command_line

ActionResult = tuple[int, str, str]
PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"


def words(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command and group, the bare `kusanya` first."""
    yield path
    for name, under in getattr(command, "commands", {}).items():
        yield from words(under, (*path, name))


EVERY = sorted(words(command_line()))
GROUPS = [path for path in EVERY if any(one[:-1] == path for one in EVERY if one)]
ACTING_BARE = {("intents",)}
"""Groups that do something of their own without a command."""


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_help_is_there_by_its_short_name(
    kusanya: Callable[..., ActionResult], path: tuple[str, ...]
) -> None:
    code, out, err = kusanya(*path, "-h")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: {' '.join(('kusanya', *path))}")


@pytest.mark.parametrize("path", [path for path in GROUPS if path not in ACTING_BARE], ids=" ".join)
def test_a_group_without_a_command_shows_its_help(
    kusanya: Callable[..., ActionResult], path: tuple[str, ...]
) -> None:
    bare = kusanya(*path)
    assert bare[0] == 0
    assert bare == kusanya(*path, "--help")


@pytest.mark.parametrize("path", GROUPS, ids=" ".join)
def test_no_summary_in_a_list_of_commands_is_cut(
    kusanya: Callable[..., ActionResult], path: tuple[str, ...]
) -> None:
    assert "..." not in kusanya(*path, "--help")[1].partition("Commands:")[2]


@pytest.mark.parametrize("arguments", [("--version",), ("--version", "find")])
def test_the_version_is_printed(
    kusanya: Callable[..., ActionResult], arguments: tuple[str, ...]
) -> None:
    assert kusanya(*arguments) == (0, f"kusanya {version('kusanya')}\n", "")


@pytest.mark.parametrize("module", ["kusanya_console", "kusanya_console.cli"])
def test_the_package_runs_as_a_module(module: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", module, "--version"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert ended.stdout == f"kusanya {version('kusanya')}\n"


@pytest.mark.parametrize(
    ("arguments", "help_named"),
    [
        (("colect",), "kusanya -h"),
        (("--colour",), "kusanya -h"),
        (("keys", "lits"), "kusanya keys -h"),
        (("keys", "list", "--colour"), "kusanya keys list -h"),
        (("find",), "kusanya find -h"),
        (("service", "--port=web", "--data=x"), "kusanya service -h"),
    ],
)
def test_a_complaint_names_the_help_of_the_command_it_is_about(
    kusanya: Callable[..., ActionResult], arguments: tuple[str, ...], help_named: str
) -> None:
    code, _, err = kusanya(*arguments)
    assert code == 2
    assert f"({help_named} shows" in err


def test_a_shell_completes_commands_and_their_subcommands(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash here")
    program = tmp_path / "kusanya"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kusanya_console "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(kusanya --show-completion bash)"\n'
        "COMP_WORDS=(kusanya rec); COMP_CWORD=1\n"
        '_kusanya_completion kusanya; echo "${COMPREPLY[@]}"\n'
        "COMP_WORDS=(kusanya store mig); COMP_CWORD=2\n"
        '_kusanya_completion kusanya; echo "${COMPREPLY[@]}"\n'
    )
    ended = subprocess.run(
        [bash, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert ended.stdout.split() == ["receive", "reconcile", "migrate"]


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that makes packages look as if they were not installed."""

    def hide(*modules: str) -> None:
        monkeypatch.setattr(
            extras, "find_spec", lambda name: None if name in modules else find_spec(name)
        )

    return hide


ARGUMENTS = {
    "breaks note": ("3f2a9c", "asked the shop"),
    "breaks resolve": ("3f2a9c", "--as", "explained", "--reason", "a typing error"),
    "receive": ("--port=0",),
    "service": ("--port=0", "--data=none"),
    "reconcile": ("--from=2026-03-01", "--to=2026-03-31", "--out=none"),
    "store export": ("none",),
    "gap": ("1",),
    "mapping show": ("mpesa",),
    "mapping try": ("books.csv",),
    "journals": ("--pack=.", "--accounts=none", "--format=odoo", "--out=none"),
}
"""What a command must be given."""


@pytest.mark.parametrize("command", extras.NEEDS)
def test_a_command_without_its_packages_says_what_to_install(
    kusanya: Callable[..., ActionResult], without: Callable[..., None], command: str
) -> None:
    extra = extras.NEEDS[command]
    without(extra.modules[-1])
    code, out, err = kusanya(*command.split(), *ARGUMENTS.get(command, ()))
    assert (code, out) == (1, "")
    assert err == (
        f"kusanya: kusanya {command} needs more packages: pip install 'kusanya[{extra.name}]'\n"
    )


@pytest.mark.parametrize("command", [" ".join(path) for path in EVERY if path])
def test_without_the_command_line_each_command_says_what_to_install(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert extras.answer_bare([*command.split(), "--json"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(
        f"kusanya: kusanya {command.partition(' ')[0]} needs more packages: pip "
    )
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_without_the_command_line_the_bare_command_says_what_is_there(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert extras.answer_bare(arguments) == 0
    assert "pip install 'kusanya[cli]'" in capsys.readouterr().out


def test_every_named_extra_exists_and_every_named_command_too() -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    named = {extra.name for extra in extras.NEEDS.values()} | {extras.COMMAND_LINE.name}
    assert named <= set(project["optional-dependencies"])
    assert {tuple(command.split()) for command in extras.NEEDS} <= set(EVERY)


def test_the_command_line_is_a_typer_group() -> None:
    # `words` walks it by this shape; another one would make the tests above pass with nothing.
    assert isinstance(command_line(), typer.core.TyperGroup)
    assert len(EVERY) > 30
