"""A store from a backup charges nobody twice: whatever was created since is asked for first."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.kusanya.intents.orders import ORDER, NewClient

from kusanya.errors import IntentError, IntentReason, KusanyaError, StoreError, StoreUnavailable
from kusanya.intents import create_safely, decide, open_intents, resolve_restore, resume
from kusanya.store import Store, restore_file
from kusanya.store.records import IntentState
from kusanya.wire import Mode

PutBack = Callable[[], Store]
_HOURS = 12
_EXAMPLE = {**ORDER, "reference": "before"}


def order(reference: str, **said: Any) -> dict[str, Any]:
    return {**ORDER, "reference": reference, **said}


@pytest.fixture
def back_up(
    request: pytest.FixtureRequest, store: Store, store_url: str, tmp_path: Path, clock: Any
) -> Iterator[Callable[[], PutBack]]:
    """Return what makes a backup of the store, and that what puts the backup back and opens it."""
    opened: list[Store] = []

    def of_a_file() -> PutBack:
        backup, target = tmp_path / "backup.db", tmp_path / "restored.db"
        store.maintenance.backup(backup)

        def put_back() -> Store:
            restore_file(backup, target, clock=clock)
            opened.append(Store.open(target, clock=clock))
            return opened[-1]

        return put_back

    def of_a_server() -> PutBack:
        databases = request.getfixturevalue("databases")
        # A server's backup is its own: this copies the database as it stands.
        store._engines.reader.dispose()
        store._engines.writer.dispose()
        name = databases.create(of=store_url.partition("?")[0].rpartition("/")[2])
        request.addfinalizer(lambda: databases.drop(name))

        def put_back() -> Store:
            opened.append(Store.open(databases.url(name), clock=clock))
            opened[-1].restores.mark(actor="asha")
            return opened[-1]

        return put_back

    yield of_a_server if store_url.startswith("postgres") else of_a_file
    for one in opened:
        one.close()


@contextmanager
def whatever_fails() -> Iterator[None]:
    try:
        yield
    except KusanyaError:
        return


def work_for_hours(store: Store, service: Any, new_client: NewClient, play: Any) -> list[Any]:
    """Create, lose, correct and repeat orders for 12 hours; return every call that was made."""
    calls = []
    for number in range(2 * _HOURS):
        service.clock.pass_by(timedelta(minutes=30))
        reference = f"order-{number}"
        made: list[dict[str, Any]] = [order(reference)]
        if number % 6 == 1:
            service.faults = [play.Fault.LOST_ANSWER]
        elif number % 6 == 2:  # refused, then corrected
            made = [order(reference, phone="0700 000 422"), order(reference)]
        elif number % 6 == 3:
            made.append(order(reference, force_repeat_reason="the customer asked for two"))
        elif number % 6 == 4:
            made = [order(reference, idempotency_key=f"job-{number}")]
        elif number % 6 == 5:
            made = [order(reference, metadata={"till": str(number)})]
        for one in made:
            with whatever_fails():
                create_safely(store, new_client(max_attempts=1), **one)
        calls += made
    for intent in list(open_intents(store)):
        resume(store, new_client(), intent)
    return calls


def try_all_again(store: Store, new_client: NewClient, calls: list[Any]) -> set[IntentReason]:
    """Make every call again and resume what is open; return why each was refused."""
    refusals = set()
    for one in calls:
        try:
            create_safely(store, new_client(), **one)
        except IntentError as refusal:
            refusals.add(refusal.reason)
    for intent in list(open_intents(store)):
        try:
            resume(store, new_client(), intent)
        except IntentError as refusal:
            refusals.add(refusal.reason)
    return refusals


def test_twelve_hours_of_orders_tried_again_after_a_restore_charge_nobody_twice(
    store: Store,
    service: Any,
    new_client: NewClient,
    play: Any,
    back_up: Callable[[], PutBack],
) -> None:
    first = create_safely(store, new_client(), **_EXAMPLE)
    for reference, fault in (
        ("lost", play.Fault.LOST_ANSWER),
        ("late", play.Fault.LOST_REQUEST),
        ("waiting", play.Fault.NO_CONNECTION),
    ):
        service.faults = [fault]
        with whatever_fails():
            create_safely(store, new_client(max_attempts=1), **order(reference))
    put_back = back_up()
    calls = [*map(order, ("lost", "late", "waiting")), *work_for_hours(
        store, service, new_client, play
    )]  # fmt: skip
    charged = dict(service.collections)
    references = {made["reference"] for made in charged.values()}
    assert {"lost", "late", "waiting", "order-2", "order-3"} <= references
    left = len(service.arrived)

    service.witness = restored = put_back()
    refused = try_all_again(restored, new_client, calls)
    assert refused == {IntentReason.ASK_FIRST, IntentReason.WINDOW_CLOSED}
    assert restored.intents.by_reference(Mode.TEST, "order-3") == ()
    with pytest.raises(IntentError) as never_seen:
        create_safely(restored, new_client(), **order("new"))
    assert (never_seen.value.reason, never_seen.value.retryable) == (IntentReason.ASK_FIRST, False)
    # What the store knows to have been answered is known as before.
    known = restored.intents.get(first.intent.id)
    assert known is not None
    assert known.state is IntentState.ANSWERED
    service.clock.pass_by(timedelta(hours=30))  # the service has forgotten the keys by now
    try_all_again(restored, new_client, calls)
    assert (service.collections, len(service.arrived)) == (charged, left)

    since = [made for made in charged if made != first.collection.id]
    partly = resolve_restore(
        restored, new_client(), [*since[:5], "col_none"], actor="asha", why="typed"
    )
    assert (partly.complete, partly.unknown, partly.asked) == (False, ["col_none"], 6)
    with pytest.raises(IntentError, match="restored from a backup"):
        create_safely(restored, new_client(), **order("new"))
    done = resolve_restore(
        restored, new_client(), since, actor="asha", why="the dashboard's list since noon"
    )
    assert done.complete
    assert partly.resolved + done.resolved == 3  # lost, late and waiting
    assert list(open_intents(restored)) == []
    again = [{**one, "force_repeat_reason": None} for one in calls]
    assert try_all_again(restored, new_client, again) == {IntentReason.REFERENCE_OPEN}
    assert (service.collections, len(service.arrived)) == (charged, left)

    create_safely(restored, new_client(), **order("new"))
    assert len(service.collections) == len(charged) + 1
    assert restored.maintenance.check() == ()
    acts = [row.act for row in restored.audit.page().rows]
    assert acts == ["resolve restore", "restore"]
    with pytest.raises(StoreError, match="no restore waits"):
        resolve_restore(restored, new_client(), since, actor="asha", why="again")


def test_a_decision_after_a_restore_frees_no_reference_for_a_second_charge(
    store: Store, service: Any, new_client: NewClient, play: Any, back_up: Callable[[], PutBack]
) -> None:
    service.faults = [play.Fault.NO_CONNECTION]
    with whatever_fails():
        create_safely(store, new_client(max_attempts=1), **ORDER)
    put_back = back_up()
    [waiting] = open_intents(store)
    resume(store, new_client(), waiting)
    service.witness = restored = put_back()
    decide(
        restored,
        waiting.id,
        actor="asha",
        why="nothing on the statement yet",
        collection_id=None,
        now=service.clock.now(),
    )
    with pytest.raises(IntentError) as refused:
        create_safely(restored, new_client(), **ORDER)
    assert refused.value.reason is IntentReason.ASK_FIRST
    assert len(service.collections) == 1


def test_a_restore_verifies_its_backup_and_writes_over_nothing(tmp_path: Path, clock: Any) -> None:
    place, backup = tmp_path / "store.db", tmp_path / "backup.db"
    with Store.open(place, clock=clock) as store:
        store.maintenance.backup(backup)
        kept = store.store_id
    digest = hashlib.sha256(backup.read_bytes()).hexdigest()
    target = tmp_path / "restored.db"

    def restore(source: Path = backup, to: Path = target, **said: Any) -> Any:
        return restore_file(source, to, clock=clock, **said)

    was = place.read_bytes()
    with pytest.raises(StoreUnavailable, match="never overwrites"):
        restore(to=place)
    assert place.read_bytes() == was
    with pytest.raises(StoreUnavailable, match=f"its SHA-256 is {digest}"):
        restore(sha256="00" * 32)
    torn = tmp_path / "torn.db"
    for page in range(1, backup.stat().st_size // 4096):
        content = bytearray(backup.read_bytes())
        content[4096 * page : 4096 * page + 200] = b"\xa5" * 200
        torn.write_bytes(content)
        with pytest.raises(StoreUnavailable, match="take another one"):
            restore(torn)
    (tmp_path / "restored.db-wal").write_bytes(b"of the former store")
    with pytest.raises(StoreUnavailable, match="-wal exists already"):
        restore()
    (tmp_path / "restored.db-wal").unlink()
    assert not target.exists()
    done = restore(sha256=digest.upper())
    assert (done.sha256, done.facts, done.open_intents, done.known_to) == (digest, 0, 0, None)
    assert hashlib.sha256(backup.read_bytes()).hexdigest() == digest
    with Store.open(target, clock=clock) as restored:
        assert restored.store_id == kept
        assert [row.detail for row in restored.audit.page().rows] == [f"sha256 {digest}"]
        assert restored.restores.of(Mode.LIVE) == restored.restores.of(Mode.TEST)
