"""When two requests are the same one: the key's scope and the body's canonical form.

Two bodies are the same when their JSON values are equal, whatever the order of keys and the white
space; 1 and 1.0 differ. Source: POST /v1/collections, Rules 1 to 3; Limits; assumptions SAME_BODY
and ANSWERS_KEPT.
"""

import hashlib
from typing import Final

import msgspec

from kusanya.domain.limits import IDEMPOTENCY_KEY_MAX_LENGTH, IDEMPOTENCY_RETENTION
from kusanya.wire import is_idempotency_key
from kusanya_service.errors import ApiError
from kusanya_service.simulation.clock import span_ms

RETENTION_MS: Final = span_ms(IDEMPOTENCY_RETENTION)
HEADER: Final = "Idempotency-Key"


class KeyUse(msgspec.Struct, frozen=True):
    """One use of a key: where it counts and what it was used for."""

    scope: bytes
    """Digest of merchant, mode, path and key: keys are looked up, never listed."""
    body: bytes
    """Digest of the body's canonical form."""


def read_key(values: list[bytes]) -> str:
    """Return the request's idempotency key; raises ApiError 400. Source: Limits."""
    if not values:
        raise ApiError(
            400, "idempotency_key_required", f"every POST needs an {HEADER} header", param=HEADER
        )
    if len(values) > 1:
        raise _invalid(f"send {HEADER} once")
    try:
        # White space around a header's value is not part of it, and not every parser removes it.
        key = values[0].decode("ascii").strip(" \t")
    except UnicodeDecodeError:
        raise _invalid(f"{HEADER} is printable ASCII") from None
    if not is_idempotency_key(key):
        raise _invalid(f"{HEADER} is 1 to {IDEMPOTENCY_KEY_MAX_LENGTH} printable ASCII characters")
    return key


def key_use(*, merchant: str, mode: str, path: str, key: str, canonical: bytes) -> KeyUse:
    """Return the use that one request makes of its key."""
    scope = hashlib.blake2b(f"{merchant}\0{mode}\0{path}\0{key}".encode(), digest_size=16)
    return KeyUse(scope.digest(), hashlib.sha256(canonical).digest())


def is_kept(received_ms: int, now_ms: int) -> bool:
    """Return whether a key is still within its retention; both instants are monotonic.

    Source: Limits, 24 hours, counted from the first receipt.
    """
    return now_ms - received_ms < RETENTION_MS


def reused() -> ApiError:
    """Return the answer to a key that was used with another body. Source: Errors."""
    return ApiError(
        409,
        "idempotency_key_reused",
        "this idempotency key was used before with a different body",
        param=HEADER,
    )


def _invalid(message: str) -> ApiError:
    return ApiError(400, "idempotency_key_invalid", message, param=HEADER)
