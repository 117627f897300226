"""Whatever reads a pack later refuses a file of it that was changed, cut or lost since.

What of an earlier close is lost is missed by nobody: its open items would be closed in silence.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pytest
from tests.kit.payments import polled, watch

import kusanya_books as reconcile
from kusanya.errors import InputRefused
from kusanya.store import Store
from kusanya_books.judge.report import CloseResult, ReportVerdict
from kusanya_books.pack import decisions
from kusanya_books.pack.journals import account_map, booked_before, journal_entries, to_book
from kusanya_books.read import earlier_pack, gap_rows, load
from kusanya_books.request.close_request import CloseRequest

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
PAID_AT: Final = datetime(2026, 3, 5, 9, tzinfo=UTC)
ACCOUNTS: Final = """
currency = "TZS"
[accounts]
receivable = "Receivable"
clearing = "Clearing"
fee = "Fees"
bank = "Bank"
refund = "Refunds"
suspense = "Suspense"
"""
Act = Callable[[Path], Any]


def lost(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def edited(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


DAMAGES: Final = (
    lost,
    edited,
    pytest.param(emptied, marks=pytest.mark.ci),
    pytest.param(cut, marks=pytest.mark.ci),
)


@pytest.fixture(scope="module")
def home(papers_are_blank: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a store, books that lack a payment, and the pack of its month."""
    home = tmp_path_factory.mktemp("closed")
    with Store.open(home / "store.db") as opened:
        for number in range(1, 5):
            opened.record(polled(number, PAID_AT + timedelta(hours=number)))
    watch(home / "store.db")
    lines = "".join(f"R-{number},1000,TZS,2026-03-05\n" for number in range(2, 5))
    (home / "books.csv").write_text(f"reference,amount,currency,booked_at\n{lines}")
    (home / "accounts.toml").write_text(ACCOUNTS)
    assert closed(home, "2026-03-01..2026-03-31").verdict is ReportVerdict.BREAKS
    return home


def closed(home: Path, period: str, **options: Any) -> CloseResult:
    request = CloseRequest(
        period=period,
        store=str(home / "store.db"),
        mode="live",
        ledger=str(home / "books.csv"),
        **{"accounts": str(home / "accounts.toml"), **options},
    )
    return reconcile.run(request, out=home / "packs")


@pytest.fixture
def pack(home: Path, tmp_path: Path) -> Path:
    """Return the pack in a folder of the test's own."""
    shutil.copytree(home, tmp_path / "home")
    [found] = (tmp_path / "home" / "packs").iterdir()
    return found


def of_decisions(pack: Path) -> pd.DataFrame:
    home = pack.parents[1] if (pack.parents[1] / "store.db").exists() else pack.parent
    with Store.open(home / "store.db") as store:
        return decisions.load(store, pack).frame


def of_journals(pack: Path) -> Any:
    accounts = account_map.read(pack.parents[1] / "accounts.toml")
    return journal_entries.of_pack(pack, accounts).entries


def of_earlier_entries(pack: Path) -> Any:
    """Return what a close that heard more since would continue."""
    of_it = {"first": "2026-03-01", "last": "2026-03-31", "mode": "live"}
    store_id = load.store_id(str(pack.parents[1] / "store.db"))
    made_from = {**of_it, "store_id": store_id, "entity": "", "cutoff": "00:00", "as_of": 99}
    said, _ = to_book.read(pack)
    booked = booked_before.earlier_close(pack.parent, made_from, said, currency="TZS")
    assert booked is not None
    return booked.postings


READERS: Final[dict[str, Act]] = {
    "the next period": lambda pack: earlier_pack.read(pack).carried.items,
    "what people say of it": of_decisions,
    "its entries": of_journals,
    "entries that are continued": of_earlier_entries,
    "a gap among breaks": lambda pack: gap_rows.of_pack(pack, page="breaks").frame,
    "a gap among payments": lambda pack: gap_rows.of_pack(pack, page="collections").frame,
}


@pytest.mark.merge
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_is_not_as_it_was_written_is_refused_or_plays_no_part(
    pack: Path, reader: str, damage: Callable[[Path], None]
) -> None:
    read = READERS[reader]
    whole = read(pack)
    refused = {}
    files = json.loads((pack / "manifest.json").read_text())["files"]
    assert len(files) > 50
    for name in files:
        path = pack / name
        kept = path.read_bytes()
        if not kept:
            continue  # the papers, which are blank here
        damage(path)
        try:
            found = read(pack)
        except InputRefused as error:
            refused[name] = str(error)
        else:
            same = found.equals(whole) if isinstance(whole, pd.DataFrame) else found == whole
            assert same, f"{name} was {damage.__name__}, and nobody noticed"
        path.write_bytes(kept)
    assert refused
    for name, sentence in refused.items():
        assert name in sentence
        assert "copy the pack again, or close its period again" in sentence


