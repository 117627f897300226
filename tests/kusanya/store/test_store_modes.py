"""A mode given to the store as its text: taken for what it says, or refused in words."""

from inspect import Parameter, signature
from typing import Any

import pytest

from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.queries.base import StorePart


def _with_a_mode(store: Store) -> dict[str, tuple[Any, list[str]]]:
    """Return every public method of the store that takes a mode, and what else it must be given."""
    parts = {"store": store} | {n: p for n, p in vars(store).items() if isinstance(p, StorePart)}
    found = {}
    for part_name, part in parts.items():
        for name in dir(part):
            if name.startswith("_") or not callable(getattr(type(part), name, None)):
                continue
            asked = signature(getattr(part, name)).parameters
            if "mode" in asked:
                needed = [n for n, one in asked.items() if one.default is Parameter.empty]
                positional = [n for n in needed if asked[n].kind is not Parameter.VAR_POSITIONAL]
                found[f"{part_name}.{name}"] = (getattr(part, name), positional)
    return found


def test_every_method_refuses_a_misspelt_mode_in_words(store: Store) -> None:
    found = _with_a_mode(store)
    assert {"collections.get", "collections.page", "notes.add", "rollups.within"} <= found.keys()
    for method, needed in found.values():
        with pytest.raises(ValueError, match="a mode is 'live' or 'test', not 'tset'"):
            method(**(dict.fromkeys(needed) | {"mode": "tset"}))


def test_a_mode_may_be_given_as_its_text(store: Store, make: Any) -> None:
    store.record(make.observation(1, source=Source.POLL))
    [row] = store.collections.page("live").rows + store.collections.page("test").rows  # type: ignore[arg-type] # that is the test
    text: Any = row.mode.value
    assert store.collections.get(row.id, text) == row
    assert store.collections.get(row.id, mode=text) == row
    assert store.collections.state(row.id, text) == store.collections.state(row.id, row.mode)
