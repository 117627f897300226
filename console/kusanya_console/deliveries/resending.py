"""Getting events again: from the sender where it can send again, else their facts by asking."""

from collections.abc import Callable, Sequence

import msgspec

from kusanya.say import joined
from kusanya.store.records import MissingEventRow, MissingEventStatus
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.results import ActionOutcome, ActionResult, off
from kusanya_console.deliveries.filtering import DeliveryRecord
from kusanya_console.deliveries.list import arrival_type
from kusanya_console.screens.confirm import ConfirmScreen
from kusanya_console.ui.format import cell, format_text
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import MUTED, PLAIN, STRONG, WARN, Run


class ResendPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Which events of the chosen lines can come again, one line for each event, and how."""

    rows: tuple[DeliveryRecord, ...]
    lines: int
    """Of so many lines; several arrivals of one event are one event."""
    left_out: int
    """Lines that name no event and no payment without one."""
    send: Callable[[DeliveryRecord], ActionResult]
    only_asks: bool
    """True where nothing is sent again and the service is asked for the facts instead."""

    def dialog(self, mode: Mode, *, together: bool) -> ConfirmScreen:
        """Return the dialog that names what would be sent again."""
        if together:
            return self._together(mode)
        row = self.rows[0]
        unknown = (translate("not known here: the sender is asked by the payment"), MUTED)
        facts: tuple[tuple[str, Run], ...] = (
            ("event", unknown if row.event_id is None else cell(row.event_id, limit=130)),
            ("type", (arrival_type(row), PLAIN)),
            ("reference", cell(row.reference, STRONG, limit=60)),
        )
        warning = "The sender delivers this event once more to every endpoint that has it."
        return ConfirmScreen("Resend this event", facts, mode=mode, warning=warning)

    def _together(self, mode: Mode) -> ConfirmScreen:
        count = f"{len(self.rows)}"
        missing = sum(isinstance(row, MissingEventRow) for row in self.rows)
        facts: list[tuple[str, Run]] = [("events", (count, STRONG))]
        if self.lines - self.left_out > len(self.rows):
            said = translate("{count} lines: retries of one event are one", count=f"{self.lines:,}")
            facts.append(("marked", (said, PLAIN)))
        if missing:
            said = translate("{count}: the sender is asked by payment", count=missing)
            facts.append(("never came", (said, PLAIN)))
        if self.left_out:
            said = translate("{count}: which event it was is not known", count=self.left_out)
            facts.append(("left out", (said, WARN)))
        return ConfirmScreen(
            "Resend these events",
            tuple(facts),
            mode=mode,
            warning="The sender delivers each once more to every endpoint that has it.",
            word=count,
            live_word=count,
        )


def resending(rows: Sequence[DeliveryRecord], context: AppContext) -> ResendPlan | str:
    """Return what of `rows` can be had again, or why nothing can.

    Without a dashboard of the sender the service is asked for the payments whose event never came.
    """
    actions, queries = context.actions, context.queries
    if actions is None:
        return context.action_disabled_reason
    if not rows:
        return "the cursor points at no arrival"
    no_resend = actions.resend_disabled_reason()
    ask = None if queries is None or context.query_disabled_reason else queries.ask_collection
    once, left_out = _once(rows, sendable=not no_resend)
    if no_resend and (ask is None or not once):
        return no_resend
    if not once:
        return off("it is not known which event that was, or the event has come meanwhile")

    def send(row: DeliveryRecord) -> ActionResult:
        result = ActionResult("the service has no resend", ActionOutcome.NOTHING_TO_DO)
        if not no_resend:
            result = actions.resend(row)
        is_unknown = result.outcome is ActionOutcome.NOTHING_TO_DO
        if ask is None or not is_unknown or not isinstance(row, MissingEventRow):
            return result
        asked = ask(row.collection_id)
        return ActionResult(joined("; ", (result.sentence, asked.sentence)), asked.outcome)

    return ResendPlan(
        rows=once, lines=len(rows), left_out=left_out, send=send, only_asks=bool(no_resend)
    )


def _once(
    rows: Sequence[DeliveryRecord], *, sendable: bool
) -> tuple[tuple[DeliveryRecord, ...], int]:
    """Return one line for each event or payment without one, and how many name neither."""
    once: dict[str, DeliveryRecord] = {}
    left_out = 0
    for row in rows:
        if isinstance(row, MissingEventRow):
            if row.verdict is not MissingEventStatus.ARRIVED:
                once.setdefault(row.collection_id, row)
        elif row.event_id is None:
            left_out += 1
        elif sendable:
            once.setdefault(row.event_id, row)  # several arrivals of one event are one event
    return tuple(once.values()), left_out


def name_of(row: DeliveryRecord) -> str:
    """Return what a line is called in the account of several."""
    return format_text(row.event_id or row.reference or "", 60)
