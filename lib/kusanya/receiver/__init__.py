"""Receive webhook deliveries: verify, make durable, and only then acknowledge."""

from kusanya.receiver.asgi import Limits, Receiver, app
from kusanya.receiver.endpoints import EndpointSecrets
from kusanya.receiver.ingest import judge

__all__ = ["EndpointSecrets", "Limits", "Receiver", "app", "judge"]
