"""The credentials that a start prints: kept in the data folder, readable by its owner alone.

The database holds only digests of keys. This file is what makes a restart print the same
credentials; without it new keys and a new token are made, and older keys stay as they are.
"""

import os
from pathlib import Path
from typing import Final

import msgspec

from kusanya.secret import Secret
from kusanya_service.http.auth import mint, mint_dashboard_token

FILE_NAME: Final = "access.json"


class _Kept(msgspec.Struct, frozen=True):
    dashboard_token: str
    test_key: str
    live_key: str

    def __repr__(self) -> str:
        return "_Kept(...)"


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """A token for the dashboard and one API key of each mode."""

    dashboard_token: Secret
    test_key: Secret
    live_key: Secret


def load(folder: Path) -> Access | None:
    """Return the credentials that an earlier start kept, or None."""
    try:
        kept = msgspec.json.decode((folder / FILE_NAME).read_bytes(), type=_Kept)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None
    return Access(
        dashboard_token=Secret(kept.dashboard_token),
        test_key=Secret(kept.test_key),
        live_key=Secret(kept.live_key),
    )


def make(prefix: str, *, keep_token: Access | None = None) -> Access:
    """Return new credentials; the token of earlier ones where they are given."""
    return Access(
        dashboard_token=keep_token.dashboard_token if keep_token else mint_dashboard_token(),
        test_key=mint(prefix, "test"),
        live_key=mint(prefix, "live"),
    )


def keep(folder: Path, access: Access) -> None:
    """Write the credentials whole or not at all, durable, mode 0600."""
    kept = _Kept(
        access.dashboard_token.reveal(), access.test_key.reveal(), access.live_key.reveal()
    )
    draft = folder / f"{FILE_NAME}.new"
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(msgspec.json.encode(kept))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / FILE_NAME)
