"""The Deliveries screen: missing events among the arrivals, and the parts of the detail."""

import hmac
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, lines, press, shown

from kusanya.clock import ManualClock
from kusanya.filters import Filter, parse
from kusanya.profiles import parse_endpoint_secrets
from kusanya.store import Store
from kusanya.store.records import Arrival, DeliveryBody, MissingEventRow, SortOrder, Verdict
from kusanya.wire import Mode
from kusanya.wording import Language
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.forensics import Forensics
from kusanya_console.application.app import ConsoleApp
from kusanya_console.deliveries.filtering import DeliveryRecord
from kusanya_console.deliveries.list import DELIVERY_LIST
from kusanya_console.deliveries.signed import claimed_time
from kusanya_console.deliveries.tabs import body_text
from kusanya_console.lists.paging import ListPages
from kusanya_console.ui import language

WIDE = (160, 50)
NEXT = "right_square_bracket"


def pane(app: ConsoleApp) -> str:
    """Return what the pane says, its lines put together."""
    parts = (line.rsplit("│", 1) for line in lines(app))
    return " ".join(part[1].strip() for part in parts if len(part) > 1)


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


def test_a_phone_in_a_body_is_masked_and_a_broken_body_is_redacted() -> None:
    text = body_text(
        b'{"data":{"phone":"255754000412","description":"call 0754 000 412","id":"col_1"}}'
    )
    assert '"phone": "+255\u2022\u2022\u2022\u2022\u2022412"' in text.replace("•", "\u2022")
    assert "call •••••412" in text
    assert "000 412" not in text
    assert "255754000412" not in body_text(b'{"phone": "255754000412"')
    assert body_text(b"\xff\xfe").startswith("�")


