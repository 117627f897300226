"""A file of another month, of other units or with a wrong mapping is looked at before its lines."""

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.payments import polled, watch

import kusanya_books as reconcile
from kusanya.alarms import notify
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import ACCOUNTED
from kusanya_books.judge.look_first import look_first
from kusanya_books.judge.report import CloseResult, ReportVerdict
from kusanya_books.request.close_request import CloseRequest
from kusanya_console.cli.finance.notification import Notification, news_of

NOON = datetime(2026, 3, 5, 9, tzinfo=UTC)
HEADER = "reference,amount,currency,booked_at\n"
COUNT = 12


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "store.db") as store:
        for number in range(COUNT):
            at = NOON + timedelta(minutes=number)
            store.record(polled(number + 1, at, phone=f"2557541234{number:02}"))
        store.record(polled(99, NOON + timedelta(days=20), status="failed", failure_code="x"))
    watch(tmp_path / "store.db")
    return tmp_path


def books(
    amount: int = 1_000, *, name: str = "R", day: str = "2026-03-05", currency: str = "TZS"
) -> str:
    return HEADER + "".join(f"{name}-{n},{amount},{currency},{day}\n" for n in range(1, COUNT + 1))


def run(home: Path, text: str, **wanted: Any) -> CloseResult:
    (home / "books.csv").write_text(text)
    request = CloseRequest(
        mode="live", store=str(home / "store.db"), ledger=str(home / "books.csv"),
        **{"period": "2026-03", **wanted},
    )  # fmt: skip
    return reconcile.run(request, out=home / "packs")


openpyxl: Any = import_module("openpyxl")
SEE = "see whether it is the right file"
OF_ALL = (
    f"12 of the 12 lines of the books are breaks: {SEE}, and whether its mapping is right, before "
    "you act on one of them"
)


@pytest.mark.usefixtures("no_settings")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (books(), ()),
        (books(1), (OF_ALL,)),
        (books(currency="KES"), (OF_ALL,)),
        (books(-1_000), (OF_ALL,)),
        (
            books(name="Q", day="2026-02-05"),
            (f"none of the 12 lines of the books is of this period: {SEE}",),
        ),
        (HEADER, ("there is no line in the books: see whether they are the right file",)),
    ],
    ids=["right", "thousands", "currency", "sign", "month", "empty"],
)
def test_a_close_says_first_what_is_wrong_with_all_lines_of_its_books(
    home: Path, text: str, said: tuple[str, ...]
) -> None:
    found = run(home, text)
    assert found.look_first == said
    assert found.to_dict()["look_first"] == list(said)
    assert found.sentence.startswith("Look first: ") == bool(said)
    assert found.folder is not None
    page = (found.folder / "report.html").read_text()
    sheet = openpyxl.load_workbook(found.folder / "pack.xlsx").worksheets[0]
    front = " ".join(str(cell) for row in sheet.iter_rows(values_only=True) for cell in row)
    for one in said:
        assert one in found.sentence
        assert one in page
        assert one in front


@pytest.mark.usefixtures("no_settings", "papers_are_blank")
def test_books_that_are_a_day_behind_are_not_called_wrong(home: Path) -> None:
    late: dict[str, Any] = {"period": "2026-03-05", "judged_on": date(2026, 3, 6)}
    found = run(home, books(name="Q", day="2026-03-04"), **late)
    assert (found.breaks, found.look_first) == (0, ())
    assert sum(row["rows"] for row in found.waiting) == COUNT


def test_a_notification_says_it_before_all_else(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, str]] = []

    def send(_urls: Sequence[str], title: str, body: str, *, data: Any) -> tuple[()]:
        sent.append((title, body))
        json.dumps(data)
        return ()

    monkeypatch.setattr(notify, "check", lambda _: None)
    monkeypatch.setattr(notify, "send", send)
    result = CloseResult(
        verdict=ReportVerdict.NOT_PROVEN, sentence="", look_first=(OF_ALL,), unproven=("a", "b")
    )
    day = NOON.date()
    assert not Notification(("http://127.0.0.1:1",), Mode.LIVE, (day, day)).send(result)
    ((_, body),) = sent
    assert body.splitlines()[0] == f"Look first: {OF_ALL}"


def test_what_the_sentence_has_said_is_not_said_again() -> None:
    result = CloseResult(verdict=ReportVerdict.NOT_PROVEN, sentence="", unproven=("a b", "c d"))
    assert news_of(result, said="Not proven: a b; c…") == ["not proven: c d"]
    assert news_of(result, said="") == ["not proven: a b", "not proven: c d"]


def accounted(*rows: tuple[str, int, int, int], paid: int = 10) -> Any:
    """Return where lines went: of each file those that were read, are breaks, or lie outside."""
    every = (*rows, ("collections", paid + 5, 0, 5))
    return columns.from_dicts(
        ACCOUNTED,
        [
            {
                "input": name, "currency": "TZS",
                **dict.fromkeys((c for c in ACCOUNTED.columns if "_" in c), 0),
                "rows_read": read, "rows_break": broken, "rows_outside": outside,
            }
            for name, read, broken, outside in every
        ],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("row", "paid", "said"),
    [
        (("m.csv", 20, 18, 0), 10, "18 of the 20 lines of m.csv are breaks"),
        (("m.csv", 20, 17, 0), 10, ""),
        (("m.csv", 10, 10, 0), 10, "10 of the 10 lines of m.csv are breaks"),
        (("m.csv", 9, 9, 0), 10, ""),
        (("m.csv", 30, 18, 10), 10, "18 of the 20 lines of m.csv are breaks"),
        (("ledger", 10, 0, 10), 10, "none of the 10 lines of the books is of this period"),
        (("ledger", 10, 0, 9), 10, ""),
        (("ledger", 9, 0, 9), 10, ""),
        (("ledger", 10, 0, 10), 9, ""),
        (("m.csv", 10, 0, 10), 10, ""),
        (("m\x1b.csv", 10, 10, 0), 10, "10 of the 10 lines of m␛.csv are breaks"),
    ],
    ids=str,
)
def test_a_file_is_wrong_as_a_whole_from_ten_lines_and_nine_of_ten_on(
    row: tuple[str, int, int, int], paid: int, said: str
) -> None:
    found = list(look_first(accounted(row, paid=paid), has_books=False))
    assert [one.partition(":")[0] for one in found] == [said] * bool(said)


@pytest.mark.parametrize(
    ("paid", "has_books", "count"), [(10, True, 1), (9, True, 0), (10, False, 0)]
)
def test_books_without_a_line_are_named_where_money_came(
    paid: int, has_books: bool, count: int
) -> None:
    assert len(list(look_first(accounted(paid=paid), has_books=has_books))) == count
    full = accounted(("ledger", 1, 0, 0), paid=paid)
    assert list(look_first(full, has_books=has_books)) == []


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ledger", "a.csv", "b.csv"]),
            st.integers(0, 30), st.integers(0, 30), st.integers(0, 30),
        ),
        max_size=5,
    )
)  # fmt: skip
def test_a_file_in_two_currencies_is_looked_at_as_one(
    rows: list[tuple[str, int, int, int]],
) -> None:
    sums: dict[str, tuple[int, int, int]] = {}
    for name, *parts in rows:
        before = sums.get(name, (0, 0, 0))
        sums[name] = (before[0] + parts[0], before[1] + parts[1], before[2] + parts[2])
    whole = accounted(*((name, *parts) for name, parts in sums.items()))
    found = list(look_first(accounted(*rows), has_books=False))
    assert found == list(look_first(whole, has_books=False))
    assert len(found) <= len(sums)
