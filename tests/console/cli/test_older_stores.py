"""A store of an older version is migrated by one command, or by another that is told to."""

import io
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from kusanya.platform.sqlite import sqlite_driver
from kusanya.store.maintenance import migrations
from kusanya.store.tables.engine import engines
from kusanya.store.tables.sqlite_file import create_file

ActionResult = tuple[int, str, str]
FIRST = migrations.REVISIONS[0]


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """Return a store as the first version left it."""
    path = tmp_path / "store.sqlite"
    create_file(path)
    found = engines(str(path))
    with found.writing() as connection, connection.begin():
        migrations.upgrade(connection, to=FIRST)
    found.dispose()
    return path


def revision(path: Path) -> str:
    with closing(sqlite_driver().connect(str(path))) as connection:
        found: str = connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]
        return found


@pytest.mark.parametrize(
    "command",
    [
        ["collect", "5000", "0754000001", "INV-1"],
        ["intents"],
        ["intents", "resume"],
        ["catch-up"],
        ["watch"],
        ["receive", "--port=0", "--mode=test"],
        ["find", "INV-1"],
        ["store", "check"],
        ["store", "rebuild"],
        ["store", "backup", "copy.sqlite"],
        ["store", "copy", "--as-of=2026-01-01 00:00", "copy.sqlite"],
        ["store", "forget-bodies", "--before=2026-01-01"],
    ],
    ids=" ".join,
)
def test_no_other_command_migrates_and_each_says_which_one_does(
    kusanya: Callable[..., ActionResult],
    older: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
) -> None:
    monkeypatch.setenv("KUSANYA_SECRETS", "shop=whsec_canary")
    monkeypatch.setenv("KUSANYA_API_KEY", "sk_test_canary")
    monkeypatch.setenv("KUSANYA_BASE_URL", "http://127.0.0.1:1")
    code, _, err = kusanya(*command, f"--store={older}")
    assert (code, err.count("\n")) == (1, 1)
    assert f"it has revision {FIRST} and this version needs {migrations.REVISIONS[-1]}" in err
    assert "run kusanya store migrate" in err
    assert revision(older) == FIRST


@pytest.mark.parametrize(
    "command",
    [
        ["collect", "5000", "0754000001", "INV-1"], ["health"], ["audit"], ["handover"],
        ["store", "mark-backed-up", "--backup=x"], ["store", "expect-backups", "--any-age"],
        ["store", "purge", "--bodies-after=30d"], ["store", "erase", "--phone=0754000001"],
        ["talk", "--no-input"], ["console", "--web"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_the_others_leave_it_as_it_is(
    kusanya: Callable[..., ActionResult], older: Path, command: list[str]
) -> None:
    assert kusanya(*command, f"--store={older}")[0] != 0
    assert revision(older) == FIRST


@pytest.mark.parametrize(
    "command",
    [
        # Each ends for a reason of its own, after the store was opened.
        ["receive", "--port=0", "--mode=test", "--host=256.1.1.1"],
        ["watch"],
        ["catch-up"],
        ["talk", "--clock=real"],
        ["console", "--web", "--port=99999"],
    ],
    ids=" ".join,
)
def test_a_command_that_is_asked_to_migrates_first(
    kusanya: Callable[..., ActionResult],
    older: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
) -> None:
    monkeypatch.setenv("KUSANYA_SECRETS", "shop=whsec_canary")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    refused = kusanya(*command, f"--store={older}")[2]
    assert f"revision {FIRST}" in refused or command[0] == "console"
    kusanya(*command, "--migrate", f"--store={older}")
    assert revision(older) == migrations.REVISIONS[-1]


def test_being_asked_to_migrate_forgives_no_lost_file(
    kusanya: Callable[..., ActionResult], older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUSANYA_SECRETS", "shop=whsec_canary")
    assert kusanya("store", "migrate", f"--store={older}")[0] == 0
    older.unlink()
    words = ("receive", "--port=0", "--mode=test", "--migrate", f"--store={older}")
    code, _, err = kusanya(*words)
    assert code == 1
    assert "run kusanya store migrate" in err, "a person has to say that it is gone for good"
    assert not older.exists()


def test_the_one_command_migrates(kusanya: Callable[..., ActionResult], older: Path) -> None:
    code, _, _ = kusanya("store", "migrate", f"--store={older}")
    assert (code, revision(older)) == (0, migrations.REVISIONS[-1])
    assert kusanya("store", "check", f"--store={older}")[0] == 0


@pytest.mark.parametrize("command", [["store", "check"], ["store", "rebuild"], ["find", "x"]])
def test_care_and_look_ups_never_begin_a_store(
    kusanya: Callable[..., ActionResult], tmp_path: Path, command: list[str]
) -> None:
    path = tmp_path / "none.sqlite"
    code, _, err = kusanya(*command, f"--store={path}")
    begin = "check the path; kusanya store migrate begins one"
    assert (code, err) == (1, f"kusanya: there is no store at {path}: {begin}\n")
    assert not path.exists()
