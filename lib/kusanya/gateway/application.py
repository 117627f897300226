"""The gateway as an ASGI application: a request is one call of the library, on a thread."""

import asyncio
import hmac
import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs, quote, unquote

import msgspec

from kusanya import channels, orders
from kusanya.client import Client
from kusanya.errors import (
    AmountChanged,
    IntentError,
    InvalidRequest,
    KusanyaError,
    ServiceError,
    StoreChanged,
    StoreError,
    StoreUnavailable,
)
from kusanya.gateway.documents import (
    TAKEN_MAX,
    WAIT_MAX_S,
    ChannelDocument,
    ErrorDocument,
    OrderDocument,
    Problem,
    Reason,
    Wanted,
    openapi,
)
from kusanya.orders import Order, OrderStatus
from kusanya.outcomes.forwarder import cloud_event
from kusanya.privacy import redact
from kusanya.privacy.secret import Secret
from kusanya.receiver.status_pages import PageAnswer, Receive, Scope, Send, send_page
from kusanya.say import Language, in_language
from kusanya.store import Store
from kusanya.wire import Mode

_LARGEST_BYTES: Final = 16 * 1024
_LEASE: Final = timedelta(minutes=2)
_PAYING, _READING = 32, 8
"""Threads; more at once wait for one."""
_PAUSE_S: Final = (0.05, 1.0)
"""The shortest and longest pause between two looks at the journal's end, which is one row."""
_JSON: Final = b"application/json"
_OPEN: Final = frozenset({OrderStatus.ASKED, OrderStatus.UNKNOWN})
Result = TypeVar("Result")
Document = TypeVar("Document")


class _Refused(Exception):  # noqa: N818 - control flow inside this module, never leaves it
    """A request is not carried out."""

    def __init__(self, status: HTTPStatus, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Gateway:
    """An ASGI 3 application: orders, outcomes and channels of one mode.

    Every request but `GET /openapi.json` carries `Authorization: Bearer` and the token. What it
    answers as done is durable. It opens and closes neither store nor client.
    """

    def __init__(self, store: Store, client: Client, *, mode: Mode, token: Secret) -> None:
        self._store, self._client, self._mode = store, client, Mode(mode)
        self._token = token.reveal().encode()
        self._by = f"gateway {socket.gethostname()} {os.getpid()}"
        # While the service does not answer, a payment holds its thread: reading has its own.
        self._paying = ThreadPoolExecutor(_PAYING, thread_name_prefix="paying")
        self._reading = ThreadPoolExecutor(_READING, thread_name_prefix="reading")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise ValueError(f"the gateway speaks HTTP, not {scope['type']}")
        try:
            page = await self._answer(scope, receive)
        except _Refused as refused:
            page = _problem(refused.status, refused.code, str(refused))
        except KusanyaError as error:
            page = _of_error(error)
        await send_page(send, page, (b"cache-control", b"no-store"))

    async def _answer(self, scope: Scope, receive: Receive) -> PageAnswer:
        raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
        path = raw.partition(b"?")[0].decode("latin-1")
        if (scope["method"], path) == ("GET", "/openapi.json"):
            return _page(openapi())
        scheme, _, given = dict(scope["headers"]).get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self._token):
            why = "show the gateway's token, as Authorization: Bearer TOKEN"
            raise _Refused(HTTPStatus.UNAUTHORIZED, "unauthorized", why)
        return await self._carry_out(scope, path, receive)

    async def _carry_out(self, scope: Scope, path: str, receive: Receive) -> PageAnswer:
        asked = parse_qs(scope["query_string"].decode("ascii", "replace"))
        match scope["method"], _parts(path):
            case "PUT", ["v1", "orders", reference]:
                return await self._pay(reference, await _body(receive, Wanted))
            case "GET", ["v1", "orders", reference]:
                return await self._order(reference, receive, wait_s=_wait_s(asked))
            case "GET", ["v1", "outcomes"]:
                return await self._outcomes(_named(asked), receive, wait_s=_wait_s(asked))
            case "POST", ["v1", "outcomes", outcome_id, "done"]:
                done = self._store.outcomes.done
                await _run(self._reading, partial(done, _named(asked), outcome_id, mode=self._mode))
                return PageAnswer(HTTPStatus.NO_CONTENT, b"")
            case "POST", ["v1", "outcomes", outcome_id, "parked"]:
                why = (await _body(receive, Reason)).why.strip() or "parked by the shop"
                park = partial(self._store.outcomes.park, mode=self._mode, why=redact(why)[:500])
                await _run(self._reading, partial(park, _named(asked), outcome_id))
                return PageAnswer(HTTPStatus.NO_CONTENT, b"")
            case "GET", ["v1", "channels"]:
                found = await _run(
                    self._reading, partial(channels.now, self._store, mode=self._mode)
                )
                return _page([ChannelDocument.of(one) for one in found])
        raise _Refused(HTTPStatus.NOT_FOUND, "not_found", "GET /openapi.json tells what there is")

    async def _pay(self, reference: str, wanted: Wanted) -> PageAnswer:
        pay = partial(
            orders.pay,
            self._store,
            self._client,
            reference,
            amount=wanted.amount,
            phone=wanted.phone,
            description=wanted.description,
            metadata=wanted.metadata,
            unless_down=wanted.unless_down,
        )
        with _refusing_invalid():
            return _page(OrderDocument.of(await _run(self._paying, pay)))

    async def _order(self, reference: str, receive: Receive, *, wait_s: float) -> PageAnswer:
        get = partial(orders.get, self._store, reference, mode=self._mode)

        def is_over(order: Order) -> bool:
            return order.status not in _OPEN

        with _refusing_invalid():
            return _page(OrderDocument.of(await self._waited(get, is_over, receive, wait_s)))

    async def _outcomes(self, consumer: str, receive: Receive, *, wait_s: float) -> PageAnswer:
        def take() -> list[dict[str, Any]]:
            self._store.outcomes.tell()
            until = self._store.clock.now() + _LEASE
            taken = self._store.outcomes.take(
                consumer, mode=self._mode, by=self._by, until=until, limit=TAKEN_MAX
            )
            return [cloud_event(work.outcome) for work in taken]

        return _page(await self._waited(take, bool, receive, wait_s))

    async def _waited(
        self,
        read: Callable[[], Result],
        is_enough: Callable[[Result], bool],
        receive: Receive,
        wait_s: float,
    ) -> Result:
        """Return what `read` finds, read again after each commit until it is enough.

        Whoever went away is read nothing for: what is leased to nobody waits for two minutes.
        """
        loop = asyncio.get_running_loop()
        until, pause_s = loop.time() + wait_s, _PAUSE_S[0]
        gone = asyncio.ensure_future(_gone(receive))
        try:
            while True:
                head = await _run(self._reading, self._store.feed.head)
                _check_there(gone)
                found = await _run(self._reading, read)
                if is_enough(found):
                    return found
                while await _run(self._reading, self._store.feed.head) == head:
                    left_s = until - loop.time()
                    if left_s <= 0:
                        return found
                    await asyncio.sleep(min(pause_s, left_s))
                    _check_there(gone)
                    pause_s = min(2 * pause_s, _PAUSE_S[1])
                pause_s = _PAUSE_S[0]
        finally:
            gone.cancel()


