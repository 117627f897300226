"""How collecting is going: open, failing and stuck collections, causes and usual times."""

from kusanya.health.report import (
    EndpointHealth,
    Health,
    UnusableDeliveries,
    Unwatched,
    health,
)

__all__ = ["EndpointHealth", "Health", "UnusableDeliveries", "Unwatched", "health"]
