"""What an alarm tells a person to run can be run, and finds what the alarm speaks of."""

import re
from pathlib import Path

import pytest
from tests.console.cli.deploying import Kusanya
from tests.console.cli.test_no_command_shows_a_password import COMMANDS

from kusanya.alarms.rules import RULES
from kusanya.store import Store

RULES_FOLDER = Path(__file__).parents[3] / "lib" / "kusanya" / "alarms" / "rules"
_NAMED = re.compile(r"kusanya ((?:[a-z]+(?:-[a-z]+)*)(?: [a-z]+(?:-[a-z]+)*)?)")


def named() -> set[str]:
    """Return each command that a sentence of an alarm names, whatever line it is broken in."""
    found: set[str] = set()
    for path in RULES_FOLDER.glob("*.py"):
        text = re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8"))
        for words in _NAMED.findall(text):
            first = words.partition(" ")[0]
            found.add(words if any(name.startswith(f"{first} ") for name in COMMANDS) else first)
    return found


def test_each_command_that_an_alarm_names_is_there() -> None:
    assert RULES
    commands = named()
    assert {"intents resume", "catch-up", "store backup", "watch"} <= commands
    assert commands <= COMMANDS.keys()


SAID = {
    "catch-up": ((), "asked about 0 collections"),
    "intents resume": ((), "none: every creation in test mode has its answer"),
    "outcomes list": ((), "no consumers"),
    "store backup": (("copy.sqlite",), "saved copy.sqlite"),
    "store expect-backups": (("--within", "36h"), "wants one every 36h"),
    "store migrate": ((), "is ready at this version's schema"),
}
"""Of the commands that end by themselves: what more they need, and what they say of a store with
nothing in it."""
ELSEWHERE = {
    "doctor": "it asks a service: test_doctor_command.py",
    "rule": "it asks a service: test_rule_command.py",
    "watch": "it runs until it is stopped: test_watch_command.py",
    "store resolve-restore": "it needs a restored store: test_store_restore.py",
}


@pytest.mark.parametrize("command", sorted(SAID))
def test_what_an_alarm_names_runs_as_it_is_written(
    kusanya: Kusanya, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUSANYA_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.setenv("KUSANYA_API_KEY", "svc_test_sk_aaaa")
    monkeypatch.setenv("KUSANYA_BASE_URL", "http://127.0.0.1:1")
    Store.open(tmp_path / "store.sqlite").close()
    more, said = SAID[command]
    code, out, err = kusanya(*command.split(), *more)
    assert (code, said in out) == (0, True), (out, err)


def test_no_command_of_an_alarm_is_left_out_here() -> None:
    assert named() == SAID.keys() | ELSEWHERE.keys()
