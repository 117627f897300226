"""Alarms about payments: prompts that hang, outcomes nobody knows, facts that disagree."""

from collections.abc import Iterator
from datetime import timedelta
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
from kusanya.alarms.inputs import CLOSING_WITHIN, AlarmInputs, format_unknown
from kusanya.alarms.open_anomalies import OpenAnomaly
from kusanya.alarms.stalled_intents import format_count
from kusanya.channels.history import FailureClass
from kusanya.domain.channels import channel_label
from kusanya.domain.status import OPEN
from kusanya.filters import Filter, Term
from kusanya.health.stuck_prompts import StuckChannel
from kusanya.say import Said, joined, plural
from kusanya.text import safe

_QUIET: Final = timedelta(minutes=2)
"""Without an arrival for so long the prompts may have ended unheard."""
_OPEN: Final = Term("status", tuple(sorted(OPEN)))
_FAILURES: Final = {
    FailureClass.NETWORK: (
        "failures: {failed} of {finals} payments by {channel} since {since} ended without "
        "money{our_usual}."
    ),
    FailureClass.CUSTOMER: (
        "failures: {failed} of {finals} payments by {channel} since {since} ended for reasons of "
        "the customers{our_usual}."
    ),
    FailureClass.OURS: (
        "failures: {failed} of {finals} payments by {channel} since {since} ended because of what "
        "we sent{our_usual}."
    ),
}
_WHO_HELPS: Final = {
    FailureClass.NETWORK: "To do: look at their failure codes; ask the network where it is theirs.",
    FailureClass.CUSTOMER: (
        "To do: look at their failure codes; the network works. Ask the shop what it tells its "
        "customers."
    ),
    FailureClass.OURS: "To do: look at their failure codes, and at the numbers and amounts sent.",
}
_SEVERAL_FAIL: Final = "To do: several networks at once: ask the service, not one network."
_ONE_NETWORK: Final = "Still open, it is an outage: ask the network, send no second prompts."
_SEVERAL: Final = (
    "Several networks at once: ask the service, not one network; send no second prompts."
)
_ONE_PHONE: Final = (
    "one phone: a customer, no outage.",
    "Ask the service about one of them; send no further prompt.",
)


