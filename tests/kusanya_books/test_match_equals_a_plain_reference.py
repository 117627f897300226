"""The engine's verdicts against the same rules written as plain loops, on small hostile months."""
# ruff: noqa: C901, PLR0911, PLR0912, PLR0915 - the rules stand here as plainly as they are stated

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise, product
from random import Random
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kusanya_books.plain_hints import check_hints
from tests.kusanya_books.plain_legs import check_order, drawn, first, last, oldest
from tests.kusanya_books.plain_signed_lines import (
    MARCH,
    Judged,
    Row,
    cancelling,
    day_of,
    given_back,
    inside,
    spelling,
    within_what_was_paid,
)
from tests.kusanya_books.plain_tables import check_rows, check_sums, plain

from kusanya_books import columns
from kusanya_books.columns import INTENTS, KEYS, LEDGER, MATCHES
from kusanya_books.match import ledger
from kusanya_books.match.breaks import LEDGER as LEDGER_RULES
from kusanya_books.request.tolerance import Tolerance

TERMS = Tolerance(amount=1, fee=0, grace_days=1)
START = datetime(2026, 2, 28, 12, tzinfo=UTC)
Make = Callable[..., pd.DataFrame]

MOMENTS = [START + timedelta(minutes=30 * n) for n in range(40 * 48 + 1)]
EDGES = [datetime(2026, 3, 31, 21, tzinfo=UTC), datetime(2026, 3, 30, 9, tzinfo=UTC)]
AMOUNTS = [100, 98, 101, 200, 2**53 + 1]
SERVICES: dict[str, Sequence[Any]] = {
    "reference": ["A", "B", "C", "D"],
    "amount": AMOUNTS,
    "fee": [0, 2],
    "status": ["succeeded"] * 4 + ["failed", "expired", "created", "on_hold", "contradiction"],
    "contradictions": [0, 0, 0, 1],
    "currency": ["TZS", "TZS", "KES"],
    "created_at": [*MOMENTS, *EDGES * 900],
}
LINES: dict[str, Sequence[Any]] = {
    "reference": [None] * 5 + [*"ABCD"] * 3 + ["a ", "b", "C/D", "a, B", "A B;C"],
    "collection_id": [None, None, None, "col_1", "col_2", "col_9"],
    "amount": [*AMOUNTS, *AMOUNTS, 0],
    "fee": [None, 0, 2],
    "currency": ["TZS", "TZS", "KES"],
    "status": ["paid", "paid", "open", "not_paid"],
    "booked_at": [*MOMENTS, *EDGES * 900],
    "kind": ["payment"] * 5 + ["reversal"] * 2 + ["refund", "charge", "credit_note"],
    "turned": [True, True, True, False],
}


ALIKE: dict[str, Sequence[Any]] = {"reference": ["A", "B"], "amount": [100, 101], "fee": [0]}


def signed(line: Row) -> Row:
    """Return a line of the books; what is no payment is money out, as a rule."""
    is_out = line["turned"] and line["kind"] != "payment"
    kept = {name: value for name, value in line.items() if name != "turned"}
    return {**kept, "amount": -line["amount"]} if is_out else kept


def rows_of(fields: dict[str, Sequence[Any]]) -> st.SearchStrategy[list[Row]]:
    each = {name: st.sampled_from(list(values)) for name, values in fields.items()}
    return st.lists(st.fixed_dictionaries(each), max_size=7)


