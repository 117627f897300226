"""A delivery in words: what came, what we answered, what the sender will do next.

Pure: lines from frozen values. What a rejected delivery says is only claimed, and is called so.
"""

from kusanya.health import DeliveryPlan, Slot, SlotState, attempt_of
from kusanya.store.records import DeliveryRow, Verdict
from kusanya.text import safe
from kusanya.webhooks.schedule import ATTEMPTS
from kusanya_console import words
from kusanya_console.present import (
    Line,
    Look,
    cell,
    columns,
    due,
    fit,
    labelled,
    moment,
    money,
    precise,
    rule,
    span,
    spread,
    took,
    wrapped,
)
from kusanya_console.words import FAILED, MUTED, PLAIN, STRONG, WARN, Run

_BLANK: Line = ()
_WAITS = ("1 min", "5 min", "30 min", "2 h", "6 h", "12 h")
_LATE = "The answer came after the sender's 10 s: a failure to it, so a repeat follows."
_MEANS = {
    Verdict.REPEAT: "The event was known already: answered, without further effect.",
    Verdict.UNPARSEABLE: "Good signature, but its body is no event we can read: kept, no effect.",
    Verdict.WRONG_MODE: "Good signature, but an event of the other mode: kept, no effect.",
    Verdict.CONFLICT: "Good signature, but this event is known with other contents: kept.",
}


def delivery_card(
    row: DeliveryRow, plan: DeliveryPlan | None, look: Look, width: int, *, listed: bool
) -> list[Line]:
    """Return the card of one arrival; `listed` adds its attempts where no timeline has room."""
    lines: list[Line] = [
        spread([cell(row.event_id, STRONG, limit=130)], [words.verdict(row)], width),
        *_what(row, width),
        _BLANK,
        *_ahead(plan, look, width),
        _BLANK,
        labelled("endpoint", cell(row.endpoint, limit=40)),
        labelled("arrived", (precise(row.arrived_at, look), PLAIN)),
        labelled("attempt", _attempt(row)),
        labelled("answered", (f"{row.answer}", PLAIN), (f"   in {took(row.took_us)}", MUTED)),
        labelled("signed", *_signed(row, look)),
        labelled("body", (f"{row.body_bytes:,} bytes", PLAIN), (f"   {_tried(row)}", MUTED)),
    ]  # fmt: skip
    if row.reason is not None:
        lines += [_BLANK, labelled("reason", cell(row.reason, FAILED, limit=60))]
        lines += wrapped(words.reason(row.reason), width, indent=12)
        if words.to_do(row.reason):
            lines += wrapped(words.to_do(row.reason), width, label="to do")
    elif row.verdict in _MEANS:
        lines += [_BLANK, *wrapped(_MEANS[row.verdict], width)]
    if words.is_late(row):
        lines += [_BLANK, *wrapped(_LATE, width, role=WARN)]
    if listed and plan is not None:
        lines += [_BLANK, rule("attempts, numbers inferred", width)]
        lines += [
            _slot_line(slot, look) for slot in plan.slots if slot.state is not SlotState.SPARED
        ]
    return lines


