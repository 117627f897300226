"""A store with three payments of one customer, many of others, and words about them everywhere."""

import re
from datetime import timedelta
from typing import Any

from msgspec.structs import replace
from sqlalchemy import Table, select
from tests.kit.intents import begin_intent, end_attempt

from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.records import BreakSubject, IntentState, Note
from kusanya.wire import Mode

PHONE = "255754000001"
SPELLINGS = re.compile(
    rb"(?<![0-9])(?:(?:\+|%2B|00)?255|0)?[\s().-]*7[\s().-]*5[\s().-]*4[\s().-]*0[\s().-]*0[\s().-]*0"
    rb"[\s().-]*0[\s().-]*0[\s().-]*1(?![0-9])"
)
THEIRS: dict[str, Any] = {
    "phone": PHONE,
    "description": "Neema, 0754 000 001",
    "metadata": {"name": "Neema Mushi", "call": "+255 754-000-001"},
}


def begin(store: Store, make: Any, reference: str, *, key: str, phone: str = PHONE) -> str:
    started = begin_intent(
        store,
        idempotency_key=key,
        body=f'{{"amount":5000,"phone":"{phone}","reference":"{reference}"}}'.encode(),
        mode=Mode.TEST,
        profile="shop",
        reference=reference,
        amount=5000,
        phone=phone,
        at=make.noon,
        by="me",
        until=make.noon + timedelta(seconds=60),
    ).result()
    assert started.new
    return started.intent.id


def end(
    store: Store, make: Any, intent_id: str, collection_id: str, *, sentence: str | None = None
) -> None:
    end_attempt(
        store,
        intent_id,
        1,
        at=make.noon,
        outcome="answered",
        status=202,
        request_id=None,
        took_us=1,
        state=IntentState.ANSWERED,
        collection_id=collection_id,
        sentence=sentence,
        by="me",
    )


def fill(store: Store, make: Any) -> None:
    """Keep three payments of one customer, many of others, and words about them everywhere."""
    for number in range(20, 60):
        store.submit(make.observation(number, source=Source.ANSWER))
        store.submit(make.arrival(number, status=("succeeded", "failed")[number % 2]))
    reference = f"SHOP-{PHONE}-7"
    names = {reference: f"job-{PHONE}", "INV-2": "job-2"}
    sent = [begin(store, make, name, key=key) for name, key in names.items()]
    for number, said in ((1, {}), (2, {"reference": "INV-2"}), (3, {"reference": reference})):
        theirs = {**THEIRS, **said}
        store.submit(
            make.observation(number, source=Source.ANSWER, source_id=f"job-{PHONE}", **theirs)
        )
        store.submit(make.arrival(number, fee=50 + number % 2, **theirs))
        store.submit(make.arrival(number, fee=50 + number % 2, **theirs))  # a repeat
    store.submit(
        make.observation(3, source=Source.POLL, **{**THEIRS, "reference": reference, "fee": 9})
    )
    store.record(make.arrival(4, metadata={"paid for": "0754000001"}))
    store.record(replace(make.rejected(1), body=b'{"from": "+255 754 000 001"}'))
    store.notes.add("col_1", Note("called Neema"), author="asha", mode=Mode.TEST)
    store.notes.add("col_30", Note("ask 0754 000 001"), author="asha", mode=Mode.TEST)
    store.audit.add(actor="asha", act="look", subject=reference, detail=f"phone {PHONE}")
    store.acknowledgements.record(f"odd:x:{reference}", actor="asha", reason=f"asked {PHONE}")
    store.receipts.record("col_1", Mode.TEST, "SJ31HG4K2", source="m.csv", actor="asha")
    subject = BreakSubject(
        break_id="0123456789abcdef", leg="books", code="missing_in_ledger", reference=reference
    )
    store.breaks.record(subject, Mode.TEST, actor="asha", note="asked 0754-000-001")
    for sent_id, made in zip(sent, ("col_3", "col_2"), strict=True):
        end(store, make, sent_id, made)


def kept(store: Store, table: Table) -> list[dict[str, Any]]:
    """Return the rows of a table as they are kept, in their order."""
    with store._engines.reader.connect() as connection:
        return [
            dict(row)
            for row in connection.execute(
                select(table).order_by(*table.primary_key.columns)
            ).mappings()
        ]
