"""Keys in the dashboard: make and show once, list without the secret, revoke."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from kusanya.wire import Mode
from kusanya_service.dashboard.web import answer, list_answer, read
from kusanya_service.errors import ApiError, not_found
from kusanya_service.http.auth import FULL, READ, KeyRing, add_key, new_api_key
from kusanya_service.simulation.clock import ServiceClock, iso, iso_or_none
from kusanya_service.simulation.rules import Rules
from kusanya_service.storage import changes, queries
from kusanya_service.storage.records import ApiKey
from kusanya_service.storage.store import Storage


class _NewKey(msgspec.Struct, forbid_unknown_fields=True):
    mode: Mode
    access: str = FULL


class KeyRoutes:
    """The routes under /dashboard/keys."""

    def __init__(
        self,
        *,
        storage: Storage,
        clock: ServiceClock,
        rules: Rules,
        ring: KeyRing,
        prefix: str,
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._rules = rules
        self._ring = ring
        self._prefix = prefix

    async def make(self, request: Request) -> Response:
        """Make a key; its secret is in this answer and nowhere else."""
        wanted = await read(request, _NewKey)
        if wanted.access not in {FULL, READ}:
            raise ApiError(422, "invalid_request", "access is full or read", param="access")
        key = new_api_key(self._prefix, wanted.mode)
        stored = await self._storage.write(
            add_key,
            key,
            mode=wanted.mode.value,
            access=wanted.access,
            now_ms=self._clock.now_ms(),
            rules=self._rules,
        )
        self._ring.add(stored)
        return answer(_to_json(stored) | {"key": key.reveal()}, 201)

    async def list(self, _request: Request) -> Response:
        """List all keys, revoked ones too."""
        return list_answer([_to_json(key) for key in queries.keys(self._storage.reader)])

    async def revoke(self, request: Request) -> Response:
        """Revoke a key; from now on it opens nothing."""
        key_id = request.path_params["id"]
        for key in queries.keys(self._storage.reader):
            if key.id == key_id:
                await self._storage.write(changes.revoke_key, key_id, self._clock.now_ms())
                self._ring.remove(key)
                return Response(status_code=204)
        raise not_found()


def _to_json(key: ApiKey) -> dict[str, str | None]:
    return {
        "id": key.id,
        "mode": key.mode,
        "access": key.access,
        "hint": f"…{key.hint}",
        "created_at": iso(key.created_at),
        "revoked_at": iso_or_none(key.revoked_at),
    }
