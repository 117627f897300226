"""A network for httpcore on plain asyncio streams.

httpcore's own goes through anyio, which costs a delivery a third of its time. It connects to
numeric addresses alone: address_policy.py decides before which are allowed. A connection that the
other side has reset fails with an OSError on one event loop and with a RuntimeError on another:
uvloop refuses to use a closed transport. Both are the same end of a connection.
"""

import asyncio
import ssl
from typing import Any, Final

import httpcore

_CONNECTION_ERRORS: Final = (OSError, RuntimeError)


class Stream(httpcore.AsyncNetworkStream):
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - the interface of httpcore
        """Return what has arrived, or b"" at the end."""
        try:
            async with asyncio.timeout(timeout):
                return await self._reader.read(max_bytes)
        except TimeoutError as error:
            raise httpcore.ReadTimeout from error
        except _CONNECTION_ERRORS as error:
            raise httpcore.ReadError from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - the interface of httpcore
        """Send all of `buffer`."""
        try:
            async with asyncio.timeout(timeout):
                self._writer.write(buffer)
                await self._writer.drain()
        except TimeoutError as error:
            raise httpcore.WriteTimeout from error
        except _CONNECTION_ERRORS as error:
            raise httpcore.WriteError from error

    async def aclose(self) -> None:
        """Close without waiting for the other side."""
        self._writer.close()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface of httpcore
    ) -> httpcore.AsyncNetworkStream:
        """Go on under TLS."""
        try:
            async with asyncio.timeout(timeout):
                await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except TimeoutError as error:
            self._writer.close()
            raise httpcore.ConnectTimeout from error
        except _CONNECTION_ERRORS as error:
            self._writer.close()
            raise httpcore.ConnectError from error
        return self

    def get_extra_info(self, info: str) -> Any:
        """Return the peer, the TLS object, or whether an idle connection has ended.

        The peer of a connection that the other side has reset is None on some event loops.
        """
        if info == "server_addr":
            return self._writer.get_extra_info("peername")
        if info == "ssl_object":
            return self._writer.get_extra_info("ssl_object")
        if info == "is_readable":
            return self._reader.at_eof()
        return None


async def connect(address: str, port: int, timeout: float | None) -> Stream:  # noqa: ASYNC109 - the interface of httpcore
    """Connect to a numeric address; raises httpcore.ConnectError or ConnectTimeout."""
    try:
        async with asyncio.timeout(timeout):
            return Stream(*await asyncio.open_connection(address, port))
    except TimeoutError as error:
        raise httpcore.ConnectTimeout from error
    except _CONNECTION_ERRORS as error:
        raise httpcore.ConnectError from error
