"""A copy as of an instant is the store as it was then; a masked one may be handed on."""

import random
import sqlite3
import stat
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import select
from tests.kit.intents import begin_intent, end_attempt

from kusanya.clock import ManualClock
from kusanya.errors import StoreUnavailable
from kusanya.privacy import mask_phone
from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.records import BreakSubject, IntentState, Note, RebuildResult
from kusanya.store.tables.schema import (
    claim,
    feed_head,
    intent,
    metadata,
    rollup,
    store_meta,
)
from kusanya.wire import Mode

PHONE = "255754123987"


class Life:
    """Does at random what programs and people do to a store, each thing at its own instant."""

    def __init__(self, store: Store, make: Any, clock: ManualClock, seed: int) -> None:
        self.store, self.make, self.clock = store, make, clock
        self.chance = random.Random(seed)  # noqa: S311 - the same life at every run
        self.open: dict[str, tuple[int, bool]] = {}
        self.checked: set[int] = set()
        self.made = 0

    def live(self, steps: int) -> None:
        """Do so many things."""
        for _ in range(steps):
            self.clock.step(timedelta(seconds=self.chance.choice((0.001, 2, 90, 1_800))))
            number = self.chance.randrange(8)
            self.chance.choice(
                (self._poll, self._arrive, self._arrive, self._reject, self._create, self._attempt,
                 self._attempt, self._resolve, self._say, self._check)
            )(number)  # fmt: skip

    def _status(self) -> dict[str, Any]:
        status = self.chance.choice(("created", "succeeded", "succeeded", "failed", "odd"))
        code = {"failure_code": "insufficient_funds"} if status == "failed" else {}
        return {"status": status, "created_at": self.make.noon, **code}

    def _poll(self, number: int) -> None:
        source = self.chance.choice((Source.ANSWER, Source.POLL))
        name = f"said-{self.clock.now().timestamp()}"
        said = {"phone": PHONE} if self.chance.random() < 0.2 else {}
        self.store.record(
            self.make.observation(
                number, source=source, source_id=name, at=self.clock.now(), **self._status(), **said
            )
        )

    def _arrive(self, number: int) -> None:
        # The same event again, now and then with another body.
        said = {"created_at": self.make.noon, "spaces": self.chance.random() < 0.2}
        arrival = self.make.arrival(number, at=self.clock.now(), **said)
        if self.chance.random() < 0.2:
            arrival = self.make.disputed(arrival, observed_in=Mode.LIVE)
        self.store.record(arrival)

    def _reject(self, number: int) -> None:
        self.store.record(replace(self.make.rejected(number), arrived_at=self.clock.now()))

    def _check(self, number: int) -> None:
        if (
            number not in self.checked
            and self.store.events.get(f"evt_{number}", Mode.TEST) is not None
        ):
            self.checked.add(number)
            said = {"created_at": self.make.noon}
            self.store.record(
                self.make.observation(
                    number, source=Source.EVENT_CHECK, at=self.clock.now(), **said
                )
            )

    def _create(self, _number: int) -> None:
        self.made += 1
        now = self.clock.now()
        begun = begin_intent(self.store,
            idempotency_key=f"key-{self.made}", body=b'{"phone":"%s"}' % PHONE.encode(),
            mode=Mode.TEST, profile="main", reference=f"ORDER-{self.made}", amount=5000,
            phone=f"+{PHONE}", at=now, by="us", until=now + timedelta(minutes=1),
            target="http://127.0.0.1:9/v1",
        ).result()  # fmt: skip
        self.open[begun.intent.id] = 1, True

    def _attempt(self, _number: int) -> None:
        if not self.open:
            return
        id_ = self.chance.choice(sorted(self.open))
        number, running = self.open[id_]
        if running:
            state = self.chance.choice((IntentState.UNKNOWN, IntentState.ANSWERED))
            answered = state is IntentState.ANSWERED
            end_attempt(self.store,
                id_, number, at=self.clock.now(), outcome="answered" if answered else "lost",
                status=202 if answered else None, request_id=f"req_{number}", took_us=5,
                state=state, collection_id="col_1" if answered else None, sentence="because",
            )  # fmt: skip
            self.open[id_] = number, False
            if answered:
                del self.open[id_]
        else:
            self.store.intents.begin_attempt(id_, at=self.clock.now())
            self.open[id_] = number + 1, True

    def _resolve(self, number: int) -> None:
        if not self.open:
            return
        id_ = self.chance.choice(sorted(self.open))
        if number % 2:
            self.store.intents.close_window(
                id_, at=self.clock.now(), sentence="closed", only_from=tuple(IntentState)
            )
        else:
            self.store.intents.resolve(
                id_, collection_id=None, sentence="nothing came of it", at=self.clock.now()
            )
            self.open.pop(id_)

    def _say(self, number: int) -> None:
        self.store.notes.add(f"col_{number}", Note(f"call {PHONE}"), author="asha", mode=Mode.TEST)
        self.store.audit.add(actor="asha", act="look", detail=f"asked by {PHONE}")
        self.store.acknowledgements.record("stuck:x", actor="asha", reason=f"asked {PHONE}")
        subject = BreakSubject(
            break_id=f"{number:016x}", leg="books", code="timing", reference=f"INV-{PHONE}"
        )
        self.store.breaks.record(subject, Mode.TEST, actor="asha", note=f"call {PHONE}")
        if self.store.collections.get(f"col_{number}", Mode.TEST) is not None:
            self.store.receipts.record(
                f"col_{number}", Mode.TEST, f"SJ31HG4K{number}", source="mpesa.csv", actor="asha"
            )


