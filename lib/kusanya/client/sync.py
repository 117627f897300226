"""The blocking driver."""

from collections.abc import Callable, Mapping
from random import SystemRandom
from types import TracebackType
from typing import Final, Self, TypeVar

import httpcore

from kusanya.client import requests
from kusanya.client.address import Address, address_of, mode_of
from kusanya.client.core import Core
from kusanya.client.deadline import CallDeadline, DeadlineBackend
from kusanya.client.effects import (
    Call,
    Effect,
    Effects,
    Failure,
    Reply,
    Request,
    Response,
    Send,
    Sleep,
)
from kusanya.client.headers import fixed_headers, headers_of, trusted_roots
from kusanya.client.retry_policy import RetryPolicy
from kusanya.clock import Clock, SystemClock
from kusanya.forks import ForkAware
from kusanya.limits import ANSWER_MAX_BYTES
from kusanya.secret import Secret
from kusanya.wire import Collection, Event, Mode, Principal

Result = TypeVar("Result")
DEFAULT_WAIT_S: Final = 150.0
"""Longer than a live prompt stays open (assumption EXPIRY)."""


class Client:
    """Create and read collections, one call at a time per thread; safe to share among threads.

    `api_key` selects the mode; `mode` is what the caller expects, and a key of the other mode is
    refused (ConfigurationError), as is an http `base_url` that is not this machine. `key_prefix`
    is the service's own, where it should be checked. `timeout` is the total deadline of a call in
    seconds, retries included; `max_attempts` bounds the retries. `clock` and `random` (numbers
    from 0 to 1) are for tests, as is `transport`, which stands in for the network: it is given
    each request and the seconds it may take, and returns a Response or a Failure.

    Every method raises a KusanyaError, or ValueError and TypeError for an argument that cannot be
    sent. Every value it returns carries `.raw` (exact bytes) and `.response` (status, headers,
    request id, replayed).
    """

    def __init__(
        self,
        api_key: str | Secret,
        *,
        base_url: str,
        mode: Mode | str | None = None,
        timeout: float = 30.0,
        max_attempts: int = 5,
        key_prefix: str | None = None,
        clock: Clock | None = None,
        random: Callable[[], float] | None = None,
        transport: Callable[[Request, float], Reply] | None = None,
    ) -> None:
        secret = Secret(api_key)
        self.mode: Final = mode_of(secret, expected=mode, prefix=key_prefix)
        self._clock = clock or SystemClock()
        address = address_of(base_url, mode=self.mode)
        self.core: Final = Core(
            mode=self.mode,
            clock=self._clock,
            chance=random or SystemRandom().random,
            retry_policy=RetryPolicy(timeout_s=timeout, attempts=max_attempts),
            origin=address.url,
        )
        self._network: _Network | None = None
        if transport is None:
            self._network = _Network(address, secret)
            transport = self._network.send
        self._send = transport

    @property
    def origin(self) -> str:
        """Return the base address that requests go to, without a last slash."""
        return self.core.origin

    def create_collection(
        self,
        *,
        amount: int,
        phone: str,
        reference: str,
        description: str | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        phone_as_is: bool = False,
    ) -> Collection:
        """Start a USSD push to the customer's phone and return the collection as created.

        Not crash-safe: the idempotency key lives in memory until this returns. Where money must
        never be taken twice, use `kusanya.intents.create_safely`. A value with
        `.response.replayed` tells the past: ask `get_collection` for the present.

        Raises OutcomeUnknown where it left and no usable answer came, NotSent where it certainly
        did not, IdempotencyKeyReused, InvalidRequest and the rest of the tree; ProtocolError with
        `outcome_unknown` for an answer that the specification does not allow.
        Source: POST /v1/collections.
        """
        body = requests.creation_body(
            amount=amount,
            phone=phone,
            reference=reference,
            description=description,
            metadata=metadata,
            phone_as_is=phone_as_is,
        )
        key = requests.new_idempotency_key() if idempotency_key is None else idempotency_key
        return self.run(self.core.create(requests.creation(body, idempotency_key=key)))

    def get_collection(self, collection_id: str) -> Collection:
        """Return a collection as it is now. Source: GET /v1/collections/{id}."""
        return self.run(self.core.collection(collection_id))

    def get_event(self, event_id: str) -> Event:
        """Return an event, to double-check a delivery. Source: GET /v1/events/{id}."""
        return self.run(self.core.event(event_id))

    def whoami(self) -> Principal:
        """Return whose API key this is and in which mode. Source: GET /v1/whoami."""
        return self.run(self.core.whoami())

    def wait(self, collection_id: str, *, timeout: float = DEFAULT_WAIT_S) -> Collection:
        """Poll until the collection is final and return it.

        Troubles that pass are waited out. Raises WaitTimeout after `timeout` seconds; the
        collection may still become final.
        """
        return self.run(self.core.wait(collection_id, timeout_s=timeout))

    def run(self, steps: Effects[Result]) -> Result:
        """Carry out steps, this client's own or those of a caller such as `kusanya.intents`."""
        try:
            effect = next(steps)
            while True:
                try:
                    outcome = self._perform(effect)
                except BaseException as error:  # noqa: BLE001 - the steps decide, and it goes on
                    effect = steps.throw(error)
                else:
                    effect = steps.send(outcome)
        except StopIteration as stop:
            result: Result = stop.value
            return result

    def _perform(self, effect: Effect) -> object:
        match effect:
            case Send(request, within_s):
                return self._send(request, within_s)
            case Sleep(seconds):
                self._clock.sleep(seconds)
                return None
            case Call(function):
                return function()

    def close(self) -> None:
        """Close the connections."""
        if self._network is not None:
            self._network.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mode={None if self.mode is None else self.mode.value!r})"


