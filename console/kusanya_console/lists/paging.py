"""Lists of any length, a few pages at a time.

A `PageSource` reads a list by keyset; `Pages` makes the next `PageWindow` from the last. All of it
runs on worker threads and costs the same at the newest end and ten million records back.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Generic, Protocol, TypeVar

from kusanya.store import Store
from kusanya.store.records import (
    CollectionFilter,
    CollectionRow,
    DeliveryFilter,
    DeliveryRow,
    Key,
    Order,
    Page,
)
from kusanya.store.tables.values import delivery_id, delivery_seq
from kusanya.wire import Mode
from kusanya_console.widgets.window import PageWindow, Row

PAGE_ROWS: Final = 200
HELD_PAGES: Final = 5
_BEFORE_ALL: Final = Key(-(2**62), "")
_LAST: Final = 2**63 - 1


R = TypeVar("R", bound=Row)


class PageSource(Protocol[R]):
    """One list: bound to a mode, a filter and an indexed order; newest or largest first."""

    @property
    def stopped_at(self) -> Key | None:
        """Return where the last page stopped searching for want of time; None when it did not."""
        ...

    @property
    def tests_rows(self) -> bool:
        """Tell whether rows are tested one by one, so that a page may take long."""
        ...

    def key(self, row: R) -> Key:
        """Return the record's place in this order."""
        ...

    def page(self, *, older_than: Key | None, newer_than: Key | None, limit: int) -> Page[R]:
        """Return the page next to a key, or the newest; never reads more than it returns."""
        ...

    def again(self, ids: Sequence[str]) -> Mapping[str, R]:
        """Return the present form of known records."""
        ...


class CollectionSource:
    """The collections of one mode."""

    stopped_at: Key | None = None
    tests_rows = False

    def __init__(
        self,
        store: Store,
        *,
        mode: Mode,
        where: CollectionFilter | None = None,
        order: Order = Order.CREATED,
    ) -> None:
        self._store = store
        self._mode = mode
        self._where = where or CollectionFilter()
        self._order = order

    def key(self, row: CollectionRow) -> Key:
        """Return the place of `row` in this source's order."""
        if self._order is Order.FINAL and row.final_seen_at is None:
            return row.key  # it has no place there yet: its neighbours are those of its creation
        return row.key_in(self._order)

    def page(
        self, *, older_than: Key | None, newer_than: Key | None, limit: int
    ) -> Page[CollectionRow]:
        """Return the page next to a key, or the newest."""
        return self._store.collections.page(
            self._mode,
            where=self._where,
            order=self._order,
            older_than=older_than,
            newer_than=newer_than,
            limit=limit,
        )

    def again(self, ids: Sequence[str]) -> Mapping[str, CollectionRow]:
        """Return the present form of known collections that this order lists."""
        found = self._store.collections.by_id(ids, self._mode)
        if self._order is not Order.FINAL:
            return found
        return {name: row for name, row in found.items() if row.final_seen_at is not None}


class DeliverySource:
    """The deliveries of one mode, in the order of their arrival."""

    stopped_at: Key | None = None
    tests_rows = False

    def __init__(self, store: Store, *, mode: Mode, where: DeliveryFilter | None = None) -> None:
        self._store = store
        self._mode = mode
        self._where = where or DeliveryFilter()

    def key(self, row: DeliveryRow) -> Key:
        """Return the place of `row` in the order of arrival."""
        return row.key

    def page(
        self, *, older_than: Key | None, newer_than: Key | None, limit: int
    ) -> Page[DeliveryRow]:
        """Return the page next to a key, or the newest; any text may stand in a key as its id."""
        return self._store.deliveries.page(
            self._mode,
            where=self._where,
            older_than=None if older_than is None else _arrival_key(older_than),
            newer_than=None if newer_than is None else _arrival_key(newer_than),
            limit=limit,
        )

    def again(self, ids: Sequence[str]) -> Mapping[str, DeliveryRow]:
        """Return known deliveries."""
        return self._store.deliveries.by_id(ids)