def everything(store: Store) -> dict[str, list[Any]]:
    """Return the rows of every table that a copy has, leases aside."""
    found = {}
    with store._engines.reading() as connection:
        for table in metadata.sorted_tables:
            if table in (claim, store_meta):
                continue
            columns = [
                column
                for column in table.c
                if (table, column.name)
                not in {
                    (intent, "claimed_by"), (intent, "claimed_until"), (feed_head, "searched"),
                    (feed_head, "texts_searched"),
                }
            ]  # fmt: skip
            rows = connection.execute(select(*columns).order_by(*table.primary_key.columns))
            # A sum from which everything was taken away again says nothing.
            found[table.name] = [tuple(row) for row in rows if table is not rollup or any(row[-3:])]
    return found


@pytest.mark.merge
@pytest.mark.parametrize("seed", range(4))
def test_a_copy_as_of_an_instant_is_the_store_that_knew_no_more(
    store: Store, make: Any, clock: ManualClock, tmp_path: Path, seed: int
) -> None:
    life = Life(store, make, clock, seed)
    stages = []
    for _ in range(3):
        life.live(40)
        stages.append((clock.now(), everything(store)))
    life.live(40)
    for number, (at, then) in enumerate(stages):
        path = tmp_path / f"copy-{number}.db"
        done = store.maintenance.copy(path, as_of=at)
        with Store.open(path, clock=clock) as copy:
            now = everything(copy)
            assert {name: rows for name, rows in now.items() if rows != then[name]} == {}
            assert copy.maintenance.check() == ()
            assert copy.maintenance.rebuild() == RebuildResult(collections=0, rollups=0)
            assert done.seq == copy.feed.head()
            assert done.left_out == 0
            assert done.facts == sum(
                len(then[name])
                for name in (
                    "observation",
                    "delivery",
                    "intent_change",
                    "note",
                    "audit",
                    "break_fact",
                    "receipt",
                )
            )


@pytest.mark.merge
@pytest.mark.parametrize("seed", range(2))
def test_a_copy_that_is_moved_on_is_at_every_instant_the_copy_made_at_once(
    store: Store, make: Any, clock: ManualClock, tmp_path: Path, seed: int
) -> None:
    life = Life(store, make, clock, seed)
    instants = []
    for _ in range(8):
        life.live(15)
        instants.append(clock.now())
    with store.maintenance.journal_copy(tmp_path / "moving.db") as moving:
        for number, at in enumerate(instants):
            moving.advance(at)
            assert moving.advance(at) == 0
            store.maintenance.copy(tmp_path / f"at-{number}.db", as_of=at)
            with (
                Store.open(moving.path, read_only=True) as moved,
                Store.open(tmp_path / f"at-{number}.db", read_only=True) as made,
            ):
                assert everything(moved) == everything(made)
                assert moved.maintenance.check() == ()


def _vacuumed(path: Path) -> bytes:
    with sqlite3.connect(path) as connection:
        connection.execute("VACUUM")
    connection.close()
    return path.read_bytes()


@pytest.mark.merge
@pytest.mark.parametrize("seed", range(2))
def test_a_masked_copy_holds_no_phone_and_no_words_and_is_sound(
    store: Store, make: Any, clock: ManualClock, tmp_path: Path, seed: int
) -> None:
    life = Life(store, make, clock, seed)
    life.live(80)
    store.record(
        make.observation(
            50, source=Source.ANSWER, phone=PHONE, reference=f"INV_+{PHONE}/2",
            description="Neema wants it blue", later_field={"also": "+255754123987"},
            metadata={"contact": "0754 123 987", "till": 754123987},
        )
    )  # fmt: skip
    path = tmp_path / "masked.db"
    store.maintenance.copy(path, as_of=clock.now() + timedelta(days=1), masked=True)
    phones = {row.phone.removeprefix("255") for row in store.collections.page(Mode.TEST).rows}
    assert len(phones) > 5
    forbidden = [*phones, "754123987", "754 123 987", "Neema", "nobody called", "whsec", "x-odd"]
    for contents in (path.read_bytes(), _vacuumed(path)):
        for said in forbidden:
            for spelled in (said.encode(), said.encode().hex().encode(), said.encode("utf-16-le")):
                assert spelled not in contents, said
        assert b"asha" in contents
    with Store.open(path, clock=clock) as copy:
        assert copy.maintenance.check() == ()
        assert copy.maintenance.rebuild() == RebuildResult(collections=0, rollups=0)
        shown = {row.id: row for row in copy.collections.page(Mode.TEST).rows}
        for row in store.collections.page(Mode.TEST).rows:
            masked = shown[row.id]
            assert mask_phone(masked.phone) == mask_phone(row.phone)
            for name in ("seq", "status", "amount", "fee", "channel", "created_at", "completed_at",
                         "contradictions", "event_id", "failure_code"):  # fmt: skip
                assert getattr(masked, name) == getattr(row, name), name
        assert [row.reference for row in copy.intents.page(Mode.TEST).rows] == [
            row.reference for row in store.intents.page(Mode.TEST).rows
        ]
        assert {row.body for row in copy.intents.page(Mode.TEST).rows} <= {b""}
        [arrived, *_] = copy.deliveries.page(Mode.TEST).rows
        kept = copy.deliveries.body(arrived.id)
        assert kept is not None
        assert (kept.body, kept.headers) == (None, ())


