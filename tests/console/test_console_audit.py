"""The Audit screen: who did what, when, to which collection; narrowed, exported, masked."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, press, shown, ticked
from tests.console.picturing import SIZES, in_both_languages, on_every_size

from kusanya.alarms import inputs
from kusanya.alarms.alarm import describe_alarm_id
from kusanya.alarms.open_anomalies import anomaly_id
from kusanya.alarms.rules import raised
from kusanya.clock import ManualClock
from kusanya.state.anomalies import AnomalyKind
from kusanya.store import Store
from kusanya.store.queries import notes_and_audit
from kusanya.wire import Mode
from kusanya_console.audit.screen import AuditScreen

ACTS = (
    ("juma", "reveal_phone", f"col_{3:016}", "the customer called from 0754 000 003", "revealed"),
    ("asha", "resend", f"evt_{5:016}", "live mode", "done"),
    ("asha", "acknowledge alarm", "silent:shop", "the link is down, ISP called", "done"),
    ("asha", "note", f"col_{7:016}", "receipt from the customer", "failed: the store was busy"),
    ("juma", "decide intent", "int_00000001", "not in the statement", "done"),
)


@pytest.fixture
def acts(store: Store, seed: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two people work for two days."""
    seed.busy(12)
    seed.intents()
    test = seed.life(40, at=clock.now() - timedelta(minutes=9), mode=Mode.TEST)
    now = clock.now()
    clock.step(timedelta(hours=-26))
    for actor, act, subject, detail, outcome in (
        *ACTS,
        ("asha", "note", test.id, "of a rehearsal", "done"),
    ):
        monkeypatch.setattr(notes_and_audit, "operating_system_user", lambda who=actor: who)
        store.audit.add(actor=actor, act=act, subject=subject, detail=detail, outcome=outcome)
        clock.step(timedelta(hours=5))
    clock.step(now - clock.now())


def exports(folder: Path) -> list[Path]:
    """Return the files that were written."""
    return list(folder.glob("*.csv"))


@in_both_languages
@on_every_size
def test_the_audit_names_people_acts_and_payments(
    size: tuple[int, int], acts: None, picture: Any
) -> None:
    assert picture(size, "7", "j", "j", "j", "j", "j")


@pytest.mark.anyio
async def test_what_was_acknowledged_is_named_in_words(
    opened: OpenConsole, store: Store, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    for n in range(12):
        at = clock.now() - timedelta(minutes=6, seconds=n)
        seed.answered(seed.collection(300 + n, at=at, channel="AIRTEL_TZ"))
    seed.watched()
    done = seed.life(3, at=clock.now() - timedelta(minutes=9))
    found = raised(inputs.load(store, Mode.LIVE, now=clock.now()), format_time=str)
    stuck = next(one for one in found if one.code == "stuck")
    for subject in (stuck.id, anomaly_id(AnomalyKind.FEE_CHANGED, done.id)):
        store.audit.add(actor="x", act="acknowledge", subject=subject, detail="", outcome="done")
    async with opened("7", size=(160, 50)) as (app, pilot):
        said = shown(app)
        assert "stuck, Airtel Money" in said
        assert "AIRTEL_TZ" not in said
        assert "INV-482003" in said
        await press(pilot, at_rest, "enter")
        assert app.console_screen is not None
        assert app.console_screen.NAME == "lookup", "the oddity is of a payment"
        await press(pilot, at_rest, "8")
        assert "stuck, Airtel Money  done" in shown(app)


@pytest.mark.parametrize(
    ("alarm_id", "words"),
    [
        ("silent:live:2026-03-04T12:00:00+00:00", "silent, live"),
        ("silent:test:never", "silent, test"),
        ("failing:live:shop:2026-03-04T12:00:00+00:00", "failing, shop, live"),
        ("unsent:live:https://a.example:8/x:2026-03-04T12", "unsent, https://a.example:8/x, live"),
        ("col_0000000000000003", None),
        ("silent:shop", None),
        ("whsec_1111:live", None),
        ("", None),
    ],
)  # fmt: skip
def test_an_alarm_is_known_by_its_id(alarm_id: str, words: str | None) -> None:
    assert describe_alarm_id(alarm_id) == words


def test_an_empty_audit_says_what_would_stand_there(picture: Any) -> None:
    assert picture(SIZES[0], "7")


@pytest.mark.merge
@pytest.mark.anyio
async def test_the_audit_is_narrowed_by_actor_act_and_day(
    opened: OpenConsole, acts: None, at_rest: AtRest
) -> None:
    async with opened("7") as (app, pilot):
        assert isinstance(app.screen, AuditScreen)
        assert "reveal phone" in shown(app)
        for typed, kept, gone in (
            ("actor:ju", "reveal phone", "silent:shop"),
            ('"act:reveal phone"', "INV-482003", "INV-431001"),
            ("at:2026-03-03", "reveal phone", "of a rehearsal"),
            ("-actor:juma", "silent:shop", "reveal phone"),
            ("INV-482007", "the store was busy", "silent:shop"),
            ("!", "the store was busy", "reveal phone"),
        ):
            await pilot.press("slash")
            await press(pilot, at_rest, *("space" if letter == " " else letter for letter in typed))
            await press(pilot, at_rest, "enter")
            assert kept in shown(app), typed
            assert gone not in shown(app), typed
            await press(pilot, at_rest, "escape")


@pytest.mark.anyio
async def test_an_act_leads_to_the_story_of_its_payment_and_no_phone_is_shown(
    opened: OpenConsole, acts: None, at_rest: AtRest
) -> None:
    async with opened("7", size=(160, 50)) as (app, pilot):
        await press(pilot, at_rest, "enter")
        assert "it is a payment of TEST MODE" in shown(app)
        await press(pilot, at_rest, "escape", "G")
        assert "0754 000 003" not in shown(app)
        assert "•••" in shown(app)
        await press(pilot, at_rest, "enter")
        assert app.console_screen is not None
        assert app.console_screen.NAME == "lookup"
        assert "INV-482003" in shown(app)


@pytest.mark.anyio
async def test_a_new_act_appears_at_the_top_and_the_list_is_exported(
    opened: OpenConsole, acts: None, store: Store, at_rest: AtRest, tmp_path: Path
) -> None:
    async with opened("7", folder=tmp_path) as (app, pilot):
        store.audit.add(actor="x", act="replay", subject="int_00000002", detail="", outcome="done")
        await ticked(pilot, at_rest)
        assert isinstance(app.screen, AuditScreen)
        first = app.screen.table.excerpt.rows[0]
        assert (first.row.act, first.subject and first.subject.reference) == (
            "replay",
            "INV-431002",
        )
        await press(pilot, at_rest, "ctrl+s", "enter")
    [written] = [path for path in exports(tmp_path) if "kusanya-live-acts-" in path.name]
    text = written.read_text("utf-8-sig")
    assert "reveal_phone" in text
    assert "0754 000 003" not in text
