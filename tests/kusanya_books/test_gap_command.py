"""`kusanya gap`: what an analyst reads about an amount that nobody can explain."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kusanya.errors import InputRefused
from kusanya_books import columns
from kusanya_books.columns import GAP_ROWS
from kusanya_books.judge import gap
from kusanya_books.match import ledger
from kusanya_books.pack import close
from kusanya_books.read import load
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.days import Period, period
from kusanya_console.cli.command_line import main

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
Kusanya = Callable[..., tuple[int, str, str]]
MARCH = period("2026-03")


@pytest.fixture
def kusanya(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Kusanya:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["kusanya", "gap", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


def rows(*some: dict[str, Any]) -> pd.DataFrame:
    plain = {
        "label": None,
        "currency": "TZS",
        "channel": "MPESA_TZ",
        "fee": None,
        "at": None,
        "day": pd.Timestamp("2026-03-05"),
    }
    made = [{"row_no": number, **plain, **row} for number, row in enumerate(some, start=1)]
    return columns.frame(
        GAP_ROWS, pd.DataFrame(made, columns=list(GAP_ROWS.columns), dtype="object")
    )


def at(text: str) -> dict[str, Any]:
    return {"at": pd.Timestamp(f"{text}+03:00").tz_convert("UTC")}


def fits(amount: int, frame: pd.DataFrame, span: Period | None = MARCH) -> dict[str, list[str]]:
    found = gap.answer(amount, frame, period=span).hypotheses
    hits = found[found["rows"] > 0]
    return {str(name): list(part["finding"]) for name, part in hits.groupby("hypothesis")}


def test_each_hypothesis_is_found_where_it_is_so() -> None:
    late = rows(
        {"amount": 700, **at("2026-03-31 22:30:00")},
        {"amount": 47, **at("2026-03-31 23:10:00")},
        {"amount": 9_000, **at("2026-03-12 10:00:00")},
    )
    assert fits(747, late)["shifted cut-off"] == [
        "the rows from 2026-03-31 22:00 to 2026-04-01 00:00 EAT, at the last day's edge"
    ]
    fees = rows({"amount": 5_000, "fee": 90}, {"amount": 7_000, "fee": 126})
    assert "the fees of all rows" in fits(216, fees)["fee on the wrong side"]
    assert fits(126, fees)["fee on the wrong side"] == ["the fee of row 2"]
    digits = rows({"amount": 45_000, "label": "INV-1"}, {"amount": 99})
    assert fits(-9_000, digits) == {"swapped digits": ["row 1 (INV-1): 45,000 for 54,000"]}
    assert fits(99, digits) == {"one row doubled or missing": ["row 2"]}
    assert fits(90_000, digits) == {"wrong sign": ["row 1 (INV-1)"]}
    days = [pd.Timestamp(f"2026-03-{1 + number % 20:02d}") for number in range(40)]
    charged = rows(
        *({"amount": 1_000 + number, "fee": 18, "day": day} for number, day in enumerate(days))
    )
    assert fits(7 * 22, charged)["tariff changed on a day"][0] == (
        "all channels: 7 on each row from 2026-03-10 on"
    )
    assert "MPESA_TZ" in " ".join(fits(sum(range(1_000, 1_040)), charged)["a whole day or channel"])


def counted(amount: int, frame: pd.DataFrame, name: str) -> list[tuple[int, str]]:
    """Return what a hypothesis says of an amount: of how many rows, and in words."""
    found = gap.answer(amount, frame, period=MARCH).hypotheses
    mine = found[found["hypothesis"] == name]
    return [(int(row.rows), row.finding) for row in columns.records(mine)]


def test_a_cut_off_that_shifts_both_ends_is_the_difference_of_what_came_and_went() -> None:
    both = rows(
        {"amount": 100, **at("2026-03-01 00:20:00")},
        {"amount": 50, **at("2026-03-01 01:30:00")},
        {"amount": 300, **at("2026-04-01 00:40:00")},
    )
    name = "shifted cut-off"
    assert counted(200, both, name) == [(2, "a day that turns 1 h later, at both ends")]
    assert counted(-150, both, name) == [
        (2, "the rows from 2026-03-01 00:00 to 2026-03-01 02:00 EAT, at the first day's edge"),
        (3, "a day that turns 2 h later, at both ends"),
    ]
    assert counted(400, both, name) == [(0, "does not fit")]
    before = rows(
        {"amount": 100, **at("2026-02-28 23:40:00")}, {"amount": 300, **at("2026-03-31 23:59:59")}
    )
    assert counted(200, before, name) == [(2, "a day that turns 1 h earlier, at both ends")]


def test_a_hypothesis_says_three_findings_and_how_many_more_there_are() -> None:
    alike = rows(*({"amount": 700 + number // 5} for number in range(6)))
    assert counted(700, alike, "one row doubled or missing") == [
        *((1, f"row {number}") for number in (1, 2, 3)),
        (1, "and 2 more that fit"),
    ]
    three = rows(*({"amount": 700} for _ in range(3)))
    assert len(counted(700, three, "one row doubled or missing")) == 3
    assert counted(1_400, three, "wrong sign") == [(1, f"row {number}") for number in (1, 2, 3)]


@pytest.mark.parametrize(
    ("amount", "by", "said"),
    [
        (10, 9, "10 for 1"), (45, 9, "45 for 54"), (450, 90, "450 for 540"), (-45, 9, "45 for 54"),
        (120_345, 2_700, "120,345 for 123,045"), (12, 18, None), (5, 45, None), (44, 9, None),
    ],
)  # fmt: skip
def test_swapped_digits_are_neighbours_that_the_number_has(
    amount: int, by: int, said: str | None
) -> None:
    found = counted(by, rows({"amount": amount}), "swapped digits")
    assert found == [(0, "does not fit") if said is None else (1, f"row 1: {said}")]


def test_so_many_sets_that_they_mean_nothing_are_said_to_be_so_many() -> None:
    found = gap.answer(6_000, rows(*({"amount": 1_000 + number % 3} for number in range(900))))
    assert found.sentence.startswith("At least ")
    assert found.sentence.endswith(": too many to mean anything.")


def test_an_answer_names_the_rows_and_claims_what_is_proven() -> None:
    frame = rows(
        *(
            {"amount": amount, "label": f"INV-{amount}"}
            for amount in (5_000, 12_000, 12_000, -700, 31_000)
        )
    )
    found = gap.answer(16_300, frame)
    assert found.sentence == (
        "2 sets of 3 rows sum to 16,300 among 5, and no set of fewer rows does (proven); "
        "at most one of them is the explanation."
    )
    assert found.sets["label"].tolist() == ["INV--700", "INV-5000", "INV-12000"]
    assert found.sets["rows_of_amount"].tolist() == [1, 1, 2]
    none = gap.answer(16_301, frame)
    assert none.sentence == "No set of up to 6 rows sums to 16,301 among 5: proven."
    assert "smallest set 1" in found.lines["hypothesis"].tolist()


@pytest.mark.parametrize(
    ("amount", "frame", "says"),
    [
        (0, rows({"amount": 1}), "needs no explanation"),
        (5, rows({"amount": 1}, {"amount": 2, "currency": "KES"}), "choose one currency"),
        (5, rows({"amount": 10**14}), "more than 13 digits \\(row 1\\)"),
    ],
)
def test_what_cannot_be_searched_is_refused(amount: int, frame: pd.DataFrame, says: str) -> None:
    with pytest.raises(InputRefused, match=says):
        gap.answer(amount, frame)


@pytest.mark.merge
def test_a_pack_is_searched_by_the_command_and_the_books_by_the_notebook(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    day = load.inputs()
    matched = ledger.of(day)
    assert matched is not None
    effects = matched.rows.loc[matched.rows["bridge_effect"].fillna(0) != 0, "bridge_effect"]
    total = int(effects.iloc[0] + effects.iloc[5])
    by_notebook = gap.explain(matched, total, period=day.period)
    assert by_notebook is not None
    assert by_notebook.searched.size in {1, 2}
    result = close.finish(
        close.prepare(CloseRequest(period="2026-03")), out=str(tmp_path / "packs")
    )
    code, out, err = kusanya(str(total), "--pack", str(result.folder), "--currency", "TZS")
    assert (code, err) == (0, "")
    assert by_notebook.searched.size is not None
    assert "(proven)" in out or by_notebook.searched.size == 1
    assert out.endswith("Nothing was booked.\n")
    code, out, _ = kusanya(str(-total), "--pack", str(result.folder), "--json", "--currency", "TZS")
    assert code == 0
    assert json.loads(out)["amount"] == -total
    for page in ("fee_exceptions", "collections"):
        code, out, err = kusanya(
            *("46052", "--pack", str(result.folder), "--page", page, "--currency", "TZS")
        )
        assert (code, err) == (0, "")
        assert "among" in out


def test_a_file_is_searched_by_its_column_and_its_rows_keep_their_numbers(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    (tmp_path / "list.csv").write_text(
        'reference,Kiasi\nA,"5,000"\nB,-300\n\nC,12000.00\n', encoding="utf-8"
    )
    code, out, err = kusanya("16700", "--file", "list.csv", "--column", "Kiasi")
    assert (code, err) == (0, "")
    assert "1 set of 3 rows sums to 16,700 among 3, and no set of fewer rows does (proven)." in out
    code, _, err = kusanya("16700", "--file", "list.csv")
    assert code == 1
    assert 'list.csv has no column "amount"; there: reference, Kiasi' in err
    (tmp_path / "bad.csv").write_text("amount\n5\n5.5\n", encoding="utf-8")
    code, _, err = kusanya("16700", "--file", "bad.csv")
    assert (code, "bad.csv, row 3" in err, 'column "amount"' in err) == (1, True, True)


def test_a_file_is_read_as_books_are(kusanya: Kusanya, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text(
        "Shop of Kariakoo\nTarehe;Ref No;KIASI;Sarafu\n1/3/2026;A;5.000,00;TZS\n"
        "2/3/2026;B;(300);TZS\n3/3/2026;C;12.000/=;TZS\nJumla;;16.700;\n",
        encoding="utf-16",
    )
    code, out, err = kusanya("16700", "--file", "list.csv", "--column", "Kiasi")
    assert (code, err) == (0, "")
    assert "Left out row 6: a total" in out
    assert "1 set of 3 rows sums to 16,700 among 3, and no set of fewer rows does (proven)." in out
    assert "row 5" in out
    (tmp_path / "open.csv").write_text("amount\n5.000\n", encoding="utf-8")
    code, _, err = kusanya("5000", "--file", "open.csv")
    assert (code, "open.csv, row 2" in err, "thousands" in err) == (1, True, True)
    code, out, _ = kusanya("5000", "--file", "open.csv", "--thousands", ".")
    assert (code, "1 row" in out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("5",), "either --pack FOLDER or --file FILE"),
        (("5", "--pack", ".", "--file", "x.csv"), "either --pack FOLDER or --file FILE"),
        (("much", "--pack", "."), "an amount is a whole number"),
        (("5", "--pack", ".", "--page", "bridge"), "--page is one of breaks"),
        (("5", "--file", "none.csv"), "there is no file none.csv"),
        (("5", "--pack", ".", "--rows", "7"), "rows"),
    ],
)
def test_what_was_asked_wrongly_ends_with_two_and_one_line(
    kusanya: Kusanya, arguments: tuple[str, ...], says: str
) -> None:
    code, out, err = kusanya(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


def test_a_folder_that_is_no_pack_is_named(kusanya: Kusanya, tmp_path: Path) -> None:
    code, _, err = kusanya("5", "--pack", ".")
    assert code == 1
    assert f"{tmp_path.name} is not the folder of a pack" in err
