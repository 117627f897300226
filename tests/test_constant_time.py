"""Secrets are compared in constant time. No test can measure it reliably: the source is read."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from kusanya.privacy.secret import Secret
from kusanya.webhooks import signature
from kusanya_service.dashboard import web

COMPARING: list[tuple[Callable[..., Any], set[str]]] = [
    (Secret.__eq__, {"_value"}),
    (signature.check, {"expected", "signature"}),
    (signature._good_at_once, {"expected", "signature"}),
    (web._require_token, {"expected", "value"}),
]


def names_in(node: ast.AST) -> set[str]:
    """Return the variables and attributes whose value, not whose length, a node uses."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        return set()
    found = {node.id} if isinstance(node, ast.Name) else set()
    found |= {node.attr} if isinstance(node, ast.Attribute) else set()
    return found.union(*map(names_in, ast.iter_child_nodes(node)))


def is_compare_digest(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "hmac.compare_digest"


@pytest.mark.spec("signature-4")
@pytest.mark.parametrize(
    ("function", "secret"), COMPARING, ids=[one.__qualname__ for one, _ in COMPARING]
)
def test_secrets_are_compared_by_compare_digest_and_by_nothing_else(
    function: Callable[..., Any], secret: set[str]
) -> None:
    nodes = list(ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))))
    in_constant_time = [node for node in nodes if is_compare_digest(node)]
    assert len(in_constant_time) == 1
    assert secret <= names_in(in_constant_time[0])
    calls = {id(part) for part in ast.walk(in_constant_time[0])}
    others = [node for node in nodes if isinstance(node, ast.Compare) and id(node) not in calls]
    assert [ast.unparse(one) for one in others if names_in(one) & secret] == []
