"""Why a delivery was rejected, found with the secrets that the console's profile holds.

It changes no verdict: what the receiver decided stands, this only says what was the matter.
"""

from collections.abc import Sequence

from kusanya.profiles import EndpointSecret
from kusanya.store.records import DeliveryBody, DeliveryRow
from kusanya.webhooks.forensics import DeliveryFinding, explain


class Forensics:
    """Explains arrivals with the signing secrets of one profile's endpoints."""

    def __init__(self, endpoints: Sequence[EndpointSecret], *, signature_header: str) -> None:
        self._secrets = {one.name: one.secrets for one in endpoints}
        self._header = signature_header.lower().encode()

    def explain(self, row: DeliveryRow, body: DeliveryBody) -> DeliveryFinding | None:
        """Return what is the matter, or None without its body or its endpoint's secrets."""
        mine = self._secrets.get(row.endpoint)
        if body.body is None or not mine:
            return None
        signatures = [value for name, value in body.headers if name.lower() == self._header]
        return explain(
            body.body,
            # Two headers are one with two values: either way nobody can tell which one counts.
            b",".join(signatures) if signatures else None,
            mine,
            now=row.arrived_at.timestamp(),
            also={name: held for name, held in self._secrets.items() if name != row.endpoint},
        )
