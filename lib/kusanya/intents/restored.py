"""After a restore: the collections that were created since the backup come into the store.

Their ids come from the service's own dashboard, because its API has no list. Each is asked for, and
only when every one of them has its answer are creations sent again.
"""

from collections.abc import Callable, Iterable

import msgspec

from kusanya.client import Client
from kusanya.client.observations import poll_observation
from kusanya.errors import KusanyaError, NotFound, StoreError
from kusanya.intents.resolving import resolve_waiting
from kusanya.store import Store
from kusanya.wire import Mode


class RestoreAnswers(msgspec.Struct, kw_only=True):
    """What the service said of the collections that a person listed."""

    known: int = 0
    """Collections that the store knew as final already; they were not asked for."""
    asked: int = 0
    resolved: int = msgspec.field(default=0, name="settled")
    """Open creations of which one of these collections came; JSON keeps the name `settled`."""
    unknown: list[str] = []
    """Ids that the service does not know."""
    unanswered: list[str] = []
    """Ids that it gave no answer to."""
    trouble: str | None = None
    """Why the last of them had no answer."""

    @property
    def complete(self) -> bool:
        """Return whether every id has its collection, so that creations are sent again."""
        return not self.unknown and not self.unanswered


def resolve_restore(
    store: Store,
    client: Client,
    collection_ids: Iterable[str],
    *,
    actor: str,
    why: str,
    progress: Callable[[int], None] | None = None,
) -> RestoreAnswers:
    """Ask for each listed collection; where all are answered, let creations be sent again.

    `collection_ids` are all that were created between the backup and the restore, in the client's
    mode. What was answered is durable, so a second call asks for the rest alone. `why` says where
    the list is from; it is audited. Raises ValueError without a reason or a mode, StoreError where
    no restore waits to be resolved.
    """
    mode, clock = client.mode, client.core.clock
    if mode is None:
        raise ValueError("the client's API key does not tell its mode: pass mode=")
    if not why.strip():
        raise ValueError("resolving a restore needs a reason")
    standing = store.restores.of(mode)
    if standing is None or standing.resolved_at is not None:
        raise StoreError(f"no restore waits to be resolved in {mode.value} mode")
    answers = RestoreAnswers()
    for number, collection_id in enumerate(dict.fromkeys(collection_ids), start=1):
        _ask(store, client, mode, collection_id, answers)
        if progress is not None:
            progress(number)
    answers.resolved = resolve_waiting(store, now=clock.now(), mode=mode)
    if answers.complete:
        listed = answers.known + answers.asked
        store.restores.resolve(mode, actor=actor, why=f"{listed} collections: {why}")
    return answers


def _ask(
    store: Store, client: Client, mode: Mode, collection_id: str, answers: RestoreAnswers
) -> None:
    row = store.collections.get(collection_id, mode)
    if row is not None and row.completed_at is not None:
        answers.known += 1
        return
    answers.asked += 1
    try:
        found = client.get_collection(collection_id)
    except NotFound:
        answers.unknown.append(collection_id)
    except StoreError:
        raise
    except (KusanyaError, ValueError) as error:
        answers.unanswered.append(collection_id)
        answers.trouble = str(error)
    else:
        at = client.core.clock.now()
        store.record(poll_observation(found, at=at, observed_in=mode))
