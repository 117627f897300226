"""Replace a line of a product function while a context is open, wherever the function is in use.

Only the function's code is exchanged, so that every name it was imported under runs the new one.
"""

import importlib
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any


@contextmanager
def replaced(where: str, old: str, new: str) -> Iterator[None]:
    """Run `where` ("module:function" or "module:Class.method") with `old` replaced by `new`.

    `old` stands in the function exactly once; a line of `new` begins where that of `old` did.
    Raises LookupError otherwise: the product has moved on and the bug must be planted anew.
    """
    function = _find(where)
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(old) != 1:
        raise LookupError(f"{where} does not hold this once: {old!r}")
    names: dict[str, Any] = dict(function.__globals__)
    program = compile(source.replace(old, new), f"<{where} with a bug>", "exec")
    exec(program, names)  # noqa: S102 - the product's own text, with our line in it
    changed: FunctionType = names[function.__name__]
    original = function.__code__
    function.__code__ = changed.__code__
    try:
        yield
    finally:
        function.__code__ = original


def _find(where: str) -> FunctionType:
    module, _, path = where.partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    if not isinstance(found, FunctionType):
        raise TypeError(f"{where} is not a plain function")
    return found
