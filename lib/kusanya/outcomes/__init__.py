"""Outcomes: what an order came to, handed to a shop so that it ships once.

The store tells an outcome for each change of what is known of an order, whether an event, a poll or
a late answer brought it. A `Consumer` hands each to the shop's handlers, in the order in which it
became known within one reference. What a handler writes in the shop's own database happens exactly
once: the handler's transaction also keeps, in the one table that `ddl` makes there, that the
outcome was done. Effects outside happen at least once, with `outcome.effect_key` to hand on.
"""

from kusanya.outcomes.consumer import Consumer, Handler, Later, Park
from kusanya.outcomes.forwarder import Forwarder
from kusanya.outcomes.shop import claim, claim_async, ddl
from kusanya.store.records.outcomes import ConsumerRow, Kind, Outcome, Work

__all__ = [
    "Consumer",
    "ConsumerRow",
    "Forwarder",
    "Handler",
    "Kind",
    "Later",
    "Outcome",
    "Park",
    "Work",
    "claim",
    "claim_async",
    "ddl",
]
