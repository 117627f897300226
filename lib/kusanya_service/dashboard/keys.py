"""Keys in the dashboard: made and shown once, listed without their secret, revoked."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from kusanya.secret import Secret
from kusanya.wire import Mode
from kusanya_service.dashboard.web import answer, listing, read
from kusanya_service.errors import ApiError
from kusanya_service.http.answers import not_found
from kusanya_service.http.auth import FULL, KeyRing, digest, hint, mint
from kusanya_service.instants import iso, iso_or_none
from kusanya_service.simulation.rules import Rules
from kusanya_service.simulation.timeline import Timeline
from kusanya_service.storage import changes, queries
from kusanya_service.storage.database import Connection
from kusanya_service.storage.records import ApiKey
from kusanya_service.storage.store import Storage


class _NewKey(msgspec.Struct, forbid_unknown_fields=True):
    mode: Mode
    access: str = FULL


def add_key(
    connection: Connection, key: Secret, *, mode: str, access: str, now_ms: int, rules: Rules
) -> ApiKey:
    """Keep a new key's digest and return what is known of it."""
    number = changes.next_number(connection, "api_key")
    kept = ApiKey(
        id=rules.chance.identifier("key", number),
        mode=mode,
        access=access,
        digest=digest(key),
        hint=hint(key),
        created_at=now_ms,
    )
    changes.add_key(connection, kept)
    return kept


class Keys:
    """The routes under /dashboard/keys."""

    def __init__(
        self, *, storage: Storage, timeline: Timeline, rules: Rules, ring: KeyRing, prefix: str
    ) -> None:
        self._storage = storage
        self._timeline = timeline
        self._rules = rules
        self._ring = ring
        self._prefix = prefix

    async def make(self, request: Request) -> Response:
        """Make a key; its secret is in this answer and nowhere else."""
        wanted = await read(request, _NewKey)
        if wanted.access not in {"full", "read"}:
            raise ApiError(422, "invalid_request", "access is full or read", param="access")
        key = mint(self._prefix, wanted.mode)
        kept = await self._storage.write(
            add_key,
            key,
            mode=wanted.mode.value,
            access=wanted.access,
            now_ms=self._timeline.now_ms(),
            rules=self._rules,
        )
        self._ring.add(kept)
        return answer(_shown(kept) | {"key": key.reveal()}, 201)

    async def list(self, _request: Request) -> Response:
        """List all keys, revoked ones too."""
        return listing([_shown(key) for key in queries.keys(self._storage.reader)])

    async def revoke(self, request: Request) -> Response:
        """Revoke a key; from now on it opens nothing."""
        key_id = request.path_params["id"]
        for key in queries.keys(self._storage.reader):
            if key.id == key_id:
                await self._storage.write(changes.revoke_key, key_id, self._timeline.now_ms())
                self._ring.remove(key)
                return Response(status_code=204)
        raise not_found()


def _shown(key: ApiKey) -> dict[str, str | None]:
    return {
        "id": key.id,
        "mode": key.mode,
        "access": key.access,
        "hint": f"…{key.hint}",
        "created_at": iso(key.created_at),
        "revoked_at": iso_or_none(key.revoked_at),
    }
