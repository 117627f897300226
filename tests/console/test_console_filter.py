"""Narrowing a list: with indexes where there are any, by testing rows where there are none."""

from datetime import timedelta
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, lines, shown, table
from textual.widgets import Input

from kusanya.clock import ManualClock
from kusanya.filters import FilterError, parse
from kusanya.store import Store
from kusanya.store.records import SortOrder
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.deliveries.filtering import DELIVERY_KEYS
from kusanya_console.deliveries.list import DELIVERY_LIST
from kusanya_console.live.filtering import COLLECTION_KEYS
from kusanya_console.live.list import COLLECTION_LIST


@pytest.fixture
def context(store: Store, clock: ManualClock) -> AppContext:
    return AppContext(store=store, mode=Mode.LIVE, clock=clock)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("on_hold", []),
        ("status:on_hold", ["INV-482900"]),
        ("! contradiction", ["INV-482901"]),
        ("ref=INV-482900", ["INV-482900"]),
        ("phone:0754000555", ["INV-482902"]),
        ("phone:555", ["INV-482902"]),
        ("phone:+255•••••555", ["INV-482902"]),
        ("ref:v-482900", ["INV-482900"]),
        ("82900", ["INV-482900"]),
        ("ref:82 on_hold", []),
        ("ref:82 status:on_hold", ["INV-482900"]),
        ("id:col_0000000000000903,col_0000000000000902", ["INV-482903", "INV-482902"]),
        ("-id:col_0000000000000903 INV-4829 expired", []),
        ("-succeeded -failed -expired -created", ["INV-482900", "INV-482901"]),
        ("event:evt_0000000000000903", ["INV-482903"]),
        ("INV-4829 age<=1m", ["INV-482900"]),
        ("INV-4829 at:15:23", ["INV-482900"]),
        ("INV-4829 amount>=1000000", []),
        ("channel:airtel,halopesa INV-4829", ["INV-482903", "INV-482902"]),
        ("fee:1455", ["INV-482900"]),
        ("currency:USD", []),
        ("id:col_0000000000000903", ["INV-482903"]),
        ("INV-4829 -code:payer_unreachable ! expired", ["INV-482903"]),
    ],
)
def test_a_filter_keeps_what_it_names(
    text: str, found: list[str], context: AppContext, seed: Any
) -> None:
    seed.busy(12)
    query = parse(text, keys=COLLECTION_KEYS)
    page = COLLECTION_LIST.pages(context, query, SortOrder.CREATED).newest()
    assert [row.reference for row in page.rows] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("meta:order_id=a-1", ["INV-482005", "INV-482003"]),
        ("meta:order_id=A-1 description:bus", ["INV-482003"]),
        ("meta:order_id=A-1 meta:branch=dar", ["INV-482005"]),
        ("-meta:branch=dar INV-48200", ["INV-482003"]),
        ("meta:branch=dar,order_id=A-1", ["INV-482005", "INV-482004", "INV-482003"]),
        ('description:"School Fees"', ["INV-482005", "INV-482004"]),
        ('"description=school fees, term 2"', []),
        ('"description=School fees for April"', ["INV-482005"]),
        ("-description:fees INV-48200", ["INV-482003"]),
        ("description:fe", ["INV-482005", "INV-482004"]),
    ],
)
def test_metadata_and_descriptions_are_sought_and_combined(
    text: str, found: list[str], context: AppContext, seed: Any
) -> None:
    for n, texts in (
        (3, {"metadata": {"order_id": "A-1"}, "description": "Bus ticket"}),
        (4, {"metadata": {"branch": "Dar"}, "description": "SCHOOL FEES"}),
        (5, {"metadata": {"order_id": "A-1", "branch": "dar"},
             "description": "School fees for April"}),
    ):  # fmt: skip
        seed.life(
            n, at=context.clock.now() - timedelta(minutes=30 - n), status="succeeded", **texts
        )
    query = parse(text, keys=COLLECTION_KEYS)
    pages = COLLECTION_LIST.pages(context, query, SortOrder.CREATED)
    assert [row.reference for row in pages.newest().rows] == found
    assert [row.reference for row in pages.oldest().rows] == found


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("verdict:rejected", 3),
        ("verdict:rejected,repeat", 4),
        ("endpoint:billing try>=2", 2),
        ("reason:no_match answer:400", 3),
        ("-endpoint:billing !", 1),
        ("ref:INV-482902", 3),
        ("event:evt_0000000000000902 at:15:23", 1),
        ("verdict:nonsense", 0),
    ],
)
def test_deliveries_have_keys_of_their_own(
    text: str, count: int, context: AppContext, seed: Any
) -> None:
    seed.busy(12)
    query = parse(text, keys=DELIVERY_KEYS)
    page = DELIVERY_LIST.pages(context, query, SortOrder.CREATED).newest()
    assert len(page.rows) == count


