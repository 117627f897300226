"""The attempts of a delivery in time: solid is past, dashed is planned, waits are written between.

Pure. Numbers are inferred from the times of what arrived, and the screen says so.
"""

from collections.abc import Sequence
from datetime import timedelta

from kusanya.health.delivery_plan import DeliveryPlan, Slot, SlotState
from kusanya.store.records import DeliveryRow
from kusanya.text import safe
from kusanya.webhooks.schedule import ATTEMPTS
from kusanya_console.ui import vocabulary
from kusanya_console.ui.format import (
    Line,
    Look,
    cell,
    columns,
    fit,
    format_duration,
    format_elapsed,
    format_exact_instant,
    format_instant,
    rule,
)
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, MUTED, PLAIN, WARN, Run

_LISTED = 5
_WAITS = ("1 min", "5 min", "30 min", "2 h", "6 h", "12 h")


def timeline(plan: DeliveryPlan | None, look: Look, width: int) -> list[Line]:
    """Return the attempts on one line of time: solid is past, dashed is planned."""
    head = (
        "number inferred from arrival − event created_at; "
        "each wait counts from the failure before it"
    )
    said = fit(translate(head), max(width - 14, 0)).rstrip()
    lines: list[Line] = [((f" {translate('attempts'):<12}", MUTED), (said, MUTED))]
    if plan is None:
        none = "no slot of the retry plan fits these arrivals, so nothing is inferred"
        return [*lines, ((f" {translate(none)}", WARN),)]
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
        times.append((fit("" if slot.at is None else format_instant(slot.at, look), step), PLAIN))
        ends.append((f"{fit(_outcome(slot, plan, look, step - 1), step - 1)} ", MUTED))
    return [*lines, tuple(rail), tuple(numbers), tuple(times), tuple(ends)]


_COLUMNS = (3, 19, -12, 13, 22, -4, -10, -10)
_HEADS = ("#", "arrived", "after", "verdict", "reason", "ans", "checked", "body")


def arrival_heads() -> Line:
    """Return the headings over `arrival_line`."""
    return columns(
        ((translate(head), MUTED), wide) for head, wide in zip(_HEADS, _COLUMNS, strict=True)
    )


def arrival_line(row: DeliveryRow, look: Look) -> Line:
    """Return one arrival of an event as a line of figures."""
    after = (
        "—"
        if row.event_created_at is None
        else format_duration(row.arrived_at - row.event_created_at)
    )
    runs: tuple[Run, ...] = (
        vocabulary.attempt_sign(row),
        (format_exact_instant(row.arrived_at, look), PLAIN),
        (after, MUTED),
        vocabulary.verdict(row),
        cell(row.reason, limit=22),
        (f"{row.answer}", PLAIN),
        (format_elapsed(row.took_us), PLAIN),
        (f"{row.body_bytes:,} B", MUTED),
    )
    return columns(zip(runs, _COLUMNS, strict=True))


def attempt_lines(
    row_id: str,
    rows: Sequence[DeliveryRow],
    plan: DeliveryPlan | None,
    look: Look,
    width: int,
) -> list[Line]:
    """Return the line of time and the latest arrivals under it, the one at the cursor marked."""
    lines = list(timeline(plan, look, width))
    if rows:
        lines += [(), (("   ", PLAIN), *arrival_heads())]
    for one in sorted(rows, key=lambda arrival: arrival.arrived_at)[-_LISTED:]:
        mark = (" > ", ACCENT) if one.id == row_id else ("   ", PLAIN)
        lines.append((mark, *arrival_line(one, look)))
    return lines


def slot_lines(plan: DeliveryPlan | None, look: Look, width: int) -> list[Line]:
    """Return the attempts one under the other, where no timeline has room."""
    if plan is None:
        return []
    shown = [slot for slot in plan.slots if slot.state is not SlotState.SPARED]
    return [
        (),
        rule("attempts, numbers inferred", width),
        *(_slot_line(slot, look) for slot in shown),
    ]


def _glyph(slot: Slot) -> Run:
    if slot.arrival is not None:
        word, role = vocabulary.verdict(slot.arrival)
        return word[0], role
    if slot.state is SlotState.NOT_SEEN:
        return "·", WARN
    if slot.state is SlotState.HELD:
        return "◌", WARN
    return ("◌", MUTED) if slot.state is SlotState.PLANNED else (" ", MUTED)


def _wait(following: Slot, name: str, width: int) -> Run:
    if following.state is SlotState.SPARED:
        return " " * width, PLAIN
    stroke = "╌" if following.state in {SlotState.PLANNED, SlotState.HELD} else "━"
    said = f" {name} "
    left = (width - len(said)) // 2
    return stroke * left + said + stroke * (width - len(said) - left), MUTED


def _outcome(slot: Slot, plan: DeliveryPlan, look: Look, width: int) -> str:
    if slot.arrival is not None:
        return f"{slot.arrival.answer} {safe(slot.arrival.reason or '', 20)}"
    if slot.state is SlotState.PLANNED and slot.at is not None:
        if slot.at == plan.next_at:
            return _due(slot.at - look.now, width)
        return translate("last try" if slot.number == ATTEMPTS else "planned")
    told = {SlotState.NOT_SEEN, SlotState.HELD}
    return translate(slot.state.value) if slot.state in told else ""


def _due(left: timedelta, width: int) -> str:
    if left <= timedelta():
        return translate("due now")
    said = [translate("in {time}", time=format_duration(left, parts=parts)) for parts in (2, 1)]
    return next((one for one in said if len(one) <= width), said[-1])


def _slot_line(slot: Slot, look: Look) -> Line:
    glyph, role = _glyph(slot)
    at = "" if slot.at is None else format_instant(slot.at, look)
    said = translate(slot.state.value)
    if slot.arrival is not None:
        took = translate("checked in {time}", time=format_elapsed(slot.arrival.took_us))
        said = f"{slot.arrival.answer}   {took}"
    return (
        (f" {slot.number}  ", MUTED), (f"{glyph} ", role), (fit(at, 9), PLAIN), ("   ", PLAIN),
        (said, MUTED),
    )  # fmt: skip