class Pages(Generic[R]):
    """Windows on one source; every method reads the store and returns a window of its own."""

    def __init__(self, source: PageSource[R]) -> None:
        self._source = source

    def newest(self) -> PageWindow[R]:
        """Return the newest page."""
        page = self._source.page(older_than=None, newer_than=None, limit=PAGE_ROWS)
        return self._window(page.rows, has_newer=False, has_older=page.more)

    def oldest(self) -> PageWindow[R]:
        """Return the oldest page."""
        page = self._source.page(older_than=None, newer_than=_BEFORE_ALL, limit=PAGE_ROWS)
        return PageWindow(page.rows, has_newer=page.more, has_older=False)

    def around(self, key: Key) -> PageWindow[R]:
        """Return a window in which the record at `key` has neighbours on both sides."""
        above = self._source.page(older_than=None, newer_than=key, limit=PAGE_ROWS // 2)
        below = self._source.page(older_than=_right_above(key), newer_than=None, limit=PAGE_ROWS)
        return self._window((*above.rows, *below.rows), above.more, below.more)

    def older(self, window: PageWindow[R]) -> PageWindow[R]:
        """Return `window` with the next older page; the newest rows go when it holds too many."""
        if not window.rows and window.reached is None:
            return self.newest()
        edge = window.reached or self._source.key(window.rows[-1])
        page = self._source.page(older_than=edge, newer_than=None, limit=PAGE_ROWS)
        rows = (*window.rows, *page.rows)
        kept = rows[-PAGE_ROWS * HELD_PAGES :]
        return self._window(kept, window.has_newer or len(kept) < len(rows), page.more)

    def newer(self, window: PageWindow[R]) -> PageWindow[R]:
        """Return `window` with the next newer page; the oldest rows go when it holds too many."""
        if not window.rows:
            return self.newest()
        edge = self._source.key(window.rows[0])
        page = self._source.page(older_than=None, newer_than=edge, limit=PAGE_ROWS)
        rows = (*page.rows, *window.rows)
        kept = rows[: PAGE_ROWS * HELD_PAGES]
        more = page.more and self._source.stopped_at is None
        return PageWindow(kept, more, window.has_older or len(kept) < len(rows), window.reached)

    def refreshed(self, window: PageWindow[R], changed: Iterable[str]) -> PageWindow[R]:
        """Return `window` with its changed records read again, and those new inside it."""
        news = self._source.again(sorted(changed))
        if not news or not window.rows:
            return window
        held = {row.id for row in window.rows}
        first, last = self._source.key(window.rows[0]), self._source.key(window.rows[-1])
        inside = sum(
            row.id not in held and last < self._source.key(row) < first for row in news.values()
        )
        if inside == 0:
            return window.patched(news)
        page = self._source.page(
            older_than=_right_above(first), newer_than=None, limit=len(window.rows) + inside
        )
        rows = tuple(row for row in page.rows if self._source.key(row) >= last)
        return PageWindow(rows, window.has_newer, window.has_older, window.reached)

    def newer_count(self, window: PageWindow[R]) -> int:
        """Count the records above the window, PAGE_ROWS at most."""
        if not window.rows:
            return 0
        edge = self._source.key(window.rows[0])
        page = self._source.page(older_than=None, newer_than=edge, limit=PAGE_ROWS)
        return len(page.rows) + page.more

    def _window(self, rows: tuple[R, ...], has_newer: bool, has_older: bool) -> PageWindow[R]:  # noqa: FBT001
        stopped = self._source.stopped_at
        return PageWindow(rows, has_newer, has_older and stopped is None, stopped)

    def touched(self, ids: Iterable[str]) -> bool:
        """Tell whether records with news belong to this list, where that can be told cheaply."""
        return not self._source.tests_rows or bool(self._source.again(sorted(ids)))

    def after(self, key: Key) -> R | None:
        """Return the nearest older record of this source, or None when there is none."""
        page = self._source.page(older_than=key, newer_than=None, limit=1)
        return page.rows[0] if page.rows else None

    def before(self, key: Key) -> R | None:
        """Return the nearest newer record of this source, or None when there is none."""
        page = self._source.page(older_than=None, newer_than=key, limit=1)
        return page.rows[-1] if page.rows else None


def _right_above(key: Key) -> Key:
    # The smallest key above this one, so that what is older than it includes the record itself.
    return Key(key.value, key.id + "\0")


def _arrival_key(key: Key) -> Key:
    # The store takes ids of deliveries alone: what lies between two of them becomes the upper one.
    if delivery_seq(key.id) is not None:
        return key
    below = delivery_seq(key.id.removesuffix("\0"))
    if below is not None:
        return Key(key.value, delivery_id(below + 1))
    return Key(key.value, delivery_id(0 if key.id < delivery_id(0) else _LAST))
