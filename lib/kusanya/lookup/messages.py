"""One pasted confirmation message, looked up: for a notebook's cell and a program of one line."""

from pathlib import Path
from typing import Final

import msgspec

from kusanya import confirmations
from kusanya.clock import Clock, SystemClock
from kusanya.lookup.search.by_message import match_messages
from kusanya.store import Store
from kusanya.store.records import CollectionRow
from kusanya.text import safe
from kusanya.wire import Mode

NO_STORE: Final = "Sample data and exports hold no receipts: name a store to look a message up."
NOTHING: Final = "Paste the customer's message first."


class MessageAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What one message says, and the collection that it is."""

    sentence: str
    """What was read and found, or why nothing was; safe to show."""
    collection_id: str | None = None
    """The one collection, None where none or several fit."""


def look_up(
    text: str, *, mode: str, store: str, clock: Clock | None = None
) -> tuple[MessageAnswer, ...]:
    """Return an answer for each confirmation in a text, or one that says why there is none.

    Reads the store at the address `store` and records nothing; where that is empty or an export,
    the answer says so. Raises StoreError when the store cannot be read.
    """
    if not text.strip():
        return (MessageAnswer(sentence=NOTHING),)
    reading = confirmations.read(text)
    if not reading.confirmations:
        return (MessageAnswer(sentence=reading.reason),)
    if not store or Path(store).is_dir():
        return (MessageAnswer(sentence=NO_STORE),)
    with Store.open(store, read_only=True) as opened:
        found = match_messages(opened, reading, mode=Mode(mode), now=(clock or SystemClock()).now())
    return tuple(
        MessageAnswer(
            sentence=safe(f"{match.summary}. {match.sentence}{_named(match.row)}", 500),
            collection_id=None if match.row is None else match.row.id,
        )
        for match in found
    )


def _named(row: CollectionRow | None) -> str:
    if row is None:
        return ""
    return f" Collection {row.id}, reference {row.reference}, {row.status}."
