"""`kusanya notebooks` hands the notebooks the store that its caller meant."""

import os
from pathlib import Path

import pytest

from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.cli.finance import notebooks as module
from kusanya_console.cli.finance.notebooks import environment, notebooks
from kusanya_console.output import Refused


@pytest.fixture(autouse=True)
def nothing_set_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("KUSANYA_")]:
        monkeypatch.delenv(name)
    (tmp_path / "empty.toml").touch()
    monkeypatch.setenv("KUSANYA_CONFIG", str(tmp_path / "empty.toml"))
    monkeypatch.setenv("KUSANYA_DATA", str(tmp_path / "data"))


@pytest.mark.parametrize(
    ("named", "handed"),
    [
        ("kusanya.sqlite", "{here}/kusanya.sqlite"),
        ("sqlite:///kusanya.sqlite", "sqlite:///{here}/kusanya.sqlite"),
        ("/srv/kusanya.sqlite", "/srv/kusanya.sqlite"),
        ("postgresql://db.example/kusanya", "postgresql://db.example/kusanya"),
    ],
)
def test_a_store_named_from_the_caller_s_folder_is_found_from_the_notebooks_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: str, handed: str
) -> None:
    started: list[dict[str, str]] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUSANYA_API_KEY", "sk_test_never_seen_there")
    monkeypatch.setattr(os, "execvpe", lambda _file, _arguments, environ: started.append(environ))
    notebooks(store=named, browser=False)
    [environ] = started
    assert environ["KUSANYA_STORE"] == handed.format(here=tmp_path)
    assert "KUSANYA_API_KEY" not in environ


def test_a_mode_is_handed_over_with_a_store_and_without() -> None:
    assert environment(store="x.sqlite", mode=Mode.LIVE)["KUSANYA_MODE"] == "live"
    assert environment(store="x.sqlite")["KUSANYA_MODE"] == "test"
    assert environment(mode=Mode.LIVE)["KUSANYA_MODE"] == "live"
    assert "KUSANYA_STORE" not in environment(mode=Mode.LIVE)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the notebooks of an installed program, which nothing may write to."""
    folder = tmp_path / "site-packages" / "_notebooks"
    (folder / "labconfig").mkdir(parents=True)
    (folder / "__pycache__").mkdir()
    for name in ("00_start.ipynb", "explorer.py", "labconfig/overrides.json", "__pycache__/x.pyc"):
        (folder / name).write_text(f"as installed: {name}", encoding="utf-8")
    monkeypatch.setattr(module, "_INSTALLED", folder)
    monkeypatch.setenv("KUSANYA_DATA", str(tmp_path / "data"))
    return folder


def opened(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the command and return the folder that JupyterLab was started in."""
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execvpe", lambda _file, arguments, _environ: started.append(arguments))
    notebooks(store="kusanya.sqlite", browser=False)
    [arguments] = started
    [folder] = (one.partition("=")[2] for one in arguments if one.startswith("--notebook-dir="))
    return Path(folder)


def test_installed_notebooks_are_opened_as_copies_that_the_user_may_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, installed: Path
) -> None:
    before = {path: path.stat().st_mtime_ns for path in installed.rglob("*")}
    folder = opened(monkeypatch)
    assert folder.is_relative_to(tmp_path / "data")
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert files == ["00_start.ipynb", "explorer.py", "labconfig/overrides.json"]
    assert {path: path.stat().st_mtime_ns for path in installed.rglob("*")} == before


def test_what_the_user_changed_in_a_copy_stays(
    monkeypatch: pytest.MonkeyPatch, installed: Path
) -> None:
    folder = opened(monkeypatch)
    (folder / "00_start.ipynb").write_text("mine", encoding="utf-8")
    (folder / "explorer.py").unlink()
    assert opened(monkeypatch) == folder
    assert (folder / "00_start.ipynb").read_text(encoding="utf-8") == "mine"
    assert (folder / "explorer.py").read_bytes() == (installed / "explorer.py").read_bytes()


@pytest.mark.usefixtures("installed")
def test_a_folder_that_cannot_be_made_is_reported_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("a file", encoding="utf-8")
    with pytest.raises(Refused, match=r"cannot copy the notebooks.*KUSANYA_DATA"):
        opened(monkeypatch)


def test_without_any_store_none_is_named_so_that_the_sample_month_is_shown() -> None:
    assert not [name for name in environment() if name.startswith("KUSANYA_")]


def test_the_store_in_the_data_folder_is_named_as_soon_as_it_exists(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with Store.open(tmp_path / "data" / "main.sqlite"):
        pass
    assert environment()["KUSANYA_STORE"] == f"sqlite:///{tmp_path}/data/main.sqlite"


def test_a_store_that_was_named_and_is_missing_is_never_replaced_by_the_sample_month(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = str(tmp_path / "gone.sqlite")
    assert environment(store=missing)["KUSANYA_STORE"] == missing
    default = f"sqlite:///{tmp_path}/data/main.sqlite"
    monkeypatch.setenv("KUSANYA_STORE", default)
    assert environment()["KUSANYA_STORE"] == default
