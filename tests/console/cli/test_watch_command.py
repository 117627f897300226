"""`kusanya watch` waits for a store whose database is away, also at its very start."""

import threading
from typing import Any

import pytest

from kusanya.errors import StoreAway, StoreUnavailable
from kusanya.store import Store
from kusanya_console.cli.watch import _open_when_there


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

    def opened(url: str) -> Any:
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
    found: Any = _open_when_there("postgresql://team", pauses)
    assert found == "open postgresql://team"
    assert pauses.seen == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    said = capsys.readouterr().err
    assert said.count("cannot open the store: refused; trying again until it can be opened") == 1


def test_it_can_be_stopped_while_it_waits(away: list[StoreUnavailable]) -> None:
    away += [StoreAway("refused")] * 9
    assert _open_when_there("postgresql://team", Pauses(until=3)) is None


def test_what_waiting_does_not_help_ends_it(away: list[StoreUnavailable]) -> None:
    away.append(StoreUnavailable("of an older version"))
    with pytest.raises(StoreUnavailable, match="older"):
        _open_when_there("postgresql://team", Pauses())
