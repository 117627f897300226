"""`kusanya reconcile` as an analyst meets it: clear lines, exit codes, and nothing half written."""

import io
import json
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy
from threading import Event
from typing import Any

import pytest
from tests.kit.payments import polled, watch

from kusanya.state.observation import Observation
from kusanya.store import Store
from kusanya_console.cli.command_line import main
from kusanya_console.cli.process.progress_line import ProgressLine

NOON = datetime(2026, 3, 5, 9, tzinfo=UTC)
Ended = tuple[int, str, str]
Kusanya = Callable[..., Ended]


@pytest.fixture
def kusanya(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    no_settings: None,
    empty_store: Path,
) -> Kusanya:
    """Return the command on a store of three live payments: exit code, output, complaint."""
    (tmp_path / "empty.toml").touch()
    monkeypatch.setenv("KUSANYA_CONFIG", str(tmp_path / "empty.toml"))
    monkeypatch.setenv("KUSANYA_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    with Store.open(copy(empty_store, tmp_path / "shop.db")) as store:
        for number in range(1, 4):
            store.record(paid(number))
        store.record(paid(9, created_at=NOON + timedelta(days=15), status="failed"))
    watch(tmp_path / "shop.db")

    def run(*arguments: str, days: tuple[str, str] | None = ("2026-03-01", "2026-03-31")) -> Ended:
        span = () if days is None else ("--from", days[0], "--to", days[1])
        options = (*span, "--out", "packs", "--store", "shop.db")
        monkeypatch.setattr(sys, "argv", ["kusanya", "reconcile", *options, *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


def paid(number: int, created_at: datetime | None = None, **fields: Any) -> Observation:
    created = created_at or NOON + timedelta(hours=number)
    return polled(number, created, completed_at=None, **fields)


def books(folder: Path, *lines: str) -> str:
    path = folder / "books.csv"
    header = "reference,amount,currency,booked_at\n"
    path.write_text(header + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


AGREEING = tuple(f"R-{number},1000,TZS,2026-03-05" for number in (1, 2, 3))


@pytest.mark.merge
def test_books_that_agree_end_with_zero_and_say_where_the_pack_is(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    code, out, err = kusanya("--mode", "live", "--ledger", books(tmp_path, *AGREEING))
    assert (code, err) == (0, "")
    first, second, *_, last = out.splitlines()
    days = "business days 2026-03-01 to 2026-03-31, East Africa Time"
    assert first == f"live collections, {days}"
    assert second == (
        "The books agree with the service, and the bridge closes to zero. Compared, of TZS 3,000: "
        "books 100 %, operator 0 %, settlement 0 %, bank 0 %."
    )
    assert last == "read report.html there; sign pack.xlsx"
    (pack,) = (tmp_path / "packs").iterdir()
    assert str(pack.relative_to(tmp_path)) in out


@pytest.mark.merge
def test_breaks_end_with_one_and_each_code_says_what_to_do(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    lines = (AGREEING[0], "R-2,900,TZS,2026-03-05", "R-7,5,TZS,2026-03-05")
    code, out, err = kusanya("--mode", "live", "--ledger", books(tmp_path, *lines))
    assert (code, err) == (1, "")
    assert "The bridge closes to zero. What needs a person: breaks 3." in out
    assert out.splitlines()[-1] == "read report.html there; do not sign"
    table = [line.split(None, 2) for line in out.splitlines() if line.startswith("  ")]
    assert table == [
        ["breaks", "of", "the books: 3, TZS 1,105"],
        ["missing_at_provider", "1", "booked, never paid: Find the payment or reverse."],
        ["missing_in_ledger", "1", "paid, not in the books: Book it."],
        ["amount_mismatch", "1", "the amounts differ: Correct the amount."],
    ]
    code, out, _ = kusanya(
        *("--mode", "live", "--ledger", books(tmp_path, *lines), "--max-breaks", "3")
    )
    assert (code, "within the limit" in out) == (0, True)


def test_without_a_ledger_the_pack_is_written_and_nothing_is_proven(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    code, out, err = kusanya("--mode", "live")
    assert (code, err) == (1, "")
    assert "Not proven: no ledger was given." in out
    assert list((tmp_path / "packs").rglob("pack.xlsx"))


@pytest.mark.merge
def test_the_mode_is_the_profiles_unless_it_is_said(kusanya: Kusanya, tmp_path: Path) -> None:
    ledger = books(tmp_path, *AGREEING)
    code, out, _ = kusanya("--ledger", ledger)
    assert code == 1
    assert out.startswith("test collections, ")
    assert "mode_mismatch" in out
    assert "the payment is of the other mode" in out
    code, out, _ = kusanya("--ledger", ledger, "--mode", "live", "--json")
    table = json.loads(out)
    assert (code, table["verdict"], "-live-" in table["folder"]) == (0, "reconciled", True)
    code, _, err = kusanya("--mode", "both")
    assert code == 2
    assert "mode" in err


def test_a_period_without_anything_says_so(kusanya: Kusanya, tmp_path: Path) -> None:
    ledger = books(tmp_path, *AGREEING)
    code, out, _ = kusanya("--mode", "live", "--ledger", ledger, days=("2020-01-01", "2020-01-31"))
    assert code == 1
    assert "Not proven: the store's first fact is of 2026-03-05" in out


@pytest.mark.parametrize(
    ("days", "arguments", "says"),
    [
        (("2026-03-31", "2026-03-01"), (), "ends on 2026-03-01, before it begins on 2026-03-31"),
        (("2026-03-32", "2026-03-31"), (), "--from is a day as 2026-03-31, not 2026-03-32"),
        (("2026-03-01", "March"), (), "--to is a day as 2026-03-31, not March"),
        (("2026-03-01", "2026-03-31"), ("--cutoff", "noon"), "a cutoff is written as 00:00"),
        (("2026-03-01", "2026-03-31"), ("--as-of", "99"), "99 is not in it"),
        (("2026-03-01", "2026-03-31"), ("--ledger", "none.csv"), "there is no file none.csv"),
        (("2026-03-01", "2026-03-31"), ("--max-breaks", "-1"), "max-breaks"),
    ],
    ids=["reversed", "no such day", "no day", "cutoff", "position", "no file", "limit"],
)
def test_what_was_asked_wrongly_ends_with_two_and_one_line(
    kusanya: Kusanya, tmp_path: Path, days: tuple[str, str], arguments: tuple[str, ...], says: str
) -> None:
    code, out, err = kusanya("--mode", "live", *arguments, days=days)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
    assert not (tmp_path / "packs").exists()


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("broken.xlsx", b"PK\x03\x04 and no more", "broken.xlsx is not an XLSX file"),
        ("empty.csv", b"", "empty.csv is empty"),
        ("latin.csv", b"reference,amount,currency,booked_at\n\x81,1,TZS,2026-03-05\n", "utf-8"),
        ("lacks.csv", b"reference,amount\nR-1,5\n", "lacks.csv has no column currency"),
    ],
)
def test_a_ledger_that_cannot_be_used_writes_nothing_and_says_what_to_change(
    kusanya: Kusanya, tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    (tmp_path / name).write_bytes(content)
    code, out, err = kusanya("--mode", "live", "--ledger", name)
    assert (code, out) == (1, "")
    assert err.startswith("kusanya: ")
    assert says in err
    assert err.count("\n") == 1
    assert not (tmp_path / "packs").exists()


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31", "9999-12-31T23:59:59Z"])
@pytest.mark.parametrize("mapping", ["", 'date_format = "%Y-%m-%d"'])
def test_a_row_of_a_day_that_programs_write_for_none_is_named(
    kusanya: Kusanya, tmp_path: Path, day: str, mapping: str
) -> None:
    ledger = books(tmp_path, *AGREEING, f"R-4,1000,TZS,{day}")
    (tmp_path / "books.toml").write_text(f"[ledger]\n{mapping}\n", encoding="utf-8")
    code, out, err = kusanya("--mode", "live", "--ledger", ledger, "--mapping", "books.toml")
    assert (code, err) == (1, "")
    assert "1 input row(s) could not be read" in out
    assert 'row 5, column "booked_at": booked_at is not a date' in out


def test_a_row_that_cannot_be_read_is_named_and_the_pack_says_not_closed(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    ledger = books(tmp_path, *AGREEING, "R-4,10.50,TZS,2026-03-05")
    code, out, err = kusanya("--mode", "live", "--ledger", ledger)
    assert (code, err) == (1, "")
    said = out.splitlines()[1]
    assert said.startswith("Not closed: 1 input row(s) could not be read: ledger books.csv, row 5")
    assert "amount is not a whole number" in said
    assert "  input rows that could not be read: 1" in out
    assert out.splitlines()[-1] == "read report.html there; do not sign"
    assert list((tmp_path / "packs").rglob("pack.xlsx"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[ledger]\ncolumns = { reference = "Nope" }\n', "no column Nope for reference"),
        ('[ledger]\ncolumns = { references = "x" }\n', "no such column of ours: references"),
        ("[ledger\n", "books.toml is not TOML"),
        ('[ledger]\nzone = "Mars/Base"\n', "zone is a name like Africa/Dar_es_Salaam"),
        ('[ledgers]\nzone = "UTC"\n', "ledgers"),
        (f"x = {'[' * 3000}{']' * 3000}\n", "books.toml is nested too deep"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused_with_its_reason(
    kusanya: Kusanya, tmp_path: Path, text: str, says: str
) -> None:
    # Editors of Windows say first that it is UTF-8.
    (tmp_path / "books.toml").write_text(text, encoding="utf-8-sig")
    ledger = books(tmp_path, *AGREEING)
    code, out, err = kusanya("--mode", "live", "--ledger", ledger, "--mapping", "books.toml")
    assert (code, out) == (1, "")
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("period", ["0001-01-01", "9999-12-31", "1899-12-31..1900-01-02"])
def test_a_period_of_other_centuries_is_a_slip(kusanya: Kusanya, period: str) -> None:
    code, _, err = kusanya("--mode", "live", "--period", period, days=None)
    assert (code, "a period is written as 2026-03" in err) == (2, True)


def test_a_previous_pack_that_is_none_is_named(kusanya: Kusanya, tmp_path: Path) -> None:
    code, _, err = kusanya("--mode", "live", "--previous", ".")
    assert code == 1
    assert f"{tmp_path.name} is not the folder of a pack" in err


def test_a_long_step_says_how_long_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    now = [5.0]
    line = ProgressLine(clock=lambda: now[0])
    line.step("matching the ledger")
    for now[0] in (5.9, 6.1, 8.0):
        line.draw()
    line.step("auditing fees")
    stopped = Event()
    stopped.set()
    line.keep_drawing(stopped)
    assert capsys.readouterr().err.split("\r\x1b[K")[1:] == [
        "matching the ledger",
        "matching the ledger",
        "matching the ledger, 1 s",
        "matching the ledger, 3 s",
        "auditing fees",
        "",
    ]


class Terminal(io.StringIO):
    """A standard error that a person looks at."""

    def isatty(self) -> bool:
        """Say that it is one."""
        return True


def test_a_person_at_a_terminal_sees_what_is_being_done_and_then_a_clean_line(
    kusanya: Kusanya, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    kusanya("--mode", "live")
    # Each second a step is drawn again, with how long it has taken.
    drawn = terminal.getvalue().split("\r\x1b[K")
    steps = [step for step in drawn if not re.search(r", \d+ s$", step)]
    assert steps[1:4] == ["starting", "", "reading what was given"]
    assert steps[4:6] == ["reading collections", "reading collections: 4"]
    assert "auditing fees: by day and channel" in steps
    # The last thing drawn is nothing, so that the answer begins on an empty line.
    assert steps[-2:] == ["writing the pack: manifest.json", ""]
    broken = Terminal()
    monkeypatch.setattr(sys, "stderr", broken)
    kusanya("--mode", "live", "--as-of", "99")
    assert broken.getvalue().split("\r\x1b[K")[-1].startswith("kusanya: the store's journal ends")
