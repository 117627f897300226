"""Every error comes through pickle and copy as it was: workers send theirs to their parent."""

import copy
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

import kusanya
import kusanya_console
import kusanya_service
from kusanya.errors import IntentError, IntentReason, KusanyaError
from kusanya_service.errors import PaymentServiceError

_SAID: Final[dict[str, Any]] = {
    "message": "what happened: what to do",
    "status": 503,
    "code": "word",
    "param": "phone",
    "request_id": "req_1",
    "retry_after_s": 1.5,
    "outcome_unknown": True,
    "idempotency_key": "k-1",
    "reference": "INV-1",
    "attempts": 3,
    "intent_id": "int_1",
    "reason": IntentReason.WINDOW_CLOSED,
}


def _tree(root: type[Exception]) -> Iterator[type[Exception]]:
    yield root
    for kind in root.__subclasses__():
        yield from _tree(kind)


def _every_error() -> list[type[Exception]]:
    for package in (kusanya, kusanya_service, kusanya_console):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            # Spark's engine and its dialect need an extra that the other tests do without.
            left_out = module.name.endswith(("__main__", "spark_engine", "spark_dialect"))
            if ".migrations." not in module.name and not left_out:
                importlib.import_module(module.name)
    found = {*_tree(KusanyaError), *_tree(PaymentServiceError)}
    return sorted(found, key=lambda kind: (kind.__module__, kind.__qualname__))


def _made(kind: type[Exception]) -> Exception:
    """Return an error of this kind with something in each of its fields."""
    asked = inspect.signature(kind.__init__).parameters.values()
    if any(one.kind is one.VAR_POSITIONAL for one in asked):
        return kind(_SAID["message"])
    named = {one.name: _SAID[one.name] for one in asked if one.kind is one.KEYWORD_ONLY}
    return kind(_SAID["message"], **named)


@pytest.mark.parametrize(
    "through",
    [
        *(lambda error, p=p: pickle.loads(pickle.dumps(error, p)) for p in (2, 5)),  # noqa: S301
        copy.copy,
        copy.deepcopy,
    ],
    ids=["pickle 2", "pickle 5", "copy", "deepcopy"],
)
def test_every_error_keeps_its_message_and_its_fields(
    through: Callable[[Exception], Exception],
) -> None:
    kinds = _every_error()
    assert len(kinds) > 40
    for kind in kinds:
        error = _made(kind)
        error.add_note("intent int_1")
        found = through(error)
        assert type(found) is kind
        assert str(found) == str(error)
        assert found.args == error.args
        assert vars(found) == vars(error)
        assert found.__notes__ == ["intent int_1"]


def test_only_what_passes_by_itself_is_retryable() -> None:
    retryable = {reason for reason in IntentReason if IntentError("no", reason=reason).retryable}
    assert retryable == {IntentReason.BEING_SENT, IntentReason.CLOCK_BEHIND}
