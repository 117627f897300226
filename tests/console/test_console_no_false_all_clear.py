"""Nothing is called healthy on an old word, and what is urgent stands in every header."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, lines, shown, ticked

from kusanya.alarms.sender import SenderEndpoint
from kusanya.clock import ManualClock
from kusanya.errors import StoreUnavailable
from kusanya.store import Store
from kusanya.store.records import IntentState, Verdict
from kusanya.wire import Mode
from kusanya_console.sandbox.dashboard.records import ServicePicture, ServiceTime
from kusanya_console.screens.status_line import StatusBarState, line
from kusanya_console.ui.format import Look
from kusanya_console.ui.vocabulary import FAILED

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 3, 4, 12, 24, 7, tzinfo=UTC)


class Dashboard:
    """The embedded service's own side: one endpoint, in the state that a test says."""

    def __init__(self, **said: Any) -> None:
        self.endpoint = SenderEndpoint(
            id="we_1", mode="live",
            **({"status": "enabled", "url": "http://127.0.0.1:8000/webhooks/shop"} | said),
        )  # fmt: skip

    def load(self) -> ServicePicture:
        """Return the picture with the endpoint."""
        return ServicePicture(
            time=ServiceTime(now=NOW, kind="real"), endpoints=(self.endpoint,), keys=(), faults=()
        )

    def sent(self, event_id: str) -> tuple[()]:
        """Return nothing: no log is asked for here."""
        return ()


def endpoint_line(app: Any) -> str:
    return next(line for line in lines(app) if "shop  " in line)


