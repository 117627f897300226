"""Observations of collections, and the fold that makes a state of them."""

from kusanya.state.fold import fold
from kusanya.state.observation import (
    CollectionState,
    Contradiction,
    Dispute,
    Observation,
    Source,
)

__all__ = [
    "CollectionState",
    "Contradiction",
    "Dispute",
    "Observation",
    "Source",
    "fold",
]
