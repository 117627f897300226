"""A list of any length, a few pages at a time.

`ListPages` reads one list as it is filtered and makes the next `ListExcerpt` from the last. All of
it runs on worker threads and costs the same at the newest end and ten million records back. What
no index finds is tested row by row, for a quarter of a second: a rare thing in a long history must
not hold the screen, which says how far back the search came.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from msgspec.structs import replace

from kusanya.store.records import Key, Page
from kusanya_console.ui.excerpt import ListExcerpt, Row

PAGE_ROWS: Final = 200
HELD_PAGES: Final = 5
BUDGET_S: Final = 0.25
_STEP: Final = 500
R = TypeVar("R", bound=Row)
Test = Callable[[Any], bool]


class ListPages(Generic[R]):
    """Pages of one list and excerpts of it; every method reads the store.

    `page` returns the rows next to a key of the order: below the first, or above the second.
    `refetch` returns the present form of those among known records that the list still has, and
    `departed` what stands in the excerpt for one that it has no more. `test` tells which rows pass.
    In a turned list the smallest key stands at the top, and "older" is what stands further down.
    """

    def __init__(
        self,
        page: Callable[[Key | None, Key | None, int], Page[R]],
        *,
        refetch: Callable[[Sequence[str]], Mapping[str, R]],
        key: Callable[[R], Key],
        test: Test | None = None,
        departed: Callable[[R], R] | None = None,
        budget_s: float = BUDGET_S,
        monotonic: Callable[[], float] = time.monotonic,
        is_turned: bool = False,
    ) -> None:
        self._page = page
        self._refetch = refetch
        self._test = test
        self._departed = departed
        self._budget_s = budget_s
        self._monotonic = monotonic
        self.key = key
        self._is_turned = is_turned
        """True where the smallest key stands at the top."""
        self.scan_stopped_at: Key | None = None
        """Where the last page stopped searching for want of time; None when it did not."""

    def page(
        self, *, older_than: Key | None = None, newer_than: Key | None = None, limit: int
    ) -> Page[R]:
        """Return what passes next to a key, or the newest; where time is up, what was found."""
        self.scan_stopped_at = None
        if self._test is None:
            return self._page(older_than, newer_than, limit)
        upwards = newer_than is not None
        until = self._monotonic() + self._budget_s
        kept: list[R] = []
        more = True
        while len(kept) < limit:
            step = self._page(older_than, newer_than, _STEP)
            rows = step.rows[::-1] if upwards else step.rows
            kept += [row for row in rows if self._test(row)]
            if not step.more or not rows:
                more = len(kept) > limit
                break
            edge = self.key(rows[-1])
            older_than, newer_than = (None, edge) if upwards else (edge, None)
            if len(kept) < limit and self._monotonic() >= until:
                self.scan_stopped_at = edge
                break
        kept = kept[:limit]
        return Page(tuple(kept[::-1] if upwards else kept), more)

    def turned(self) -> "ListPages[R]":
        """Return the same list with its last record at the top."""

        def page(below: Key | None, above: Key | None, limit: int) -> Page[R]:
            begin = Key.before_all() if below is None and above is None else below
            found = self._page(above, begin, limit)
            return Page(found.rows[::-1], found.more)

        return ListPages(
            page,
            refetch=self._refetch,
            key=self.key,
            test=self._test,
            departed=self._departed,
            budget_s=self._budget_s,
            monotonic=self._monotonic,
            is_turned=not self._is_turned,
        )

    def newest(self) -> ListExcerpt[R]:
        """Return the newest page."""
        page = self.page(limit=PAGE_ROWS)
        return self._excerpt(page.rows, has_newer=False, has_older=page.more)

    def oldest(self) -> ListExcerpt[R]:
        """Return the oldest page."""
        end = Key.after_all() if self._is_turned else Key.before_all()
        page = self.page(newer_than=end, limit=PAGE_ROWS)
        return ListExcerpt(page.rows, has_newer=page.more, has_older=False)

    def around(self, key: Key) -> ListExcerpt[R]:
        """Return an excerpt in which the record at `key` has neighbours on both sides."""
        # Keys have a next one, not one before: the record itself is read with what is smaller.
        upper, lower = (key.just_above, key) if self._is_turned else (key, key.just_above)
        above = self.page(newer_than=upper, limit=PAGE_ROWS // 2)
        below = self.page(older_than=lower, limit=PAGE_ROWS)
        return self._excerpt((*above.rows, *below.rows), above.more, below.more)

    def older(self, excerpt: ListExcerpt[R]) -> ListExcerpt[R]:
        """Return `excerpt` with the next older page; the newest rows go when it holds too many."""
        if not excerpt.rows and excerpt.reached is None:
            return self.newest()
        edge = excerpt.reached or self.key(excerpt.rows[-1])
        page = self.page(older_than=edge, limit=PAGE_ROWS)
        rows = (*excerpt.rows, *page.rows)
        kept = rows[-PAGE_ROWS * HELD_PAGES :]
        return self._excerpt(kept, excerpt.has_newer or len(kept) < len(rows), page.more)

    def newer(self, excerpt: ListExcerpt[R]) -> ListExcerpt[R]:
        """Return `excerpt` with the next newer page; the oldest rows go when it holds too many."""
        if not excerpt.rows:
            return self.newest()
        page = self.page(newer_than=self.key(excerpt.rows[0]), limit=PAGE_ROWS)
        rows = (*page.rows, *excerpt.rows)
        kept = rows[: PAGE_ROWS * HELD_PAGES]
        more = page.more and self.scan_stopped_at is None
        return ListExcerpt(kept, more, excerpt.has_older or len(kept) < len(rows), excerpt.reached)

    def refreshed(self, excerpt: ListExcerpt[R], changed: Iterable[str]) -> ListExcerpt[R]:
        """Return `excerpt` with its changed records read again, and those new inside it."""
        wanted = sorted(changed)
        known = self._refetch(wanted)
        news = self._passing(known)
        held = {row.id: row for row in excerpt.rows}
        if self._departed is not None:
            gone = [held[name] for name in wanted if name in held and name not in known]
            news |= {row.id: self._departed(row) for row in gone}
        if not news or not excerpt.rows:
            return excerpt
        first, last = self.key(excerpt.rows[0]), self.key(excerpt.rows[-1])
        low, high = min(first, last), max(first, last)
        come = [self.key(row) for row in news.values() if row.id not in held]
        inside = sum(low < key < high for key in come)
        below = any(key > high if self._is_turned else key < low for key in come)
        has_older = excerpt.has_older or (below and excerpt.reached is None)
        # An open payment that became final has another place in a list by final state.
        moved = any(
            self.key(row) != self.key(held[name]) for name, row in news.items() if name in held
        )
        if inside == 0 and not moved:
            return replace(excerpt.patched(news), has_older=has_older)
        many = len(excerpt.rows) + inside
        if self._is_turned:
            page = self.page(newer_than=high.just_above, limit=many)
        else:
            page = self.page(older_than=high.just_above, limit=many)
        if self.scan_stopped_at is not None:  # some of the excerpt were not reached
            return excerpt.patched(news)
        if moved:
            return ListExcerpt(page.rows, excerpt.has_newer, page.more, excerpt.reached)
        rows = tuple(row for row in page.rows if self.key(row) >= low)
        return ListExcerpt(rows, excerpt.has_newer, has_older, excerpt.reached)

    def newer_count(self, excerpt: ListExcerpt[R]) -> int:
        """Count the records above the excerpt, PAGE_ROWS at most."""
        if not excerpt.rows:
            return 0
        page = self.page(newer_than=self.key(excerpt.rows[0]), limit=PAGE_ROWS)
        return len(page.rows) + page.more

    def is_touched(self, ids: Iterable[str]) -> bool:
        """Return whether changed records belong to this list, where that costs little."""
        return self._test is None or bool(self._passing(self._refetch(sorted(ids))))

    def next_older(self, key: Key) -> R | None:
        """Return the nearest older record of this list, or None when there is none."""
        page = self.page(older_than=key, limit=1)
        return page.rows[0] if page.rows else None

    def next_newer(self, key: Key) -> R | None:
        """Return the nearest newer record of this list, or None when there is none."""
        page = self.page(newer_than=key, limit=1)
        return page.rows[-1] if page.rows else None

    def _passing(self, rows: Mapping[str, R]) -> dict[str, R]:
        test = self._test
        return {name: row for name, row in rows.items() if test is None or test(row)}

    def _excerpt(self, rows: tuple[R, ...], has_newer: bool, has_older: bool) -> ListExcerpt[R]:  # noqa: FBT001
        stopped = self.scan_stopped_at
        return ListExcerpt(rows, has_newer, has_older and stopped is None, stopped)


def fixed_pages(rows: tuple[R, ...]) -> ListPages[R]:
    """Return a list of these records alone, in one page."""

    def page(older: Key | None, newer: Key | None, _limit: int) -> Page[R]:
        return Page(() if older or newer else rows, more=False)

    return ListPages(page, refetch=lambda _ids: {}, key=lambda _row: Key.before_all())
