"""The language of the interface: English as it is written, or Swahili by its catalogue.

Only texts of ours are translated, each where it is put on the screen: never what came from outside.
A sentence that the library has filled in already is told by its form: the English entry with its
placeholders is matched against it, and what stood in them is put into the Swahili one. What stands
in a placeholder called {our_…} is a text of ours again, and what stands in {at}, {since} or {until}
is a time, whose day and month have Swahili names; {our_list} is several texts of ours, a comma
between, {our_series} the same with semicolons. {status} is a status: one that the specification
does not name stays as it came.
LIVE MODE and TEST MODE stay as they are in every language: nobody may take one for the other.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from kusanya.domain.status import Status
from kusanya.wording import Language

if TYPE_CHECKING:
    from polib import POEntry

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


def translate_filled(text: str) -> str:
    """Return a text of ours whose placeholders are filled, in the chosen language.

    Several sentences one behind the other are translated each. What the catalogue does not have
    stays English.
    """
    return text if _chosen is Language.ENGLISH else _filled(text)


def translate_time(text: str) -> str:
    """Return a written time with its day and its month named in the chosen language."""
    if _chosen is Language.ENGLISH:
        return text
    return _DAY_OR_MONTH.sub(lambda found: swahili().get(found[0], found[0]), text)


@lru_cache(maxsize=2_000)
def _filled(text: str) -> str:
    found = _all_of(text)
    if found is not None:
        return found
    mark = _MARK.match(text)
    if mark is not None:
        return f"{mark[0]}{_filled(text[mark.end() :])}"
    for end in _ends(text):
        found = _by_form(text[: end - 1])
        if found is not None:
            return f"{found} {_filled(text[end:])}"
    off = _by_form(f"{_OFF}{text}")
    return text if off is None else off.removeprefix(swahili()[_OFF])


def _all_of(text: str) -> str | None:
    """Return a text that is one of ours as a whole, or several one behind the other."""
    known = swahili().get(text)
    if known is not None:
        return known
    mark = _MARK.match(text)
    if mark is not None:
        rest = _all_of(text[mark.end() :])
        return None if rest is None else f"{mark[0]}{rest}"
    # Several first: one with a placeholder at its end would take what stands behind it for that.
    for end in _ends(text):
        found = _by_form(text[: end - 1])
        rest = None if found is None else _all_of(text[end:])
        if rest is not None:
            return f"{found} {rest}"
    return _by_form(text)


def _ends(text: str) -> Iterator[int]:
    """Yield where sentences end, the blank behind them included."""
    return (one.end() for one in islice(_SENTENCE_END.finditer(text), _SENTENCES))


def _by_form(text: str) -> str | None:
    known = swahili().get(text)
    if known is not None:
        return known
    for form in _forms():
        found = form.pattern.fullmatch(text)
        if found is not None:
            said = {name: _value(name, value) for name, value in found.groupdict().items()}
            return form.swahili.format(**said)
    return None


def _value(name: str, value: str) -> str:
    between = _SERIES.get(name)
    if between is not None:
        return between.join(map(_filled, value.split(between)))
    if name == _STATUS:
        return swahili()[value] if value in _STATUSES else value
    if name.startswith(_OURS):
        return _filled(value)
    return translate_time(value) if name in _TIMES else value


class _SentenceForm(msgspec.Struct, frozen=True):
    """An entry with placeholders: what its English sentences look like, and the Swahili one."""

    pattern: re.Pattern[str]
    swahili: str


@cache
def _forms() -> tuple[_SentenceForm, ...]:
    entries = [
        (one.msgid, one.msgstr)
        for one in _entries()
        if _FIELD.search(one.msgid) and FILLED_HERE not in one.flags
    ]
    # What says most by itself first: a form of few letters fits too much.
    entries.sort(key=lambda entry: len(_FIELD.sub("", entry[0])), reverse=True)
    return tuple(_SentenceForm(_pattern(english), said) for english, said in entries)


def _pattern(english: str) -> re.Pattern[str]:
    pieces = _FIELD.split(english)
    seen: set[str] = set()
    for place in range(1, len(pieces), 2):
        name = pieces[place]
        # A name at the beginning is that of one sentence, not of those before it.
        filled = r"(?:(?![.?!:;] ).)*?" if not pieces[0] and place == 1 else ".*?"
        filled = ".*?" if name.startswith(_OURS) else filled
        filled = r"[0-9][0-9,]*\+?" if name in _NUMBERS else filled
        pieces[place] = f"(?P={name})" if name in seen else f"(?P<{name}>{filled})"
        seen.add(name)
    fixed = [re.escape(one) if n % 2 == 0 else one for n, one in enumerate(pieces)]
    return re.compile("".join(fixed), re.DOTALL)


_FIELD: Final = re.compile(r"\{([a-z_]+)\}")
_OURS: Final = "our_"
_SERIES: Final = {"our_list": ", ", "our_series": "; "}
_STATUS: Final = "status"
_STATUSES: Final = frozenset(Status)
_TIMES: Final = frozenset({"at", "said_at", "since", "until"})
"""Placeholders of a time."""
_NUMBERS: Final = frozenset({"all", "count", "total"})
"""Placeholders of a number: nothing else is taken for one."""
_OFF: Final = "off: "
"""Stands before the reason of a key that does nothing; some sentences give the reason alone."""
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip
_DAY_OR_MONTH: Final = re.compile(rf"\b(?:{'|'.join((*_DAYS, *_MONTHS))})\b")
_MARK: Final = re.compile(r"[^\w\s'\"(] ")
_SENTENCES: Final = 8
"""No text of ours has more."""
_SENTENCE_END: Final = re.compile(r"(?<=[.?!]) ")


FILLED_HERE: Final = "filled-here"
"""Flag of an entry that the console fills in itself: no finished sentence is compared with it."""


@cache
def swahili() -> dict[str, str]:
    """Return the catalogue: each English text with its Swahili one."""
    return {entry.msgid: entry.msgstr for entry in _entries()}


@cache
def _entries() -> "tuple[POEntry, ...]":
    import polib  # late: who reads English needs none of it

    text = (files("kusanya_console") / "locale" / CATALOGUE).read_text(encoding="utf-8")
    return tuple(entry for entry in polib.pofile(text) if entry.msgstr)
