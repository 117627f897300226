"""Which lines of the books take back, and what: the same rules written as plain loops."""

from collections import defaultdict
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from kusanya.domain.business_day import EAT
from kusanya_books.request.days import period

MARCH = period("2026-03")
Row = dict[str, Any]
Judged = tuple[Row | None, Row | None, str | None, str]
"""A line, a collection, the rule by which they met, and the code."""


def day_of(at: datetime) -> date:
    return at.astimezone(EAT).date()


def spelling(text: str | None) -> str | None:
    return None if text is None else text.strip().lower()


def inside(at: datetime) -> bool:
    return MARCH.first <= day_of(at) <= MARCH.last


def cancelling(
    books: list[Row], by_id: dict[str, Row], *, paid: dict[str, bool]
) -> list[tuple[int, int]]:
    """Return each reversal with the line that it cancels, the earliest of its order and amount.

    A credit note for an order that nobody has paid is one too.
    """
    has_paid = {spelling(s["reference"]) for s in by_id.values() if paid[s["id"]]}
    booked = [b for b in books if b["status"] == "paid"]
    booked.sort(key=lambda b: (b["booked_at"], b["row_no"]))
    pairs: list[tuple[int, int]] = []

    def name(b: Row) -> str | None:
        known = by_id.get(b["collection_id"])
        own = known["reference"] if known else b["collection_id"]
        return spelling(b["reference"] if b["reference"] is not None else own)

    def pair(reversals: list[Row], lines: list[Row]) -> None:
        for r in reversals:
            for line in lines:
                taken = any(line["row_no"] in found for found in pairs)
                same = (name(r), r["currency"]) == (name(line), line["currency"])
                if same and line["amount"] == -r["amount"] and not taken and line is not r:
                    pairs.append((r["row_no"], line["row_no"]))
                    break

    def reverses(b: Row) -> bool:
        order = order_of(b, by_id)
        is_credit = b["kind"] == "credit_note" and b["amount"] < 0 and order is not None
        return b["kind"] == "reversal" or (is_credit and order not in has_paid)

    back = [b for b in booked if b["kind"] == "reversal"]
    pair([b for b in back if b["amount"] > 0], [b for b in back if b["amount"] < 0])
    used = {row for found in pairs for row in found}
    rest = [b for b in booked if reverses(b) and b["row_no"] not in used]
    pair(rest, [b for b in booked if not reverses(b)])
    return pairs


def order_of(b: Row, by_id: dict[str, Row]) -> str | None:
    """Return what the service calls the order of a line, as far as it knows it."""
    known = by_id.get(b["collection_id"])
    return spelling(known["reference"] if known else b["reference"])


def given_back(
    single: list[Row],
    judged: list[Judged],
    by_id: dict[str, Row],
    *,
    paid: dict[str, bool],
    due: dict[str, int],
) -> tuple[dict[int, str], dict[int, str]]:
    """Return which line refunds which second payment, and which books one with the wrong sign."""
    left = [
        (s, code, b is None)
        for b, s, _, code in judged
        if s is not None
        and (inside(s["completed_at"] or s["created_at"]) or (b and inside(b["booked_at"])))
    ]
    single = sorted(single, key=lambda b: (b["booked_at"], b["row_no"]))
    repaid: dict[int, str] = {}
    turned: dict[int, str] = {}

    def find(b: Row, free: list[Row], asked: Callable[[Row], int]) -> Row | None:
        for s in free:
            same = (order_of(b, by_id), b["currency"]) == (spelling(s["reference"]), s["currency"])
            if same and asked(s) == -b["amount"]:
                return s
        return None

    wrong = [s for s, code, _ in left if code in {"double_payment", "late_success"}]
    wrong.sort(key=lambda s: (s["created_at"], s["id"]), reverse=True)
    for b in single:
        found = None if b["kind"] == "charge" else find(b, wrong, lambda s: int(s["amount"]))
        if found is not None:
            repaid[b["row_no"]] = found["id"]
            wrong.remove(found)
    refunded = {*repaid.values()}
    bare = [
        s
        for s, code, alone in left
        if alone and paid[s["id"]] and not s["contradictions"] and s["id"] not in refunded
        and code not in {"double_payment", "late_success"}
    ]  # fmt: skip
    bare.sort(key=lambda s: (s["created_at"], s["id"]))
    for b in single:
        if b["kind"] == "reversal" and b["row_no"] not in repaid:
            found = find(b, bare, lambda s: due[s["id"]])
            if found is not None:
                turned[b["row_no"]] = found["id"]
                bare.remove(found)
    return repaid, turned


def within_what_was_paid(
    single: list[Row],
    service: list[Row],
    books: list[Row],
    by_id: dict[str, Row],
    *,
    paid: dict[str, bool],
    due: dict[str, int],
) -> set[int]:
    """Return the lines that take back no more than their order was paid, each after the other."""
    taken: dict[Any, int] = defaultdict(int)
    again: dict[Any, int] = defaultdict(int)
    found = set()
    for b in sorted(single, key=lambda b: (b["booked_at"], b["row_no"])):
        order, currency = order_of(b, by_id), b["currency"]
        if b["kind"] == "charge" or order is None:
            continue
        mine = [
            s
            for s in service
            if paid[s["id"]] and (spelling(s["reference"]), s["currency"]) == (order, currency)
        ]
        booked = [
            line["amount"]
            for line in books
            if line["status"] == "paid"
            and (order_of(line, by_id), line["currency"]) == (order, currency)
        ]
        cover = max(sum(s["amount"] for s in mine), sum(booked))
        taken[order, currency] += b["amount"]
        fits = -cover <= taken[order, currency] <= 0
        if b["kind"] == "reversal":
            again[order, currency, b["amount"]] += 1
            same = [
                s
                for s in mine
                if due[s["id"]] == -b["amount"] and day_of(s["completed_at"]) < MARCH.first
            ]
            fits = fits and again[order, currency, b["amount"]] <= len(same)
        if fits:
            found.add(b["row_no"])
    return found
