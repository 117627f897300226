"""Recording and replaying: the same store at every instant, no whole phone, no damage unnoticed."""

import itertools
import json
import random
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis.strategies import text
from tests.console.looking import shown
from textual.pilot import Pilot

from kusanya.clock import ManualClock
from kusanya.errors import KusanyaError
from kusanya.health import health
from kusanya.lookup import story
from kusanya.privacy import mask_phone, redact
from kusanya.store import Store
from kusanya.store.records import Verdict
from kusanya.wire import Mode
from kusanya_console.recording import Recorder
from kusanya_console.recording_file import read_recording
from kusanya_console.recording_masks import zeroed
from kusanya_console.replay_app import ReplayApp
from kusanya_console.replaying import Player

pytestmark = pytest.mark.anyio
Settled = Callable[[Pilot[Any]], Awaitable[None]]


class Tape:
    """Real seconds that only a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        """Return the seconds."""
        return self.seconds


@pytest.fixture
def recorded(store: Store, seed: Any, clock: ManualClock, tmp_path: Path) -> Path:
    """Record 90 s in which one collection is created, paid 40 s later, and noted at the end."""
    seed.busy(12)
    seed.intents()
    path = tmp_path / "incident.kusanya"
    recorder = Recorder(
        str(tmp_path / "kusanya.db"), path, clock=clock, mode="live", profile="main"
    )
    clock.sleep(10)
    seed.life(
        4000, at=clock.now(), status="created", phone="255754123987",
        description="call 0754 123 987 first", metadata={"contact": "+255754123987", "till": "7"},
    )  # fmt: skip
    recorder.step()
    clock.sleep(40)
    seed.life(
        4000, at=clock.now() - timedelta(seconds=40), status="succeeded",
        completed_at=clock.now(), phone="255754123987",
    )  # fmt: skip
    recorder.step()
    clock.sleep(30)
    store.add_note(f"col_{4000:016}", "said 0754123987 would pay", author="asha", mode=Mode.LIVE)
    recorder.step()
    clock.sleep(10)
    recorder.close()
    return path


@pytest.fixture
def tape() -> Tape:
    """Return real seconds that stand still."""
    return Tape()


@pytest.fixture
def player(recorded: Path, tmp_path: Path, tape: Tape) -> Iterator[Player]:
    """Return the recording in a player that stands at its beginning."""
    folder = tmp_path / "played"
    folder.mkdir()
    playing = Player(read_recording(recorded), folder, monotonic=tape)
    yield playing
    playing.close()


def everything(store: Store, mode: Mode) -> dict[str, Any]:
    """Return what screens read of a store, phones as they are shown."""
    rows = store.collections(mode, limit=1000).rows
    arrivals = store.deliveries(mode, limit=1000).rows
    now = max(row.first_seen_at for row in rows)
    span = {"since": now - timedelta(days=2), "until": now + timedelta(hours=2)}
    return {
        "collections": [_told(row) for row in rows],
        "deliveries": [_told(row) for row in arrivals],
        "intents": [
            (row.id, row.state, row.reference, mask_phone(row.phone), len(row.body))
            for row in store.intents(mode, limit=1000).rows
        ],
        "sums": store.rollups(mode, **span),
        "arrivals": store.delivery_rollups(mode, **span),
        "health": health(store, mode, now=now),
        "stories": [
            [(moment.at, redact(moment.word)) for moment in told.moments]
            for row in rows
            if (told := story(store, row.id, mode, now=now)) is not None
        ],
        "head": store.head(),
    }


def _told(row: Any) -> dict[str, Any]:
    fields = {name: getattr(row, name) for name in row.__struct_fields__}
    if "phone" in fields:
        fields["phone"] = mask_phone(fields["phone"])
    fields.pop("description", None)
    return fields


def test_a_replay_ends_with_the_store_that_was_recorded(
    player: Player, store: Store, tape: Tape
) -> None:
    tape.seconds = 1000
    player.catch_up()
    with Store.open(player.path, read_only=True) as played:
        there, here = everything(played, Mode.LIVE), everything(store, Mode.LIVE)
        for what, value in here.items():
            if isinstance(value, list):
                pairs = zip(there[what], value, strict=True)
                assert [pair for pair in pairs if pair[0] != pair[1]] == [], what
            assert there[what] == value, what


def test_each_change_comes_at_its_instant_and_not_before(player: Player, tape: Tape) -> None:
    id_ = f"col_{4000:016}"
    with Store.open(player.path, read_only=True) as played:

        def status() -> str | None:
            player.catch_up()
            row = played.collection(id_, Mode.LIVE)
            return None if row is None else row.status

        seen = {}
        for seconds in (0, 9, 10, 49, 50, 79, 80, 90):
            tape.seconds = seconds
            seen[seconds] = status()
        assert seen == {
            0: None, 9: None, 10: "created", 49: "created", 50: "succeeded", 79: "succeeded",
            80: "succeeded", 90: "succeeded",
        }  # fmt: skip
        assert len(played.notes(id_, Mode.LIVE)) == 1


def test_going_back_takes_away_what_had_not_happened(player: Player, tape: Tape) -> None:
    id_ = f"col_{4000:016}"
    tape.seconds = 85
    player.catch_up()
    with Store.open(player.path, read_only=True) as played:
        before = everything(played, Mode.LIVE)
        player.clock.jump(player.clock.start + timedelta(seconds=20))
        player.rewind()
        player.catch_up()
        found = played.collection(id_, Mode.LIVE)
        assert found is not None
        assert found.status == "created"
        assert played.notes(id_, Mode.LIVE) == ()
        player.clock.jump(player.clock.start + timedelta(seconds=85))
        player.catch_up()
        assert everything(played, Mode.LIVE) == before


def test_a_recording_holds_no_whole_phone_and_no_raw_body(
    recorded: Path, store: Store, player: Player, tape: Tape
) -> None:
    tape.seconds = 1000
    player.catch_up()
    phones = {row.phone for row in store.collections(Mode.LIVE, limit=1000).rows}
    phones |= {row.phone for row in store.intents(Mode.LIVE, limit=1000).rows}
    said = b"".join(
        json.dumps(frame.tables, default=bytes.hex).encode()
        for frame in (*read_recording(recorded).beginning, *read_recording(recorded).frames)
    )
    raw = b"".join(file.read_bytes() for file in player.path.parent.iterdir())
    whole = [phone.removeprefix("255") for phone in phones] + ["754123987"]
    assert len(whole) > 10
    for phone in whole:
        for held in (said, raw):
            assert phone.encode() not in held
            assert phone.encode().hex().encode() not in held
    assert b"asha" in raw
    assert recorded.stat().st_mode & 0o777 == 0o600
    with Store.open(player.path, read_only=True) as played:
        [arrived, *_] = played.deliveries(Mode.LIVE).rows
        kept = played.delivery_body(arrived.id)
        assert kept is not None
        assert kept.body is None


@pytest.mark.parametrize("reference", ["255754123987", "0754123987", "INV_+255754123987/2"])
def test_a_phone_that_a_merchant_made_his_reference_is_hidden_and_an_order_number_is_not(
    store: Store, seed: Any, clock: ManualClock, tmp_path: Path, reference: str
) -> None:
    seed.life(1, at=clock.now(), phone="255754123987", reference=reference)
    seed.life(2, at=clock.now(), reference="20261121001")
    path = tmp_path / "named"
    Recorder(str(tmp_path / "kusanya.db"), path, clock=clock, mode="live", profile="main").close()
    recorded = read_recording(path)
    said = json.dumps([frame.tables for frame in recorded.beginning], default=bytes.hex)
    assert "754123987" not in said
    assert b"754123987".hex() not in said
    (folder := tmp_path / "played").mkdir()
    player = Player(recorded, folder)
    assert b"754123987" not in player.path.read_bytes()
    with Store.open(player.path, read_only=True) as played:
        shown = {row.id: row.reference for row in played.collections(Mode.LIVE).rows}
        assert shown[f"col_{2:016}"] == "20261121001"
        assert shown[f"col_{1:016}"].endswith(reference[-3:])
        told = {row.collection_id: row.reference for row in played.deliveries(Mode.LIVE).rows}
        assert told == shown
    player.close()


@given(text("0123456789+ -255", max_size=20))
@example("255754000412")
@example("0754000412")
@example("2557540")
@example("")
def test_a_zeroed_phone_is_shown_as_the_phone_and_says_no_more(phone: str) -> None:
    assert mask_phone(zeroed(phone)) == mask_phone(phone)
    digits = "".join(character for character in phone if character.isdigit())
    hidden = zeroed(phone)[3 if zeroed(phone).startswith("255") else 0 : -3]
    assert set(hidden) <= {"0"}
    assert len(digits) < 8 or zeroed(phone).endswith(digits[-3:])


def test_facts_that_differ_only_in_what_is_hidden_stay_two_facts(
    store: Store, seed: Any, clock: ManualClock, tmp_path: Path
) -> None:
    seed.answered(seed.collection(1, at=clock.now(), phone="255754111000"))
    seed.polled(seed.collection(1, at=clock.now(), phone="255754222000"), at=clock.now())
    path = tmp_path / "two"
    Recorder(str(tmp_path / "kusanya.db"), path, clock=clock, mode="live", profile="main").close()
    folder = tmp_path / "played"
    folder.mkdir()
    player = Player(read_recording(path), folder)
    with Store.open(player.path, read_only=True) as played:
        assert len(played.observations(f"col_{1:016}", Mode.LIVE)) == 2
    player.close()


def test_rejected_deliveries_that_left_only_a_count_are_counted_in_the_replay(
    store: Store, seed: Any, clock: ManualClock, tmp_path: Path
) -> None:
    path = tmp_path / "counted"
    url = str(tmp_path / "bounded.db")
    with Store.open(url, clock=clock, rejected_rows=2) as bounded:
        seed.store = bounded
        recorder = Recorder(url, path, clock=clock, mode="live", profile="main")
        event = seed.event(
            seed.collection(1, at=clock.now(), status="failed", completed_at=clock.now()),
            at=clock.now(),
        )
        for _ in range(9):
            seed.delivered(
                event, at=clock.now(), verdict=Verdict.REJECTED, reason="no_match", answer=400
            )
        recorder.close()
    folder = tmp_path / "played"
    folder.mkdir()
    player = Player(read_recording(path), folder)
    player.clock.jump(player.clock.end)
    player.catch_up()
    with Store.open(player.path, read_only=True) as played:
        [counted] = played.delivery_rollups(
            Mode.LIVE, since=clock.now(), until=clock.now() + timedelta(hours=1)
        )
        assert counted.count == 9
    player.close()


def test_a_recording_never_overwrites(recorded: Path, tmp_path: Path, clock: ManualClock) -> None:
    before = recorded.read_bytes()
    with pytest.raises(KusanyaError, match="never overwrites"):
        Recorder(str(tmp_path / "kusanya.db"), recorded, clock=clock, mode="live", profile="main")
    assert recorded.read_bytes() == before


def test_a_store_that_cannot_be_read_leaves_no_file(tmp_path: Path, clock: ManualClock) -> None:
    target = tmp_path / "new"
    with pytest.raises(KusanyaError):
        Recorder(str(tmp_path / "none.db"), target, clock=clock, mode="live", profile="main")
    assert not target.exists()


def test_a_recording_cut_anywhere_is_noticed_or_plays_to_its_last_whole_frame(
    recorded: Path, tmp_path: Path
) -> None:
    whole = recorded.read_bytes()
    cut = tmp_path / "cut"
    read = 0
    for at in sorted({*range(0, len(whole), 211), *range(len(whole) - 60, len(whole))}):
        cut.write_bytes(whole[:at])
        try:
            found = read_recording(cut)
        except KusanyaError:
            continue
        read += 1
        assert not found.in_order
    assert read <= 3, "hardly any place lies between two frames"


def test_a_changed_byte_anywhere_is_noticed(recorded: Path, tmp_path: Path) -> None:
    whole = recorded.read_bytes()
    changed = tmp_path / "changed"
    chance = random.Random(7)  # noqa: S311 - the same bytes at every run
    for _ in range(150):
        at = chance.randrange(len(whole))
        changed.write_bytes(
            whole[:at] + bytes([whole[at] ^ (1 << chance.randrange(8))]) + whole[at + 1 :]
        )
        with pytest.raises(KusanyaError, match=r"damaged|cut short|no recording"):
            read_recording(changed)


def test_a_frame_that_was_taken_out_is_noticed(recorded: Path, tmp_path: Path) -> None:
    whole = recorded.read_bytes()
    places = [len(b"KUSANYA RECORDING 1\n")]
    while places[-1] < len(whole):
        size = int.from_bytes(whole[places[-1] : places[-1] + 4], "big")
        places.append(places[-1] + 20 + size)
    assert len(places) > 8
    other = tmp_path / "other"
    for begin, end in itertools.pairwise(places[:-1]):
        other.write_bytes(whole[:begin] + whole[end:])
        with pytest.raises(KusanyaError, match="damaged"):
            read_recording(other)


# --- the console on it -----------------------------------------------------------------------


@pytest.fixture
def replay(player: Player) -> Iterator[ReplayApp]:
    """Return the console on the recording; nothing in it moves by itself."""
    with Store.open(player.path, clock=player.clock, read_only=True) as store:
        yield ReplayApp(
            store, player, mode=Mode.LIVE, profile="main", store_shown="incident", tick_s=None
        )


async def test_the_status_line_says_replay_and_the_recorded_time_with_its_date(
    replay: ReplayApp, settled: Settled, tape: Tape
) -> None:
    async with replay.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        head = shown(replay).splitlines()[0]
        assert "▌REPLAY ×1▐ 04 Mar 2026 15:24:07 EAT" in head
        assert "LIVE MODE" in head
        assert "3 unknown" in head
        for key, word in (("p", "REPLAY held"), ("p", "REPLAY ×1"), ("x", "×10"), ("x", "×60")):
            await pilot.press(key)
            await settled(pilot)
            assert word in shown(replay).splitlines()[0]
        tape.seconds = 2
        replay.tick()
        await settled(pilot)
        assert "REPLAY over▐ 04 Mar 2026 15:25:37 EAT" in shown(replay).splitlines()[0]


async def test_a_replay_is_held_stepped_and_turned_back_and_shows_what_was_there_then(
    replay: ReplayApp, settled: Settled
) -> None:
    reference = f"INV-{482_000 + 4000}"
    async with replay.run_test(size=(120, 36)) as pilot:
        await settled(pilot)

        def line() -> str:
            lines = [one for one in shown(replay).splitlines() if reference in one]
            return lines[0] if lines else ""

        assert line() == ""
        await pilot.press("full_stop")
        await settled(pilot)
        assert "created" in line()
        assert "REPLAY held" in shown(replay)
        await pilot.press("full_stop")
        await settled(pilot)
        assert "succeeded" in line()
        await pilot.press("left_parenthesis")
        await settled(pilot)
        assert line() == "", "it had not been created then"
        assert replay.console_screen is not None
        assert replay.console_screen.NAME == "live"
        await pilot.press("right_parenthesis")
        await settled(pilot)
        assert "succeeded" in line()


async def test_turning_back_keeps_the_screen_and_closes_a_dialog(
    replay: ReplayApp, settled: Settled
) -> None:
    async with replay.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        await pilot.press("2", "question_mark")
        await settled(pilot)
        assert len(replay.screen_stack) == 2
        await replay.run_action("tape_seek(-60)")
        await settled(pilot)
        assert replay.console_screen is not None
        assert replay.console_screen.NAME == "deliveries"
        assert len(replay.screen_stack) == 1


async def test_nothing_is_asked_or_done_in_a_replay(replay: ReplayApp, settled: Settled) -> None:
    async with replay.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        await pilot.press("c")
        await settled(pilot)
        assert "off: a recording only shows what was" in shown(replay)
        await pilot.press("escape", "v")
        await settled(pilot)
        assert "off: a recording only shows what was" in shown(replay)
        await pilot.press("escape", "6")
        await settled(pilot)
        assert "off: a recording only shows what was" in shown(replay)
        assert replay.desk.acts is None
        assert replay.desk.asks is None


async def test_the_help_names_the_keys_of_the_tape_first(
    replay: ReplayApp, settled: Settled
) -> None:
    async with replay.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        await pilot.press("question_mark")
        await settled(pilot)
        text = shown(replay)
        assert text.index("the recording") < text.index("Hold the recording") < text.index("down")


def test_a_recording_is_told_from_now_at_a_glance(
    replay: ReplayApp, keys: Any, snap_compare: Any
) -> None:
    assert snap_compare(replay, terminal_size=(120, 36), run_before=keys("n"))


async def test_the_palette_offers_the_tape(replay: ReplayApp, settled: Settled) -> None:
    async with replay.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        await pilot.press("ctrl+p")
        await pilot.press(*"hold the tape")
        await settled(pilot)
        await pilot.press("enter", "enter")
        await settled(pilot)
        assert replay.player.clock.paused


# --- the command -----------------------------------------------------------------------------

CONSOLE = (sys.executable, "-m", "kusanya_console.cli", "console")


def test_a_console_records_what_it_saw_and_replays_it_on_another_day(
    store: Store, seed: Any, clock: ManualClock, tmp_path: Path, on_a_terminal: Any
) -> None:
    clock.step(datetime.now(UTC) - clock.now())
    seed.busy(4, until=clock.now())
    path = tmp_path / "incident.kusanya"
    status, written = on_a_terminal(
        [*CONSOLE, f"--store={tmp_path / 'kusanya.db'}", f"--record={path}"],
        [(b"INV-482900", b"\x11")], KUSANYA_MODE="live",
    )  # fmt: skip
    assert status == 0, written[-500:]
    assert read_recording(path).in_order
    store.close()
    for file in tmp_path.glob("kusanya.db*"):
        file.unlink()
    # Where the short tape is over before the key comes, it is held at its beginning.
    status, written = on_a_terminal(
        [*CONSOLE, f"--replay={path}"], [(b"INV-482900", b"p("), (b"held", b"\x11")]
    )
    assert status == 0
    assert b"LIVE MODE" in written
    assert b"REPLAY" in written


def test_a_damaged_recording_is_told_in_one_line_and_exit_1(
    recorded: Path, tmp_path: Path, on_a_terminal: Any
) -> None:
    whole = recorded.read_bytes()
    for name, bad, told in (
        ("cut", whole[:-30], b"cut short"),
        ("changed", whole[:900] + b"X" + whole[901:], b"damaged"),
        ("other", b"SQLite format 3", b"no recording"),
    ):
        path = tmp_path / name
        path.write_bytes(bad)
        status, written = on_a_terminal([*CONSOLE, f"--replay={path}"])
        assert status == 1
        assert written.startswith(b"kusanya: ")
        assert told in written
        assert written.count(b"\n") == 1
        assert b"\x1b" not in written


@pytest.mark.parametrize(
    "options",
    [
        ("--replay=x", "--allow-writes"),
        ("--replay=x", "--store=y"),
        ("--replay=x", "--web"),
        ("--record=x", "--web"),
        ("--record=x", "--replay=y"),
    ],
    ids=" ".join,
)
def test_options_that_contradict_each_other_are_wrong_usage(options: tuple[str, ...]) -> None:
    ended = subprocess.run(
        [*CONSOLE, *options], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("kusanya: --re")
