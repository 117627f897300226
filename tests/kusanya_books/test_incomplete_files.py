"""A file that does not hold what it says, or of which no row can be read, closes no period."""

from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.kit.payments import polled, watch

import kusanya_books as reconcile
from kusanya.store import Store
from kusanya_books.judge.report import CloseResult
from kusanya_books.pack import close, summary
from kusanya_books.request.close_request import CloseRequest

pytestmark = pytest.mark.usefixtures("no_settings")
openpyxl: Any = import_module("openpyxl")
NOON = datetime(2026, 3, 5, 9, tzinfo=UTC)
BOOKS = "reference,amount,currency,booked_at\n" + "".join(
    f"R-{number},1000,TZS,2026-03-05\n" for number in (1, 2)
)
OPERATOR = "receipt,reference,amount,currency,channel,at,status\n" + "".join(
    f"RC000{number},R-{number},1000,TZS,MPESA_TZ,2026-03-05 12:30,completed\n" for number in (1, 2)
)
SETTLEMENT = (
    "batch_id,business_day,channel,currency,gross,fee,net,count\n"
    "B1,2026-03-05,MPESA_TZ,TZS,2000,36,1964,2\n"
)
BANK = """\
:20:A
:25:1
:28C:1
:60F:C260301TZS1000,
:61:2603060306C2000,NTRFNONREF
:62F:C260331TZS{},
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "store.db") as store:
        for number in (1, 2):
            at = NOON + timedelta(hours=number)
            phone = f"25575412345{number}"
            store.record(polled(number, at, phone=phone, channel="MPESA_TZ", currency="TZS"))
        # Known up to days later, so that nothing is merely on its way.
        store.record(polled(9, NOON + timedelta(days=20), status="failed", failure_code="x"))
    watch(tmp_path / "store.db")
    return tmp_path


def files(
    home: Path, *, books: str = BOOKS, settlement: str = "", operator: str = "", bank: str = ""
) -> dict[str, Any]:
    given = {
        "books.csv": books, "settlement.csv": settlement, "operator.csv": operator,
        "bank.sta": bank,
    }  # fmt: skip
    for name, text in given.items():
        (home / name).write_text(text, encoding="utf-8")
    return {
        "mode": "live",
        "store": str(home / "store.db"),
        "ledger": str(home / "books.csv"),
        "statement": str(home / "settlement.csv") if settlement else "",
        "operator": [str(home / "operator.csv")] if operator else [],
        "bank": [str(home / "bank.sta")] if bank else [],
    }


def run(home: Path, **texts: str) -> CloseResult:
    request = CloseRequest(**files(home, **texts), period="2026-03")
    return reconcile.run(request, out=home / "packs")


def judge(home: Path, **texts: str) -> tuple[str, str]:
    """Return verdict and sentence, without the work of a pack."""
    made = close.prepare(CloseRequest(**files(home, **texts), period="2026-03")).report
    return made.verdict().value, summary.sentence(made, made.verdict())


def found_of(ended: CloseResult) -> dict[str, tuple[int | None, int | None, str | None]]:
    return {row["finding"]: (row["rows"], row["amount"], row["note"]) for row in ended.findings}


TOTALS = "totals of files that differ from their rows"


@pytest.mark.merge
def test_a_total_of_the_books_that_their_rows_do_not_make_closes_nothing(home: Path) -> None:
    ended = run(home, books=f"{BOOKS}Total,2500,,\n")
    assert (ended.verdict, ended.exit_code) == ("not closed", 1)
    assert found_of(ended)[TOTALS] == (1, 500, None)
    says = "ledger books.csv states a total of TZS 2,500, and its rows come to 2,000"
    assert ended.sentence == f"Not closed: {says}."
    assert ended.folder is not None
    book = openpyxl.load_workbook(ended.folder / "pack.xlsx")
    cells = [[cell.value for cell in row] for row in book.worksheets[0].iter_rows(max_col=8)]
    book.close()
    assert ["Verdict", ended.sentence] in [row[:2] for row in cells]
    place = next(at for at, row in enumerate(cells) if row[0] == "Totals of the files")
    named = dict(zip(cells[place][1:7], cells[place + 1][1:7], strict=True))
    assert named == {
        "lines": 2,
        "amount read": 2_000,
        "unread": 0,
        "amount unread": 0,
        "file total": 2_500,
        "difference": 500,
    }
    # Nobody can accept what is not there, and no limit of breaks covers it.
    assert "Not closed: do not sign." in (ended.folder / "report.html").read_text()


@pytest.mark.merge
@pytest.mark.parametrize(
    "more",
    [
        "Total,2000,,\n",
        "R-3,500,TZS,2026-03-06\nTotal for one,2500,,\nTotal,2500,,\n",
        "Total for one,2000,,\nR-3,500,TZS,2026-03-06\nTotal for two,500,,\n",
    ],
    ids=["of all", "of a part and of all", "of each part"],
)
def test_a_total_that_the_rows_make_is_not_named(home: Path, more: str) -> None:
    assert judge(home, books=BOOKS + more)[0] != "not closed"


def test_a_total_of_what_is_paid_is_not_held_against_what_is_not(home: Path) -> None:
    lines = BOOKS.replace("booked_at\n", "booked_at,status\n").replace("-05\n", "-05,paid\n")
    books = f"{lines}R-3,700,TZS,2026-03-05,not_paid\nTotal,2000,,,\n"
    assert judge(home, books=books)[0] == "reconciled"


_WHOLE = {
    "operator": (OPERATOR + "Total,,{},,,,\n", 2_000, "operator operator.csv"),
    "settlement": (SETTLEMENT + "Total,,,,,,{},\n", 1_964, "statement settlement.csv"),
    "bank": (BANK, 2_000, "bank bank.sta"),
}
_BEGINS = {"bank": 1_000}
"""What an account held before."""


@pytest.mark.merge
@pytest.mark.parametrize("leg", _WHOLE)
def test_each_statement_is_held_against_its_own_total_or_balances(home: Path, leg: str) -> None:
    text, whole, source = _WHOLE[leg]
    begins = _BEGINS.get(leg, 0)
    assert judge(home, **{leg: text.format(whole + begins)})[0] != "not closed"
    verdict, sentence = judge(home, **{leg: text.format(whole + begins + 500)})
    assert verdict == "not closed"
    says = f"{source} states a total of TZS {whole + 500:,}, and its rows come to {whole:,}"
    assert says in sentence


@pytest.mark.merge
@pytest.mark.parametrize("total", [2_000, 2_700])
def test_an_operators_total_is_of_what_was_completed_or_of_all(home: Path, total: int) -> None:
    failed = "RC0003,R-3,700,TZS,MPESA_TZ,2026-03-05 12:40,failed\n"
    assert judge(home, operator=f"{OPERATOR}{failed}Total,,{total},,,,\n")[0] == "reconciled"
    verdict, sentence = judge(home, operator=f"{OPERATOR}{failed}Total,,{total + 1},,,,\n")
    assert verdict == "not closed"
    assert f"states a total of TZS {total + 1:,}" in sentence


@pytest.mark.merge
@pytest.mark.parametrize("leg", ["operator", "bank"])
def test_a_statement_of_which_no_row_can_be_read_proves_nothing_and_is_named(
    home: Path, leg: str
) -> None:
    unread = {
        "operator": OPERATOR.replace("1000,TZS", "10.5,TZS"),
        "bank": BANK.format(3_000).replace("C2000,", "C2000,505"),
    }
    ended = run(home, **{leg: unread[leg]})
    assert (ended.verdict, ended.exit_code) == ("not closed", 1)
    reasons = {"operator": "not a whole number", "bank": "not a number with at most two decimals"}
    assert f"amount is {reasons[leg]}" in ended.sentence
    rows, _, note = found_of(ended)[f"breaks of the {leg}'s statements"]
    assert (rows, note) == (None, f"not proven: no {leg}'s statement that could be read was given")
    assert ended.folder is not None
    bridge = (ended.folder / "csv" / f"{leg}_bridge.raw.csv").read_text().splitlines()
    wanted = {"operator": "unread,2", "bank": "unread,1"}
    assert [line for line in bridge if wanted[leg] in line]
    page = (ended.folder / "report.html").read_text()
    assert f"not proven: no {leg}&#39;s statement that could be read was given" in page
    assert f"no {leg}&#39;s statement was given" not in page