@pytest.mark.anyio
async def test_the_oldest_delivery_is_one_key_away(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(30)
    async with opened(size=WIDE) as (app, pilot):
        await press(pilot, at_rest, "2", "G")
        assert app.return_code is None
        assert app.screen.table.row.id == app.screen.table.excerpt.rows[-1].id  # type: ignore[attr-defined]
        await press(pilot, at_rest, "g", "j", "n", "N", "exclamation_mark")
        assert app.return_code is None


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
async def test_an_arrival_that_fits_no_slot_is_delivered_all_the_same(
    opened: OpenConsole, seed: Any, clock: ManualClock
) -> None:
    at = clock.now() - timedelta(minutes=20)
    done = seed.collection(5, at=at, status="succeeded", completed_at=at)
    seed.delivered(seed.event(done, at=at), at=clock.now() - timedelta(seconds=5))
    async with opened("2", size=WIDE) as (app, _pilot):
        assert "+1 by hand, or very late" in shown(app)
        assert [line[3:5] for line in lines(app) if line.startswith(" > ")] == ["+1"]
        assert "Delivered: the sender has its 2xx" in shown(app)


@pytest.mark.anyio
async def test_nothing_of_a_forged_delivery_says_that_it_was_sent_by_hand(
    opened: OpenConsole, seed: Any, clock: ManualClock
) -> None:
    at = clock.now() - timedelta(minutes=20)
    done = seed.collection(5, at=at, status="succeeded", completed_at=at)
    refused = {"verdict": Verdict.REJECTED, "reason": "no_match", "answer": 400}
    seed.delivered(seed.event(done, at=at), at=clock.now() - timedelta(seconds=5), **refused)
    async with opened("2", size=WIDE) as (app, _pilot):
        assert "? fits no slot of the plan" in shown(app)
        assert "+1" not in shown(app)


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


@pytest.mark.anyio
async def test_a_repeat_says_why_it_came_again(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    now = clock.now()
    done = seed.collection(1, at=now - timedelta(minutes=9), status="succeeded", completed_at=now)
    event = seed.event(done, at=now - timedelta(minutes=8))
    seed.delivered(event, at=now - timedelta(minutes=8), took_us=10_400_000)
    seed.delivered(event, at=now - timedelta(minutes=6, seconds=50))
    seed.delivered(event, at=now - timedelta(minutes=6))
    async with opened(size=WIDE) as (app, pilot):
        await press(pilot, at_rest, "2")
        assert "Answered 200 at 15:17:17 already" in pane(app)
        await press(pilot, at_rest, "j")
        assert "our answer at 15:16:07 took 10.4 s, over its 10 s" in pane(app)
        await press(pilot, at_rest, "j")
        assert "The answer came after the sender's 10 s" in pane(app)


@pytest.mark.anyio
async def test_the_parts_of_the_detail_are_turned_with_brackets_and_hold_no_phone(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.life(0, at=clock.now() - timedelta(minutes=1), phone="255754000412")
    async with opened(size=WIDE) as (app, pilot):
        await press(pilot, at_rest, "2")
        assert "▸attempts body headers signature " in pane(app)
        assert "signature sender" not in pane(app), "only the embedded service tells its own log"
        await press(pilot, at_rest, NEXT)
        said = shown(app)
        assert "▸body" in said
        assert "kept exactly   sha256" in said
        assert '"phone": "+255•••••412"' in said
        assert "255754000412" not in said
        await press(pilot, at_rest, NEXT)
        assert "service-signature:" in shown(app)
        await press(pilot, at_rest, NEXT)
        assert "start the console with KUSANYA_SECRETS" in pane(app)
        await press(pilot, at_rest, NEXT)
        assert "▸attempts" in shown(app)
        await press(pilot, at_rest, "left_square_bracket")
        assert "▸signature" in shown(app)
        await press(pilot, at_rest, "J")
        assert '"phone": "+255•••••412"' in app.clipboard


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("signed_with", "said", "cause"),
    [
        ("whsec_of_another_shop", "the secret is another", "no_match"),
        ("whsec_billing", "secret of endpoint billing", "other_endpoint"),
    ],
)
async def test_a_rejected_delivery_is_explained_with_the_profiles_secrets(  # noqa: PLR0917 - a table
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest,
    signed_with: str, said: str, cause: str,
) -> None:  # fmt: skip
    now = clock.now()
    event = seed.event(seed.collection(1, at=now, status="succeeded", completed_at=now), at=now)
    stamp = int(now.timestamp())
    digest = hmac.digest(signed_with.encode(), b"%d." % stamp + event.raw, "sha256").hex()
    header = f"t={stamp},v1={digest}".encode()
    seed.store.record(
        Arrival(
            arrived_at=now, endpoint="shop", observed_in=Mode.LIVE, body=event.raw,
            headers=((b"Service-Signature", header),), verdict=Verdict.REJECTED,
            reason="no_match", secrets_tried=1, event_id=event.id,
            event_type=event.type, event_created_at=now, answer=400, took_us=900,
        )
    )  # fmt: skip
    secrets = parse_endpoint_secrets("shop=whsec_shop,billing=whsec_billing")
    forensics = Forensics(secrets, signature_header="Service-Signature")
    async with opened(size=WIDE, forensics=forensics) as (app, pilot):
        await press(pilot, at_rest, "2")
        assert "skew 0 s   unverified" in pane(app)
        await press(pilot, at_rest, NEXT, NEXT, NEXT)
        text = pane(app)
        assert f"cause       {cause}" in text
        assert "skew 0 s of 300 s   unverified" in text
        assert said in text
        assert "reason      no_match" in text
        for secret in ("whsec_shop", "whsec_billing", "whsec_of_another_shop"):
            assert secret not in text


@pytest.mark.parametrize(
    ("headers", "claimed"),
    [
        ([b"t=1772629200,v1=00"], datetime(2026, 3, 4, 13, tzinfo=UTC)),
        ([b"t=1772629200,v1=00", b"text/plain"], datetime(2026, 3, 4, 13, tzinfo=UTC)),
        ([b"t=1772629200,v1=00", b"t=1,v1=00"], None),
        ([b"t=yesterday,v1=00"], None),
        ([b"t=9999999999999999999,v1=00"], None),
        ([], None),
    ],
)
def test_the_claimed_time_of_signing_is_read_from_one_header_alone(
    headers: list[bytes], claimed: datetime | None
) -> None:
    held = DeliveryBody(body=b"{}", headers=tuple((b"x", value) for value in headers))
    assert claimed_time(held) == claimed


@pytest.mark.anyio
async def test_the_disable_fuse_of_the_endpoint_stands_with_the_attempts(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(10)
    async with opened(size=WIDE) as (app, pilot):
        await press(pilot, at_rest, "2", "slash", *"endpoint:billing", "enter")
        said = shown(app)
        assert "disable fuse" in said
        assert "2 d 23 h left" in said
        assert "gives up" in said
        assert "in 29 min" in said
