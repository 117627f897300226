"""Notebooks are thin, clean and stable in git."""

import ast
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
Read = Callable[[str], dict[str, Any]]
FORBIDDEN = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.For,
    ast.While,
    ast.If,
    ast.IfExp,
    ast.Try,
    ast.With,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.BinOp,
)


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def is_parameters(cell: dict[str, Any]) -> bool:
    return "parameters" in cell["metadata"].get("tags", [])


def test_there_are_notebooks_to_hold() -> None:
    assert [name[:2] for name in NAMES] == ["00", "10", "20", "30", "40", "50"]


def test_notebooks_are_committed_without_outputs() -> None:
    paths = [f"{FOLDER / name}.ipynb" for name in NAMES]
    verdict = subprocess.run(
        [sys.executable, "-m", "nbstripout", "--keep-id", "--verify", *paths],
        capture_output=True,
        text=True,
        check=False,
    )
    assert verdict.returncode == 0, verdict.stdout


@pytest.mark.parametrize("name", NAMES)
def test_cell_ids_are_words_and_unique(name: str, read_notebook: Read) -> None:
    ids = [cell["id"] for cell in read_notebook(name)["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(cell_id.replace("-", "").isalpha() for cell_id in ids)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_small(name: str) -> None:
    assert (FOLDER / f"{name}.ipynb").stat().st_size < 50_000


@pytest.mark.parametrize("name", NAMES)
def test_a_cell_is_one_call_and_its_display(name: str, read_notebook: Read) -> None:
    for cell in code_cells(read_notebook(name)):
        source = "".join(cell["source"])
        tree = ast.parse(source)
        offending = [node for node in ast.walk(tree) if isinstance(node, FORBIDDEN)]
        assert not offending, f"{cell['id']}: {ast.unparse(offending[0])}"
        # Of the parameters each line is one; there are as many as the command has.
        assert is_parameters(cell) or len(source.splitlines()) <= 12, cell["id"]
        assert len(tree.body) <= 2 or cell["id"] in {"imports", "params"}, cell["id"]


@pytest.mark.parametrize("name", NAMES)
def test_imports_stand_first_and_constants_in_the_parameters(
    name: str, read_notebook: Read
) -> None:
    first, second, *others = code_cells(read_notebook(name))
    imports = ast.parse("".join(first["source"])).body
    assert all(isinstance(node, ast.Import | ast.ImportFrom) for node in imports)
    assert is_parameters(second)
    for node in ast.parse("".join(second["source"])).body:
        assert isinstance(node, ast.AnnAssign)
        assert isinstance(node.value, ast.Constant)
    for cell in others:
        assert not is_parameters(cell)
        assert "import" not in "".join(cell["source"]).split(), cell["id"]


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_says_what_it_is(name: str, read_notebook: Read) -> None:
    parameters = next(cell for cell in code_cells(read_notebook(name)) if is_parameters(cell))
    assert all("  # " in line for line in parameters["source"])


@pytest.mark.parametrize("name", NAMES)
def test_a_sentence_stands_before_every_table(name: str, read_notebook: Read) -> None:
    cells = read_notebook(name)["cells"]
    assert cells[0]["cell_type"] == "markdown"
    for before, cell in pairwise(cells):
        if "show.table" in "".join(cell["source"]):
            assert before["cell_type"] == "markdown", cell["id"]


@pytest.mark.parametrize("name", NAMES)
def test_no_cell_makes_raw_html_or_holds_a_key(name: str, read_notebook: Read) -> None:
    text = "".join("".join(cell["source"]) for cell in code_cells(read_notebook(name)))
    for banned in (".style", "HTML(", "allow_html", "_sk_", "whsec_", "reveal"):
        assert banned not in text


@pytest.mark.parametrize("name", NAMES)
def test_code_is_folded_but_for_the_parameters(name: str, read_notebook: Read) -> None:
    for cell in code_cells(read_notebook(name)):
        hidden = cell["metadata"].get("jupyter", {}).get("source_hidden", False)
        assert hidden is not is_parameters(cell), cell["id"]
