"""Which SQLite a store runs on: a new enough one, from wherever it comes, or a way to one."""

import importlib
import platform
import sqlite3
import sys
import tomllib
from contextlib import closing
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from packaging.requirements import Requirement

from kusanya.errors import StoreUnavailable
from kusanya.platform import sqlite
from kusanya.platform.sqlite import (
    SQLITE_MIN,
    WHEELS,
    bind_unchanged,
    sqlite_driver,
    sqlite_refusal,
)
from kusanya.store import Store
from kusanya_service.errors import DataFolderUnusable
from kusanya_service.storage import database

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"
OLD = SimpleNamespace(sqlite_version="3.40.1", sqlite_version_info=(3, 40, 1))
NEW = SimpleNamespace(sqlite_version="3.52.0", sqlite_version_info=(3, 52, 0))


def only(monkeypatch: pytest.MonkeyPatch, **found: object) -> None:
    """Let only these drivers be there; the names are those of the modules, dots as underscores."""

    def load(name: str) -> object:
        if name.replace(".", "_") not in found:
            raise ImportError(name)
        return found[name.replace(".", "_")]

    monkeypatch.setattr(sqlite, "import_module", load)


def test_the_standard_librarys_is_taken_where_it_is_new_enough_and_no_other_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only(monkeypatch, sqlite3=NEW)
    assert sqlite_driver() is NEW
    assert sqlite_refusal(NEW) is None


def test_an_old_pysqlite3_gives_way_to_a_new_enough_standard_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only(monkeypatch, pysqlite3_dbapi2=OLD, sqlite3=NEW)
    assert sqlite_driver() is NEW


@pytest.mark.parametrize(("system", "machine"), sorted(WHEELS))
def test_where_pysqlite3_has_a_wheel_an_old_sqlite_is_answered_with_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, system: str, machine: str
) -> None:
    only(monkeypatch, sqlite3=OLD)
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with pytest.raises(StoreUnavailable, match=r"3\.40\.1 can corrupt.*--only-binary.*pysqlite3"):
        Store.open(tmp_path / "store.db")


@pytest.mark.parametrize(("system", "machine"), [("linux", "aarch64"), ("darwin", "x86_64")])
def test_where_pysqlite3_has_no_wheel_the_other_choices_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, system: str, machine: str
) -> None:
    only(monkeypatch, sqlite3=OLD)
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with pytest.raises(StoreUnavailable) as refused:
        Store.open(tmp_path / "store.db")
    said = str(refused.value)
    assert f"no wheel for {system} on {machine}" in said
    assert "SQLite 3.51.3 or newer" in said
    assert "kusanya[postgres]" in said
    assert "install --force-reinstall" not in said


def test_a_python_without_any_sqlite_is_offered_the_same_choices(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    only(monkeypatch)
    with pytest.raises(StoreUnavailable, match=r"no SQLite: .*pysqlite3"):
        Store.open(tmp_path / "store.db")


def test_the_embedded_service_refuses_an_old_sqlite_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(database, "sqlite", OLD)
    with pytest.raises(DataFolderUnusable, match=r"3\.40\.1 can corrupt"):
        database.open_database(tmp_path / "service.sqlite")


def test_a_store_works_on_the_standard_librarys_driver(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # This machine's own may be too old to be trusted with money; here only its interface counts.
    only(monkeypatch, sqlite3=sqlite3)
    monkeypatch.setattr(sqlite, "SQLITE_MIN", min(SQLITE_MIN, sqlite3.sqlite_version_info))
    with Store.open(tmp_path / "store.db") as store:
        assert not store.maintenance.check()
        store.maintenance.backup(tmp_path / "copy.db")
    with Store.open(tmp_path / "copy.db", read_only=True) as copy:
        assert not copy.maintenance.check()


@pytest.mark.parametrize("value", [None, b"", b"\0\xff"])
def test_a_value_that_needs_no_adapting_is_bound_as_it_is(
    monkeypatch: pytest.MonkeyPatch, value: bytes | None
) -> None:
    key = (type(value), sqlite3.PrepareProtocol)
    adapters: dict[Any, Any] = sqlite3.adapters
    monkeypatch.setitem(adapters, key, None)
    del adapters[key]
    bind_unchanged(sqlite3)
    assert adapters[key](value) is value
    with closing(sqlite3.connect(":memory:")) as connection:
        assert connection.execute("SELECT ?", (value,)).fetchone() == (value,)


def test_a_programs_own_way_to_adapt_a_value_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    adapters: dict[Any, Any] = sqlite3.adapters
    monkeypatch.setitem(adapters, (bytes, sqlite3.PrepareProtocol), bytes.hex)
    bind_unchanged(sqlite3)
    with closing(sqlite3.connect(":memory:")) as connection:
        assert connection.execute("SELECT ?", (b"\xff",)).fetchone() == ("ff",)


def test_postgresql_needs_no_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch)
    engine: ModuleType = importlib.import_module("kusanya.store.tables.engine")
    assert engine.engines("postgresql://nobody@127.0.0.1:1/none").path is None


def test_the_requirement_names_exactly_the_platforms_that_have_a_wheel() -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    (marker,) = (
        found.marker
        for found in map(Requirement, project["dependencies"])
        if found.name == "pysqlite3"
    )
    assert marker is not None
    machines = {"x86_64", "aarch64", "arm64", "AMD64", "ARM64", "armv7l"}
    asked = {
        (system, machine)
        for system in ("linux", "darwin", "win32")
        for machine in machines
        if marker.evaluate({"sys_platform": system, "platform_machine": machine})
    }
    assert asked == WHEELS
