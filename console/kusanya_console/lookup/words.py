"""What Lookup says around a story: how many matches there are, and what to try when there is none.

Pure. What was typed is echoed outside its box only without phone numbers: a box can be cleared, a
screenshot cannot.
"""

from typing import Final

from kusanya.lookup import LookupResult, MatchKind
from kusanya.privacy import is_phone_like, redact
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_console.ui.format import Line, wrapped
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import MUTED, PLAIN, WARN, Run, mode_words

HINT: Final = "reference · id · phone · whole message · amount and time: 85000 15:20"
_FEWEST: Final = 4
"""A search among references needs so many characters."""
_SHORTER: Final = "A shorter beginning of the reference finds more."
_LONGER: Final = "Type four characters or more: parts of references and notes are searched then."
_DIGITS: Final = "Type the whole phone, or the amount with its day: 85000 yesterday."
_NO_NAME: Final = "No collection and no open creation has {asked} as its reference, id or receipt."
_NO_TEXT: Final = (
    "No collection and no open creation has {asked} as its reference, id or receipt, "
    "nor in a note or a description."
)


def echoed(text: str, limit: int = 60) -> str:
    """Return what a person typed as it may stand outside the box: no phone number in it."""
    return translate("a phone number") if is_phone_like(text) else safe(redact(text), limit)


def hint(found: LookupResult, mode: Mode) -> Line:
    """Return the line under the box: what it takes, or how many matches there are."""
    word, _ = mode_words(mode)
    if not found.text:
        return ((translate(HINT), MUTED),)
    if found.is_message and not found.count:
        return ((translate("a message that leads to no payment here"), WARN),)
    if found.phones > 1 and not found.count:
        return ((translate("several phone numbers: look one up at a time"), WARN),)
    if found.count == 1:
        said = translate(
            "1 {what} in {mode}, found by {way}{looked}",
            what=translate("unanswered creation" if found.creations else "collection"),
            mode=word,
            way=translate((found.creations or found.matches)[0].kind.value),
            looked=f": {looked_for(found)}" if looked_for(found) else "",
        )
        return ((said, WARN if found.creations else MUTED),)
    if found.count:
        open_ = len(found.creations)
        first = (
            translate("{count} without a collection first; ", count=open_)
            if open_
            else translate("best match first; ")
        )
        said = translate(
            "{count}{more} {what} in {mode}{looked} {first}j k choose",
            count=found.count,
            more=translate(" or more") if found.more else "",
            what=translate("matches" if open_ else "collections"),
            mode=word,
            looked=translate(" for {asked};", asked=looked_for(found))
            if looked_for(found)
            else ",",
            first=first,
        )
        return ((said, WARN if open_ else MUTED),)
    other, _ = mode_words(Mode.TEST if mode is Mode.LIVE else Mode.LIVE)
    said = translate(
        "nothing in {mode}, {count} {matches} in {other}",
        mode=word,
        count=found.elsewhere,
        matches=translate("match" if found.elsewhere == 1 else "matches"),
        other=other,
    )
    return ((said, WARN),)


def looked_for(found: LookupResult) -> str:
    """Return what of a text was looked for and found, and where; empty where it was the whole."""
    if found.looked_at:
        return looked_at(found)
    return _phone_end(found) if MatchKind.PHONE_END in found.kinds else ""


def looked_at(found: LookupResult) -> str:
    """Return what amount and time, or which words of a text were looked for."""
    return translate(found.looked_at)


def tried(found: LookupResult) -> list[str]:
    """Return in which other ways a text was looked for in vain, one in each piece."""
    pieces = [looked_at(found)] if found.looked_at else []
    if found.phone_end_in:
        pieces.append(_phone_end(found))
    if found.words:
        pieces.append(translate("each word alone: {words}", words=", ".join(found.words)))
    return pieces


def _phone_end(found: LookupResult) -> str:
    among = translate(found.phone_end_in)
    return translate("the end of a phone {among}", among=among)


def fetch_failed(text: str, *, is_lost: bool) -> list[Line]:
    """Return what stands in the story's place while a text cannot be looked up."""
    why = translate("The store does not answer" if is_lost else "Something went wrong here")
    back = translate("as soon as the store is back" if is_lost else "in some seconds")
    not_looked = translate(
        "{why}, so nothing was looked up for “{asked}”.", why=why, asked=echoed(text)
    )
    by_itself = translate("It is looked up by itself {back}: say that we are", back=back)
    return [
        ((not_looked, WARN),),
        ((by_itself, MUTED),),
        ((translate("checking, and send no new request."), MUTED),),
    ]


def nothing(found: LookupResult, mode: Mode, width: int) -> list[Line]:
    """Return what stands in the story's place when there is none."""
    if not found.text:
        return [
            ((translate("Paste what the customer reads out; the story appears here."), MUTED),),
            ((translate("esc leaves the box, then 1 to 5 go to the other screens."), MUTED),),
        ]
    if found.phones > 1:
        none = translate("The text holds {count} phone numbers: none of them was looked up.",
                         count=found.phones)  # fmt: skip
        one = translate("Look one of them up at a time.")
        said = [(none, PLAIN), (one, WARN)]
    elif found.phones or found.trouble is not None:
        said = _nothing_of_phone(found, mode)
    else:
        said = _nothing_of(found)
    if found.elsewhere:
        other, _ = mode_words(Mode.TEST if mode is Mode.LIVE else Mode.LIVE)
        there = translate(
            "It is known in {other}: ^p, then “the other mode” goes there.", other=other
        )
        said.append((there, WARN))
    return [line for words, role in said for line in wrapped(words, width, role=role)]


def _nothing_of_phone(found: LookupResult, mode: Mode) -> list[Run]:
    word, _ = mode_words(mode)
    said = [
        (translate("No collection in {mode} was asked of this phone.", mode=word), PLAIN),
        (translate("No creation without an answer is for this phone either."), PLAIN),
    ]
    if found.trouble is not None:
        why = safe(redact(translate(found.trouble)), 200)
        said.append((translate("As a phone number: {why}.", why=why), WARN))
    ask = translate("Ask for the reference, or for the amount and the time.")
    return [*said, *_tried_lines(found), (ask, MUTED)]


def _nothing_of(found: LookupResult) -> list[Run]:
    few = len(found.text) < _FEWEST
    asked = f"“{echoed(found.text)}”"
    none = _NO_NAME if few else _NO_TEXT
    said = [(translate(none, asked=asked), PLAIN), *_tried_lines(found)]
    if found.text.isdecimal():
        return [*said, (translate(_DIGITS), MUTED)]
    return [*said, (translate(_LONGER if few else _SHORTER), MUTED)]


def _tried_lines(found: LookupResult) -> list[Run]:
    what = "; ".join(tried(found))
    return [(translate("Looked for in vain, too: {what}.", what=what), PLAIN)] if what else []
