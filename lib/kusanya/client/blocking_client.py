"""The blocking client."""

from collections.abc import Mapping
from typing import Final, TypeVar

from kusanya.client import requests
from kusanya.client.base import ClientBase
from kusanya.client.effects import Call, Effect, Effects, Send, Sleep, carry_out, run_blocking
from kusanya.client.transport.blocking_transport import BlockingTransport
from kusanya.client.transport.connection import Connection
from kusanya.platform.closing import Closing
from kusanya.wire import Collection, Event, Principal

Result = TypeVar("Result")
DEFAULT_WAIT_S: Final = 150.0
"""Longer than a live prompt stays open (assumption EXPIRY)."""


class Client(ClientBase, Closing):
    """Create and read collections, one call at a time per thread; safe to share among threads.

    `api_key` selects the mode; `mode` is what the caller expects, and a key of the other mode is
    refused (ConfigurationError), as is an http `base_url` that is not this machine. `key_prefix`
    is the service's own, where it should be checked. `timeout` is the total deadline of a call in
    seconds, retries included, where a call names no other; `max_attempts` bounds the retries.

    `verify` is an ssl.SSLContext or the path of a CA file in the place of certifi's roots, `cert`
    the path of a client's certificate, or its path, its key's and a password. `proxy` is http://
    and a host; none is read from the environment. `on_request` is called with each Request before
    its first attempt; where it raises, nothing is sent.

    `clock` and `random` (numbers from 0 to 1) are for tests, as is `transport`, which stands in
    for the network: it is given each request and the seconds it may take, and returns a Response
    or a Failure.

    Every method raises a KusanyaError, or ValueError and TypeError for an argument that cannot be
    sent. Every value it returns carries `.raw` (exact bytes) and `.response` (status, headers,
    request id, replayed). A closed client refuses (ConfigurationError).
    """

    def _open_network(self, connection: Connection) -> BlockingTransport:
        return BlockingTransport(connection)

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
        timeout: float | None = None,
    ) -> Collection:
        """Start a USSD push to the customer's phone and return the collection as created.

        `amount` is in whole shillings, `timeout` in seconds; `phone` is read in any Tanzanian
        spelling, or sent as it stands with `phone_as_is`.
        Not crash-safe: the idempotency key lives in memory until this returns. Where money must
        never be taken twice, use `kusanya.intents.create_safely`. A value with
        `.response.replayed` is the past answer: ask `get_collection` for the present.

        Raises OutcomeUnknown where it left and no usable answer came, NotSent where it certainly
        did not, IdempotencyKeyReused, InvalidRequest and the rest of the tree; ProtocolError with
        `outcome_unknown` for an answer that the specification does not allow.
        Source: POST /v1/collections.
        """
        create = requests.CreateRequest(
            amount=amount,
            phone=phone,
            reference=reference,
            description=description,
            metadata=metadata,
            idempotency_key=idempotency_key,
            phone_as_is=phone_as_is,
        )
        return self.run(self.core.create_collection(create, timeout_s=timeout))

    def get_collection(self, collection_id: str, *, timeout: float | None = None) -> Collection:
        """Return a collection as it is now. Source: GET /v1/collections/{id}."""
        deadline = self.core.deadline(timeout)
        return self.run(self.core.collection(collection_id, deadline=deadline))

    def get_event(self, event_id: str, *, timeout: float | None = None) -> Event:
        """Return an event, to double-check a delivery. Source: GET /v1/events/{id}."""
        return self.run(self.core.event(event_id, deadline=self.core.deadline(timeout)))

    def whoami(self, *, timeout: float | None = None) -> Principal:
        """Return whose API key this is and in which mode. Source: GET /v1/whoami."""
        return self.run(self.core.whoami(deadline=self.core.deadline(timeout)))

    def wait(self, collection_id: str, *, timeout: float = DEFAULT_WAIT_S) -> Collection:
        """Poll until the collection is final and return it.

        Troubles that pass are waited out. Raises WaitTimeout after `timeout` seconds; the
        collection may still become final.
        """
        return self.run(self.core.wait(collection_id, timeout_s=timeout))

    def run(self, effects: Effects[Result]) -> Result:
        """Carry out effects, this client's own or those of a caller such as `kusanya.intents`."""
        self._check_open()
        return run_blocking(carry_out(effects, self._perform))

    async def _perform(self, effect: Effect) -> object:
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
        self._closed = True
        if self._network is not None:
            self._network.close()
