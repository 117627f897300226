"""Files that a person keeps: an evidence card, a report. For their owner alone, never over another.

Both functions belong on a worker thread.
"""

import os
import re
from pathlib import Path
from typing import Final

from kusanya.errors import KusanyaError
from kusanya.say import Said

_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")


def card_path(folder: Path, name: str) -> Path:
    """Return where a card is best kept, by a name that every file system takes."""
    return folder / f"kusanya-card-{_UNFIT.sub('-', name).strip('-.')[:80] or 'card'}.txt"


def save_card(wanted: Path, text: str) -> Path:
    """Write a card for its owner alone and return where; never over another file.

    Raises KusanyaError where it cannot be written.
    """
    for number in range(1, 1000):
        again = "" if number == 1 else f"-{number}"
        target = wanted.with_name(f"{wanted.stem}{again}{wanted.suffix}")
        try:
            handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            continue
        except OSError as error:
            raise KusanyaError(
                Said("cannot write {path}: {why}").of(path=target, why=error.strerror)
            ) from error
        with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123 - a handle
            file.write(text)
        return target
    raise KusanyaError(
        Said("{folder} holds too many cards of this name already").of(folder=wanted.parent)
    )
