"""What a receiver has kept and logged, and waiting for it."""

import asyncio
import logging
from collections.abc import Callable

import pytest

from kusanya.store import Store
from kusanya.store.records import DeliveryRow
from kusanya.wire import Mode


def kept(store: Store, mode: Mode = Mode.TEST) -> tuple[DeliveryRow, ...]:
    return store.deliveries.page(mode).rows


def logged(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [line for line in caplog.records if line.name == "kusanya.receiver"]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what is awaited has no event of its own
            await asyncio.sleep(0)
