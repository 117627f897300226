"""Whoever installs us under Apache-2.0 gets nothing under a licence that asks for more."""

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement

PERMISSIVE: Final = frozenset(
    {
        *("0BSD", "Apache-2.0", "Apache 2.0", "Apache License 2.0", "Apache Software License"),
        *("BSD", "BSD License", "BSD-2-Clause", "BSD-3-Clause", "BSD 3-Clause License"),
        *("CC0-1.0", "CNRI-Python", "HPND", "ISC", "ISC License (ISCL)", "MIT", "MIT License"),
        *(
            "MIT-0",
            "MIT-CMU",
            "PSF-2.0",
            "Python Software Foundation License",
            "The Unlicense (Unlicense)",
        ),
        *("Unlicense", "ZPL-2.1", "Zlib", "zlib/libpng License", "Apache License, Version 2.0"),
    }
)
NAMED: Final = {
    "certifi": "MPL-2.0, which asks only for its own files, and we change none",
    "fqdn": "MPL-2.0, which asks only for its own files, and we change none",
    "psycopg": "LGPL-3.0-only: a library beside us, which everybody may replace",
    "psycopg-binary": "LGPL-3.0-only: a library beside us, which everybody may replace",
    "pysqlite3": "zlib, in its repository; its metadata names nothing",
}
"""What stands under another licence, with the reason why that asks nothing of us."""
_EXTRAS: Final = frozenset({"all", "spark"})


def _installed(name: str, extras: frozenset[str], seen: set[tuple[str, frozenset[str]]]) -> None:
    """Gather a package and all that it brings, as far as this machine has it."""
    key = re.sub(r"[-_.]+", "-", name).lower()
    if (key, extras) in seen:
        return
    try:
        needed = distribution(name).requires or ()
    except PackageNotFoundError:
        return  # of another system, or of the group that brings Spark
    seen.add((key, extras))
    for wanted in map(Requirement, needed):
        marker = wanted.marker
        if marker is None or any(marker.evaluate({"extra": one}) for one in {*extras, ""}):
            _installed(wanted.name, frozenset(wanted.extras), seen)


def _licences(found: Distribution) -> Iterator[str]:
    """Yield the licences that a package names: its expression, else its classifiers, else words."""
    said = found.metadata
    (expression,) = said.get_all("License-Expression") or [""]
    classified = [
        one.rpartition(" :: ")[2]
        for one in said.get_all("Classifier") or ()
        if one.startswith("License ::") and not one.endswith("OSI Approved")
    ]
    if expression:
        yield from re.split(r" (?:AND|OR|WITH) |[()]", expression)
    elif classified:
        yield from classified
    else:
        (words,) = said.get_all("License") or ["no licence at all"]
        yield words.partition("\n")[0]


def _strange(found: Distribution) -> list[str]:
    said = [one.strip() for one in _licences(found)]
    return [one for one in said if one and one not in PERMISSIVE]


def test_all_that_the_extras_bring_is_permissive_or_named_with_its_reason() -> None:
    seen: set[tuple[str, frozenset[str]]] = set()
    _installed("kusanya", _EXTRAS, seen)
    names = {name for name, _ in seen}
    assert {"httpx", "textual", "duckdb", "jupyterlab", "psycopg", "uvicorn"} <= names
    strange = {name: found for name in names if (found := _strange(distribution(name)))}
    assert strange.keys() == NAMED.keys(), strange


@pytest.mark.parametrize(
    "said",
    [
        "License-Expression: GPL-3.0-only",
        "License-Expression: MIT AND GPL-2.0-or-later",
        "Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)",
        "License: GPL",
        "",
    ],
)
def test_a_licence_that_asks_for_more_or_none_at_all_is_found(tmp_path: Path, said: str) -> None:
    (tmp_path / "METADATA").write_text(f"Metadata-Version: 2.4\nName: x\nVersion: 1\n{said}\n")
    assert _strange(Distribution.at(tmp_path))
