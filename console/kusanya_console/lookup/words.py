"""What Lookup says around a story: how many matches there are, and what to try when there is none.

Pure. What was typed is echoed outside its box only without phone numbers: a box can be cleared, a
screenshot cannot.
"""

import re
from typing import Final

from kusanya.lookup import LookupResult
from kusanya.privacy import is_phone_like, redact
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_console.ui.format import Line
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import MUTED, PLAIN, WARN, mode_words

HINT: Final = "reference · id · phone · whole message · amount and time: 85000 15:20"
_SEPARATORS: Final = re.compile(r"[\s().\-\u00a0\u2010-\u2015]")
_FEWEST: Final = 4
"""A search among references needs so many characters."""
_SHORTER: Final = "A shorter beginning of the reference finds more."
_NUMBER: Final = re.compile(r"\+?[0-9]{8,}")


def is_number(text: str) -> bool:
    """Tell whether a text reads as a phone number, a wrong one too."""
    return _NUMBER.fullmatch(_SEPARATORS.sub("", text)) is not None


def echoed(text: str, limit: int = 60) -> str:
    """Return what a person typed as it may stand outside the box: no phone number in it."""
    return "a phone number" if is_phone_like(text) else safe(redact(text), limit)


def hint(found: LookupResult, mode: Mode) -> Line:
    """Return the line under the box: what it takes, or how many matches there are."""
    word, _ = mode_words(mode)
    if not found.text:
        return ((translate(HINT), MUTED),)
    if found.is_message and not found.count:
        return (("a message that leads to no payment here", WARN),)
    if found.count == 1:
        what = "unanswered creation" if found.creations else "collection"
        way = (found.creations or found.matches)[0].kind.value
        said = f"1 {what} in {word}, found by {way}{_looked_at(found)}"
        return ((said, WARN if found.creations else MUTED),)
    if found.count:
        more = " or more" if found.more else ""
        open_ = len(found.creations)
        first = f"{open_} without a collection first; " if open_ else "best match first; "
        what = "matches" if open_ else "collections"
        said = f"{found.count}{more} {what} in {word}{_looked_at(found)}, {first}j k choose"
        return ((said, WARN if open_ else MUTED),)
    other, _ = mode_words(Mode.TEST if mode is Mode.LIVE else Mode.LIVE)
    matches = "match" if found.elsewhere == 1 else "matches"
    return ((f"nothing in {word}, {found.elsewhere} {matches} in {other}", WARN),)


def _looked_at(found: LookupResult) -> str:
    return f" {found.looked_at}" if found.looked_at else ""


def fetch_failed(text: str, *, is_lost: bool) -> list[Line]:
    """Return what stands in the story's place while a text cannot be looked up."""
    why = "The store does not answer" if is_lost else "Something went wrong here"
    back = "as soon as the store is back" if is_lost else "in some seconds"
    return [
        ((f"{why}, so nothing was looked up for “{echoed(text)}”.", WARN),),
        ((f"It is looked up by itself {back}: say that we are", MUTED),),
        (("checking, and send no new request.", MUTED),),
    ]


def nothing(found: LookupResult, mode: Mode) -> list[Line]:
    """Return what stands in the story's place when there is none."""
    if not found.text:
        return [
            (("Paste what the customer reads out; the story appears here.", MUTED),),
            (("esc leaves the box, then 1 to 5 go to the other screens.", MUTED),),
        ]
    word, _ = mode_words(mode)
    if is_phone_like(found.text):
        lines: list[Line] = [
            ((f"No collection in {word} was asked of this phone.", PLAIN),),
            (("No creation without an answer is for this phone either.", PLAIN),),
        ]
        if found.trouble is not None:
            lines.append(((f"As a phone number: {safe(redact(found.trouble), 200)}.", WARN),))
        lines.append((("Ask for the reference, or for the amount and the time.", MUTED),))
    else:
        lines = [
            ((f"No collection and no open creation is known by “{echoed(found.text)}”.", PLAIN),)
        ]
        if found.looked_at:
            lines.append(((f"As an amount it was looked for: {found.looked_at}.", PLAIN),))
        few = len(found.text) < _FEWEST
        more = "Type four characters of the reference or more." if few else _SHORTER
        lines.append(((more, MUTED),))
    if found.elsewhere:
        other, _ = mode_words(Mode.TEST if mode is Mode.LIVE else Mode.LIVE)
        lines.append(((f"It is known in {other}: ^p, then “the other mode” goes there.", WARN),))
    return lines
