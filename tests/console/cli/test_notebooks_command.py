"""`kusanya notebooks` hands the notebooks the store that its caller meant."""

import os
from pathlib import Path

import pytest

from kusanya_console.cli.notebooks import notebooks


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
