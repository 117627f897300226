"""The language of the interface: English as it is written, or Swahili by its catalogue.

Only texts of ours are translated, each where it is put on the screen: never what came from outside.
LIVE MODE and TEST MODE stay as they are in every language: nobody may take one for the other.
"""

from functools import cache
from importlib.resources import files
from typing import Final

from kusanya.wording import Language

CATALOGUE: Final = "sw.po"
NAMES: Final = {Language.ENGLISH: "English", Language.SWAHILI: "Kiswahili"}

_chosen = Language.ENGLISH


def use(language: Language) -> None:
    """Speak a language from now on, in the whole process."""
    global _chosen  # noqa: PLW0603 - one person, one screen, one language
    _chosen = language


def chosen() -> Language:
    """Return the language that is spoken now."""
    return _chosen


def translate(text: str, **values: object) -> str:
    """Return one of our texts in the chosen language, its placeholders filled.

    What the catalogue does not have stays English.
    """
    found = text if _chosen is Language.ENGLISH else swahili().get(text, text)
    return found.format(**values) if values else found


@cache
def swahili() -> dict[str, str]:
    """Return the catalogue: each English text with its Swahili one."""
    import polib  # late: who reads English needs none of it

    text = (files("kusanya_console") / "locale" / CATALOGUE).read_text(encoding="utf-8")
    return {entry.msgid: entry.msgstr for entry in polib.pofile(text) if entry.msgstr}
