"""A client or a store that does not fit is refused in words, before anything is kept or sent."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.kusanya.intents.orders import ORDER, NewClient

from kusanya import orders
from kusanya.client import AsyncClient
from kusanya.intents import create_safely, create_safely_async, resume, resume_async
from kusanya.store import Store


def test_a_client_of_the_other_kind_is_refused(store: Store, new_client: NewClient) -> None:
    other: Any = AsyncClient("svc_test_sk_1", base_url="http://127.0.0.1:9", transport=_forbidden)
    with pytest.raises(TypeError, match=r"takes Client, not AsyncClient"):
        create_safely(store, other, **ORDER)
    with pytest.raises(TypeError, match="takes Client"):
        resume(store, other, "int_1")
    with pytest.raises(TypeError, match="this takes Client, not AsyncClient"):
        orders.pay(store, other, **ORDER)
    with pytest.raises(TypeError, match="this takes Client, not AsyncClient"):
        orders.wait(store, other, "order-1")
    blocking: Any = new_client()
    with pytest.raises(TypeError, match="takes AsyncClient"):
        asyncio.run(create_safely_async(store, blocking, **ORDER))
    with pytest.raises(TypeError, match="takes AsyncClient"):
        asyncio.run(resume_async(store, blocking, "int_1"))
    with pytest.raises(TypeError, match="this takes AsyncClient, not "):
        asyncio.run(orders.pay_async(store, blocking, **ORDER))
    with pytest.raises(TypeError, match="this takes AsyncClient, not "):
        asyncio.run(orders.wait_async(store, blocking, "order-1"))
    assert store.intents.page().rows == ()


@pytest.mark.parametrize("form", [str, Path])
def test_an_address_is_no_store(tmp_path: Path, new_client: NewClient, form: Any) -> None:
    address: Any = form(tmp_path / "another.db")
    with pytest.raises(TypeError, match=r"Store\.open"):
        create_safely(address, new_client(), **ORDER)
    assert not (tmp_path / "another.db").exists()


def _forbidden(*arguments: Any) -> Any:
    raise AssertionError(f"something was sent: {arguments}")
