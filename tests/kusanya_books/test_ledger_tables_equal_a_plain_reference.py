"""Bridge, ageing, double payments and the delta of a close against plain loops over the inputs."""

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kusanya_books.plain_tables import Row, check_rows, check_sums, plain

from kusanya.domain.business_day import EAT
from kusanya_books import columns
from kusanya_books.columns import BRIDGE, CLOSED, DELTA, DOUBLES, LEDGER
from kusanya_books.match import breaks, ledger
from kusanya_books.pack import late_changes
from kusanya_books.request.days import period
from kusanya_books.request.tolerance import Tolerance

MARCH = period("2026-03")
TERMS = Tolerance(double_minutes=60)
START = datetime(2026, 2, 28, 12, tzinfo=UTC)
FINAL = {"succeeded", "failed", "expired"}
Make = Callable[..., pd.DataFrame]

# Few hours, so that payments of one customer lie close to each other and around midnight, EAT.
LATE = datetime(2026, 3, 9, 20, 30, tzinfo=UTC)
moments = st.one_of(
    st.sampled_from([0, 20, 59, 60, 61]).map(lambda minutes: LATE + timedelta(minutes=minutes)),
    st.integers(0, 34).map(lambda day: START + timedelta(days=day)),
)
currencies = st.sampled_from(["TZS", "TZS", "KES"])
services = st.lists(
    st.fixed_dictionaries(
        {
            "reference": st.sampled_from(["A", "B", "C"]),
            "amount": st.sampled_from([100, 100, 98, 2**53 + 1]),
            "fee": st.sampled_from([0, 2]),
            "status": st.sampled_from(["succeeded"] * 5 + ["failed", "created", "on_hold"]),
            "currency": currencies,
            "created_at": moments,
            "phone": st.sampled_from(["255754000001", "255754000001", "255754000002"]),
        }
    ),
    max_size=8,
)
lines = st.lists(
    st.fixed_dictionaries(
        {
            "reference": st.sampled_from(["A", "B", "C", "Z", None]),
            "collection_id": st.sampled_from([None, None, None, "col_1", "col_9"]),
            "amount": st.sampled_from([100, 98, 2**53 + 1]),
            "currency": currencies,
            "status": st.sampled_from(["paid", "paid", "paid", "open", "not_paid"]),
            "booked_at": moments,
        }
    ),
    max_size=6,
)


def day_of(at: datetime) -> date:
    return at.astimezone(EAT).date()


def inside(day: date | None) -> bool:
    return day is not None and MARCH.first <= day <= MARCH.last


def prepared(given_rows: list[Row]) -> list[Row]:
    made = []
    for number, row in enumerate(given_rows, start=1):
        done = row["created_at"] + timedelta(seconds=20) if row["status"] in FINAL else None
        made.append({**row, "id": f"col_{number}", "completed_at": done})
    return made


def book_of(rows: list[Row]) -> pd.DataFrame:
    same = ("row_no", "reference", "collection_id", "amount", "currency", "status", "booked_at")
    return columns.frame(
        LEDGER,
        {
            **{name: [row[name] for row in rows] for name in same},
            "fee": [None] * len(rows),
            "channel": [None] * len(rows),
            "booked_day": [pd.Timestamp(day_of(row["booked_at"])) for row in rows],
        },
    )


def bridge_of(met: list[Row], rows: list[Row], books: list[Row], *, net: bool) -> list[Any]:
    """Return both totals from the inputs, and what the rows of each code make of the difference."""
    due = {row["id"]: row["amount"] - (row["fee"] if net else 0) for row in rows}
    ours = [row for row in books if row["status"] == "paid" and inside(day_of(row["booked_at"]))]
    theirs = [
        row for row in rows if row["status"] == "succeeded" and inside(day_of(row["completed_at"]))
    ]
    effect: Counter[tuple[str, str]] = Counter()
    count: Counter[tuple[str, str]] = Counter()
    for row in met:
        code, touched = row["break_code"], set()
        if row["row_no"] in {line["row_no"] for line in ours}:
            effect[row["currency_ledger"], code] -= row["amount_ledger"]
            touched.add(row["currency_ledger"])
        service_id = row["collection_id"] if row["status_service"] else None
        if service_id in {paid["id"] for paid in theirs}:
            effect[row["currency_service"], code] += due[str(service_id)]
            touched.add(row["currency_service"])
        count.update((currency, code) for currency in touched)
    result = []
    order = list(breaks.LEDGER)
    for currency in sorted({r["currency"] for r in (*ours, *theirs)} | {c for c, _ in count}):
        booked = [row["amount"] for row in ours if row["currency"] == currency]
        earned = [due[row["id"]] for row in theirs if row["currency"] == currency]
        result.append((currency, "ledger total", len(booked), sum(booked)))
        codes = sorted((code for c, code in count if c == currency), key=order.index)
        result += [(currency, c, count[currency, c], effect[currency, c]) for c in codes]
        result.append((currency, "service total", len(earned), sum(earned)))
        result.append((currency, "unexplained", 0, 0))
    return result


