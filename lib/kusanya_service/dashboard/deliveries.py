"""Deliveries in the dashboard: of an event, as a list, sent again by hand; and all collections."""

from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from kusanya_service.dashboard.web import answer, limit_of, list_answer, mode_of
from kusanya_service.delivery.event_runner import EventRunner
from kusanya_service.errors import ApiError, not_found
from kusanya_service.simulation.clock import ServiceClock, iso, iso_or_none
from kusanya_service.storage import queries
from kusanya_service.storage.records import AttemptRow, DeliveryRow
from kusanya_service.storage.store import Storage

_STATUSES: Final = frozenset({"pending", "held", "succeeded", "failed"})


class DeliveryRoutes:
    """The routes that show what was sent, and one that sends again."""

    def __init__(self, *, storage: Storage, clock: ServiceClock, runner: EventRunner) -> None:
        self._storage = storage
        self._clock = clock
        self._runner = runner

    async def of_event(self, request: Request) -> Response:
        """List the deliveries of one event."""
        found = queries.deliveries_of_event(self._storage.reader, request.path_params["id"])
        return list_answer([self._to_json(one) for one in found])

    async def of_collection(self, request: Request) -> Response:
        """List the deliveries of a collection's event: who never got it knows no id of it."""
        found = queries.deliveries_of_collection(self._storage.reader, request.path_params["id"])
        return list_answer([self._to_json(one) for one in found])

    async def list(self, request: Request) -> Response:
        """List one page of deliveries in order of creation; `after` is the last id of a page."""
        status = request.query_params.get("status")
        if status is not None and status not in _STATUSES:
            raise ApiError(422, "invalid_request", "that is no status", param="status")
        found = queries.deliveries_page(
            self._storage.reader,
            mode=mode_of(request),
            status=status,
            endpoint_id=request.query_params.get("endpoint"),
            after=self._after(request, queries.delivery_number),
            limit=limit_of(request),
        )
        return list_answer([self._to_json(one) for one in found])

    async def collections(self, request: Request) -> Response:
        """List one page of a mode's collections in order of creation, exactly as /v1 shows each."""
        mode = mode_of(request)
        if mode is None:
            raise ApiError(422, "invalid_request", "mode is required: test or live", param="mode")
        found = queries.collections_page(
            self._storage.reader,
            mode=mode,
            after=self._after(request, queries.collection_number),
            limit=limit_of(request),
        )
        return list_answer([msgspec.Raw(body) for _, body in found])

    async def resend(self, request: Request) -> Response:
        """Make one attempt by hand now, and show the delivery with it."""
        number = queries.delivery_number(self._storage.reader, request.path_params["id"])
        if number is None:
            raise not_found()
        pending = queries.pending_delivery(self._storage.reader, number)
        endpoint = queries.endpoint(self._storage.reader, pending.endpoint)
        if not endpoint.is_enabled:
            raise ApiError(409, "endpoint_disabled", "nothing is sent to a disabled endpoint")
        if await self._runner.resend(number) is None:
            raise ApiError(409, "attempt_in_flight", "this event is on its way to the endpoint now")
        return answer(self._to_json(queries.delivery(self._storage.reader, number)))

    def _after(self, request: Request, number_of: Any) -> int:
        after = request.query_params.get("after")
        if after is None:
            return 0
        number: int | None = number_of(self._storage.reader, after)
        if number is None:
            raise ApiError(422, "invalid_request", "after is an id of this list", param="after")
        return number

    def _to_json(self, delivery: DeliveryRow) -> dict[str, Any]:
        wall = self._clock.now_ms() - self._clock.monotonic_ms()
        # A held delivery has a place in the schedule and no instant until its endpoint is enabled.
        due = delivery.due_at if delivery.status == "pending" else None
        attempts = queries.attempts(self._storage.reader, delivery.seq)
        return {
            "id": delivery.id,
            "event_id": delivery.event_id,
            "endpoint_id": delivery.endpoint_id,
            "url": delivery.url,
            "mode": delivery.mode,
            "status": delivery.status,
            "attempts": [_attempt(one) for one in attempts],
            "next_attempt_at": iso_or_none(None if due is None else due + wall),
        }


def _attempt(attempt: AttemptRow) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "started_at": iso(attempt.started_at),
        "ended_at": iso(attempt.ended_at),
        "outcome": attempt.outcome,
        "status_code": attempt.status_code,
        "error": attempt.error,
        "duration_ms": attempt.duration_ms,
        "manual": attempt.manual,
    }
