"""`kusanya notebooks` hands the notebooks the store that its caller meant."""

import os
from pathlib import Path

import pytest

from kusanya_console.cli import notebooks as module
from kusanya_console.cli.notebooks import notebooks
from kusanya_console.cli.output import Refused


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
def test_a_folder_that_cannot_be_made_is_told_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("a file", encoding="utf-8")
    with pytest.raises(Refused, match=r"cannot copy the notebooks.*KUSANYA_DATA"):
        opened(monkeypatch)
