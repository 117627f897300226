"""Receive webhook deliveries: verify, make durable, and only then acknowledge."""

from kusanya.receiver.asgi import Receiver, app
from kusanya.receiver.endpoints import EndpointSecrets
from kusanya.receiver.ingest import judge
from kusanya.receiver.intake import Limits
from kusanya.receiver.synchronous import handle

__all__ = ["EndpointSecrets", "Limits", "Receiver", "app", "handle", "judge"]
