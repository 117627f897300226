"""What both clients are made of: checked settings and the logic that decides."""

import ssl
from abc import ABC, abstractmethod
from collections.abc import Callable
from random import SystemRandom
from typing import Any, Final, NoReturn

from kusanya.client.core import Core
from kusanya.client.effects import Request
from kusanya.client.retry_policy import RetryPolicy
from kusanya.client.transport.address import address_of, mode_of
from kusanya.client.transport.connection import Connection
from kusanya.clock import Clock, SystemClock
from kusanya.errors import ConfigurationError
from kusanya.privacy.secret import Secret
from kusanya.say import Said
from kusanya.wire import Mode


class ClientBase(ABC):
    """The constructor of both clients; see `Client` for its arguments."""

    def __init__(
        self,
        api_key: str | Secret,
        *,
        base_url: str,
        mode: Mode | str | None = None,
        timeout: float = 30.0,
        max_attempts: int = 5,
        key_prefix: str | None = None,
        verify: ssl.SSLContext | str | None = None,
        cert: str | tuple[str, ...] | None = None,
        proxy: str | None = None,
        on_request: Callable[[Request], None] | None = None,
        clock: Clock | None = None,
        random: Callable[[], float] | None = None,
        transport: Any = None,
    ) -> None:
        try:
            secret = Secret(api_key)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(
                Said("there is no usable API key: {our_why}").of(our_why=str(error))
            ) from None
        self.mode: Final = mode_of(secret, expected=mode, prefix=key_prefix)
        self._clock = clock or SystemClock()
        address = address_of(base_url)
        self.core: Final = Core(
            mode=self.mode,
            clock=self._clock,
            chance=random or SystemRandom().random,
            retry_policy=RetryPolicy(timeout_s=timeout, attempts=max_attempts),
            origin=address.url,
            on_request=on_request,
        )
        self._closed = False
        connection = Connection(
            address=address, api_key=secret, verify=verify, cert=cert, proxy=proxy
        )
        self._network = self._open_network(connection) if transport is None else None
        self._send = transport if self._network is None else self._network.send

    @abstractmethod
    def _open_network(self, connection: Connection) -> Any:
        """Return the transport that this client sends with."""

    @property
    def origin(self) -> str:
        """Return the base address that requests go to, without a last slash."""
        return self.core.origin

    def _check_open(self) -> None:
        if self._closed:
            raise ConfigurationError("this client is closed: make a new one")

    def __repr__(self) -> str:
        # A debugger shows a client too whose settings were refused half-way.
        mode = vars(self).get("mode")
        return f"{type(self).__name__}(mode={None if mode is None else mode.value!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} holds connections and an API key, so it cannot be pickled: "
            "make one in each process, from the same settings"
        )
