"""Receive webhook deliveries: verify, make durable, and only then acknowledge."""

from kusanya.receiver.admission import Limits
from kusanya.receiver.asgi import Receiver, app
from kusanya.receiver.classification import classify
from kusanya.receiver.endpoints import EndpointSecrets
from kusanya.receiver.synchronous import handle

__all__ = ["EndpointSecrets", "Limits", "Receiver", "app", "classify", "handle"]