def stake_of(row: Row, *, net: bool) -> int:
    """Return by how much a row is wrong: the difference of two sides, else the whole of one."""
    booked, paid = row["status_ledger"] == "paid", row["status_service"] == "succeeded"
    ledger, service = row["amount_ledger"], row["amount_service"]
    if booked and paid and row["currency_ledger"] == row["currency_service"]:
        apart = abs(ledger - service + (row["fee_service"] if net else 0))
        return int(apart or ledger)
    return int(service if ledger is None or (paid and not booked) else ledger)


def certain_of(met: list[Row], rows: list[Row], books: list[Row]) -> set[tuple[Any, ...]]:
    second = [row for row in met if row["break_code"] == "double_payment"]
    by_id = {row["id"]: row for row in rows}
    result = set()
    for key in {(row["reference"], row["currency_service"]) for row in second}:
        paid = [
            row
            for row in rows
            if (row["reference"], row["currency"]) == key and row["status"] == "succeeded"
        ]
        paid.sort(key=lambda row: (row["created_at"], row["id"]))
        again = [row for row in second if (row["reference"], row["currency_service"]) == key]
        back = [by_id[row["collection_id"]] for row in again]
        booked = sum(b["status"] == "paid" and b["reference"] == key[0] for b in books)
        result.add(
            (
                *(key[0], key[1], " ".join(row["id"] for row in paid), len(paid)),
                *(sum(row["amount"] for row in paid), booked),
                *(sum(row["amount"] for row in back), sum(row["fee"] for row in back)),
            )
        )
    return result


def booked_each_of(met: list[Row], rows: list[Row], books: list[Row]) -> set[tuple[Any, ...]]:
    """Return the references with several successes of which none is to be refunded."""
    back = {
        (row["reference"], row["currency_service"])
        for row in met
        if row["break_code"] == "double_payment"
    }
    orders: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row["created_at"], row["id"])):
        if row["status"] == "succeeded":
            orders[row["reference"], row["currency"]].append(row)
    result = set()
    for key, paid in orders.items():
        near = any(inside(day_of(row["completed_at"])) for row in paid)
        if len(paid) > 1 and near and key not in back:
            booked = sum(b["status"] == "paid" and b["reference"] == key[0] for b in books)
            ids = " ".join(row["id"] for row in paid)
            amounts = [row["amount"] for row in paid]
            result.add((*key, ids, len(paid), sum(amounts), booked, sum(amounts[1:])))
    return result


def suspected_of(rows: list[Row], books: list[Row]) -> set[tuple[Any, ...]]:
    payers: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row["created_at"], row["id"])):
        if row["status"] == "succeeded":
            payers[row["currency"], row["phone"], row["amount"]].append(row)
    result = set()
    for paid in payers.values():
        for before, row in pairwise(paid):
            near = row["created_at"] - before["created_at"] <= timedelta(minutes=60)
            other = row["reference"] != before["reference"]
            if near and other and inside(day_of(row["completed_at"])):
                names = {row["reference"], before["reference"]}
                booked = sum(b["status"] == "paid" and b["reference"] in names for b in books)
                pair = f"{before['id']} {row['id']}"
                amount = row["amount"]
                result.add((row["reference"], row["currency"], pair, 2, 2 * amount, booked, amount))
    return result


@pytest.mark.scale(6, 120, 800)
def test_bridge_ageing_and_doubles_are_what_the_rows_and_the_inputs_say(
    collections_of: Make, rounds: int
) -> None:
    @settings(max_examples=rounds, deadline=None, database=None)
    @given(services, lines, st.booleans(), st.integers(0, 40))
    def holds(service: list[Row], booked: list[Row], net: bool, days: int) -> None:
        rows = prepared(service)
        books = [{**row, "row_no": number} for number, row in enumerate(booked, start=1)]
        options: dict[str, Any] = {"period": MARCH, "tolerance": TERMS, "pairs": True}
        options["as_of"] = MARCH.last + timedelta(days=days)
        options["basis"] = "net" if net else "gross"
        frame, book = collections_of(*rows), book_of(books)
        found = ledger.match(frame, book, **options)
        met = plain(found.rows)

        bridge = columns.check(found.bridge, BRIDGE)
        bridge_lines = [tuple(row.values()) for row in plain(bridge)]
        assert bridge_lines == bridge_of(met, rows, books, net=net)

        assert [row["at_stake"] for row in met] == [stake_of(row, net=net) for row in met]
        check_rows(met, frame, book, period=MARCH, as_of=options["as_of"], net=net)
        check_sums(found, book, period=MARCH)

        doubles = plain(columns.check(found.doubles, DOUBLES))
        names = ("reference", "currency", "collection_ids", "payments", "amount", "booked")
        sure = {
            tuple(row[name] for name in (*names, "at_stake", "fee"))
            for row in doubles
            if not row["suspected"]
        }
        assert sure == certain_of(met, rows, books)
        assert all(row["at_stake"] == row["refund"] for row in doubles if not row["suspected"])
        looks = {
            tuple(row[name] for name in (*names, "at_stake")) for row in doubles if row["suspected"]
        }
        assert looks == suspected_of(rows, books) | booked_each_of(met, rows, books)

        few = ledger.match(
            frame.sample(frac=1, random_state=len(rows)),
            book.sample(frac=1, random_state=len(books)),
            **options,
            everything=False,
        )
        worth = found.rows[found.rows["standing"] != "ok"].reset_index(drop=True)
        pd.testing.assert_frame_equal(few.rows, worth)
        for name in ("bridge", "ageing", "doubles", "places", "pairs"):
            pd.testing.assert_frame_equal(getattr(few, name), getattr(found, name))

    holds()