@pytest.mark.parametrize("damage", [lost, emptied, cut])
@pytest.mark.parametrize("reader", READERS)
def test_a_folder_whose_manifest_is_damaged_is_no_pack(
    pack: Path, reader: str, damage: Callable[[Path], None]
) -> None:
    damage(pack / "manifest.json")
    with pytest.raises(InputRefused, match=r"is no pack|not the folder of a pack"):
        READERS[reader](pack)


@pytest.mark.parametrize("name", ["open_items.parquet", "open_lines.parquet", "closed.parquet"])
def test_the_next_period_is_not_closed_with_what_is_left_of_an_earlier_pack(
    pack: Path, name: str
) -> None:
    lost(pack / name)
    found = closed(pack.parents[1], "2026-04-01..2026-04-30", previous=str(pack))
    assert found.verdict is ReportVerdict.FAILED
    assert f"{pack.name}: {name} cannot be read" in found.sentence
    assert [path.name for path in pack.parent.iterdir()] == [pack.name]


@pytest.mark.merge
@pytest.mark.parametrize("damage", [lost, emptied, cut])
def test_a_damaged_pack_of_the_period_before_is_not_passed_over_for_an_older_one(
    pack: Path, damage: Callable[[Path], None]
) -> None:
    home = pack.parents[1]
    april = closed(home, "2026-04-01..2026-04-30", carry=True)
    assert april.previous == pack.name
    assert april.folder is not None
    damage(april.folder / "manifest.json")
    may = closed(home, "2026-05-01..2026-05-31", carry=True)
    assert may.verdict is ReportVerdict.FAILED
    assert "is not the folder of a pack" in may.sentence
    with pytest.raises(InputRefused, match="is not the folder of a pack"):
        of_decisions(pack.parent)
    (pack.parent / "notes").mkdir()
    shutil.rmtree(april.folder)
    assert closed(home, "2026-05-01..2026-05-31", carry=True).previous == pack.name


@pytest.mark.merge
def test_of_two_packs_of_the_same_facts_the_one_that_was_made_last_is_carried(pack: Path) -> None:
    """Books that were corrected within the hour are another run at the same place of the store."""
    home, wrong = pack.parents[1], (pack.parents[1] / "books.csv").read_text()
    origin = json.loads((pack / "manifest.json").read_text())["made_from"]

    def newest() -> list[Path | None]:
        of = {name: origin[name] for name in ("store_id", "mode", "entity")}
        carried = earlier_pack.newest(pack.parent, **of, before=date(2026, 4, 1))
        with Store.open(home / "store.db") as store:
            return [carried, decisions.load(store, pack.parent).folder]

    for number in range(3):
        more = "".join(f"R-{1 + each},1000,TZS,2026-03-05\n" for each in range(number))
        (home / "books.csv").write_text(wrong + more)
        right = closed(home, "2026-03-01..2026-03-31").folder
        assert newest() == [right, right]
    (home / "books.csv").write_text(wrong)
    assert closed(home, "2026-03-01..2026-03-31").folder == pack
    assert newest() == [pack, pack]


@pytest.mark.merge
def test_a_name_that_is_given_for_the_first_time_leaves_no_open_item_behind(pack: Path) -> None:
    home = pack.parents[1]
    april = "2026-04-01..2026-04-30"
    first = closed(home, april, carry=True, entity="Duka")
    other = closed(home, april, carry=True, entity="Soko")
    assert [first.previous, other.previous] == [pack.name, pack.name]
    for entity, before in (("Duka", first), ("Soko", other)):
        may = closed(home, "2026-05-01..2026-05-31", carry=True, entity=entity)
        assert before.folder is not None
        assert may.previous == before.folder.name


def balances(home: Path) -> Counter[str]:
    """Return what the accounts hold when the entries of every pack were imported."""
    held: Counter[str] = Counter()
    numbers: set[str] = set()
    for pack in (home / "packs").iterdir():
        entries = journal_entries.of_pack(pack, account_map.read(home / "accounts.toml")).entries
        for entry in entries:
            assert entry.number not in numbers
            numbers.add(entry.number)
            for line in entry.lines:
                held[line.account] += line.amount
    return held


