"""`kusanya watch` waits for a store whose database is away, and reads its key again when told."""

import signal
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kusanya.clock import ManualClock
from kusanya.errors import StoreAway, StoreUnavailable
from kusanya.privacy.secret_url import SecretUrl
from kusanya.profiles import Profile, load
from kusanya.store import Store
from kusanya_console.cli.watch import _catch_signals, _open_when_there, _read_again


class Pauses(threading.Event):
    """Lets every pause pass at once; set after so many of them."""

    def __init__(self, *, until: int = 1_000) -> None:
        super().__init__()
        self.seen: list[float | None] = []
        self._until = until

    def wait(self, timeout: float | None = None) -> bool:
        """Note the pause."""
        self.seen.append(timeout)
        return len(self.seen) >= self._until


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> list[StoreUnavailable]:
    """Return the errors that openings meet, one after the other, before one succeeds."""
    errors: list[StoreUnavailable] = []

    def opened(url: str, *, clock: Any = None, upgrade: bool = False) -> Any:
        if errors:
            raise errors.pop(0)
        return f"open {url}"

    monkeypatch.setattr(Store, "open", opened)
    return errors


def test_it_waits_longer_and_longer_and_says_so_once(
    away: list[StoreUnavailable], capsys: pytest.CaptureFixture[str]
) -> None:
    away += [StoreAway("cannot open the store: refused; start again")] * 9
    pauses = Pauses()
    found: Any = _open_when_there(SecretUrl("postgresql://team"), pauses)
    assert found == "open postgresql://team"
    assert pauses.seen == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    said = capsys.readouterr().err
    assert said.count("cannot open the store: refused; trying again until it can be opened") == 1


def test_it_can_be_stopped_while_it_waits(away: list[StoreUnavailable]) -> None:
    away += [StoreAway("refused")] * 9
    assert _open_when_there(SecretUrl("postgresql://team"), Pauses(until=3)) is None


def test_what_waiting_does_not_help_ends_it(away: list[StoreUnavailable]) -> None:
    away.append(StoreUnavailable("of an older version"))
    with pytest.raises(StoreUnavailable, match="older"):
        _open_when_there(SecretUrl("postgresql://team"), Pauses())


def test_a_key_is_read_again_and_an_unfit_one_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "key"
    key.touch(mode=0o600)
    environ = {"KUSANYA_API_KEY_FILE": str(key), "KUSANYA_BASE_URL": "http://127.0.0.1:9"}

    def read() -> Profile:
        return load(environ=environ)

    clock = ManualClock(datetime(2026, 3, 2, tzinfo=UTC))
    key.write_text("svc_test_sk_first\n")
    first = read()
    key.write_text("svc_test_sk_second\n")
    second = _read_again(first, read, clock=clock)
    assert second.need_api_key().reveal() == "svc_test_sk_second"
    for unfit, said in (("", "is empty"), ("svc_live_sk_other", "live")):
        key.write_text(unfit)
        assert _read_again(second, read, clock=clock) is second
        complaint = capsys.readouterr().err
        assert complaint.startswith("kusanya: the API key stays as it was: ")
        assert said in complaint
        assert complaint.count("\n") == 1
        assert "sk_other" not in complaint


def test_a_hangup_ends_the_questions_and_a_signal_to_end_the_command() -> None:
    before = {
        number: signal.getsignal(number)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
    }
    stop, hung_up = threading.Event(), threading.Event()
    try:
        _catch_signals(stop, None)
        assert signal.getsignal(signal.SIGHUP) == before[signal.SIGHUP]
        _catch_signals(stop, hung_up)
        signal.raise_signal(signal.SIGHUP)
        assert (hung_up.is_set(), stop.is_set()) == (True, False)
        signal.raise_signal(signal.SIGTERM)
        assert stop.is_set()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
