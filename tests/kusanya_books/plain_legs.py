"""What legs against a statement share, written as plain loops: bridges, copies and many months."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from random import Random
from typing import Any

import pandas as pd

from kusanya.domain.business_day import EAT
from kusanya_books import columns
from kusanya_books.columns import LEG_BRIDGE
from kusanya_books.match.breaks.rule import BreakRule
from kusanya_books.request.days import Period

Row = dict[str, Any]
Counted = tuple[str | None, str, str, int, Any]
"""The channel, the currency, the code, the sum, and the row that it stands in."""


def day_of(at: datetime) -> date:
    return at.astimezone(EAT).date()


def drawn(chance: Random, fields: Mapping[str, Sequence[Any]], most: int) -> list[Row]:
    """Return up to so many rows, each field of them by chance."""
    return [
        {name: chance.choice(values) for name, values in fields.items()}
        for _ in range(chance.randint(0, most))
    ]


def copies(lines: Iterable[Row], *said: str) -> set[int]:
    """Return the numbers of completed lines with a receipt that say what an earlier one says."""
    seen = set()
    found = set()
    for line in sorted(lines, key=lambda line: (line["input"], line["line_no"])):
        says = tuple(line[name] for name in said)
        if line["receipt"] is not None and line["status"] == "completed":
            if says in seen:
                found.add(line["line_no"])
            seen.add(says)
    return found


def balances(lines: list[Row], period: Period) -> dict[tuple[str | None, str], tuple[int, int]]:
    """Return the opening and the closing balance of each account, where its lines say any."""
    files: dict[Any, list[Row]] = defaultdict(list)
    for line in sorted(lines, key=lambda line: line["line_no"]):
        files[line["channel"], line["currency"], line["input"]].append(line)
    accounts: dict[Any, list[list[Row]]] = defaultdict(list)
    for file in sorted(files, key=lambda file: (min(line["at"] for line in files[file]), file[2])):
        told = files[file]
        is_forward = told[0]["at"] <= told[-1]["at"]
        accounts[file[:2]].append(told if is_forward else told[::-1])
    found = {}
    for account, told_files in accounts.items():
        counted = [
            line
            for told in told_files
            for line in told
            if line["status"] == "completed"
            and line["balance"] is not None
            and period.first <= day_of(line["at"]) <= period.last
        ]
        if counted:
            opening = counted[0]["balance"] - counted[0]["amount"]
            found[account] = (opening, counted[-1]["balance"])
    return found


def bridge(
    names: tuple[str, str],
    lines: list[Row],
    others: list[Counted],
    counted: list[Counted],
    period: Period,
) -> set[tuple[Any, ...]]:
    """Return the bridge's rows from lines to others: channel, currency, line, rows and amount.

    `counted` are the lines of the period as `others` are, with the code of the row of each.
    """
    both = [*((one, 1) for one in counted), *((one, -1) for one in others)]
    effects: dict[Any, int] = defaultdict(int)
    places: dict[Any, set[Any]] = defaultdict(set)
    for (channel, currency, code, amount, row), sign in both:
        effects[channel, currency, code] += sign * amount
        places[channel, currency, code].add(row)
    found = {(*key, len(places[key]), -amount) for key, amount in effects.items()}
    for account in {key[:2] for key in effects}:
        for name, side in zip(names, (counted, others), strict=True):
            sums = [one[3] for one in side if one[:2] == account]
            found.add((*account, name, len(sums), sum(sums)))
        found.add((*account, "unexplained", 0, 0))
    for account, (opening, closing) in balances(lines, period).items():
        moved = sum(one[3] for one in counted if one[:2] == account)
        found |= {
            (*account, "opening balance", 0, opening),
            (*account, "closing balance", 0, closing),
            (*account, "not in the balances", 0, closing - opening - moved),
        }
    return found


def bridge_rows(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return the rows of a bridge as `bridge` tells them."""
    columns.check(frame, LEG_BRIDGE)
    return [
        (
            None if pd.isna(row.channel) else row.channel,
            row.currency,
            row.line,
            int(row.rows),
            int(row.amount),
        )
        for row in columns.records(frame)
    ]


def places_of(
    lines: list[Row], standings: Mapping[int, str], period: Period
) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Return rows and sums of each file's lines of the period, by currency and standing."""
    sums: dict[Any, list[int]] = defaultdict(list)
    for line in lines:
        if period.first <= day_of(line["at"]) <= period.last:
            key = (line["input"], line["currency"], standings[line["line_no"]])
            sums[key].append(line["amount"])
    return {key: (len(amounts), sum(amounts)) for key, amounts in sums.items()}


def place_rows(frame: pd.DataFrame) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Return the rows of places as `places_of` tells them."""
    return {
        (row.input, row.currency, row.standing): (int(row.rows), int(row.amount))
        for row in columns.records(frame)
    }


def check_bridge_order(frame: pd.DataFrame, rules: Iterable[str], *ends: str) -> None:
    """Hold a bridge to its order: by account, from one total over the rules to the other."""
    total, other = ends
    after = ("unexplained", "opening balance", "closing balance", "not in the balances")
    fees_ = ("operator fees", "service fees", "fee difference")
    places = [total, *rules, other, *after, *fees_]
    keys = [
        (first(row.channel), row.currency, places.index(row.line)) for row in columns.records(frame)
    ]
    assert keys == sorted(keys)


def first(value: Any) -> tuple[bool, Any]:
    """Return a key of sorting that puts what is missing first."""
    return (False, 0) if pd.isna(value) else (True, value)


def last(value: Any) -> tuple[bool, Any]:
    """Return a key of sorting that puts what is missing last."""
    return (True, 0) if pd.isna(value) else (False, value)


def oldest(value: Any) -> int:
    """Return a key of sorting that puts the greatest age first."""
    return -int(value)


def check_order(
    rows: pd.DataFrame, rules: Mapping[str, BreakRule], *then: tuple[str, Callable[[Any], Any]]
) -> None:
    """Hold rows to their order: breaks first, then what is expected, each in its rules' order."""
    standings = ["break", "expected", "ok"]
    places = list(rules)
    keys = [
        (
            standings.index(row.standing),
            places.index(row.break_code),
            *(key(getattr(row, name)) for name, key in then),
        )
        for row in columns.records(rows)
    ]
    assert keys == sorted(keys)
    assert all(
        rules[row.break_code].standing.value == row.standing for row in columns.records(rows)
    )
    assert all(
        rules[row.break_code].action == row.suggested_action for row in columns.records(rows)
    )


def check_brief(rows: pd.DataFrame, brief: pd.DataFrame) -> None:
    """Hold what is listed without what agrees to the whole list."""
    left = rows[rows["standing"] != "ok"].reset_index(drop=True)
    pd.testing.assert_frame_equal(brief, left)
