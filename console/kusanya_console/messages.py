"""What happened, told by those who fetched it to those who show it."""

from typing import Any

from textual.message import Message

from kusanya.errors import StoreError
from kusanya.filters import Filter
from kusanya.privacy import mask_text
from kusanya_console.actions.results import Deed, Ended, Revealed
from kusanya_console.dashboard.records import Endpoint
from kusanya_console.feed import Snapshot


class FeedAdvanced(Message):
    """The store was read; the next reading starts once this one is applied."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


class FeedFailed(Message):
    """The store could not be read; it is tried again by itself."""

    def __init__(self, error: StoreError) -> None:
        super().__init__()
        self.error = error


class Fetched(Message):
    """A screen's question was answered; `generation` tells whether it still wants to know."""

    def __init__(self, what: str, generation: int, value: Any) -> None:
        super().__init__()
        self.what = what
        self.generation = generation
        self.value = value


class FetchFailed(Message):
    """A screen's question could not be answered by the store."""

    def __init__(self, what: str, generation: int, error: StoreError) -> None:
        super().__init__()
        self.what = what
        self.generation = generation
        self.error = error


class StoryAsked(Message):
    """Somebody wants the whole story of a record; `text` is what the look-up's box takes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class ListAsked(Message):
    """Somebody wants to see the rows behind a figure: a list's screen, narrowed to them."""

    def __init__(self, screen: str, narrowed: Filter) -> None:
        super().__init__()
        self.screen = screen
        self.narrowed = narrowed


class CopyAsked(Message):
    """Somebody wants a text on the clipboard; `what` names it in words.

    `told` where the result line says so already; a `secret` is not kept to be pasted here.
    """

    def __init__(self, what: str, text: str, *, told: bool = False, secret: bool = False) -> None:
        super().__init__()
        self.secret = secret
        self.told = told
        self.what = what
        self.text = text


def reference_copy(reference: str, record_id: str) -> CopyAsked:
    """Return the wish to copy a reference, or the record's id where it holds a phone number."""
    if mask_text(reference) != reference:
        return CopyAsked("id (the reference holds a phone number)", record_id)
    return CopyAsked("reference", reference)


class DeedAsked(Message):
    """Somebody wants something asked or done; `doing` says it in words while it lasts."""

    def __init__(self, doing: str, deed: Deed) -> None:
        super().__init__()
        self.doing = doing
        self.deed = deed


class DeedDone(Message):
    """What was asked or done has ended, well or not."""

    def __init__(self, ended: Ended | Revealed) -> None:
        super().__init__()
        self.ended = ended


class SenderHeard(Message):
    """The embedded service's dashboard told how our endpoints stand, or None where it did not."""

    def __init__(self, endpoints: tuple[Endpoint, ...] | None) -> None:
        super().__init__()
        self.endpoints = endpoints


class ScreenAsked(Message):
    """Somebody wants another screen."""

    def __init__(self, screen: str) -> None:
        super().__init__()
        self.screen = screen
