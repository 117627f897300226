"""A store with a test's own code between it and its caller."""

from typing import Any

from kusanya.store import Store
from kusanya.store.queries.base import StorePart


class Interposed:
    """Hands every method of a store on as `method` returns it, by its path: `intents.begin`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def method(self, path: str, found: Any) -> Any:
        """Return what a caller gets for `found`; it is called for each use."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return (
            _Part(self, name, found) if isinstance(found, StorePart) else self.method(name, found)
        )


class _Part:
    def __init__(self, whole: Interposed, name: str, part: StorePart) -> None:
        self._whole = whole
        self._name = name
        self._part = part

    def __getattr__(self, name: str) -> Any:
        return self._whole.method(f"{self._name}.{name}", getattr(self._part, name))
