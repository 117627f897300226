"""The four endpoints of /v1, and nothing else.

Source: Endpoints. A request is judged in this order: path, method, key, what the key may do, rate,
idempotency key, content type, body; then its idempotency key's history, and only then its values.
"""

import asyncio
import itertools
import logging
import secrets
from http import HTTPStatus
from typing import Final

from kusanya.wire import is_collection_id, is_event_id
from kusanya_service.asgi import (
    Disconnected,
    Receive,
    Scope,
    Send,
    cut,
    read_body,
    send_json,
    values_of,
)
from kusanya_service.delivery.event_runner import EventRunner
from kusanya_service.errors import (
    ApiError,
    StorageError,
    broken,
    envelope,
    method_not_allowed,
    no_such_path,
    not_found,
    unavailable,
)
from kusanya_service.http import idempotency
from kusanya_service.http.auth import Caller, KeyRing
from kusanya_service.http.creation import CreateAnswer, KeyConflict, create, earlier_answer
from kusanya_service.http.rate import RateLimit
from kusanya_service.http.requests import BODY_MAX_BYTES, NewCollection, parse, validate
from kusanya_service.simulation.clock import ServiceClock
from kusanya_service.simulation.faults import FaultKind, Faults
from kusanya_service.simulation.networks import Script
from kusanya_service.simulation.resources import Principal, encode
from kusanya_service.simulation.rules import Rules
from kusanya_service.storage import queries
from kusanya_service.storage.store import Storage

_log = logging.getLogger("kusanya_service")

_COLLECTIONS: Final = "/v1/collections"
_COLLECTION: Final = "/v1/collections/"
_EVENT: Final = "/v1/events/"
_WHOAMI: Final = "/v1/whoami"
_REPLAYED: Final = (b"idempotent-replayed", b"true")
_TRIES_MAX: Final = 10_000


async def send_error(
    send: Send, error: ApiError, request_id: str, *headers: tuple[bytes, bytes]
) -> None:
    """Answer with an error."""
    if error.retry_after_s is not None:
        headers = (*headers, (b"retry-after", str(error.retry_after_s).encode()))
    if error.status == HTTPStatus.UNAUTHORIZED:
        headers = (*headers, (b"www-authenticate", b"Bearer"))
    await send_json(send, error.status, envelope(error, request_id), request_id, *headers)


class RequestIds:
    """Identifiers for support to quote: random per process, counted within it."""

    def __init__(self) -> None:
        self._head = f"req_{secrets.token_hex(6)}"
        self._count = itertools.count(1)

    def next(self) -> str:
        """Return the next request's identifier."""
        return f"{self._head}{next(self._count):08x}"


