"""The tables, in one place, for both engines.

Facts (`delivery`, `observation`, `intent_change`, `note`, `audit`, `acknowledgement`, `break_fact`,
`receipt`, `outcome`) are keyed by their position in the journal, `seq`, and never change what they
say; an acknowledgement has that of its audit row. `event`, `collection` and `rollup` follow from
them. An event or a collection is known by its id and the mode in which it was observed: the mode of
the API key or signing secret, never of a body. Every index names the query that it serves. An
instant is a BIGINT of microseconds (`tables/values.py`), an amount one of whole units; yes or no is
a `Boolean` (in `unwell`, which partial indexes name, 1 or 0).
"""

from kusanya.store.tables.schema.base import metadata
from kusanya.store.tables.schema.collections import (
    collection,
    delivery_rollup,
    metadata_entry,
    rollup,
)
from kusanya.store.tables.schema.deliveries import delivery, event, observation
from kusanya.store.tables.schema.intents import intent, intent_attempt, intent_change
from kusanya.store.tables.schema.journal import claim, feed_head, store_meta
from kusanya.store.tables.schema.making import create_tables
from kusanya.store.tables.schema.outcomes import consumer, outcome, outcome_work
from kusanya.store.tables.schema.people import acknowledgement, audit, break_fact, note, receipt
from kusanya.store.tables.schema.search import SEARCHED

__all__ = [
    "SEARCHED",
    "acknowledgement",
    "audit",
    "break_fact",
    "claim",
    "collection",
    "consumer",
    "create_tables",
    "delivery",
    "delivery_rollup",
    "event",
    "feed_head",
    "intent",
    "intent_attempt",
    "intent_change",
    "metadata",
    "metadata_entry",
    "note",
    "observation",
    "outcome",
    "outcome_work",
    "receipt",
    "rollup",
    "store_meta",
]
