"""What uvicorn lacks: bounds of time, size and number, and an orderly start and end.

The receiver and the embedded service stand on it alike.
"""

from kusanya.platform.http_limits.places import ConnectionLimits
from kusanya.platform.http_limits.protocol import BoundedProtocol, bounded
from kusanya.platform.http_limits.server import AddressRefused, PortTaken, Server, listen

__all__ = [
    "AddressRefused",
    "BoundedProtocol",
    "ConnectionLimits",
    "PortTaken",
    "Server",
    "bounded",
    "listen",
]
