"""`kusanya handover`: a shift in lines and as JSON."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.console.seeding import NOW, Seed

from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya_console.cli import handover

Kusanya = Callable[..., tuple[int, str, str]]


def test_a_shift_is_printed_in_three_parts_without_a_phone(
    kusanya: Kusanya, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUSANYA_MODE", "live")
    monkeypatch.setattr(handover, "now", lambda *_: NOW)
    path = str(tmp_path / "kusanya.sqlite")
    with Store.open(path, clock=ManualClock(NOW)) as store:
        seed = Seed(store)
        seed.busy(6)
        seed.intents()
        store.audit.add(actor="x", act="note", subject=f"col_{3:016}", detail="0754 000 003 called")
    code, out, _ = kusanya("handover", "--since", "14:00", "--store", path)
    assert code == 0
    assert out.startswith("live mode, since 14:00:00, as of 15:24:07\n\nWhat happened\n  ")
    for said in ("\nWho did what\n", "\nWhat is open\n", "INV-482003", "? outcome unknown:"):
        assert said in out
    assert "000 003" not in out
    code, out, _ = kusanya("handover", "--since", "18:00", "--json", "--store", path)
    found = json.loads(out)
    assert (code, found["since"]) == (0, "2026-03-03T18:00:00+03:00")
    assert found["acts"][0]["reference"] == "INV-482003"
    assert len(found["unknown"]) == 3
    code, _, err = kusanya("handover", "--since", "tomorrow", "--store", path)
    assert (code, "--since: a time is" in err) == (2, True)
