"""Alarms about payments: prompts that hang, outcomes nobody knows, facts that disagree."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from kusanya.alarms.alarm import (
    Alarm,
    AlarmList,
    FormatTime,
    Rule,
    Severity,
    hour,
    instant,
)
from kusanya.alarms.inputs import AlarmInputs, format_unknown
from kusanya.alarms.open_anomalies import OpenAnomaly
from kusanya.alarms.stalled_intents import format_count
from kusanya.domain.assumptions import REPLAY_WINDOW
from kusanya.domain.channels import channel_label
from kusanya.domain.status import OPEN
from kusanya.filters import Filter, Term
from kusanya.health.stuck_prompts import StuckChannel
from kusanya.store.records import IntentRow
from kusanya.text import safe

CLOSING_WITHIN: Final = timedelta(hours=2)
"""A replay window with less left is an alarm."""
_QUIET: Final = timedelta(minutes=2)
"""Without an arrival for so long the prompts may have ended unheard."""
_OPEN: Final = Term("status", tuple(sorted(OPEN)))
_ONE_PHONE: Final = (
    "one phone: a customer, no outage.",
    "Ask the service about one of them; send no further prompt.",
)


def _closing(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    count = sum(_closes_soon(row, inputs.at) for row in inputs.unknown)
    if count:
        which = "1 creation" if count == 1 else f"{count:,} creations"
        yield Alarm(
            code="closing",
            mode=inputs.mode,
            severity=Severity.URGENT,
            mark="?",
            name="replay windows that close",
            sentence=(
                f"closing: {which} without an answer may be replayed for less than "
                f"{CLOSING_WITHIN // timedelta(hours=1)} h more."
            ),
            next_step="To do: kusanya intents resume, with the same key.",
            rows=AlarmList.INTENTS,
            header=f"? {count} closing",
        )


def _unknown(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    # The header counts them by itself, also before the alarms have been judged.
    if inputs.unknown:
        count = len(inputs.unknown)
        which = "1 creation has" if count == 1 else f"{format_unknown(count)} creations have"
        yield Alarm(
            code="unknown",
            mode=inputs.mode,
            # A further one is news to who looks after the others.
            onset=instant(max(row.prepared_at for row in inputs.unknown)),
            severity=Severity.WARNING,
            mark="?",
            name="creations of unknown outcome",
            sentence=f"unknown: {which} no answer, and the customers may have been charged.",
            next_step=(
                "To do: run kusanya intents resume, which asks with the same key; never create "
                "another one for these orders."
            ),
            rows=AlarmList.INTENTS,
        )


def _stuck(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.health.stuck:
        if one.overdue > 1 and one.is_unusual:
            channel = safe(channel_label(one.channel), 40)
            is_outage = one.phones > 1
            where, next_step = _outage(one, inputs, format_time) if is_outage else _ONE_PHONE
            count, limit = f"{one.overdue:,}", _seconds(one.limit)
            sentence = f"stuck: {count} prompts of {channel} wait over {limit} on {where}"
            if one.usual is not None:
                sentence = (
                    f"stuck: {count} prompts of {channel} wait over {limit}, where 95 % take "
                    f"{_seconds(one.usual)} at most, on {where}"
                )
            yield Alarm(
                code="stuck",
                mode=inputs.mode,
                subject=one.channel,
                # An acknowledgement of an outage lasts for its hour.
                onset=hour(inputs.health.at),
                severity=Severity.URGENT if is_outage else Severity.WARNING,
                mark="✕",
                name=f"open prompts of {channel}",
                sentence=sentence,
                next_step=next_step,
                rows=AlarmList.COLLECTIONS,
                filter=open_prompts(one.channel),
                header="✕ {count} stuck" if is_outage else "",
            )


def _failure_rate(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.failure_rates:
        if one.is_unusual:
            channel = safe(channel_label(one.channel), 40)
            usual = "" if one.usual is None else f"; usual are {one.usual:.0%}"
            yield Alarm(
                code="failure_rate",
                mode=inputs.mode,
                subject=one.channel,
                onset=hour(inputs.at),
                severity=Severity.WARNING,
                mark="!",
                name=f"payments by {channel}",
                sentence=(
                    f"failures: {one.failed:,} of {one.finals:,} payments by {channel} since "
                    f"{format_time(one.since)} ended without money{usual}."
                ),
                next_step="To do: look at their failure codes; ask the network where it is theirs.",
                rows=AlarmList.COLLECTIONS,
                filter=Filter((Term("channel", (one.channel,)),), unwell=True),
                header="! {count} failure rate",
            )


def _contradictions(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    found = [one for one in inputs.anomalies if not one.is_fee]
    if found:
        what = ", ".join(sorted({one.kind.value.replace("_", " ") for one in found}))
        which = "1 payment has" if _payments(found) == 1 else f"{_payments(found):,} payments have"
        yield Alarm(
            code="contradictions",
            mode=inputs.mode,
            stage=found[0].collection_id,
            severity=Severity.URGENT,
            mark="≠",
            name="payments with contradicting facts",
            sentence=f"contradiction: {which} facts that cannot all be true ({what}).",
            next_step=(
                "To do: ask the service before anything is shipped or repaid, then acknowledge "
                "each of them."
            ),
            rows=AlarmList.COLLECTIONS,
            filter=Filter(unwell=True),
            header=f"≠ {_payments(found):,} disputed",
        )


def _fee_changes(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    found = [one for one in inputs.anomalies if one.is_fee]
    if found:
        which = "1 payment was" if _payments(found) == 1 else f"{_payments(found):,} payments were"
        yield Alarm(
            code="fee_changes",
            mode=inputs.mode,
            stage=found[0].collection_id,
            severity=Severity.WARNING,
            mark="≠",
            name="fees that changed",
            sentence=f"fees: {which} reported with two different fees.",
            next_step="To do: claim the difference at month-end, then acknowledge each of them.",
            rows=AlarmList.COLLECTIONS,
            filter=Filter(unwell=True),
        )


def _stalled(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    found = inputs.stalled
    if not found.count:
        return
    since = "" if found.since is None else f", the oldest of {format_time(found.since)}"
    said: list[str] = []
    if found.unsent:
        said.append(
            f"{format_count(found.unsent)} creations were not taken by the service, so no customer "
            "was asked: does the service answer?"
        )
    if found.unanswered:
        said.append(
            f"{format_count(found.unanswered)} left and nobody waits for their answer: the "
            "customers may have been asked."
        )
    yield Alarm(
        code="stalled",
        mode=inputs.mode,
        onset=instant(found.since),
        severity=Severity.WARNING,
        mark="◌",
        name="stalled creations",
        sentence=f"stalled{since}: {' '.join(said)}",
        next_step=("To do: kusanya intents resume sends them with the same key; make no new ones."),
        rows=AlarmList.INTENTS,
        header=f"◌ {format_count(found.count)} stalled",
    )


def open_prompts(channel: str) -> Filter:
    """Return the filter of a channel's open prompts."""
    return Filter((Term("channel", (channel,)), _OPEN))


