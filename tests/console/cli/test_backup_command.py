"""`kusanya store backup`, `mark-backed-up`, `expect-backups`: what they say, and the alarm."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from kusanya.clock import ManualClock
from kusanya.store import Store

Kusanya = Callable[..., tuple[int, str, str]]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return the path of a store with nothing in it."""
    with Store.open(tmp_path / "store.db"):
        pass
    return str(tmp_path / "store.db")


def test_an_old_backup_is_an_alarm_until_a_new_one_is_made(
    kusanya: Kusanya, path: str, tmp_path: Path
) -> None:
    assert kusanya("health", "--store", path)[0] == 0, "none was ever made"
    long_ago = (datetime.now(UTC) - timedelta(hours=37)).isoformat()
    code, out, _ = kusanya(
        "store", "mark-backed-up", "--backup", "pg_dump", "--at", long_ago, "--store", path
    )
    assert (code, "remembers a backup of" in out) == (0, True)
    code, out, _ = kusanya("health", "--store", path)
    assert code == 1
    assert "backup: the newest that was verified, pg_dump, is of" in out
    [alarm] = json.loads(kusanya("health", "--json", "--store", path)[1])["alarms"]
    assert alarm["runbook"].endswith("#alarm-backup-old")
    code, out, _ = kusanya("store", "backup", str(tmp_path / "copy.sqlite"), "--store", path)
    assert (code, "sha256 " in out) == (0, True)
    assert kusanya("health", "--store", path)[0] == 0


def test_a_store_that_expects_backups_says_when_none_comes(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    clock = ManualClock(datetime.now(UTC) - timedelta(hours=30))
    with Store.open(tmp_path / "store.db", clock=clock) as store:
        store.backups.expect(timedelta(hours=24), actor="asha")
    given = ("--store", str(tmp_path / "store.db"))
    code, out, _ = kusanya("health", *given)
    assert (code, "none was made since backups were asked for" in out) == (1, True)
    assert kusanya("store", "expect-backups", "--within", "8d", *given)[0] == 0
    assert kusanya("health", *given)[0] == 0
    code, out, _ = kusanya("store", "expect-backups", "--any-age", "--json", *given)
    assert (code, json.loads(out)["within"]) == (0, None)


def test_a_copy_with_findings_is_reported_and_removes_no_older_one(
    kusanya: Kusanya, path: str, tmp_path: Path, seed: Any
) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    old = folder / "kusanya-20260301T023000Z.sqlite"
    old.touch()
    with Store.open(path) as store, store._engines.writing() as connection, connection.begin():
        connection.execute(text("UPDATE feed_head SET seq = seq + 1"))
    code, out, err = kusanya("store", "backup", "--keep", "1", str(folder), "--store", path)
    assert code == 1
    assert "saved " in out
    assert "it counts as no backup" in err
    assert old.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("expect-backups",), "say either --within 36h or --any-age"),
        (("expect-backups", "--within", "soon"), "--within is a time as 36h or 8d, not soon"),
        (("expect-backups", "--within", "8d", "--any-age"), "say either"),
        (("mark-backed-up", "--backup", " "), "--backup is empty"),
        (("mark-backed-up", "--backup", "x", "--sha256", "12"), "64 hexadecimal digits"),
        (("mark-backed-up", "--backup", "x", "--at", "3026-01-01T00:00Z"), "yet to come"),
    ],
)
def test_wrong_usage_is_reported(
    kusanya: Kusanya, path: str, words: tuple[str, ...], said: str
) -> None:
    code, out, err = kusanya("store", *words, "--store", path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_of_nightly_backups_the_newest_are_kept(kusanya: Kusanya, tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db"):
        pass
    folder = tmp_path / "backups"
    folder.mkdir()
    names = [f"kusanya-2026030{day}T023000Z.sqlite" for day in range(1, 6)]
    for name in [*names, "kusanya-before-the-move.sqlite"]:
        (folder / name).touch()
    code, _, err = kusanya(
        "store", "backup", "--keep", "3", str(folder), "--store", str(tmp_path / "store.db")
    )
    assert (code, err) == (0, "")
    left = sorted(path.name for path in folder.iterdir())
    assert left[:2] == names[3:]
    assert left[3:] == ["kusanya-before-the-move.sqlite"]
    code, _, err = kusanya(
        "store", "backup", "--keep", "3", str(tmp_path / "none"), "--store", "x.db"
    )
    assert (code, err.count("\n")) == (2, 1)
