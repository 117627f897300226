"""Retention across a restart: the time that passed counts, not what the wall clock was set to."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.kusanya_service.helpers import collections

from kusanya.clock import ManualClock
from kusanya.platform.sqlite import sqlite_driver
from kusanya_service.errors import DataDamaged
from kusanya_service.simulation import stored_clock
from kusanya_service.simulation.stored_clock import Uptime, read_uptime
from kusanya_service.testing import PaymentService

HOUR_MS = 3_600_000
ORDER = {"amount": 5000, "phone": "255754000010", "reference": "order-1"}
"""The phone never answers: nothing is due while a clock stands still."""


class Machine:
    """A machine whose wall clock, uptime and boot a test decides."""

    def __init__(self, start: Any) -> None:
        self._start = start
        self._wall = ManualClock()
        self._uptime: Uptime | None = Uptime("first", 1_000_000)

    def passes(self, ms: int, *, wall_moves_ms: int = 0) -> None:
        """Let time pass while the service is stopped; the wall clock may be set beside it."""
        self._wall.step(timedelta(milliseconds=ms + wall_moves_ms))
        if self._uptime is not None:
            self._uptime = Uptime(self._uptime.boot, self._uptime.ms + ms)

    def reboots(self) -> None:
        """Begin another boot."""
        self._uptime = Uptime("second", 10_000)

    def forgets_its_boots(self) -> None:
        """Be a platform without boot identifiers."""
        self._uptime = None

    @contextmanager
    def service(self) -> Iterator[tuple[PaymentService, ManualClock]]:
        """Run the service, with a monotonic clock that begins anew at each start."""
        clock = ManualClock(self._wall.now())

        def uptime() -> Uptime | None:
            ran_ms = round(clock.monotonic() * 1000)
            at_start = self._uptime
            return None if at_start is None else Uptime(at_start.boot, at_start.ms + ran_ms)

        with self._start(clock=clock, uptime=uptime, registered=False) as service:
            yield service, clock
        self.passes(round(clock.monotonic() * 1000))


@pytest.fixture
def machine(start: Any) -> Machine:
    return Machine(start)


def create(machine: Machine) -> bytes:
    with machine.service() as (service, _):
        answer = service.create(ORDER, idempotency_key="k")
        assert answer.status == 202
        return answer.body


def replays(service: PaymentService, first: bytes) -> bool:
    answer = service.create(ORDER, idempotency_key="k")
    assert answer.status == 202
    assert (answer.body == first) == ("idempotent-replayed" in answer.headers)
    made = collections(service)
    assert len(made) == (1 if answer.body == first else 2)
    return answer.body == first


@pytest.mark.spec("limits-key-retention")
@pytest.mark.parametrize("hours", [25, -25, 24 * 365])
def test_a_wall_clock_set_while_the_service_is_stopped_forgets_no_key(
    machine: Machine, hours: int
) -> None:
    first = create(machine)
    machine.passes(60_000, wall_moves_ms=hours * HOUR_MS)
    with machine.service() as (service, clock):
        assert replays(service, first)
        clock.sleep(24 * 3600 - 60 - 1)
        assert replays(service, first)
        clock.sleep(1)
        assert not replays(service, first)


@pytest.mark.spec("limits-key-retention")
@pytest.mark.parametrize(("late_ms", "is_replayed"), [(-1, True), (0, False)])
def test_time_that_passes_while_the_service_is_stopped_counts(
    machine: Machine, late_ms: int, is_replayed: bool
) -> None:
    first = create(machine)
    machine.passes(24 * HOUR_MS + late_ms, wall_moves_ms=-24 * HOUR_MS)
    with machine.service() as (service, _):
        assert replays(service, first) == is_replayed


@pytest.mark.spec("limits-key-retention")
@pytest.mark.parametrize("how", ["reboots", "forgets_its_boots"])
def test_where_only_the_wall_clock_shows_how_long_the_service_was_stopped_keys_live_on(
    machine: Machine, how: str
) -> None:
    with machine.service() as (service, clock):
        first = service.create(ORDER, idempotency_key="k").body
        clock.sleep(3600)
    getattr(machine, how)()
    machine.passes(25 * HOUR_MS)
    with machine.service() as (service, clock):
        assert replays(service, first)
        clock.sleep(22 * 3600)
    with machine.service() as (service, clock):
        clock.sleep(3600 - 1)
        assert replays(service, first)
        clock.sleep(1)
        assert not replays(service, first)


def test_an_uptime_that_ran_backwards_is_not_believed(machine: Machine) -> None:
    first = create(machine)
    machine.passes(-1_000_000, wall_moves_ms=25 * HOUR_MS)
    with machine.service() as (service, _):
        assert replays(service, first)


def test_this_machines_uptime_grows_within_one_boot() -> None:
    before, after = read_uptime(), read_uptime()
    assert before is not None
    assert after is not None
    assert before.boot == after.boot != ""
    assert 0 < before.ms <= after.ms


def test_a_platform_without_boot_identifiers_has_no_uptime(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(stored_clock, "_BOOT_ID", tmp_path / "none")
    assert read_uptime() is None


def test_a_time_that_is_no_number_is_damage(start: Any, tmp_path: Path) -> None:
    with start(registered=False):
        pass
    connection = sqlite_driver().connect(str(tmp_path / "data" / "service.sqlite"))
    connection.execute("UPDATE meta SET value = 'noon' WHERE name = 'last_ms'")
    connection.commit()
    connection.close()
    with pytest.raises(DataDamaged, match="no number"), start():
        pass
