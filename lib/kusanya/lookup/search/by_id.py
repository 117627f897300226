"""What has the very id that was asked for: of a collection, an event or a creation."""

from typing import Final

from kusanya.lookup.search.matches import CreationMatch, LookupResult, Match, MatchKind
from kusanya.store import Store
from kusanya.store.records import CollectionRow, DeliveryFilter, IntentRow
from kusanya.wire import Mode, is_collection_id, is_event_id

_BOUND: Final = 50
_INTENT_ID: Final = "int_"


def by_id(store: Store, asked: str, mode: Mode) -> LookupResult | None:
    """Return what has the very id that was asked for, or None where the text is no known id."""
    if is_collection_id(asked):
        row = store.collections.get(asked, mode)
        if row is not None:
            return LookupResult(text=asked, matches=(Match(row, MatchKind.ID),))
    if is_event_id(asked):
        by_event = _by_event(store, asked, mode)
        if by_event:
            return LookupResult(text=asked, matches=tuple(by_event))
    if asked.startswith(_INTENT_ID):
        intent = store.intents.get(asked)
        if intent is not None and intent.mode is not mode:
            return LookupResult(text=asked)
        if intent is not None:
            row = became(store, intent)
            if row is None:
                return LookupResult(text=asked, creations=(CreationMatch(intent, MatchKind.ID),))
            return LookupResult(text=asked, matches=(Match(row, MatchKind.CREATION),))
    return None


def became(store: Store, intent: IntentRow) -> CollectionRow | None:
    """Return the collection that a creation became, as far as the store has seen it."""
    if intent.collection_id is None:
        return None
    return store.collections.get(intent.collection_id, intent.mode)


def _by_event(store: Store, event_id: str, mode: Mode) -> list[Match]:
    event = store.events.get(event_id, mode)
    if event is not None:
        row = store.collections.get(event.collection_id, mode)
        return [] if row is None else [Match(row, MatchKind.EVENT)]
    # No authentic arrival: a rejected one may still name a collection that we know.
    claims = store.deliveries.page(mode, where=DeliveryFilter(event_id=event_id), limit=_BOUND).rows
    named = sorted({claim.collection_id for claim in claims if claim.collection_id is not None})
    rows = store.collections.by_id(named, mode)
    return [Match(row, MatchKind.CLAIM) for row in rows.values()]
