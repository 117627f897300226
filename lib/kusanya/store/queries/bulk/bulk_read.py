"""`store.bulk_read`: whole months as Arrow columns, all of them from one moment."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kusanya.errors import StoreUnavailable
from kusanya.store.queries.base import StorePart

if TYPE_CHECKING:
    from kusanya.store.queries.bulk.snapshot import BulkSnapshot


class BulkRead(StorePart):
    """Reading in large pieces; rows never become objects."""

    @contextmanager
    def snapshot(self) -> "Iterator[BulkSnapshot]":
        """Yield one moment of the store: what commits meanwhile is not seen.

        Raises StoreUnavailable where pyarrow is missing or the store cannot be read.
        """
        try:
            from kusanya.store.queries.bulk.snapshot import BulkSnapshot
        except ImportError:
            raise StoreUnavailable(
                "reading in bulk needs pyarrow: pip install 'kusanya[reconcile]'"
            ) from None
        with self._reading_one_moment("read collections") as connection:
            yield BulkSnapshot(connection)
