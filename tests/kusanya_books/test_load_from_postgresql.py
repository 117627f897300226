"""A team's PostgreSQL and one machine's SQLite give the same month, and the command reads both."""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.kit.intents import prepare_intent

from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.wire import Collection, Mode
from kusanya_books.pack import close, tables
from kusanya_books.read import load
from kusanya_books.request.close_request import CloseRequest
from kusanya_console.cli.command_line import main

pytestmark = pytest.mark.postgres
NOON = datetime(2026, 3, 5, 9, tzinfo=UTC)
STATUSES = ("succeeded", "failed", "expired", "created", "on_hold")


@pytest.fixture(scope="module")
def addresses(
    module_postgres_url: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, str, int]:
    """Return the addresses of both stores with the same facts, and a position among these."""
    path = str(tmp_path_factory.mktemp("sqlite") / "store.db")
    positions = []
    for address in (path, module_postgres_url):
        with Store.open(address) as store:
            for fact in facts():
                store.record(fact)
            positions.append(store.feed.head())
            unknown_intent(store)
            for fact in late_facts():
                store.record(fact)
    assert positions[0] == positions[1]
    return path, module_postgres_url, positions[0]


def observation(number: int, source: Source = Source.EVENT, **said: Any) -> Observation:
    created = NOON + timedelta(hours=7 * number)
    status = said.pop("status", STATUSES[number % 5])
    final = status in {"succeeded", "failed", "expired"}
    plain: dict[str, Any] = {
        "id": f"col_{number}",
        "amount": 10**12 - number,
        "fee": 18,
        "currency": "KES" if number % 7 == 0 else "TZS",
        "channel": ("MPESA_TZ", "TIGO_TZ", "NEW_TZ")[number % 3],
        "phone": f"25575400000{number % 4}",
        "reference": f"=R-{number // 2}; é\u202e",
        "mode": Mode.TEST if number % 11 == 0 else Mode.LIVE,
        # Some answers leave completed_at out: the day is the event's, or when we saw it.
        "completed_at": created + timedelta(hours=9) if final and number % 4 else None,
        "failure_code": "insufficient_funds" if status == "failed" else None,
    }
    collection = Collection(created_at=created, status=status, **{**plain, **said})
    by_event = source is Source.EVENT and final
    return Observation(
        source=source if by_event or source is not Source.EVENT else Source.POLL,
        source_id=f"{source.value}-{number}-{status}",
        observed_at=created + timedelta(hours=10),
        observed_in=collection.mode,
        collection=collection,
        event_id=f"evt_{number}" if by_event else None,
        event_type=f"collection.{status}" if by_event else None,
        event_created_at=created + timedelta(hours=9, seconds=1) if by_event else None,
    )


def facts() -> Iterator[Observation]:
    for number in range(1, 120):
        if number % 3:
            yield observation(number, Source.ANSWER, status="created", completed_at=None)
        yield observation(number)


def late_facts() -> Iterator[Observation]:
    yield observation(4, Source.POLL, status="failed", fee=20)
    yield observation(3, Source.POLL, status="succeeded")
    yield observation(130)


def unknown_intent(store: Store) -> None:
    intent = prepare_intent(
        store,
        idempotency_key="k",
        body=b"{}",
        mode=Mode.LIVE,
        profile="shop",
        reference="R-lost",
        amount=500,
        phone="255754000001",
    )
    store.intents.begin_attempt(intent.id, at=NOON)
    store.intents.resolve(intent.id, collection_id=None, sentence="never arrived")


def same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """Compare two frames of collections; phones are keyed by the store's own id."""
    keys = [pd.factorize(frame["phone_key"])[0].tolist() for frame in (one, other)]
    assert keys[0] == keys[1]
    pd.testing.assert_frame_equal(one.drop(columns="phone_key"), other.drop(columns="phone_key"))


@pytest.mark.parametrize("evidence", [False, True], ids=["projection", "evidence"])
@pytest.mark.parametrize("mode", ["live", "test"])
@pytest.mark.parametrize("late", [True, False], ids=["now", "as of"])
def test_both_engines_give_the_same_inputs(
    addresses: tuple[str, str, int], mode: str, evidence: bool, late: bool
) -> None:
    *stores, position = addresses
    as_of = None if late else position
    sqlite, postgres = (
        load.inputs(
            CloseRequest(store=store, mode=mode, period="2026-03", as_of=as_of), evidence=evidence
        )
        for store in stores
    )
    same(sqlite.frame, postgres.frame)
    assert len(sqlite.frame) == len(postgres.frame) > 5
    pd.testing.assert_frame_equal(sqlite.other_mode, postgres.other_mode)
    pd.testing.assert_frame_equal(sqlite.control, postgres.control)
    names = ["reference", "amount", "sent_at"]
    pd.testing.assert_frame_equal(sqlite.intents[names], postgres.intents[names])
    assert (sqlite.as_of, sqlite.as_of_at) == (postgres.as_of, postgres.as_of_at)
    assert sqlite.judged_on == postgres.judged_on
    if late:
        assert sqlite.control["agrees"].all()


@pytest.mark.merge
def test_both_engines_close_with_the_same_figures(
    addresses: tuple[str, str, int], tmp_path: Path
) -> None:
    books = tmp_path / "books.csv"
    books.write_text("reference,amount,currency,booked_at\nR-x,5,TZS,2026-03-05\n")
    made = [
        close.prepare(
            CloseRequest(store=store, period="2026-03", mode="live", ledger=str(books))
        ).report
        for store in addresses[:2]
    ]
    for name in ("bridge", "ageing", "fees", "tariff", "failure_codes", "recovery", "breaks"):
        paths = [tmp_path / f"{place}-{name}.raw.csv" for place in range(2)]
        for report, path in zip(made, paths, strict=True):
            tables.to_raw_csv(report.page(name).frame, path)
        assert paths[0].read_bytes() == paths[1].read_bytes(), name
    assert made[0].by_code == made[1].by_code
    assert {report.unexplained for report in made} == {0}


def test_the_command_reads_a_postgresql_and_never_shows_its_password(
    addresses: tuple[str, str, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    no_settings: None,
) -> None:
    (tmp_path / "empty.toml").touch()
    monkeypatch.setenv("KUSANYA_CONFIG", str(tmp_path / "empty.toml"))
    monkeypatch.setenv("KUSANYA_DATA", str(tmp_path / "data"))
    address = addresses[1].replace("postgres:@", "postgres:hunter2@")
    days = ("--from", "2026-03-01", "--to", "2026-03-31", "--out", str(tmp_path / "packs"))
    monkeypatch.setattr(sys, "argv", ["kusanya", "reconcile", *days, "--store", address, "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert (ended.value.code, document["verdict"], said.err) == (1, "not proven", "")
    page = (Path(document["folder"]) / "report.html").read_text(encoding="utf-8")
    assert "postgresql://" not in page  # where the store lies is no part of the pack
    assert "hunter2" not in page + said.out
