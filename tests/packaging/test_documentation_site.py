"""The documentation site: whole, from the papers and docstrings, and nothing of it is fetched."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest
from mkdocs.exceptions import Abort
from tests.kit import layers

ROOT = Path(__file__).parents[2]


def builder() -> ModuleType:
    """Return the program that builds the site, which is no part of a package."""
    named = importlib.util.spec_from_file_location(
        "build_site", ROOT / "lib" / "docs" / "build_site.py"
    )
    assert named is not None
    assert named.loader is not None
    module = importlib.util.module_from_spec(named)
    named.loader.exec_module(module)
    return module


@pytest.mark.merge
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_site_has_every_paper_a_reference_with_units_and_a_search(tmp_path: Path) -> None:
    builder().make(tmp_path / "site")
    reference = (tmp_path / "site/reference/kusanya.intents.html").read_text(encoding="utf-8")
    assert "create_safely" in reference
    pages = {path.relative_to(tmp_path / "site") for path in tmp_path.rglob("*.html")}
    papers = {path.with_suffix(".html").name for path in (ROOT / "lib" / "docs").glob("*.md")}
    assert papers <= {page.name for page in pages}
    index = json.loads((tmp_path / "site/search/search_index.json").read_text(encoding="utf-8"))
    assert any("create_safely" in entry["text"] for entry in index["docs"])
    loaded = re.compile(r'(?:src|<link[^>]*href)="https?://')
    assert not [page for page in pages if loaded.search((tmp_path / "site" / page).read_text())]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_link_that_leads_nowhere_ends_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = builder()
    monkeypatch.setattr(site, "_linked", lambda *_, **__: "](nowhere.md)")
    monkeypatch.setattr(site, "_REFERENCE", ())
    with pytest.raises(Abort):
        site.make(tmp_path / "site")


def test_the_picture_of_the_layers_shows_the_import_contracts_as_they_are() -> None:
    assert layers.PICTURE.read_text("utf-8") == layers.drawn(), (
        "draw it anew: uv run python -m tests.kit.layers"
    )
