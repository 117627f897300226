"""The operator's leg against the same rules written as plain loops, and each fault by its name."""
# ruff: noqa: C901, PLR0911, PLR0912, PLR0915 - the rules stand here as plainly as they are stated

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.movements import movements_of

from kusanya.domain.business_day import EAT
from kusanya_books import columns
from kusanya_books.columns import (
    INTENTS,
    LEG_BRIDGE,
    OPERATOR_MATCHES,
    RECEIPTS,
)
from kusanya_books.match import operator
from kusanya_books.request.days import period
from kusanya_books.request.tolerance import Tolerance

WEEK = period("2026-03-02..2026-03-08")
TERMS = Tolerance(amount=1, grace_days=1)
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
Row = dict[str, Any]
Make = Callable[..., pd.DataFrame]

references = st.sampled_from(["A", "B", "C"])
moments = st.integers(0, 8 * 4).map(lambda n: START + timedelta(hours=6 * n))
services = st.lists(
    st.fixed_dictionaries(
        {
            "reference": references,
            "amount": st.sampled_from([100, 101, 200, 2**53 + 1]),
            "fee": st.sampled_from([0, 2]),
            "status": st.sampled_from(["succeeded"] * 3 + ["failed", "created"]),
            "channel": st.sampled_from(["MPESA_TZ", "MPESA_TZ", "TIGO_TZ"]),
            "currency": st.sampled_from(["TZS", "TZS", "KES"]),
            "created_at": moments,
        }
    ),
    max_size=6,
)
moves = st.lists(
    st.fixed_dictionaries(
        {
            "reference": st.sampled_from([None, "a ", "B", "C", "D", "T1"]),
            "collection_id": st.sampled_from([None, None, None, "col_1", "col_9"]),
            "receipt": st.sampled_from(["T1", "T2", "T3", None]),
            "amount": st.sampled_from([0, 100, 102, 200, 2**53 + 1]),
            "channel": st.sampled_from(["MPESA_TZ", "MPESA_TZ", "TIGO_TZ"]),
            "currency": st.sampled_from(["TZS", "TZS", "KES"]),
            "kind": st.sampled_from(
                ["payment"] * 6
                + [
                    "payout",
                    "fee",
                    "fee",
                    "fee",
                    "tax",
                    "refund",
                    "reversal",
                    "chargeback",
                    "charge",
                    "other",
                ]
            ),
            "status": st.sampled_from(["completed"] * 5 + ["failed"]),
            "at": moments,
        }
    ),
    max_size=7,
)


def day_of(at: datetime) -> date:
    return at.astimezone(EAT).date()


def key(text: str | None) -> str | None:
    return None if text is None else text.strip().lower()


def expected(
    service: list[Row], lines: list[Row], *, known: list[Row], unknown: list[str]
) -> list[tuple[Any, ...]]:
    paid = {s["id"]: s["status"] == "succeeded" for s in service}
    covered: dict[Any, list[date]] = defaultdict(list)
    for line in lines:
        covered[line["channel"], line["currency"]].append(day_of(line["at"]))
    by_id = {s["id"]: s for s in service}
    seen: set[Any] = set()
    copied: set[int] = set()
    for line in lines:
        says = tuple(
            line[name]
            for name in ("channel", "currency", "receipt", "kind", "status", "amount", "at")
        )
        if line["receipt"] and line["status"] == "completed":
            if says in seen:
                copied.add(line["line_no"])
            seen.add(says)
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
    ids = {row["receipt"].lower(): row["collection_id"] for row in known}
    options: list[tuple[Row, Row]] = []
    for m in came_left:
        target = by_id.get(ids.get(key(m["receipt"]), ""))
        if target is not None and target in said_left:
            options.append((m, target))
    for m, target in options:
        if target in said_left:
            meet(m, target, "receipt")
    days: dict[Any, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for m in came_left:
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
    backs = [
        line
        for line in lines
        if line["kind"] == "reversal"
        and line["status"] == "completed"
        and line["amount"] < 0
        and line["line_no"] not in copied
    ]
    backs.sort(key=lambda m: (m["at"], m["line_no"]))
    chosen: dict[int, Row] = {}
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
            )
        ]
        if fitting:
            chosen[back["line_no"]] = fitting[-1]
    # One payment is taken back once, by the first line that could.
    takers: dict[int, list[int]] = defaultdict(list)
    for back in backs:
        every = [m["line_no"] for m in came if m is chosen.get(back["line_no"])]
        for number in every:
            takers[number].append(back["line_no"])
    return _rows(
        service,
        lines,
        pairs,
        copied=copied,
        covered=covered,
        unknown=unknown,
        ids=ids,
        met_ids=met_ids,
        met_keys=met_keys,
        met_receipts=met_receipts,
        taken={back: m for m, found in takers.items() for back in found[:1]},
    )


