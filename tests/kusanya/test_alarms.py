"""The alarm rules: what raises an alarm, what tells its outbreaks apart, how a header counts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from kusanya.alarms.inputs import AlarmInputs
from kusanya.alarms.rules import Alarm, HeaderAlarm, Severity, in_header, raised
from kusanya.alarms.sender import SenderEndpoint
from kusanya.alarms.silence import Silence
from kusanya.alarms.stalled_intents import StalledIntents
from kusanya.health import EndpointHealth, Health, StuckChannel, Unwatched
from kusanya.webhooks.schedule import Fuse
from kusanya.wire import Mode

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
QUIET = AlarmInputs(
    mode=Mode.LIVE, at=NOON, silence=None, stalled=StalledIntents(), unknown=(),
    health=Health(
        at=NOON, endpoints=(), causes=(), channels=(), stuck=(), more_open=False, currency="TZS"
    ),
)  # fmt: skip


def alarms(inputs: AlarmInputs) -> list[Alarm]:
    return list(raised(inputs, format_time=lambda at: f"{at:%H:%M}"))


def failing(name: str, *, since: datetime) -> EndpointHealth:
    return EndpointHealth(
        endpoint=name, last_arrival_at=NOON, last_success_at=None, failures=3, reason="no_match",
        fuse=Fuse().after(at=since, delivered=False).after(at=NOON, delivered=False),
    )  # fmt: skip


def with_health(**parts: object) -> AlarmInputs:
    return msgspec.structs.replace(QUIET, health=msgspec.structs.replace(QUIET.health, **parts))


def test_where_nothing_is_wrong_no_alarm_is_raised() -> None:
    assert alarms(QUIET) == []
    assert in_header([]) == ()


def test_an_outbreak_keeps_its_id_and_the_next_one_has_another() -> None:
    first, same, later = (
        alarms(with_health(endpoints=(failing("shop", since=since),)))[0]
        for since in (NOON - HOUR, NOON - HOUR, NOON)
    )
    assert first.id == same.id == "failing:live:shop:2026-03-01T11:00:00+00:00"
    assert later.id != first.id
    assert later.key == first.key == "failing:shop"


def test_an_alarm_of_each_kind_says_what_is_wrong_and_what_helps() -> None:
    inputs = msgspec.structs.replace(
        with_health(
            endpoints=(failing("shop", since=NOON - HOUR),),
            stuck=(
                StuckChannel(
                    channel="MPESA_TZ", young=0, late=0, stuck=3, phones=3, oldest_at=NOON - HOUR
                ),
            ),
            unwatched=Unwatched(open_since=NOON - 3 * HOUR, last_poll_at=None),
        ),
        silence=Silence(since=NOON, missed=1, last_arrival_at=None),
        stalled=StalledIntents(unsent=2, since=NOON - HOUR),
    )
    found = alarms(inputs)
    assert [one.code for one in found] == ["failing", "stuck", "silent", "stalled", "unwatched"]
    assert all(one.next_step and one.id for one in found)
    assert [one.severity for one in found] == [Severity.URGENT] * 2 + [Severity.WARNING] * 3
    assert found[-1].sentence == (
        "unwatched: no poller has run for 3 hours, and collections are open since 09:00."
    )
    assert in_header(found) == (
        HeaderAlarm("✕ 1 failing", Severity.URGENT),
        HeaderAlarm("✕ 1 stuck", Severity.URGENT),
        HeaderAlarm("◐ silent", Severity.WARNING),
        HeaderAlarm("◌ 2 held up", Severity.WARNING),
    )


def test_an_endpoint_counts_once_and_a_disabled_one_does_not_count_as_failing() -> None:
    def sent(name: str, **said: Any) -> SenderEndpoint:
        return SenderEndpoint(
            id=f"we_{name}", url=f"http://127.0.0.1/{name}",
            **({"mode": "live", "status": "enabled"} | said),
        )  # fmt: skip

    ours = with_health(
        endpoints=(failing("shop", since=NOON - HOUR), failing("till", since=NOON - 80 * HOUR))
    )
    found = alarms(
        ours.with_sender(
            (
                sent("shop", failing_since=NOON - HOUR),
                sent("other", status="disabled", disabled_at=NOON),
                sent("elsewhere", status="disabled", mode="test"),
            )
        )
    )
    assert [one.key for one in found] == [
        "sender_disabled:we_other", "sender_failing:we_shop", "failing:shop", "failing:till",
    ]  # fmt: skip
    assert [one.words for one in in_header(found)] == ["✕ 2 disabled", "✕ 1 failing"]


def test_stuck_prompts_of_one_phone_are_no_outage_and_stand_in_no_header() -> None:
    one = StuckChannel(
        channel="MPESA_TZ", young=0, late=0, stuck=3, phones=1, oldest_at=NOON - HOUR
    )
    [alarm] = alarms(with_health(stuck=(one,)))
    assert (alarm.severity, alarm.header) == (Severity.WARNING, "")
    assert "one phone: a customer, no outage." in alarm.sentence
