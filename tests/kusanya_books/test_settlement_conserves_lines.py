"""No line of a settlement statement vanishes: of another day, of nobody, or below zero."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.kit.statements import statement_of

from kusanya.domain.channels import CHANNELS, channel_code
from kusanya_books import columns
from kusanya_books.match import settlement
from kusanya_books.read import files
from kusanya_books.request.days import period
from kusanya_books.request.tolerance import Tolerance

MARCH = period("2026-03")
Make = Callable[..., pd.DataFrame]


def line(number: int, day: str, net: int, **more: Any) -> dict[str, Any]:
    plain = {"channel": "MPESA_TZ", "currency": "TZS", "collection_id": None, "batch_id": None}
    amounts = {"gross": None, "fee": None, "net": net}
    return {**plain, **amounts, "line_no": number, "day": date.fromisoformat(day), **more}


def earned(make: Make, *days: str, channel: str = "MPESA_TZ") -> pd.DataFrame:
    """Return one success of 1,000 without a fee on each day."""
    at = [datetime.fromisoformat(day).replace(hour=9, tzinfo=UTC) for day in days]
    return make(
        *(
            {"fee": 0, "created_at": each, "completed_at": each, "channel": channel, "id": day}
            for each, day in zip(at, days, strict=True)
        )
    )


def found(collections: pd.DataFrame, lines: list[dict[str, Any]], **terms: Any) -> dict[str, int]:
    """Return how much was paid out by code; every line and its money is in exactly one row."""
    matched = settlement.match(
        collections, statement_of(lines), period=MARCH, tolerance=Tolerance(**terms)
    )
    rows = matched.rows
    assert matched.unexplained == 0
    assert int(rows["lines"].sum()) == len(lines)
    assert int(rows["net_settled"].sum()) == sum(each["net"] for each in lines)
    paid = matched.bridge[matched.bridge["line"] == "paid out"]
    assert int(paid["amount"].sum()) == sum(each["net"] for each in lines)
    assert int(paid["rows"].sum()) == len(lines)
    codes = rows.groupby("break_code")["net_settled"].sum()
    return {str(code).removeprefix("settlement_"): int(sum_) for code, sum_ in codes.items()}


def test_a_line_of_a_day_outside_the_period_is_a_break_or_of_another_period(
    collections_of: Make,
) -> None:
    collections = earned(collections_of, "2026-02-28", "2026-03-05")
    lines = [line(1, "2026-03-05", 1_000), line(2, "2026-02-28", 1_000)]
    assert found(collections, lines) == {"settled": 1_000, "other_period": 1_000}
    lines.append(line(3, "2026-01-15", 700))
    assert found(collections, lines)["outside"] == 700


@pytest.mark.parametrize(
    ("day", "alone"),
    [("2026-03-31", "unexpected"), ("2026-04-05", "outside"), ("2026-04-15", "outside")],
)
def test_a_batch_repeated_under_another_day_is_paid_twice(
    collections_of: Make, day: str, alone: str
) -> None:
    collections = earned(collections_of, "2026-03-05")
    for batch, code in (("B1", "duplicate"), ("B2", alone), (None, alone)):
        first = line(1, "2026-03-05", 1_000, batch_id=batch and "B1")
        said = found(collections, [first, line(2, day, 1_000, batch_id=batch)])
        assert said == {"settled": 1_000, code: 1_000}


@pytest.mark.parametrize("day", ["2026-03-05", "2026-01-15"])
def test_a_line_of_an_unknown_collection_is_a_break(collections_of: Make, day: str) -> None:
    collections = earned(collections_of, "2026-02-28", "2026-03-05")
    lines = [
        line(1, "2026-03-05", 1_000, collection_id="2026-03-05"),
        line(2, "2026-03-01", 1_000, collection_id="2026-02-28"),
        line(3, day, 500_000, collection_id="nobody"),
    ]
    said = found(collections, lines)
    assert said == {"settled": 1_000, "other_period": 1_000, "unknown": 500_000}


def test_what_the_provider_takes_back_stands_until_it_is_paid_again(collections_of: Make) -> None:
    collections = earned(collections_of, "2026-03-05")
    paid, back = (
        line(1, "2026-03-05", 1_000, batch_id="B1"),
        line(2, "2026-03-09", -1_000, batch_id="B1"),
    )
    assert found(collections, [paid, back]) == {"taken_back": 0}
    again = line(3, "2026-03-05", 1_000, batch_id="B1-2")
    assert found(collections, [paid, back, again]) == {"settled": 1_000}
    alone = line(2, "2026-03-05", -300, batch_id="ADJ")
    assert found(collections, [paid, alone]) == {"settled": 1_000, "taken_back": -300}
    for other in ({"channel": "TIGO_TZ"}, {"currency": "KES"}):
        said = found(collections, [paid, back | other])
        assert said == {"settled": 1_000, "taken_back": -1_000}
    item = {"collection_id": "2026-03-05"}
    assert found(collections, [paid | item, back | item]) == {"taken_back": 0}


def test_lines_below_zero_are_read(tmp_path: Path) -> None:
    file = tmp_path / "statement.csv"
    file.write_text(
        "batch_id,business_day,channel,currency,gross,fee,net\n"
        "B1,2026-03-05,Airtel Money,TZS,1000,18,982\n"
        "B1,2026-03-06,airtel,TZS,-1000,-18,-982\n"
    )
    frame, account = files.statement(file)
    assert account.rejected == ()
    assert frame["net"].tolist() == [982, -982]
    assert set(frame["channel"]) == {"AIRTEL_TZ"}


@pytest.mark.parametrize(
    ("name", "code"),
    [
        *((name, code) for code, known in CHANNELS.items() for name in known.short),
        *((known.label.upper(), code) for code, known in CHANNELS.items()),
        *(("Tigo Pesa", "TIGO_TZ"), ("MIXX  by Yas", "TIGO_TZ"), ("Halotel", "HALOPESA_TZ")),
        *(("m-pesa", "MPESA_TZ"), ("Vodacom M-Pesa", "MPESA_TZ"), ("airtel_money", "AIRTEL_TZ")),
        *(("TTCL Pesa", "TTCL_TZ"), ("Airtel", "AIRTEL_TZ"), ("Selcom Pay", "Selcom Pay")),
    ],
)
def test_a_channel_is_known_by_its_usual_names(name: str, code: str) -> None:
    assert channel_code(name) == code


def test_a_statement_without_channels_is_of_all_of_them(collections_of: Make) -> None:
    both = pd.concat(
        [
            earned(collections_of, "2026-03-05"),
            earned(collections_of, "2026-03-05", channel="TIGO_TZ").assign(id="other"),
        ],
        ignore_index=True,
    )
    lines = [line(1, "2026-03-05", 2_000, channel=None)]
    assert found(columns.check(both, columns.COLLECTIONS), lines) == {"settled": 2_000}


def test_a_difference_within_the_tolerance_is_said(collections_of: Make) -> None:
    lines = [line(1, "2026-03-05", 998)]
    said = found(earned(collections_of, "2026-03-05"), lines, amount=2)
    assert said == {"within_tolerance": 998}


@pytest.mark.parametrize("said", ["gross", "fee", "neither"])
def test_a_gross_that_the_file_does_not_say_is_no_net(collections_of: Make, said: str) -> None:
    at = datetime(2026, 3, 5, 9, tzinfo=UTC)
    collections = collections_of({"created_at": at, "completed_at": at})
    amounts = {"gross": {"gross": 1_000}, "fee": {"fee": 30}, "neither": {}}[said]
    codes = found(collections, [line(1, "2026-03-05", 970, **amounts)])
    assert codes == {"fee_mismatch" if said == "fee" else "short": 970}


@pytest.mark.parametrize(
    ("open_", "code"),
    [
        ({}, "other_period"),
        ({"currency": "KES"}, "outside"),
        ({"channel": "TIGO_TZ"}, "outside"),
        ({"business_day": pd.Timestamp("2026-01-16")}, "outside"),
    ],
)
def test_a_line_for_what_an_earlier_period_left_open_is_of_that_period(
    collections_of: Make, open_: dict[str, Any], code: str
) -> None:
    day = pd.Timestamp("2026-01-15")
    plain: dict[str, Any] = {"collection_id": None, "business_day": day, "net": 700}
    plain |= {"channel": "MPESA_TZ", "currency": "TZS"}
    owed = columns.frame(
        settlement.OWED, {name: [value] for name, value in {**plain, **open_}.items()}
    )
    lines = [line(1, "2026-03-05", 1_000), line(2, "2026-01-15", 700)]
    matched = settlement.match(
        earned(collections_of, "2026-03-05"),
        statement_of(lines),
        period=MARCH,
        known=settlement.Known(owed=owed),
    )
    assert set(matched.rows["break_code"]) == {"settled", f"settlement_{code}"}
    assert matched.unexplained == 0


def test_money_back_from_a_batch_of_two_days_is_of_neither(collections_of: Make) -> None:
    collections = earned(collections_of, "2026-03-05", "2026-03-06")
    lines = [line(n, f"2026-03-0{n + 4}", 1_000, batch_id="B1") for n in (1, 2)]
    lines.append(line(3, "2026-03-09", -1_000, batch_id="B1"))
    assert found(collections, lines) == {"settled": 2_000, "taken_back": -1_000}
