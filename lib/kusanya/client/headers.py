"""What the two drivers share: the headers of a request, and whose certificates are believed.

The only place where the API key leaves its Secret.
"""

import ssl
from importlib.metadata import version

from kusanya.client.address import Address
from kusanya.client.effects import Request
from kusanya.secret import Secret

Headers = list[tuple[bytes, bytes]]


def fixed_headers(address: Address, api_key: Secret) -> Headers:
    """Return what every request carries.

    Compression is declined: a small answer could otherwise grow a thousandfold in memory.
    """
    return [
        (b"Host", address.authority.encode()),
        (b"Authorization", b"Bearer " + api_key.reveal().encode()),
        (b"Accept", b"application/json"),
        (b"Accept-Encoding", b"identity"),
        (b"User-Agent", f"kusanya/{version('kusanya')}".encode()),
    ]


def headers_of(request: Request, fixed: Headers) -> Headers:
    """Return the headers of `request`, in the order in which they are sent."""
    headers = list(fixed)
    if request.body is not None:
        headers.append((b"Content-Type", b"application/json"))
        headers.append((b"Content-Length", str(len(request.body)).encode()))
    if request.idempotency_key is not None:
        headers.append((b"Idempotency-Key", request.idempotency_key.encode()))
    return headers


def trusted_roots() -> ssl.SSLContext:
    """Return the TLS settings: certifi's roots, whatever the environment names."""
    from httpx import create_ssl_context

    return create_ssl_context(trust_env=False)
