"""Orders, outcomes and channels over HTTP: for a shop in a language without this library.

It runs beside the shop, on this machine or in its private network, and whoever asks shows a token.
"""

from kusanya.gateway.application import Gateway
from kusanya.gateway.documents import openapi

__all__ = ["Gateway", "openapi"]
