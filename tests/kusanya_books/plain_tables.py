"""What a match lists of each row, and sums of all, written as plain loops over its inputs."""

from collections import Counter
from datetime import date
from typing import Any, Final

import pandas as pd
from tests.kusanya_books.plain_legs import day_of

from kusanya_books import columns
from kusanya_books.columns import AGEING, PAIRS, PLACES
from kusanya_books.match.breaks import LEDGER
from kusanya_books.match.breaks.rule import Standing
from kusanya_books.match.ledger import LedgerMatch
from kusanya_books.request.days import Period

Row = dict[Any, Any]
_BUCKETS: Final = {"0-1": (0, 1), "2-3": (2, 3), "4-7": (4, 7), "8-30": (8, 30), ">30": (31, 10**6)}
_STANDINGS: Final = [Standing.BREAK, Standing.EXPECTED, Standing.OK]
_CODES: Final = list(LEDGER)
_SIDES: Final = (
    ("ledger", "ledger", "paid", "booked_day"),
    ("service", "collections", "succeeded", "business_day"),
)


def plain(frame: pd.DataFrame) -> list[Row]:
    """Return the rows of a frame, with None where it has no value."""
    return [
        {name: None if pd.isna(value) else value for name, value in row.items()}
        for row in frame.astype("object").to_dict("records")
    ]


def check_rows(
    rows: list[Row],
    collections: pd.DataFrame,
    books: pd.DataFrame,
    *,
    period: Period,
    as_of: date,
    net: bool,
) -> None:
    """Check each column of each row that follows from its line, its payment and its code."""
    payments = {row["id"]: row for row in plain(collections)}
    lines = {row["row_no"]: row for row in plain(books)}
    for row in rows:
        line = lines.get(row["row_no"], {})
        pay = payments[row["collection_id"]] if row["status_service"] is not None else {}
        assert line or pay
        rule = LEDGER[row["break_code"]]
        days = [line.get("booked_day"), pay.get("completed_at"), pay.get("created_at")]
        booked, done, made = (None if day is None else _day(day) for day in days)
        age = max(0, (as_of - (done or booked or made or as_of)).days)
        due = None if not pay else pay["amount"] - (pay["fee"] if net else 0)
        apart, fees = _less(line.get("amount"), due), _less(line.get("fee"), pay.get("fee"))
        counted = _counted(line, line.get("amount"), "paid", booked, period)
        earned = _counted(pay, due, "succeeded", done, period)
        others = {line.get("currency"), pay.get("currency")} - {None}
        both = line.get("reference") is not None and bool(pay)
        other = pay["reference"] if both and line["reference"] != pay["reference"] else None
        expected = {
            "standing": rule.standing.value,
            "suggested_action": rule.action,
            "reference": line.get("reference") or pay.get("reference"),
            "reference_service": other,
            "collection_id": pay.get("id") or line.get("collection_id"),
            "mode": pay.get("mode"),
            "channel": pay.get("channel") or line.get("channel"),
            **{f"{name}_ledger": line.get(name) for name in ("currency", "amount", "fee")},
            **{f"{name}_service": pay.get(name) for name in ("currency", "amount", "fee")},
            "status_ledger": line.get("status"),
            "status_service": pay.get("status"),
            "amount_drift": apart,
            "fee_drift": fees,
            "net_drift": apart if net or apart is None else apart - (fees or 0),
            "counted_ledger": counted,
            "counted_service": earned,
            "bridge_effect": None if len(others) > 1 else counted - earned,
            "created_at": pay.get("created_at"),
            "completed_at": pay.get("completed_at"),
            "booked_at": line.get("booked_at"),
            "business_day": None if done is None else pd.Timestamp(done),
            "booked_day": line.get("booked_day"),
            "age_days": age,
            "age_bucket": next(n for n, (low, high) in _BUCKETS.items() if low <= age <= high),
        }
        assert {name: row[name] for name in expected} == expected


def check_sums(found: LedgerMatch, books: pd.DataFrame, *, period: Period) -> None:
    """Check ageing, places and pairs against all rows of a match."""
    rows = plain(found.rows)
    groups: dict[tuple[str, str], Counter[str]] = {}
    places: dict[tuple[str, str, str], Counter[str]] = {}
    for row in rows:
        currency = row["currency_ledger"] or row["currency_service"]
        group = groups.setdefault((currency, row["break_code"]), Counter())
        group.update({row["age_bucket"]: 1, "rows": 1, "at_stake": row["at_stake"]})
        group["effect"] += row["counted_ledger"] - row["counted_service"]
        for side, name, paid, day in _SIDES:
            on = row[day]
            if row[f"status_{side}"] == paid and on and period.first <= _day(on) <= period.last:
                place = (name, row[f"currency_{side}"], row["standing"])
                places.setdefault(place, Counter())["rows"] += 1
                places[place]["amount"] += row[f"counted_{side}"]
    order = sorted(
        groups,
        key=lambda key: (key[0], _STANDINGS.index(LEDGER[key[1]].standing), _CODES.index(key[1])),
    )
    ageing = [
        (
            *key,
            LEDGER[key[1]].standing.value,
            groups[key]["rows"],
            *(groups[key][bucket] for bucket in _BUCKETS),
            groups[key]["at_stake"],
            groups[key]["effect"],
            LEDGER[key[1]].action,
        )
        for key in order
    ]
    assert [tuple(row.values()) for row in plain(columns.check(found.ageing, AGEING))] == ageing
    went = [tuple(row.values()) for row in plain(columns.check(found.places, PLACES))]
    assert went == [
        (*place, places[place]["rows"], places[place]["amount"]) for place in sorted(places)
    ]
    lines = {row["row_no"]: row for row in plain(books)}
    agreeing = [
        row
        for row in sorted(rows, key=lambda row: row["row_no"] or 0)
        if row["standing"] == "ok" and row["status_service"] and row["status_ledger"] == "paid"
    ]
    assert isinstance(found.pairs, pd.DataFrame)
    same = ("row_no", "collection_id", "channel", "amount_ledger", "amount_service")
    pairs = [
        {
            **{name: row[name] for name in (*same, "fee_service", "booked_day", "business_day")},
            "reference": lines[row["row_no"]]["reference"],
            "currency": row["currency_service"],
        }
        for row in agreeing
    ]
    assert plain(columns.check(found.pairs, PAIRS)) == pairs


def _day(at: Any) -> date:
    return day_of(at) if at.tzinfo is not None else at.date()


def _less(ours: int | None, theirs: int | None) -> int | None:
    return None if ours is None or theirs is None else ours - theirs


def _counted(side: Row, money: int | None, status: str, day: date | None, period: Period) -> int:
    """Return what one side of a row adds to the total of the period."""
    is_inside = day is not None and period.first <= day <= period.last
    return (money or 0) if side.get("status") == status and is_inside else 0
