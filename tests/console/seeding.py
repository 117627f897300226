"""Facts for the console's tests, written into a store the way client, poller and receiver do."""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from tests.kit.intents import end_attempt, prepare_intent
from tests.kit.polling import poller_runs

from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.store.records import Arrival, IntentState, Verdict
from kusanya.wire import Collection, Event, Mode, decode_collection, decode_event

NOW = datetime(2026, 3, 4, 12, 24, 7, tzinfo=UTC)
"""Wednesday 15:24:07 EAT."""

CHANNELS = ("MPESA_TZ", "TIGO_TZ", "AIRTEL_TZ", "HALOPESA_TZ", "MPESA_TZ")
FATES = (
    ("succeeded", None, None),
    ("succeeded", None, None),
    ("failed", "insufficient_funds", "Customer balance too low."),
    ("succeeded", None, None),
    ("created", None, None),
    ("succeeded", None, None),
    ("expired", None, None),
    ("succeeded", None, None),
    ("failed", "user_cancelled", "The customer cancelled the request."),
    ("succeeded", None, None),
)


class Seed:
    """Writes facts into a store the way client, poller and receiver do."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._under_way: list[Future[Any]] | None = None

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write many facts as a busy receiver does, and wait once until all are durable."""
        begun: list[Future[Any]] = []
        self._under_way = begun
        yield
        self._under_way = None
        for future in begun:
            future.result()

    def _keep(self, fact: Arrival | Observation) -> None:
        future: Future[Any] = self.store.submit(fact)
        if self._under_way is None:
            future.result()
        else:
            self._under_way.append(future)

    def watched(self, mode: Mode = Mode.LIVE) -> None:
        """Let a poller note that it runs, and ask about what is due."""
        poller_runs(self.store, mode)

    def collection(
        self, n: int, *, at: datetime, mode: Mode = Mode.LIVE, **fields: Any
    ) -> Collection:
        """Return a collection as the service would report it; `fields` override."""
        values: dict[str, Any] = {
            "id": f"col_{n:016}",
            "status": "created",
            "amount": 5_000 + (n * 7_919) % 195_000,
            "fee": (5_000 + (n * 7_919) % 195_000) // 77,
            "currency": "TZS",
            "channel": CHANNELS[n % len(CHANNELS)],
            "phone": f"2557540{n % 100_000:05}",
            "reference": f"INV-{482_000 + n}",
            "mode": mode,
            "created_at": at,
        }
        return decode_collection(msgspec.json.encode(values | fields))

    def answered(self, collection: Collection, *, at: datetime | None = None) -> None:
        """Record the 202 to a create."""
        self._observe(
            Source.ANSWER, f"key-{collection.id}", collection, at or collection.created_at
        )

    def polled(self, collection: Collection, *, at: datetime) -> None:
        """Record an answer to GET /v1/collections/{id}."""
        self._observe(Source.POLL, f"req-{collection.id}-{at.timestamp()}", collection, at)

    def observation(self, collection: Collection) -> Observation:
        """Return the 202 to a create as the fact it is."""
        return Observation(
            source=Source.ANSWER,
            source_id=f"key-{collection.id}",
            observed_at=collection.created_at,
            observed_in=collection.mode,
            collection=collection,
        )

    def _observe(self, source: Source, name: str, collection: Collection, at: datetime) -> None:
        fact = msgspec.structs.replace(
            self.observation(collection), source=source, source_id=name, observed_at=at
        )
        self._keep(fact)

    def event(self, collection: Collection, *, at: datetime, **fields: Any) -> Event:
        """Return the event that reports a collection's final state."""
        values: dict[str, Any] = {
            "id": f"evt_{collection.id.removeprefix('col_')}",
            "type": f"collection.{collection.status}",
            "created_at": at,
            "mode": collection.mode,
            "data": msgspec.Raw(collection.raw),
        }
        return decode_event(msgspec.json.encode(values | fields))

    def delivered(
        self,
        event: Event,
        *,
        at: datetime,
        verdict: Verdict = Verdict.VERIFIED,
        reason: str | None = None,
        answer: int = 200,
        took_us: int = 9_000,
        endpoint: str = "shop",
    ) -> None:
        """Record one arrival of an event."""
        good = verdict is Verdict.VERIFIED
        data = event.data
        self._keep(
            Arrival(
                arrived_at=at,
                endpoint=endpoint,
                observed_in=event.mode,
                body=event.raw,
                headers=((b"service-signature", b"t=1,v1=00"),),
                verdict=verdict,
                reason=reason,
                signed_at=at - timedelta(milliseconds=400),
                secrets_tried=1 if good else 2,
                event_id=event.id,
                event_type=event.type,
                event_created_at=event.created_at,
                event_mode=event.mode.value,
                collection_id=data.id,
                reference=data.reference,
                amount=data.amount,
                currency=data.currency,
                observation=Observation(
                    source=Source.EVENT,
                    source_id=event.id,
                    observed_at=at,
                    observed_in=event.mode,
                    collection=data,
                    event_id=event.id,
                    event_type=event.type,
                    event_created_at=event.created_at,
                )
                if good
                else None,
                answer=answer,
                took_us=took_us,
            )
        )

    def life(self, n: int, *, at: datetime, mode: Mode = Mode.LIVE, **fields: Any) -> Collection:
        """Record a whole collection: the 202 and, when its fate is final, the event after 17 s."""
        status, code, message = FATES[n % len(FATES)]
        born = self.collection(n, at=at, mode=mode, **fields)
        self.answered(born, at=at + timedelta(milliseconds=182))
        if fields.get("status", status) == "created":
            return born
        done_at = at + timedelta(seconds=17)
        final: dict[str, Any] = {"status": status, "completed_at": done_at}
        if code is not None:
            final |= {"failure_code": code, "failure_message": message}
        done = self.collection(n, at=at, mode=mode, **(final | fields))
        self.delivered(self.event(done, at=done_at), at=done_at + timedelta(milliseconds=700))
        return done

    def intent(
        self, n: int, *, sent_ago: timedelta | None, state: IntentState | None, **ended: Any
    ) -> None:
        """Record a creation: prepared, sent `sent_ago`, and ended in `state` where one is given."""
        sent_at = NOW - (sent_ago or timedelta(seconds=1))
        row = prepare_intent(
            self.store,
            idempotency_key=f"7a1d{n:028}c9", body=b'{"amount":%d}' % n, mode=Mode.LIVE,
            profile="main", reference=f"INV-{431_000 + n}", amount=25_000 + n,
            phone=f"25575400{n:04}", prepared_at=sent_at, intent_id=f"int_{n:08}",
        )  # fmt: skip
        if sent_ago is None:
            return
        self.store.intents.begin_attempt(row.id, at=sent_at)
        if state is not None:
            attempt = {"outcome": "lost", "status": None, "request_id": None, "took_us": 10_004_000}
            at = sent_at + timedelta(seconds=10)
            end_attempt(self.store, row.id, 1, at=at, state=state, **(attempt | ended))

    def then_out_of_reach(self, n: int, *, lost: int, unreached: int) -> None:
        """Record the further attempts of a creation: lost ones, then such as never left."""
        never = "the service cannot be reached (no connection): nothing was sent"
        ends = ["lost"] * lost + ["not_sent"] * unreached
        for number, outcome in enumerate(ends, start=2):
            at = NOW - timedelta(minutes=8 - number)
            self.store.intents.begin_attempt(f"int_{n:08}", at=at)
            end_attempt(self.store,
                f"int_{n:08}", number, at=at, state=IntentState.UNKNOWN, outcome=outcome,
                status=None, request_id=None, took_us=4_000,
                sentence=never if outcome == "not_sent" else "no answer in time",
            )  # fmt: skip

    def intents(self) -> None:
        """Record creations in every state, three of them without a known outcome."""
        self.intent(1, sent_ago=timedelta(hours=24), state=IntentState.UNKNOWN)
        self.intent(2, sent_ago=timedelta(hours=21, minutes=24), state=IntentState.UNKNOWN)
        self.intent(3, sent_ago=timedelta(minutes=12), state=IntentState.UNKNOWN)
        self.intent(4, sent_ago=timedelta(seconds=2), state=None)
        self.intent(5, sent_ago=None, state=None)
        self.intent(
            6, sent_ago=timedelta(minutes=3), state=IntentState.ANSWERED,
            outcome="answered", status=202, took_us=182_000, collection_id=f"col_{1:016}",
        )  # fmt: skip
        self.intent(
            7, sent_ago=timedelta(minutes=9), state=IntentState.REFUSED, outcome="refused",
            status=409, took_us=41_000, sentence="409 idempotency_key_reused, final",
        )  # fmt: skip

    def busy(self, count: int = 60, *, until: datetime = NOW) -> None:
        """Record a working hour: collections every 11 s, one of everything that goes wrong."""
        with self.together():
            self._busy(count, until)

    def _busy(self, count: int, until: datetime) -> None:
        for n in range(count):
            self.life(n, at=until - timedelta(seconds=40 + 11 * (count - n)))
        odd = self.collection(
            900, at=until - timedelta(seconds=9), status="on_hold", reference="INV-482900"
        )
        self.answered(odd)
        paid = self.life(
            901, at=until - timedelta(seconds=70), reference="INV-482901", status="succeeded"
        )
        other = self.collection(
            901, at=paid.created_at, reference="INV-482901", status="failed",
            failure_code="payer_unreachable", completed_at=until - timedelta(seconds=30),
        )  # fmt: skip
        self.polled(other, at=until - timedelta(seconds=30))
        lost = self.collection(
            902, at=until - timedelta(minutes=7), status="succeeded", reference="INV-482902",
            completed_at=until - timedelta(minutes=6, seconds=40), phone="255754000555",
        )  # fmt: skip
        first = self.event(lost, at=until - timedelta(minutes=6, seconds=40))
        for minutes, seconds in ((6, 39), (5, 38), (0, 33)):
            self.delivered(
                first,
                at=until - timedelta(minutes=minutes, seconds=seconds),
                verdict=Verdict.REJECTED,
                reason="no_match",
                answer=400,
                took_us=2_000,
                endpoint="billing",
            )
        self.answered(
            self.collection(902, at=lost.created_at, reference="INV-482902", phone="255754000555")
        )
        late = self.life(
            903, at=until - timedelta(minutes=3), reference="INV-482903", status="expired"
        )
        event = self.event(late, at=late.created_at + timedelta(seconds=17))
        self.delivered(event, at=event.created_at + timedelta(seconds=62), took_us=4_000)
