"""Endpoints in the dashboard: registered, enabled again, given new secrets, deleted.

Source: Authentication 4; Delivery rules 3 and 6.
"""

import asyncio
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from kusanya.secret import Secret
from kusanya.wire import Mode
from kusanya_service.dashboard.web import answer, listing, mode_of, read
from kusanya_service.delivery.address_policy import Blocked, Border, Unresolved
from kusanya_service.delivery.http_sender import Courier
from kusanya_service.delivery.resolver import Resolve
from kusanya_service.delivery.urls import parse_url
from kusanya_service.engine import Engine
from kusanya_service.errors import ApiError
from kusanya_service.http.answers import not_found
from kusanya_service.http.auth import mint_signing_secret
from kusanya_service.instants import SECOND_MS, iso, iso_or_none
from kusanya_service.simulation.rules import SECRET_OVERLAP_S, Rules
from kusanya_service.simulation.timeline import Timeline
from kusanya_service.storage import changes, queries
from kusanya_service.storage.database import Connection
from kusanya_service.storage.records import Endpoint, OpenDelivery
from kusanya_service.storage.store import Storage

_LOOK_UP_S = 3.0


class _NewEndpoint(msgspec.Struct, forbid_unknown_fields=True):
    url: str
    mode: Mode


class Endpoints:
    """The routes under /dashboard/endpoints."""

    def __init__(
        self,
        *,
        storage: Storage,
        timeline: Timeline,
        rules: Rules,
        engine: Engine,
        courier: Courier,
        border: Border,
        resolve: Resolve,
    ) -> None:
        self._storage = storage
        self._timeline = timeline
        self._rules = rules
        self._engine = engine
        self._courier = courier
        self._border = border
        self._resolve = resolve

    async def register(self, request: Request) -> Response:
        """Register an endpoint; its signing secret is in this answer and nowhere else."""
        wanted = await read(request, _NewEndpoint)
        await self._judge(wanted.url, wanted.mode)
        secret = mint_signing_secret()
        endpoint = await self._storage.write(
            _add,
            wanted.url,
            mode=wanted.mode.value,
            secret=secret,
            now_ms=self._timeline.now_ms(),
            rules=self._rules,
        )
        return answer(self._shown(endpoint) | {"secret": secret.reveal()}, 201)

    async def _judge(self, url: str, mode: str) -> None:
        target = parse_url(url, mode)
        try:
            async with asyncio.timeout(_LOOK_UP_S):
                await self._border.judge(target.host, target.port, mode, self._resolve)
        except Blocked as error:
            raise ApiError(422, "endpoint_not_public", str(error), param="url") from None
        except (Unresolved, TimeoutError):
            # A name may come to life later; it is judged again at every attempt.
            return

    async def list(self, request: Request) -> Response:
        """List the endpoints of one mode or both."""
        mode = mode_of(request)
        found = queries.endpoints(self._storage.reader)
        return listing([self._shown(one) for one in found if mode in {None, one.mode}])

    async def enable(self, request: Request) -> Response:
        """Enable an endpoint again: its fuse is new and what it held goes on."""
        endpoint = self._found(request)
        opened = await self._storage.write(_enable, endpoint.seq, self._timeline.steady_ms())
        await self._engine.resume(opened)
        return answer(self._shown(self._found(request)))

    async def rotate(self, request: Request) -> Response:
        """Give an endpoint a new signing secret; the old one signs beside it for a day."""
        endpoint = self._found(request)
        secret = mint_signing_secret()
        until = self._timeline.steady_ms() + SECRET_OVERLAP_S * SECOND_MS
        await self._storage.write(_rotate, endpoint.seq, secret, until)
        return answer(self._shown(endpoint) | {"secret": secret.reveal()})

    async def delete(self, request: Request) -> Response:
        """Delete an endpoint; what waited for it is given up."""
        endpoint = self._found(request)
        await self._storage.write(_delete, endpoint.seq, self._timeline.now_ms())
        await self._courier.forget(endpoint)
        return Response(status_code=204)

    def _found(self, request: Request) -> Endpoint:
        for endpoint in queries.endpoints(self._storage.reader):
            if endpoint.id == request.path_params["id"]:
                return endpoint
        raise not_found()

    def _shown(self, endpoint: Endpoint) -> dict[str, Any]:
        # The fuse lives on the steady line; a person reads the wall.
        wall = self._timeline.now_ms() - self._timeline.steady_ms()

        def at(steady: int | None) -> str | None:
            return iso_or_none(None if steady is None else steady + wall)

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
        endpoint_id=rules.chance.identifier("we", number),
        mode=mode,
        url=url,
        secret=secret.reveal(),
        at_ms=now_ms,
    )
    return queries.endpoint(connection, number)


def _enable(connection: Connection, endpoint: int, steady_ms: int) -> list[OpenDelivery]:
    changes.set_fuse(connection, endpoint, lit_at=None, disabled_at=None)
    return changes.release_deliveries(connection, endpoint, steady_ms)


def _rotate(connection: Connection, endpoint: int, secret: Secret, until: int) -> None:
    changes.rotate_secret(connection, endpoint, secret=secret.reveal(), old_until=until)


def _delete(connection: Connection, endpoint: int, now_ms: int) -> None:
    changes.give_up_deliveries(connection, endpoint)
    changes.delete_endpoint(connection, endpoint, now_ms)
