"""What `import kusanya` promises: each name works without a further import, and no other passes.

The ignores below are checked too: the type checker complains of one that is not needed.
"""

import ast
import inspect
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import assert_type

import pytest

import kusanya
import kusanya.client
import kusanya.watch
import kusanya_books
import kusanya_service.testing
from kusanya.domain.status import Status
from kusanya.state.observation import CollectionState, ShownStatus
from kusanya.store.records import CollectionRow
from kusanya.wire import Collection


def test_every_promised_name_works_after_one_import() -> None:
    # A process for each group of names would prove no more: each access loads what it names.
    script = (
        "import kusanya\n"
        "for name in kusanya.__all__: getattr(kusanya, name)\n"
        "kusanya.intents.create_safely, kusanya.errors.KusanyaError, kusanya.wire.Mode\n"
        "kusanya.watch.poll_open, kusanya.domain.limits, kusanya.privacy.secret\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_rooms_of_the_package_are_typed_as_what_they_are() -> None:
    # Types alone: with these names as Any, `int(...)` of a function would pass the checker.
    with pytest.raises(TypeError):
        int(kusanya.intents.create_safely)  # type: ignore[call-overload] # that is the test


def test_a_misspelt_status_is_found_by_a_type_checker() -> None:
    with pytest.raises(AttributeError):
        Status.SUCCEDED  # type: ignore[attr-defined] # noqa: B018 - that is the test
    assert_type(Collection.status, Status)
    assert_type(CollectionState.status, ShownStatus)
    assert_type(CollectionRow.status, ShownStatus)


@pytest.mark.parametrize("home", [kusanya.intents, kusanya.Client, kusanya.AsyncClient])
def test_whatever_takes_an_amount_says_in_what_it_is(home: object) -> None:
    takers = [
        one
        for name, one in vars(home).items()
        if inspect.isfunction(one)
        and not name.startswith("_")
        and "amount" in inspect.signature(one).parameters
    ]
    assert takers
    assert [one.__name__ for one in takers if "whole shillings" not in (one.__doc__ or "")] == []


def test_every_list_of_names_holds_names_that_there_are() -> None:
    for top in (*kusanya.__path__, *kusanya_service.__path__):
        for file in Path(top).rglob("__init__.py"):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            known = {child.stem for child in file.parent.iterdir()}
            promised: list[str] = []
            for node in ast.walk(tree):
                match node:
                    case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                        known.add(node.name)
                    case ast.alias():
                        known.add(node.asname or node.name)
                    case ast.Assign(targets=[ast.Name(id="__all__")]):
                        promised = ast.literal_eval(node.value)
                    case ast.Name(ctx=ast.Store()):
                        known.add(node.id)
            assert not set(promised) - known, file


def test_the_version_is_the_one_that_is_installed() -> None:
    assert kusanya.__version__ == version("kusanya")


def test_a_name_that_there_is_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        kusanya.nonsense  # type: ignore[attr-defined] # noqa: B018 - that is the test
    with pytest.raises(AttributeError):
        kusanya.client.nonsense  # type: ignore[attr-defined] # noqa: B018 - that is the test
    with pytest.raises(AttributeError):
        kusanya.watch.nonsense  # type: ignore[attr-defined] # noqa: B018 - that is the test
    with pytest.raises(AttributeError):
        kusanya_books.nonsense  # type: ignore[attr-defined] # noqa: B018 - that is the test
