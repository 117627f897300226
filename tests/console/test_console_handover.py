"""The hand-over of a shift, on its page and as a command, and the notice to customers."""

import json
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, press, shown
from tests.console.picturing import in_both_languages, on_every_size
from textual.containers import VerticalScroll

from kusanya import handover
from kusanya.clock import ManualClock
from kusanya.handover import acts
from kusanya.say import Language
from kusanya.store import Store
from kusanya.store.queries import notes_and_audit
from kusanya.wire import Mode
from kusanya.wording import outage_notice
from kusanya_console.handover import screen
from kusanya_console.handover.screen import page_lines
from kusanya_console.handover.shifts import next_shift, shift_before
from kusanya_console.health.screen import HealthScreen
from kusanya_console.ui import language
from kusanya_console.ui.format import plain


@pytest.fixture
def shift(store: Store, seed: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a shift of asha's and juma's lie behind us."""
    seed.busy(12)
    seed.intents()
    for hours, actor, act, detail in (
        (7, "asha", "note", "of the shift before"),
        (1, "juma", "reveal_phone", "the customer called from 0754 000 003"),
        (1, "asha", "resend", "live mode"),
    ):
        monkeypatch.setattr(notes_and_audit, "operating_system_user", lambda who=actor: who)
        clock.step(timedelta(hours=-hours))
        store.audit.add(actor=actor, act=act, subject=f"col_{3:016}", detail=detail)
        clock.step(timedelta(hours=hours))


@in_both_languages
@on_every_size
def test_the_page(size: tuple[int, int], shift: None, picture: Any) -> None:
    assert picture(size, "8")


@pytest.mark.anyio
async def test_the_page_shows_a_shift_and_goes_to_the_one_before(
    opened: OpenConsole, shift: None, at_rest: AtRest
) -> None:
    async with opened("8") as (app, pilot):
        said = shown(app)
        assert "since 14:00:00" in said
        assert "2 acts: asha 1, juma 1" in said
        assert "INV-482003" in said
        assert "000 003" not in said
        assert "? outcome unknown: INV-43100" in said
        await press(pilot, at_rest, "plus")
        assert "this is the present shift" in shown(app)
        await press(pilot, at_rest, "escape", "minus")
        assert "since 06:00:00" in shown(app)
        assert "3 acts" in shown(app)
        await press(pilot, at_rest, "plus")
        assert "since 14:00:00" in shown(app)


@pytest.mark.anyio
async def test_the_page_says_when_it_was_read_and_one_key_reads_it_again(
    opened: OpenConsole, shift: None, at_rest: AtRest, clock: ManualClock, seed: Any
) -> None:
    async with opened("8", size=(80, 24)) as (app, pilot):
        assert "since 14:00:00, as of 15:24:07" in shown(app)
        await clock.advance(3)
        seed.busy(1)
        await press(pilot, at_rest, "r")
        assert "since 14:00:00, as of 15:24:10" in shown(app)
        await clock.advance(3)
        await press(pilot, at_rest, "1", "8")
        assert "as of 15:24:13" in shown(app)
        await press(pilot, at_rest, "y")
        assert "hand-over since 14:00:00, as of 15:24:13" in app.clipboard


def test_no_part_of_the_page_is_younger_than_another(
    store: Store, seed: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed.life(10, at=clock.now() - timedelta(minutes=5), status="succeeded")
    prompts = store.collections.still_open

    def meanwhile(*args: Any, **options: Any) -> Any:
        # Read last of all: a prompt that began since is in no count above.
        seed.answered(seed.collection(40, at=clock.now()))
        return prompts(*args, **options)

    monkeypatch.setattr(store.collections, "still_open", meanwhile)
    since = clock.now() - timedelta(hours=1)
    found = handover.load(store, Mode.LIVE, since=since, now=clock.now())
    assert (found.statuses, found.open_prompts) == ({"succeeded": 1}, 0)
    monkeypatch.undo()
    again = handover.load(store, Mode.LIVE, since=since, now=clock.now())
    assert (again.statuses, again.open_prompts) == ({"succeeded": 1, "created": 1}, 1)


@pytest.mark.anyio
async def test_a_long_page_is_scrolled_and_copied_whole(
    opened: OpenConsole, shift: None, at_rest: AtRest
) -> None:
    async with opened("8", "j", "j", size=(80, 24)) as (app, pilot):
        page = app.screen.query_one("#report", VerticalScroll)
        assert page.scroll_y == 2
        await press(pilot, at_rest, "k")
        assert page.scroll_y == 1
        await press(pilot, at_rest, "y")
        assert "hand-over since 14:00:00" in app.clipboard
        for part in ("what happened", "who did what", "what is open", "no final state yet"):
            assert part in app.clipboard


def test_an_empty_shift_says_so(store: Store, clock: ManualClock) -> None:
    since = clock.now() - timedelta(hours=1)
    found = handover.load(store, Mode.LIVE, since=since, now=clock.now())
    assert [(line.part, line.text) for line in handover.lines(found)] == [
        ("happened", "0 collections were created"),
        ("happened", "0 collections became final"),
        ("happened", "0 deliveries arrived"),
        ("open", "nothing is open"),
        ("did", "nobody has acted"),
    ]


def test_a_payment_of_the_shift_before_that_becomes_final_now_is_in_the_figures(
    store: Store, seed: Any, clock: ManualClock
) -> None:
    """And one that was created now and is open is in no sum of money."""
    began = clock.now() - timedelta(hours=1)
    seed.life(0, at=began - timedelta(seconds=5), amount=5_000)
    seed.life(11, at=began + timedelta(minutes=1), status="failed", amount=700)
    seed.answered(seed.collection(40, at=clock.now(), amount=900))
    found = handover.load(store, Mode.LIVE, since=began, now=clock.now())
    assert found.statuses == {"failed": 1, "created": 1}
    assert found.finals == {"succeeded": 1, "failed": 1}
    assert found.collected == {"TZS": 5_000}
    assert handover.as_json(found)["became_final"] == found.finals


@pytest.mark.merge
@pytest.mark.anyio
async def test_the_page_follows_the_clock_into_the_next_shift_unless_somebody_leafs_back(
    opened: OpenConsole, shift: None, at_rest: AtRest, clock: ManualClock
) -> None:
    async with opened("8") as (app, pilot):
        assert "since 14:00:00" in shown(app)
        await press(pilot, at_rest, "1")
        await clock.advance(7 * 3600)
        await press(pilot, at_rest, "8")
        assert "since 22:00:00" in shown(app), "a person comes back to the shift that runs"
        await press(pilot, at_rest, "minus")
        await clock.advance(24 * 3600)
        await press(pilot, at_rest, "1", "8")
        assert "14:00:00" in shown(app), "what was leafed back to stays"


def test_a_resend_of_hundreds_is_one_line_and_hides_no_word_of_a_person(
    store: Store, seed: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed.intents()
    me = store.audit.actor
    store.audit.add(actor=me, act="acknowledge", subject="stuck:live:MPESA_TZ:7", detail="mine")
    store.audit.add(actor=me, act="begin fault", subject="latency", detail="always")
    with seed.together():
        for n in range(260):
            clock.step(timedelta(milliseconds=20))
            failed = "failed: the service answered 404" if n == 130 else "done"
            store.audit.add(
                actor=me, act="resend", subject=f"evt_{n}", detail="test mode", outcome=failed
            )
            if n == 200:
                store.audit.add(actor=me, act="note", subject=f"col_{3:016}", detail="9 characters")
    found = handover.load(store, Mode.LIVE, since=clock.now() - timedelta(hours=1), now=clock.now())
    parts = [line.part for line in handover.lines(found)]
    assert parts == sorted(parts, key=["happened", "open", "did"].index)
    did = [line.text for line in handover.lines(found) if line.part == "did"]
    assert did[0] == f"263 acts: {me} 263"
    assert [line.partition(f"  {me}  ")[2] for line in did[1:]] == [
        "resend  ×259  done  test mode",
        f"note  col_{3:016}  done  9 characters",
        "resend  evt_130  failed: the service answered 404  test mode",
        "begin fault  latency  done  always",
        "acknowledge  stuck:live:MPESA_TZ:7  done  mine",
    ]
    counts = [one["count"] for one in handover.as_json(found)["acts"]]
    assert counts == [259, 1, 1, 1, 1]
    monkeypatch.setattr(acts, "_ROUTINE_READ", 100)
    found = handover.load(store, Mode.LIVE, since=clock.now() - timedelta(hours=1), now=clock.now())
    did = [line.text for line in handover.lines(found) if line.part == "did"]
    assert did[0] == f"263 acts: {me} 263"
    assert did[-1] == "and 160 routine acts before, counted above"
    assert any("mine" in line for line in did)


@pytest.mark.anyio
async def test_the_page_says_that_it_is_read_and_reads_once_for_acts_that_come_meanwhile(
    opened: OpenConsole, shift: None, store: Store, at_rest: AtRest, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Event()
    readings: list[datetime] = []

    def slowly(*args: Any, since: datetime, **options: Any) -> Any:
        readings.append(since)
        read.wait(60)
        return handover.load(*args, since=since, **options)

    monkeypatch.setattr(screen, "load", slowly)
    async with opened() as (app, pilot):
        try:
            await pilot.press("8")
            assert "reading the store…" in shown(app)
            for _ in range(5):
                await pilot.press("r")
            assert len(readings) == 1
        finally:
            read.set()
        await at_rest(pilot)
        assert "2 acts: asha 1, juma 1" in shown(app)
        assert len(readings) == 2, "one more, for all that was asked meanwhile"


def test_what_people_wrote_stands_in_the_hand_over_as_they_wrote_it(
    store: Store, clock: ManualClock
) -> None:
    # A text of the catalogue is "{time} left": what a person wrote is not read as one of them.
    me = store.audit.actor
    store.audit.add(actor=me, act="begin_fault", subject="latency", detail="6 of 6 times left")
    since = clock.now() - timedelta(hours=1)
    found = handover.load(store, Mode.LIVE, since=since, now=clock.now())
    language.use(Language.SWAHILI)
    try:
        said = plain(page_lines(found, 100))
    finally:
        language.use(Language.ENGLISH)
    assert "anzisha hitilafu  latency  tayari" in said
    assert "6 of 6 times left" in said
    assert "bado" not in said


def test_figures_are_those_of_the_span_to_the_minute(
    store: Store, seed: Any, clock: ManualClock
) -> None:
    for n, minutes in enumerate((5, 80, 100, 200)):
        seed.life(n * 10, at=clock.now() - timedelta(minutes=minutes), status="succeeded")
    for minutes, count in ((4, 0), (90, 2), (101, 3), (300, 4)):
        since = clock.now() - timedelta(minutes=minutes)
        found = handover.load(store, Mode.LIVE, since=since, now=clock.now())
        assert found.statuses.get("succeeded", 0) == count, minutes
        assert sum(found.deliveries.values()) >= count
    json.dumps(handover.as_json(found), default=str)


def test_shifts_begin_at_six_fourteen_and_twenty_two_in_east_africa() -> None:
    night = datetime(2026, 3, 4, 20, 30, tzinfo=UTC)  # 23:30
    assert shift_before(night) == datetime(2026, 3, 4, 19, tzinfo=UTC)
    assert shift_before(datetime(2026, 3, 4, 1, tzinfo=UTC)) == datetime(2026, 3, 3, 19, tzinfo=UTC)
    assert next_shift(night) == datetime(2026, 3, 5, 3, tzinfo=UTC)
    assert shift_before(next_shift(night)) == next_shift(night)


def test_the_notice_names_network_time_and_what_to_do() -> None:
    english, swahili = outage_notice("Airtel Money", since=datetime(2026, 3, 4, 11, 5, tzinfo=UTC))
    assert english.sentence.startswith("Payments by Airtel Money are delayed since 14:05.")
    assert "do not pay again" in english.next_step
    assert "yanachelewa tangu saa nane na dakika tano mchana." in swahili.sentence
    assert "usilipe tena" in swahili.next_step


@pytest.mark.anyio
async def test_an_outage_notice_is_copied_in_both_languages(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    async with opened("4") as (app, pilot):
        await app.run_action("screen.copy_notice")
        await at_rest(pilot)
        assert "no alarm is about a network" in shown(app)
    for n in range(12):
        at = clock.now() - timedelta(minutes=6, seconds=n)
        seed.answered(seed.collection(300 + n, at=at, channel="AIRTEL_TZ"))
    seed.watched()
    async with opened("4") as (app, pilot):
        await app.run_action("screen.copy_notice")
        await at_rest(pilot)
        assert "outage notice sent to the terminal's clipboard" in shown(app)
        english, swahili = app.clipboard.split("\n\n")
        assert english.startswith("Payments by Airtel Money are delayed since 15:1")
        assert swahili.startswith("Malipo kwa Airtel Money yanachelewa tangu saa tisa")


@pytest.mark.anyio
async def test_no_outage_is_announced_for_prompts_on_one_phone_or_from_another_alarm(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    at = clock.now() - timedelta(minutes=6)
    for n in range(3):
        seed.answered(seed.collection(300 + n, at=at, channel="MPESA_TZ", phone="255754000010"))
        seed.answered(seed.collection(320 + n, at=at, channel="AIRTEL_TZ"))
    seed.watched()
    refused = {
        "stuck:MPESA_TZ": "one phone waits: a customer, no outage",
        "cause:(expired)": "the cursor stands on no alarm about a network",
    }
    seed.life(1, at=at, status="expired")
    async with opened("4") as (app, pilot):
        health = app.console_screen
        assert isinstance(health, HealthScreen)
        for key, why in refused.items():
            health._point(key)
            await app.run_action("screen.copy_notice")
            await at_rest(pilot)
            assert why in shown(app)
            assert not app.clipboard
        health._point("stuck:AIRTEL_TZ")
        await app.run_action("screen.copy_notice")
        await at_rest(pilot)
        assert app.clipboard.startswith("Payments by Airtel Money are delayed")
