"""A channel in trouble is found within minutes, and quiet quarters raise nothing."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from statistics import median

import msgspec
import pytest

from kusanya.channels.history import UsualFailures
from kusanya.channels.outage_guard import OutageGuard
from kusanya.domain.status import Status
from kusanya.store.records import CollectionRow
from kusanya.wire import Mode

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
PAID = CollectionRow(
    id="col_1", seq=1, mode=Mode.LIVE, status=Status.SUCCEEDED, amount=5000, fee=50,
    currency="TZS", channel="MPESA_TZ", phone="255754000001", reference="INV-1", description=None,
    failure_code=None, failure_message=None, created_at=NOON, completed_at=NOON,
    first_seen_at=NOON, final_seen_at=NOON, learned_from="event", event_id="evt_1",
    contradictions=0,
)  # fmt: skip


def usual(an_hour: int, share: float) -> UsualFailures:
    """Return a week of so many payments an hour."""
    finals = an_hour * 7
    return UsualFailures(hours=tuple((finals, round(finals * share)) for _ in range(24)))


def ended(at: datetime, *, failed: bool, phone: str) -> CollectionRow:
    """Return a payment that ended."""
    status = Status.FAILED if failed else Status.SUCCEEDED
    return msgspec.structs.replace(
        PAID, status=status, phone=phone, completed_at=at, final_seen_at=at
    )


def payments(
    chance: Random, an_hour: float, share: float, since: datetime
) -> Iterator[CollectionRow]:
    """Yield payments without end, of which this share fails, each of a phone of its own."""
    at = since
    while True:
        at += MINUTE * chance.expovariate(an_hour / 60)
        yield ended(at, failed=chance.random() < share, phone=f"{chance.randrange(10**9)}")


def minutes_to_alarm(an_hour: int, share: float, then: float, seed: int) -> float:
    """Return how long after its begin a trouble is said, and hold that its begin is told."""
    chance, guard, known = Random(seed), OutageGuard(), usual(an_hour, share)  # noqa: S311
    begin = NOON + timedelta(hours=6)
    for row in payments(chance, an_hour, share, NOON):
        if (row.final_seen_at or NOON) >= begin:
            break
        guard.take(row, known)
    assert guard.trouble is None, "a quiet morning"
    for row in payments(chance, an_hour, then, begin):
        guard.take(row, known)
        if guard.trouble is not None:
            assert abs(guard.trouble.since - begin) <= timedelta(hours=2)
            assert guard.trouble.usual == pytest.approx(share, abs=0.01)
            return ((row.final_seen_at or begin) - begin) / MINUTE
    raise AssertionError("payments never end")


@pytest.mark.parametrize(
    ("an_hour", "share", "then", "within"),
    [(400, 0.15, 1.0, 4), (100, 0.15, 1.0, 7), (400, 0.3, 0.7, 8), (30, 0.3, 0.7, 106)],
)
def test_a_trouble_is_said_within_minutes_in_the_median(
    an_hour: int, share: float, then: float, within: float
) -> None:
    found = median(minutes_to_alarm(an_hour, share, then, seed) for seed in range(15))
    assert found <= within


@pytest.mark.merge
@pytest.mark.scale(1, 20, 200)
def test_quiet_quarters_raise_no_more_than_was_promised(rounds: int) -> None:
    raised = 0
    for seed in range(rounds):
        for an_hour, share in ((40, 0.15), (20, 0.3)):
            guard, known, was = OutageGuard(), usual(an_hour, share), False
            end = NOON + timedelta(days=90)
            for row in payments(Random(seed), an_hour, share, NOON):  # noqa: S311
                if (row.final_seen_at or NOON) >= end:
                    break
                guard.take(row, known)
                raised += guard.trouble is not None and not was
                was = guard.trouble is not None
    assert raised <= 2 * rounds, "one a channel and quarter"


def test_a_drift_within_the_bound_is_no_trouble() -> None:
    guard, known = OutageGuard(), usual(400, 0.15)
    rows = payments(Random(1), 400, 0.17, NOON)  # noqa: S311
    for _ in range(20_000):
        guard.take(next(rows), known)
    assert guard.trouble is None


def test_one_phone_that_fails_again_and_again_counts_once() -> None:
    guard, known = OutageGuard(), usual(100, 0.15)
    for number in range(60):
        guard.take(ended(NOON + number * MINUTE / 10, failed=True, phone="1"), known)
    assert guard.trouble is None
    for number in range(60):
        guard.take(ended(NOON + number * MINUTE / 10, failed=True, phone=f"{number}"), known)
    assert guard.trouble is not None


def test_a_trouble_ends_by_itself_and_the_next_one_has_another_begin() -> None:
    guard, known = OutageGuard(), usual(400, 0.15)
    begins = []
    at = NOON
    for share in (1.0, 0.1, 1.0):
        for row in payments(Random(2), 400, share, at):  # noqa: S311
            guard.take(row, known)
            at = row.final_seen_at or at
            if (guard.trouble is None) == (share < 1):
                break
        begins.append(None if guard.trouble is None else guard.trouble.since)
    first, ended_, second = begins
    assert ended_ is None
    assert first is not None
    assert second is not None
    assert second > first


def test_without_a_history_more_than_most_must_fail() -> None:
    for share, is_trouble in ((0.5, False), (0.95, True)):
        guard, rows = OutageGuard(), payments(Random(3), 100, share, NOON)  # noqa: S311
        for _ in range(500):
            guard.take(next(rows), UsualFailures())
        assert (guard.trouble is not None) == is_trouble


@pytest.mark.parametrize(
    ("hours", "bound"),
    [
        # 0.15 of all and of this hour, drawn by 50: 0.15 + 2 * sqrt(0.15 * 0.85 / 450) + 0.03
        ([(400, 60)] * 7 + [(0, 0)] * 17, 0.2137),
        # This hour alone fails half: (200 + 50 * 0.2) / 450 = 0.4667, and 0.047 + 0.03 above it.
        ([(400, 40)] * 3 + [(400, 200)] + [(400, 40)] * 3 + [(0, 0)] * 17, None),
        ([(1000, 0)] * 24, 0.05),
        ([(1000, 990)] * 24, 0.9),
    ],
)
def test_the_bound_of_an_hour_lies_above_what_is_usual_then(
    hours: list[tuple[int, int]], bound: float | None
) -> None:
    known = UsualFailures(hours=tuple(hours))
    at = datetime(2026, 3, 4, 0, tzinfo=UTC)  # 03:00 in East Africa
    if bound is None:
        share = (200 + 50 * (6 * 40 + 200) / 2_800) / 450
        bound = share + 2 * (share * (1 - share) / 450) ** 0.5 + 0.03
    assert known.bound(at) == pytest.approx(bound, abs=0.0001)