def expected(
    service: list[Row], books: list[Row], *, net: bool, other: list[str], unknown: list[str]
) -> list[tuple[Any, ...]]:
    due = {s["id"]: s["amount"] - (s["fee"] if net else 0) for s in service}
    paid = {s["id"]: s["status"] == "succeeded" for s in service}
    rank_s = {"succeeded": 0, "created": 1}
    rank_b = {"paid": 0, "open": 1, "not_paid": 2}
    by_id = {s["id"]: s for s in service}
    days = [day_of(b["booked_at"]) for b in books]
    books_from, books_to = min([MARCH.first, *days]), max([MARCH.last, *days])
    takings = [b for b in books if b["kind"] != "payment"]
    cancelled = cancelling(books, by_id, paid=paid)
    gone = {row for pair in cancelled for row in pair}
    every_line = books
    books = [b for b in books if b["kind"] == "payment" and b["row_no"] not in gone]
    has_paid = {s["reference"] for s in service if paid[s["id"]]}
    sorted_s = sorted(service, key=lambda s: (rank_s.get(s["status"], 2), s["created_at"], s["id"]))
    sorted_b = sorted(books, key=lambda b: (rank_b[b["status"]], b["booked_at"], b["row_no"]))

    pairs: list[tuple[Row, Row, str]] = []
    named = [b for b in sorted_b if b["collection_id"] in by_id]
    taken: set[str] = set()
    for line in named:
        if line["collection_id"] not in taken:
            taken.add(line["collection_id"])
            pairs.append((line, by_id[line["collection_id"]], "id"))
    free_b = [b for b in sorted_b if b not in named and b["reference"] is not None]
    free_s = [s for s in sorted_s if s["id"] not in taken]

    def meet(key_b: Callable[[Row], Any], key_s: Callable[[Row], Any], rule: str) -> None:
        groups: dict[Any, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
        for b in free_b:
            groups[key_b(b)][0].append(b)
        for s in free_s:
            groups[key_s(s)][1].append(s)
        for found_b, found_s in groups.values():
            for b, s in zip(found_b, found_s, strict=False):
                surplus = b["status"] == "paid" and not paid[s["id"]]
                if not (surplus and s["reference"] in has_paid):
                    pairs.append((b, s, rule))
                    free_b.remove(b)
                    free_s.remove(s)

    meet(
        lambda b: (b["reference"], b["currency"], b["amount"]),
        lambda s: (s["reference"], s["currency"], due[s["id"]]),
        "reference_amount",
    )
    meet(lambda b: b["reference"], lambda s: s["reference"], "reference")

    met_b = {b["row_no"] for b, _, _ in pairs}
    met_s = {s["id"] for _, s, _ in pairs}
    whole: list[tuple[Row | None, Row | None, str | None]] = [*pairs]
    whole += [(line, None, None) for line in books if line["row_no"] not in met_b]
    whole += [(None, paid_in, None) for paid_in in service if paid_in["id"] not in met_s]

    def verdict(b: Row | None, s: Row | None) -> str:
        booked = b is not None and b["status"] == "paid"
        came = s is not None and paid[s["id"]]
        if s is not None:
            day = day_of(s["completed_at"] or s["created_at"])
        else:
            assert b is not None
            day = day_of(b["booked_at"])
        if s is not None and s["completed_at"] is None and b is not None:
            day = day_of(b["booked_at"])
        fresh = (MARCH.last - day).days <= TERMS.grace_days
        if s is None and booked:
            assert b is not None
            for other_b, other_s, _ in pairs:
                same = b["reference"] is not None and all(
                    other_b[name] == b[name] for name in ("reference", "currency", "amount")
                )
                if same or other_s["id"] == b["collection_id"]:
                    return "duplicate_in_ledger"
        if s is not None and (s["contradictions"] or s["status"] == "contradiction"):
            return "contradiction"
        if s is not None and s["status"] not in {"created", "succeeded", "failed", "expired"}:
            return "unknown_status"
        if b is None and came:
            assert s is not None
            for rival in service:
                if rival["reference"] != s["reference"] or rival is s or not paid[rival["id"]]:
                    continue
                before = (rival["created_at"], rival["id"]) < (s["created_at"], s["id"])
                if rival["id"] in met_s or before:
                    return "double_payment"
        if s is None:
            assert b is not None
            here = {x["reference"] for x in service}
            if b["reference"] in other and b["reference"] not in here:
                return "mode_mismatch"
            if b["reference"] in unknown:
                return "outcome_unknown"
            if booked and b["amount"] == 0:
                return "books_zero"
            if booked:
                return "timing_unseen" if fresh else "missing_at_provider"
            return "not_billable"
        if came and (b is None or b["status"] == "open") and fresh:
            return "timing_unbooked"
        if came and b is None:
            # A line for it may lie before the first one that was given.
            since = day_of(s["created_at"]) - timedelta(days=TERMS.grace_days)
            if since < books_from:
                return "perhaps_booked_earlier"
            # Or after the last one.
            until = day_of(s["completed_at"]) + timedelta(days=TERMS.grace_days)
            return "perhaps_booked_later" if until > books_to else "missing_in_ledger"
        if came and not booked:
            return "late_success"
        if booked and s["status"] == "created":
            return "still_open"
        if booked and not came:
            return "status_mismatch"
        if not booked and not came:
            return "not_billable"
        assert b is not None
        if b["currency"] != s["currency"]:
            return "currency_mismatch"
        if not net and s["fee"] and b["amount"] == s["amount"] - s["fee"]:
            return "booked_net"
        if abs(b["amount"] - due[s["id"]]) > TERMS.amount:
            return "amount_mismatch"
        if b["fee"] is not None and abs(b["fee"] - s["fee"]) > TERMS.fee:
            return "fee_mismatch"
        if day_of(b["booked_at"]) != day_of(s["completed_at"]):
            late = (day_of(b["booked_at"]) - day_of(s["completed_at"])).days
            if not (inside(b["booked_at"]) and inside(s["completed_at"])):
                if 1 <= late <= TERMS.grace_days:
                    return "booked_over_edge"
                if 1 <= -late <= TERMS.grace_days:
                    return "paid_over_edge"
            for who, when in (("paid", s["completed_at"]), ("booked", b["booked_at"])):
                if day_of(when) < MARCH.first:
                    return f"{who}_in_earlier_period"
                if day_of(when) > MARCH.last:
                    return f"{who}_in_later_period"
        if b["amount"] != due[s["id"]] or b["fee"] not in {None, s["fee"]}:
            return "within_tolerance"
        return "matched" if day_of(b["booked_at"]) == day_of(s["completed_at"]) else "timing"

    judged: list[Judged] = [(b, s, rule, verdict(b, s)) for b, s, rule in whole]
    met_by_spelling = spelled(judged, paid, due)
    spelled_now = [id(one) for b, s in met_by_spelling for one in (b, s)]
    judged = [
        row for row in judged if id(row[0]) not in spelled_now and id(row[1]) not in spelled_now
    ]
    for of_books, of_service in met_by_spelling:
        code = verdict(of_books, of_service)
        judged.append(
            (of_books, of_service, "spelling", "reference_differs" if code == "matched" else code)
        )
    twins = repeated(judged, books, service, paid=paid, met_by_spelling=met_by_spelling)
    judged = [
        (b, s, rule, "duplicate_in_ledger" if s is None and b and b["row_no"] in twins else code)
        for b, s, rule, code in judged
    ]
    single = [b for b in takings if b["status"] == "paid" and b["row_no"] not in gone]
    repaid, turned = given_back(single, judged, by_id, paid=paid, due=due)
    covered = within_what_was_paid(
        [b for b in single if b["row_no"] not in turned], service, books, by_id, paid=paid, due=due
    )
    back = {*repaid.values(), *turned.values()}
    left = [b for b in single if b["row_no"] not in {*repaid, *turned}]
    corrections = corrected(left, judged, by_id, due=due)
    groups = grouped(judged, paid=paid, due=due, net=net, back=back, corrections=corrections)
    members = [
        id(one) for _, group_lines, group_paid in groups for one in (*group_lines, *group_paid)
    ]
    judged = [row for row in judged if id(row[0]) not in members and id(row[1]) not in members]
    result: list[tuple[Any, ...]] = []
    for form, group_lines, group_paid in groups:
        booked_on = sorted(day_of(b["booked_at"]) for b in group_lines)
        paid_on = sorted(day_of(s["completed_at"]) for s in group_paid)
        if any(days[0] <= MARCH.last and days[-1] >= MARCH.first for days in (booked_on, paid_on)):
            code = form
            if form != "booked_by_day_net":
                days = [*booked_on, *paid_on]
                apart = sum(b["amount"] for b in group_lines) - sum(
                    due[s["id"]] for s in group_paid
                )
                crosses = min(days) < MARCH.first or max(days) > MARCH.last
                crosses = crosses and (max(days) - min(days)).days == TERMS.grace_days
                edges = {
                    "booked_over_edge": crosses and paid_on[-1] <= booked_on[0],
                    "paid_over_edge": crosses and booked_on[-1] <= paid_on[0],
                    "paid_in_earlier_period": paid_on[0] < MARCH.first,
                    "paid_in_later_period": paid_on[-1] > MARCH.last,
                    "booked_in_earlier_period": booked_on[0] < MARCH.first,
                    "booked_in_later_period": booked_on[-1] > MARCH.last,
                    "within_tolerance": apart != 0,
                    "timing": len({*booked_on, *paid_on}) > 1,
                }
                code = next((name for name, is_so in edges.items() if is_so), form)
            result += [(b["row_no"], None, form, code) for b in group_lines]
            result += [(None, s["id"], form, code) for s in group_paid]
    by_row = {own["row_no"]: own for own in every_line}
    for own in every_line:
        mates = [row for pair in cancelled if own["row_no"] in pair for row in pair]
        if not inside(own["booked_at"]) or (own["kind"] == "payment" and not mates):
            continue
        if own["row_no"] in turned or id(own) in members:
            continue
        if own["status"] != "paid":
            code = "not_billable"
        elif mates:
            both = all(inside(by_row[row]["booked_at"]) for row in mates)
            code = "reversed_pair" if both else "reversal"
        elif own["row_no"] in repaid:
            code = "refunded"
        elif own["amount"] == 0:
            code = "books_zero"
        elif own["kind"] == "charge":
            code = "bank_charges" if own["amount"] < 0 else "reversal_alone"
        elif own["row_no"] in covered:
            code = own["kind"]
        else:
            code = "reversal_alone" if own["kind"] == "reversal" else "refund_alone"
        result.append((own["row_no"], None, None, code))
    result += [(row, id_, "reference", "booked_negative") for row, id_ in turned.items()]
    for line_of, said_of, rule, judgement in judged:
        b, s = line_of, said_of
        if b is None and s is not None and s["id"] in turned.values():
            continue
        code = "refunded" if s is not None and s["id"] in repaid.values() else judgement
        days = [day_of(b["booked_at"])] if b else []
        days += [day_of(s["completed_at"] or s["created_at"])] if s else []
        if any(MARCH.first <= day <= MARCH.last for day in days):
            row = b["row_no"] if b else None
            result.append((row, s["id"] if s else None, rule, code))
    return sorted(result, key=repr)


Group = tuple[str, list[Row], list[Row]]


def spelled(
    judged: list[Judged], paid: dict[str, bool], due: dict[str, int]
) -> list[tuple[Row, Row]]:
    """Return what stands alone on both sides under one reference in two spellings.

    Of lines that say the same, the first one is the payment's. One that names a collection by its
    id is of no other.
    """
    lines: dict[Any, list[Row]] = defaultdict(list)
    said: dict[Any, list[Row]] = defaultdict(list)
    ids = {s["id"] for _, s, _, _ in judged if s is not None}
    for b, s, _, code in judged:
        if b is not None and b["collection_id"] in ids:
            continue
        if s is None and b is not None and b["reference"] is not None:
            counts = b["status"] == "paid" or inside(b["booked_at"])
            if code != "duplicate_in_ledger" and counts:
                lines[spelling(b["reference"])].append(b)
        if (
            b is None
            and s is not None
            and (paid[s["id"]] or inside(s["completed_at"] or s["created_at"]))
        ):
            said[spelling(s["reference"])].append(s)
    pairs = []
    for text, found in lines.items():
        won = [s for s in said[text] if paid[s["id"]]]
        one = won if len(won) == 1 else said[text]
        if len(one) != 1:
            continue
        first = min(found, key=lambda b: (b["booked_at"], b["row_no"]))
        says = {(b["currency"], b["amount"], b["status"] == "paid") for b in found}
        same = says == {(one[0]["currency"], due[one[0]["id"]], True)} and paid[one[0]["id"]]
        if len(found) == 1 or same:
            pairs.append((first, one[0]))
    return pairs


def repeated(
    judged: list[Judged],
    books: list[Row],
    service: list[Row],
    *,
    paid: dict[str, bool],
    met_by_spelling: list[tuple[Row, Row]],
) -> set[int]:
    """Return the lines that repeat, in another spelling, a line that met a collection."""
    keys = {s["id"]: s["reference"] for s in service}
    met_rows = {b["row_no"] for b, _ in met_by_spelling}
    left = {
        spelling(s["reference"])
        for b, s, _, _ in judged
        if b is None and s is not None and paid[s["id"]]
    }
    found = set()
    for b, s, _, code in judged:
        if s is not None or b is None or b["status"] != "paid" or b["reference"] is None:
            continue
        if code == "duplicate_in_ledger" or spelling(b["reference"]) in left:
            continue
        for mate in books:
            key = keys.get(mate["collection_id"], mate["reference"])
            met = key in keys.values() or mate["row_no"] in met_rows
            same = mate["row_no"] != b["row_no"] and mate["status"] == "paid" and met
            says = all(mate[name] == b[name] for name in ("currency", "amount"))
            if same and says and spelling(mate["reference"]) == spelling(b["reference"]):
                found.add(b["row_no"])
    return found


def corrected(
    single: list[Row], judged: list[Judged], by_id: dict[str, Row], *, due: dict[str, int]
) -> list[Row]:
    """Return the reversals of what was booked too much for a payment, each for one of them."""
    booked_over: Counter[Any] = Counter()
    for b, s, _, code in judged:
        if b is not None and s is not None and code == "amount_mismatch":
            booked_over[spelling(s["reference"]), b["currency"], due[s["id"]] - b["amount"]] += 1
    found = []
    for line in sorted(single, key=lambda b: (b["booked_at"], b["row_no"])):
        named_by_id = by_id.get(line["collection_id"])
        text = line["reference"] if named_by_id is None else named_by_id["reference"]
        if line["kind"] != "reversal" or text is None:
            continue
        of = (spelling(text), line["currency"], line["amount"])
        if line["amount"] < 0 < booked_over[of]:
            booked_over[of] -= 1
            found.append(line)
    return found


def grouped(
    judged: list[Judged],
    *,
    paid: dict[str, bool],
    due: dict[str, int],
    net: bool,
    back: set[str],
    corrections: list[Row],
) -> list[Group]:
    """Return the bookings of several: form, lines and payments of each."""
    lines = [
        (b, s is None)
        for b, s, _, code in judged
        if b is not None and b["status"] == "paid" and (s is None or code == "amount_mismatch")
    ]
    lines += [(b, False) for b in corrections]
    said = [
        (s, b is None)
        for b, s, _, code in judged
        if s is not None
        and paid[s["id"]]
        and not s["contradictions"]
        and s["id"] not in back
        and (b is None or code == "amount_mismatch")
    ]
    keys = {s["id"]: s["reference"] for _, s, _, _ in judged if s is not None}

    def fits(amounts: list[Row], payments: list[Row]) -> bool:
        fees = [b["fee"] for b in amounts]
        apart = sum(b["amount"] for b in amounts) - sum(due[s["id"]] for s in payments)
        charged = 0 if None in fees else sum(fees) - sum(s["fee"] for s in payments)
        return bool(abs(apart) <= TERMS.amount and abs(charged) <= TERMS.fee)

    found: list[Group] = []
    mine: dict[Any, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for b, _ in lines:
        text = keys.get(b["collection_id"], b["reference"])
        mine[spelling(text), b["currency"]][0].append(b)
    for s, _ in said:
        mine[spelling(s["reference"]), s["currency"]][1].append(s)
    for key, (bs, ss) in mine.items():
        if key[0] is not None and (len(bs) == 1) != (len(ss) == 1) and bs and ss and fits(bs, ss):
            form = "split_booking" if len(ss) == 1 else "booked_together"
            if min(len(bs), len(ss)) == 1:
                found.append((form, bs, ss))
    used = {id(one) for _, bs, ss in found for one in (*bs, *ss)}
    lines = [(b, alone) for b, alone in lines if id(b) not in used]
    free = [s for s, alone in said if alone and id(s) not in used]

    chosen: list[tuple[Row, set[str]]] = []
    for b, alone in lines:
        if not alone or b["reference"] is None or not re.search(r"[,;/ +]", b["reference"].strip()):
            continue
        if (spelling(keys.get(b["collection_id"], b["reference"])), b["currency"]) in {
            (spelling(s["reference"]), s["currency"]) for _, _, ss in found for s in ss
        }:
            continue
        for parts in (r"[,;+]+", r"[/ ]+", r"[,;/ +]+"):
            names = {part.strip() for part in re.split(parts, b["reference"].lower())} - {""}
            own = [
                s
                for s in free
                if spelling(s["reference"]) in names and s["currency"] == b["currency"]
            ]
            known = {spelling(s["reference"]) for s in own}
            if len(names) > 1 and known == names and fits([b], own):
                chosen.append((b, names))
                break
    chosen.sort(key=lambda one: (one[0]["booked_at"], one[0]["row_no"]))
    claimed: set[Any] = set()
    taken_now: list[Group] = []
    for b, names in chosen:
        wants = {(name, b["currency"]) for name in names}
        if not wants & claimed:
            own = [s for s in free if (spelling(s["reference"]), s["currency"]) in wants]
            taken_now.append(("booked_together", [b], own))
        claimed |= wants
    found += taken_now
    used = {id(one) for _, bs, ss in taken_now for one in (*bs, *ss)}
    free = [s for s in free if id(s) not in used]

    firsts: dict[Any, list[tuple[Row, bool]]] = defaultdict(list)
    for b, alone in lines:
        if not alone or b["reference"] is not None:
            continue
        for late in range(TERMS.grace_days + 1):
            day = day_of(b["booked_at"]) - timedelta(days=late)
            own = [
                s
                for s in free
                if s["currency"] == b["currency"] and day_of(s["completed_at"]) == day
            ]
            after_fees = {"amount": b["amount"] + sum(s["fee"] for s in own)}
            if own and (fits([b], own) or (not net and fits([{**b, **after_fees}], own))):
                firsts[b["currency"], day].append((b, not fits([b], own)))
                break
    for (currency, day), claims in firsts.items():
        b, is_net = min(claims, key=lambda one: (one[0]["booked_at"], one[0]["row_no"]))
        own = [s for s in free if s["currency"] == currency and day_of(s["completed_at"]) == day]
        found.append(("booked_by_day_net" if is_net else "booked_by_day", [b], own))
    return found


@pytest.mark.scale(6, 150, 1_000)
def test_every_row_gets_the_verdict_of_the_rules_and_the_bridge_closes(
    collections_of: Make, rounds: int
) -> None:
    @settings(max_examples=rounds, deadline=None, database=None)
    @given(
        rows_of(SERVICES),
        rows_of(LINES),
        st.booleans(),
        st.tuples(*[st.lists(st.sampled_from("ABCD"), max_size=1)] * 2),
        st.integers(0, 7),
    )
    def holds(
        service: list[Row],
        books: list[Row],
        net: bool,
        elsewhere: tuple[list[str], list[str]],
        outside: int,
    ) -> None:
        other, unknown = elsewhere
        said = [{**row, "id": f"col_{number}"} for number, row in enumerate(service, start=1)]
        lines = [signed(line) for line in books]
        agree(collections_of, said, lines, net=net, other=other, unknown=unknown, outside=outside)

    holds()


def test_what_came_to_nothing_meets_a_line_in_another_spelling(collections_of: Make) -> None:
    plain: Row = {"fee": 0, "currency": "TZS", "contradictions": 0, "created_at": MOMENTS[0]}
    line: Row = {"collection_id": None, "fee": None, "currency": "TZS", "booked_at": MOMENTS[0]}
    besides: list[list[tuple[str, int, str]]] = [
        [],
        [("A", -101, "refund")],
        [("C/A", 199, "payment")],
    ]
    cases = product(
        ["expired", "failed", "created", "succeeded"], besides, ["paid", "not_paid", "open"]
    )
    service: list[Row] = []
    books: list[Row] = []
    for number, (said, beside, status) in enumerate(cases):
        own = partial(named, f"{number:02}")
        made = [
            {**plain, "id": "col_1", "reference": "A", "amount": 101, "status": said},
            {**plain, "id": "col_2", "reference": "C", "amount": 98, "status": "succeeded"},
        ]
        lines = [
            {**line, "reference": reference, "amount": amount, "kind": kind, "status": "paid"}
            for reference, amount, kind in beside
        ]
        again = {**line, "reference": "a ", "amount": 101, "kind": "payment", "status": status}
        service += map(own, made)
        books += map(own, [*lines, again])
    agree(collections_of, service, books, net=False, other=[], unknown=[], outside=0)


@pytest.mark.scale(2, 4, 40)
def test_many_small_months_in_one_get_the_verdicts_of_each(
    collections_of: Make, rounds: int
) -> None:
    for seed in range(rounds):
        chance = Random(f"books {seed}")  # noqa: S311 - a repeatable choice
        service: list[Row] = []
        books: list[Row] = []
        elsewhere: tuple[list[str], list[str]] = ([], [])
        net = seed % 2 == 1
        for number in range(120):
            own = partial(named, f"{number:03}")
            # In some months much is alike: then the order within what is alike decides.
            alike = ALIKE if number % 5 == 0 else {}
            made = [
                {**row, "id": f"col_{place}"}
                for place, row in enumerate(drawn(chance, SERVICES | alike, 6), start=1)
            ]
            loose = drawn(chance, LINES | alike, 5)
            at_once(chance, made, "created_at")
            at_once(chance, loose, "booked_at")
            if number % 2:
                # References of their own, as most are: what meets so goes a way of its own.
                made = [
                    {**row, "reference": text} for row, text in zip(made, "ABCDEF", strict=False)
                ]
                texts = chance.sample("ABCDEF", len(loose))
                loose = [{**row, "reference": text} for row, text in zip(loose, texts, strict=True)]
            if number % 6 == 5:
                made = [{**row, "status": "succeeded"} for row in made]
                lines = misnamed(chance, made, net=net)
            elif number % 6 == 1:
                lines = respelled(chance, made, net=net)
            else:
                lines = [*loose, *(followed(chance, made, net=net) if number % 4 < 3 else ())]
            service += map(own, made)
            books += map(own, map(signed, lines))
            for names in elsewhere:
                names += [f"{number:03}{text}" for text in "ABCD" if chance.random() < 0.1]
        other, unknown = elsewhere
        agree(collections_of, service, books, net=net, other=other, unknown=unknown, outside=30)


def at_once(chance: Random, rows: list[Row], at: str) -> None:
    """Let some rows be of the instant of the row before: then their numbers decide."""
    for before, row in pairwise(rows):
        if chance.random() < 0.3:
            row[at] = before[at]


def followed(chance: Random, service: list[Row], *, net: bool) -> list[Row]:
    """Return lines that book what the service says, or nearly, in parts, together or by the day."""
    booked: list[Row] = []
    for row in service:
        line = {name: chance.choice(values) for name, values in LINES.items()}
        due = row["amount"] - (row["fee"] if net else 0)
        line |= {name: row[name] for name in ("reference", "currency")}
        late = timedelta(days=chance.choice([0, 0, 0, 1, 2, -1]))
        line |= {"kind": "payment", "status": "paid", "booked_at": row["created_at"] + late}
        line |= {"collection_id": None, "amount": due + chance.choice([0, 0, 0, 1, -2, 9])}
        form = chance.choice(
            ["none", "one", "one", "parts", "alone", "back", "turned", "named", "corrected"]
        )
        if form == "parts":
            half = due // 2
            booked += [{**line, "amount": half, "fee": None}, {**line, "amount": due - half}]
        elif form in {"one", "back", "turned", "alone", "named"}:
            back = chance.choice(["reversal", "reversal", "refund", "credit_note"])
            own = {"reference": None} if form in {"alone", "named"} else {}
            own |= {"collection_id": row["id"]} if form == "named" else {}
            booked += [{**line, **own}] if form != "turned" else []
            booked += [{**line, "kind": back, "turned": True}] if form in {"back", "turned"} else []
        elif form == "corrected":
            wrong = chance.choice([1, 9, 900])
            booked += [{**line, "amount": due + wrong, "fee": None}]
            booked += [{**line, "kind": "reversal", "amount": wrong, "fee": None, "turned": True}]
    if len(service) > 1 and chance.random() < 0.5:
        pair = chance.sample(service, 2)
        line = {name: chance.choice(values) for name, values in LINES.items()}
        dues = sum(row["amount"] - (row["fee"] if net else 0) for row in pair)
        joined = chance.choice(["/", ", ", ";"]).join(row["reference"] for row in pair)
        line |= {"reference": joined, "amount": dues, "kind": "payment", "status": "paid"}
        booked.append(line | {"collection_id": None, "currency": pair[0]["currency"]})
    return booked


def misnamed(chance: Random, service: list[Row], *, net: bool) -> list[Row]:
    """Return lines of the right amount under a name that no payment has, or that of another."""
    names = [row["reference"] for row in service]
    for pair in zip(range(0, len(names), 2), range(1, len(names), 2), strict=False):
        if chance.random() < 0.5:
            first, second = pair
            names[first], names[second] = names[second], names[first]
        else:
            names[pair[0]] += "A"
    booked: list[Row] = []
    for row, name in zip(service, names, strict=True):
        line = {name: chance.choice(values) for name, values in LINES.items()}
        line |= {"kind": "payment", "status": "paid", "collection_id": None, "reference": name}
        line |= {"currency": row["currency"], "amount": row["amount"] - (row["fee"] if net else 0)}
        # At its moment, some minutes off, or on its day.
        apart = timedelta(minutes=chance.choice([0, 10, -10, 11, 60, 180, 1440]))
        booked.append({**line, "booked_at": row["created_at"] + apart})
    return booked


def respelled(chance: Random, service: list[Row], *, net: bool) -> list[Row]:
    """Return lines that write a reference in another way, once or more often, alike or nearly."""
    booked: list[Row] = []
    for row in service:
        due = row["amount"] - (row["fee"] if net else 0)
        is_alike = chance.random() < 0.5
        for _ in range(chance.choice([1, 1, 2, 2, 3])):
            line = {name: chance.choice(values) for name, values in LINES.items()}
            text = chance.choice([f" {row['reference']}", f"{row['reference'].lower()} "])
            line |= {"kind": "payment", "collection_id": None, "reference": text, "fee": None}
            line |= {"status": chance.choice(["paid", "paid", "paid", "open"])}
            line |= {"amount": due + chance.choice([0, 0, 1, 5])}
            if is_alike:
                line |= {"status": "paid", "amount": due, "currency": row["currency"]}
            late = timedelta(days=chance.choice([0, 0, 1, -1]))
            booked.append({**line, "booked_at": row["created_at"] + late})
    return booked


def named(world: str, row: Row) -> Row:
    """Return a row with the references, ids and currency of its own small month."""
    found = {**row, "currency": f"{row['currency']}{world}"}
    for name in ("id", "collection_id"):
        found |= {name: f"{world}{row[name]}"} if row.get(name) is not None else {}
    if row["reference"] is not None:
        found["reference"] = re.sub("[A-Fa-f]", lambda text: f"{world}{text[0]}", row["reference"])
    return found


def agree(
    collections_of: Make,
    service: list[Row],
    books: list[Row],
    *,
    net: bool,
    other: list[str],
    unknown: list[str],
    outside: int,
) -> None:
    open_ones = {"created", "on_hold"}
    said = [
        {**row, "completed_at": None if row["status"] in open_ones else row["created_at"]}
        for row in service
    ]
    booked = [{**row, "row_no": number} for number, row in enumerate(books, start=1)]
    frame = collections_of(*said)
    book = columns.frame(
        LEDGER,
        {
            **{
                name: [b[name] for b in booked]
                for name in ("row_no", "reference", "collection_id", "kind")
            },
            **{name: [b[name] for b in booked] for name in ("amount", "fee", "currency", "status")},
            # A line that names its order has its channel for people alone.
            "channel": [b["reference"] and "AIRTEL_TZ" for b in booked],
            "booked_at": [b["booked_at"] for b in booked],
            "booked_day": [pd.Timestamp(day_of(b["booked_at"])) for b in booked],
        },
    )
    asked: dict[str, Any] = {
        "period": MARCH,
        "tolerance": TERMS,
        "basis": "net" if net else "gross",
    }
    intents = {
        "id": ["i"] * len(unknown),
        "reference": unknown,
        "amount": [1] * len(unknown),
        "sent_at": [START] * len(unknown),
    }
    # The order of the inputs means nothing.
    shuffled = (
        frame.sample(frac=1, random_state=len(booked)),
        book.sample(frac=1, random_state=len(said)),
    )
    # Nor does it matter which collections were looked up one by one.
    asked["beside"] = ledger.Beside(
        outside=shuffled[0].iloc[:outside].reset_index(drop=True),
        other_mode=columns.frame(KEYS, {"id": ["x"] * len(other), "reference": other}),
        intents=columns.frame(INTENTS, intents),
    )
    shuffled = (shuffled[0].iloc[outside:].reset_index(drop=True), shuffled[1])
    found = ledger.match(*shuffled, **asked, pairs=True)
    columns.check(found.rows, MATCHES)
    check_rows(plain(found.rows), frame, book, period=MARCH, as_of=MARCH.last, net=net)
    check_sums(found, book, period=MARCH)
    check_hints(found.rows, said, booked, net=net)
    left = found.rows[["row_no", "collection_id", "match_rule", "break_code"]].astype("object")
    rows = [
        tuple(None if pd.isna(value) else value for value in row)
        for row in left.itertuples(index=False)
    ]
    # A line that stayed alone shows the id it named; the rules speak of the collection it met.
    alone = found.rows["status_service"].isna().tolist()
    seen = [
        (row, None if single else name, rule, code)
        for (row, name, rule, code), single in zip(rows, alone, strict=True)
    ]
    wanted = expected(said, booked, net=net, other=other, unknown=unknown)
    assert sorted(seen, key=repr) == wanted
    assert found.unexplained == 0
    then = [("age_days", oldest), ("group_key", first), ("reference", last)]
    check_order(found.rows, LEDGER_RULES, *then, ("collection_id", last), ("row_no", last))
    # Nor does it matter what is only counted.
    counted = ledger.match(*shuffled, **asked, everything=False, pairs=True)
    read = found.rows[found.rows["standing"] != "ok"].reset_index(drop=True)
    pd.testing.assert_frame_equal(counted.rows, read)
    for name in ("bridge", "ageing", "doubles", "places", "pairs"):
        pd.testing.assert_frame_equal(getattr(counted, name), getattr(found, name))