def test_a_key_of_the_other_list_is_refused_by_name_and_place() -> None:
    with pytest.raises(FilterError, match="collections have no verdict") as refused:
        parse("failed verdict:rejected", keys=COLLECTION_KEYS, whose="collections")
    assert refused.value.position == 7
    with pytest.raises(FilterError, match="deliveries have no phone"):
        parse("phone:0754000555", keys=DELIVERY_KEYS, whose="deliveries")


def test_a_search_stops_when_its_time_is_up_and_goes_on_from_there(
    store: Store, context: AppContext, seed: Any, clock: ManualClock
) -> None:
    pending = []
    for n in range(1_400):
        born = seed.collection(n, at=clock.now() - timedelta(seconds=n), fee=1 if n == 1_200 else 0)
        pending.append(store.submit(seed.observation(born)))
    for future in pending:
        future.result()
    pages = COLLECTION_LIST.pages(context, parse("fee:1"), SortOrder.CREATED)
    pages._budget_s = 0
    excerpt = pages.newest()
    assert excerpt.rows == ()
    assert not excerpt.has_older, "the table asks for nothing by itself"
    assert excerpt.reached is not None
    steps = 0
    while excerpt.reached is not None:
        excerpt = pages.older(excerpt)
        steps += 1
    assert [row.fee for row in excerpt.rows] == [1]
    assert steps == 2


@pytest.mark.anyio
async def test_typing_narrows_the_list_and_escape_clears_it_on_the_same_record(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(30)
    async with opened() as (app, pilot):
        await pilot.press("slash", *"failed airtel", "enter")
        await at_rest(pilot)
        listed = table(app)
        assert {(row.status, row.channel) for row in listed.excerpt.rows} == {
            ("failed", "AIRTEL_TZ")
        }
        assert "filter status:failed channel:AIRTEL_TZ" in lines(app)[-2]
        await pilot.press("j")
        pointed = listed.cursor
        await pilot.press("escape")
        await at_rest(pilot)
        assert "filter none" in lines(app)[-2]
        assert listed.cursor == pointed
        assert len({row.status for row in listed.excerpt.rows}) > 1


@pytest.mark.anyio
async def test_the_cursor_leaves_a_record_that_the_filter_excludes_and_its_card_goes_with_it(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(30)
    async with opened(size=(160, 50)) as (app, pilot):
        listed = table(app)
        await pilot.press("j")
        await at_rest(pilot)
        paid = next(row for row in listed.excerpt.rows if row.status == "succeeded")
        listed.point_at(paid.id)
        await at_rest(pilot)
        assert paid.id in shown(app)
        await pilot.press("slash", *"failed", "enter")
        await at_rest(pilot)
        assert listed.cursor in {row.id for row in listed.excerpt.rows}
        assert listed.row is not None
        assert paid.id not in shown(app), "no card of a record that the list has not"


@pytest.mark.anyio
async def test_a_word_that_cannot_be_read_is_named_and_the_last_good_filter_stays(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(30)
    async with opened() as (app, pilot):
        await pilot.press("slash", *"failed amount:lots", "enter")
        await at_rest(pilot)
        assert "amount takes whole numbers" in lines(app)[-2]
        assert app.screen.query_one("#filter", Input).has_focus
        listed = table(app)
        assert {row.status for row in listed.excerpt.rows} == {"failed"}


@pytest.mark.anyio
async def test_a_filter_that_keeps_nothing_says_so_and_escape_helps(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(5)
    async with opened() as (app, pilot):
        await pilot.press("slash", *"amount:1", "enter")
        await at_rest(pilot)
        assert any(
            "Nothing in LIVE MODE passes the filter. esc clears it." in line for line in lines(app)
        )
        await pilot.press("escape")
        await at_rest(pilot)
        assert any("INV-482900" in line for line in lines(app))


@pytest.mark.anyio
async def test_a_narrowed_list_that_is_followed_takes_in_only_what_passes(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.busy(5)
    async with opened() as (app, pilot):
        await pilot.press("slash", *"fee>=3000", "enter")
        await at_rest(pilot)
        assert table(app).excerpt.rows == ()
        seed.answered(seed.collection(4000, at=clock.now(), fee=10))
        seed.answered(seed.collection(4001, at=clock.now(), fee=5_000))
        app.tick()
        await at_rest(pilot)
        assert [row.fee for row in table(app).excerpt.rows] == [5_000]
