"""Asking the service: GETs whose answers are kept as observations, so that every screen learns.

Built where the profile has an API key; nothing here creates or changes anything at the service.
"""

from collections.abc import Callable
from typing import Final, TypeVar

from kusanya.client import Client
from kusanya.client.observations import event_observation, poll_observation
from kusanya.clock import Clock
from kusanya.errors import NotSent
from kusanya.intents import resolve_by_reference
from kusanya.say import Said, joined, plural
from kusanya.store import Store
from kusanya.text import safe
from kusanya.watch.catch_up import catch_up
from kusanya.wire import Collection
from kusanya.wording import status_word
from kusanya_console.actions.results import ActionOutcome, ActionResult
from kusanya_console.ui.format import format_text

Answer = TypeVar("Answer")
_AT_ONCE: Final = 500
"""Collections and events of one catch-up: a person waits for it."""


class ServiceQueries:
    """GETs through one client, kept in one store; both stay the caller's."""

    def __init__(self, store: Store, client: Client, *, clock: Clock) -> None:
        self._store = store
        self._client = client
        self._clock = clock

    def ask_collection(self, collection_id: str) -> ActionResult:
        """Ask for a collection and keep the answer; it may resolve an intent that waits for it."""
        found = _sendable(lambda: self._client.get_collection(collection_id))
        now = self._clock.now()
        self._store.record(poll_observation(found, at=now, observed_in=self._client.mode))
        resolved = resolve_by_reference(self._store, found, now=now)
        asked = Said("asked: {our_named}").of(our_named=_named(found))
        more = "" if resolved is None else "this resolves its intent"
        return ActionResult(joined("; ", (asked, more)))

    def ask_event(self, event_id: str) -> ActionResult:
        """Ask for an event and keep the answer."""
        found = _sendable(lambda: self._client.get_event(event_id))
        self._store.record(
            event_observation(found, at=self._clock.now(), observed_in=self._client.mode)
        )
        return ActionResult(
            Said("asked: {event} is {type}, {our_named}").of(
                event=safe(found.id, 60), type=safe(found.type, 60), our_named=_named(found.data)
            )
        )

    def catch_up(self) -> ActionResult:
        """Ask for what is not final and for the events of a week that were not double-checked."""
        found = catch_up(self._store, self._client, limit=_AT_ONCE)
        said = Said(
            "{asked} collections asked, {final} became final, {missing} without an event; "
            "{checked} events checked, {differ} differ; {resolved} intents resolved"
        ).of(
            asked=found.asked,
            final=found.became_final,
            missing=found.missing_events,
            checked=found.events_checked,
            differ=len(found.events_differing),
            resolved=found.resolved,
        )
        if found.trouble is not None:
            why = safe(found.trouble, 200).rstrip(".")
            end = "; stopped early" if found.stopped is not None else ""
            lost = plural(
                found.unanswered,
                "not caught up: 1 question had no answer, for this: {why}{our_end}. Nothing is "
                "lost; press c again. So far {our_said}",
                "not caught up: {count} questions had no answer, the last one for this: "
                "{why}{our_end}. Nothing is lost; press c again. So far {our_said}",
                why=why,
                our_end=end,
                our_said=said,
            )
            return ActionResult(lost, ActionOutcome.FAILED)
        if found.left:
            return ActionResult(
                Said("{count} are left to ask: press c again. So far {our_said}").of(
                    count=found.left, our_said=said
                )
            )
        differs = bool(found.events_differing)
        outcome = ActionOutcome.DIFFERS if differs else ActionOutcome.DONE
        return ActionResult(Said("caught up: {our_said}").of(our_said=said), outcome)


def _sendable(ask: Callable[[], Answer]) -> Answer:
    # Ids may come from a delivery that anybody sent.
    try:
        return ask()
    except ValueError as error:
        raise NotSent("no id of the service has this form: nothing was asked") from error


def _named(found: Collection) -> str:
    named = Said("{reference} ({id}) is {status}").of(
        reference=format_text(found.reference, 60),
        id=safe(found.id, 40),
        status=status_word(found.status),
    )
    code = safe(found.failure_code or "", 40)
    return Said("{our_named} {code}").of(our_named=named, code=code) if code else named
