"""The console on what was known in the past: every screen, no change, no doubt about the time."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.console.looking import AtRest, shown

from kusanya.clock import ManualClock
from kusanya.store import JournalCopy, Store
from kusanya.store.records import Note
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.results import PAST
from kusanya_console.application.past import PastApp, PastClock

pytestmark = pytest.mark.anyio
PHONE = "255754123987"
REFERENCE = f"INV-{482_000 + 4000}"


class RealSeconds:
    """Real seconds that only a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        """Return the seconds."""
        return self.seconds


@pytest.fixture
def real() -> RealSeconds:
    """Return real seconds that stand still."""
    return RealSeconds()


@pytest.fixture
def start(store: Store, seed: Any, clock: ManualClock) -> datetime:
    """Fill a store in which one collection is created, paid 40 s later, and noted at the end."""
    del store
    for n in range(12):
        seed.life(n, at=clock.now(), status="created")
        clock.sleep(1)
    start = clock.now()
    clock.sleep(10)
    created = clock.now()
    seed.life(4000, at=created, status="created", phone=PHONE, description=f"call {PHONE} first")
    clock.sleep(40)
    paid = seed.collection(
        4000, at=created, status="succeeded", completed_at=clock.now(), phone=PHONE
    )
    seed.polled(paid, at=clock.now())
    clock.sleep(30)
    seed.store.notes.add(
        f"col_{4000:016}", Note(f"said {PHONE} would pay"), author="a", mode=Mode.LIVE
    )
    return start


@pytest.fixture
def copy(store: Store, start: datetime, tmp_path: Path) -> Iterator[JournalCopy]:
    """Return a masked copy as of the beginning."""
    with store.maintenance.journal_copy(tmp_path / "past.db", masked=True) as made:
        made.advance(start)
        yield made


@pytest.fixture
def replay(copy: JournalCopy, start: datetime, real: RealSeconds) -> Iterator[PastApp]:
    """Return a console that plays 80 s twice as fast; nothing in it moves by itself."""
    clock = PastClock(start, start + timedelta(seconds=80), speed=2, monotonic=real)
    with Store.open(copy.path, clock=clock, read_only=True) as opened:
        context = AppContext(store=opened, mode=Mode.LIVE, clock=clock, profile="main")
        yield PastApp(context, clock, advance=copy.advance, store_shown="store", tick_s=None)


@pytest.fixture
def as_of(store: Store, start: datetime, tmp_path: Path, real: RealSeconds) -> Iterator[PastApp]:
    """Return a console on what was known 20 s after the beginning."""
    at = start + timedelta(seconds=20)
    store.maintenance.copy(tmp_path / "as-of.db", as_of=at)
    clock = PastClock(at, at, monotonic=real)
    with Store.open(tmp_path / "as-of.db", clock=clock, read_only=True) as opened:
        context = AppContext(store=opened, mode=Mode.LIVE, clock=clock, profile="main")
        yield PastApp(context, clock, store_shown="store", tick_s=None)


def line_of(app: PastApp) -> str:
    lines = [line for line in shown(app).splitlines() if REFERENCE in line]
    return lines[0] if lines else ""


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_the_first_line_says_as_of_when_on_every_screen_and_time_stands(
    as_of: PastApp, at_rest: AtRest, real: RealSeconds, size: tuple[int, int]
) -> None:
    async with as_of.run_test(size=size) as pilot:
        for key in "12453":
            await pilot.press(key)
            real.seconds += 600
            as_of.tick()
            await at_rest(pilot)
            assert "▌AS OF▐ 04 Mar 2026 15:24:39 EAT" in shown(as_of).splitlines()[0], key
            assert "updated" not in shown(as_of).splitlines()[0]
            assert key != "1" or "created" in line_of(as_of), "it was paid later"


@pytest.mark.merge
async def test_nothing_is_asked_or_changed_in_the_past_and_each_key_says_why(
    as_of: PastApp, at_rest: AtRest
) -> None:
    async with as_of.run_test(size=(120, 36)) as pilot:
        await at_rest(pilot)
        for key in ("c", "v", "6", "A"):
            await pilot.press(key)
            await at_rest(pilot)
            assert PAST in shown(as_of), key
            await pilot.press("escape")
        await pilot.press("p")
        await at_rest(pilot)
        assert "AS OF" in shown(as_of).splitlines()[0], "what stands cannot be paused"
        assert as_of.context.actions is None
        assert as_of.context.queries is None


