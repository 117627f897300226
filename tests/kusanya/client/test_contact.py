"""Since when the service has not answered: from the beginning of the first call that failed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kusanya.client import Client
from kusanya.client.contact import ServiceContact
from kusanya.client.effects import Failure, Reply, Request, Response
from kusanya.clock import ManualClock
from kusanya.errors import KusanyaError

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
GOOD = Response(status=200, headers=(), body=b"{}")
REFUSED = Response(status=404, headers=(), body=b"{}")
BROKEN = Response(status=500, headers=(), body=b"{}")
LOST = Failure(left=True, why="cut")
UNSENT = Failure(left=False, why="refused")


@pytest.mark.parametrize(
    ("replies", "began"),
    [
        ([GOOD], None),
        ([LOST], 0),
        ([UNSENT], 0),
        ([BROKEN], 0),
        ([REFUSED], None),
        ([GOOD, LOST], 1),
        ([LOST, BROKEN, UNSENT], 0),
        ([LOST, GOOD], None),
        ([LOST, REFUSED], None),
        ([LOST, GOOD, BROKEN, LOST], 2),
    ],
)
def test_the_service_is_silent_since_the_first_call_in_a_row_without_an_answer(
    replies: list[Reply], began: int | None
) -> None:
    clock = ManualClock(NOON)
    contact = ServiceContact(clock)
    assert contact.is_older_than(0)
    for reply in replies:
        clock.sleep(3)
        contact.note(reply, took_s=3)
        clock.sleep(57)
    wanted = None if began is None else NOON + timedelta(minutes=began)
    assert contact.silent_since == wanted
    assert [contact.is_older_than(seconds) for seconds in (56, 57, 58)] == [True, False, False]


def test_a_call_counts_from_when_it_was_sent(wire: Any) -> None:
    clock = ManualClock(NOON)
    clock.sleep(5 * 3600)

    def cut(request: Request, within_s: float) -> Failure:
        clock.sleep(4)
        return LOST

    client = Client(
        wire.test_key, base_url="http://127.0.0.1:9", transport=cut, clock=clock, max_attempts=1
    )
    with pytest.raises(KusanyaError):
        client.get_collection("col_1")
    assert client.core.contact.silent_since == NOON + timedelta(hours=5)
