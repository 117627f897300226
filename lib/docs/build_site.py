"""Build the documentation site: the papers as pages, and the reference from the docstrings.

    uv run --group docs python lib/docs/build_site.py --out site

Fails for a link that leads nowhere. The site loads nothing from elsewhere. Any server of files
shows it; opened as a file it lacks its search, which a browser runs only over HTTP.
"""

import argparse
import json
import re
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Final

from mkdocs.commands.build import build
from mkdocs.config import load_config

_ROOT: Final = Path(__file__).parents[2]
_PAGES: Final = {
    "Home": "README.md",
    "For developers": "lib/README.md",
    "Orders and outcomes": "lib/docs/orders.md",
    "Run it": "lib/docs/running.md",
    "The store": "lib/docs/store.md",
    "The console": "console/README.md",
    "Notebooks": "notebooks/README.md",
    "The house": "lib/docs/house.md",
    "Glossary": "lib/docs/glossary.md",
    "Tests": "tests/README.md",
    "Versions, security, releases": "lib/docs/policy.md",
    "What changed": "lib/CHANGELOG.md",
}
"""The papers by their titles, in the order in which a newcomer reads them."""
_REFERENCE: Final = (
    *(
        "kusanya.client",
        "kusanya.orders",
        "kusanya.outcomes",
        "kusanya.intents",
        "kusanya.receiver",
        "kusanya.webhooks",
    ),
    *("kusanya.store.store", "kusanya.store.records", "kusanya.state", "kusanya.wire"),
    *("kusanya.errors", "kusanya.watch", "kusanya.watch.catch_up", "kusanya.lookup"),
    *("kusanya.domain.failure_codes", "kusanya.domain.channels", "kusanya.domain.limits"),
    *("kusanya.domain.assumptions", "kusanya_books.pack.close", "kusanya_books.read.load"),
    *("kusanya_service.testing",),
)
"""The modules whose public names a program of others imports."""
_PICTURES: Final = ("console/live.svg", "lib/docs/layers.svg")
_OUTSIDE: Final = re.compile(r"\]\((?!https?://|#)([^)#]+)(#[^)]*)?\)")


def _gather(into: Path) -> list[dict[str, Any]]:
    """Write pages and reference below `into`; return the navigation."""
    for paper in _PAGES.values():
        page = into / paper
        page.parent.mkdir(parents=True, exist_ok=True)
        linked = partial(_linked, paper=_ROOT / paper)
        text = (_ROOT / paper).read_text(encoding="utf-8")
        page.write_text(_OUTSIDE.sub(linked, text), encoding="utf-8")
    for picture in _PICTURES:
        shutil.copy(_ROOT / picture, into / picture)
    names = []
    for module in _REFERENCE:
        page = into / "reference" / f"{module}.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text(f"# {module}\n\n::: {module}\n", encoding="utf-8")
        names.append({module: f"reference/{module}.md"})
    return [*({title: page} for title, page in _PAGES.items()), {"Reference": names}]


def _linked(link: re.Match[str], *, paper: Path) -> str:
    """Return a link as it is where its page is on the site, else its file by name alone."""
    target = (paper.parent / link[1]).resolve()
    known = {_ROOT / page for page in (*_PAGES.values(), *_PICTURES)}
    if not target.exists() or target in known:
        return link[0]
    return f"](#){{title={target.relative_to(_ROOT)}}}"


def make(out: Path) -> None:
    """Build the site below `out`, which is made anew.

    Raises mkdocs.exceptions.Abort for a link that leads nowhere or a docstring that cannot be read.
    """
    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder) / "pages"
        pages.mkdir()
        navigation = _gather(pages)
        settings = Path(folder) / "mkdocs.yml"
        # JSON is YAML, and needs no library to be written.
        settings.write_text(json.dumps(_settings(pages, out, navigation)), encoding="utf-8")
        build(load_config(str(settings)))


def _settings(pages: Path, out: Path, navigation: list[dict[str, Any]]) -> dict[str, Any]:
    options = {"show_source": False, "show_root_heading": False}
    handler = {"paths": [str(_ROOT / "lib")], "options": options}
    return {
        "site_name": "Kusanya",
        "docs_dir": str(pages),
        "site_dir": str(out),
        "nav": navigation,
        "strict": True,
        "use_directory_urls": False,
        "theme": {"name": "material", "font": False},
        "plugins": ["search", {"mkdocstrings": {"handlers": {"python": handler}}}],
        "markdown_extensions": ["admonition", "attr_list", "tables", "pymdownx.superfences"],
        "validation": {"links": {"anchors": "warn"}},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    make(parser.parse_args().out.absolute())
