"""The console in Swahili has no English of ours on any screen."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.console.looking import press, shown

from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya.wording import Language
from kusanya_console.actions.operator import OperatorActions
from kusanya_console.ui import language

_WORD = re.compile(r"[a-z]{4,}")
OUTSIDE = {
    # the service's words, as they came: codes, types, names of endpoints and the body
    "shop", "billing", "headers", "signature", "created", "succeeded", "failed", "expired",
    "status", "amount", "currency", "channel", "phone", "reference", "mode", "live", "type", "data",
    "code", "collection", "failure", "message", "customer", "cancelled", "request", "completed",
    "answer", "event", "poll", "service", "insufficient", "funds", "user", "match", "idempotency",
    "reused", "airtel", "money", "create", "finals", "hold", "balance", "asha", "unknown",
    "contradiction",
    # what is typed as it stands: commands, keys and settings
    "kusanya", "intents", "resume", "catch", "watch", "space", "enter", "sqlite", "whsec", "body",
    # the sentence for a customer who speaks English
    "have", "your", "network", "please", "again", "received", "payment", "thank",  "from",
    # a length of time, and the words of a filter
    "minutes", "today",
}  # fmt: skip
"""English words that are no texts of ours, or stand for what a person types."""
LEFT = {"rejected"}
"""In a sentence of the hand-over, which counts in the library's words."""
_PART = "right_square_bracket"
WALK = (
    ("live", (), (_PART,), (_PART,), (_PART,), ("space",), ("escape", "P"), ("P",)),
    ("deliveries", (), (_PART,), (_PART,), (_PART,), (_PART,), ("j", "j")),
    ("lookup", (*"INV-482003", "enter"), (_PART,)),
    ("health", ()),
    ("intents", (), (_PART,)),
    ("audit", ()),
    ("handover", ()),
)


@pytest.fixture
def swahili() -> Iterator[None]:
    language.use(Language.SWAHILI)
    yield
    language.use(Language.ENGLISH)


@pytest.mark.anyio
@pytest.mark.usefixtures("swahili")
async def test_no_screen_shows_english_of_ours(
    opened: Any, seed: Any, settled: Any, clock: ManualClock, store: Store
) -> None:
    catalogue = language.swahili()
    english = set(_WORD.findall(" ".join(catalogue).casefold()))
    english -= set(_WORD.findall(" ".join(catalogue.values()).casefold())) | OUTSIDE
    seed.busy(40)
    seed.intents()
    operator = OperatorActions(store, actor="asha", clock=clock, profile="main")
    left: dict[str, str] = {}
    async with opened(size=(160, 50), operator=operator) as (app, pilot):
        for screen, *steps in WALK:
            app.action_go(screen)
            await settled(pilot)
            for keys in steps:
                await press(pilot, settled, *keys)
                assert app.console_screen is not None
                assert screen == app.console_screen.NAME
                for line in shown(app).splitlines():
                    words = english & set(_WORD.findall(line.casefold()))
                    left |= dict.fromkeys(words, line.strip())
    assert left.keys() == LEFT, left
