"""One attempt on the wire: sign, send, classify the answer, all within ten seconds.

Success is any 2xx whose exchange ends in time. A redirect is a failure and is never followed; the
answer's body is read up to a bound, never inflated and never kept. Sockets take real time whatever
the service's clock. However an attempt ends, it has an outcome: without one it would not be
recorded, and its delivery would fall out of the schedule. Source: Delivery rules 1; Signature.
"""

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncIterator
from typing import Final

import certifi
import httpcore
import msgspec

from kusanya.domain.limits import ACKNOWLEDGEMENT_TIME
from kusanya.webhooks.signature import sign
from kusanya_service.delivery.address_policy import (
    AddressBlocked,
    AddressPolicy,
    GuardedNetwork,
    HostUnresolved,
)
from kusanya_service.delivery.resolver import Resolve
from kusanya_service.delivery.urls import EndpointUrl, parse_url
from kusanya_service.errors import code_places
from kusanya_service.simulation.clock import SECOND_MS
from kusanya_service.simulation.faults import NO_CHANGE, PIECES, PayloadChange, pieces_of
from kusanya_service.storage.records import Endpoint

_log = logging.getLogger("kusanya_service")
ANSWER_MAX_BYTES: Final = 64 * 1024
"""How much of an answer's body is read; a longer one is cut and judged by its status."""
CONNECTIONS: Final = 16
"""Attempts in flight to one healthy endpoint."""
_IDLE_S: Final = 2.0
"""Shorter than any server keeps an idle connection, so that none is found closed."""


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt went: `outcome` is a stable word, `error` a sentence or None."""

    outcome: str
    status_code: int | None = None
    error: str | None = None
    duration_ms: int = 0


class SignedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent: exact bytes, when and with which secrets they are signed."""

    body: bytes
    signed_at_ms: int
    secrets: tuple[str, ...]


def signature_of(request: SignedRequest) -> str:
    """Return the signature header's value: one v1 for each secret, the newest first."""
    timestamp = request.signed_at_ms // SECOND_MS
    first, *others = (sign(request.body, secret, timestamp) for secret in request.secrets)
    return ",".join([first, *(other.split(",", 1)[1] for other in others)])


class _Cut(Exception):  # noqa: N818 - reads as the condition it states
    """A fault cuts the exchange."""


def _signature(request: SignedRequest, change: PayloadChange) -> bytes:
    if change.skew_s:
        skewed = request.signed_at_ms + round(change.skew_s * SECOND_MS)
        request = msgspec.structs.replace(request, signed_at_ms=skewed)
    value = signature_of(request)
    if change.signature_changed:
        value = value[:-1] + ("0" if value[-1] != "0" else "1")
    return value.encode()


async def _changed_body(body: bytes, change: PayloadChange) -> AsyncIterator[bytes]:
    """Yield a body as the faults leave it, in pieces where it drips or is cut."""
    middle = len(body) // 2
    if change.body_changed:
        body = body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]
    yield body[:middle]
    if change.cut:
        raise _Cut
    if change.drip_s <= 0:
        yield body[middle:]
        return
    for piece in pieces_of(body[middle:]):
        await asyncio.sleep(change.drip_s / PIECES)
        yield piece


