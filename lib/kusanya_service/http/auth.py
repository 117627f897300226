"""API keys: made, stored as digests, recognised, revoked.

A key is 160 random bits after its prefix, so that a plain digest protects it as well as a slow one
would. Source: Authentication; assumption PLACEHOLDER_NAMES.
"""

import hashlib
import secrets
from typing import Final

import msgspec

from kusanya.secret import Secret
from kusanya.wire import Mode
from kusanya_service.errors import ApiError
from kusanya_service.storage.records import ApiKey

FULL: Final = "full"
READ: Final = "read"
_BEARER: Final = b"bearer "
_HINT: Final = 4


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """Whose key a request carries."""

    key_id: str
    mode: Mode
    may_write: bool


def mint(prefix: str, mode: str) -> Secret:
    """Return a new API key. Source: Authentication 2."""
    return Secret(f"{prefix}_{mode}_sk_{secrets.token_hex(20)}")


def mint_signing_secret() -> Secret:
    """Return a new signing secret. Source: Authentication 4."""
    return Secret(f"whsec_{secrets.token_hex(24)}")


def mint_dashboard_token() -> Secret:
    """Return a new token for the dashboard."""
    return Secret(f"dash_{secrets.token_hex(20)}")


def digest(key: Secret | str) -> bytes:
    """Return what is stored of a key."""
    text = key.reveal() if isinstance(key, Secret) else key
    return hashlib.sha256(text.encode()).digest()


def hint(key: Secret) -> str:
    """Return the end of a key, for telling keys apart in a list."""
    return key.reveal()[-_HINT:]


class KeyRing:
    """The keys that open something now, by their digest."""

    def __init__(self) -> None:
        self._principals: dict[bytes, Principal] = {}

    def add(self, key: ApiKey) -> None:
        """Let a key in from now on."""
        self._principals[key.digest] = Principal(
            key_id=key.id, mode=Mode(key.mode), may_write=key.access == FULL
        )

    def remove(self, key: ApiKey) -> None:
        """Refuse a key from now on."""
        self._principals.pop(key.digest, None)

    def knows(self, key_digest: bytes) -> bool:
        """Tell whether a key opens something now."""
        return key_digest in self._principals

    def recognise(self, values: list[bytes]) -> Principal:
        """Return whose request this is, from its Authorization headers; raises ApiError 401."""
        if len(values) != 1:
            raise _refused("send the API key once, as Authorization: Bearer <API_KEY>")
        value = values[0]
        if value[: len(_BEARER)].lower() != _BEARER:
            raise _refused("send the API key as Authorization: Bearer <API_KEY>")
        found = self._principals.get(hashlib.sha256(value[len(_BEARER) :].strip()).digest())
        if found is None:
            raise _refused("this API key is not known or was revoked")
        return found


def _refused(message: str) -> ApiError:
    return ApiError(401, "invalid_api_key", message, param="Authorization")
