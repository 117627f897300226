"""How what was asked or done last has ended: stands until a person dismisses it."""

from typing import ClassVar

from kusanya.text import safe
from kusanya_console.actions.results import Ended, Revealed
from kusanya_console.ui.format import Line, wrapped
from kusanya_console.ui.vocabulary import ACCENT, MUTED, WARN
from kusanya_console.widgets.sheet import Sheet

_KEY = "   esc dismisses"


class ResultLine(Sheet):
    """Hidden while there is nothing to tell. Its text cannot be selected: it may hold a phone."""

    ALLOW_SELECT: ClassVar[bool] = False

    def tell(self, ended: Ended | None, revealed: Revealed | None) -> None:
        """Show a result, or hide."""
        self.display = ended is not None or revealed is not None
        if revealed is not None:
            self.show(lambda width: _lines(_phone(revealed), WARN, width))
        elif ended is not None:
            role = ACCENT if ended.well else WARN
            self.show(lambda width: _lines(ended.sentence, role, width))


def _phone(revealed: Revealed) -> str:
    phone = safe(revealed.phone, 40)
    return f"phone of {safe(revealed.of, 60)}: {phone}, for 30 s, audited"


def _lines(sentence: str, role: str, width: int) -> list[Line]:
    lines = wrapped(sentence, width - 2, indent=1, role=role)
    if sum(len(piece) for piece, _ in lines[-1]) + len(_KEY) < width:
        lines[-1] = (*lines[-1], (_KEY, MUTED))
    return lines
