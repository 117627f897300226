"""The table "Change one thing" of this folder's README: every path and every name in it exists."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kusanya_console.commands import COMMANDS

ROOT = Path(__file__).parents[1]
ROOTS = (ROOT, ROOT / "lib", ROOT / "console")
ENDINGS = (".py", ".sql", ".toml", ".po", ".md", ".ipynb")
PLACEHOLDER = re.compile(r"NAME|NN_name|NNNN|LEG|…|\*")
"""What stands for any name."""


def rows() -> dict[str, str]:
    """Return each row by what it adds."""
    page = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    lines = page.partition("## Change one thing")[2].splitlines()
    found = [line for line in lines if line.startswith("| ")][1:]
    return {line.split("|")[1].strip(): line for line in found}


ROWS = rows()


def quoted(row: str) -> list[str]:
    """Return what a row quotes, but for commands, which have a test of their own."""
    found = re.findall(r"`([^`]+)`", row)
    return [text for text in found if not text.startswith(("kusanya ", "uv run "))]


def is_path(text: str) -> bool:
    """Return whether a quoted text is a path, and no name in a file."""
    return "/" in text or text.endswith(ENDINGS) or text.startswith("test_")


def paths(text: str, row: str) -> list[Path]:
    """Return the files and folders that a quoted path names; a bare name lies in one of its row."""
    pattern = PLACEHOLDER.sub("*", text)
    found = [path for root in ROOTS for path in root.glob(pattern)]
    if Path(text).name.startswith("test_"):
        found += ROOT.glob(f"tests/**/{pattern}")
    elif "/" not in text:
        folders = {path if path.is_dir() else path.parent for path in named_in_full(row)}
        found += [path for folder in folders for path in folder.glob(pattern)]
    return found


def named_in_full(row: str) -> list[Path]:
    """Return the files and folders that a row names by their whole path."""
    return [
        path for text in quoted(row) if "/" in text for root in ROOTS
        for path in root.glob(PLACEHOLDER.sub("*", text))
    ]  # fmt: skip


def words_of(row: str) -> str:
    """Return the text of every module that a row names."""
    files = {
        file
        for path in named_in_full(row)
        for file in (path.glob("*.py") if path.is_dir() else [path])
    }
    return "\n".join(file.read_text(encoding="utf-8") for file in sorted(files))


def test_the_table_is_read_whole() -> None:
    assert {"a failure code", "an alarm", "a screen of the console", "a notebook"} <= ROWS.keys()
    assert all(quoted(row) for row in ROWS.values())


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_every_path_of_a_row_exists(row: str) -> None:
    assert [text for text in quoted(row) if is_path(text) and not paths(text, row)] == []


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_every_name_of_a_row_stands_in_a_file_that_it_names(row: str) -> None:
    names = [text.removesuffix("(…)") for text in quoted(row) if not is_path(text)]
    said = words_of(row) if names else ""
    assert [one for one in names if not re.search(rf"\b{re.escape(one)}\b", said)] == []


def test_the_command_of_the_row_of_a_key_prints_every_key_that_is_taken() -> None:
    (command,) = re.findall(r"`uv run python ([^`]+)`", ROWS["a key or an action of the console"])
    printed = subprocess.run(
        [sys.executable, *shlex.split(command)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    keys = {key for one in COMMANDS for key in one.keys}
    assert set(printed.stdout.split()) == keys
    assert {"c", "slash", "1", "D", "R"} <= keys
