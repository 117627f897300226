"""What is broken is named, once and by its cause; what follows from it is listed and silent."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.kusanya.alarms.test_alarms import (
    HOUR,
    NOON,
    QUIET,
    alarms,
    every_alarm,
    failing,
    intent,
    poller,
    with_following,
    with_health,
)

from kusanya.alarms.alarm import HeaderAlarm, Severity, as_json
from kusanya.alarms.inputs import AlarmInputs
from kusanya.alarms.noise import Noise
from kusanya.alarms.rules import CAUSES, in_header
from kusanya.alarms.sender import SenderEndpoint
from kusanya.alarms.silence import Silence
from kusanya.alarms.stalled_intents import StalledIntents
from kusanya.health.report import PollerAbsence, UnusableDeliveries
from kusanya.health.service_silence import ServiceSilence
from kusanya.health.stuck_prompts import StuckChannel
from kusanya.store.records import Verdict
from kusanya.wire import Mode

MINUTE = timedelta(minutes=1)


def stuck(channel: str, phones: int = 8) -> StuckChannel:
    """Return a channel whose prompts hang."""
    return StuckChannel(
        channel=channel, young=0, late=0, stuck=8, phones=phones, overdue=8, oldest_at=NOON - HOUR
    )


def of(health: dict[str, Any] | None = None, **parts: Any) -> AlarmInputs:
    """Return a reading of which these parts are not quiet."""
    return msgspec.structs.replace(with_health(**(health or {})), **parts)


BOTH_STUCK = {"stuck": (stuck("MPESA_TZ"), stuck("AIRTEL_TZ"))}
FAILS = {"endpoints": (failing("shop", since=NOON - HOUR),)}
ABSENT = PollerAbsence(open_since=NOON - HOUR, last_poll_at=NOON - HOUR)
DEAD = ServiceSilence(since=NOON - 2 * MINUTE, machines=("till-3",))
NOTHING_COMES = Silence(since=NOON - HOUR, missed=9, last_arrival_at=NOON - HOUR)
ALL_IS_REFUSED = msgspec.structs.replace(NOTHING_COMES, refused_at=NOON)
UNANSWERED = (intent(first_sent_at=NOON - MINUTE),)
WAITING = StalledIntents(unsent=4, since=NOON - MINUTE)

DRILLS: dict[str, tuple[AlarmInputs, list[str], list[str]]] = {
    "the service is dead": (
        of(BOTH_STUCK, service_silence=DEAD, unknown=UNANSWERED, stalled=WAITING),
        ["service_silent"],
        ["stuck:AIRTEL_TZ", "stuck:MPESA_TZ", "stalled", "unknown"],
    ),
    "the service is dead for one of our machines": (
        of(
            BOTH_STUCK,
            service_silence=msgspec.structs.replace(DEAD, answers_others=True),
        ),
        ["service_silent", "stuck:MPESA_TZ", "stuck:AIRTEL_TZ"],
        [],
    ),
    "the service was away for half a minute": (
        of(service_silence=msgspec.structs.replace(DEAD, since=NOON - MINUTE / 2)), [], [],
    ),
    "the service's clock is off": (
        of(FAILS, pollers=(poller(timedelta(seconds=-301)),)), ["clock_skew"], ["failing"],
    ),
    "our clock is a little off, and an endpoint fails for another reason": (
        of(FAILS, pollers=(poller(timedelta(seconds=-60)),)), ["failing", "clock_skew"], [],
    ),
    "our disk is full": (
        of(
            FAILS | BOTH_STUCK | {"unwatched": ABSENT}, free_bytes=1_000_000,
            silence=NOTHING_COMES,
        ),
        ["store_full"],
        ["failing", "silent", "stuck:AIRTEL_TZ", "stuck:MPESA_TZ", "unwatched"],
    ),
    "our disk will be full": (
        of(FAILS, free_bytes=900_000_000), ["failing", "store_full"], [],
    ),
    "our receiver is dead": (
        of(silence=NOTHING_COMES, missing_events=9), ["silent"], ["missing_events"],
    ),
    "our watcher is dead, events arrive": (
        of(FAILS | BOTH_STUCK | {"unwatched": ABSENT}),
        ["failing", "stuck:MPESA_TZ", "stuck:AIRTEL_TZ", "unwatched"],
        [],
    ),
    "our watcher and our receiver are dead": (
        of(BOTH_STUCK | {"unwatched": ABSENT}),
        ["unwatched"],
        ["stuck:AIRTEL_TZ", "stuck:MPESA_TZ"],
    ),
    "the service is dead and our disk is full": (
        of(FAILS | BOTH_STUCK, service_silence=DEAD, free_bytes=1_000_000),
        ["service_silent", "store_full"],
        ["failing", "stuck:AIRTEL_TZ", "stuck:MPESA_TZ"],
    ),
    "the service is dead and an endpoint fails": (
        of(FAILS, service_silence=DEAD, silence=ALL_IS_REFUSED),
        ["service_silent", "failing"],
        ["silent"],
    ),
    "an endpoint fails": (
        of(FAILS, silence=ALL_IS_REFUSED), ["failing"], ["silent"],
    ),
    "an endpoint failed before the receiver died": (
        of(FAILS, silence=NOTHING_COMES), ["failing", "silent"], [],
    ),
    "an endpoint is disabled": (
        of(
            sender=(
                SenderEndpoint(id="we_1", url="http://a/x", mode="live", status="disabled"),
            ),
            silence=NOTHING_COMES,
        ),
        ["sender_disabled:we_1"],
        ["silent"],
    ),
    "the sender says that it does not reach our receiver": (
        of(
            sender=(
                SenderEndpoint(
                    id="we_1", url="http://a/x", mode="live", status="enabled",
                    failing_since=NOON - HOUR,
                ),
            ),
            silence=NOTHING_COMES, missing_events=9,
        ),
        ["sender_failing:we_1"],
        ["missing_events", "silent"],
    ),
    "a secret was rotated": (
        of(noise=(Noise(endpoint="shop", count=3, like_events=3, last_at=NOON),)),
        ["unmatched"],
        [],
    ),
    "the wrong mode is delivered": (
        of(
            {
                "unusable": (
                    UnusableDeliveries(
                        endpoint="shop", mode=Mode.LIVE, verdict=Verdict.WRONG_MODE, count=2,
                        last_hour=NOON,
                    ),
                )
            }
        ),
        ["wrong_mode"],
        [],
    ),
    "one network is dead slowly": (
        of({"stuck": (stuck("MPESA_TZ"),)}), ["stuck:MPESA_TZ"], [],
    ),
    "one phone": (of({"stuck": (stuck("MPESA_TZ", phones=1),)}), ["stuck:MPESA_TZ"], []),
    "strangers make noise": (
        of(noise=(Noise(endpoint="shop", count=99, like_events=0, last_at=NOON),)), [], [],
    ),
}  # fmt: skip


def named(codes_of: list[Any]) -> list[str]:
    """Return what alarms are about, an endpoint alone by its code."""
    keys = [one.key for one in codes_of]
    return [key.removesuffix(":shop").removesuffix(":till-3").partition(":live")[0] for key in keys]


@pytest.mark.parametrize(("inputs", "causes", "follows"), DRILLS.values(), ids=DRILLS.keys())
def test_each_thing_that_breaks_is_named_by_its_cause_alone(
    inputs: AlarmInputs, causes: list[str], follows: list[str]
) -> None:
    found = alarms(inputs)
    assert named(found) == causes
    listed = [one for cause in found for one in cause.follows]
    assert sorted(named(listed)) == sorted(follows)
    for cause in found:
        for one in cause.follows:
            assert one.name in cause.sentence
            assert one.sentence not in cause.sentence
            assert one.key in as_json(cause)["follows"]
    assert len(in_header(found)) <= len(causes)


def test_one_phone_is_no_outage_and_two_networks_at_once_are_not_one() -> None:
    [alone] = alarms(of({"stuck": (stuck("MPESA_TZ", phones=1),)}))
    assert alone.severity is Severity.WARNING
    assert "a customer, no outage" in alone.sentence
    both = alarms(of(BOTH_STUCK))
    assert all("ask the service, not one network" in one.next_step for one in both)
    [one] = alarms(of({"stuck": (stuck("MPESA_TZ"),)}))
    assert "ask the network" in one.next_step


def test_a_dead_service_counts_once_in_a_status_line() -> None:
    inputs, _, _ = DRILLS["the service is dead"]
    assert in_header(alarms(inputs)) == (HeaderAlarm("✕ service", Severity.URGENT),)


def test_nothing_is_lost_where_alarms_follow_from_others() -> None:
    raw = {one.key for one in with_following(every_alarm())}
    assert {one.key for one in every_alarm()} <= raw
    assert len(CAUSES) == len(set(CAUSES))


def test_every_alarm_that_causes_others_has_its_place_among_the_causes() -> None:
    codes = {one.code for drill in DRILLS.values() for one in alarms(drill[0]) if one.causes}
    assert codes == set(CAUSES)
    assert alarms(QUIET) == []