def timeline(plan: DeliveryPlan | None, look: Look, width: int) -> list[Line]:
    """Return the attempts on one line of time: solid is past, dashed is planned."""
    head = (
        "number inferred from arrival − event created_at; "
        "each wait counts from the failure before it"
    )
    lines: list[Line] = [
        ((" attempts    ", MUTED), (fit(head, max(width - 14, 0)).rstrip(), MUTED))
    ]
    if plan is None:
        return [
            *lines,
            ((" no slot of the retry plan fits these arrivals, so nothing is inferred", WARN),),
        ]
    step = max((width - 4) // ATTEMPTS, 12)
    rail: list[Run] = [("   ", PLAIN)]
    numbers: list[Run] = [("   ", PLAIN)]
    times: list[Run] = [("   ", PLAIN)]
    ends: list[Run] = [("   ", PLAIN)]
    for place, slot in enumerate(plan.slots):
        glyph, role = _glyph(slot)
        rail.append((glyph, role))
        if place + 1 < len(plan.slots):
            rail.append(_wait(plan.slots[place + 1], _WAITS[place], step - 1))
        spared = slot.state is SlotState.SPARED
        numbers.append((fit("" if spared else f"{slot.number}", step), MUTED))
        times.append((fit("" if slot.at is None else moment(slot.at, look), step), PLAIN))
        ends.append((fit(_outcome(slot, plan, look), step), MUTED))
    return [*lines, tuple(rail), tuple(numbers), tuple(times), tuple(ends)]


_COLUMNS = (3, 19, -12, 13, 22, -4, -10, -10)
_HEADS = ("#", "arrived", "after", "verdict", "reason", "ans", "took", "body")


def arrival_heads() -> Line:
    """Return the headings over `arrival_line`."""
    return columns(((head, MUTED), wide) for head, wide in zip(_HEADS, _COLUMNS, strict=True))


def arrival_line(row: DeliveryRow, look: Look) -> Line:
    """Return one arrival of an event as a line of figures."""
    after = "—" if row.event_created_at is None else span(row.arrived_at - row.event_created_at)
    runs: tuple[Run, ...] = (
        (f"{attempt_of(row) or '?'}", MUTED),
        (precise(row.arrived_at, look), PLAIN),
        (after, MUTED),
        words.verdict(row),
        cell(row.reason, limit=22),
        (f"{row.answer}", PLAIN),
        (took(row.took_us), PLAIN),
        (f"{row.body_bytes:,} B", MUTED),
    )
    return columns(zip(runs, _COLUMNS, strict=True))


def _what(row: DeliveryRow, width: int) -> list[Line]:
    kind = words.event_type(row.event_type)
    claimed = "claims " if row.verdict is Verdict.REJECTED else ""
    said = f"{claimed}{kind}: not believed" if claimed else kind
    about: list[Run] = [(claimed, PLAIN), cell(row.reference, limit=60)]
    if row.amount is not None:
        about.append((f"   {money(row.amount, row.currency or '')}", PLAIN))
    return [*wrapped(said, width), tuple(about)]


def _tried(row: DeliveryRow) -> str:
    return f"{row.secrets_tried} secret{'s' if row.secrets_tried != 1 else ''} tried"


def _attempt(row: DeliveryRow) -> Run:
    number = attempt_of(row)
    if number is None:
        return "? fits no slot of the plan", WARN
    return f"{number} of {ATTEMPTS}, inferred", PLAIN


def _signed(row: DeliveryRow, look: Look) -> tuple[Run, ...]:
    if row.signed_at is None:
        return (("no readable t", WARN),)
    skew = round((row.arrived_at - row.signed_at).total_seconds())
    return ((moment(row.signed_at, look), PLAIN), (f"   skew {skew:,} s", MUTED))


def _ahead(plan: DeliveryPlan | None, look: Look, width: int) -> list[Line]:
    if plan is None:
        return wrapped("What the sender does next cannot be inferred.", width, role=MUTED)
    if plan.delivered:
        return wrapped("Delivered: the sender has its 2xx, no retry is due.", width)
    if plan.given_up or plan.next_at is None or plan.gives_up_at is None:
        return wrapped("✕ given up: all seven attempts are past without a 2xx.", width, role=FAILED)
    return [
        labelled("next", (due(plan.next_at, look), PLAIN)),
        labelled("gives up", (moment(plan.gives_up_at, look), PLAIN), ("   after try 7", MUTED)),
    ]


def _glyph(slot: Slot) -> Run:
    if slot.arrival is not None:
        word, role = words.verdict(slot.arrival)
        return word[0], role
    if slot.state is SlotState.NOT_SEEN:
        return "·", WARN
    return ("◌", MUTED) if slot.state is SlotState.PLANNED else (" ", MUTED)


def _wait(following: Slot, name: str, width: int) -> Run:
    if following.state is SlotState.SPARED:
        return " " * width, PLAIN
    stroke = "╌" if following.state is SlotState.PLANNED else "━"
    said = f" {name} "
    left = (width - len(said)) // 2
    return stroke * left + said + stroke * (width - len(said) - left), MUTED


def _outcome(slot: Slot, plan: DeliveryPlan, look: Look) -> str:
    if slot.arrival is not None:
        return f"{slot.arrival.answer} {safe(slot.arrival.reason or '', 20)}"
    if slot.state is SlotState.PLANNED and slot.at is not None:
        if slot.at == plan.next_at:
            return f"in {span(slot.at - look.now)}"
        return "last try" if slot.number == ATTEMPTS else "planned"
    return slot.state.value if slot.state is SlotState.NOT_SEEN else ""


def _slot_line(slot: Slot, look: Look) -> Line:
    glyph, role = _glyph(slot)
    at = "" if slot.at is None else moment(slot.at, look)
    said = slot.state.value
    if slot.arrival is not None:
        said = f"{slot.arrival.answer}   {took(slot.arrival.took_us)}"
    return (
        (f" {slot.number}  ", MUTED), (f"{glyph} ", role), (fit(at, 9), PLAIN), ("   ", PLAIN),
        (said, MUTED),
    )  # fmt: skip
