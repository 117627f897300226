"""Notebooks as files and as runs."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from kusanya_console.cli.finance.notebooks import environment

FOLDER = Path(__file__).parents[2] / "notebooks"
Run = Callable[..., Any]


@pytest.fixture
def notebook_folder() -> Path:
    return FOLDER


@pytest.fixture
def read_notebook() -> Callable[[str], dict[str, Any]]:
    def read(name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
        return found

    return read


@pytest.fixture(scope="session")
def matplotlib_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with Matplotlib's font cache: a slow machine says that it builds it."""
    folder = tmp_path_factory.mktemp("matplotlib")
    settings = {**os.environ, "MPLCONFIGDIR": str(folder)}
    program = "import matplotlib.font_manager"
    subprocess.run([sys.executable, "-c", program], env=settings, capture_output=True, check=True)
    return folder


@pytest.fixture
def run_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, matplotlib_folder: Path) -> Run:
    """Run a notebook top to bottom in a kernel of its own and return it with its outputs.

    The kernel has the environment that `kusanya notebooks` hands over, called with `--store` where
    `store` is given, by a person who has set up nothing yet. Parameters replace those of the
    parameters cell; `after` is a last cell of the test's own.
    """

    def run(
        name: str,
        parameters: Mapping[str, str] | None = None,
        after: str = "",
        store: str | None = None,
    ) -> Any:
        # Late: they build the grammars of every address that a schema may name, for seconds.
        nbformat: Any = import_module("nbformat")
        from nbclient import NotebookClient

        for variable in [name for name in os.environ if name.startswith("KUSANYA_")]:
            monkeypatch.delenv(variable)
        (tmp_path / "empty.toml").touch()
        monkeypatch.setenv("KUSANYA_CONFIG", str(tmp_path / "empty.toml"))
        monkeypatch.setenv("KUSANYA_DATA", str(tmp_path / "data"))
        monkeypatch.setenv("MPLCONFIGDIR", str(matplotlib_folder))
        for folder in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
            (tmp_path / folder).mkdir(exist_ok=True)
            monkeypatch.setenv(folder, str(tmp_path / folder))
        notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
        for place, cell in enumerate(notebook.cells):
            # An empty cell is never executed: without parameters there is none.
            if parameters and "parameters" in cell.metadata.get("tags", []):
                text = "\n".join(f"{key} = {value!r}" for key, value in parameters.items())
                notebook.cells.insert(place + 1, nbformat.v4.new_code_cell(text))
                break
        if after:
            notebook.cells.append(nbformat.v4.new_code_cell(after))
        client = NotebookClient(
            notebook, timeout=120, resources={"metadata": {"path": str(FOLDER)}}
        )
        client.execute(env=environment(store=store))
        return notebook

    return run
