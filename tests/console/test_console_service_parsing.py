"""What is typed on the Service screen, and what the console knows by heart of the service."""

from datetime import timedelta

import pytest

from kusanya_console.sandbox.dashboard.phones import SCRIPTED
from kusanya_console.sandbox.dashboard.reader import path_part
from kusanya_console.sandbox.dashboard.records import FaultRule
from kusanya_console.sandbox.screen.parsing import FAULTS, parse_duration, parse_fault_rule
from kusanya_service.simulation import faults, networks


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90 s", 90),
        ("5min", 300),
        ("5m", 300),
        ("2 h 36 min", 9_360),
        ("3 d", 259_200),
        ("1d2h3m4s", 93_784),
    ],
)
def test_a_length_of_time_is_written_as_people_write_it(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "90", "h", "5 weeks", "-5 s", "0 s", "4000 d", "5 s x"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"write a length|ten years"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("always", FaultRule(kind="x")),
        ("", FaultRule(kind="x")),
        ("20%", FaultRule(kind="x", rate=0.2)),
        ("3 times", FaultRule(kind="x", times=3)),
        ("1x", FaultRule(kind="x", times=1)),
        ("50 %, 2 times, 12 s", FaultRule(kind="x", rate=0.5, times=2, seconds=12)),
        ("-400 s", FaultRule(kind="x", seconds=-400)),
    ],
)
def test_how_a_fault_strikes_is_read(text: str, rule: FaultRule) -> None:
    assert parse_fault_rule("x", text) == rule


@pytest.mark.parametrize("text", ["0%", "101%", "0 times", "sometimes", "5", "20% often"])
def test_what_says_nothing_about_striking_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write always"):
        parse_fault_rule("x", text)


def test_a_rule_says_how_often_it_may_still_strike() -> None:
    assert FaultRule(kind="x").frequency == "always"
    assert FaultRule(kind="x", rate=0.25).frequency == "25 %"
    rule = FaultRule(kind="x", times=3, struck=2)
    assert rule.frequency == "always, 1 of 3 times left"
    assert FaultRule(kind="x", times=3, struck=5).left == 0


def test_the_console_knows_every_scripted_phone_and_what_it_comes_to() -> None:
    ends = {"never": "created"}
    expected = {
        number: ends.get(script.outcome, script.outcome)
        for number, script in networks.SCRIPTED.items()
    }
    assert {phone.number: phone.outcome for phone in SCRIPTED} == expected
    assert list(expected) == [phone.number for phone in SCRIPTED]


def test_the_console_knows_every_fault() -> None:
    assert list(FAULTS) == [kind.value for kind in faults.FaultKind]


@pytest.mark.parametrize("name", ["..", ".", "a/b", "evt_?x=1#", "evt_%2e"])
def test_an_id_that_a_stranger_claims_stays_one_part_of_the_path(name: str) -> None:
    assert not set(path_part(name)) & set("/?#")
    assert path_part(name) not in {".", ".."}
