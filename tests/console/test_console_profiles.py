"""Going on with another profile without leaving the terminal."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.console.looking import AtRest, OpenConsole, press, shown

from kusanya.store import Store


@pytest.mark.anyio
async def test_the_palette_offers_the_other_profiles_and_ends_this_console(
    opened: OpenConsole, at_rest: AtRest
) -> None:
    names = ("main", "rehearsal", "[/x]")
    async with opened("ctrl+p", *"Profile", profile="main", profiles=names) as (app, pilot):
        assert "Profile: rehearsal" in shown(app)
        assert "Profile: [/x]" in shown(app)
        assert "Profile: main" not in shown(app)
        await press(pilot, at_rest, "space", *"reh", "enter")
        await pilot.pause()
    assert app.next_profile == "rehearsal"
    assert app.return_code == 0


@pytest.mark.merge
def test_another_profile_is_shown_and_one_without_a_store_leads_back(
    tmp_path: Path, on_a_terminal: Callable[..., tuple[int, bytes]]
) -> None:
    config = tmp_path / "config.toml"
    for name in ("one", "two"):
        Store.open(tmp_path / f"{name}.sqlite").close()
    config.write_text(
        'default_profile = "one"\n'
        + "".join(
            f'[profiles.{name}]\nmode = "{mode}"\nstore = "{tmp_path / name}.sqlite"\n'
            for name, mode in (("one", "live"), ("two", "test"), ("lost", "live"))
        )
    )
    steps = [
        (rb"LIVE.MODE", b"\x10"),
        (rb"ommand", b"Profile: two"),
        (rb"two", b"\r"),
        (rb"TEST.MODE", b"\x10"),
        (rb"ommand", b"Profile: lost"),
        (rb"lost", b"\r"),
        (rb"cannot be shown", b"\x11"),
    ]
    status, written = on_a_terminal(
        [sys.executable, "-m", "kusanya_console", "console"],
        steps,
        KUSANYA_CONFIG=str(config),
        KUSANYA_DATA=str(tmp_path / "data"),
    )
    assert status == 0
    assert re.search(rb"there is no store at", written)
