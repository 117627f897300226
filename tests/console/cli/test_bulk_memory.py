"""How reconcile holds its memory: only as long as it reads."""

import gc

import pyarrow as pa

from kusanya_console.cli.process.bulk_memory import memory_for_bulk


def test_what_was_imported_is_not_looked_through_until_the_end() -> None:
    gc.unfreeze()
    assert gc.get_freeze_count() == 0
    with memory_for_bulk():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0


def test_arrow_has_its_own_allocator_again_afterwards() -> None:
    before = pa.default_memory_pool().backend_name
    assert before != "system"
    with memory_for_bulk():
        assert pa.default_memory_pool().backend_name == "system"
    assert pa.default_memory_pool().backend_name == before
