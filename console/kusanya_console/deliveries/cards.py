"""A delivery in words: what came, what we answered, what the sender will do next.

Pure: lines from frozen values. What a rejected delivery says is only claimed, and is called so.
"""

from collections.abc import Sequence

from kusanya.health.delivery_plan import (
    DeliveryPlan,
    attempt_of,
    is_extra_attempt,
)
from kusanya.health.endpoints import EndpointHealth, succeeded
from kusanya.say import Said
from kusanya.store.records import (
    DeliveryBody,
    DeliveryRow,
    MissingEventRow,
    MissingEventStatus,
    Verdict,
)
from kusanya.webhooks.schedule import ATTEMPTS
from kusanya_console.deliveries.filtering import DeliveryRecord
from kusanya_console.deliveries.signed import signed_runs
from kusanya_console.ui import vocabulary
from kusanya_console.ui.format import (
    Line,
    Look,
    cell,
    format_due,
    format_elapsed,
    format_exact_instant,
    format_fuse,
    format_instant,
    format_money,
    labelled,
    spread,
    wrapped,
)
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import FAILED, MUTED, PLAIN, STRONG, WARN, Run

_BLANK: Line = ()
_LATE = "The answer came after the sender's 10 s: a failure to it, so a repeat follows."
_BY_HAND = "by hand, or very late"
_DONE = "Delivered: the sender has its 2xx, no retry is due."
_MEANS = {
    Verdict.UNPARSEABLE: "Good signature, but its body is no event we can read: kept, no effect.",
    Verdict.WRONG_MODE: "Good signature, but an event of the other mode: refused, no effect.",
    Verdict.CONFLICT: "Good signature, but this event is known with other contents: kept.",
}


def verdict(row: DeliveryRecord) -> Run:
    """Return what became of an arrival, or that there was none."""
    if isinstance(row, MissingEventRow):
        came = row.verdict is MissingEventStatus.ARRIVED
        return (
            (f"● {translate('came since')}", MUTED) if came else (f"∅ {translate('missing')}", WARN)
        )
    return vocabulary.verdict(row)


def card_head(row: DeliveryRecord, look: Look, width: int) -> list[Line]:
    """Return what every part of the detail begins with: which event, its verdict, about what."""
    if isinstance(row, MissingEventRow):
        kind, at = vocabulary.event_type(row.event_type), format_instant(row.arrived_at, look)
        return [
            spread([cell(row.reference, STRONG, limit=60)], [verdict(row)], width),
            ((f"{kind}, {translate('learned by poll {at}', at=at)}", PLAIN),),
            ((format_money(row.amount, row.currency), PLAIN),),
        ]
    return [
        spread([cell(row.event_id, STRONG, limit=130)], [verdict(row)], width),
        *_what(row, width),
    ]


def attempts_part(
    row: DeliveryRow,
    look: Look,
    width: int,
    *,
    rows: Sequence[DeliveryRow],
    plan: DeliveryPlan | None,
    held: DeliveryBody | None,
    endpoint: EndpointHealth | None,
) -> list[Line]:
    """Return one arrival: what comes next, what it was, and why it came again or was refused."""
    # A 2xx within its time ends a delivery, also one whose number no slot of the plan tells.
    done = plan is None and any(succeeded(one) for one in rows)
    lines: list[Line] = [
        *(wrapped(translate(_DONE), width) if done else ahead(plan, look, width)),
        *_fuse(endpoint, look),
        _BLANK,
        labelled("endpoint", cell(row.endpoint, limit=40)),
        labelled("arrived", (format_exact_instant(row.arrived_at, look), PLAIN)),
        labelled("attempt", _attempt(row)),
        # Up to its verdict: an arrival cannot hold how long its own commit took.
        labelled(
            "answered",
            (f"{row.answer}", PLAIN),
            (f"   {translate('checked in {time}', time=format_elapsed(row.took_us))}", MUTED),
        ),
        labelled("signed", *signed_runs(row, held, look)),
        labelled("body", (_size(row), PLAIN), (f"   {_tried(row)}", MUTED)),
    ]
    if row.reason is not None:
        lines += [_BLANK, labelled("reason", cell(row.reason, FAILED, limit=60))]
        lines += wrapped(translate(vocabulary.reason(row.reason)), width, indent=12)
        if vocabulary.to_do(row.reason):
            lines += wrapped(translate(vocabulary.to_do(row.reason)), width, label="to do")
    elif row.verdict in _MEANS:
        lines += [_BLANK, *wrapped(translate(_MEANS[row.verdict]), width)]
    if row.verdict is Verdict.REPEAT:
        lines += [_BLANK, *wrapped(translate(why_again(row, rows, look)), width)]
    if vocabulary.is_late(row):
        lines += [_BLANK, *wrapped(translate(_LATE), width, role=WARN)]
    return lines


