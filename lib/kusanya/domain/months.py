"""The names of the months, as people and programs write them in English and in Swahili."""

from typing import Final

ENGLISH: Final = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
_SWAHILI: Final = (
    *("januari", "februari", "machi", "aprili", "mei", "juni", "julai", "agosti"),
    *("septemba", "oktoba", "novemba", "desemba"),
)
_MORE: Final = {"sept": 9, "ags": 8, "jan": 1, "dis": 12, "disemba": 12, "okt": 10}
MONTHS: Final = {
    **{name[:3]: number for number, name in enumerate(ENGLISH, start=1)},
    **{name[:3]: number for number, name in enumerate(_SWAHILI, start=1)},
    **{name: number for number, name in enumerate(ENGLISH, start=1)},
    **{name: number for number, name in enumerate(_SWAHILI, start=1)},
    **_MORE,
}
"""The number of a month by its name or its first letters, in small letters."""