def _outage(one: StuckChannel, inputs: AlarmInputs, format_time: FormatTime) -> tuple[str, str]:
    arrived = [endpoint.last_arrival_at for endpoint in inputs.health.endpoints]
    where = f"{one.phones:,} phones: ask the service about one of them."
    if not arrived or max(arrived) < inputs.health.at - _QUIET:
        last = f"since {format_time(max(arrived))}" if arrived else "yet"
        where += f" Nothing has arrived {last}: is the receiver running?"
    return where, "Still open, it is an outage: ask the network, send no second prompts."


def _closes_soon(row: IntentRow, now: datetime) -> bool:
    """Return whether an unknown outcome may be replayed, and only for a short while more."""
    if row.window_closed_at is not None or row.first_sent_at is None:
        return False
    left = row.first_sent_at + REPLAY_WINDOW - now
    return timedelta() < left <= CLOSING_WITHIN


def _payments(found: list[OpenAnomaly]) -> int:
    return len({one.collection_id for one in found})


def _seconds(length: timedelta) -> str:
    """Return a length as whole minutes where it is some, else in seconds."""
    minutes, rest = divmod(length, timedelta(minutes=1))
    return f"{minutes} min" if not rest else f"{length.total_seconds():.0f} s"


RULES: Final = (
    Rule(
        code="closing",
        rank=80,
        severity=Severity.URGENT,
        condition="An unknown outcome may be replayed for less than two hours more.",
        judge=_closing,
    ),
    Rule(
        code="unknown",
        rank=130,
        severity=Severity.WARNING,
        condition="A creation was sent and has no answer.",
        judge=_unknown,
    ),
    Rule(
        code="contradictions",
        rank=70,
        severity=Severity.URGENT,
        condition="Facts about a payment disagree, and nobody has acknowledged it.",
        judge=_contradictions,
    ),
    Rule(
        code="stuck",
        rank=90,
        severity=Severity.URGENT,
        condition="More prompts of a channel are open than its usual times explain.",
        judge=_stuck,
    ),
    Rule(
        code="failure_rate",
        rank=150,
        severity=Severity.WARNING,
        condition="More payments of a channel end without money than its last week explains.",
        judge=_failure_rate,
    ),
    Rule(
        code="stalled",
        rank=140,
        severity=Severity.WARNING,
        condition="Creations wait and no program works on them.",
        judge=_stalled,
    ),
    Rule(
        code="fee_changes",
        rank=200,
        severity=Severity.WARNING,
        condition="The fee of a payment differs between sources.",
        judge=_fee_changes,
    ),
)
