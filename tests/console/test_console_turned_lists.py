"""A list with its last record on top is the same list: no row is lost, doubled or out of place."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kusanya.clock import ManualClock
from kusanya.filters import parse
from kusanya.store import Store
from kusanya.store.records import Key, SortOrder, Verdict
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.deliveries.list import DELIVERY_LIST
from kusanya_console.lists.paging import HELD_PAGES, PAGE_ROWS, ListPages
from kusanya_console.live.list import COLLECTION_LIST

Pages = Callable[..., ListPages[Any]]


@pytest.fixture
def pages(store: Store, clock: ManualClock) -> Pages:
    """Return what opens the list of collections or of deliveries."""
    context = AppContext(store=store, mode=Mode.LIVE, clock=clock)

    def opening(
        order: SortOrder = SortOrder.CREATED, text: str = "", *, of: Any = COLLECTION_LIST
    ) -> ListPages[Any]:
        found: ListPages[Any] = of.pages(context, parse(text), order)
        return found

    return opening


def ids(rows: Any) -> list[str]:
    return [row.id for row in rows]


def walked(pages: ListPages[Any], step: int, *, up: bool) -> list[str]:
    """Return the whole list read in small pages, from its top or from its lower end."""
    found: list[str] = []
    edge: Key | None = Key.after_all() if up else None
    while True:
        page = (
            pages.page(newer_than=edge, limit=step)
            if up
            else pages.page(older_than=edge, limit=step)
        )
        found = [*ids(page.rows), *found] if up else [*found, *ids(page.rows)]
        edge = pages.scan_stopped_at or (
            pages.key(page.rows[0 if up else -1]) if page.rows else edge
        )
        if not page.more:
            return found


@pytest.mark.parametrize("order", list(SortOrder))
@pytest.mark.parametrize(
    "text", ["", "channel:mpesa", "amount:5000..90000", "fee:100..900", "ref:48201"]
)
def test_small_pages_from_either_end_show_each_row_once(
    order: SortOrder, text: str, pages: Pages, seed: Any, clock: ManualClock
) -> None:
    with seed.together():
        for n in range(70):
            # Of three, two were created in one instant, and amounts repeat.
            seed.life(n, at=clock.now() - timedelta(seconds=100 * (n // 3)), amount=5_000 + n % 9)
    straight = ids(pages(order, text).page(limit=500).rows)
    assert len(straight) == len(set(straight))
    turned = pages(order, text).turned()
    for step in (1, 7, 500):
        assert walked(turned, step, up=False) == straight[::-1]
        assert walked(turned, step, up=True) == straight[::-1]


def test_windows_move_over_a_turned_list_of_many_pages(
    pages: Pages, seed: Any, clock: ManualClock
) -> None:
    many = PAGE_ROWS * (HELD_PAGES + 1)
    with seed.together():
        for n in range(many):
            seed.answered(seed.collection(n, at=clock.now() - timedelta(seconds=n // 2)))
    turned = pages().turned()
    whole = ids(turned.page(limit=many).rows)
    excerpt = turned.newest()
    assert ids(excerpt.rows) == whole[:PAGE_ROWS]
    while excerpt.has_older:
        excerpt = turned.older(excerpt)
        assert ids(excerpt.rows) == whole[whole.index(excerpt.rows[0].id) :][: len(excerpt.rows)]
    assert ids(excerpt.rows) == ids(turned.oldest().rows)[-len(excerpt.rows) :] or (
        ids(excerpt.rows)[-PAGE_ROWS:] == ids(turned.oldest().rows)
    )
    assert excerpt.has_newer
    while excerpt.has_newer:
        excerpt = turned.newer(excerpt)
    assert excerpt.rows[0].id == whole[0]
    middle = whole[many // 2]
    around = turned.around(turned.key(next(row for row in excerpt.rows if row.id == middle)))
    place = whole.index(around.rows[0].id)
    assert ids(around.rows) == whole[place : place + len(around.rows)]
    assert middle in ids(around.rows)[10:-10]


def test_what_comes_into_a_turned_window_stands_in_its_place_or_is_announced_below(
    pages: Pages, seed: Any, clock: ManualClock
) -> None:
    for n in (1, 2, 4):
        seed.answered(seed.collection(n, at=clock.now() - timedelta(minutes=10 - n)))
    turned = pages().turned()
    excerpt = turned.newest()
    assert not excerpt.has_older
    for n in (3, 9):
        seed.answered(seed.collection(n, at=clock.now() - timedelta(minutes=10 - n)))
    news = [f"col_{n:016}" for n in (3, 9)]
    after = turned.refreshed(excerpt, news)
    assert [row.reference for row in after.rows] == [f"INV-{482_000 + n}" for n in (1, 2, 3, 4)]
    assert after.has_older, "the newest stands below, and scrolling down reaches it"
    assert [row.reference for row in turned.older(after).rows][-1] == "INV-482009"


def test_arrivals_and_missing_events_are_turned_together(
    pages: Pages, seed: Any, clock: ManualClock
) -> None:
    now = clock.now()
    for n in range(30):
        at = now - timedelta(seconds=30 * (n // 2))
        if n % 3:
            event = seed.event(seed.collection(n, at=at), at=at)
            seed.delivered(event, at=at, verdict=Verdict.REJECTED, reason="no_match", answer=400)
        else:
            done = seed.collection(500 + n, at=at, status="succeeded", completed_at=at)
            seed.polled(done, at=at)
    straight = ids(pages(of=DELIVERY_LIST).page(limit=500).rows)
    assert len(straight) == 30
    turned = pages(of=DELIVERY_LIST).turned()
    for step in (1, 4, 500):
        assert walked(turned, step, up=False) == straight[::-1]
        assert walked(turned, step, up=True) == straight[::-1]


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("text", ["", "channel:mpesa"])
def test_a_payment_that_becomes_final_moves_to_its_place_and_no_row_is_lost(
    pages: Pages, seed: Any, clock: ManualClock, text: str, is_turned: bool
) -> None:
    fields = {"channel": "MPESA_TZ"}
    for n in range(6):
        seed.life(n, at=clock.now() - timedelta(minutes=50 - n), **fields)
    waiting = [
        seed.collection(100 + n, at=clock.now() - timedelta(minutes=9 - n), **fields)
        for n in range(3)
    ]
    for collection in waiting:
        seed.answered(collection)
    listed = pages(SortOrder.FINAL, text)
    listed = listed.turned() if is_turned else listed
    excerpt = listed.newest()
    seed.life(101, at=clock.now() - timedelta(minutes=8), **fields)
    after = listed.refreshed(excerpt, [waiting[1].id])
    assert ids(after.rows) == ids(listed.newest().rows)
    assert sorted(ids(after.rows)) == sorted(ids(excerpt.rows))
    assert ids(after.rows) != ids(excerpt.rows)
