"""API keys: made, stored as digests, authenticated, revoked; and the credentials of a start.

A key is 160 random bits after its prefix, so that a plain digest protects it as well as a slow one
would. Source: Authentication; assumption PLACEHOLDER_NAMES.
"""

import hashlib
import os
import secrets
from pathlib import Path
from typing import Final

import msgspec

from kusanya.privacy.secret import Secret
from kusanya.wire import Mode
from kusanya_service.errors import ApiError
from kusanya_service.simulation.rules import Rules
from kusanya_service.storage import changes
from kusanya_service.storage.database import Connection
from kusanya_service.storage.records import ApiKey

FULL: Final = "full"
READ: Final = "read"
FILE_NAME: Final = "access.json"
_BEARER: Final = b"bearer "
_HINT: Final = 4
"""How much of a key's end is stored, for telling keys apart in a list."""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Whose key a request carries."""

    key_id: str
    mode: Mode
    may_write: bool


def new_api_key(prefix: str, mode: str) -> Secret:
    """Return a new API key. Source: Authentication 2."""
    return Secret(f"{prefix}_{mode}_sk_{secrets.token_hex(20)}")


def new_signing_secret() -> Secret:
    """Return a new signing secret. Source: Authentication 4."""
    return Secret(f"whsec_{secrets.token_hex(24)}")


def new_dashboard_token() -> Secret:
    """Return a new token for the dashboard."""
    return Secret(f"dash_{secrets.token_hex(20)}")


def digest(key: Secret | str) -> bytes:
    """Return what is stored of a key."""
    text = key.reveal() if isinstance(key, Secret) else key
    return hashlib.sha256(text.encode()).digest()


def add_key(
    connection: Connection, key: Secret, *, mode: str, access: str, now_ms: int, rules: Rules
) -> ApiKey:
    """Store a new key's digest and return what is stored."""
    number = changes.next_number(connection, "api_key")
    stored = ApiKey(
        id=rules.random.identifier("key", number),
        mode=mode,
        access=access,
        digest=digest(key),
        hint=key.reveal()[-_HINT:],
        created_at=now_ms,
    )
    changes.add_key(connection, stored)
    return stored


class KeyRing:
    """The keys that open something now, by their digest."""

    def __init__(self) -> None:
        self._callers: dict[bytes, Caller] = {}

    def add(self, key: ApiKey) -> None:
        """Accept a key from now on."""
        self._callers[key.digest] = Caller(
            key_id=key.id, mode=Mode(key.mode), may_write=key.access == FULL
        )

    def remove(self, key: ApiKey) -> None:
        """Refuse a key from now on."""
        self._callers.pop(key.digest, None)

    def __contains__(self, key: Secret) -> bool:
        return digest(key) in self._callers

    def authenticate(self, values: list[bytes]) -> Caller:
        """Return whose request this is, from its Authorization headers; raises ApiError 401."""
        if len(values) != 1:
            raise _refused("send the API key once, as Authorization: Bearer <API_KEY>")
        value = values[0]
        if value[: len(_BEARER)].lower() != _BEARER:
            raise _refused("send the API key as Authorization: Bearer <API_KEY>")
        found = self._callers.get(hashlib.sha256(value[len(_BEARER) :].strip()).digest())
        if found is None:
            raise _refused("this API key is not known or was revoked")
        return found


def _refused(message: str) -> ApiError:
    return ApiError(401, "invalid_api_key", message, param="Authorization")


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """What a start prints: a token for the dashboard and one API key of each mode."""

    dashboard_token: Secret
    test_key: Secret
    live_key: Secret


def load_credentials(folder: Path) -> Credentials | None:
    """Return the credentials that an earlier start stored, or None.

    The database holds only digests of keys: this file is what makes a restart print the same ones.
    """
    try:
        stored = msgspec.json.decode((folder / FILE_NAME).read_bytes(), type=dict[str, str])
        return Credentials(**{name: Secret(stored[name]) for name in Credentials.__struct_fields__})
    except (FileNotFoundError, KeyError, msgspec.MsgspecError):
        return None


def new_credentials(prefix: str, token: Secret | None) -> Credentials:
    """Return new credentials; with an earlier token where one is given."""
    return Credentials(
        dashboard_token=token or new_dashboard_token(),
        test_key=new_api_key(prefix, "test"),
        live_key=new_api_key(prefix, "live"),
    )


def store_credentials(folder: Path, credentials: Credentials) -> None:
    """Write the credentials whole or not at all, durable, mode 0600."""
    shown = {name: secret.reveal() for name, secret in msgspec.structs.asdict(credentials).items()}
    draft = folder / f"{FILE_NAME}.new"
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(msgspec.json.encode(shown))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / FILE_NAME)