async def test_a_replay_shows_each_fact_at_its_instant_and_the_time_with_its_date(
    replay: PastApp, at_rest: AtRest, real: RealSeconds
) -> None:
    async with replay.run_test(size=(120, 36)) as pilot:
        seen = {}
        for seconds in (0, 5, 5.5, 24, 25, 60):
            real.seconds = seconds
            replay.tick()
            await at_rest(pilot)
            seen[seconds] = next((w for w in ("succeeded", "created") if w in line_of(replay)), "")
            if seconds == 5:
                assert "▌REPLAY ×2▐ 04 Mar 2026 15:24:29 EAT" in shown(replay).splitlines()[0]
        assert seen == {
            0: "",
            5: "",
            5.5: "created",
            24: "created",
            25: "succeeded",
            60: "succeeded",
        }
        assert "▌REPLAY over▐ 04 Mar 2026 15:25:39 EAT" in shown(replay).splitlines()[0]


async def test_a_replay_is_paused_and_goes_on_where_it_stood(
    replay: PastApp, at_rest: AtRest, real: RealSeconds
) -> None:
    async with replay.run_test(size=(80, 24)) as pilot:
        await at_rest(pilot)
        assert "p pauses it and lets it go on" in shown(replay)
        real.seconds = 6
        await pilot.press("p")
        real.seconds = 500
        replay.tick()
        await at_rest(pilot)
        assert "▌REPLAY paused▐ 04 Mar 2026 15:24:31 EAT" in shown(replay).splitlines()[0]
        assert "created" in line_of(replay)
        await pilot.press("p")
        real.seconds = 502
        replay.tick()
        await at_rest(pilot)
        assert "▌REPLAY ×2▐ 04 Mar 2026 15:24:35 EAT" in shown(replay).splitlines()[0]


async def test_a_replay_holds_no_whole_phone(
    replay: PastApp, at_rest: AtRest, real: RealSeconds, copy: JournalCopy
) -> None:
    async with replay.run_test(size=(80, 24)) as pilot:
        real.seconds = 60
        replay.tick()
        await at_rest(pilot)
    for file in copy.path.parent.glob("past.db*"):
        assert PHONE[3:].encode() not in file.read_bytes(), file


# --- the command -----------------------------------------------------------------------------

CONSOLE = (sys.executable, "-m", "kusanya_console.cli", "console")


@pytest.mark.merge
@pytest.mark.parametrize("kind", ["as-of", "replay"])
def test_the_command_shows_the_past_and_leaves_nothing_behind(  # noqa: PLR0917 - fixtures
    store: Store, seed: Any, clock: ManualClock, tmp_path: Path, on_a_terminal: Any, kind: str
) -> None:
    clock.step(datetime.now(UTC) - clock.now() - timedelta(hours=2))
    seed.life(900, at=clock.now(), status="created", phone=PHONE)
    middle = clock.now() + timedelta(minutes=10)
    clock.step(timedelta(minutes=20))
    seed.life(901, at=clock.now(), status="created")
    later = clock.now() + timedelta(minutes=20)
    option = (
        f"--as-of={middle.isoformat()}"
        if kind == "as-of"
        else f"--replay={middle.isoformat()}..{later.isoformat()}"
    )
    left = tmp_path / "temporary"
    left.mkdir()
    status, written = on_a_terminal(
        [*CONSOLE, f"--store={tmp_path / 'kusanya.db'}", option],
        [(b"INV-482900", b"\x11")], KUSANYA_MODE="live", TMPDIR=str(left),
    )  # fmt: skip
    assert status == 0, written[-500:]
    assert (b"AS OF" if kind == "as-of" else b"REPLAY") in written
    assert b"INV-482901" not in written
    assert list(left.iterdir()) == []
    assert store.feed.head() > 0


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--as-of=02:13", "--allow-writes"), "only look"),
        (("--as-of=02:13", "--web"), "only look"),
        (("--as-of=02:13", "--replay=02:13..02:14"), "exclude each other"),
    ],
    ids=str,
)
def test_options_that_contradict_each_other_are_wrong_usage(
    options: tuple[str, ...], why: str
) -> None:
    ended = subprocess.run(
        [*CONSOLE, *options], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 2
    assert why in ended.stderr


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--as-of=now",), b"a time is"),
        (("--as-of=2099-01-01 00:00",), b"yet to come"),
        (("--replay=2026-01-01 00:10",), b"takes two times"),
        (("--replay=2026-01-01 00:10..00:10",), b"is not after"),
        (("--replay=2026-01-01 00:10..00:20", "--speed=0"), b"--speed is above 0"),
    ],
    ids=str,
)
def test_times_that_make_no_sense_are_wrong_usage(
    options: tuple[str, ...], why: bytes, tmp_path: Path, on_a_terminal: Any
) -> None:
    status, written = on_a_terminal([*CONSOLE, f"--store={tmp_path / 'none.db'}", *options])
    assert status == 2
    assert why in written
