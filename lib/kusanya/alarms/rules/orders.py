"""Alarms about orders: paid twice, paid and nothing done for it, work that waits for a person."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from kusanya.alarms.alarm import Alarm, AlarmList, FormatTime, Rule, Severity, instant
from kusanya.alarms.inputs import AlarmInputs
from kusanya.filters import Filter, Term
from kusanya.say import Said, plural
from kusanya.text import safe

UNDONE_AFTER: Final = timedelta(minutes=15)
"""A customer who paid waits no longer than this for what was bought."""


def _paid_again(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    if not (found := inputs.paid_again):
        return
    newest, sums = found[0], dict.fromkeys((row.currency for row in found), 0)
    for row in found:
        sums[row.currency] += row.amount
    money = ", ".join(f"{safe(currency, 8)} {amount:,}" for currency, amount in sums.items())
    yield Alarm(
        code="paid_again",
        mode=inputs.mode,
        # A further one is news to who looks after the others.
        onset=instant(newest.final_seen_at),
        severity=Severity.URGENT,
        mark="≠",
        name="orders paid more than once",
        sentence=Said("paid again: {our_which} beside another one of the same order.").of(
            our_which=plural(len(found), "1 payment came", "{count} payments came")
        ),
        next_step=Said("To do: give {money} back, or say why not; the newest is {id}.").of(
            money=money, id=safe(newest.id, 80)
        ),
        rows=AlarmList.COLLECTIONS,
        filter=Filter((Term("id", tuple(row.id for row in found)),)),
        header=Said("≠ {count} paid again").of(count=len(found)),
    )


def _undone(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.consumers:
        since = one.oldest_paid
        if since is None or inputs.at - max(since, one.added_at) < UNDONE_AFTER:
            continue
        name = safe(one.name, 64)
        yield Alarm(
            code="undone",
            mode=inputs.mode,
            subject=one.name,
            onset=instant(since),
            severity=Severity.URGENT,
            mark="◌",
            name=Said("consumer {name}").of(name=name),
            sentence=Said(
                "not done: a customer paid at {since}, and consumer {name} has not acted on it; "
                "{our_which}."
            ).of(
                since=format_time(since),
                name=name,
                our_which=plural(
                    one.waiting + one.parked, "1 outcome waits", "{count} outcomes wait"
                ),
            ),
            next_step=Said("To do: does it run? kusanya outcomes list {name} tells.").of(name=name),
            rows=AlarmList.COLLECTIONS,
            header="◌ {count} not done",
        )


def _parked(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.consumers:
        if one.parked:
            name = safe(one.name, 64)
            yield Alarm(
                code="parked",
                mode=inputs.mode,
                subject=one.name,
                onset=instant(one.newest_parked),
                severity=Severity.WARNING,
                mark="◌",
                name=Said("consumer {name}").of(name=name),
                sentence=Said("parked: {our_which} for a person at consumer {name}.").of(
                    our_which=plural(one.parked, "1 outcome waits", "{count} outcomes wait"),
                    name=name,
                ),
                next_step=Said(
                    "To do: kusanya outcomes list {name} --parked says why; then retry or skip it."
                ).of(name=name),
                rows=AlarmList.COLLECTIONS,
            )


RULES: Final = (
    Rule(
        code="paid_again",
        rank=65,
        severity=Severity.URGENT,
        condition="An order was paid more than once within the last week.",
        judge=_paid_again,
    ),
    Rule(
        code="undone",
        rank=75,
        severity=Severity.URGENT,
        condition="A customer paid 15 minutes ago and a consumer has not acted on it.",
        judge=_undone,
    ),
    Rule(
        code="parked",
        rank=145,
        severity=Severity.WARNING,
        condition="An outcome could not be acted on and waits for a person.",
        judge=_parked,
    ),
)
