"""What was observed about a collection, and the state that follows from it."""

from kusanya.state.fold import fold
from kusanya.state.observation import (
    CONTRADICTION,
    CollectionState,
    Contradiction,
    Dispute,
    Observation,
    Source,
)

__all__ = [
    "CONTRADICTION",
    "CollectionState",
    "Contradiction",
    "Dispute",
    "Observation",
    "Source",
    "fold",
]
