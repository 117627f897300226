"""What Lookup shows of a pasted confirmation: what it says, and what it can be. Pure."""

from collections.abc import Sequence

from kusanya.confirmations import Direction
from kusanya.domain.business_day import EAT
from kusanya.lookup import LookupResult, MessageMatch
from kusanya.text import safe
from kusanya_console.ui.format import Line, wrapped
from kusanya_console.ui.language import translate, translate_filled, translate_time
from kusanya_console.ui.vocabulary import ACCENT, MUTED, PLAIN, WARN

_LONGEST = 400


def message_lines(messages: Sequence[MessageMatch], width: int) -> list[Line]:
    """Return what stands above the story of a payment that a message led to."""
    lines: list[Line] = []
    for message in messages:
        lines += wrapped(summary(message), width, role=MUTED)
        role = WARN if message.is_doubtful or message.row is None else ACCENT
        lines += wrapped(safe(translate_filled(message.sentence), _LONGEST), width, role=role)
        if message.keeps_receipt:
            lines.append(((translate("K keeps its receipt with this payment"), PLAIN),))
        lines.append((("", PLAIN),))
    return lines


def summary(message: MessageMatch) -> str:
    """Return what a message says, in one line that is safe to show."""
    said = message.confirmation
    amount = translate("an amount with cents")
    if said.amount is not None:
        amount = f"TZS {said.amount:,}"
    words, way = "{issuer} message: {direction} {amount}", translate(said.direction.value)
    parts = [translate(words, issuer=said.issuer, direction=way, amount=amount)]
    if said.payee:
        is_received = said.direction is Direction.RECEIVED
        parts.append(translate("from {name}" if is_received else "to {name}", name=said.payee))
    if said.receipt:
        parts.append(translate("receipt {receipt}", receipt=said.receipt))
    if said.at is not None:
        parts.append(translate_time(f"{said.at.astimezone(EAT):%d %b %Y %H:%M} EAT"))
    return safe(", ".join(parts), 300)


def no_payment_lines(found: LookupResult, width: int) -> list[Line]:
    """Return what stands in the story's place when a message leads to no payment."""
    if found.messages:
        return message_lines(found.messages, width)
    return wrapped(safe(translate_filled(found.trouble or ""), _LONGEST), width, role=WARN)
