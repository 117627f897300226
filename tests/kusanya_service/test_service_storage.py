"""The storage: durable settings, one bad change among good ones, a full queue, a full disk."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kusanya_service.errors import StorageBusy, StorageError
from kusanya_service.storage import changes, queries
from kusanya_service.storage.schema import MIGRATIONS
from kusanya_service.storage.store import Storage
from kusanya_service.storage.writer import Writer

pytestmark = pytest.mark.anyio


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    one = Storage.open(tmp_path)
    one.start()
    yield one
    await one.close()


def pragma(connection: Any, name: str) -> Any:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


async def test_every_answer_is_durable_and_the_schema_is_whole(storage: Storage) -> None:
    wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "mmap_size": 0}
    for name, value in wanted.items():
        assert await storage.write(pragma, name) == value
    assert await storage.write(pragma, "user_version") == len(MIGRATIONS)
    assert await storage.write(pragma, "integrity_check") == "ok"


def bad(connection: Any) -> None:
    changes.set_meta(connection, "half", "done")
    raise ValueError("a bug in one change")


async def test_a_bad_change_fails_alone_and_leaves_nothing(storage: Storage) -> None:
    writes: list[Any] = []
    for number in range(20):
        writes.append(storage.write(changes.set_meta, f"good-{number}", "kept"))
        if number == 10:
            writes.append(storage.write(bad))
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(one) for one in results if one is not None] == [ValueError]
    assert queries.meta(storage.reader, "half") is None
    kept = [queries.meta(storage.reader, f"good-{number}") for number in range(20)]
    assert kept == ["kept"] * 20


async def test_a_full_queue_refuses_at_once(storage: Storage, tmp_path: Path) -> None:
    writer = Writer(None, tmp_path / "service.sqlite", capacity=2)
    waiting = [writer.submit(changes.set_meta, f"{number}", "") for number in range(2)]
    with pytest.raises(StorageBusy):
        writer.submit(changes.set_meta, "too many", "")
    await asyncio.gather(*waiting)
    await writer.submit(changes.set_meta, "room again", "")
    await writer.close()


def limit_size(connection: Any) -> None:
    connection.execute("PRAGMA max_page_count = 1")


async def test_a_full_disk_refuses_keeps_nothing_and_recovers_when_there_is_room(
    storage: Storage,
) -> None:
    await storage.write(limit_size)
    with pytest.raises(StorageError, match="full"):
        await storage.write(changes.set_meta, "large", "x" * 1_000_000)
    assert queries.meta(storage.reader, "large") is None
    await storage.write(changes.set_meta, "large", "x" * 1_000_000)
    assert queries.meta(storage.reader, "large") == "x" * 1_000_000


def use_keys(connection: Any, count: int) -> None:
    changes.add_collection(
        connection,
        seq=1,
        collection_id="col_1",
        mode="test",
        outcome="never",
        twice=False,
        due_at=None,
        body=b"{}",
    )
    for number in range(count):
        changes.add_key_use(connection, number.to_bytes(16), b"", 1, number)


def count_keys(connection: Any) -> int:
    found: int = connection.execute("SELECT count(*) FROM idempotency").fetchone()[0]
    return found


@pytest.mark.spec("limits-key-retention")
async def test_keys_past_their_retention_are_removed_oldest_first_a_few_at_a_time(
    storage: Storage,
) -> None:
    await storage.write(use_keys, 600)
    await storage.write(changes.purge_key_uses, received_until=399)
    assert await storage.write(count_keys) == 600 - 256
    await storage.write(changes.purge_key_uses, received_until=399)
    assert await storage.write(count_keys) == 200
    assert queries.key_answer(storage.reader, (399).to_bytes(16)) is None
    assert queries.key_answer(storage.reader, (400).to_bytes(16)) is not None
