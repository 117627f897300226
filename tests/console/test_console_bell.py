"""The terminal's bell: once for an urgent alarm, only while nobody looks at the console."""

from datetime import timedelta
from typing import Any

import pytest
from tests.console.looking import AtRest, ticked
from textual import events

from kusanya.clock import ManualClock
from kusanya.profiles import has_bell


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("has_focus", "bell", "rings"), [(False, True, 1), (True, True, 0), (False, False, 0)]
)
async def test_it_rings_once_for_an_urgent_alarm_while_the_console_has_no_focus(
    opened: Any,
    seed: Any,
    clock: ManualClock,
    at_rest: AtRest,
    monkeypatch: pytest.MonkeyPatch,
    *,
    has_focus: bool,
    bell: bool,
    rings: int,
) -> None:
    seed.watched()
    seed.life(1, at=clock.now() - timedelta(minutes=5))
    async with opened("1", bell=bell) as (app, pilot):
        await at_rest(pilot)
        rung: list[None] = []
        monkeypatch.setattr(app, "bell", lambda: rung.append(None))
        if not has_focus:
            app.post_message(events.AppBlur())
            await at_rest(pilot)
        for n in (6, 11):
            seed.answered(seed.collection(n, at=clock.now() - timedelta(minutes=10)))
        seed.watched()
        for _ in range(3):
            await clock.advance(10)
            await ticked(pilot, at_rest)
        assert len(rung) == rings


def test_the_configuration_turns_it_off(tmp_path: Any) -> None:
    path = tmp_path / "config.toml"
    path.write_text("bell = false\n")
    assert not has_bell(environ={"KUSANYA_CONFIG": str(path)})
    path.write_text("")
    assert has_bell(environ={"KUSANYA_CONFIG": str(path)})
