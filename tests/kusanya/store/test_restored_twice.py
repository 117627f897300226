"""A store that was put back twice asks about everything since the first backup."""

from datetime import timedelta
from typing import Any

import pytest

from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya.wire import Mode


@pytest.mark.parametrize("mode", list(Mode))
def test_a_second_restore_keeps_what_the_first_one_left_unknown(
    store: Store, make: Any, clock: ManualClock, mode: Mode
) -> None:
    store.record(make.arrival(1))
    store.restores.mark(actor="asha")
    first = store.restores.of(mode)
    assert first is not None
    clock.sleep(3_600)
    store.record(make.arrival(2, at=clock.now()))
    store.restores.mark(actor="asha")
    second = store.restores.of(mode)
    assert second is not None
    assert second.at == first.at + timedelta(hours=1)
    assert second.known_to == first.known_to, "nobody brought what was created after that"
    assert second.resolved_at is None


def test_a_restore_after_a_resolved_one_asks_from_its_own_backup_on(
    store: Store, make: Any, clock: ManualClock
) -> None:
    store.record(make.arrival(1))
    store.restores.mark(actor="asha")
    store.restores.resolve(Mode.TEST, actor="asha", why="all of that time is here")
    clock.sleep(3_600)
    store.record(make.arrival(2, at=clock.now()))
    last = clock.now()
    clock.sleep(60)
    store.restores.mark(actor="asha")
    test, live = store.restores.of(Mode.TEST), store.restores.of(Mode.LIVE)
    assert test is not None
    assert test.known_to == last
    assert live is not None
    assert live.known_to is not None
    assert live.known_to < last, "in live mode the first one waits still"
