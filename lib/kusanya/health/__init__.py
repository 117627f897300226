"""How collecting is going: open, failing and stuck collections, causes and usual times."""

from kusanya.health.report import (
    EndpointHealth,
    Health,
    PollerAbsence,
    UnusableDeliveries,
    health,
)

__all__ = ["EndpointHealth", "Health", "PollerAbsence", "UnusableDeliveries", "health"]
