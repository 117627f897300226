"""Endpoints in the dashboard: register, list, enable, rotate the secret, delete.

Source: Authentication 4; Delivery rules 3 and 6.
"""

import asyncio
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from kusanya.domain.limits import SIGNATURE_TOLERANCE_S
from kusanya.privacy.secret import Secret
from kusanya.wire import Mode
from kusanya_service.dashboard.web import answer, list_answer, mode_of, read
from kusanya_service.delivery.address_policy import AddressBlocked, AddressPolicy, HostUnresolved
from kusanya_service.delivery.event_runner import EventRunner
from kusanya_service.delivery.http_sender import HttpSender
from kusanya_service.delivery.resolver import Resolve
from kusanya_service.delivery.urls import parse_url
from kusanya_service.errors import ApiError, not_found
from kusanya_service.http.auth import new_signing_secret
from kusanya_service.simulation.clock import SECOND_MS, ServiceClock, iso, iso_or_none
from kusanya_service.simulation.rules import Rules
from kusanya_service.storage import changes, queries
from kusanya_service.storage.database import Connection
from kusanya_service.storage.records import Endpoint, OpenDelivery
from kusanya_service.storage.store import Storage

_LOOK_UP_S = 3.0
_SECRET_OVERLAP_S = 24 * 60 * 60 + SIGNATURE_TOLERANCE_S
"""How long a rotated secret still signs: a day, and what a receiver's clock may differ."""


class _NewEndpoint(msgspec.Struct, forbid_unknown_fields=True):
    url: str
    mode: Mode


class EndpointRoutes:
    """The routes under /dashboard/endpoints."""

    def __init__(
        self,
        *,
        storage: Storage,
        clock: ServiceClock,
        rules: Rules,
        runner: EventRunner,
        sender: HttpSender,
        policy: AddressPolicy,
        resolve: Resolve,
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._rules = rules
        self._runner = runner
        self._sender = sender
        self._policy = policy
        self._resolve = resolve

    async def register(self, request: Request) -> Response:
        """Register an endpoint; its signing secret is in this answer and nowhere else."""
        wanted = await read(request, _NewEndpoint)
        await self._refuse_private(wanted.url, wanted.mode)
        secret = new_signing_secret()
        endpoint = await self._storage.write(
            _add,
            wanted.url,
            mode=wanted.mode.value,
            secret=secret,
            now_ms=self._clock.now_ms(),
            rules=self._rules,
        )
        return answer(self._to_json(endpoint) | {"secret": secret.reveal()}, 201)

    async def _refuse_private(self, url: str, mode: str) -> None:
        target = parse_url(url, mode)
        try:
            async with asyncio.timeout(_LOOK_UP_S):
                await self._policy.resolve_public(target.host, target.port, mode, self._resolve)
        except AddressBlocked as error:
            said = str(error)
            if mode == Mode.TEST:
                host = f"[{target.host}]" if ":" in target.host else target.host
                said += f"; kusanya service --allow-local {host}:{target.port} takes it"
            raise ApiError(422, "endpoint_not_public", said, param="url") from None
        except (HostUnresolved, TimeoutError):
            # A name may come to life later; it is judged again at every attempt.
            return

    async def list(self, request: Request) -> Response:
        """List the endpoints of one mode or both."""
        mode = mode_of(request)
        found = queries.endpoints(self._storage.reader)
        return list_answer([self._to_json(one) for one in found if mode in {None, one.mode}])

    async def enable(self, request: Request) -> Response:
        """Enable an endpoint again: its fuse is new and what it held goes on."""
        endpoint = self._load(request)
        opened = await self._storage.write(_enable, endpoint.seq, self._clock.monotonic_ms())
        await self._runner.resume(opened)
        return answer(self._to_json(self._load(request)))

    async def rotate(self, request: Request) -> Response:
        """Replace the signing secret of an endpoint; the old one signs beside it for a day."""
        endpoint = self._load(request)
        secret = new_signing_secret()
        until = self._clock.monotonic_ms() + _SECRET_OVERLAP_S * SECOND_MS
        await self._storage.write(_rotate, endpoint.seq, secret, until)
        return answer(self._to_json(endpoint) | {"secret": secret.reveal()})

    async def delete(self, request: Request) -> Response:
        """Delete an endpoint; its open deliveries fail."""
        endpoint = self._load(request)
        await self._storage.write(_delete, endpoint.seq, self._clock.now_ms())
        await self._sender.forget(endpoint)
        return Response(status_code=204)

    def _load(self, request: Request) -> Endpoint:
        for endpoint in queries.endpoints(self._storage.reader):
            if endpoint.id == request.path_params["id"]:
                return endpoint
        raise not_found()

    def _to_json(self, endpoint: Endpoint) -> dict[str, Any]:
        # The fuse is in monotonic time; a person reads wall time.
        wall = self._clock.now_ms() - self._clock.monotonic_ms()

        def at(monotonic: int | None) -> str | None:
            return iso_or_none(None if monotonic is None else monotonic + wall)

        return {
            "id": endpoint.id,
            "url": endpoint.url,
            "mode": endpoint.mode,
            "status": "enabled" if endpoint.is_enabled else "disabled",
            "failing_since": at(endpoint.lit_at),
            "disabled_at": at(endpoint.disabled_at),
            "created_at": iso(endpoint.created_at),
        }


def _add(
    connection: Connection, url: str, *, mode: str, secret: Secret, now_ms: int, rules: Rules
) -> Endpoint:
    number = changes.next_number(connection, "endpoint")
    changes.add_endpoint(
        connection,
        seq=number,
        endpoint_id=rules.random.identifier("we", number),
        mode=mode,
        url=url,
        secret=secret.reveal(),
        at_ms=now_ms,
    )
    return queries.endpoint(connection, number)


def _enable(connection: Connection, endpoint: int, monotonic_ms: int) -> list[OpenDelivery]:
    changes.set_fuse(connection, endpoint, lit_at=None, disabled_at=None)
    return changes.release_deliveries(connection, endpoint, monotonic_ms)


def _rotate(connection: Connection, endpoint: int, secret: Secret, until: int) -> None:
    changes.rotate_secret(connection, endpoint, secret=secret.reveal(), old_until=until)


def _delete(connection: Connection, endpoint: int, now_ms: int) -> None:
    changes.fail_deliveries(connection, endpoint)
    changes.delete_endpoint(connection, endpoint, now_ms)
