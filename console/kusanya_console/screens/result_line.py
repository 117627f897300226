"""How what was asked or done last has ended: stands until a person dismisses it."""

from typing import ClassVar

from kusanya.text import safe
from kusanya_console.actions.results import ActionResult, RevealedPhone
from kusanya_console.ui.format import Line, wrapped
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, MUTED, WARN
from kusanya_console.widgets.sheet import Sheet

_KEY = "esc dismisses"
_STOP_KEY = "esc stops it"


class ResultLine(Sheet):
    """Hidden while there is nothing to tell. Its text cannot be selected: it may hold a phone."""

    ALLOW_SELECT: ClassVar[bool] = False

    def show_result(
        self, result: ActionResult | None, revealed: RevealedPhone | None, *, can_be_stopped: bool
    ) -> None:
        """Show a result with what the key does to it, or hide."""
        self.display = result is not None or revealed is not None
        if revealed is not None:
            self.show(lambda width: _lines(_phone(revealed), WARN, width, _KEY))
        elif result is not None:
            role = ACCENT if result.is_good else WARN
            key = _STOP_KEY if can_be_stopped else _KEY
            self.show(lambda width: _lines(translate(result.sentence), role, width, key))


def _phone(revealed: RevealedPhone) -> str:
    phone = safe(revealed.phone, 40)
    return translate(
        "phone of {name}: {phone}, for 30 s, audited", name=safe(revealed.name, 60), phone=phone
    )


def _lines(sentence: str, role: str, width: int, key: str) -> list[Line]:
    lines = wrapped(sentence, width - 2, indent=1, role=role)
    said = f"   {translate(key)}"
    if sum(len(piece) for piece, _ in lines[-1]) + len(said) < width:
        lines[-1] = (*lines[-1], (said, MUTED))
    return lines
