"""Alarms about our own programs and machines: pollers, clocks, disks, notifications."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from kusanya.alarms.alarm import (
    Alarm,
    AlarmList,
    FormatTime,
    Rule,
    Severity,
    format_length,
)
from kusanya.alarms.inputs import AlarmInputs
from kusanya.domain.status import OPEN
from kusanya.filters import Filter, Term
from kusanya.say import Said, joined
from kusanya.text import safe

SKEW_WARNED: Final = timedelta(seconds=30)
"""Measured to the second or two: less is no finding."""
SKEW_URGENT: Final = timedelta(seconds=150)
"""Half of what a signature allows."""
SKEW_REFUSED: Final = timedelta(seconds=270)
"""From there on genuine deliveries are refused, some of them at first."""
FREE_WARNED: Final = 1_000_000_000
FREE_URGENT: Final = 200_000_000
"""Bytes: some hundred thousand deliveries."""
BLIND_AFTER: Final = timedelta(minutes=5)
"""Without an arrival and without a poll for so long nothing is known of open prompts."""
MONTHS_WARNED: Final = timedelta(days=60)
"""An opening by who owns the tables makes twelve months: it has not come for ten of them."""
_OF_THE_SERVICE: Final = frozenset({"stuck", "stalled", "unknown", "silent", "missing_events"})
_OF_THE_CLOCK: Final = frozenset({"failing", "sender_failing", "silent", "missing_events"})
_OF_THE_DISK: Final = frozenset({*_OF_THE_CLOCK, "unwatched", "stuck"})


def _service_silent(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    found = inputs.service_silence
    if found is None or not found.is_long(inputs.at):
        return
    machines = joined(", ", [safe(name, 40) for name in found.machines])
    if found.answers_others:
        sentence = Said(
            "service: it has not answered {our_machines} since {since}, and answers our other "
            "machines."
        ).of(our_machines=machines, since=format_time(found.since))
        next_step = "To do: look at the network of that machine, and at what its proxy does."
    else:
        sentence = Said(
            "service: it has not answered since {since}. What is not answered is kept and goes on "
            "by itself."
        ).of(since=format_time(found.since))
        next_step = (
            "To do: ask the service whether it is down, and look at our network; send nothing by "
            "another way."
        )
    yield Alarm(
        code="service_silent",
        mode=inputs.mode,
        onset=found.since.isoformat(),
        severity=Severity.WARNING if found.answers_others else Severity.URGENT,
        mark="✕",
        name="the service",
        sentence=sentence,
        next_step=next_step,
        rows=AlarmList.INTENTS,
        header="✕ service",
        is_proven=True,
        causes=frozenset() if found.answers_others else _OF_THE_SERVICE,
    )


def _unwatched(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    found = inputs.health.unwatched
    if found is not None:
        since = found.open_since if found.last_poll_at is None else found.last_poll_at
        arrived = [one.last_arrival_at for one in inputs.health.endpoints]
        is_blind = not arrived or inputs.at - max(arrived) > BLIND_AFTER
        yield Alarm(
            code="unwatched",
            mode=inputs.mode,
            onset=since.isoformat(),
            # Neither polls nor events: of no open prompt anything can be known.
            severity=Severity.URGENT if is_blind else Severity.WARNING,
            mark="◐",
            causes=frozenset({"stuck"}) if is_blind else frozenset(),
            name="open collections that nobody polls",
            sentence=Said(
                "unwatched: no poller has run for {our_length}, and collections are open since "
                "{since}."
            ).of(our_length=format_length(inputs.at - since), since=format_time(found.open_since)),
            next_step="To do: start kusanya watch.",
            rows=AlarmList.COLLECTIONS,
            filter=Filter((Term("status", tuple(sorted(OPEN))),)),
        )


def _clock_skew(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    for name, offset in inputs.clock_offsets.items():
        if abs(offset) < SKEW_WARNED:
            continue
        machine = safe(name, 40)
        way = "behind" if offset > timedelta() else "ahead of"
        yield Alarm(
            code="clock_skew",
            mode=inputs.mode,
            subject=machine,
            onset=f"{inputs.at:%Y-%m-%d}",
            severity=Severity.URGENT if abs(offset) >= SKEW_URGENT else Severity.WARNING,
            mark="◷",
            name=Said("the clock of {machine}").of(machine=machine),
            sentence=Said(
                "clock: {machine} is {seconds} s {our_way} the service's answers; at 300 s "
                "genuine deliveries are refused as stale."
            ).of(machine=machine, seconds=f"{abs(offset).total_seconds():,.0f}", our_way=way),
            next_step="To do: let the machine follow a time server; set no clock back by hand.",
            rows=AlarmList.DELIVERIES,
            header="◷ clock",
            causes=_OF_THE_CLOCK if abs(offset) >= SKEW_REFUSED else frozenset(),
        )


def _restored(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    found = inputs.restore
    if found is not None and found.resolved_at is None:
        known = (
            "nothing at all"
            if found.known_to is None
            else Said("nothing after {at}").of(at=format_time(found.known_to))
        )
        yield Alarm(
            code="restored",
            mode=inputs.mode,
            onset=found.at.isoformat(),
            severity=Severity.URGENT,
            mark="↺",
            name="the store after its restore",
            sentence=Said(
                "restored: the store was put back from a backup at {at} and knows {our_known}; "
                "every new creation is refused."
            ).of(at=format_time(found.at), our_known=known),
            next_step=(
                "To do: list the collections since then, and run kusanya store resolve-restore."
            ),
            rows=AlarmList.INTENTS,
            header="↺ restored",
        )


def _store_full(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    free = inputs.free_bytes
    if free is not None and free < FREE_WARNED:
        yield Alarm(
            code="store_full",
            mode=inputs.mode,
            onset=f"{inputs.at:%Y-%m-%d}",
            severity=Severity.URGENT if free < FREE_URGENT else Severity.WARNING,
            mark="▪",
            name="the store's disk",
            sentence=Said(
                "disk: {free} MB are left for the store; when it is full every delivery is "
                "answered 503."
            ).of(free=free // 1_000_000),
            next_step="To do: make room on that disk, or give it more.",
            rows=AlarmList.DELIVERIES,
            header="▪ disk",
            causes=_OF_THE_DISK if free < FREE_URGENT else frozenset(),
        )


def _backup_old(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    found = inputs.backup
    if found.within is None or found.since is None or inputs.at - found.since <= found.within:
        return
    if found.last is None:
        said = Said("none was made since backups were asked for at {since}").of(
            since=format_time(found.since)
        )
    else:
        said = Said("the newest that was verified, {name}, is of {since}, {our_length} ago").of(
            name=safe(found.last.name, 60),
            since=format_time(found.since),
            our_length=format_length(inputs.at - found.since),
        )
    yield Alarm(
        code="backup_old",
        mode=inputs.mode,
        onset=found.since.isoformat(),
        severity=Severity.WARNING,
        mark="▫",
        name="the backup of the store",
        sentence=Said("backup: {our_said}; one is wanted every {our_length}.").of(
            our_said=said, our_length=format_length(found.within)
        ),
        next_step="To do: run kusanya store backup, and see why the nightly job did not.",
        rows=AlarmList.DELIVERIES,
        header="▫ backup",
    )


def _months_ahead(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    until = inputs.months_until
    if until is None or until - inputs.at > MONTHS_WARNED:
        return
    if until > inputs.at:
        said = Said("deliveries have tables of their months until {our_until} only").of(
            our_until=format_time(until)
        )
    else:
        said = Said("what arrived since {our_until} lies in no table of its month").of(
            our_until=format_time(until)
        )
    yield Alarm(
        code="months_ahead",
        mode=inputs.mode,
        onset=until.isoformat(),
        severity=Severity.WARNING,
        mark="▤",
        name="the tables of the months to come",
        sentence=Said(
            "months: {our_said}; nothing is lost, and old months cannot be dropped from there."
        ).of(our_said=said),
        next_step="To do: run kusanya store migrate as the owner of the tables.",
        rows=AlarmList.DELIVERIES,
        header="▤ months",
    )


def _unsent(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.send_failures:
        yield Alarm(
            code="unsent",
            mode=inputs.mode,
            subject=one.target,
            onset=one.since.isoformat(),
            severity=Severity.WARNING,
            mark="✉",
            name=Said("notifications to {target}").of(target=safe(one.target, 60)),
            sentence=Said(
                "unsent: notifications do not reach {target} since {since}: {reason}."
            ).of(
                target=safe(one.target, 60),
                since=format_time(one.since),
                reason=safe(one.reason, 120),
            ),
            next_step="To do: look at the address and the network of kusanya watch.",
            rows=AlarmList.COLLECTIONS,
            header="✉ unsent",
        )


RULES: Final = (
    Rule(
        code="service_silent",
        rank=5,
        severity=Severity.URGENT,
        condition="The service has answered none of our programs for 40 seconds.",
        judge=_service_silent,
    ),
    Rule(
        code="restored",
        rank=10,
        severity=Severity.URGENT,
        condition="The store was restored from a backup, and what was created since is unknown.",
        judge=_restored,
    ),
    Rule(
        code="store_full",
        rank=100,
        severity=Severity.URGENT,
        condition="Less than 1 GB is free on the disk of the store's file.",
        judge=_store_full,
    ),
    Rule(
        code="backup_old",
        rank=180,
        severity=Severity.WARNING,
        condition=(
            "The newest verified backup of the store is older than it may become: 36 hours, or as "
            "kusanya store expect-backups says."
        ),
        judge=_backup_old,
    ),
    Rule(
        code="months_ahead",
        rank=190,
        severity=Severity.WARNING,
        condition="On PostgreSQL the tables of deliveries end within 60 days, or have ended.",
        judge=_months_ahead,
    ),
    Rule(
        code="clock_skew",
        rank=110,
        severity=Severity.URGENT,
        condition="The clock of a poller's machine differs from the service's by 30 s or more.",
        judge=_clock_skew,
    ),
    Rule(
        code="unwatched",
        rank=170,
        severity=Severity.URGENT,
        condition=(
            "Collections are open past any expiry, and no poller has run for 5 minutes; urgent "
            "where nothing arrives either."
        ),
        judge=_unwatched,
    ),
    Rule(
        code="unsent",
        rank=210,
        severity=Severity.WARNING,
        condition="An address does not take the notifications of kusanya watch.",
        judge=_unsent,
    ),
)
