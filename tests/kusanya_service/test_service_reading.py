"""Strict JSON and its canonical form: equal values, and only they, are the same body."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya_service.errors import ApiError
from kusanya_service.http.idempotency import is_kept, key_use
from kusanya_service.http.requests import parse

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"))
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcé"), inner, max_size=4),
    max_leaves=12,
)


def same(one: Any, other: Any) -> bool:
    """Compare as JSON values: true is not 1, and 1 is not 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return repr(one) == repr(other) if isinstance(one, float) else bool(one == other)


def shuffled(value: Any) -> Any:
    """Return an equal value whose keys are in another order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    return [shuffled(one) for one in value] if isinstance(value, list) else value


@pytest.mark.spec("post-1")
@given(values)
def test_the_order_of_keys_and_the_spelling_do_not_change_a_body(value: Any) -> None:
    plain = json.dumps(value).encode()
    other = json.dumps(shuffled(value), ensure_ascii=False, indent=3).encode()
    assert parse(plain).canonical == parse(other).canonical


@pytest.mark.spec("post-2")
@given(values, values)
def test_different_values_are_different_bodies(one: Any, other: Any) -> None:
    canonical = [parse(json.dumps(value).encode()).canonical for value in (one, other)]
    assert (canonical[0] == canonical[1]) == same(one, other)


@given(st.binary())
def test_any_bytes_are_read_or_refused_as_malformed(body: bytes) -> None:
    refused: list[int] = []
    try:
        parse(body)
    except ApiError as error:
        refused.append(error.status)
    assert refused in ([], [400])


@given(st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126)), min_size=4))
def test_a_use_of_a_key_belongs_to_merchant_mode_path_and_key_together(parts: list[str]) -> None:
    def scope(merchant: str, mode: str, path: str, key: str) -> bytes:
        return key_use(merchant=merchant, mode=mode, path=path, key=key, canonical=b"").scope

    merchant, mode, path, key, *_ = parts
    scopes = {
        scope(merchant, mode, path, key),
        scope(merchant + "x", mode, path, key),
        scope(merchant, mode + "x", path, key),
        scope(merchant, mode, path + "x", key),
        scope(merchant, mode, path, key + "x"),
    }
    assert len(scopes) == 5


@pytest.mark.spec("limits-key-retention")
def test_retention_ends_after_exactly_86_400_000_milliseconds() -> None:
    assert is_kept(1_000, 1_000 + 86_399_999)
    assert not is_kept(1_000, 1_000 + 86_400_000)
