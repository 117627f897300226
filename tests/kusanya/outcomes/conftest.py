"""A store on each engine and the played service of the creations' tests, and a shop beside them."""

from pathlib import Path
from typing import Any

import pytest
from tests.kusanya.intents.conftest import (
    FakeService,
    clock,
    new_client,
    play,
    service,
    store,
    store_role,
    store_url,
)
from tests.kusanya.intents.orders import NewClient
from tests.kusanya.outcomes.shop import Facts, ShopDatabase

from kusanya.outcomes import ddl
from kusanya.store import Store

__all__ = [
    "FakeService",
    "clock",
    "new_client",
    "play",
    "service",
    "store",
    "store_role",
    "store_url",
]


@pytest.fixture
def facts(store: Store, new_client: NewClient, play: Any) -> Facts:
    """Return what makes facts about orders known to the store."""
    return Facts(store, new_client, play.Fault)


@pytest.fixture
def shop(tmp_path: Path) -> ShopDatabase:
    """Return the database of a shop, which is not the store's."""
    path = tmp_path / "shop.db"
    connect = ShopDatabase.at(path)
    with connect() as connection:
        connection.execute("CREATE TABLE effect (consumer, kind, reference, about)")
        connection.execute(ddl("sqlite"))
    return ShopDatabase(connect)
