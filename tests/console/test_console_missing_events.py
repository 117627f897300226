"""Missing events on the Deliveries screen: listed, counted, explained, and gone once they come."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, lines, press, shown

from kusanya.clock import ManualClock
from kusanya.filters import Filter, parse
from kusanya.say import Language
from kusanya.store import Store
from kusanya.store.records import MissingEventRow, SortOrder, Verdict
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.deliveries.filtering import DeliveryRecord
from kusanya_console.deliveries.list import DELIVERY_LIST
from kusanya_console.lists.paging import ListPages
from kusanya_console.ui import language

WIDE = (160, 50)
NEXT = "right_square_bracket"


def missed(seed: Any, n: int, *, at: datetime, **fields: Any) -> Any:
    """Record a final state that polling learned while no event reported it."""
    done = seed.collection(
        n, at=at - timedelta(seconds=40), status="succeeded",
        completed_at=at - timedelta(seconds=20), **fields,
    )  # fmt: skip
    seed.polled(done, at=at)
    return done


@pytest.fixture
def pages(store: Store, clock: ManualClock) -> ListPages[DeliveryRecord]:
    """Return the list of arrivals and missing events."""
    context = AppContext(store=store, mode=Mode.LIVE, clock=clock)
    return DELIVERY_LIST.pages(context, Filter(), SortOrder.CREATED)


def test_missing_events_stand_among_the_arrivals_at_the_time_they_were_learned(
    pages: ListPages[DeliveryRecord], seed: Any, clock: ManualClock
) -> None:
    now = clock.now()
    for n in range(6):
        seed.life(n * 10, at=now - timedelta(minutes=10 - n))
    early = missed(seed, 901, at=now - timedelta(minutes=7, seconds=30))
    late = missed(seed, 902, at=now - timedelta(seconds=1))
    excerpt = pages.newest()
    kinds = ["missing" if isinstance(row, MissingEventRow) else "arrival" for row in excerpt.rows]
    assert kinds == ["missing", *["arrival"] * 3, "missing", *["arrival"] * 3]
    assert [row.collection_id for row in excerpt.rows if isinstance(row, MissingEventRow)] == [
        late.id, early.id,
    ]  # fmt: skip


def test_paging_over_the_merged_list_shows_every_row_once_in_both_directions(
    pages: ListPages[DeliveryRecord], seed: Any, clock: ManualClock
) -> None:
    now = clock.now()
    expected = []
    for n in range(40):
        at = now - timedelta(seconds=30 * n)
        if n % 3 == 0:
            # Every other one in the very microsecond of an arrival.
            done = missed(seed, 500 + n, at=at)
            expected.append(done.id)
            if n % 2:
                continue
        event = seed.event(seed.collection(n, at=at), at=at)
        seed.delivered(event, at=at, verdict=Verdict.REJECTED, reason="no_match", answer=400)
    whole = pages.page(limit=500)
    assert not whole.more
    ids = [row.id for row in whole.rows]
    assert len(ids) == len(set(ids))
    assert sorted(
        row.collection_id or "" for row in whole.rows if isinstance(row, MissingEventRow)
    ) == (sorted(expected))
    for step in (1, 3, 7):
        down, edge = [], None
        while True:
            page = pages.page(older_than=edge, limit=step)
            down += [row.id for row in page.rows]
            if not page.more:
                break
            edge = pages.key(page.rows[-1])
        assert down == ids
        up: list[str] = []
        edge = pages.key(whole.rows[-1])
        while True:
            page = pages.page(newer_than=edge, limit=step)
            up = [row.id for row in page.rows] + up
            if not page.more:
                break
            edge = pages.key(page.rows[0])
        assert up == ids[:-1]


def test_an_excerpt_around_a_missing_event_holds_it(
    pages: ListPages[DeliveryRecord], seed: Any, clock: ManualClock
) -> None:
    now = clock.now()
    for n in range(5):
        seed.life(n * 10, at=now - timedelta(minutes=10 - n))
    missed(seed, 901, at=now - timedelta(minutes=7, seconds=30))
    [row] = [row for row in pages.newest().rows if isinstance(row, MissingEventRow)]
    around = pages.around(row.key)
    assert len(around.rows) == 6
    assert row.id in {one.id for one in around.rows}
    assert len(pages.oldest().rows) == 6


def test_an_event_that_comes_later_marks_the_line_and_takes_it_out_of_the_list(
    pages: ListPages[DeliveryRecord], seed: Any, clock: ManualClock
) -> None:
    now = clock.now()
    done = missed(seed, 901, at=now)
    excerpt = pages.newest()
    [row] = excerpt.rows
    assert isinstance(row, MissingEventRow)
    assert pages.refreshed(excerpt, [row.id]).rows == (row,)
    seed.delivered(seed.event(done, at=now), at=now + timedelta(seconds=5))
    [marked] = pages.refreshed(excerpt, [row.id]).rows
    assert marked.verdict.value == "came since"
    assert [type(one).__name__ for one in pages.newest().rows] == ["DeliveryRow"]


def test_a_missing_event_that_the_filter_hides_has_not_arrived(
    store: Store, seed: Any, clock: ManualClock
) -> None:
    missed(seed, 901, at=clock.now() - timedelta(seconds=50), amount=7_000)
    context = AppContext(store=store, mode=Mode.LIVE, clock=clock)
    excerpt = DELIVERY_LIST.pages(context, parse("amount:7000"), SortOrder.CREATED).newest()
    other = DELIVERY_LIST.pages(context, parse("amount:8000"), SortOrder.CREATED)
    assert other.refreshed(excerpt, [row.id for row in excerpt.rows]) == excerpt


@pytest.mark.anyio
async def test_a_missing_event_is_listed_counted_and_explained_with_its_planned_attempts(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.life(0, at=clock.now() - timedelta(minutes=3))
    missed(seed, 901, at=clock.now() - timedelta(minutes=8), reference="INV-901")
    async with opened(size=WIDE) as (app, pilot):
        await press(pilot, at_rest, "2", "j")
        said = shown(app)
        assert "final by poll" in said
        assert "∅ missing" in said
        assert "3/7" in said, "as many as the strip calls not seen"
        assert said.count("not seen") == 3
        assert "missing 1" in said
        assert "Nothing about it has reached this receiver" in said
        assert "nothing is lost: polling knows the state" in said
        assert "not seen" in said
        assert "planned" in said
        assert "INV-901" in said
        await press(pilot, at_rest, NEXT)
        assert "Nothing of it has arrived" in shown(app)
        await press(pilot, at_rest, "y")
        assert app.clipboard == "INV-901"


@pytest.mark.anyio
async def test_a_missing_event_whose_delivery_was_refused_is_due_after_that_refusal(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    at = clock.now() - timedelta(seconds=20)
    done = missed(seed, 901, at=at, reference="INV-901")
    refused = {"verdict": Verdict.REJECTED, "reason": "no_match", "answer": 400}
    seed.delivered(seed.event(done, at=at), at=at, **refused)
    async with opened(size=WIDE) as (app, pilot):
        await press(pilot, at_rest, "2", "j")
        said = shown(app)
        assert "∅ missing" in said
        assert "A rejected one claims" in said
        assert "15:24:47   in 40 s" in said, "a minute after the refusal, not at once"
        assert "400 no_match" in said
        await press(pilot, at_rest, NEXT)
        assert "Nothing of it was accepted" in shown(app)


@pytest.mark.anyio
@pytest.mark.parametrize(("language_", "missing"), [("en", "missing 12"), ("sw", "haipo 12")])
async def test_how_many_events_are_missing_is_never_cut(
    *, language_: str, missing: str, opened: OpenConsole, seed: Any, clock: ManualClock
) -> None:
    with seed.together():
        for n in range(12):
            missed(seed, n, at=clock.now() - timedelta(minutes=8, seconds=n))
    for n in range(20, 30):
        at = clock.now() - timedelta(minutes=9)
        done = seed.collection(n, at=at, status="succeeded", completed_at=at)
        worse = Verdict.CONFLICT if n % 2 else Verdict.UNPARSEABLE
        seed.delivered(seed.event(done, at=at), at=at, verdict=worse)
    language.use(Language(language_))
    try:
        async with opened("2", size=(80, 24)) as (app, _pilot):
            assert missing in lines(app)[1]
    finally:
        language.use(Language.ENGLISH)


def test_more_missing_events_than_a_page_are_all_counted_and_listed(
    pages: ListPages[DeliveryRecord], store: Store, seed: Any, clock: ManualClock
) -> None:
    with seed.together():
        for n in range(501):
            missed(seed, n, at=clock.now() - timedelta(seconds=n))
    excerpt = pages.newest()
    while excerpt.has_older:
        excerpt = pages.older(excerpt)
    assert len({row.id for row in excerpt.rows}) == 501
    hour = clock.now().replace(minute=0, second=0)
    until = hour + timedelta(hours=1)
    assert store.deliveries.count_missing(Mode.LIVE, since=hour, until=until) == 501
    assert store.deliveries.count_missing(Mode.TEST, since=hour, until=until) == 0


@pytest.mark.anyio
async def test_the_event_of_a_missing_one_turns_it_into_an_arrival_at_once(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    done = missed(seed, 901, at=clock.now() - timedelta(minutes=1))
    async with opened(size=WIDE) as (app, pilot):
        await press(pilot, at_rest, "2")
        assert "∅ missing" in shown(app)
        seed.delivered(seed.event(done, at=clock.now()), at=clock.now())
        app.tick()
        await at_rest(pilot)
        assert "∅ missing" not in shown(app)
        assert "● verified" in shown(app)


@pytest.mark.anyio
async def test_a_missing_event_learned_while_another_screen_was_shown_is_there_on_return(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.life(0, at=clock.now() - timedelta(minutes=3))
    async with opened(size=WIDE) as (app, pilot):
        await press(pilot, at_rest, "2", "4")
        missed(seed, 901, at=clock.now() - timedelta(seconds=5))
        app.tick()
        await at_rest(pilot)
        await press(pilot, at_rest, "2")
        assert "∅ missing" in shown(app)


@pytest.mark.anyio
async def test_the_filter_finds_missing_events_by_their_verdict(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.busy(10)
    missed(seed, 990, at=clock.now() - timedelta(minutes=2), reference="INV-990")
    async with opened(size=WIDE) as (app, pilot):
        await press(pilot, at_rest, "2", "slash", *"verdict:missing", "enter")
        rows = app.screen.table.excerpt.rows  # type: ignore[attr-defined] # the list
        assert [row.reference for row in rows] == ["INV-990"]