class Api:
    """The /v1 application."""

    def __init__(
        self,
        *,
        storage: Storage,
        clock: ServiceClock,
        runner: EventRunner,
        rules: Rules,
        keys: KeyRing,
        request_ids: RequestIds,
        faults: Faults,
        rate_limit: RateLimit,
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._runner = runner
        self._rules = rules
        self._keys = keys
        self._request_ids = request_ids
        self._faults = faults
        self._rate_limit = rate_limit
        self._tries: dict[tuple[str, str], int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; every path ends in an answer, a cut or a caller who went away."""
        request_id = self._request_ids.next()
        try:
            await self._route(scope, receive, send, request_id)
        except ApiError as error:
            await send_error(send, error, request_id, *_allow(scope["path"], error))
        except StorageError:
            await send_error(send, unavailable(), request_id)
        except Disconnected:
            return
        except Exception as error:  # noqa: BLE001 - the last line: a bug is answered and logged
            _log.error("request %s failed: %s", request_id, type(error).__name__)
            await send_error(send, broken(), request_id)

    async def _route(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
        path: str = scope["path"]
        method: str = scope["method"]
        if path == _COLLECTIONS:
            _require(method, "POST")
            await self._create(scope, receive, send, request_id)
            return
        found: bytes | None
        if path.startswith(_COLLECTION) and "/" not in path[len(_COLLECTION) :]:
            _require(method, "GET")
            caller = self._admitted(scope)
            found = self._collection(path[len(_COLLECTION) :], caller)
        elif path.startswith(_EVENT) and "/" not in path[len(_EVENT) :]:
            _require(method, "GET")
            caller = self._admitted(scope)
            found = self._event(path[len(_EVENT) :], caller)
        elif path == _WHOAMI:
            _require(method, "GET")
            caller = self._admitted(scope)
            found = self._whoami(caller)
        else:
            raise no_such_path()
        if found is None:
            raise not_found()
        await send_json(send, 200, found, request_id)

    def _admitted(self, scope: Scope) -> Caller:
        caller = self._keys.authenticate(values_of(scope, b"authorization"))
        self._rate_limit.admit(caller.key_id)
        return caller

    # GET

    def _collection(self, collection_id: str, caller: Caller) -> bytes | None:
        if not is_collection_id(collection_id):
            return None
        return queries.collection_body(self._storage.reader, collection_id, caller.mode)

    def _event(self, event_id: str, caller: Caller) -> bytes | None:
        if not is_event_id(event_id):
            return None
        return queries.event_body(self._storage.reader, event_id, caller.mode)

    def _whoami(self, caller: Caller) -> bytes:
        return encode(
            Principal(
                key_id=caller.key_id,
                merchant_id=self._rules.merchant_id,
                mode=caller.mode,
                object="principal",
            )
        )

    # POST

    async def _create(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
        caller = self._admitted(scope)
        if not caller.may_write:
            raise ApiError(403, "forbidden", "this API key may only read")
        key = idempotency.read_key(values_of(scope, b"idempotency-key"))
        use, new = await self._read_creation(scope, receive, caller, key)
        mode = caller.mode.value
        script = self._rules.networks.script_of(new.phone, mode)
        attempt = self._try_number(mode, key)
        if self._faults.roll(FaultKind.RESET_REQUEST, key, attempt):
            cut(scope)
            return
        # Tries are remembered by this process alone: what has its answer keeps it all the same.
        first = script.first_refused and attempt == 1 and self._earlier_answer(use) is None
        if first or self._faults.roll(FaultKind.FAIL_BEFORE_COMMIT, key, attempt):
            raise ApiError(500, "internal_error", "a fault was asked for; nothing was kept")
        outcome = await self._storage.write(
            create,
            use,
            new,
            mode=mode,
            now_ms=self._clock.now_ms(),
            monotonic_ms=self._clock.monotonic_ms(),
            rules=self._rules,
        )
        if isinstance(outcome, KeyConflict):
            raise idempotency.reused()
        if not outcome.replayed:
            await self._schedule_outcome(outcome, script)
            if script.answer_lost or self._faults.roll(FaultKind.LOSE_ANSWER, key, attempt):
                cut(scope)
                return
        delay = self._faults.roll(FaultKind.DELAY_ANSWER, key, attempt)
        if delay is not None:
            await asyncio.sleep(delay.seconds)
        drip = self._faults.roll(FaultKind.DRIP_ANSWER, key, attempt)
        headers = (_REPLAYED,) if outcome.replayed else ()
        await send_json(
            send, 202, outcome.body, request_id, *headers, over_s=drip.seconds if drip else 0.0
        )

    async def _read_creation(
        self, scope: Scope, receive: Receive, caller: Caller, key: str
    ) -> tuple[idempotency.KeyUse, NewCollection]:
        """Return the key's use and what is to be created. Raises ApiError for what is wrong."""
        _require_json(scope)
        body = await read_body(scope, receive, BODY_MAX_BYTES)
        if body is None:
            raise ApiError(413, "body_too_large", f"a body has at most {BODY_MAX_BYTES} bytes")
        parsed = parse(body)
        use = idempotency.key_use(
            merchant=self._rules.merchant_id,
            mode=caller.mode.value,
            path=_COLLECTIONS,
            key=key,
            canonical=parsed.canonical,
        )
        try:
            return use, validate(parsed.value, self._rules.bounds)
        except ApiError:
            self._refuse_reused_key(use)
            raise

    def _refuse_reused_key(self, use: idempotency.KeyUse) -> None:
        """Raise 409 for a key that has an answer: an unacceptable body is another body."""
        if self._earlier_answer(use) is not None:
            raise idempotency.reused()

    def _earlier_answer(self, use: idempotency.KeyUse) -> CreateAnswer | KeyConflict | None:
        """Return what a key was answered with, or None for one that is free."""
        return earlier_answer(self._storage.reader, use, self._clock.monotonic_ms())

    def _try_number(self, mode: str, key: str) -> int:
        """Return how often a key was sent, this time included, as far as remembered."""
        number = self._tries.pop((mode, key), 0) + 1
        if len(self._tries) >= _TRIES_MAX:
            self._tries.pop(next(iter(self._tries)))
        self._tries[mode, key] = number
        return number

    async def _schedule_outcome(self, created: CreateAnswer, script: Script) -> None:
        if script.at_once:
            await self._runner.finalise_now(created.number)
        else:
            self._runner.schedule_outcome(created.number, created.due_at)


def _require(method: str, allowed: str) -> None:
    if method != allowed:
        raise method_not_allowed()


def _allow(path: str, error: ApiError) -> tuple[tuple[bytes, bytes], ...]:
    if error.status != 405:  # noqa: PLR2004 - Method Not Allowed names the methods that are
        return ()
    return ((b"allow", b"POST" if path == _COLLECTIONS else b"GET, HEAD"),)


def _require_json(scope: Scope) -> None:
    kinds = values_of(scope, b"content-type")
    if not kinds:
        raise ApiError(
            400, "invalid_request", "name the body's type: application/json", param="Content-Type"
        )
    kind = kinds[0].split(b";", 1)[0].strip().lower() if len(kinds) == 1 else b""
    if kind != b"application/json":
        raise ApiError(415, "unsupported_media_type", "send application/json", param="Content-Type")
    if any(value.strip().lower() != b"identity" for value in values_of(scope, b"content-encoding")):
        raise ApiError(
            415, "unsupported_media_type", "send the body uncompressed", param="Content-Encoding"
        )
