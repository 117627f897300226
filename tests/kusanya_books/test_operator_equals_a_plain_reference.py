"""The operator's leg against the same rules written as plain loops, and each fault by its name."""
# ruff: noqa: C901, PLR0911, PLR0912, PLR0915 - the rules stand here as plainly as they are stated

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.movements import movements_of
from tests.kusanya_books.plain_legs import (
    Counted,
    Row,
    bridge,
    bridge_rows,
    check_bridge_order,
    check_order,
    copies,
    day_of,
    drawn,
    last,
    oldest,
    place_rows,
    places_of,
)

from kusanya_books import columns
from kusanya_books.columns import (
    INTENTS,
    LEDGER,
    OPERATOR_MATCHES,
    RECEIPTS,
)
from kusanya_books.match import operator
from kusanya_books.match.breaks import OPERATOR
from kusanya_books.request.days import period
from kusanya_books.request.tolerance import Tolerance

WEEK = period("2026-03-02..2026-03-08")
JUDGED = date(2026, 3, 9)
TERMS = Tolerance(amount=1, fee=1, grace_days=1)
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
Make = Callable[..., pd.DataFrame]

moments = [START + timedelta(hours=6 * n) for n in range(8 * 4 + 1)]
SERVICES: dict[str, Sequence[Any]] = {
    "reference": ["A", "B", "C"],
    "amount": [1, 100, 101, 200, 2**53 + 1],
    "fee": [0, 2, 9],
    "status": ["succeeded"] * 3 + ["failed", "created"],
    "channel": ["MPESA_TZ", "MPESA_TZ", "TIGO_TZ"],
    "currency": ["TZS", "TZS", "KES"],
    "created_at": moments,
}
MOVES: dict[str, Sequence[Any]] = {
    "reference": [None, "a ", "B", "C", "D", "T1"],
    "collection_id": [None, None, None, "col_1", "col_9"],
    "receipt": ["T1", "T2", "t3 ", None],
    "details": [None, None, "Reversal of T1", "t2;x"],
    "amount": [0, 1, 100, 102, 200, 2**53 + 1],
    "fee": [None, None, None, 2, 3],
    "balance": [None, 1_000, 2_000],
    "channel": ["MPESA_TZ", "MPESA_TZ", "TIGO_TZ"],
    "currency": ["TZS", "TZS", "KES"],
    "kind": ["payment"] * 6
    + ["payout", "fee", "fee", "fee", "tax", "refund"]
    + ["reversal", "reversal", "chargeback", "charge", "other", "own"],
    "status": ["completed"] * 5 + ["failed"],
    "at": moments,
    "turned": [True] * 12 + [False],
    "input": ["a.csv", "b.csv"],
}
BOOKED: dict[str, Sequence[Any]] = {
    "reference": ["A", "b ", "C", "T1", None],
    "amount": [-1, -100, -100, 100, -102],
    "currency": ["TZS", "TZS", "KES"],
    "kind": ["refund", "chargeback", "credit_note", "reversal", "payment"],
    "status": ["paid", "paid", "paid", "open"],
}
RECEIPTS_KNOWN: dict[str, Sequence[Any]] = {
    "collection_id": ["col_1", "col_2", "col_3"],
    "receipt": ["t1", "t2 ", "t8"],
}
AGAIN: list[Row] = [
    *({}, {}, {"status": "failed"}, {"details": "said again"}, {"balance": 7}, {"amount": 3}),
    *({"currency": "UGX"}, {"kind": "other"}, {"channel": "AIRTEL_TZ"}, {"at": START}),
]
"""What a line says that is said again: the same, or one thing otherwise."""
OUT = {"payout", "fee", "tax", "refund", "reversal", "chargeback", "charge"}


def rows_of(fields: dict[str, Sequence[Any]], most: int) -> st.SearchStrategy[list[Row]]:
    each = {name: st.sampled_from(list(values)) for name, values in fields.items()}
    return st.lists(st.fixed_dictionaries(each), max_size=most)


def key(text: str | None) -> str | None:
    return None if text is None else text.strip().lower()


Answer = tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], list[tuple[int, str]]]


