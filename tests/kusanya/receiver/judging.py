"""Judging a delivery from its bytes at noon, and the endpoints that it may be for."""

from datetime import UTC, datetime

from tests.kusanya.receiver.peers import SECRET, Headers

from kusanya.receiver import EndpointSecrets
from kusanya.receiver.classification import classify
from kusanya.receiver.endpoints import AnySecrets, Endpoints
from kusanya.store.records import Arrival
from kusanya.wire import Mode

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
OTHER = "whsec_" + "b" * 32
BOTH = [EndpointSecrets("till", Mode.TEST, SECRET), EndpointSecrets("shop", Mode.LIVE, OTHER)]


def classified(
    payload: bytes,
    headers: Headers,
    secrets: AnySecrets = EndpointSecrets("webhooks", Mode.TEST, SECRET),  # noqa: B008 - frozen
    path: str = "/",
) -> Arrival:
    return classify(
        payload,
        headers,
        arrived_at=NOON,
        endpoints=Endpoints.of(secrets),
        path=path,
        took_us=7,
    )
