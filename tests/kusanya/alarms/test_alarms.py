"""The alarm rules: what raises an alarm, what tells its outbreaks apart, how a header counts."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion
from tests.kit.watched_shop import assert_no_phone

from kusanya.alarms.alarm import Alarm, HeaderAlarm, Severity
from kusanya.alarms.inputs import AlarmInputs
from kusanya.alarms.noise import Noise
from kusanya.alarms.open_anomalies import OpenAnomaly
from kusanya.alarms.rules import RULES, in_header, raised
from kusanya.alarms.sender import SenderEndpoint
from kusanya.alarms.silence import Silence
from kusanya.alarms.stalled_intents import StalledIntents
from kusanya.channels.history import FailureClass, FailureRate
from kusanya.domain.status import Status
from kusanya.health.endpoints import EndpointHealth
from kusanya.health.report import Health, PollerAbsence, UnusableDeliveries
from kusanya.health.service_silence import ServiceSilence
from kusanya.health.stuck_prompts import StuckChannel
from kusanya.say import Language, in_language
from kusanya.state.anomalies import AnomalyKind
from kusanya.store.records import (
    Backup,
    BackupStatus,
    CollectionRow,
    IntentRow,
    IntentState,
    Poller,
    Restore,
    UnsentNotice,
    Verdict,
)
from kusanya.store.records.outcomes import ConsumerRow
from kusanya.webhooks.schedule import Fuse
from kusanya.wire import Mode

ROOT = Path(__file__).parents[3]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
QUIET = AlarmInputs(
    mode=Mode.LIVE, at=NOON, silence=None, stalled=StalledIntents(), unknown=(),
    health=Health(
        at=NOON, endpoints=(), causes=(), channels=(), stuck=(), more_open=False, currency="TZS"
    ),
)  # fmt: skip


PAID = CollectionRow(
    id="col_2", seq=2, mode=Mode.LIVE, status=Status.SUCCEEDED, amount=5000, fee=50,
    currency="TZS", channel="MPESA_TZ", phone="255754000001", reference="INV-1", description=None,
    failure_code=None, failure_message=None, created_at=NOON - HOUR, completed_at=NOON,
    first_seen_at=NOON, final_seen_at=NOON, learned_from="event", event_id="evt_2",
    contradictions=0,
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
                    channel="MPESA_TZ",
                    young=0,
                    late=0,
                    stuck=3,
                    phones=3,
                    oldest_at=NOON - HOUR,
                    overdue=3,
                ),
            ),
            unwatched=PollerAbsence(open_since=NOON - 3 * HOUR, last_poll_at=None),
        ),
        silence=Silence(since=NOON, missed=1, last_arrival_at=None, refused_at=NOON),
        stalled=StalledIntents(unsent=2, since=NOON - HOUR),
    )
    found = alarms(inputs)
    assert [one.code for one in found] == ["failing", "stuck", "stalled", "unwatched"]
    assert [one.code for one in found[0].follows] == ["silent"]
    assert all(one.next_step and one.id for one in found)
    assert [one.severity for one in found] == [Severity.URGENT] * 2 + [Severity.WARNING] * 2
    assert found[-1].sentence == (
        "unwatched: no poller has run for 3 hours, and collections are open since 09:00."
    )
    assert in_header(found) == (
        HeaderAlarm("✕ 1 failing", Severity.URGENT),
        HeaderAlarm("✕ 1 stuck", Severity.URGENT),
        HeaderAlarm("◌ 2 stalled", Severity.WARNING),
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


def test_the_only_endpoint_of_either_side_counts_once_under_whatever_address() -> None:
    theirs = SenderEndpoint(
        id="we_1", url="https://pay.example/hooks/in", mode="live", status="enabled",
        failing_since=NOON - HOUR,
    )  # fmt: skip
    ours = with_health(endpoints=(failing("shop", since=NOON - HOUR),))
    found = alarms(ours.with_sender((theirs,)))
    assert [one.code for one in found] == ["sender_failing", "failing"]
    assert [one.words for one in in_header(found)] == ["✕ 1 failing"]


def test_a_silence_in_which_refused_deliveries_come_asks_why_they_are_refused() -> None:
    silence = Silence(
        since=NOON - HOUR, missed=100, last_arrival_at=NOON - 2 * HOUR, refused_at=NOON
    )
    [alarm] = alarms(msgspec.structs.replace(QUIET, silence=silence))
    assert alarm.sentence == (
        "silent: polling learned 100+ final states and no event was accepted; last accepted "
        "10:00. Deliveries arrive and are refused, the last at 12:00."
    )
    assert "receiver running" not in alarm.text


def test_a_creation_without_an_answer_is_an_alarm_until_it_has_one() -> None:
    one = intent(first_sent_at=NOON - HOUR)
    [alarm] = alarms(msgspec.structs.replace(QUIET, unknown=(one,)))
    assert (alarm.code, alarm.severity) == ("unknown", Severity.WARNING)
    assert "1 creation has no answer" in alarm.sentence
    [many] = alarms(msgspec.structs.replace(QUIET, unknown=(one,) * 100))
    assert "99+ creations have no answer" in many.sentence
    assert in_header([alarm, many]) == (), "the header counts them by itself"


def test_stuck_prompts_of_one_phone_are_no_outage_and_stand_in_no_header() -> None:
    one = StuckChannel(
        channel="MPESA_TZ", young=0, late=0, stuck=3, phones=1, oldest_at=NOON - HOUR, overdue=3
    )
    [alarm] = alarms(with_health(stuck=(one,)))
    assert (alarm.severity, alarm.header) == (Severity.WARNING, "")
    assert "one phone: a customer, no outage." in alarm.sentence


def test_a_single_prompt_that_is_open_for_an_hour_raises_an_alarm() -> None:
    one = StuckChannel(
        channel="MPESA_TZ", young=0, late=0, stuck=1, phones=1, oldest_at=NOON - HOUR, overdue=1
    )
    assert alarms(with_health(stuck=(one,))) == [], "a customer may take his time"
    old = msgspec.structs.replace(one, forgotten=1)
    [alarm] = alarms(with_health(stuck=(old,)))
    assert (alarm.code, alarm.severity, alarm.header) == ("stuck", Severity.WARNING, "")
    assert "1 prompt of M-Pesa is open since" in alarm.sentence
    two = msgspec.structs.replace(one, overdue=2, forgotten=2, is_unusual=False)
    [alarm] = alarms(with_health(stuck=(two,)))
    assert "2 prompts of M-Pesa are open for over an hour" in alarm.sentence


def test_every_rule_has_a_paragraph_of_the_runbook_and_an_entry_of_its_own() -> None:
    text = (ROOT / "console" / "README.md").read_text(encoding="utf-8")
    headings = [line.removeprefix("### ") for line in text.splitlines() if line.startswith("### ")]
    anchors = {heading.lower().replace(":", "").replace(" ", "-") for heading in headings}
    assert {rule.runbook.partition("#")[2] for rule in RULES} == {
        anchor for anchor in anchors - {"alarm-store-lost"} if anchor.startswith("alarm-")
    }
    assert len({rule.code for rule in RULES}) == len({rule.rank for rule in RULES}) == len(RULES)


def every_alarm() -> list[Alarm]:
    """Return an alarm of each rule, as one reading raises them."""
    anomaly: Any = {"collection_id": "col_1", "urgent": True}
    sender: Any = {"url": "http://127.0.0.1/a", "mode": "live"}
    unusable: Any = {"endpoint": "shop", "mode": Mode.LIVE, "count": 2, "last_hour": NOON}
    inputs = msgspec.structs.replace(
        with_health(
            endpoints=(failing("shop", since=NOON - HOUR),),
            stuck=(
                StuckChannel(
                    channel="MPESA_TZ",
                    young=0,
                    late=0,
                    stuck=3,
                    phones=3,
                    overdue=3,
                    oldest_at=NOON - HOUR,
                ),
            ),
            unwatched=PollerAbsence(open_since=NOON - 3 * HOUR, last_poll_at=None),
            unusable=(
                UnusableDeliveries(verdict=Verdict.UNPARSEABLE, **unusable),
                UnusableDeliveries(verdict=Verdict.WRONG_MODE, **unusable),
            ),
        ),
        stalled=StalledIntents(unsent=2, since=NOON - HOUR),
        unknown=(intent(first_sent_at=NOON - 22 * HOUR),),
        closing=1,
        missing_events=2,
        anomalies=(
            OpenAnomaly(kind=AnomalyKind.TWO_FINALS, **anomaly),
            OpenAnomaly(kind=AnomalyKind.FEE_CHANGED, **anomaly),
        ),
        noise=(Noise(endpoint="shop", count=100, like_events=2, last_at=NOON),),
        paid_again=(PAID,),
        consumers=(
            ConsumerRow(
                name="shipping",
                mode=Mode.LIVE,
                place=9,
                begins_at=None,
                epoch="1",
                added_at=NOON - HOUR,
                waiting=2,
                parked=1,
                newest_parked=NOON,
                oldest_paid=NOON - HOUR,
            ),
        ),
        failure_rates=(
            FailureRate(
                channel="MPESA_TZ",
                whose=FailureClass.NETWORK,
                since=NOON,
                finals=100,
                failed=90,
                usual=0.1,
            ),
        ),
        pollers=(poller(timedelta(seconds=200)),),
        free_bytes=150_000_000,
        send_failures=(UnsentNotice(target="slack://…", since=NOON, reason="answered 404"),),
        restore=Restore(at=NOON, known_to=NOON - HOUR),
        backup=backed_up(hours_ago=37),
        months_until=NOON + 60 * 24 * HOUR,
        sender=(
            SenderEndpoint(id="we_1", status="disabled", **sender),
            SenderEndpoint(id="we_2", status="enabled", failing_since=NOON - HOUR, **sender),
        ),
    )
    silent = msgspec.structs.replace(
        inputs,
        silence=Silence(since=NOON, missed=1, last_arrival_at=None),
        service_silence=ServiceSilence(since=NOON - HOUR),
        health=msgspec.structs.replace(inputs.health, endpoints=()),
    )
    found = {one.code: one for of in (inputs, silent) for one in with_following(alarms(of))}
    return list(found.values())


def with_following(found: list[Alarm]) -> list[Alarm]:
    """Return alarms, and what follows from them."""
    return [one for cause in found for one in (*cause.follows, cause)]


def test_each_rule_raises_its_own_alarm_and_says_what_to_do() -> None:
    found = {one.code: one for one in every_alarm()}
    assert found.keys() == {rule.code for rule in RULES}
    worst = {rule.code: rule.severity for rule in RULES}
    for code, alarm in found.items():
        assert alarm.severity is worst[code]
        assert alarm.next_step or code in {"sender_failing", "failing"}
        assert alarm.runbook == f"console/README.md#alarm-{code.replace('_', '-')}"
        assert not re.search(r"\d{7,}", alarm.text), "a phone"
        assert_no_phone([alarm])
        assert not re.search(r"\([1-9]\)|\b[A-Z] on |\bwith [a-zA-Z]\b", alarm.text), "a key"


def described(alarm: Alarm) -> str:
    """Return all that people and programs get of an alarm, in both languages."""
    facts = (
        f"{alarm.severity.value} {alarm.key}; stage {alarm.stage!r}, since {alarm.onset!r}",
        f"counts as {in_language(alarm.header, Language.ENGLISH)!r} for {alarm.endpoint!r}",
        f"leads to {alarm.rows.value}, {alarm.filter}; proven: {alarm.is_proven}",
        f"causes {sorted(alarm.causes)}",
    )
    said = (
        f"{in_language(alarm.name, language)}: {in_language(alarm.text, language)}"
        for language in Language
    )
    return "\n  ".join((f"{alarm.code}", *facts, *said))


def without_times_that_are_known() -> list[Alarm]:
    """Return alarms of what is known only in part, and of both sides of an end."""
    restored = msgspec.structs.replace(QUIET, restore=Restore(at=NOON, known_to=None))
    rate = FailureRate(
        channel="MPESA_TZ",
        whose=FailureClass.NETWORK,
        since=NOON,
        finals=100,
        failed=90,
        usual=None,
    )
    others = [
        msgspec.structs.replace(rate, channel=channel, whose=whose)
        for channel, whose in (
            ("TIGO_TZ", FailureClass.NETWORK),
            ("AIRTEL_TZ", FailureClass.CUSTOMER),
        )
    ]
    two = msgspec.structs.replace(QUIET, failure_rates=(rate, *others))
    one = msgspec.structs.replace(QUIET, failure_rates=(rate, others[1]))
    noise = msgspec.structs.replace(
        QUIET, noise=(Noise(endpoint="shop", count=100, like_events=2, last_at=None),)
    )
    read = (restored, two, one, noise)
    return [alarm for inputs in read for alarm in with_following(alarms(inputs))]


def test_what_each_alarm_says_in_both_languages_is_looked_at_before_it_changes(
    snapshot: SnapshotAssertion,
) -> None:
    found = [*every_alarm(), *without_times_that_are_known()]
    assert "\n\n".join(map(described, found)) == snapshot


@pytest.mark.parametrize("part", ["subject", "stage", "header"])
def test_an_alarm_that_is_named_by_a_phone_is_found_out(part: str) -> None:
    named = msgspec.structs.replace(every_alarm()[0], **{part: "prompts on 255754000001"})
    with pytest.raises(AssertionError, match="is named by a phone"):
        assert_no_phone([named])


def test_clocks_and_disks_raise_nothing_below_their_bounds() -> None:
    quiet = msgspec.structs.replace(
        QUIET,
        pollers=(poller(timedelta(seconds=29)), poller(timedelta(seconds=-29)), poller(None)),
        free_bytes=1_000_000_000,
        missing_events=0,
    )
    assert alarms(quiet) == []
    skewed = msgspec.structs.replace(QUIET, pollers=(poller(timedelta(seconds=-30)),))
    [alarm] = alarms(skewed)
    assert (alarm.severity, alarm.subject) == (Severity.WARNING, "till-3")
    assert "till-3 is 30 s ahead of the service's answers" in alarm.sentence
    two = (poller(timedelta(seconds=-40)), poller(timedelta(seconds=-41)))
    assert len(alarms(msgspec.structs.replace(QUIET, pollers=two))) == 1, "one for each machine"


@pytest.mark.parametrize(
    ("of", "severity"),
    [
        ({"pollers": (150,)}, Severity.URGENT),
        ({"pollers": (-149,)}, Severity.WARNING),
        ({"free_bytes": 199_999_999}, Severity.URGENT),
        ({"free_bytes": 200_000_000}, Severity.WARNING),
        ({"service_silence": 40}, Severity.URGENT),
        ({"service_silence": 39}, None),
    ],
)
def test_at_its_bound_an_alarm_presses_as_its_rule_says(
    of: dict[str, Any], severity: Severity | None
) -> None:
    [(name, value)] = of.items()
    if name == "pollers":
        value = (poller(timedelta(seconds=value[0])),)
    if name == "service_silence":
        value = ServiceSilence(since=NOON - timedelta(seconds=value))
    found = alarms(msgspec.structs.replace(QUIET, **{name: value}))
    assert [one.severity for one in found] == ([] if severity is None else [severity])


def test_a_backup_may_be_as_old_as_it_may_and_none_is_wanted_before_the_first() -> None:
    def said(status: BackupStatus) -> list[str]:
        return [one.sentence for one in alarms(msgspec.structs.replace(QUIET, backup=status))]

    assert said(BackupStatus()) == [], "a demo was never backed up"
    assert said(backed_up(hours_ago=36)) == []
    assert said(msgspec.structs.replace(backed_up(hours_ago=900), within=None)) == []
    [old] = said(backed_up(hours_ago=37))
    assert old == (
        "backup: the newest that was verified, night.sqlite, is of 23:00, 37 hours ago; one is "
        "wanted every 36 hours."
    )
    asked = BackupStatus(expected_since=NOON - 37 * HOUR, within=36 * HOUR)
    assert said(asked) == [
        "backup: none was made since backups were asked for at 23:00; one is wanted every 36 hours."
    ]
    assert said(msgspec.structs.replace(asked, expected_since=NOON - HOUR)) == []


def test_the_months_to_come_are_wanted_60_days_ahead() -> None:
    def said(days: int) -> list[str]:
        inputs = msgspec.structs.replace(QUIET, months_until=NOON + days * 24 * HOUR)
        return [one.sentence for one in alarms(inputs)]

    rest = "; nothing is lost, and old months cannot be dropped from there."
    assert said(61) == []
    assert said(60) == [f"months: deliveries have tables of their months until 12:00 only{rest}"]
    assert said(-1) == [f"months: what arrived since 12:00 lies in no table of its month{rest}"]


def test_a_disabled_endpoint_is_a_new_stage_of_the_same_outbreak() -> None:
    [first] = alarms(with_health(endpoints=(failing("shop", since=NOON - HOUR),)))
    [later] = alarms(with_health(endpoints=(failing("shop", since=NOON - 80 * HOUR),)))
    assert (first.key, first.stage) == (later.key, "")
    assert later.stage == "disabled"


def intent(*, first_sent_at: datetime) -> IntentRow:
    return IntentRow(
        id="int_1", seq=1, idempotency_key="key", body=b"{}", mode=Mode.LIVE, profile="main",
        reference="order-1", amount=5000, phone="255754000001", state=IntentState.UNKNOWN,
        prepared_at=first_sent_at, first_sent_at=first_sent_at, collection_id=None, outcome=None,
        attempts=1,
    )  # fmt: skip


def backed_up(*, hours_ago: int) -> BackupStatus:
    return BackupStatus(
        last=Backup(at=NOON - hours_ago * HOUR, name="night.sqlite"), within=36 * HOUR
    )


def poller(offset: timedelta | None) -> Poller:
    return Poller(name="till-3:17:ab", mode=Mode.LIVE, polled_at=NOON, clock_offset=offset)
