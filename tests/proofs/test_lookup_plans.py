"""PostgreSQL answers what a person waits for from indexes, like SQLite (tests/kusanya/store).

A planner would rather read some hundred rows whole, so it is told not to wherever it can: what it
reads whole then, no index serves.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import event
from tests.proofs.kit.deliveries import event_body
from tests.proofs.kit.postgres import Server, programs

from kusanya.domain.business_day import day_start
from kusanya.health.report import health
from kusanya.lookup import find
from kusanya.receiver import EndpointSecrets, classify
from kusanya.receiver.endpoints import Endpoints
from kusanya.store import Store
from kusanya.store.records import CollectionFilter, DeliveryFilter, Key, SortOrder, Verdict
from kusanya.webhooks import sign
from kusanya.wire import Mode

NOW: Final = datetime.now(UTC)
SECRET: Final = "whsec_plans"
TEST: Final = Mode.TEST
KEY: Final = Key(1_772_366_400_000_000, "col_5")
SMALL: Final = {"feed_head", "store_meta", "note", "alembic_version"}
"""One row, or as many as people have written."""


def found(text: str) -> Callable[[Store], object]:
    return lambda store: find(store, text, mode=TEST, now=NOW, day=day_start)


CALLS: Final[dict[str, Callable[[Store], object]]] = {
    "one box, id": found("col_5"),
    "one box, event": found("evt_5"),
    "one box, part": found("rder-1"),
    "one box, phone": found("0754000005"),
    "one box, amount and time": found("5000 12:00"),
    "one box, end of a phone": found("98320"),
    "one box, words": found("ref order-1x, 0754000005 5000"),
    "one box, receipt": found("SJ31HG4K5"),
    "breaks": lambda s: s.breaks.page(TEST, older_than=Key(5, "")),
    "newest page": lambda s: s.collections.page(TEST),
    "older page": lambda s: s.collections.page(TEST, older_than=KEY),
    "amount page": lambda s: s.collections.page(TEST, order=SortOrder.AMOUNT, older_than=KEY),
    "an amount": lambda s: s.collections.page(
        TEST, where=CollectionFilter(amount_min=77_501, amount_max=77_502)
    ),
    "large amounts": lambda s: s.collections.page(TEST, where=CollectionFilter(amount_min=10**7)),
    "final page": lambda s: s.collections.page(TEST, order=SortOrder.FINAL, older_than=KEY),
    "common beginning": lambda s: s.collections.by_prefix(TEST, "o"),
    "unwell": lambda s: s.collections.page(TEST, where=CollectionFilter(unwell=True)),
    "failure code": lambda s: s.collections.page(
        TEST, where=CollectionFilter(failure_codes=("x",))
    ),
    "open": lambda s: s.collections.still_open(TEST, after=KEY),
    "deliveries": lambda s: s.deliveries.page(TEST),
    "rejected deliveries": lambda s: s.deliveries.page(
        TEST, where=DeliveryFilter(verdicts=(Verdict.REJECTED,))
    ),
    "attempts": lambda s: s.deliveries.page(TEST, where=DeliveryFilter(event_id="evt_1")),
    "figures": lambda s: s.rollups.collections(TEST, since=NOW - timedelta(days=31), until=NOW),
    "health": lambda s: health(s, TEST, now=NOW),
    "last success": lambda s: s.deliveries.last_success(TEST, "shop", before=NOW),
    "oldest delivery": lambda s: s.deliveries.oldest(
        TEST, where=DeliveryFilter(endpoints=("shop",), arrived_from=NOW - timedelta(hours=1))
    ),
    "rejected of an hour": lambda s: s.deliveries.count_rejected(
        TEST, "shop", since=NOW - timedelta(hours=1), until=NOW
    ),
    "changes": lambda s: s.feed.changes(5, limit=10),
    "unchecked": lambda s: s.events.unchecked(TEST, since=NOW - timedelta(days=1)),
    "intents": lambda s: s.intents.by_reference(TEST, "order-1"),
}


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    """Return a store on PostgreSQL with a few hundred collections."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
    folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    folder.chmod(0o777)
    server = Server(programs(), folder / "data")
    server.create()
    server.start()
    endpoints = Endpoints.of(EndpointSecrets("shop", TEST, SECRET))
    with Store.open(f"postgresql://postgres@127.0.0.1:{server.port}/postgres") as opened:
        for number in range(300):
            body = event_body(number)
            headers = ((b"service-signature", sign(body, SECRET, int(NOW.timestamp())).encode()),)
            opened.submit(classify(body, headers, arrived_at=NOW, endpoints=endpoints))
        opened.record(classify(event_body(301), headers, arrived_at=NOW, endpoints=endpoints))
        receipts = [(f"col_{number}", f"SJ31HG4K{number}") for number in range(300)]
        opened.receipts.record_all(receipts, TEST, source="mpesa.csv", actor="asha")
        yield opened
    server.remove()
    shutil.rmtree(folder)


def read_whole(store: Store, call: Callable[[Store], object]) -> set[str]:
    """Return the tables that PostgreSQL reads whole for what `call` asks."""
    asked: list[tuple[str, Any]] = []

    def listen(_c: Any, _cursor: Any, sql: str, values: Any, _context: Any, _many: bool) -> None:
        if sql.lstrip().upper().startswith("SELECT"):
            asked.append((sql, values))

    engine = store._engines.reader
    event.listen(engine, "before_cursor_execute", listen)
    call(store)
    event.remove(engine, "before_cursor_execute", listen)
    assert asked
    whole: set[str] = set()
    with engine.connect() as connection:
        for cheap_when_small in ("seqscan", "hashjoin", "mergejoin"):
            connection.exec_driver_sql(f"SET LOCAL enable_{cheap_when_small} = off")
        for sql, values in asked:
            plan = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {sql}", values).scalar_one()
            nodes = [plan[0]["Plan"]]
            for node in nodes:
                nodes += node.get("Plans", [])
                conditions = {"Index Cond", "Recheck Cond", "Order By"} & set(node)
                index = node["Node Type"] in {"Index Scan", "Index Only Scan"}
                if node["Node Type"] == "Seq Scan" or (index and not conditions):
                    whole.add(node["Relation Name"])
    return whole


@pytest.mark.postgres
@pytest.mark.parametrize("name", list(CALLS))
def test_postgresql_reads_no_table_whole(store: Store, name: str) -> None:
    assert read_whole(store, CALLS[name]) <= SMALL
