"""The columns of the Intents screen, and what its cursor points at."""

from collections.abc import Callable, Mapping
from typing import Final

from kusanya.domain.assumptions import REPLAY_HOURS
from kusanya.privacy import mask_phone
from kusanya.say import Said
from kusanya.store.records import IntentRow
from kusanya_console.actions.context import Selection
from kusanya_console.actions.messages import copyable
from kusanya_console.intents.cards import window_left
from kusanya_console.lists.export import Value, format_exact, masked
from kusanya_console.ui import vocabulary
from kusanya_console.ui.columns import Column
from kusanya_console.ui.format import Look, cell, format_instant, format_text
from kusanya_console.ui.vocabulary import MUTED, PLAIN, Run


def _sent(row: IntentRow, look: Look) -> Run:
    return format_instant(row.first_sent_at, look), MUTED


FIELDS: Final[Mapping[str, Callable[[IntentRow], Value]]] = {
    "first_sent_at": lambda row: format_exact(row.first_sent_at),
    "mode": lambda row: row.mode.value,
    "reference": lambda row: masked(row.reference),
    "id": lambda row: row.id,
    "state": lambda row: row.state.value,
    "amount": lambda row: row.amount,
    "phone": lambda row: mask_phone(row.phone),
    "attempts": lambda row: row.attempts,
    "collection_id": lambda row: row.collection_id,
}
COLUMNS: tuple[Column[IntentRow], ...] = (
    Column(
        "reference",
        10,
        lambda row, _: cell(row.reference, limit=60),
        grows=4,
        names=True,
        whole=True,
    ),
    Column("amount TZS", 11, lambda row, _: (f"{row.amount:,}", PLAIN), right=True, whole=True),
    Column("phone", 12, lambda row, _: (mask_phone(row.phone), PLAIN), rank=2),
    Column("first sent", 10, _sent),
    Column("state", 10, lambda row, _: vocabulary.intent(row.state), whole=True),
    Column("tries", 5, lambda row, _: (f"{row.attempts}", MUTED), right=True, whole=True, rank=3),
    Column(
        Said("replay window, {hours} h").of(hours=REPLAY_HOURS),
        24,
        window_left,
        rank=1,
        grows=60,
        moves=True,
    ),
)


def selection_of_intent(row: IntentRow) -> Selection:
    """Return an intent with its collection where that is known."""
    return Selection(
        name=format_text(row.reference, 60),
        collection_id=row.collection_id,
        intent_id=row.id,
        copied=copyable(row.reference, row.id),
    )