async def _gone(receive: Receive) -> None:
    """Return once the asking program has gone away."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _invalid(message: str) -> _Refused:
    return _Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", message)


@contextmanager
def _refusing_invalid() -> Iterator[None]:
    """Refuse what the library cannot send or keep; its words name the field and repeat no phone."""
    try:
        yield
    except ValueError as error:
        raise _invalid(str(error)) from None


def _cut_short() -> _Refused:
    return _Refused(HTTPStatus.BAD_REQUEST, "cut_short", "the request was cut short")


def _check_there(gone: "asyncio.Future[None]") -> None:
    if gone.done():
        raise _cut_short()


async def _run(threads: ThreadPoolExecutor, work: Callable[[], Result]) -> Result:
    """Run what blocks on a thread. It goes on where the asking program went away."""
    return await asyncio.shield(asyncio.get_running_loop().run_in_executor(threads, work))


def _parts(path: str) -> list[str]:
    """Return the parts of a path. Two that are not UTF-8 could be read as the same order."""
    try:
        return [
            unquote(part, errors="strict") for part in path.encode("ascii").decode().split("/")[1:]
        ]
    except UnicodeError:
        raise _invalid("the path is UTF-8, percent-encoded") from None


async def _body(receive: Receive, kind: type[Document]) -> Document:
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise _cut_short()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > _LARGEST_BYTES:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", "16 KiB at the most")
        if not message.get("more_body", False):
            break
    try:
        return msgspec.json.decode(b"".join(parts), type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _invalid(str(error)) from None


def _wait_s(asked: dict[str, list[str]]) -> float:
    text = asked.get("wait", ["0"])[0]
    if not text.isascii() or not text.isdigit() or len(text) > 2 or int(text) > WAIT_MAX_S:  # noqa: PLR2004
        raise _invalid(f"wait is 0 to {WAIT_MAX_S} seconds")
    return float(text)


def _named(asked: dict[str, list[str]]) -> str:
    found = asked.get("consumer", [""])[0]
    if not found:
        raise _invalid("name a consumer: ?consumer=")
    return found


def _page(document: Any) -> PageAnswer:
    return PageAnswer(HTTPStatus.OK, msgspec.json.encode(document), _JSON)


def _problem(status: HTTPStatus, code: str, message: str) -> PageAnswer:
    plain = in_language(message, Language.ENGLISH)
    said = ErrorDocument(error=Problem(code=code, message=plain))
    return PageAnswer(status, msgspec.json.encode(said), _JSON)


def _of_error(error: KusanyaError) -> PageAnswer:
    """Return what an error of the library means to who asked; the first fitting line holds."""
    for kinds, status, code in _ERRORS:
        if isinstance(error, kinds):
            return _problem(status, code, str(error))
    return _problem(HTTPStatus.BAD_GATEWAY, "service", str(error))


_ERRORS: Final[tuple[tuple[Any, HTTPStatus, str], ...]] = (
    (AmountChanged, HTTPStatus.CONFLICT, "amount_changed"),
    (IntentError, HTTPStatus.CONFLICT, "order_open"),
    (InvalidRequest, HTTPStatus.UNPROCESSABLE_ENTITY, "invalid"),
    (ServiceError, HTTPStatus.BAD_GATEWAY, "service"),
    (StoreChanged, HTTPStatus.CONFLICT, "store_changed"),
    (StoreUnavailable, HTTPStatus.SERVICE_UNAVAILABLE, "store_away"),
    (StoreError, HTTPStatus.UNPROCESSABLE_ENTITY, "store"),
)
