"""What the ids in notes and audit rows belong to: a payment or a creation, by its reference."""

from collections.abc import Iterable

import msgspec

from kusanya.store import Store
from kusanya.wire import Mode, is_collection_id, is_event_id


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What an id belongs to; never an alarm, an endpoint or a key, which have no reference."""

    id: str
    """The collection's id, or the creation's where no collection is known of it."""
    reference: str
    mode: Mode


def load_subjects(store: Store, ids: Iterable[str | None]) -> dict[str, Subject]:
    """Return what ids of collections, events and creations belong to, by those ids.

    So do the oddities of a payment that are acknowledged. What is no such id, or unknown to the
    store, is left out. An id that both modes know is taken
    for the live one.
    """
    wanted = {one for one in ids if one is not None}
    owners = {one: one for one in wanted if is_collection_id(one)}
    # What was acknowledged of one payment names the payment last.
    owners |= {one: one.rpartition(":")[2] for one in wanted if one.startswith("odd:")}
    creations: dict[str, Subject] = {}
    for one in wanted - owners.keys():
        if is_event_id(one):
            event = store.events.get(one)
            if event is not None:
                owners[one] = event.collection_id
        elif one.startswith("int_"):
            intent = store.intents.get(one)
            if intent is not None:
                creations[one] = Subject(
                    id=intent.collection_id or one, reference=intent.reference, mode=intent.mode
                )
    found: dict[str, Subject] = {}
    for mode in (Mode.TEST, Mode.LIVE):
        rows = store.collections.by_id(sorted(set(owners.values())), mode)
        for one, owner in owners.items():
            if owner in rows:
                found[one] = Subject(id=owner, reference=rows[owner].reference, mode=mode)
    return found | creations
