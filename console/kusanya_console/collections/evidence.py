"""All that one store knows of one payment, gathered at once: its story, what is odd, its JSON.

`gather` reads the store and belongs on a worker thread; the rest is pure.
"""

import msgspec

from kusanya.lookup import ReceiptClaim, Timeline, claims, load_timeline
from kusanya.privacy import mask_json
from kusanya.state.anomalies import Anomaly, anomalies
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.ui.format import Look


class Evidence(msgspec.Struct, frozen=True):
    """One payment: what happened to it, what is odd about it, and the service's latest words."""

    story: Timeline
    odd: tuple[Anomaly | ReceiptClaim, ...]
    """What contradicts itself, and what is claimed and not borne out."""
    said: str
    """The newest JSON that any source gave of it, as received but for phones, masked."""
    said_by: str


def gather(
    store: Store,
    collection_id: str,
    mode: Mode,
    look: Look,
    *,
    is_claimed: bool = False,
    is_unsure: bool = False,
) -> Evidence | None:
    """Return what is known of a collection of one mode, or None; raises StoreError.

    `is_claimed` says that a customer's confirmation led here, see `load_timeline`.
    """
    timeline = load_timeline(
        store, collection_id, mode, now=look.now, is_claimed=is_claimed, is_unsure=is_unsure
    )
    if timeline is None:
        return None
    facts = store.collections.observations(collection_id, mode)
    latest = max(facts, key=lambda fact: fact.observed_at, default=None)
    return Evidence(
        story=timeline,
        odd=(*claims(timeline), *anomalies(timeline.state, facts, now=look.now)),
        said="" if latest is None else mask_json(latest.collection.raw),
        said_by="" if latest is None else latest.source.value.replace("_", " "),
    )
