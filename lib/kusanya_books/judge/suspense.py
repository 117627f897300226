"""What the entries of breaks hold on the account for them, and what of it is explained since.

Each open item says what is held of it; what no open item holds any more goes to the clearing
account, under the day on which it was booked.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pandas as pd

from kusanya_books.columns.dtypes import is_missing
from kusanya_books.judge import postings
from kusanya_books.judge.carried_payouts import owed_of
from kusanya_books.judge.open_items import Item
from kusanya_books.request.days import Period
from kusanya_books.request.earlier_period import STATEMENT


def name_of(span: Period) -> str:
    """Return how items name the period that left them open."""
    return f"{span.first}..{span.last}"


def state_of(item: Item) -> tuple[Any, ...]:
    """Return what tells whether a carried item is what it was."""
    return item["break_code"], item["currency"], item["amount"]


def explained(
    span: Period,
    before: Period,
    endings: list[tuple[Item, Item | None]],
    expected: list[Item],
    due: Mapping[str, int],
) -> Mapping[postings.Key, int]:
    """Return what is explained of what entries of breaks hold, on days of which they are.

    `due` is what became due since for carried payouts, by the break's id.
    """
    found: Counter[postings.Key] = Counter()
    for was, now in endings:
        gone = _held(was) - (0 if now is None else _kept(was, now, due))
        found[_booked_as(was, was["carried_from"] or name_of(before))] += gone
    for item in expected:
        found[_booked_as(item, name_of(span))] += _held(item)
    return {key: money for key, money in found.items() if money}


def _booked_as(item: Item, span: str) -> postings.Key:
    """Return the key of an item that the close of a span booked.

    A payout is booked under the day that it is for, a line under a day of the span.
    """
    first, last = map(pd.Timestamp, span.split(".."))
    day = last if is_missing(item["day"]) else item["day"]
    if item["leg"] != STATEMENT:
        day = min(max(day, first), last)
    channel = None if is_missing(item["channel"]) else item["channel"]
    return day, item["currency"], channel, postings.EXPLAINED, item["break_code"]


def suspended(was: Item, now: Item, due: Mapping[str, int]) -> int:
    """Return what entries hold of a carried item, this period's own among them."""
    kept = _kept(was, now, due)
    if was["leg"] != STATEMENT:
        return kept
    owed = owed_of(was, due)
    paid = owed - int(now["balance"])
    return kept + paid - postings.cleared(paid, owed)


def _held(item: Item) -> int:
    known: Any = item.get("suspended")
    return 0 if is_missing(known) else int(known)


def _kept(was: Item, now: Item, due: Mapping[str, int]) -> int:
    """Return what earlier entries hold of a carried item: never more of it than is open still."""
    held = _held(was)
    if was["leg"] != STATEMENT:
        return held if state_of(was) == state_of(now) else _between(held, _held(now))
    return _between(_between(held, -owed_of(was, due)), -now["balance"])


def _between(held: int, left: int) -> int:
    """Return the part of `held` that is not past `left`, on the same side of nothing."""
    return min(held, max(left, 0)) if held > 0 else max(held, min(left, 0))
