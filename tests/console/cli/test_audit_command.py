"""`kusanya audit`: who did what, from when on, to which payment."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from tests.console.seeding import NOW, Seed

from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya.store.queries import notes_and_audit
from kusanya_console.cli.lookup import command as lookup

Kusanya = Callable[..., tuple[int, str, str]]


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = str(tmp_path / "kusanya.sqlite")
    clock = ManualClock(NOW - timedelta(hours=30))
    monkeypatch.setattr(lookup, "now", lambda *_: NOW)
    with Store.open(path, clock=clock) as store:
        collection = Seed(store).life(3, at=clock.now())
        for actor, act, hours in (("asha", "note", 30), ("juma", "reveal_phone", 3)):
            clock.step(NOW - clock.now() - timedelta(hours=hours))
            monkeypatch.setattr(notes_and_audit, "operating_system_user", lambda who=actor: who)
            store.audit.add(actor=actor, act=act, subject=collection.id, detail="0754 000 003")
    return path


def test_people_are_listed_with_what_they_did_to_which_payment(kusanya: Kusanya, url: str) -> None:
    code, out, _ = kusanya("audit", "--store", url)
    assert code == 0
    newest, oldest = out.splitlines()
    assert newest.startswith("2026-03-04 12:24:07 EAT  juma  reveal phone  col_")
    assert "INV-482003" in oldest
    assert "000 003" not in out


def test_acts_are_narrowed_by_person_act_and_time(kusanya: Kusanya, url: str) -> None:
    for narrowed in (["--actor", "JUM"], ["--act", "reveal phone"], ["--since", "yesterday 18:00"]):
        code, out, _ = kusanya("audit", "--json", "--store", url, *narrowed)
        [act] = json.loads(out)["data"]
        assert (code, act["actor"], act["reference"]) == (0, "juma", "INV-482003"), narrowed
    # It is 15:24: a time alone that is still to come is yesterday's.
    for since, acts in (("18:00", 1), ("09:00", 1), ("12:25", 0), ("2026-03-03 09:00", 2)):
        _, out, _ = kusanya("audit", "--json", "--store", url, "--since", since)
        assert len(json.loads(out)["data"]) == acts, since
    _, out, _ = kusanya("audit", "--store", url, "--actor", "nobody")
    assert out == "none: no act is as you asked\n"
    code, _, err = kusanya("audit", "--store", url, "--since", "noonish")
    assert code == 2
    assert "--since: a time is 'today 02:13'" in err