def learn(home: Path, *numbers: int, day: int = 0) -> None:
    with Store.open(home / "store.db") as store:
        for number in numbers:
            store.record(polled(number, PAID_AT + timedelta(days=day)))


@pytest.mark.merge
def test_of_two_packs_of_a_day_without_entries_somebody_must_say_what_is_booked(pack: Path) -> None:
    home = pack.parents[1]
    accounts = account_map.read(home / "accounts.toml")
    shutil.rmtree(pack)
    (home / "accounts.toml").unlink()

    def entries(folder: Path | None, **said: Any) -> int:
        assert folder is not None
        made = journal_entries.of_pack(folder, accounts, **said).entries
        return sum(line.amount for one in made for line in one.lines if line.account == "Clearing")

    night = closed(home, "2026-03-05..2026-03-05", accounts="").folder
    assert entries(night) == 4 * 982
    learn(home, 9)
    month = closed(home, "2026-03-01..2026-03-31", accounts="").folder
    with pytest.raises(InputRefused, match="is of the same days: where its entries are in the bo"):
        entries(month)
    assert entries(month, booked=night) == 982
    assert entries(month, is_first=True) == 5 * 982
    april = closed(home, "2026-04-01..2026-04-30", accounts="").folder
    assert entries(april) == 0
    learn(home, 8, day=1)
    night = closed(home, "2026-03-06..2026-03-06", accounts="").folder
    assert entries(night, booked=month) == 982, "what the month booked of other days stays"
    dukas, sokos = (
        closed(home, "2026-03-05..2026-03-05", accounts="", entity=name).folder
        for name in ("Duka", "Soko")
    )
    assert entries(dukas, booked=month) == 0
    with pytest.raises(InputRefused, match="is of another store, mode, entity or cutoff"):
        entries(dukas, booked=sokos)


def test_entries_whose_files_were_moved_away_to_be_imported_are_not_booked_again(
    pack: Path,
) -> None:
    home = pack.parents[1]
    for path in (pack / "journals").iterdir():
        path.rename(home / path.name)
    learn(home, 9)
    assert closed(home, "2026-03-01..2026-03-31").folder is not None
    assert balances(home)["Clearing"] == 5 * 982


@pytest.mark.merge
def test_a_close_whose_accounts_were_missing_booked_nothing(pack: Path) -> None:
    home = pack.parents[1]
    shutil.rmtree(pack)
    whole = (home / "accounts.toml").read_text()
    (home / "accounts.toml").write_text(whole.replace('fee = "Fees"\n', ""))
    incomplete = closed(home, "2026-03-01..2026-03-31").folder
    assert incomplete is not None
    assert (incomplete / "journals" / "missing_accounts.csv").exists()
    (home / "accounts.toml").write_text(whole)
    learn(home, 9)
    again = closed(home, "2026-03-01..2026-03-31").folder
    shutil.rmtree(incomplete)
    assert again is not None
    assert balances(home)["Clearing"] == 5 * 982


@pytest.mark.merge
def test_the_month_books_what_its_nights_did_not(pack: Path) -> None:
    """Whatever was closed, in whatever order: each payment is on the accounts once."""
    home = pack.parents[1]
    shutil.rmtree(pack)
    night, next_night = "2026-03-05..2026-03-05", "2026-03-06..2026-03-06"
    closed(home, night)
    learn(home, 11, 12, day=1)
    closed(home, next_night)
    assert balances(home)["Clearing"] == 6 * 982
    learn(home, 13)
    month = closed(home, "2026-03-01..2026-03-31").folder
    assert month is not None
    assert balances(home)["Clearing"] == 7 * 982
    made_from = json.loads((month / "manifest.json").read_text())["made_from"]
    nights = sorted(
        path.name.rsplit("-", 1)[-1] for path in month.parent.iterdir() if path != month
    )
    assert sorted(run for _, _, run, _ in made_from["entries_after"]) == nights
    assert closed(home, "2026-03-01..2026-03-31").folder == month
    learn(home, 14, day=1)
    closed(home, next_night)
    learn(home, 15, day=9)
    closed(home, "2026-03-01..2026-03-31")
    closed(home, "2026-03-01..2026-03-10")
    assert balances(home)["Clearing"] == 9 * 982
    assert balances(home)["Receivable"] == -9_000
    shutil.rmtree(month)
    with pytest.raises(InputRefused, match="these entries continue those of run"):
        balances(home)
