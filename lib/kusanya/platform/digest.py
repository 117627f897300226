"""The fingerprint of a file, by which a copy of it is known."""

import hashlib
from pathlib import Path


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file as text. Raises OSError where it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
