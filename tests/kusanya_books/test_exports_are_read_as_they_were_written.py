"""An export that lost a file, did not end or is older in part is not taken for the whole store."""

import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec
import pytest
from tests.kit.payments import polled

import kusanya_books as reconcile
from kusanya.errors import StoreUnavailable
from kusanya.store import Store
from kusanya.store.maintenance.export import Parquet
from kusanya.wire import Mode
from kusanya_books.judge.report import CloseResult, ReportVerdict
from kusanya_books.request.close_request import CloseRequest

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
BEGIN: Final = datetime(2026, 3, 1, 9, tzinfo=UTC)
LARGE: Final = 11
"""The payment of 12 March, of half a million, which the books lack."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a store of a payment a day to mid-April, its export, and books."""
    home = tmp_path_factory.mktemp("shop")
    with Store.open(home / "store.db") as store:
        for day in range(45):
            amount = 500_000 if day == LARGE else 1_000
            store.record(polled(day, BEGIN + timedelta(days=day), amount=amount))
        store.parquet.write(home / "out", Mode.LIVE)
    rows = "".join(
        f"R-{day},1000,TZS,{(BEGIN + timedelta(days=day)).date()}\n"
        for day in range(31)
        if day != LARGE
    )
    (home / "books.csv").write_text(f"reference,amount,currency,booked_at\n{rows}")
    return home


@pytest.fixture
def home(shop: Path, tmp_path: Path) -> Path:
    return shutil.copytree(shop, tmp_path / "home")


def closed(home: Path, export: str = "out") -> CloseResult:
    request = CloseRequest(
        period="2026-03-01..2026-03-31",
        store=str(home / export),
        mode="live",
        ledger=str(home / "books.csv"),
    )
    return reconcile.run(request, out=home / "packs")


def test_what_the_books_lack_is_named_from_a_whole_export(home: Path) -> None:
    found = closed(home)
    assert (found.verdict, found.breaks) == (ReportVerdict.BREAKS, 1)


def without_contents(out: Path) -> None:
    (out / "_contents.json").unlink()


def with_half_its_contents(out: Path) -> None:
    path = out / "_contents.json"
    path.write_bytes(path.read_bytes()[:100])


def with_a_file_of_another_day(out: Path) -> None:
    shutil.copy(out / "day=2026-03-05/live.parquet", out / "day=2026-03-12/live.parquet")


def with_a_day_too_many(out: Path) -> None:
    shutil.copytree(out / "day=2026-03-05", out / "day=2026-02-27")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda out: shutil.rmtree(out / "day=2026-03-12"), "day=2026-03-12/live.parquet is miss"),
        (lambda out: (out / "_intents/live.parquet").unlink(), "_intents/live.parquet cannot be"),
        (with_a_file_of_another_day, "day=2026-03-12/live.parquet is not as it was exported"),
        (with_a_day_too_many, "day=2026-02-27/live.parquet is of no export that has ended"),
        (without_contents, "live.parquet is of no export that has ended"),
        (with_half_its_contents, "_contents.json cannot be read"),
    ],
)
def test_an_export_that_is_not_as_it_was_written_closes_no_period(
    home: Path, damage: Callable[[Path], None], said: str
) -> None:
    damage(home / "out")
    found = closed(home)
    assert found.verdict is ReportVerdict.FAILED
    assert said in found.sentence
    assert "copy the whole export again, or export the store into an empty folder" in found.sentence
    assert not (home / "packs").exists()


def export(home: Path, *spans: tuple[int | None, int | None]) -> None:
    """Export days of March, from and to, each time into the same folder."""
    with Store.open(home / "store.db") as store:
        for number, span in enumerate(spans):
            store.record(polled(f"late-{number}", BEGIN + timedelta(days=46 + number)))
            first, last = (
                None if day is None else date(2026, 2, 28) + timedelta(days=day) for day in span
            )
            store.parquet.write(home / "parts", Mode.LIVE, since=first, until=last)


WHOLE: Final = "export the store again, whole or from 2026-02-22 on"


@pytest.mark.merge
@pytest.mark.parametrize(
    ("spans", "unproven"),
    [
        pytest.param([(None, None)], [], marks=pytest.mark.ci),
        ([(-6, None)], []),
        (
            [(None, 11), (13, None)],
            [f"on 2026-03-12: {WHOLE}", "of 2026-02-22 and 17 other day(s) the export is older"],
        ),
        ([(1, None)], [f"created on 2026-02-22 and 6 other day(s): {WHOLE}"]),
        ([(None, None), (13, None)], ["of 2026-02-22 and 18 other day(s) the export is older"]),
        pytest.param([(None, 20), (13, None), (None, None)], [], marks=pytest.mark.ci),
        pytest.param(
            [(None, 20), (13, None), (None, 12)],
            ["of 2026-03-13 and 18 other day(s)"],
            marks=pytest.mark.ci,
        ),
    ],
)
def test_days_that_an_export_does_not_hold_or_holds_as_they_were_are_not_proven(
    home: Path, spans: list[tuple[int | None, int | None]], unproven: list[str]
) -> None:
    export(home, *spans)
    found = closed(home, "parts")
    for sentence in unproven:
        assert any(sentence in said for said in found.unproven), found.unproven
    assert len(found.unproven) == len(unproven)


@pytest.mark.merge
def test_an_export_that_does_not_end_is_none_until_it_is_made_once_more(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(home / "store.db") as store:
        with monkeypatch.context() as patched:
            patched.setattr(Parquet, "_export_intents", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                store.parquet.write(home / "out", Mode.LIVE)
        assert "is of no export that has ended" in closed(home).sentence
        store.parquet.write(home / "out", Mode.LIVE)
    assert closed(home).verdict is ReportVerdict.BREAKS


@pytest.mark.merge
def test_two_stores_export_into_folders_of_their_own_and_neither_carries_the_others_pack(
    home: Path,
) -> None:
    with Store.open(home / "other.db") as store:
        for day in range(60):
            store.record(polled(day, BEGIN + timedelta(days=day)))
        with pytest.raises(StoreUnavailable, match="holds an export of another store"):
            store.parquet.write(home / "out", Mode.LIVE)
        store.parquet.write(home / "others", Mode.LIVE)
    assert closed(home).verdict is ReportVerdict.BREAKS
    april = CloseRequest(
        period="2026-04-01..2026-04-10", store=str(home / "others"), mode="live", carry=True
    )
    assert reconcile.run(april, out=home / "packs").previous is None
    of_march = str(next((home / "packs").glob("*-2026-03-31-*")))
    named = reconcile.run(msgspec.structs.replace(april, previous=of_march), out=home / "packs")
    assert "was made from another store" in named.sentence