class HttpSender:
    """Sends signed requests to endpoints; no two endpoints share a connection."""

    def __init__(
        self,
        *,
        policy: AddressPolicy,
        resolve: Resolve,
        signature_header: str,
        ca_file: str | None = None,
        within_s: float = ACKNOWLEDGEMENT_TIME.total_seconds(),
    ) -> None:
        self._policy = policy
        self._resolve = resolve
        self._header = signature_header.encode("ascii")
        # Named by us: the default would let the environment replace it.
        self._trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._trust.load_verify_locations(ca_file or certifi.where())
        self._within_s = within_s
        self._pools: dict[int, httpcore.AsyncConnectionPool] = {}
        self._targets: dict[int, EndpointUrl] = {}

    async def send(
        self, endpoint: Endpoint, request: SignedRequest, change: PayloadChange = NO_CHANGE
    ) -> Exchange:
        """Make one attempt and return how it went; nothing that happens on the way raises."""
        exchange = await self._timed(endpoint, request, change)
        if change.doubled:
            await self._timed(endpoint, request, change)
        return exchange

    async def _timed(
        self, endpoint: Endpoint, request: SignedRequest, change: PayloadChange
    ) -> Exchange:
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._within_s):
                exchange = await self._exchange(endpoint, request, change)
        except TimeoutError:
            exchange = _failed("timeout", f"no complete answer within {self._within_s:g} s")
        except AddressBlocked as error:
            exchange = _failed("blocked_address", str(error))
        except HostUnresolved as error:
            exchange = _failed("dns_error", str(error))
        except httpcore.ConnectError as error:
            exchange = _not_connected(error)
        except httpcore.TimeoutException:
            exchange = _failed("timeout", "the connection stood still")
        except (httpcore.NetworkError, _Cut):
            exchange = _failed("connection_lost", "the connection was lost before the answer ended")
        except (httpcore.ProtocolError, httpcore.UnsupportedProtocol):
            exchange = _failed("protocol_error", "the answer is not HTTP/1.1")
        except Exception as error:  # noqa: BLE001 - a bug too is an attempt that failed
            exchange = _unexpected(error)
        duration_ms = round((time.monotonic() - started) * SECOND_MS)
        return msgspec.structs.replace(exchange, duration_ms=duration_ms)

    async def _exchange(
        self, endpoint: Endpoint, signed: SignedRequest, change: PayloadChange
    ) -> Exchange:
        if change.dropped:
            raise _Cut
        target = self._target(endpoint)
        request = httpcore.Request(
            b"POST",
            httpcore.URL(
                scheme=target.scheme.encode(),
                host=target.host.encode(),
                port=target.port,
                target=target.path.encode(),
            ),
            headers=[
                (b"Host", target.authority.encode()),
                (b"Content-Type", b"application/json"),
                (b"Content-Length", str(len(signed.body)).encode()),
                (self._header, _signature(signed, change)),
                (b"User-Agent", b"kusanya-service"),
                (b"Accept-Encoding", b"identity"),
            ],
            content=signed.body if change is NO_CHANGE else _changed_body(signed.body, change),
        )
        response = await self._pool(endpoint).handle_async_request(request)
        try:
            read = 0
            async for chunk in response.aiter_stream():
                read += len(chunk)
                if read > ANSWER_MAX_BYTES:
                    break
        finally:
            await response.aclose()
        return _classify(response.status)

    def _target(self, endpoint: Endpoint) -> EndpointUrl:
        target = self._targets.get(endpoint.seq)
        if target is None:
            target = self._targets[endpoint.seq] = parse_url(endpoint.url, endpoint.mode)
        return target

    def _pool(self, endpoint: Endpoint) -> httpcore.AsyncConnectionPool:
        pool = self._pools.get(endpoint.seq)
        if pool is None:
            pool = self._pools[endpoint.seq] = httpcore.AsyncConnectionPool(
                ssl_context=self._trust,
                max_connections=CONNECTIONS,
                max_keepalive_connections=CONNECTIONS,
                keepalive_expiry=_IDLE_S,
                network_backend=GuardedNetwork(self._policy, endpoint.mode, self._resolve),
            )
        return pool

    async def forget(self, endpoint: Endpoint) -> None:
        """Close the connections of an endpoint."""
        self._targets.pop(endpoint.seq, None)
        pool = self._pools.pop(endpoint.seq, None)
        if pool is not None:
            await pool.aclose()

    async def close(self) -> None:
        """Close all connections."""
        while self._pools:
            await self._pools.popitem()[1].aclose()


def _classify(status: int) -> Exchange:
    if 200 <= status < 300:  # noqa: PLR2004 - what "any 2xx" means
        return Exchange(outcome="succeeded", status_code=status)
    if 300 <= status < 400:  # noqa: PLR2004 - a redirect
        return Exchange(
            outcome="redirect", status_code=status, error="a redirect is a failure, never followed"
        )
    return Exchange(
        outcome="bad_status", status_code=status, error=f"the endpoint answered {status}, not 2xx"
    )


def _not_connected(error: httpcore.ConnectError) -> Exchange:
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    if any(isinstance(known, ssl.SSLError) for known in causes):
        return _failed("tls_error", "the endpoint's certificate or TLS was not accepted")
    if any(isinstance(known, ConnectionRefusedError) for known in causes):
        return _failed("connection_refused", "nothing listens at the endpoint's address")
    return _failed("connect_error", "the endpoint could not be reached")


def _unexpected(error: Exception) -> Exchange:
    kind = type(error).__name__
    _log.error("an attempt failed with an unexpected %s:\n%s", kind, code_places(error))
    return _failed("internal_error", f"the attempt failed inside the service ({kind})")


def _failed(outcome: str, error: str) -> Exchange:
    return Exchange(outcome=outcome, error=error)
