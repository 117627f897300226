"""How collecting is going: open, failing and stuck collections, causes and usual times."""

from kusanya.health.endpoints import EndpointHealth
from kusanya.health.report import (
    Health,
    PollerAbsence,
    UnusableDeliveries,
    health,
)

__all__ = ["EndpointHealth", "Health", "PollerAbsence", "UnusableDeliveries", "health"]
