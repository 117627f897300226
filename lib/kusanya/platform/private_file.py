"""Files that only their owner can read."""

import os
import tempfile
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Write a file of mode 600, whole or not at all, and its folder where there is none.

    Durable on return, but for the folder's own entry. Raises OSError.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, begun = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - mode 600 from its first byte
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(begun).replace(path)
    except BaseException:
        Path(begun).unlink(missing_ok=True)
        raise
