"""What workers report to screens, and what screens request of the application."""

from collections.abc import Callable
from typing import Any

from textual.message import Message

from kusanya.alarms.sender import SenderEndpoint
from kusanya.filters import Filter
from kusanya.privacy import mask_text
from kusanya_console.actions.results import ActionResult, RevealedPhone
from kusanya_console.feed import Snapshot


class FeedAdvanced(Message):
    """The store was read; the next reading starts once this one is applied."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


class FeedFailed(Message):
    """The store could not be read; it is tried again by itself."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


class FetchFinished(Message):
    """A screen's question was answered; `generation` tells whether it still wants to know."""

    def __init__(self, what: str, generation: int, value: Any) -> None:
        super().__init__()
        self.what = what
        self.generation = generation
        self.value = value


class FetchFailed(Message):
    """A screen's question could not be answered: a StoreError, or a fault of the program."""

    def __init__(self, what: str, generation: int, error: Exception) -> None:
        super().__init__()
        self.what = what
        self.generation = generation
        self.error = error


class TimelineRequested(Message):
    """Somebody wants the whole story of a record; `text` is what the look-up's box takes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class ListRequested(Message):
    """Somebody wants to see the rows behind a figure: a list's screen, filtered."""

    def __init__(self, screen: str, query: Filter) -> None:
        super().__init__()
        self.screen = screen
        self.query = query


class CopyRequested(Message):
    """Somebody wants a text on the clipboard; `label` names it in words.

    `quiet` where the result line says so already; a `secret` is not kept to be pasted here.
    """

    def __init__(self, label: str, text: str, *, quiet: bool = False, secret: bool = False) -> None:
        super().__init__()
        self.secret = secret
        self.quiet = quiet
        self.label = label
        self.text = text


def copyable(reference: str, record_id: str) -> str:
    """Return a reference for the clipboard, or the id where the reference holds a phone number."""
    return record_id if mask_text(reference) != reference else reference


def copy_reference(reference: str, record_id: str) -> CopyRequested:
    """Return a request to copy a reference, or the id where the reference holds a phone number."""
    if mask_text(reference) != reference:
        return CopyRequested("id (the reference holds a phone number)", record_id)
    return CopyRequested("reference", reference)


class ActionRequested(Message):
    """Somebody wants something asked or done; `progress` says it in words while it lasts.

    `leave_rest`, where there is one, stops it after its present part.
    """

    def __init__(
        self,
        progress: str,
        run: Callable[[], ActionResult | RevealedPhone],
        *,
        leave_rest: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.progress = progress
        self.run = run
        self.leave_rest = leave_rest


class ActionProgressed(Message):
    """What was asked or done goes on; `sentence` says how far it has come."""

    def __init__(self, sentence: str) -> None:
        super().__init__()
        self.sentence = sentence


class ActionFinished(Message):
    """What was asked or done has ended, well or not."""

    def __init__(self, result: ActionResult | RevealedPhone) -> None:
        super().__init__()
        self.result = result


class EndpointsLoaded(Message):
    """How our endpoints stand by the embedded service's dashboard; None where it did not answer."""

    def __init__(self, endpoints: tuple[SenderEndpoint, ...] | None) -> None:
        super().__init__()
        self.endpoints = endpoints


class ScreenRequested(Message):
    """Somebody wants another screen."""

    def __init__(self, screen: str) -> None:
        super().__init__()
        self.screen = screen


class ProfileRequested(Message):
    """Somebody wants to go on with another profile of config.toml."""

    def __init__(self, profile: str) -> None:
        super().__init__()
        self.profile = profile