def _closing(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    count = inputs.closing
    if count:
        which = plural(count, "1 creation", "{count} creations")
        yield Alarm(
            code="closing",
            mode=inputs.mode,
            severity=Severity.URGENT,
            mark="?",
            name="replay windows that close",
            sentence=Said(
                "closing: {our_which} without an answer may be replayed for less than {hours} h "
                "more."
            ).of(our_which=which, hours=CLOSING_WITHIN // timedelta(hours=1)),
            next_step="To do: kusanya intents resume, with the same key.",
            rows=AlarmList.INTENTS,
            header=Said("? {count} closing").of(count=count),
        )


def _unknown(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    # The header counts them by itself, also before the alarms have been judged.
    if inputs.unknown:
        count = len(inputs.unknown)
        one, many = "1 creation has", "{count} creations have"
        which = plural(count, one, many, shown=format_unknown(count))
        yield Alarm(
            code="unknown",
            mode=inputs.mode,
            # A further one is news to who looks after the others.
            onset=instant(max(row.prepared_at for row in inputs.unknown)),
            severity=Severity.WARNING,
            mark="?",
            name="creations of unknown outcome",
            sentence=Said(
                "unknown: {our_which} no answer, and the customers may have been charged."
            ).of(our_which=which),
            next_step=(
                "To do: run kusanya intents resume, which asks with the same key; never create "
                "another one for these orders."
            ),
            rows=AlarmList.INTENTS,
        )


def _stuck(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.health.stuck:
        channel = safe(channel_label(one.channel), 40)
        is_many = one.overdue > 1 and one.is_unusual
        is_outage = is_many and one.phones > 1
        if is_many:
            where, next_step = _outage(one, inputs, format_time) if is_outage else _ONE_PHONE
            sentence = _overdue(one, channel, where)
        elif one.forgotten:
            next_step = "Ask the service what became of it; send no second prompt."
            sentence = plural(
                one.forgotten,
                "stuck: 1 prompt of {channel} is open since {at}; none lasts an hour.",
                "stuck: {count} prompts of {channel} are open for over an hour, the oldest "
                "since {at}; none lasts so long.",
                channel=channel,
                at=format_time(one.oldest_at),
            )
        else:
            continue
        yield Alarm(
            code="stuck",
            mode=inputs.mode,
            subject=one.channel,
            # An acknowledgement of an outage lasts for its hour.
            onset=hour(inputs.health.at) if is_many else instant(one.oldest_at),
            severity=Severity.URGENT if is_outage else Severity.WARNING,
            mark="✕",
            name=Said("open prompts of {channel}").of(channel=channel),
            sentence=sentence,
            next_step=next_step,
            rows=AlarmList.COLLECTIONS,
            filter=open_prompts(one.channel),
            header="✕ {count} stuck" if is_outage else "",
        )


def _overdue(one: StuckChannel, channel: str, where: str) -> str:
    """Return that more prompts of a channel are open than its usual times explain."""
    count, limit = f"{one.overdue:,}", _seconds(one.limit)
    if one.usual is None:
        return Said("stuck: {count} prompts of {channel} wait over {limit} on {our_where}").of(
            count=count, channel=channel, limit=limit, our_where=where
        )
    return Said(
        "stuck: {count} prompts of {channel} wait over {limit}, where 95 % take "
        "{usual} at most, on {our_where}"
    ).of(count=count, channel=channel, limit=limit, usual=_seconds(one.usual), our_where=where)


def _failure_rate(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    # One alarm for a channel: what is the network's matter says more than what is a customer's.
    order = list(FailureClass)
    rates = sorted(inputs.failure_rates, key=lambda one: (one.channel, order.index(one.whose)))
    worst = {one.channel: one for one in reversed(rates)}
    networks = sum(one.whose is FailureClass.NETWORK for one in worst.values())
    for one in sorted(worst.values(), key=lambda one: one.channel):
        channel = safe(channel_label(one.channel), 40)
        usual = (
            "" if one.usual is None else Said("; usual are {usual}").of(usual=f"{one.usual:.0%}")
        )
        several = networks > 1 and one.whose is FailureClass.NETWORK
        yield Alarm(
            code="failure_rate",
            mode=inputs.mode,
            subject=one.channel,
            onset=instant(one.since),
            stage="" if one.whose is FailureClass.NETWORK else one.whose.value,
            severity=Severity.WARNING,
            mark="!",
            name=Said("payments by {channel}").of(channel=channel),
            sentence=Said(_FAILURES[one.whose]).of(
                failed=one.failed,
                finals=one.finals,
                channel=channel,
                since=format_time(one.since),
                our_usual=usual,
            ),
            next_step=_SEVERAL_FAIL if several else _WHO_HELPS[one.whose],
            rows=AlarmList.COLLECTIONS,
            filter=Filter((Term("channel", (one.channel,)),), unwell=True),
            header="! {count} failure rate",
        )


def _contradictions(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    found = [one for one in inputs.anomalies if not one.is_fee]
    if found:
        kinds = joined(", ", sorted({one.kind.value.replace("_", " ") for one in found}))
        which = plural(_payments(found), "1 payment has", "{count} payments have")
        yield Alarm(
            code="contradictions",
            mode=inputs.mode,
            stage=found[0].collection_id,
            severity=Severity.URGENT,
            mark="≠",
            name="payments with contradicting facts",
            sentence=Said(
                "contradiction: {our_which} facts that cannot all be true ({our_list})."
            ).of(our_which=which, our_list=kinds),
            next_step=(
                "To do: kusanya rule asks the service and chooses by its answer; where that is "
                "none of them, ask its people, then acknowledge."
            ),
            rows=AlarmList.COLLECTIONS,
            filter=Filter(unwell=True),
            header=Said("≠ {count} disputed").of(count=_payments(found)),
        )


def _fee_changes(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    found = [one for one in inputs.anomalies if one.is_fee]
    if found:
        which = plural(_payments(found), "1 payment was", "{count} payments were")
        yield Alarm(
            code="fee_changes",
            mode=inputs.mode,
            stage=found[0].collection_id,
            severity=Severity.WARNING,
            mark="≠",
            name="fees that changed",
            sentence=Said("fees: {our_which} reported with two different fees.").of(
                our_which=which
            ),
            next_step="To do: claim the difference at month-end, then acknowledge each of them.",
            rows=AlarmList.COLLECTIONS,
            filter=Filter(unwell=True),
        )


def _stalled(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    found = inputs.stalled
    if not found.count:
        return
    since = (
        ""
        if found.since is None
        else Said(", the oldest of {since}").of(since=format_time(found.since))
    )
    said: list[str] = []
    if found.unsent:
        said.append(
            plural(
                found.unsent,
                "1 creation was not taken by the service, so no customer was asked: does the "
                "service answer?",
                "{count} creations were not taken by the service, so no customer was asked: does "
                "the service answer?",
                shown=format_count(found.unsent),
            )
        )
    if found.unanswered:
        said.append(
            plural(
                found.unanswered,
                "1 left and nobody waits for its answer: the customer may have been asked.",
                "{count} left and nobody waits for their answer: the customers may have been "
                "asked.",
                shown=format_count(found.unanswered),
            )
        )
    yield Alarm(
        code="stalled",
        mode=inputs.mode,
        onset=instant(found.since),
        severity=Severity.WARNING,
        mark="◌",
        name="stalled creations",
        sentence=Said("stalled{our_since}: {our_said}").of(
            our_since=since, our_said=joined(" ", said)
        ),
        next_step=("To do: kusanya intents resume sends them with the same key; make no new ones."),
        rows=AlarmList.INTENTS,
        header=Said("◌ {count} stalled").of(count=format_count(found.count)),
    )


def open_prompts(channel: str) -> Filter:
    """Return the filter of a channel's open prompts."""
    return Filter((Term("channel", (channel,)), _OPEN))


def _outage(one: StuckChannel, inputs: AlarmInputs, format_time: FormatTime) -> tuple[str, str]:
    arrived = [endpoint.last_arrival_at for endpoint in inputs.health.endpoints]
    where = Said("{count} phones: ask the service about one of them.").of(count=one.phones)
    if not arrived or max(arrived) < inputs.health.at - _QUIET:
        last = Said("since {at}").of(at=format_time(max(arrived))) if arrived else "yet"
        quiet = Said("Nothing has arrived {our_last}: is the receiver running?").of(our_last=last)
        where = joined(" ", (where, quiet))
    outages = [one for one in inputs.health.stuck if one.is_outage]
    return where, _SEVERAL if len(outages) > 1 else _ONE_NETWORK


def _payments(found: list[OpenAnomaly]) -> int:
    return len({one.collection_id for one in found})


def _seconds(length: timedelta) -> str:
    """Return a length as whole minutes where it is some, else in seconds."""
    minutes, rest = divmod(length, timedelta(minutes=1))
    if not rest:
        return Said("{count} min").of(count=minutes)
    return Said("{count} s").of(count=f"{length.total_seconds():.0f}")


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
        condition=(
            "More prompts of a channel are open than its usual times explain, or one for an hour."
        ),
        judge=_stuck,
    ),
    Rule(
        code="failure_rate",
        rank=150,
        severity=Severity.WARNING,
        condition="More payments of a channel end without money than is usual at this hour.",
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
