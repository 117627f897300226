"""Facts to build states from."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from kusanya.state import Dispute, Observation, Source
from kusanya.wire import Collection, Mode

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
Fact = Callable[..., Observation]


@pytest.fixture(scope="session")
def fact() -> Fact:
    """Return a maker of facts about one collection: `fact("event", status="failed", after=3)`."""

    def make(
        source: str = "answer",
        *,
        after: float = 0.0,
        observed_in: Mode = Mode.TEST,
        replayed: bool = False,
        source_id: str | None = None,
        event_id: str | None = None,
        disputed: Dispute | None = None,
        **fields: Any,
    ) -> Observation:
        kind = Source(source)
        status = fields.get("status", "created")
        final = status in {"succeeded", "failed", "expired"}
        about = {
            "id": "col_1",
            "status": status,
            "amount": 5000,
            "fee": 50,
            "currency": "TZS",
            "channel": "MPESA_TZ",
            "phone": "255754000001",
            "reference": "order-1",
            "mode": Mode.TEST,
            "created_at": NOON,
            "completed_at": NOON + timedelta(seconds=12) if final else None,
        }
        is_event = kind in {Source.EVENT, Source.EVENT_CHECK}
        event = (event_id or "evt_1") if is_event else None
        return Observation(
            source=kind,
            source_id=source_id or event or f"{source}-{after}",
            observed_at=NOON + timedelta(seconds=after),
            observed_in=observed_in,
            collection=msgspec.convert(about | fields, Collection),
            replayed=replayed,
            event_id=event,
            event_type=f"collection.{status}" if is_event else None,
            event_created_at=NOON + timedelta(seconds=12) if is_event else None,
            disputed=disputed,
        )

    return make
