"""Reading the embedded service through its dashboard; nothing here changes anything.

Every call blocks on loopback HTTP and belongs on a worker thread.
"""

from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from kusanya.alarms.sender import SenderEndpoint
from kusanya_console.sandbox.dashboard.client import DashboardClient, DashboardError
from kusanya_console.sandbox.dashboard.records import (
    FaultRule,
    SentDelivery,
    ServiceKey,
    ServicePicture,
    ServiceTime,
    parse_answer,
    rows,
)


class ServiceReader:
    """Reads through one dashboard client, which stays the caller's."""

    def __init__(self, dashboard: DashboardClient) -> None:
        self._dashboard = dashboard

    def load(self) -> ServicePicture:
        """Return clock, endpoints, keys and faults. Raises DashboardError."""
        return ServicePicture(
            time=parse_answer(self._dashboard.get("clock"), ServiceTime),
            endpoints=self.endpoints(),
            keys=rows(self._dashboard.get("keys"), ServiceKey),
            faults=faults(self._dashboard),
        )

    def endpoints(self) -> tuple[SenderEndpoint, ...]:
        """Return the endpoints of both modes. Raises DashboardError."""
        return endpoints(self._dashboard)

    def sent(self, event_id: str) -> tuple[SentDelivery, ...]:
        """Return what the sender did about an event, one for each endpoint. Raises DashboardError.

        An event that the sender does not know has no deliveries.
        """
        return self._deliveries(f"events/{path_part(event_id)}/deliveries")

    def sent_about(self, collection_id: str) -> tuple[SentDelivery, ...]:
        """Return what the sender did about the event of a collection, one for each endpoint.

        For an event that never came: its id is known to the sender alone. Raises DashboardError.
        """
        return self._deliveries(f"collections/{path_part(collection_id)}/deliveries")

    def _deliveries(self, path: str) -> tuple[SentDelivery, ...]:
        try:
            answer = self._dashboard.get(path)
        except DashboardError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return ()  # no id of the service has this form: somebody else's claim
            raise
        return rows(answer, SentDelivery)


def endpoints(dashboard: DashboardClient) -> tuple[SenderEndpoint, ...]:
    """Return the endpoints of both modes. Raises DashboardError."""
    return rows(dashboard.get("endpoints"), SenderEndpoint)


def faults(dashboard: DashboardClient) -> tuple[FaultRule, ...]:
    """Return the faults in force. Raises DashboardError."""
    answer: Any = dashboard.get("faults")
    if not isinstance(answer, dict):
        raise DashboardError("the dashboard answers something that cannot be read")
    return parse_answer(answer.get("rules"), tuple[FaultRule, ...])


def path_part(text: str) -> str:
    """Return an id as one part of a path; ids of claims come from anybody."""
    # The two dots would be taken for a step up even when they are spelled in per cent.
    return "%2E" * len(text) if text in {".", ".."} else quote(text, safe="")
