"""What Lookup shows of a pasted confirmation: what it says, and what it can be. Pure."""

from collections.abc import Sequence

from kusanya.lookup import LookupResult, MessageMatch
from kusanya.text import safe
from kusanya_console.ui.format import Line, wrapped
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, MUTED, PLAIN, WARN

_LONGEST = 400


def lines_above(found: LookupResult, width: int) -> list[Line]:
    """Return what stands above the story of a payment that a message led to."""
    if found.is_message and found.trouble:
        return [*no_payment_lines(found, width), (("", PLAIN),)]
    return message_lines(found.messages, width)


def message_lines(messages: Sequence[MessageMatch], width: int) -> list[Line]:
    """Return what messages say, and which payments they can be of."""
    lines: list[Line] = []
    for message in messages:
        lines += wrapped(summary(message), width, role=MUTED)
        role = WARN if message.is_doubtful or message.row is None else ACCENT
        lines += wrapped(safe(translate(message.sentence), _LONGEST), width, role=role)
        if message.keeps_receipt:
            lines.append(((translate("K keeps its receipt with this payment"), PLAIN),))
        lines.append((("", PLAIN),))
    return lines


def summary(message: MessageMatch) -> str:
    """Return what a message says, in one line that is safe to show."""
    return safe(translate(message.summary), 300)


def no_payment_lines(found: LookupResult, width: int) -> list[Line]:
    """Return what stands in the story's place when a message leads to no payment."""
    if found.messages:
        return message_lines(found.messages, width)
    return wrapped(safe(translate(found.trouble or ""), _LONGEST), width, role=WARN)