def missing_part(
    row: MissingEventRow,
    claims: Sequence[DeliveryRow],
    plan: DeliveryPlan | None,
    look: Look,
    width: int,
) -> list[Line]:
    """Return what is known about an event that never arrived, and what to do about it."""
    if row.verdict is MissingEventStatus.ARRIVED:
        said = translate("Its event has arrived meanwhile; this line goes with the next look.")
        return wrapped(said, width)
    lines: list[Line] = [
        *ahead(plan, look, width),
        _BLANK,
        labelled("final since", (format_instant(row.event_created_at, look), PLAIN)),
        labelled("collection", cell(row.collection_id, limit=60)),
        _BLANK,
    ]
    if claims:
        many = "{count} rejected arrivals claim this collection: look there first."
        one = "A rejected one claims this collection: look there first."
        said = translate(one if len(claims) == 1 else many, count=len(claims))
        lines += wrapped(said, width, role=WARN)
    else:
        said = (
            "Nothing about it has reached this receiver: it was down, the endpoint is disabled, "
            "or the address is another one."
        )
        lines += wrapped(translate(said), width)
    known = translate("nothing is lost: polling knows the state")
    then = translate("look at Health (4); several at once are an alarm")
    return [*lines, *wrapped(known, width, label="so far"), *wrapped(then, width, label="to do")]


def why_again(row: DeliveryRow, rows: Sequence[DeliveryRow], look: Look) -> str:
    """Return in words why an event came a second time."""
    before = [one for one in rows if one.arrived_at < row.arrived_at]
    good = next((one for one in before if succeeded(one)), None)
    if good is not None:
        return Said(
            "Answered {answer} at {at} already. Delivery is at least once: known, answered again, "
            "no further effect."
        ).of(answer=good.answer, at=format_instant(good.arrived_at, look))
    if not before:
        return "The event is known from another endpoint: answered, no further effect."
    last = max(before, key=lambda one: one.arrived_at)
    why = (
        Said("took {seconds} s, over its 10 s").of(seconds=f"{last.took_us / 1000000:,.1f}")
        if vocabulary.is_late(last)
        else Said("was {code}").of(code=last.answer)
    )
    return Said(
        "Sent again because our answer at {at} {our_why}. The event is known: no further effect."
    ).of(at=format_instant(last.arrived_at, look), our_why=why)


def _what(row: DeliveryRow, width: int) -> list[Line]:
    kind = vocabulary.event_type(row.event_type)
    about: list[Run] = [cell(row.reference, limit=60)]
    said = kind
    if row.verdict is Verdict.REJECTED:
        said = translate("claims {state}: not believed", state=kind)
        about = [(f"{translate('claims')} ", PLAIN), *about]
    if row.amount is not None:
        about.append((f"   {format_money(row.amount, row.currency or '')}", PLAIN))
    return [*wrapped(said, width), tuple(about)]


def _tried(row: DeliveryRow) -> str:
    said = "{count} secret tried" if row.secrets_tried == 1 else "{count} secrets tried"
    return translate(said, count=row.secrets_tried)


def _size(row: DeliveryRow) -> str:
    return translate("{count} bytes", count=f"{row.body_bytes:,}")


def _attempt(row: DeliveryRow) -> Run:
    number = attempt_of(row)
    if number is None:
        sign, role = vocabulary.attempt_sign(row)
        why = _BY_HAND if is_extra_attempt(row) else "fits no slot of the plan"
        return f"{sign} {translate(why)}", role
    return translate("{number} of {many}, inferred", number=number, many=ATTEMPTS), PLAIN


_HELD = (
    "held: the endpoint is disabled, so nothing is sent to it. Enable it, and the service sends "
    "what it holds."
)


def ahead(plan: DeliveryPlan | None, look: Look, width: int) -> list[Line]:
    """Return what the sender does next, as its retry plan says."""
    if plan is None:
        return wrapped(
            translate("What the sender does next cannot be inferred."), width, role=MUTED
        )
    if plan.delivered:
        return wrapped(translate(_DONE), width)
    if plan.is_held:
        return wrapped(f"◌ {translate(_HELD)}", width, role=WARN)
    if plan.is_given_up or plan.next_at is None or plan.gives_up_at is None:
        said = translate("given up: all seven attempts are past without a 2xx.")
        return wrapped(f"✕ {said}", width, role=FAILED)
    return [
        labelled("next", (format_due(plan.next_at, look), PLAIN)),
        labelled(
            "gives up",
            (format_instant(plan.gives_up_at, look), PLAIN),
            (f"   {translate('after try 7')}", MUTED),
        ),
    ]


def _fuse(endpoint: EndpointHealth | None, look: Look) -> list[Line]:
    if endpoint is None:
        return []
    found = endpoint.fuse
    role = FAILED if found.blown_at is not None else WARN if found.lit_at is not None else MUTED
    return [labelled("disable fuse", (format_fuse(found, look), role))]