async def test_an_endpoint_is_healthy_after_a_recent_success_and_quiet_later(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.life(1, at=clock.now() - timedelta(minutes=5))
    async with opened("4") as (app, pilot):
        await at_rest(pilot)
        assert "● healthy" in endpoint_line(app)
        await clock.advance(4 * 86_400)
        await ticked(pilot, at_rest)
        assert "○ quiet" in endpoint_line(app)
        assert "healthy" not in shown(app)


async def test_without_an_arrival_and_with_prompts_waiting_an_endpoint_is_silent(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.life(1, at=clock.now() - timedelta(hours=5))
    seed.answered(seed.collection(2, at=clock.now() - timedelta(minutes=10)))
    async with opened("4") as (app, pilot):
        await at_rest(pilot)
        assert "◐ silent" in endpoint_line(app)
        assert "not known" in endpoint_line(app), "the fuse of what may fail unseen is not unlit"


async def test_an_endpoint_that_was_enabled_again_is_not_called_disabled(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    """What arrives shows nothing of it before the next 2xx; the sender knows."""
    for hours in (80, 40, 1):
        at = NOW - timedelta(hours=hours)
        event = seed.event(
            seed.collection(hours, at=at, status="succeeded", completed_at=at), at=at
        )
        seed.delivered(event, at=at, verdict=Verdict.REJECTED, reason="too_old", answer=400)
    async with opened("4", size=(160, 50)) as (app, pilot):
        await at_rest(pilot)
        assert "✕ disabled" in endpoint_line(app)
        assert "blown" in endpoint_line(app)
    async with opened("4", service=Dashboard(), size=(160, 50)) as (app, pilot):
        await at_rest(pilot)
        assert "✕ failing" in endpoint_line(app)
        assert "not lit" in endpoint_line(app)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/webhooks/shop", "http://127.0.0.1:8000/"])
@pytest.mark.parametrize(
    ("said", "word", "fuse"),
    [
        (
            {"status": "disabled", "disabled_at": NOW - timedelta(hours=1)},
            "disabled",
            "blown 14:24",
        ),
        ({"failing_since": NOW - timedelta(hours=1)}, "failing", "Sat 14:24, 2 d 23 h left"),
        ({"failing_since": NOW - timedelta(hours=80)}, "failing", "blows at the next failure"),
    ],
)
async def test_the_senders_word_counts_on_health_in_every_header_and_beside_each_delivery(
    *, opened: OpenConsole, seed: Any, at_rest: AtRest, said: Any, word: str, fuse: str, url: str
) -> None:
    seed.life(1, at=NOW - timedelta(minutes=1))
    service = Dashboard(**said, url=url)
    async with opened("4", service=service, size=(160, 50)) as (app, pilot):
        await at_rest(pilot)
        assert f"✕ {word}" in endpoint_line(app)
        assert fuse in endpoint_line(app)
        assert f"✕ {word}: the sender" in shown(app)
        assert "nothing is failing" not in shown(app)
        for key in ("1", "2", "3", "5", "4"):
            await pilot.press("escape", key)
            await at_rest(pilot)
            assert f"✕ 1 {word}" in lines(app)[0], key
            assert "not lit" not in shown(app), key


@pytest.mark.parametrize("crumb", ["live", "deliveries", "collections"])
def test_the_most_urgent_alarm_has_its_name_in_eighty_columns(crumb: str) -> None:
    alarms = ("✕ 1 failing", "✕ 1 stuck", "◐ silent")
    state = StatusBarState(
        mode=Mode.LIVE, crumb=crumb, unknown=27, updated_at=NOW,
        alarms=tuple((words, "failed") for words in alarms),
    )  # fmt: skip
    said = "".join(piece for piece, _ in line(state, Look(NOW), 80))
    assert "✕ 1 failing   ✕ +2 on 4" in said
    assert "? 27 unknown" in said
    assert "updated 0 s ago" in said


async def test_while_the_store_is_lost_health_is_dimmed_and_calls_nothing_healthy(
    opened: OpenConsole, seed: Any, store: Store, at_rest: AtRest, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed.life(1, at=NOW - timedelta(minutes=1))
    async with opened("4") as (app, pilot):
        await at_rest(pilot)
        assert "● healthy" in endpoint_line(app)

        def lost(*_: Any, **__: Any) -> Any:
            raise StoreUnavailable("the disk is gone")

        monkeypatch.setattr(store.feed, "changes", lost)
        await ticked(pilot, at_rest)
        assert "? unknown" in endpoint_line(app)
        assert "store lost: it cannot be read since 15:24:07" in shown(app)
        assert "healthy" not in shown(app)
        assert app.screen.has_class("-lost")


@pytest.mark.merge
async def test_stuck_prompts_wrong_modes_and_closing_windows_stand_in_every_header(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    for n in (1, 6, 11):
        seed.answered(seed.collection(n, at=clock.now() - timedelta(minutes=10)))
    seed.watched()
    wrong = seed.collection(50, at=clock.now(), mode=Mode.TEST, status="succeeded")
    seed.delivered(
        seed.event(wrong, at=clock.now()), at=clock.now(), verdict=Verdict.WRONG_MODE, answer=400,
        reason="wrong_mode",
    )  # fmt: skip
    seed.intent(2, sent_ago=timedelta(hours=21, minutes=24), state=IntentState.UNKNOWN)
    async with opened(size=(160, 50)) as (app, pilot):
        for key in ("1", "2", "3", "4", "5"):
            await pilot.press("escape", key)
            await at_rest(pilot)
            header = lines(app)[0]
            for alarm in ("≠ wrong mode", "✕ 1 stuck", "? 1 closing", "? 1 unknown"):
                assert alarm in header, (key, header)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160])
def test_an_alarm_for_which_there_is_no_room_is_counted(width: int) -> None:
    words = (
        "✕ 1 disabled", "✕ 2 failing", "≠ wrong mode", "? 1 closing", "✕ 2 stuck", "◐ silent",
        "◌ 4 stalled",
    )  # fmt: skip
    standing = StatusBarState(
        mode=Mode.LIVE, crumb="Deliveries", unknown=3, updated_at=NOW,
        alarms=tuple((one, FAILED) for one in words),
    )  # fmt: skip
    said = "".join(piece for piece, _ in line(standing, Look(NOW), width))
    named = sum(
        word in said
        for word in ("disabled", "failing", "wrong mode", "closing", "stuck", "silent", "stalled")
    )
    rest = 0 if "✕ +" not in said else int(said.split("✕ +")[1].split()[0])
    assert named + rest == 7
    assert len(said.rstrip()) <= width


def test_the_header_cuts_the_address_of_the_store_and_never_the_profile() -> None:
    standing = StatusBarState(
        mode=Mode.LIVE, crumb="Live", updated_at=NOW, profile="night-shift-main",
        store="postgresql://kusanya@db.internal.example/payments",
    )  # fmt: skip
    said = "".join(piece for piece, _ in line(standing, Look(NOW), 160))
    assert "night-shift-main …" in said
    assert "example/payments" in said
