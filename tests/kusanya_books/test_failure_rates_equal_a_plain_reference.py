"""Failures by code, channel, amount, day and hour against plain loops, with every rate."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from math import sqrt
from random import Random
from statistics import NormalDist
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kusanya.domain.business_day import EAT
from kusanya.domain.failure_codes import ADVICE, UNKNOWN_ADVICE
from kusanya_books import columns
from kusanya_books.columns import HOURS, PARETO, RATES, RECOVERY
from kusanya_books.judge import failures
from kusanya_books.request.days import period

MARCH = period("2026-03")
START = datetime(2026, 2, 27, 12, tzinfo=UTC)
EDGES = (1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000)
FINAL = {"succeeded", "failed", "expired"}
SMALL_N = 3
Make = Callable[..., pd.DataFrame]
Row = dict[Any, Any]

rows_of = st.lists(
    st.fixed_dictionaries(
        {
            "reference": st.sampled_from(["A", "B", "C", "D"]),
            "mode": st.sampled_from(["live", "live", "test"]),
            "currency": st.sampled_from(["TZS", "TZS", "KES"]),
            "channel": st.sampled_from(["MPESA_TZ", "NEW_TZ"]),
            "amount": st.sampled_from([0, 999, 1_000, 1_000_000, 2**53 + 1]),
            "status": st.sampled_from(
                ["succeeded", "succeeded", "failed", "failed", "expired", "created", "on_hold"]
            ),
            "failure_code": st.sampled_from([None, "insufficient_funds", "strange"]),
            "created_at": st.integers(0, 33 * 24).map(lambda n: START + timedelta(hours=n)),
        }
    ),
    max_size=12,
)


PAIRS = [
    # A failure of 5 March, and how much later its reference succeeded: within seven days or not.
    (timedelta(days=7), "TZS"), (timedelta(days=7, microseconds=1), "TZS"),
    (timedelta(0), "TZS"), (timedelta(microseconds=-1), "TZS"), (timedelta(hours=1), "KES"),
]  # fmt: skip


def dense() -> list[Row]:
    """Return a month in which each group has many rows, and pairs at the edge of each rule."""
    rng = Random(5)  # noqa: S311 - a repeatable choice
    drawn: list[Row] = [
        {
            "reference": f"D{rng.randrange(14)}",
            "mode": rng.choice(["live", "live", "test"]),
            "currency": rng.choice(["TZS", "TZS", "KES"]),
            "channel": rng.choice(["MPESA_TZ", "NEW_TZ"]),
            "amount": rng.choice([0, 999, 1_000, 4_999, 5_000, 999_999, 1_000_000]),
            "status": rng.choice(["succeeded", "failed", "failed", "expired", "created"]),
            "failure_code": rng.choice([None, "insufficient_funds", "user_cancelled", "strange"]),
            "created_at": START + timedelta(hours=12 * rng.randrange(66)),
        }
        for _ in range(160)
    ]
    plain = {**drawn[0], "mode": "live", "failure_code": "insufficient_funds", "amount": 70}
    at = datetime(2026, 3, 5, 9, tzinfo=UTC)
    for number, (later, currency) in enumerate(PAIRS):
        named = {**plain, "reference": f"P{number}"}
        drawn.append({**named, "currency": "TZS", "status": "failed", "created_at": at})
        drawn.append(
            {**named, "currency": currency, "status": "succeeded", "created_at": at + later}
        )
    return drawn


def day_of(at: datetime) -> date:
    return at.astimezone(EAT).date()


def prepared(given_rows: list[Row]) -> list[Row]:
    return [
        {
            **row,
            "failure_code": row["failure_code"] if row["status"] == "failed" else None,
            "id": f"col_{number}",
            "completed_at": row["created_at"] if row["status"] in FINAL else None,
        }
        for number, row in enumerate(given_rows, start=1)
    ]


def final_in_march(rows: list[Row]) -> list[Row]:
    return [
        row
        for row in rows
        if row["status"] in FINAL and MARCH.first <= day_of(row["created_at"]) <= MARCH.last
    ]


def wilson(hits: int, base: int) -> tuple[float, float, float]:
    """Return rate and the roots of (p - share)² = z² p (1 - p) / n, which the interval is."""
    z, n, share = NormalDist().inv_cdf(0.975), base, hits / base
    a, b, c = 1 + z * z / n, -(2 * share + z * z / n), share * share
    root = sqrt(max(b * b - 4 * a * c, 0.0))
    return share, max((-b - root) / (2 * a), 0.0), min((-b + root) / (2 * a), 1.0)


def keyed(frame: pd.DataFrame, *keys: str) -> dict[tuple[Any, ...], Row]:
    made = {}
    for row in frame.astype("object").to_dict("records"):
        made[tuple(None if pd.isna(row[key]) else row[key] for key in keys)] = row
    assert len(made) == len(frame)
    return made


def holds_rate(found: Row, names: tuple[str, str, str], hits: int, base: int) -> None:
    wanted = wilson(hits, base)
    assert [found[name] for name in names] == pytest.approx(wanted, abs=1e-9)


def code_of(row: Row) -> str:
    if row["status"] == "expired":
        return "(expired)"
    return str(row["failure_code"] or "(no code)")


def part_of(row: Row, by: str) -> str:
    if by == "channel":
        return str(row["channel"])
    if by == "day":
        return day_of(row["created_at"]).isoformat()
    if by == "band":
        inside = [f"{low:,} to {high - 1:,}" for low, high in pairwise(EDGES)]
        return ["up to 999", *inside, "from 1,000,000"][bisect_right(EDGES, row["amount"])]
    return "(all)"


def check_rates(frame: pd.DataFrame, rows: list[Row], by: str) -> None:
    answer = columns.check(failures.rates(frame, period=MARCH, by=by, small_n=SMALL_N), RATES)
    found = keyed(answer, "mode", "currency", "part")
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in final_in_march(rows):
        groups[row["mode"], row["currency"], part_of(row, by)].append(row)
    assert set(found) == set(groups)
    won = {
        (row["mode"], row["currency"], row["reference"])
        for row in rows
        if row["status"] == "succeeded"
    }
    for key, group in groups.items():
        reported = found[key]
        paid = sum(row["status"] == "succeeded" for row in group)
        named = {(row["mode"], row["currency"], row["reference"]) for row in group}
        counts = [
            reported[name] for name in ("attempts", "succeeded", "references", "references_paid")
        ]
        assert counts == [len(group), paid, len(named), len(named & won)]
        holds_rate(reported, ("rate", "rate_low", "rate_high"), paid, len(group))
        names = ("reference_rate", "reference_low", "reference_high")
        holds_rate(reported, names, len(named & won), len(named))
        assert reported["few"] == (len(group) < SMALL_N)


def check_hours(frame: pd.DataFrame, rows: list[Row]) -> None:
    answer = columns.check(failures.by_hour(frame, period=MARCH, small_n=SMALL_N), HOURS)
    found = keyed(answer, "mode", "currency", "weekday", "hour")
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in final_in_march(rows):
        local = row["created_at"].astimezone(EAT)
        groups[row["mode"], row["currency"], local.weekday(), local.hour].append(row)
    assert set(found) == set(groups)
    for key, group in groups.items():
        paid = sum(row["status"] == "succeeded" for row in group)
        assert (found[key]["attempts"], found[key]["succeeded"]) == (len(group), paid)
        holds_rate(found[key], ("rate", "rate_low", "rate_high"), paid, len(group))
        assert found[key]["few"] == (len(group) < SMALL_N)


def check_pareto(frame: pd.DataFrame, rows: list[Row]) -> None:
    answer = columns.check(failures.pareto(frame, period=MARCH), PARETO)
    whole = final_in_march(rows)
    lost = [row for row in whole if row["status"] != "succeeded"]
    for key, part in answer.groupby(["mode", "currency"]):
        here = [row for row in lost if (row["mode"], row["currency"]) == key]
        base = sum((row["mode"], row["currency"]) == key for row in whole)
        counts = Counter(code_of(row) for row in here)
        values: Counter[str] = Counter()
        for row in here:
            values[code_of(row)] += row["amount"]
        order = sorted(counts, key=lambda code: (-counts[code], code))
        assert part["code"].tolist() == order
        by_value = sorted(counts, key=lambda code: (-values[code], code))
        for reported in part.astype("object").to_dict("records"):
            code = reported["code"]
            assert (reported["attempts"], reported["value"]) == (counts[code], values[code])
            names = {row["reference"] for row in here if code_of(row) == code}
            assert reported["references"] == len(names)
            group, advice = ADVICE.get(code, (None, UNKNOWN_ADVICE))
            assert reported["class"] == ("unknown" if group is None else group.value)
            assert reported["advice"] == advice
            upto = sum(counts[name] for name in order[: order.index(code) + 1])
            assert reported["share"] == pytest.approx(counts[code] / len(here))
            assert reported["cum_share"] == pytest.approx(upto / len(here))
            holds_rate(reported, ("rate", "rate_low", "rate_high"), counts[code], base)
            money = sum(values.values())
            if money == 0:
                assert pd.isna(reported["value_share"])
                continue
            dearer = sum(values[name] for name in by_value[: by_value.index(code) + 1])
            assert reported["value_share"] == pytest.approx(values[code] / money)
            assert reported["value_cum_share"] == pytest.approx(dearer / money)
    assert len(answer) == len({(row["mode"], row["currency"], code_of(row)) for row in lost})
    strange = columns.check(failures.unknown(frame, period=MARCH), PARETO)
    assert strange["code"].tolist() == [code for code in answer["code"] if code == "strange"]


def check_recovery(frame: pd.DataFrame, rows: list[Row]) -> None:
    answer = failures.recovery(frame, period=MARCH, as_of=date(2026, 4, 2), small_n=SMALL_N)
    found = keyed(columns.check(answer, RECOVERY), "mode", "currency", "code")
    first: dict[tuple[Any, ...], Row] = {}
    for row in sorted(rows, key=lambda row: (row["created_at"], row["id"])):
        if row["status"] in {"failed", "expired"}:
            first.setdefault((row["mode"], row["currency"], row["reference"]), row)
    lags: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    settled: Counter[tuple[Any, ...]] = Counter()
    inside = final_in_march(rows)
    for key, failed in first.items():
        if failed not in inside:
            continue
        code = (*key[:2], code_of(failed))
        later = [
            (row["created_at"] - failed["created_at"]) // timedelta(seconds=1)
            for row in rows
            if (row["mode"], row["currency"], row["reference"]) == key
            and row["status"] == "succeeded"
            and (row["created_at"], row["id"]) > (failed["created_at"], failed["id"])
            and row["created_at"] - failed["created_at"] <= timedelta(days=7)
        ]
        lags[code] += [min(later)] if later else []
        old = (date(2026, 4, 2) - day_of(failed["created_at"])).days >= 7
        settled[code] += 1 if later or old else 0
    assert set(found) == set(lags)
    for code, known in lags.items():
        reported = found[code]
        assert reported["recovered"] == len(known)
        assert reported["few"] == (settled[code] < SMALL_N)
        if known:
            assert reported["median_lag_s"] == sorted(known)[(len(known) - 1) // 2]
        else:
            assert pd.isna(reported["median_lag_s"])
        if settled[code]:
            holds_rate(reported, ("rate", "rate_low", "rate_high"), len(known), settled[code])
        else:
            assert pd.isna(reported["rate"])


def check(collections_of: Make, given_rows: list[Row]) -> None:
    rows = prepared(given_rows)
    frame = collections_of(*rows).sample(frac=1, random_state=len(rows))
    for by in ("all", "channel", "band", "day"):
        check_rates(frame, rows, by)
    check_hours(frame, rows)
    check_pareto(frame, rows)
    check_recovery(frame, rows)


def test_every_rate_share_and_lag_of_a_full_month_is_what_the_definitions_give(
    collections_of: Make,
) -> None:
    check(collections_of, dense())


@pytest.mark.scale(5, 100, 600)
def test_every_rate_share_and_lag_is_what_the_definitions_give(
    collections_of: Make, rounds: int
) -> None:
    @settings(max_examples=rounds, deadline=None, database=None)
    @given(rows_of)
    def holds(given_rows: list[Row]) -> None:
        check(collections_of, given_rows)

    holds()
