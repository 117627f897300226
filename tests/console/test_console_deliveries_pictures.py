"""The states of the Deliveries screen as pictures: each looked at before it was accepted."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.console.picturing import MEDIUM, in_both_languages, on_every_size, on_two_sizes

from kusanya.clock import ManualClock
from kusanya.profiles import parse_endpoint_secrets
from kusanya.store.records import Arrival, Verdict
from kusanya.wire import Mode
from kusanya_console.actions.forensics import Forensics
from kusanya_console.sandbox.dashboard.errors import DashboardError
from kusanya_console.sandbox.dashboard.records import SentAttempt, SentDelivery, ServicePicture

pytestmark = pytest.mark.merge

NEXT = "right_square_bracket"
SENDER = "left_square_bracket"


@pytest.fixture
def made(seed: Any, clock: ManualClock) -> Any:
    """Return what makes an event of a payment that failed so long ago."""

    def event(n: int, *, ago: timedelta, **fields: Any) -> Any:
        at = clock.now() - ago
        done = seed.collection(
            n, at=at - timedelta(seconds=17), status="failed", completed_at=at,
            failure_code="insufficient_funds", reference=f"INV-{482_000 + n}", **fields,
        )  # fmt: skip
        seed.answered(
            seed.collection(
                n, at=at - timedelta(seconds=17), reference=f"INV-{482_000 + n}", **fields
            )
        )
        return seed.event(done, at=at)

    return event


def refused(seed: Any, event: Any, at: datetime, **fields: Any) -> None:
    usual = {"verdict": Verdict.REJECTED, "reason": "no_match", "answer": 400, "took_us": 2_000}
    seed.delivered(event, at=at, endpoint="billing", **usual | fields)


@in_both_languages
@on_every_size
def test_a_rejected_delivery_is_tried_again_and_again(
    size: tuple[int, int], seed: Any, made: Any, picture: Any
) -> None:
    event = made(17, ago=timedelta(minutes=16))
    for minutes in (0, 1, 6):
        refused(seed, event, event.created_at + timedelta(minutes=minutes, seconds=1))
    assert picture(size, "2", *("d" if size[0] == 80 else ""))


def test_all_seven_attempts_failed_and_it_was_given_up(seed: Any, made: Any, picture: Any) -> None:
    event = made(18, ago=timedelta(hours=23))
    for minutes in (0, 1, 6, 36, 156, 516, 1236):
        refused(seed, event, event.created_at + timedelta(minutes=minutes, seconds=1))
    assert picture(MEDIUM, "2")


def test_a_late_answer_and_the_repeat_that_follows_it(seed: Any, made: Any, picture: Any) -> None:
    event = made(19, ago=timedelta(minutes=9))
    seed.delivered(event, at=event.created_at + timedelta(seconds=1), took_us=10_400_000)
    seed.delivered(event, at=event.created_at + timedelta(seconds=72))
    assert picture(MEDIUM, "2")


@in_both_languages
@on_two_sizes
def test_an_event_that_never_came(
    size: tuple[int, int], seed: Any, clock: ManualClock, picture: Any
) -> None:
    seed.busy(20)
    at = clock.now() - timedelta(minutes=8)
    lost = seed.collection(
        991, at=at - timedelta(seconds=40), status="succeeded", reference="INV-482991",
        completed_at=at - timedelta(seconds=20),
    )  # fmt: skip
    seed.polled(lost, at=at)
    keys = ("2", "slash", *"verdict:missing", "enter", *("d" if size[0] == 80 else ""))
    assert picture(size, *keys)


def test_attempts_that_nobody_saw_are_gaps(seed: Any, made: Any, picture: Any) -> None:
    event = made(20, ago=timedelta(minutes=50))
    refused(seed, event, event.created_at + timedelta(minutes=36, seconds=2))
    assert picture(MEDIUM, "2")


@in_both_languages
@pytest.mark.parametrize("part", ["body", "headers", "signature"])
@on_two_sizes
def test_what_an_arrival_brought(
    part: str, size: tuple[int, int], seed: Any, made: Any, picture: Any
) -> None:
    event = made(21, ago=timedelta(minutes=4), phone="255754000412", description="0754000412")
    refused(seed, event, event.created_at + timedelta(seconds=1))
    secrets = parse_endpoint_secrets("billing=whsec_of_billing,shop=whsec_of_shop")
    forensics = Forensics(secrets, signature_header="Service-Signature")
    turns = {"body": 1, "headers": 2, "signature": 3}[part]
    keys = ("2", *("d" if size[0] == 80 else ""), *(NEXT,) * turns)
    assert picture(size, *keys, forensics=forensics)


class Log:
    """A sender whose log is told by the test; the real one is asked in another test."""

    def __init__(self, *deliveries: SentDelivery) -> None:
        self._deliveries = deliveries

    def load(self) -> ServicePicture:
        """Tell nothing of endpoints: only the log is asked for here."""
        raise DashboardError("this sender tells its log alone")

    def sent(self, event_id: str) -> tuple[SentDelivery, ...]:
        """Return what the test told."""
        return self._deliveries


def _sent(event: Any, number: int, minutes: float, **fields: Any) -> SentAttempt:
    at = event.created_at + timedelta(minutes=minutes)
    usual: dict[str, Any] = {
        "number": number, "started_at": at, "ended_at": at + timedelta(seconds=1),
        "outcome": "failed", "status_code": 400, "duration_ms": 12,
    }  # fmt: skip
    return SentAttempt(**usual | fields)


@in_both_languages
@on_two_sizes
def test_the_senders_log_marks_where_it_differs(
    size: tuple[int, int], seed: Any, made: Any, picture: Any
) -> None:
    event = made(22, ago=timedelta(minutes=16))
    for minutes in (0, 6):
        refused(seed, event, event.created_at + timedelta(minutes=minutes, seconds=1))
    log = Log(
        SentDelivery(
            id="del_1", event_id=event.id, endpoint_id="we_1",
            url="https://billing.example/hooks", mode="live", status="pending",
            attempts=(
                _sent(event, 1, 0),
                _sent(event, 2, 1, status_code=None, error="connect_failed", duration_ms=3),
                _sent(event, 3, 6, status_code=503, duration_ms=10_000),
                _sent(event, 4, 8, status_code=200, outcome="succeeded", manual=True),
            ),
            next_attempt_at=event.created_at + timedelta(minutes=38),
        )
    )  # fmt: skip
    assert picture(size, "2", *("d" if size[0] == 80 else ""), SENDER, service=log)


HOSTILE = (
    "[/red]x",
    "[@click=app.quit]pay[/]",
    "\x1b[31mred\x1b]52;c;QUFB\x07\x1b]0;title\x07",
    "\x9b31m\x00\x7f",
    "\u202egnp\u202c\u200b\u2066x",
    "W" * 3_000,
    "line\nbreak\ttab\rreturn",
)


@pytest.mark.parametrize("part", ["attempts", "body", "headers", "signature", "sender"])
def test_hostile_text_in_every_part_is_shown_as_text(
    part: str, seed: Any, made: Any, clock: ManualClock, picture: Any
) -> None:
    event, at = made(23, ago=timedelta(minutes=4)), clock.now() - timedelta(minutes=4)
    for text in HOSTILE:
        seed.store.record(
            Arrival(
                arrived_at=at, endpoint=text, observed_in=Mode.LIVE, verdict=Verdict.REJECTED,
                body=json.dumps({one: [one] for one in HOSTILE}, ensure_ascii=False).encode(),
                headers=tuple((one.encode()[:90], one.encode()) for one in HOSTILE),
                reason=text, event_id=text, event_type=text, event_created_at=at,
                collection_id=text, reference=text, amount=5, currency=text, answer=400,
                took_us=900, secrets_tried=2,
            )
        )  # fmt: skip
    log = Log(
        *(
            SentDelivery(
                id=text, event_id=text, endpoint_id=text, url=text, mode=text, status=text,
                attempts=(_sent(event, 1, 2, status_code=None, error=text, outcome=text),),
            )
            for text in HOSTILE
        )
    )  # fmt: skip
    turns = ["attempts", "body", "headers", "signature", "sender"].index(part)
    assert picture(MEDIUM, "2", "j", "j", *(NEXT,) * turns, service=log)
