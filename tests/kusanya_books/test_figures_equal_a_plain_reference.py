"""Fees and failures against the same definitions written as plain loops, on small months."""

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kusanya.domain.business_day import EAT
from kusanya_books import columns
from kusanya_books.columns import DAILY, PARETO, RATES, RECOVERY
from kusanya_books.judge import failures, fees
from kusanya_books.request.days import period

MARCH = period("2026-03")
START = datetime(2026, 2, 27, 12, tzinfo=UTC)
Make = Callable[..., pd.DataFrame]
Row = dict[str, Any]

rows_of = st.lists(
    st.fixed_dictionaries(
        {
            "reference": st.sampled_from(["A", "B", "C"]),
            "mode": st.sampled_from(["live", "live", "test"]),
            "currency": st.sampled_from(["TZS", "TZS", "KES"]),
            "channel": st.sampled_from(["MPESA_TZ", "NEW_TZ"]),
            "amount": st.sampled_from([0, 5, 999, 1_000, 5_000, 2**53 + 1]),
            "fee": st.integers(0, 20),
            "status": st.sampled_from(
                ["succeeded", "succeeded", "failed", "failed", "expired", "created", "on_hold"]
            ),
            "failure_code": st.sampled_from([None, "insufficient_funds", "strange"]),
            "created_at": st.integers(0, 33 * 8).map(lambda n: START + timedelta(hours=3 * n)),
            "took": st.sampled_from([30, 90_000]),
        }
    ),
    max_size=9,
)


def day_of(at: datetime) -> date:
    return at.astimezone(EAT).date()


def records(frame: pd.DataFrame, *names: str) -> list[tuple[Any, ...]]:
    chosen = frame[list(names)].astype("object")
    return [
        tuple(None if pd.isna(value) else value for value in row)
        for row in chosen.itertuples(index=False)
    ]


def prepared(given_rows: list[Row]) -> list[Row]:
    made = []
    for number, row in enumerate(given_rows, start=1):
        took = row["took"]
        final = row["status"] in {"succeeded", "failed", "expired"}
        made.append(
            {
                **{name: value for name, value in row.items() if name != "took"},
                "failure_code": row["failure_code"] if row["status"] == "failed" else None,
                "id": f"col_{number}",
                "completed_at": row["created_at"] + timedelta(seconds=took) if final else None,
            }
        )
    return made


def code_of(row: Row) -> str | None:
    if row["status"] == "expired":
        return "(expired)"
    return (row["failure_code"] or "(no code)") if row["status"] == "failed" else None


def daily(rows: list[Row]) -> set[tuple[Any, ...]]:
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        day = day_of(row["completed_at"] or row["created_at"])
        if MARCH.first <= day <= MARCH.last:
            groups[pd.Timestamp(day), row["mode"], row["currency"], row["channel"]].append(row)
            groups[None, row["mode"], row["currency"], "(all)"].append(row)
    result = set()
    for key, group in groups.items():
        paid = [row for row in group if row["status"] == "succeeded"]
        gross, fee = (sum(row[name] for row in paid) for name in ("amount", "fee"))
        bps = (20_000 * fee + gross) // (2 * gross) if gross else None
        states = Counter(row["status"] for row in group)
        counts = [states[name] for name in ("succeeded", "failed", "expired", "created", "on_hold")]
        result.add((*key, len(group), *counts, gross, fee, gross - fee, bps))
    return result


def created_in_march(rows: list[Row]) -> list[Row]:
    return [row for row in rows if MARCH.first <= day_of(row["created_at"]) <= MARCH.last]


def pareto(rows: list[Row]) -> set[tuple[Any, ...]]:
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in created_in_march(rows):
        if code_of(row):
            groups[row["mode"], row["currency"], code_of(row)].append(row)
    return {
        (
            *key,
            len(group),
            len({row["reference"] for row in group}),
            sum(r["amount"] for r in group),
        )
        for key, group in groups.items()
    }


def rates(rows: list[Row]) -> set[tuple[Any, ...]]:
    won = {
        (row["mode"], row["currency"], row["reference"])
        for row in rows
        if row["status"] == "succeeded"
    }
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in created_in_march(rows):
        if row["status"] in {"succeeded", "failed", "expired"}:
            groups[row["mode"], row["currency"], row["channel"]].append(row)
    result = set()
    for key, group in groups.items():
        references = {(row["mode"], row["currency"], row["reference"]) for row in group}
        paid = sum(row["status"] == "succeeded" for row in group)
        result.add((*key, len(group), paid, len(references), len(references & won)))
    return result


def recovery(rows: list[Row]) -> set[tuple[Any, ...]]:
    first: dict[tuple[Any, ...], Row] = {}
    for row in sorted(rows, key=lambda row: (row["created_at"], row["id"])):
        if code_of(row):
            first.setdefault((row["mode"], row["currency"], row["reference"]), row)
    groups: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0] * 7)
    for key, failed in first.items():
        if failed not in created_in_march(rows):
            continue
        later = [
            row
            for row in rows
            if (row["mode"], row["currency"], row["reference"]) == key
            and row["status"] == "succeeded"
            and (row["created_at"], row["id"]) > (failed["created_at"], failed["id"])
            and row["created_at"] - failed["created_at"] <= timedelta(days=7)
        ]
        young = (MARCH.last - day_of(failed["created_at"])).days < 7
        counts = groups[key[0], key[1], code_of(failed)]
        counts[0] += 1
        counts[3] += failed["amount"]
        if later:
            counts[1] += 1
            counts[4] += failed["amount"]
        elif young:
            counts[2] += 1
            counts[5] += failed["amount"]
        else:
            counts[6] += failed["amount"]
    return {(*key, *counts) for key, counts in groups.items()}