def test_what_was_counted_and_not_kept_is_counted_as_far_as_it_is_known(
    url: str, make: Any, tmp_path: Path, clock: ManualClock
) -> None:
    with Store.open(url, clock=clock, rejected_rows=2) as bounded:
        for number in range(9):
            bounded.record(make.rejected(number))
        for number in range(30):
            bounded.record(
                make.arrival(1, at=make.noon + timedelta(seconds=9, microseconds=number))
            )
        bounded.maintenance.copy(tmp_path / "now.db", as_of=make.noon + timedelta(minutes=30))
        bounded.record(make.arrival(2, at=make.noon + timedelta(hours=2)))
        bounded.maintenance.copy(tmp_path / "hour.db", as_of=make.noon + timedelta(hours=1))
        bounded.maintenance.copy(tmp_path / "then.db", as_of=make.noon + timedelta(minutes=30))
    hour = {"since": make.noon, "until": make.noon + timedelta(hours=1)}
    for name, arrivals, rejected in (("now", 30, 9), ("hour", 20, 9), ("then", 20, 2)):
        with Store.open(tmp_path / f"{name}.db", read_only=True) as copy:
            found = copy.events.get("evt_1", Mode.TEST)
            assert found is not None
            assert found.arrivals == arrivals, name
            counts = {
                row.verdict.value: row.count for row in copy.rollups.deliveries(Mode.TEST, **hour)
            }
            assert counts["rejected"] == rejected, name
            assert copy.maintenance.check() == ()


def test_what_is_dated_back_is_not_known_before_it_was_written(
    store: Store, make: Any, tmp_path: Path
) -> None:
    noon = make.noon
    for number, minutes in ((1, 1), (2, 10), (3, 2), (4, 11)):
        store.record(
            make.observation(number, source=Source.ANSWER, at=noon + timedelta(minutes=minutes))
        )
    done = store.maintenance.copy(tmp_path / "copy.db", as_of=noon + timedelta(minutes=5))
    assert (done.facts, done.left_out) == (1, 1)
    with Store.open(tmp_path / "copy.db", read_only=True) as copy:
        assert [row.id for row in copy.collections.page(Mode.TEST).rows] == ["col_1"]


def test_a_copy_is_whole_while_others_write(store: Store, make: Any, tmp_path: Path) -> None:
    for number in range(50):
        store.record(make.arrival(number))
    ended = threading.Event()

    def write() -> None:
        number = 1_000
        while not ended.is_set():
            store.submit(make.arrival(number, created_at=make.noon)).result()
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(3):
            store.maintenance.copy(tmp_path / f"{number}.db", as_of=make.noon + timedelta(hours=9))
    finally:
        ended.set()
        writer.join()
    for number in range(3):
        with Store.open(tmp_path / f"{number}.db", read_only=True) as copy:
            assert copy.maintenance.check() == ()
            assert copy.feed.head() >= 100


def test_a_copy_never_overwrites_and_leaves_nothing_half_made(
    store: Store, make: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    taken = folder / "taken.db"
    taken.write_text("mine")
    with pytest.raises(StoreUnavailable, match="never overwrites"):
        store.maintenance.copy(taken, as_of=make.noon)
    assert taken.read_text() == "mine"
    with pytest.raises(StoreUnavailable, match="cannot copy to"):
        store.maintenance.copy(folder / "none" / "copy.db", as_of=make.noon)
    store.record(make.arrival(1))
    with store._engines.writer.begin() as connection:
        connection.exec_driver_sql("UPDATE observation SET payload = digest")
    with pytest.raises(StoreUnavailable, match="restore a backup"):
        store.maintenance.copy(folder / "damaged.db", as_of=make.noon + timedelta(hours=1))
    assert [file.name for file in folder.iterdir()] == ["taken.db"]


def test_a_copy_belongs_to_its_owner_alone_and_is_a_store_of_its_own(
    store: Store, make: Any, tmp_path: Path
) -> None:
    store.record(make.arrival(1))
    path = tmp_path / "copy.db"
    store.maintenance.copy(path, as_of=make.noon + timedelta(hours=1))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_nlink == 1
    with Store.open(path) as copy:
        assert copy.store_id != store.store_id
        assert copy.collections.containing(Mode.TEST, "v-0000")
        copy.record(make.arrival(2))
    assert store.collections.get("col_2", Mode.TEST) is None
