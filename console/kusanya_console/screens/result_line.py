"""How what was asked or done last has ended: stands until a person dismisses it."""

from typing import ClassVar

from kusanya.text import safe
from kusanya_console.actions.results import ActionResult, RevealedPhone
from kusanya_console.ui.format import Line, wrapped
from kusanya_console.ui.language import translate, translate_filled
from kusanya_console.ui.vocabulary import ACCENT, MUTED, WARN
from kusanya_console.widgets.sheet import Sheet

_KEY = "esc dismisses"


class ResultLine(Sheet):
    """Hidden while there is nothing to tell. Its text cannot be selected: it may hold a phone."""

    ALLOW_SELECT: ClassVar[bool] = False

    def show_result(self, result: ActionResult | None, revealed: RevealedPhone | None) -> None:
        """Show a result, or hide."""
        self.display = result is not None or revealed is not None
        if revealed is not None:
            self.show(lambda width: _lines(_phone(revealed), WARN, width))
        elif result is not None:
            role = ACCENT if result.is_good else WARN
            self.show(lambda width: _lines(translate_filled(result.sentence), role, width))


def _phone(revealed: RevealedPhone) -> str:
    phone = safe(revealed.phone, 40)
    return translate(
        "phone of {name}: {phone}, for 30 s, audited", name=safe(revealed.name, 60), phone=phone
    )


def _lines(sentence: str, role: str, width: int) -> list[Line]:
    lines = wrapped(sentence, width - 2, indent=1, role=role)
    key = f"   {translate(_KEY)}"
    if sum(len(piece) for piece, _ in lines[-1]) + len(key) < width:
        lines[-1] = (*lines[-1], (key, MUTED))
    return lines