@pytest.mark.parametrize("later", [0, 1])
def test_each_day_of_a_month_is_listed_by_its_age(collections_of: Make, later: int) -> None:
    at = [datetime(2026, 3, day, 9, tzinfo=UTC) for day in range(1, 32)]
    plainly: Row = {"amount": 100, "fee": 0, "status": "succeeded", "currency": "TZS"}
    made = [{**plainly, "reference": f"A-{n}", "created_at": one} for n, one in enumerate(at)]
    frame, as_of = collections_of(*prepared(made)), MARCH.last + timedelta(days=later)
    asked: dict[str, Any] = {"period": MARCH, "tolerance": TERMS, "as_of": as_of, "pairs": True}
    found = ledger.match(frame, book_of([]), **asked)
    assert {row["age_days"] for row in plain(found.rows)} == set(range(later, 31 + later))
    check_rows(plain(found.rows), frame, book_of([]), period=MARCH, as_of=as_of, net=False)
    check_sums(found, book_of([]), period=MARCH)


FIELDS = ("status", "amount", "fee", "business_day", "currency", "channel", "reference")
closed_rows = st.dictionaries(
    st.sampled_from(["col_1", "col_2", "col_3"]),
    st.fixed_dictionaries(
        {
            "status": st.sampled_from(["succeeded", "failed", "created"]),
            "amount": st.sampled_from([100, 2**53 + 1]),
            "fee": st.sampled_from([0, 2]),
            "business_day": st.sampled_from([None, date(2026, 3, 5), date(2026, 3, 6)]),
            "currency": st.sampled_from(["TZS", "KES"]),
            "channel": st.sampled_from([None, "MPESA_TZ"]),
            "reference": st.sampled_from(["A", "=1+1"]),
            "failure_code": st.sampled_from([None, "declined"]),
            "contradictions": st.sampled_from([0, 1]),
        }
    ),
    max_size=3,
)


def closed_frame(rows: dict[str, Row]) -> pd.DataFrame:
    days = pd.array([row["business_day"] for row in rows.values()], dtype="datetime64[us]")
    return columns.frame(
        CLOSED,
        {
            "id": list(rows),
            "mode": ["live"] * len(rows),
            "seq": list(range(1, len(rows) + 1)),
            "created_day": [pd.Timestamp("2026-03-05")] * len(rows),
            **{
                name: [row[name] for row in rows.values()]
                for name in (*FIELDS, "failure_code", "contradictions")
            },
            "business_day": days,
        },
    )


def late_of(before: dict[str, Row], now: dict[str, Row]) -> list[tuple[Any, ...]]:
    def said(row: Row | None, name: str) -> str | None:
        return None if row is None or row[name] is None else str(row[name])

    def money(row: Row | None, name: str) -> int:
        return int(row[name]) if row is not None and row["status"] == "succeeded" else 0

    result = []
    for key in sorted({*before, *now}):
        was, is_now = before.get(key), now.get(key)
        change = "added" if was is None else "removed" if is_now is None else "changed"
        effects = [money(is_now, name) - money(was, name) for name in ("amount", "fee")]
        for name in (*FIELDS, "failure_code", "contradictions"):
            if said(was, name) != said(is_now, name):
                result.append((key, change, name, said(was, name), said(is_now, name), *effects))
                effects = [0, 0]
    return result


@pytest.mark.scale(15, 120, 800)
def test_a_delta_is_every_field_that_differs_and_its_money_once(rounds: int) -> None:
    @settings(max_examples=rounds, deadline=None, database=None)
    @given(closed_rows, closed_rows)
    def holds(before: dict[str, Row], now: dict[str, Row]) -> None:
        frames = closed_frame(before), closed_frame(now)
        found = columns.check(late_changes.compare(*frames, closed_run_id="r"), DELTA)
        names = ["key", "change", "field", "before", "now", "amount_effect", "fee_effect"]
        assert [tuple(row.values()) for row in plain(found[names])] == late_of(before, now)
        assert set(found["closed_run_id"]) <= {"r"}

    holds()