def fees_of(
    lines: list[Row], met: dict[int, Row], copied: set[int]
) -> tuple[dict[int, int], dict[int, int]]:
    """Return the fee of each payment that has one, and by how much fees of many are too much."""
    done = [m for m in lines if m["status"] == "completed" and m["line_no"] not in copied]
    by_name: dict[Any, list[Row]] = defaultdict(list)
    for m in sorted(done, key=lambda m: (m["at"], m["line_no"])):
        by_name[m["channel"], m["currency"], key(m["receipt"])].append(m)
    own: dict[int, int] = {}
    loose: dict[Any, list[Row]] = defaultdict(list)
    for name, group in by_name.items():
        charged = [m for m in group if m["kind"] == "fee"]
        payments = [m for m in group if m["kind"] == "payment" and m["amount"] > 0]
        if name[2] is not None and charged and payments:
            own[payments[0]["line_no"]] = -sum(m["amount"] for m in charged)
        if name[2] is None or len(charged) == len(group):
            loose[name[:2]] += [m for m in charged if WEEK.first <= day_of(m["at"]) <= WEEK.last]
    many: dict[int, int] = {}
    for account, group in loose.items():
        due = sum(
            met[m["line_no"]]["fee"]
            for m in done
            if (m["channel"], m["currency"]) == account
            and m["line_no"] in met
            and m["line_no"] not in own
            and met[m["line_no"]]["status"] == "succeeded"
            and met[m["line_no"]]["currency"] == m["currency"]
            and WEEK.first <= day_of(m["at"]) <= WEEK.last
        )
        if group:
            first = min(m["line_no"] for m in group)
            many[first] = -sum(m["amount"] for m in group) - due
    return own, many


def _rows(
    service: list[Row],
    lines: list[Row],
    pairs: list[tuple[Row, Row, str]],
    *,
    copied: set[int],
    covered: dict[Any, list[date]],
    unknown: list[str],
    ids: dict[str, str],
    met_ids: set[str],
    met_keys: set[str | None],
    met_receipts: set[Any],
    taken: dict[int, int],
) -> list[tuple[Any, ...]]:
    met = {m["line_no"]: s for m, s, _ in pairs}
    own, many = fees_of(lines, met, copied)

    def verdict(m: Row | None, s: Row | None) -> str:
        paid = s is not None and s["status"] == "succeeded"
        if s is not None and s["completed_at"] is not None:
            day = day_of(s["completed_at"])
        else:
            assert m is not None
            day = day_of(m["at"])
        fresh = (WEEK.last - day).days <= TERMS.grace_days
        if m is not None:
            if m["status"] != "completed":
                return "operator_not_completed"
            if m["line_no"] in copied:
                return "operator_line_again"
            if m["amount"] == 0:
                return "operator_zero"
            names = {"fee": "fee", "charge": "fee", "tax": "tax", "payout": "payout"}
            names |= {"refund": "refund", "chargeback": "chargeback"}
            if m["kind"] == "fee" and many.get(m["line_no"]):
                return "operator_fees_differ"
            if m["kind"] in names:
                return f"operator_{names[m['kind']]}"
            if m["line_no"] in taken:
                back = met.get(taken[m["line_no"]])
                won = back is not None and back["status"] == "succeeded"
                return "operator_reversed" if won else "operator_reversed_unpaid"
            if m["line_no"] in taken.values():
                return "operator_reversed" if paid else "operator_reversed_unpaid"
            if m["kind"] == "reversal":
                return "operator_reversal_alone"
            if m["kind"] != "payment" or m["amount"] <= 0:
                return "operator_other"
        if s is None:
            assert m is not None
            if key(m["reference"]) in {key(name) for name in unknown}:
                return "operator_outcome_unknown"
            again = (
                m["collection_id"] in met_ids
                or (m["reference"] is not None and key(m["reference"]) in met_keys)
                or ids.get(key(m["receipt"]) or "", "") in met_ids
                or (key(m["receipt"]), m["channel"], m["amount"]) in met_receipts
            )
            if again:
                return "operator_duplicate"
            return "operator_not_seen_yet" if fresh else "operator_unknown_here"
        if m is None:
            if fresh:
                return "operator_pending"
            reach = covered[s["channel"], s["currency"]]
            return "operator_missing" if min(reach) <= day <= max(reach) else "operator_not_reached"
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
        if own.get(m["line_no"], s["fee"]) != s["fee"]:
            return "operator_fee_differs"
        both = {day_of(m["at"]), day}
        if any(not WEEK.first <= each <= WEEK.last for each in both):
            near = abs((day_of(m["at"]) - day).days) <= TERMS.grace_days
            return "operator_over_edge" if near else "operator_across_cutoff"
        if apart:
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
    rows = []
    for line_of, said_of, rule in alone:
        days = [day_of(line_of["at"])] if line_of else []
        if said_of and said_of["completed_at"]:
            days.append(day_of(said_of["completed_at"]))
        if any(WEEK.first <= day <= WEEK.last for day in days):
            number = line_of["line_no"] if line_of else None
            name = said_of["id"] if said_of else None
            rows.append((number, name, rule, verdict(line_of, said_of)))
    return sorted(rows, key=repr)


