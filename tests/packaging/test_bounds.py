"""What we publish says from which version on each of its dependencies does."""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text("utf-8"))[
    "project"
]


def test_every_dependency_has_a_lower_bound() -> None:
    extras = PROJECT["optional-dependencies"]
    named = [*PROJECT["dependencies"], *(one for extra in extras.values() for one in extra)]
    bare = [
        str(wanted)
        for wanted in map(Requirement, named)
        if wanted.name != "kusanya" and not any(one.operator == ">=" for one in wanted.specifier)
    ]
    assert len(named) > 40
    assert bare == []


def test_a_package_has_one_bound_wherever_it_is_named() -> None:
    extras = PROJECT["optional-dependencies"]
    bounds: dict[str, set[str]] = {}
    for text in (*PROJECT["dependencies"], *(one for extra in extras.values() for one in extra)):
        wanted = Requirement(text)
        if wanted.name != "kusanya":
            bounds.setdefault(wanted.name, set()).add(str(wanted.specifier))
    assert {name: found for name, found in bounds.items() if len(found) > 1} == {}
