"""What these tests play: facts about orders that a store learns, and a shop's own database."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.kusanya.intents.orders import NewClient

from kusanya import orders
from kusanya.client.observations import poll_observation
from kusanya.errors import InvalidRequest
from kusanya.orders import Limits
from kusanya.outcomes import Consumer, Kind, Outcome
from kusanya.store import Store
from kusanya.wire import Mode, decode_collection

FREE = Limits(attempts=1_000, phone_hour=10_000, phone_day=10_000, wrong_pins=10_000)


class Facts:
    """Makes facts known to a store, in short words."""

    def __init__(self, store: Store, new_client: NewClient, faults: Any) -> None:
        self.store, self.new_client, self.service = store, new_client, new_client.service
        self._faults = faults

    def pay(
        self, reference: str = "order-1", *, amount: int = 5000, phone: str = "0754 000 001"
    ) -> None:
        """Say that an order is to be paid."""
        orders.pay(
            self.store,
            self.new_client(max_attempts=1),
            reference,
            amount=amount,
            phone=phone,
            limits=FREE,
        )

    def elsewhere(self, number: int, reference: str = "order-1") -> None:
        """Let another program make a collection."""
        self.service.create_elsewhere(f"col_{number}", reference=reference)
        self.service.clock.sleep(1)

    def ends(self, number: int, status: str, **more: Any) -> None:
        """Let a collection end, and let the store be told."""
        at = self.service.clock.now().isoformat()
        fields = {"status": status, "completed_at": at, "failure_code": None, **more}
        self.service.collections[f"col_{number}"] |= fields
        self.tell(number)

    def tell(self, number: int) -> None:
        """Let the store be told what the service knows of a collection."""
        self.service.clock.sleep(1)
        found = decode_collection(json.dumps(self.service.collections[f"col_{number}"]).encode())
        at = self.service.clock.now()
        self.store.record(poll_observation(found, at=at, observed_in=Mode.TEST))

    def run(self, *story: str) -> None:
        """Run a story, one word and its numbers each."""
        for step in story:
            word, *rest = step.split()
            if word == "pay":
                self.pay(amount=int(rest[0]) if rest else 5000)
            elif word == "loses":
                self.service.faults = [self._faults[rest[0]]]
                self.pay()
            elif word == "elsewhere":
                self.elsewhere(int(rest[0]))
            elif word == "refused":
                with pytest.raises(InvalidRequest):
                    self.pay(phone="0700 000 422")
            else:
                more = {"amount": int(rest[1])} if len(rest) > 1 else {}
                self.ends(int(rest[0]), word, **more)


class ShopDatabase:
    """A shop's own database: `connect` opens a transaction of it."""

    def __init__(self, connect: Any) -> None:
        self.connect = connect

    @staticmethod
    def at(path: Path) -> Any:
        """Return what opens a transaction of the database in a file."""

        @contextmanager
        def connect() -> Iterator[sqlite3.Connection]:
            with closing(sqlite3.connect(path)) as connection, connection:
                yield connection

        return connect

    def consumer(self, store: Store, name: str = "shipping", **more: Any) -> Consumer:
        """Return a consumer that keeps each effect."""
        made = Consumer(store, name, mode=Mode.TEST, clock=store._clock, **more)

        @made.on(*Kind)
        def keep(outcome: Outcome, tx: Any) -> None:
            row = (name, outcome.kind.value, outcome.reference, outcome.about)
            tx.execute("INSERT INTO effect VALUES (?, ?, ?, ?)", row)

        return made

    def effects(self, consumer: str = "shipping") -> list[tuple[str, str, str]]:
        """Return kind, reference and attempt of what was done, in its order."""
        with self.connect() as connection:
            query = "SELECT kind, reference, about FROM effect WHERE consumer = ? ORDER BY rowid"
            return [tuple(row) for row in connection.execute(query, (consumer,))]
