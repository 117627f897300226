"""A store that cannot be written is told: once in the log, and to whoever asks for its health."""

import errno
import logging
from typing import Any

import pytest
from sqlalchemy import event

from kusanya.errors import StoreUnavailable
from kusanya.store import Store


class Disk:
    """The disk under a store: full when a test says so."""

    def __init__(self, store: Store) -> None:
        self.full = False
        event.listen(store._engines.writer, "begin", self._begin)

    def _begin(self, _connection: object) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [
        (record.levelname, record.getMessage())
        for record in caplog.records
        if record.name == "kusanya.store"
    ]


def refused(store: Store, make: Any, count: int) -> None:
    for number in range(count):
        with pytest.raises(StoreUnavailable):
            store.record(make.arrival(number))


def test_an_outage_is_one_line_when_it_begins_and_one_when_it_ends(
    store: Store, make: Any, caplog: pytest.LogCaptureFixture
) -> None:
    disk = Disk(store)
    with caplog.at_level(logging.INFO, logger="kusanya.store"):
        store.record(make.arrival(100))
        assert said(caplog) == []
        disk.full = True
        refused(store, make, 7)
        assert said(caplog) == [("WARNING", "the store cannot be written")]
        assert caplog.records[0].__dict__["reason"] == "No space left on device"
        assert store.url_shown == caplog.records[0].__dict__["store"]
        disk.full = False
        store.record(make.arrival(1))
        store.record(make.arrival(2))
    assert said(caplog)[1:] == [("INFO", "the store can be written again")]
    assert caplog.records[1].__dict__["refused"] == 7


def test_a_store_is_not_writable_until_a_write_has_succeeded(store: Store, make: Any) -> None:
    disk = Disk(store)
    store.record(make.arrival(100))
    head = store.feed.head()
    disk.full = True
    refused(store, make, 1)
    with pytest.raises(StoreUnavailable, match="No space left"):
        store.prove_writable()
    disk.full = False
    # Nothing else is written meanwhile: asking is what finds out.
    store.prove_writable()
    assert store.feed.head() == head
    assert store.maintenance.check() == ()


def test_an_idle_store_is_asked_by_writing(store: Store) -> None:
    disk = Disk(store)
    disk.full = True
    assert store.feed.head() == 0
    with pytest.raises(StoreUnavailable, match="No space left"):
        store.prove_writable()


def test_a_commit_just_now_is_proof_enough(store: Store, make: Any) -> None:
    store.record(make.arrival(1))
    assert store._journal is not None
    committed_at = store._journal.outage._committed_at
    store.prove_writable()
    if store._journal.outage.committed_within(1.0):
        assert store._journal.outage._committed_at == committed_at
