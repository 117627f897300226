"""The language of the interface: English as it is written, or Swahili by the catalogue of `say`.

Only texts of ours are translated, each where it is put on the screen: never what came from outside.
LIVE MODE and TEST MODE stay as they are in every language: nobody may take one for the other.
"""

from typing import Final

from kusanya.say import Language, Said, in_language

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
    return in_language(Said(text).of(**values) if values else text, _chosen)