def expected(
    service: list[Row],
    lines: list[Row],
    *,
    known: list[Row],
    unknown: list[str],
    given: list[str],
    books: list[Row],
) -> Answer:
    """Return the rows, the bridge, and which line met which collection."""
    paid = {s["id"]: s["status"] == "succeeded" for s in service}
    covered: dict[Any, list[date]] = defaultdict(list)
    for line in lines:
        covered[line["channel"], line["currency"]].append(day_of(line["at"]))
    for s in service:
        if s["channel"] in given:
            covered[s["channel"], s["currency"]] += []
    by_id = {s["id"]: s for s in service}
    copied = copies(
        lines,
        *("channel", "currency", "receipt", "kind", "status", "amount", "at", "balance", "details"),
    )
    came = [
        line
        for line in lines
        if line["status"] == "completed"
        and line["kind"] == "payment"
        and line["amount"] > 0
        and line["line_no"] not in copied
    ]
    came.sort(key=lambda m: (m["at"], m["line_no"]))
    rank = {"succeeded": 0, "created": 1}
    said = sorted(service, key=lambda s: (rank.get(s["status"], 2), s["created_at"], s["id"]))
    pairs: list[tuple[Row, Row, str]] = []

    def meet(line: Row, s: Row, rule: str) -> None:
        pairs.append((line, s, rule))
        came_left.remove(line)
        said_left.remove(s)

    came_left, said_left = list(came), list(said)
    for line in list(came_left):
        target = by_id.get(line["collection_id"])
        if target is not None and target in said_left:
            meet(line, target, "id")

    def by_rank(rule: str, of_line: Callable[[Row], Any], of_said: Callable[[Row], Any]) -> None:
        found: dict[Any, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
        for m in came_left:
            found[of_line(m)][0].append(m)
        for s in said_left:
            found[of_said(s)][1].append(s)
        for value, (ms, ss) in found.items():
            if value is not None and (not isinstance(value, tuple) or value[0] is not None):
                for m, s in zip(ms, ss, strict=False):
                    meet(m, s, rule)

    by_rank(
        "reference_amount",
        lambda m: (key(m["reference"]), m["currency"], m["amount"]),
        lambda s: (key(s["reference"]), s["currency"], s["amount"]),
    )
    by_rank("reference", lambda m: key(m["reference"]), lambda s: key(s["reference"]))
    ids: dict[str | None, set[str]] = defaultdict(set)
    for row in known:
        ids[key(row["receipt"])].add(row["collection_id"])
    options = [
        (m, s) for m in came_left for s in said_left if s["id"] in ids.get(key(m["receipt"]), set())
    ]
    firsts = {s["id"]: m for m, s in reversed(options)}
    for m, target in {m["line_no"]: (m, s) for m, s in reversed(options)}.values():
        if firsts[target["id"]] is m:
            meet(m, target, "receipt")
    days: dict[Any, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for m in came_left:
        if WEEK.first <= day_of(m["at"]) <= WEEK.last:
            days[m["channel"], m["currency"], m["amount"], day_of(m["at"])][0].append(m)
    for s in said_left:
        if paid[s["id"]]:
            days[s["channel"], s["currency"], s["amount"], day_of(s["completed_at"])][1].append(s)
    for ms, ss in days.values():
        if len(ms) == len(ss) == 1:
            meet(ms[0], ss[0], "amount_day")

    met = {m["line_no"]: s for m, s, _ in pairs}
    met_ids = {s["id"] for _, s, _ in pairs}
    met_keys = {key(s["reference"]) for _, s, _ in pairs}
    met_receipts = {
        (key(m["receipt"]), m["channel"], m["amount"]) for m, _, _ in pairs if m["receipt"]
    }
    all_backs = [
        line
        for line in lines
        if line["kind"] in {"reversal", "refund", "chargeback"}
        and line["status"] == "completed"
        and line["amount"] < 0
        and line["line_no"] not in copied
    ]
    successes = {m["line_no"] for m, s, _ in pairs if s["status"] == "succeeded"}
    all_backs.sort(key=lambda m: (m["at"], m["line_no"]))
    backs = [line for line in all_backs if line["kind"] != "chargeback"]
    chosen: dict[int, Row] = {}
    takers: dict[int, list[int]] = defaultdict(list)
    for back in backs:
        fitting = [
            m
            for m in came
            if (m["channel"], m["currency"], m["amount"])
            == (back["channel"], back["currency"], -back["amount"])
            and (
                (key(m["receipt"]) is not None and key(m["receipt"]) == key(back["receipt"]))
                or (key(m["receipt"]) is not None and key(m["receipt"]) == key(back["reference"]))
                or (
                    key(m["reference"]) is not None
                    and key(m["reference"]) == key(back["reference"])
                )
                or (m["line_no"] in met and met[m["line_no"]]["id"] == back["collection_id"])
                or (key(m["receipt"]) in words_of(back))
            )
            and (back["kind"] == "reversal" or m["line_no"] not in successes)
        ]
        for m in fitting:
            takers[m["line_no"]].append(back["line_no"])
        if fitting:
            chosen[back["line_no"]] = fitting[-1]
    # One payment is taken back once, by the first line that could.
    taken = {back: m["line_no"] for back, m in chosen.items() if takers[m["line_no"]][0] == back}
    alone = [back for back in all_backs if back["line_no"] not in taken]
    left = [s for s in service if paid[s["id"]] and s["id"] not in met_ids]
    earlier = earlier_of(alone, left, ids)
    by_number = {m["line_no"]: m for m in lines}
    orders: dict[int, str | None] = {}
    to_book: list[Row] = []
    for back in all_backs:
        number = back["line_no"]
        payment = by_number[taken[number]] if number in taken else None
        success = met.get(taken.get(number, -1)) or earlier.get(number)
        order = success["reference"] if success else payment["reference"] if payment else None
        orders[number] = back["reference"] if order is None else order
        if payment is None or (success is not None and success["status"] == "succeeded"):
            to_book.append(back)
    return _rows(
        service,
        lines,
        pairs,
        orders=orders,
        earlier=set(earlier),
        booked=booked_of(to_book, orders, books),
        copied=copied,
        covered=covered,
        unknown=unknown,
        ids=ids,
        met_ids=met_ids,
        met_keys=met_keys,
        met_receipts=met_receipts,
        taken=taken,
    )


def earlier_of(
    backs: list[Row], left: list[Row], ids: Mapping[str | None, set[str]]
) -> dict[int, Row]:
    """Return which success whose line is not there each line takes back: each one once."""
    options = []
    for back in backs:
        receipts = {key(back["receipt"]), key(back["reference"]), *words_of(back)} - {None}
        known = {id_ for receipt in receipts for id_ in ids.get(receipt, set())}
        options += [
            (back, s)
            for s in sorted(sorted(left, key=lambda s: s["id"]), key=newest)
            if all(back[name] == s[name] for name in ("channel", "currency"))
            and back["amount"] == -s["amount"]
            and (
                s["id"] in {back["collection_id"], *known}
                or key(back["reference"]) == key(s["reference"])
            )
        ]
    first_of_back = {back["line_no"]: s for back, s in reversed(options)}
    first_of_success = {s["id"]: back["line_no"] for back, s in reversed(options)}
    return {number: s for number, s in first_of_back.items() if first_of_success[s["id"]] == number}


def newest(s: Row) -> float:
    return -float(s["completed_at"].timestamp())


def booked_of(backs: list[Row], orders: Mapping[int, str | None], books: list[Row]) -> set[int]:
    """Return the lines that the books have too: each of theirs is of one line."""
    out = {"refund", "chargeback", "credit_note", "reversal"}
    left = Counter(
        (key(row["reference"]), row["currency"], row["amount"])
        for row in books
        if row["status"] == "paid" and row["kind"] in out and row["reference"] is not None
    )
    found = set()
    for back in backs:
        name = (key(orders[back["line_no"]]), back["currency"], back["amount"])
        if left[name] > 0:
            left[name] -= 1
            found.add(back["line_no"])
    return found


def words_of(back: Row) -> set[str]:
    text = " ".join(part for part in (back["details"], back["reference"]) if part is not None)
    return {word for word in re.split("[^a-z0-9-]+", text.lower()) if len(word) >= 4}


Many = dict[int, tuple[int, int]]


def fees_of(
    lines: list[Row], met: dict[int, Row], copied: set[int]
) -> tuple[dict[int, int], Many, dict[Any, list[tuple[int, int]]]]:
    """Return the fee of each payment that has one, and the fees of many with what is due.

    The third are both of each account, as the bridge sums them.
    """
    done = [m for m in lines if m["status"] == "completed" and m["line_no"] not in copied]
    by_name: dict[Any, list[Row]] = defaultdict(list)
    for m in sorted(done, key=lambda m: (m["at"], m["line_no"])):
        by_name[m["channel"], m["currency"], key(m["receipt"])].append(m)
    own: dict[int, int] = {}
    loose: dict[Any, list[Row]] = defaultdict(list)
    for name, group in by_name.items():
        charged = [m for m in group if m["kind"] == "fee"]
        payments = [m for m in group if m["kind"] == "payment" and m["amount"] > 0]
        own |= {m["line_no"]: m["fee"] for m in payments if m["fee"] is not None}
        if name[2] is not None and charged and payments:
            fees = [-m["amount"] for m in charged]
            first = payments[0]
            taken = sum(fee for fee in fees if fee > 0) or first["fee"]
            if taken is not None or 0 in fees:
                own[first["line_no"]] = (taken or 0) + sum(fee for fee in fees if fee < 0)
        if name[2] is None or len(charged) == len(group):
            loose[name[:2]] += [m for m in charged if is_inside(m)]
    compared: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    dues: dict[Any, int] = defaultdict(int)
    for m in done:
        s = met.get(m["line_no"])
        if s and s["status"] == "succeeded" and s["currency"] == m["currency"] and is_inside(m):
            if m["line_no"] in own:
                compared[m["channel"], m["currency"]].append((own[m["line_no"]], s["fee"]))
            else:
                dues[m["channel"], m["currency"]] += s["fee"]
    many: Many = {}
    for account, group in loose.items():
        if group:
            both = (-sum(m["amount"] for m in group), dues[account])
            many[min(m["line_no"] for m in group)] = both
            compared[account].append(both)
    return own, many, compared


def is_inside(m: Row) -> bool:
    return WEEK.first <= day_of(m["at"]) <= WEEK.last


def _rows(
    service: list[Row],
    lines: list[Row],
    pairs: list[tuple[Row, Row, str]],
    *,
    orders: Mapping[int, str | None],
    earlier: set[int],
    booked: set[int],
    copied: set[int],
    covered: dict[Any, list[date]],
    unknown: list[str],
    ids: dict[str | None, set[str]],
    met_ids: set[str],
    met_keys: set[str | None],
    met_receipts: set[Any],
    taken: dict[int, int],
) -> Answer:
    met = {m["line_no"]: s for m, s, _ in pairs}
    own, many, compared = fees_of(lines, met, copied)
    taker = {m: back for back, m in taken.items()}

    def verdict(m: Row | None, s: Row | None) -> str:
        paid = s is not None and s["status"] == "succeeded"
        if s is not None and s["completed_at"] is not None:
            day = day_of(s["completed_at"])
        else:
            assert m is not None
            day = day_of(m["at"])
        fresh = (JUDGED - day).days <= TERMS.grace_days
        if m is not None:
            if m["status"] != "completed":
                return "operator_not_completed"
            if m["line_no"] in copied:
                return "operator_line_again"
            if m["amount"] == 0:
                return "operator_zero"
            names = {"fee": "fee", "charge": "fee", "tax": "tax", "payout": "payout"}
            names |= {name: name for name in ("own", "refund", "chargeback")}
            fee, due = many.get(m["line_no"], (0, 0))
            if m["kind"] == "fee" and abs(fee - due) > TERMS.fee:
                return "operator_fees_differ"
            if m["line_no"] in booked:
                return "operator_refund_booked"
            if m["kind"] in names and m["line_no"] not in taken:
                return f"operator_{names[m['kind']]}"
            if m["line_no"] in taken:
                back = met.get(taken[m["line_no"]])
                won = back is not None and back["status"] == "succeeded"
                return "operator_reversed" if won else "operator_reversed_unpaid"
            if m["line_no"] in taken.values() and taker[m["line_no"]] not in booked:
                return "operator_reversed" if paid else "operator_reversed_unpaid"
            if m["kind"] == "reversal":
                return f"operator_{'reversed' if m['line_no'] in earlier else 'reversal_alone'}"
            if m["kind"] != "payment" or m["amount"] <= 0:
                return "operator_other"
        if s is None:
            assert m is not None
            if key(m["reference"]) in {key(name) for name in unknown}:
                return "operator_outcome_unknown"
            again = (
                m["collection_id"] in met_ids
                or (m["reference"] is not None and key(m["reference"]) in met_keys)
                or ids.get(key(m["receipt"]), set()) & met_ids
                or (key(m["receipt"]), m["channel"], m["amount"]) in met_receipts
            )
            if again:
                return "operator_duplicate"
            return "operator_not_seen_yet" if fresh else "operator_unknown_here"
        if m is None:
            if fresh:
                return "operator_pending"
            reach = covered[s["channel"], s["currency"]]
            is_reached = bool(reach) and min(reach) <= day <= max(reach)
            return "operator_missing" if is_reached else "operator_not_reached"
        if not paid:
            return "operator_not_paid_here"
        if m["currency"] != s["currency"]:
            return "operator_currency_mismatch"
        apart = abs(m["amount"] - s["amount"])
        if s["fee"] and apart == s["fee"]:
            return "operator_fee_side"
        if apart > TERMS.amount:
            return "operator_amount_mismatch"
        if m["channel"] != s["channel"]:
            return "operator_channel_mismatch"
        fees_apart = abs(own.get(m["line_no"], s["fee"]) - s["fee"])
        if fees_apart > TERMS.fee:
            return "operator_fee_differs"
        both = {day_of(m["at"]), day}
        if any(not WEEK.first <= each <= WEEK.last for each in both):
            near = abs((day_of(m["at"]) - day).days) <= TERMS.grace_days
            return "operator_over_edge" if near else "operator_across_cutoff"
        if apart or fees_apart:
            return "operator_within_tolerance"
        return "operator_agrees" if len(both) == 1 else "operator_timing"

    alone: list[tuple[Row | None, Row | None, str | None]] = [*pairs]
    alone += [(line, None, None) for line in lines if line["line_no"] not in met]
    alone += [
        (None, s, None)
        for s in service
        if s["status"] == "succeeded"
        and s["id"] not in met_ids
        and (s["channel"], s["currency"]) in covered
    ]
    rows: list[tuple[Any, ...]] = []
    counted: list[Counted] = []
    others: list[Counted] = []
    by_number = {m["line_no"]: m for m in lines}
    for m, s, rule in alone:
        paid_day = day_of(s["completed_at"]) if s and s["completed_at"] else None
        in_line = m is not None and is_inside(m)
        in_other = paid_day is not None and WEEK.first <= paid_day <= WEEK.last
        if not (in_line or in_other):
            continue
        number, name = m["line_no"] if m else None, (s["id"] if s else (m or {})["collection_id"])
        code = verdict(m, s)
        fees: tuple[int | None, int | None] = many.get(
            number or 0, (own.get(number or 0), s["fee"] if s else None)
        )
        group = by_number[taken[number]] if number in taken else m if number in taker else None
        here, there = 0, 0
        if m and in_line and m["status"] == "completed":
            here = m["amount"]
            counted.append((m["channel"], m["currency"], code, here, (number, s and s["id"])))
        is_covered = s is not None and (s["channel"], s["currency"]) in covered
        if s and in_other and s["status"] == "succeeded" and is_covered:
            there = s["amount"]
            others.append((s["channel"], s["currency"], code, there, (number, s["id"])))
        same = m is None or s is None or all(m[x] == s[x] for x in ("channel", "currency"))
        age = max(0, (JUDGED - (paid_day or day_of((m or {})["at"]))).days)
        apart = m["amount"] - s["amount"] if m and s and m["currency"] == s["currency"] else None
        is_comparable = s is None or m is None or m["currency"] == s["currency"]
        own_fee, fee = fees
        charged = own_fee - fee if own_fee is not None and fee is not None else None
        drifts = (apart, charged if is_comparable else None)
        group_key = f"line {group['line_no']} of {group['input']}" if group else None
        effects = (here, there, here - there if same else None)
        place = [(m or s or {})[x] for x in ("channel", "currency")]
        order = (s or m or {})["reference"]
        if s is None:
            order = orders.get(number or 0, order)
        if code in {"operator_fee_differs", "operator_fees_differ"}:
            stake = abs((own_fee or 0) - (fee or 0))
        elif apart and s and s["status"] == "succeeded":
            stake = abs(apart)
        elif code == "operator_within_tolerance":
            stake = abs((own_fee or 0) - (fee or 0))
        else:
            stake = abs((m or s or {})["amount"])
        told = (*fees, *effects, age, group_key, *place, order, *drifts, stake)
        rows.append((number, name, rule, code, *told))
    bridged = bridge(("operator total", "service total"), lines, others, counted, WEEK)
    for account, sums in compared.items():
        came, due = (sum(one[side] for one in sums) for side in (0, 1))
        said = {"operator fees": came, "service fees": due, "fee difference": came - due}
        bridged |= {(*account, line, len(sums), amount) for line, amount in said.items()}
    met_pairs = [(m["line_no"], s["id"]) for m, s, _ in pairs]
    return sorted(rows, key=repr), sorted(bridged, key=repr), met_pairs


@pytest.mark.scale(10, 150, 1_000)
def test_every_line_gets_the_verdict_of_the_rules_and_the_bridge_closes(
    collections_of: Make, rounds: int
) -> None:
    @settings(max_examples=rounds, deadline=None, database=None)
    @given(
        service=rows_of(SERVICES, 6),
        came=rows_of(MOVES, 7),
        known=rows_of(RECEIPTS_KNOWN, 1),
        books=rows_of(BOOKED, 2),
        unknown=st.lists(st.sampled_from("ABC"), max_size=1),
        outside=st.integers(0, 6),
    )
    def holds(service: list[Row], came: list[Row], **asked: Any) -> None:
        said = [{**row, "id": f"col_{number}"} for number, row in enumerate(service, start=1)]
        agree(collections_of, said, came, given=[], **asked)

    holds()


@pytest.mark.scale(2, 10, 100)
def test_many_small_months_in_one_get_the_verdicts_of_each(
    collections_of: Make, rounds: int
) -> None:
    codes: set[str] = set()
    for seed in range(rounds):
        chance = Random(f"operator {seed}")  # noqa: S311 - a repeatable choice
        service: list[Row] = []
        came: list[Row] = []
        known: list[Row] = []
        unknown: list[str] = []
        books: list[Row] = []
        for number in range(90):
            own = partial(named, f"{number:02}")
            made = [
                {**row, "id": f"col_{place}"}
                for place, row in enumerate(drawn(chance, SERVICES, 6), start=1)
            ]
            service += map(own, made)
            came += map(own, [*drawn(chance, MOVES, 4), *followed(chance, made)])
            # Said again, now and then once it happened.
            again = [{**row, **chance.choice(AGAIN)} for row in came[-2:]]
            came += [dict(row) for row in again if chance.random() < 0.4]
            told = {tuple(row.items()): row for row in drawn(chance, RECEIPTS_KNOWN, 3)}
            known += map(own, told.values())
            books += map(own, [*drawn(chance, BOOKED, 2), *given_back(chance, made)])
            for text in chance.sample("ABC", chance.choice([0, 1])):
                # Two creations of one order may be open.
                unknown += [f"{number:02}{text}", f"{number:02}{text} "][: chance.choice([1, 2])]
        asked: dict[str, Any] = {"known": known, "unknown": unknown, "outside": 20, "books": books}
        given = chance.sample(["MPESA_TZ", "TIGO_TZ", "AIRTEL_TZ"], 1 + seed % 2)
        codes |= agree(collections_of, service, came, given=given, **asked)
    assert codes == set(OPERATOR)


def followed(chance: Random, service: list[Row]) -> list[Row]:
    """Return lines that say what the service says, or nearly, and some that take them back."""
    came: list[Row] = []
    for row in service:
        line = {name: chance.choice(values) for name, values in MOVES.items()}
        same = {name: row[name] for name in ("reference", "channel", "currency")}
        apart = chance.choice([0, 0, 0, 1, row["fee"], -9])
        late = timedelta(days=chance.choice([0, 0, 1, 1, 2]))
        paid = {"amount": row["amount"] + apart, "at": row["created_at"] + late, "kind": "payment"}
        form = chance.choice(["none", "none", "named", "named", "nameless"])
        if form != "none":
            came.append({**line, **same, **paid, "collection_id": None, "status": "completed"})
            if form == "nameless":
                # Found by its amount and day alone.
                came[-1] |= {"reference": None, "receipt": chance.choice([None, "T8", "T9"])}
                came[-1] |= {"amount": row["amount"], "at": row["created_at"]}
                came[-1]["channel"] = chance.choice([row["channel"]] * 3 + ["AIRTEL_TZ"])
            payment = came[-1]
            if chance.random() < 0.2:
                # A second payment of the instant, or one of the same receipt on another channel.
                other = {"channel": "AIRTEL_TZ", "reference": None, "details": None}
                came.append({**payment, "balance": 900, **chance.choice([{}, other])})
            if chance.random() < 0.3:
                alone: Row = {"reference": None, "receipt": None, "details": None}
                key: Row = chance.choice(
                    [
                        {"details": f"Reversal of {payment['receipt']}"},
                        {**alone, "details": f"Reversal of {payment['receipt']}"},
                        {**alone, "collection_id": row["id"]},
                        {},
                    ]
                )
                kind = chance.choice(["reversal", "reversal", "refund"])
                taken = {**payment, "kind": kind, "turned": True, "balance": 1_500, **key}
                taken["status"] = chance.choice(["completed"] * 5 + ["failed"])
                came += [taken] * chance.choice([1, 1, 2])
            if chance.random() < 0.5:
                came += charges(chance, payment, row["fee"])
        elif chance.random() < 0.4:
            # Of a payment whose line is not there, once or twice.
            back = {**line, **same, "amount": row["amount"], "turned": True, "status": "completed"}
            back["kind"] = chance.choice(["reversal", "reversal", "refund", "chargeback"])
            names: Row = {"reference": None, "receipt": None, "details": None}
            names |= {"collection_id": None}
            known: list[Row] = [{"receipt": "T8"}, {"reference": "T1"}, {"details": "of T2"}]
            own = {"reference": row["reference"]}
            key_: Row = chance.choice([own, {"collection_id": row["id"]}, *known])
            times = chance.sample(moments, chance.choice([1, 1, 2]))
            came += [{**back, **names, **key_, "at": at} for at in times]
    if came and chance.random() < 0.5:
        account = [
            row for row in service
            if all(row[name] == came[0][name] for name in ("channel", "currency"))
        ]  # fmt: skip
        charged = sum(row["fee"] for row in account if row["status"] == "succeeded")
        named_by = {"reference": None, "receipt": None, "collection_id": None, "details": None}
        fees = {**came[0], **named_by, "kind": "fee", "amount": charged, "turned": True}
        came = [
            *(({**line, "fee": None} if chance.random() < 0.8 else line) for line in came),
            fees,
        ]
    return came


def given_back(chance: Random, service: list[Row]) -> Iterator[Row]:
    """Yield lines of the books that give payments back, some of them twice."""
    for row in service:
        kinds = chance.sample(["refund", "reversal", "credit_note"], chance.choice([0, 0, 1, 1, 2]))
        same = {name: row[name] for name in ("reference", "currency")}
        for kind in kinds:
            yield {**same, "kind": kind, "status": "paid", "amount": -row["amount"]}


def charges(chance: Random, payment: Row, fee: int) -> Iterator[Row]:
    """Yield the lines of a payment's fee, beside it: in one or more, given back, or of nothing."""
    forms = [[fee], [fee, 1], [0], [0, fee], [fee, -fee], [fee + 3, -3], [-fee], [fee, fee]]
    for amount in chance.choice(forms):
        line = {**payment, "kind": "fee", "amount": abs(amount), "turned": amount >= 0}
        line |= {"fee": None, "details": None, "balance": 1_700}
        yield line | {"status": chance.choice(["completed"] * 7 + ["failed"])}
    if chance.random() < 0.1:
        payment["status"] = "failed"


def named(world: str, row: Row) -> Row:
    """Return a row with the references, receipts, ids and currencies of its own small month."""
    found = dict(row)
    for name in ("reference", "receipt", "id", "collection_id"):
        found |= {name: f"{world}{row[name]}"} if row.get(name) is not None else {}
    if row.get("details"):
        found["details"] = re.sub("[Tt][0-9]", lambda text: f"{world}{text[0]}", row["details"])
    return found | ({"currency": f"{row['currency']}{world}"} if "currency" in row else {})


def agree(
    collections_of: Make,
    service: list[Row],
    came: list[Row],
    *,
    known: list[Row],
    unknown: list[str],
    outside: int,
    given: list[str],
    books: list[Row],
) -> set[str]:
    """Hold the leg to the rules; return the codes that came."""
    said = [
        {**row, "completed_at": None if row["status"] == "created" else row["created_at"]}
        for row in service
    ]
    lines = [
        {
            **{name: row[name] for name in row if name != "turned"},
            "line_no": number,
            "amount": row["amount"] * (-1) ** (row["kind"] in OUT and row["turned"]),
        }
        for number, row in enumerate(sorted(came, key=lambda m: str(m["input"])), start=1)
    ]
    frame = collections_of(*said).sample(frac=1, random_state=len(lines))
    moved = movements_of(*lines)
    intents = {
        "id": ["i"] * len(unknown),
        "reference": unknown,
        "amount": [1] * len(unknown),
        "sent_at": [START] * len(unknown),
    }
    found = operator.match(
        frame.iloc[outside:].reset_index(drop=True),
        moved.sample(frac=1, random_state=len(said)),
        outside=frame.iloc[:outside].reset_index(drop=True),
        period=WEEK,
        tolerance=TERMS,
        as_of=JUDGED,
        intents=columns.frame(INTENTS, intents),
        given=given,
        books=columns.frame(
            LEDGER,
            {
                **dict.fromkeys(LEDGER.columns, [None] * len(books)),
                **{name: [row[name] for row in books] for name in BOOKED},
                "row_no": list(range(len(books))),
            },
        ),
        receipts=columns.frame(
            RECEIPTS,
            {
                "collection_id": [row["collection_id"] for row in known],
                "receipt": [row["receipt"] for row in known],
                **{name: [None] * len(known) for name in ("channel", "input", "line_no")},
            },
        ),
    )
    columns.check(found.rows, OPERATOR_MATCHES)
    asked = ["line_no", "collection_id", "match_rule", "break_code", "fee_operator", "fee_service"]
    asked += ["counted_operator", "counted_service", "bridge_effect", "age_days", "group_key"]
    asked += ["channel", "currency", "reference", "amount_drift", "fee_drift", "at_stake"]
    kept = found.rows[asked].astype("object")
    seen = [
        tuple(None if pd.isna(value) else value for value in row)
        for row in kept.itertuples(index=False, name=None)
    ]
    rows, bridged, met_pairs = expected(
        said, lines, known=known, unknown=unknown, given=given, books=books
    )
    assert sorted(seen, key=repr) == rows
    assert sorted(bridge_rows(found.bridge), key=repr) == bridged
    numbered = {line["line_no"]: line for line in lines}
    told = columns.records(found.receipts)
    assert sorted(
        (int(r.line_no), r.collection_id, r.receipt, r.channel, r.input) for r in told
    ) == [
        (number, met, *(numbered[number][name] for name in ("receipt", "channel", "input")))
        for number, met in sorted(met_pairs)
        if numbered[number]["receipt"] is not None
    ]
    standings = {row[0]: OPERATOR[row[3]].standing.value for row in rows}
    assert place_rows(found.places) == places_of(lines, standings, WEEK)
    then = [("reference", last), ("collection_id", last), ("input", last), ("line_no", last)]
    check_order(found.rows, OPERATOR, ("age_days", oldest), *then)
    check_bridge_order(found.bridge, OPERATOR, "operator total", "service total")
    return {row[3] for row in rows}
