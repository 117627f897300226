"""Which lines each part of a delivery's detail has. Pure."""

from kusanya.health.endpoints import EndpointHealth
from kusanya.store.records import DeliveryRow, MissingEventRow
from kusanya_console.deliveries.cards import attempts_part, missing_part
from kusanya_console.deliveries.filtering import DeliveryRecord
from kusanya_console.deliveries.reader import DeliveryDetails, SenderLog
from kusanya_console.deliveries.sender import sender_lines
from kusanya_console.deliveries.tabs import DeliveryTab, body_lines, header_lines, signature_lines
from kusanya_console.deliveries.timeline import slot_lines
from kusanya_console.ui.format import Line, Look, wrapped
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import MUTED, WARN


def part_lines(
    tab: DeliveryTab,
    row: DeliveryRecord,
    look: Look,
    width: int,
    *,
    mine: DeliveryDetails,
    sender: SenderLog | None,
    endpoint: EndpointHealth | None,
    listed: bool,
) -> list[Line]:
    """Return one part; `listed` adds the attempts to the first where no timeline has room."""
    if tab is DeliveryTab.SENDER:
        return _sender(row, sender, mine, look, width)
    if tab is not DeliveryTab.ATTEMPTS:
        if isinstance(row, MissingEventRow):
            said = "Nothing of it has arrived, so there is nothing to show."
            if mine.rows:
                said = "Nothing of it was accepted; what was refused has a line of its own."
            return wrapped(translate(said), width, role=MUTED)
        return _brought(tab, row, mine, look, width)
    slots = slot_lines(mine.plan if listed else None, look, width)
    if isinstance(row, MissingEventRow):
        return [*missing_part(row, mine.rows, mine.plan, look, width), *slots]
    said_of = attempts_part(
        row, look, width, rows=mine.rows, plan=mine.plan, held=mine.body, endpoint=endpoint
    )
    return [*said_of, *slots]


def _brought(
    tab: DeliveryTab, row: DeliveryRow, mine: DeliveryDetails, look: Look, width: int
) -> list[Line]:
    if tab is DeliveryTab.BODY:
        return body_lines(row, mine.body, mine.shown, width)
    if tab is DeliveryTab.HEADERS:
        return header_lines(mine.body, width)
    return signature_lines(row, mine.body, mine.finding, look, width)


def _sender(
    row: DeliveryRecord, sender: SenderLog | None, mine: DeliveryDetails, look: Look, width: int
) -> list[Line]:
    if sender is None or sender.row_id != row.id:
        return [((translate("asking the sender"), MUTED),)]
    if sender.found is None:
        return wrapped(translate(sender.why), width, role=WARN)
    return sender_lines(sender.found, mine.plan, look, width)