class _Network(ForkAware):
    """A pool of connections to one address; a forked child makes its own."""

    def __init__(self, address: Address, api_key: Secret) -> None:
        self._address = address
        self._fixed = fixed_headers(address, api_key)
        self._tls = trusted_roots() if address.scheme == "https" else None
        self._begin_anew()
        super().__init__()

    def _begin_anew(self) -> None:
        self._deadline = CallDeadline()
        self._pool = httpcore.ConnectionPool(
            ssl_context=self._tls,
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
            network_backend=DeadlineBackend(self._deadline),
        )

    def after_fork_in_child(self) -> None:
        """Leave the connections to the parent: one of them could bring another's answer."""
        self._begin_anew()

    def send(self, request: Request, within_s: float) -> Reply:
        """Send once; every part of it ends within `within_s` seconds."""
        self._deadline.start(within_s)
        address = self._address
        try:
            answer = self._pool.handle_request(
                httpcore.Request(
                    request.method,
                    httpcore.URL(
                        scheme=address.scheme.encode(),
                        host=address.host.encode(),
                        port=address.port,
                        target=(address.prefix + request.path).encode(),
                    ),
                    headers=headers_of(request, self._fixed),
                    content=request.body or b"",
                    extensions={"timeout": {"pool": within_s}},
                )
            )
            try:
                body, complete = _read(answer)
            finally:
                answer.close()
        except (
            httpcore.NetworkError,
            httpcore.TimeoutException,
            httpcore.RemoteProtocolError,
        ) as error:
            return Failure(left=self._deadline.bytes_sent, why=_why(error))
        return Response(
            status=answer.status, headers=tuple(answer.headers), body=body, complete=complete
        )

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()


def _why(error: Exception) -> str:
    # The parser quotes what it read; the other sentences are our own backend's.
    if isinstance(error, httpcore.RemoteProtocolError):
        return "the answer was cut short or is not HTTP"
    return str(error) or "no connection was free in time"


def _read(answer: httpcore.Response) -> tuple[bytes, bool]:
    body = bytearray()
    for chunk in answer.iter_stream():
        body += chunk
        if len(body) > ANSWER_MAX_BYTES:
            return b"", False
    return bytes(body), True
