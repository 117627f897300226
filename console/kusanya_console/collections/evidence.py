"""All that one store knows of one payment, gathered at once: its story, what is odd, its JSON.

`gather` reads the store and belongs on a worker thread; the rest is pure.
"""

import os
import re
from pathlib import Path

import msgspec

from kusanya.errors import KusanyaError
from kusanya.lookup import Timeline, load_timeline
from kusanya.privacy import mask_json
from kusanya.state.anomalies import Anomaly, anomalies
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.ui.format import Look

_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")


class Evidence(msgspec.Struct, frozen=True):
    """One payment: what happened to it, what is odd about it, and the service's latest words."""

    story: Timeline
    odd: tuple[Anomaly, ...]
    said: str
    """The newest JSON that any source gave of it, as received but for phones, masked."""
    said_by: str


def gather(store: Store, collection_id: str, mode: Mode, look: Look) -> Evidence | None:
    """Return what is known of a collection of one mode, or None; raises StoreError."""
    told = load_timeline(store, collection_id, mode, now=look.now)
    if told is None:
        return None
    facts = store.collections.observations(collection_id, mode)
    latest = max(facts, key=lambda fact: fact.observed_at, default=None)
    return Evidence(
        story=told,
        odd=anomalies(told.state, facts, now=look.now),
        said="" if latest is None else mask_json(latest.collection.raw),
        said_by="" if latest is None else latest.source.value.replace("_", " "),
    )


def save_card(folder: Path, name: str, text: str) -> Path:
    """Write an evidence card for its owner alone and return where; never over another file.

    Raises KusanyaError where it cannot be written.
    """
    fit = _UNFIT.sub("-", name).strip("-.")[:80] or "card"
    for number in range(1, 1000):
        again = "" if number == 1 else f"-{number}"
        target = folder / f"kusanya-card-{fit}{again}.txt"
        try:
            handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            continue
        except OSError as error:
            raise KusanyaError(f"cannot write {target}: {error.strerror}") from error
        with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123 - a handle
            file.write(text)
        return target
    raise KusanyaError(f"{folder} holds too many cards of this payment already")
