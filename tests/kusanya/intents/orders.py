"""The order that most tests of intents create, and the one intent that comes of it."""

from typing import Any, Final

from kusanya.store import Store
from kusanya.store.records import IntentRow

ORDER: Final[dict[str, Any]] = {"amount": 5000, "phone": "0754 000 001", "reference": "order-1"}
BODY: Final = b'{"amount":5000,"phone":"255754000001","reference":"order-1"}'
"""What leaves for it, byte for byte."""
NewClient = Any
"""The conftest's maker of clients."""


def the_intent(store: Store) -> IntentRow:
    """Return the only intent that is kept."""
    [row] = store.intents.page().rows
    return row
