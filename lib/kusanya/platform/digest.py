"""The fingerprint of a file, by which a copy of it is known."""

import hashlib
from pathlib import Path


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file as text. Raises OSError where it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fault_of(path: Path, digest: str, *, made: str) -> str:
    """Return what is wrong with a file that had a digest when it was `made`; empty for nothing."""
    try:
        is_same = digest_of(path) == digest
    except OSError:
        return "cannot be read"
    return "" if is_same else f"is not as it was {made}"
