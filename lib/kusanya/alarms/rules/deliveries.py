"""Alarms about deliveries: endpoints that fail, are disabled or silent, events that are missing."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from kusanya.alarms.alarm import (
    DISABLED,
    FAILING,
    Alarm,
    AlarmList,
    FormatTime,
    Rule,
    Severity,
    hour,
    instant,
    of_endpoint,
)
from kusanya.alarms.inputs import MISSING_AFTER, AlarmInputs
from kusanya.alarms.silence import Silence
from kusanya.filters import Filter
from kusanya.health.endpoints import format_failures
from kusanya.say import Said, plural
from kusanya.store.records import Verdict
from kusanya.text import safe
from kusanya.webhooks.refusals import REFUSAL_REASONS
from kusanya.wire import Mode

NOISE_ENOUGH: Final = 100
"""So many requests of strangers within two hours are said once."""


_OF_THE_SENDER: Final = frozenset({"silent", "missing_events"})
"""What follows where the sender itself says that nothing of its reaches an endpoint."""


def _sender_disabled(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.sender:
        if one.is_disabled:
            at = one.disabled_at
            since = "" if at is None else Said(" since {at}").of(at=format_time(at))
            yield Alarm(
                code="sender_disabled",
                mode=inputs.mode,
                subject=one.id,
                onset=instant(one.disabled_at or one.failing_since),
                severity=Severity.URGENT,
                mark="✕",
                name=Said("endpoint {name}").of(name=safe(one.id, 40)),
                sentence=Said("disabled: the sender sends nothing to {url}{our_since}.").of(
                    url=safe(one.url, 80), our_since=since
                ),
                next_step=(
                    "To do: repair the receiver, then enable the endpoint in the dashboard; what "
                    "it held goes on then."
                ),
                rows=AlarmList.DELIVERIES,
                header=DISABLED,
                endpoint=inputs.our_name(one),
                causes=_OF_THE_SENDER,
            )


def _sender_failing(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.sender:
        if one.failing_since is not None and not one.is_disabled:
            blows = one.disables_at
            until = (
                ""
                if blows is None
                else Said("; a failure at or after {at} disables it").of(at=format_time(blows))
            )
            yield Alarm(
                code="sender_failing",
                mode=inputs.mode,
                subject=one.id,
                onset=instant(one.failing_since),
                severity=Severity.URGENT,
                mark="✕",
                name=Said("endpoint {name}").of(name=safe(one.id, 40)),
                sentence=Said(
                    "failing: the sender has had no success at {url} since {since}{our_until}."
                ).of(url=safe(one.url, 80), since=format_time(one.failing_since), our_until=until),
                next_step=(
                    "To do: see whether the receiver runs and its address leads to it, then run "
                    "kusanya catch-up."
                ),
                rows=AlarmList.DELIVERIES,
                header=FAILING,
                endpoint=inputs.our_name(one),
                causes=_OF_THE_SENDER,
            )


def _failing(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    is_refused = inputs.silence is not None and inputs.silence.refused_at is not None
    for one in inputs.health.failing:
        name = safe(one.endpoint, 40)
        why = f", {safe(one.reason, 40)}" if one.reason else ""
        blows = one.fuse.blows_at
        if one.fuse.blown_at is not None or blows is None:
            end = "the sender has disabled it by now: enable it in the dashboard"
        elif one.is_fuse_estimated:
            end = Said("some refusals are not kept: a failure at or after {at} may disable it").of(
                at=format_time(blows)
            )
        else:
            end = Said("a failure at or after {at} disables it; one 2xx resets the fuse").of(
                at=format_time(blows)
            )
        known = REFUSAL_REASONS.get(one.reason or "")
        yield Alarm(
            code="failing",
            mode=inputs.mode,
            subject=one.endpoint,
            # The first failure may be let go in a flood; the last success stays.
            onset=instant(one.last_success_at or one.fuse.lit_at),
            stage="" if one.fuse.blown_at is None else "disabled",
            severity=Severity.URGENT,
            mark="✕",
            name=Said("endpoint {name}").of(name=name),
            sentence=Said("failing: {name} refused {failures}; {our_end}.").of(
                name=name, failures=f"{format_failures(one.failures)}{why}", our_end=end
            ),
            next_step=Said("To do: {our_step}.").of(our_step=known.next_step)
            if known and known.next_step
            else "",
            rows=AlarmList.DELIVERIES,
            filter=of_endpoint(one.endpoint),
            header=DISABLED if one.fuse.blown_at is not None else FAILING,
            endpoint=one.endpoint,
            # Where nothing arrives at all, it is the silence that is to be looked at.
            causes=frozenset({"missing_events", "silent" if is_refused else ""}),
        )


def _unread(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.health.unusable:
        if one.verdict is Verdict.UNPARSEABLE:
            yield Alarm(
                code="unread",
                mode=inputs.mode,
                subject=one.endpoint,
                onset=hour(one.last_hour),
                severity=Severity.URGENT,
                mark="!",
                name=Said("deliveries without effect at {endpoint}").of(
                    endpoint=safe(one.endpoint, 40)
                ),
                sentence=Said(
                    "unread: {endpoint} took {count} within 24 h that are genuine and no event we "
                    "can read; the sender will not repeat them."
                ).of(endpoint=safe(one.endpoint, 40), count=one.count),
                next_step=(
                    "To do: ask for the collections with kusanya catch-up, and show their bodies "
                    "to those who maintain this program."
                ),
                rows=AlarmList.DELIVERIES,
                filter=of_endpoint(one.endpoint),
                header=FAILING,
                endpoint=one.endpoint,
            )


def _wrong_mode(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.health.unusable:
        if one.verdict is Verdict.WRONG_MODE:
            other = next(mode for mode in Mode if mode is not one.mode)
            yield Alarm(
                code="wrong_mode",
                mode=inputs.mode,
                subject=f"{one.mode.value}:{one.endpoint}",
                onset=hour(one.last_hour),
                severity=Severity.URGENT,
                mark="≠",
                name=Said("deliveries without effect at {endpoint}").of(
                    endpoint=safe(one.endpoint, 40)
                ),
                sentence=Said(
                    "wrong mode: {endpoint} receives {mode} events and refused {count} of {other} "
                    "mode within 24 h, which count nowhere."
                ).of(
                    endpoint=safe(one.endpoint, 40),
                    mode=one.mode,
                    count=one.count,
                    other=other,
                ),
                next_step=Said(
                    "To do: {our_step}; what it gave up, kusanya catch-up in {other} mode learns."
                ).of(our_step=REFUSAL_REASONS["wrong_mode"].next_step, other=other),
                rows=AlarmList.DELIVERIES,
                filter=of_endpoint(one.endpoint),
                header="≠ wrong mode",
            )


def _silent(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    found = inputs.silence
    if found is not None:
        at = found.last_arrival_at
        says = _nothing_comes if found.refused_at is None else _all_is_refused
        sentence, next_step = says(found, format_time)
        yield Alarm(
            code="silent",
            mode=inputs.mode,
            onset="never" if at is None else at.isoformat(),
            severity=Severity.WARNING,
            mark="◐",
            name="the silence",
            sentence=sentence,
            next_step=next_step,
            rows=AlarmList.DELIVERIES,
            header="◐ silent",
            causes=frozenset({"missing_events"}),
        )


def _nothing_comes(found: Silence, format_time: FormatTime) -> tuple[str, str]:
    at = found.last_arrival_at
    last = (
        "nothing has ever arrived"
        if at is None
        else Said("last arrival {at}").of(at=format_time(at))
    )
    sentence = Said(
        "silent: is the receiver running? Polling learned {our_states} and no event came; "
        "{our_last}."
    ).of(our_states=_states(found), our_last=last)
    next_step = (
        "If it runs, the endpoint is disabled or unreachable: look in the dashboard, then run "
        "kusanya catch-up."
    )
    return sentence, next_step


def _all_is_refused(found: Silence, format_time: FormatTime) -> tuple[str, str]:
    at, refused_at = found.last_arrival_at, found.refused_at or found.since
    last = (
        "none was ever accepted"
        if at is None
        else Said("last accepted {at}").of(at=format_time(at))
    )
    sentence = Said(
        "silent: polling learned {our_states} and no event was accepted; {our_last}. Deliveries "
        "arrive and are refused, the last at {at}."
    ).of(our_states=_states(found), our_last=last, at=format_time(refused_at))
    next_step = (
        "To do: see in the list of deliveries why they are refused; then run kusanya catch-up."
    )
    return sentence, next_step


def _states(found: Silence) -> str:
    one, many = "1 final state", "{count} final states"
    return plural(found.missed, one, many, shown=found.missed_shown)


def _missing_events(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    if not inputs.missing_events:
        return
    count = inputs.missing_events
    which = plural(count, "1 final state was", "{count} final states were")
    yield Alarm(
        code="missing_events",
        mode=inputs.mode,
        onset=f"{inputs.at:%Y-%m-%d}",
        severity=Severity.WARNING,
        mark="◐",
        name="missing events",
        sentence=Said(
            "missing: {our_which} learned by polling within 24 h, and no event has told of them "
            "for over {hours} h, though others arrive."
        ).of(our_which=which, hours=MISSING_AFTER // timedelta(hours=1)),
        next_step=(
            "To do: look whether the receiver refuses or loses some, or the endpoint does not "
            "subscribe to every kind of event."
        ),
        rows=AlarmList.DELIVERIES,
        filter=Filter(unwell=True),
        header=Said("◐ {count} missing").of(count=count),
    )


def _noise(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.noise:
        if one.count >= NOISE_ENOUGH:
            name = safe(one.endpoint, 40)
            yield Alarm(
                code="noise",
                mode=inputs.mode,
                subject=one.endpoint,
                onset=f"{inputs.at:%Y-%m-%d}",
                severity=Severity.WARNING,
                mark="·",
                name=Said("endpoint {name}").of(name=name),
                sentence=Said(
                    "noise: {name} refused {count} requests within two hours that no secret of "
                    "ours has signed. They touch no payment and no fuse."
                ).of(name=name, count=f"{one.count:,}"),
                next_step=(
                    "To do: nothing for the payments; let the proxy pass the service's addresses "
                    "alone, or a bounded number of requests."
                ),
                rows=AlarmList.DELIVERIES,
                filter=of_endpoint(one.endpoint),
            )


def _unmatched(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.noise:
        if one.like_events:
            name = safe(one.endpoint, 40)
            yield Alarm(
                code="unmatched",
                mode=inputs.mode,
                subject=one.endpoint,
                onset=hour(one.last_at or inputs.at),
                severity=Severity.WARNING,
                mark="!",
                name=Said("endpoint {name}").of(name=name),
                sentence=Said(
                    "unmatched: {name} refused {our_which} written like events, of collections "
                    "that we do not know, signed by another secret."
                ).of(
                    name=name,
                    our_which=plural(one.like_events, "1 request", "{count} requests"),
                ),
                next_step=(
                    "To do: compare the endpoint's signing secret with the service's; kusanya "
                    "doctor does. Where it is right, somebody tries."
                ),
                rows=AlarmList.DELIVERIES,
                filter=of_endpoint(one.endpoint),
            )


RULES: Final = (
    Rule(
        code="unmatched",
        rank=122,
        severity=Severity.WARNING,
        condition="Requests like events came with a signature of a secret that is none of ours.",
        judge=_unmatched,
    ),
    Rule(
        code="noise",
        rank=220,
        severity=Severity.WARNING,
        condition="An endpoint refused 100 requests of strangers within two hours.",
        judge=_noise,
    ),
    Rule(
        code="sender_disabled",
        rank=20,
        severity=Severity.URGENT,
        condition="The sender says that it has disabled one of our endpoints.",
        judge=_sender_disabled,
    ),
    Rule(
        code="sender_failing",
        rank=30,
        severity=Severity.URGENT,
        condition="The sender says that it has had no success at one of our endpoints.",
        judge=_sender_failing,
    ),
    Rule(
        code="failing",
        rank=40,
        severity=Severity.URGENT,
        condition="We did not answer the last arrival at an endpoint with a 2xx in time.",
        judge=_failing,
    ),
    Rule(
        code="unread",
        rank=50,
        severity=Severity.URGENT,
        condition="Genuine deliveries of the last 24 hours could not be read.",
        judge=_unread,
    ),
    Rule(
        code="wrong_mode",
        rank=60,
        severity=Severity.URGENT,
        condition="An endpoint refused events of the other mode within the last 24 hours.",
        judge=_wrong_mode,
    ),
    Rule(
        code="silent",
        rank=120,
        severity=Severity.WARNING,
        condition="Polling learns final states and no event arrives.",
        judge=_silent,
    ),
    Rule(
        code="missing_events",
        rank=160,
        severity=Severity.WARNING,
        condition="Events arrive, but those of some final states have been missing for an hour.",
        judge=_missing_events,
    ),
)