@pytest.mark.scale(10, 80, 500)
def test_the_engine_counts_what_the_definitions_count(collections_of: Make, rounds: int) -> None:
    @settings(max_examples=rounds, deadline=None, database=None)
    @given(rows_of)
    def holds(given_rows: list[Row]) -> None:
        rows = prepared(given_rows)
        frame = collections_of(*rows).sample(frac=1, random_state=len(rows))

        found = columns.check(fees.daily(frame, period=MARCH), DAILY)
        tariff = {"expected_fee", "fee_drift", "unpriced"}
        names = [name for name in DAILY.columns if name not in tariff]
        assert set(records(found, *names)) == daily(rows)

        found = columns.check(failures.pareto(frame, period=MARCH), PARETO)
        names = ["mode", "currency", "code", "attempts", "references", "value"]
        assert set(records(found, *names)) == pareto(rows)

        found = columns.check(failures.rates(frame, period=MARCH, by="channel"), RATES)
        names = ["mode", "currency", "part", "attempts", "succeeded", "references"]
        assert set(records(found, *names, "references_paid")) == rates(rows)

        found = columns.check(failures.recovery(frame, period=MARCH), RECOVERY)
        names = ["mode", "currency", "code", "references", "recovered", "still_open"]
        money = ["value", "value_recovered", "value_open", "value_lost"]
        assert set(records(found, *names, *money)) == recovery(rows)

    holds()


def test_every_part_adds_up_to_the_whole(collections_of: Make) -> None:
    rows = [
        {"status": status, "amount": amount, "channel": channel}
        for status in ("succeeded", "failed", "expired")
        for amount in (5, 1_000, 10**9)
        for channel in ("MPESA_TZ", "TIGO_TZ")
    ]
    frame = collections_of(*rows)
    for by in failures.PARTS:
        parts = failures.rates(frame, period=MARCH, by=by)
        assert parts["attempts"].sum() == 18
        assert parts["succeeded"].sum() == 6
    assert failures.by_hour(frame, period=MARCH)["attempts"].tolist() == [18]
    bands = failures.rates(frame, period=MARCH, by="band")["part"].tolist()
    assert bands == ["up to 999", "1,000 to 4,999", "from 1,000,000"]
    with pytest.raises(ValueError, match="not by 'phone'"):
        failures.rates(frame, period=MARCH, by="phone")


def test_a_failure_too_young_to_be_lost_is_still_open(collections_of: Make) -> None:
    late = {"created_at": datetime(2026, 3, 31, 9, tzinfo=UTC), "status": "failed"}
    row = failures.recovery(collections_of(late), period=MARCH).iloc[0]
    assert (row["still_open"], row["value_open"], row["value_lost"]) == (1, 1_000, 0)
    row = failures.recovery(collections_of(late), period=MARCH, as_of=date(2026, 4, 7)).iloc[0]
    assert (row["still_open"], row["value_open"], row["value_lost"]) == (0, 0, 1_000)


def test_the_lag_to_recovery_is_the_median(collections_of: Make) -> None:
    start = datetime(2026, 3, 5, 9, tzinfo=UTC)
    rows = []
    for number, minutes in enumerate((1, 10, 60)):
        rows.append({"reference": f"R-{number}", "status": "failed", "created_at": start})
        later = start + timedelta(minutes=minutes)
        rows.append({"reference": f"R-{number}", "created_at": later})
    assert failures.recovery(collections_of(*rows), period=MARCH)["median_lag_s"].tolist() == [600]


def test_fees_of_three_sources_agree_or_are_listed(collections_of: Make) -> None:
    frame = collections_of(
        {"fee_202": 18, "fee_event": 18, "fee_get": 18},
        {"fee_202": 18, "fee_event": 20},
        {"fee_event": 18},
        {},
        {"fee_202": 18, "fee_get": 15, "fee_event": 18},
    )
    row = fees.integrity(frame, period=MARCH).iloc[0]
    names = ("collections", "no_evidence", "single_source", "agree", "drifted", "drift")
    assert [row[name] for name in names] == [5, 1, 1, 1, 2, -1]
    moved = fees.drifted(frame, period=MARCH)
    assert moved["collection_id"].tolist() == ["col_5", "col_2"]
    assert moved["drift"].tolist() == [-3, 2]


def test_a_statement_that_deducts_a_fee_of_a_failed_payment_is_shown(collections_of: Make) -> None:
    frame = collections_of({"status": "failed", "fee": 18}, {"status": "expired", "fee": 20})
    lines = columns.frame(
        columns.STATEMENT,
        {
            **{name: [None] for name in columns.STATEMENT.columns},
            "line_no": [1],
            "collection_id": ["col_1"],
            "currency": ["TZS"],
            "fee": [18],
            "net": [-18],
        },
    )
    found = fees.on_unpaid(frame, period=MARCH, statement=lines)
    assert records(found, "status", "collections", "quoted", "deducted_lines", "deducted") == [
        ("expired", 1, 20, 0, 0),
        ("failed", 1, 18, 1, 18),
    ]


def test_collections_that_cross_midnight_are_listed(collections_of: Make) -> None:
    frame = collections_of(
        {},
        {
            "created_at": datetime(2026, 3, 5, 20, 59, tzinfo=UTC),
            "completed_at": datetime(2026, 3, 5, 21, 1, tzinfo=UTC),
        },
    )
    found = fees.straddlers(frame, period=MARCH)
    assert found["collection_id"].tolist() == ["col_2"]
    assert found["business_day"].tolist() == [pd.Timestamp("2026-03-06")]