@pytest.mark.scale(10, 150, 1_000)
def test_every_line_gets_the_verdict_of_the_rules_and_the_bridge_closes(
    collections_of: Make, rounds: int
) -> None:
    @settings(max_examples=rounds, deadline=None, database=None)
    @given(services, moves, st.booleans(), st.lists(references, max_size=1), st.integers(0, 6))
    def holds(
        service: list[Row], came: list[Row], known: bool, unknown: list[str], outside: int
    ) -> None:
        said = [
            {
                **row,
                "id": f"col_{number}",
                "completed_at": None if row["status"] == "created" else row["created_at"],
            }
            for number, row in enumerate(service, start=1)
        ]
        out = {"payout", "fee", "tax", "refund", "reversal", "chargeback", "charge"}
        lines = [
            {**row, "line_no": number, "amount": row["amount"] * (-1) ** (row["kind"] in out)}
            for number, row in enumerate(came, start=1)
        ]
        receipts = [{"collection_id": "col_2", "receipt": "t2"}] if known else []
        frame = collections_of(*said).sample(frac=1, random_state=len(lines))
        moved = movements_of(*lines)
        sums = moved.loc[moved["status"] == "completed"]
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
            intents=columns.frame(INTENTS, intents),
            receipts=columns.frame(
                RECEIPTS,
                {
                    "collection_id": [row["collection_id"] for row in receipts],
                    "receipt": [row["receipt"] for row in receipts],
                    **{name: [None] * len(receipts) for name in ("channel", "input", "line_no")},
                },
            ),
        )
        columns.check(found.rows, OPERATOR_MATCHES)
        columns.check(found.bridge, LEG_BRIDGE)
        alone = found.rows["status_service"].isna()
        seen = [
            (
                None if pd.isna(row.line_no) else int(row.line_no),
                None if single else row.collection_id,
                None if pd.isna(row.match_rule) else row.match_rule,
                row.break_code,
            )
            for row, single in zip(columns.records(found.rows), alone, strict=True)
        ]
        assert sorted(seen, key=repr) == expected(said, lines, known=receipts, unknown=unknown)
        assert found.unexplained == 0
        totals = found.bridge[found.bridge["line"] == "operator total"]
        first, last = pd.Timestamp(WEEK.first), pd.Timestamp(WEEK.last)
        inside = sums[sums["business_day"].between(first, last)]
        assert sum(map(int, totals["amount"])) == sum(map(int, inside["amount"]))

    holds()
