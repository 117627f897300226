"""Whatever is sent to the gateway is answered: carried out, or refused in words."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from shutil import copy
from typing import Any
from urllib.parse import quote_from_bytes

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kusanya.client import Client
from kusanya.client.effects import Failure
from kusanya.gateway import Gateway
from kusanya.privacy.secret import Secret
from kusanya.store import Store
from kusanya.wire import Mode

pytestmark = pytest.mark.merge

TOKEN, KEY = "a-token-of-tests", "sk_test_0123456789abcdef"

_raw = st.binary(max_size=40) | st.sampled_from([b"\0", b"\xff", b"INV-1", b".", b"..", b"out_1"])
_part = _raw.map(lambda raw: quote_from_bytes(raw, safe="").encode()) | _raw
_paths = st.one_of(
    st.builds(b"/v1/orders/%b".__mod__, _part),
    st.builds(b"/v1/outcomes/%b/done".__mod__, _part),
    st.builds(b"/v1/outcomes/%b/parked".__mod__, _part),
    st.sampled_from([b"/v1/outcomes", b"/v1/channels", b"/"]),
    _part,
)
_queries = st.one_of(
    st.builds(b"consumer=%b&wait=%b".__mod__, st.tuples(_part, _part)),
    st.sampled_from([b"", b"consumer=php", b"wait=1", b"consumer=php&wait=1"]),
    _raw,
)
_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
_fields = st.fixed_dictionaries(
    {},
    optional={
        "amount": st.integers(-1, 10**9) | _values,
        "phone": st.sampled_from(["0754 000 001", "255754000001", ""]) | _values,
        "description": st.text() | _values,
        "metadata": st.dictionaries(st.text(max_size=5), st.text(max_size=5)) | _values,
        "unless_down": _values,
        "why": _values,
    },
)
_bodies = _fields.map(msgspec.json.encode) | st.binary(max_size=60)


@pytest.fixture
def gateway(tmp_path: Path, empty_store: Path) -> Iterator[Gateway]:
    def unreachable(*_: Any) -> Failure:
        return Failure(left=False, why="no route")

    with (
        Store.open(copy(empty_store, tmp_path / "store.db")) as store,
        Client(KEY, base_url="http://127.0.0.1:9", transport=unreachable, max_attempts=1) as client,
    ):
        store.outcomes.add("php", mode=Mode.TEST, begin=None, actor="asha")
        yield Gateway(store, client, mode=Mode.TEST, token=Secret(TOKEN))


async def _answer(gateway: Gateway, method: str, path: bytes, query: bytes, body: bytes) -> Any:
    """Return status and document; who asked goes away after the body."""
    came = iter([{"type": "http.request", "body": body}])
    said: list[Any] = []

    async def receive() -> Any:
        return next(came, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        said.append(message)

    scope = {
        "type": "http", "method": method, "path": path.decode("latin-1"), "raw_path": path,
        "query_string": query, "headers": [(b"authorization", f"Bearer {TOKEN}".encode())],
    }  # fmt: skip
    await gateway(scope, receive, send)
    return said[0]["status"], b"".join(one.get("body", b"") for one in said)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(method=st.sampled_from(["PUT", "GET", "POST"]), path=_paths, query=_queries, body=_bodies)
@example(method="PUT", path=b"/v1/orders/1", query=b"", body=b'{"x":' + b"[" * 16_000)
@example(method="PUT", path=b"/v1/orders/1", query=b"", body=b'{"amount":' + b"9" * 5_000)
@example(method="POST", path=b"/v1/outcomes/1/parked", query=b"consumer=php", body=b"[" * 16_000)
def test_whatever_is_sent_is_carried_out_or_refused_in_words(
    gateway: Gateway, method: str, path: bytes, query: bytes, body: bytes
) -> None:
    status, document = asyncio.run(_answer(gateway, method, path, query, body))
    assert status in {200, 204, 400, 404, 409, 413, 422}, document
    if status >= 400:
        assert msgspec.json.decode(document)["error"]["message"]
