"""`--log` and KUSANYA_LOG: who writes what he does, and where."""

import json
import logging
import sys
from collections.abc import Callable, Iterator

import pytest

from kusanya.telemetry.logs import configure
from kusanya_console.cli.process.log_option import LONG_RUNNING, start_log
from kusanya_console.output import Refused

ActionResult = tuple[int, str, str]


@pytest.fixture(autouse=True)
def _silent_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("KUSANYA_LOG", raising=False)
    yield
    configure("off")


def warned(capsys: pytest.CaptureFixture[str]) -> str:
    """Return what a warning of the library writes on standard error now."""
    capsys.readouterr()
    logging.getLogger("kusanya.store").warning("slow commit")
    return capsys.readouterr().err


@pytest.mark.parametrize("command", sorted(LONG_RUNNING))
def test_a_command_that_runs_for_days_says_what_it_does(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    start_log(command, None)
    assert warned(capsys).endswith("warning kusanya.store: slow commit\n")


@pytest.mark.parametrize("command", ["find", "collect", "console", "demo", "reconcile"])
def test_other_commands_are_silent(capsys: pytest.CaptureFixture[str], command: str) -> None:
    start_log(command, None)
    assert warned(capsys) == ""


def test_the_option_wins_over_the_variable_and_that_over_the_default(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUSANYA_LOG", "off")
    start_log("receive", None)
    assert warned(capsys) == ""
    start_log("receive", "json")
    assert json.loads(warned(capsys))["message"] == "slow commit"


def test_each_accepted_delivery_has_a_line_where_somebody_asked_for_a_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted = logging.getLogger("kusanya.receiver.accepted")
    start_log("receive", None)
    assert not accepted.isEnabledFor(logging.INFO)
    assert logging.getLogger("kusanya.receiver").isEnabledFor(logging.INFO)
    start_log("receive", "json")
    accepted.info("delivery received")
    assert json.loads(capsys.readouterr().err)["message"] == "delivery received"
    monkeypatch.setenv("KUSANYA_LOG", "text")
    start_log("receive", None)
    assert accepted.isEnabledFor(logging.INFO)


def test_a_log_never_draws_over_the_console(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with pytest.raises(Refused, match=r"2>kusanya\.log"):
        start_log("console", "text")
    monkeypatch.setenv("KUSANYA_LOG", "text")
    start_log("console", None)
    assert warned(capsys) == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--log", "xml", "find", "x"), "--log is text, json or off"),
        (("find", "x", "--log", "json"), "kusanya --log json receive"),
    ],
    ids=["another word", "after the command"],
)
def test_a_log_that_cannot_be_had_is_wrong_usage(
    kusanya: Callable[..., ActionResult], arguments: tuple[str, ...], said: str
) -> None:
    code, _, err = kusanya(*arguments)
    assert (code, err.count("\n")) == (2, 1)
    assert said in err


def test_a_command_writes_its_log_on_standard_error_and_its_result_on_standard_output(
    kusanya: Callable[..., ActionResult],
) -> None:
    code, out, err = kusanya("--log", "json", "keys", "list", "--json")
    assert code == 1
    assert out == ""
    assert err.count("\n") == 1, "nothing was logged, the complaint is there"
