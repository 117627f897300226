"""How the house is built, in the library's README: its folders, its paths, its names exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "lib" / "docs" / "house.md").read_text(encoding="utf-8")
PACKAGES = {
    "kusanya": ROOT / "lib" / "kusanya",
    "kusanya_books": ROOT / "lib" / "kusanya_books",
    "kusanya_service": ROOT / "lib" / "kusanya_service",
    "kusanya_console": ROOT / "console" / "kusanya_console",
}


def between(begin: str, end: str) -> str:
    """Return the part of the page between two headings or sentences."""
    assert (PAGE.count(begin), PAGE.partition(begin)[2].count(end) > 0) == (1, True)
    return PAGE.partition(begin)[2].partition(end)[0]


def quoted(text: str) -> list[str]:
    """Return what a text quotes."""
    return re.findall(r"`([^`]+)`", text)


def folders() -> dict[str, set[str]]:
    """Return what the table of folders names of each package's first level."""
    named: dict[str, set[str]] = {package: set() for package in PACKAGES}
    for line in between("| folder | what it holds |\n|---|---|\n", "\n\n").splitlines():
        first, held = line.strip("| ").split(" | ", 1)
        if first.startswith(("`kusanya_books`", "`kusanya_service`", "`kusanya_console`")):
            package, *_ = quoted(first)
            named[package] |= set(quoted(held))
        else:
            named["kusanya"] |= {name.removeprefix("kusanya/") for name in quoted(first)}
    return named


FOLDERS = folders()


def first_level(package: str) -> set[str]:
    """Return a package's folders and modules, but for what every package has."""
    return {
        path.name
        for path in PACKAGES[package].iterdir()
        if (path.suffix == ".py" or path.is_dir()) and not path.name.startswith("__")
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_the_table_names_every_folder_and_module_of_a_packages_first_level(package: str) -> None:
    assert first_level(package) - FOLDERS[package] == set()


def test_the_table_names_no_folder_and_no_module_that_is_not_there() -> None:
    assert FOLDERS["kusanya"] - first_level("kusanya") == set()
    for package in ("kusanya_books", "kusanya_service", "kusanya_console"):
        modules = {name for name in FOLDERS[package] if name.endswith(".py")}
        assert modules - first_level(package) == set()


def walks() -> dict[str, str]:
    """Return the walks by their first sentence."""
    said = between("## Five walks\n", "\n## ")
    found = re.findall(r"^\d\. (\*\*(.+?)\*\*.*?)(?=^\d\. |\Z)", said, re.MULTILINE | re.DOTALL)
    return {title: walk for walk, title in found}


WALKS = walks()


def roots(walk: str) -> list[Path]:
    """Return the folders below which a walk's paths lie."""
    return [ROOT / name for name in quoted(walk) if name.startswith(("lib/", "console/"))]


def files(walk: str) -> dict[str, list[Path]]:
    """Return the files of a walk by the path that it gives."""
    return {
        name: [root / name for root in roots(walk) if (root / name).is_file()]
        for name in quoted(walk)
        if name.endswith(".py")
    }


def test_there_are_five_walks_and_each_says_where_its_paths_begin() -> None:
    assert len(WALKS) == 5
    for walk in WALKS.values():
        assert roots(walk)
        assert all(root.is_dir() for root in roots(walk))


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS.keys())
def test_every_path_of_a_walk_is_one_file(walk: str) -> None:
    assert {name: len(found) for name, found in files(walk).items() if len(found) != 1} == {}


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS.keys())
def test_every_name_of_a_walk_stands_in_a_file_that_it_names(walk: str) -> None:
    said = "\n".join(
        file.read_text(encoding="utf-8") for found in files(walk).values() for file in found
    )
    names = [name for name in quoted(walk) if "/" not in name and not name.endswith(".py")]
    assert [name for name in names if not re.search(rf"\b_?{re.escape(name)}\b", said)] == []
