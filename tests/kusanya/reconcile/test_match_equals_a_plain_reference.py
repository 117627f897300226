"""The engine's verdicts against the same rules written as plain loops, on small hostile months."""
# ruff: noqa: C901, PLR0911, PLR0912, PLR0915 - the rules stand here as plainly as they are stated

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kusanya.business_day import EAT
from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import INTENTS, KEYS, LEDGER, MATCHES
from kusanya.reconcile.frames.days import period
from kusanya.reconcile.frames.tolerance import Tolerance
from kusanya.reconcile.matching import ledger

MARCH = period("2026-03")
TERMS = Tolerance(amount=1, fee=0, grace_days=1)
START = datetime(2026, 2, 28, 12, tzinfo=UTC)
Row = dict[str, Any]
Make = Callable[..., pd.DataFrame]

references = st.sampled_from(["A", "B", "C", "D"])
maybe_reference = st.one_of(st.none(), references)
amounts = st.sampled_from([100, 98, 101, 200, 2**53 + 1])
moments = st.one_of(
    st.integers(0, 40 * 48).map(lambda half_hours: START + timedelta(minutes=30 * half_hours)),
    st.sampled_from([datetime(2026, 3, 31, 21, tzinfo=UTC), datetime(2026, 3, 30, 9, tzinfo=UTC)]),
)
services = st.lists(
    st.fixed_dictionaries(
        {
            "reference": references,
            "amount": amounts,
            "fee": st.sampled_from([0, 2]),
            "status": st.sampled_from(
                ["succeeded"] * 4 + ["failed", "expired", "created", "on_hold", "contradiction"]
            ),
            "contradictions": st.sampled_from([0, 0, 0, 1]),
            "currency": st.sampled_from(["TZS", "TZS", "KES"]),
            "created_at": moments,
        }
    ),
    max_size=7,
)
lines = st.lists(
    st.fixed_dictionaries(
        {
            "reference": maybe_reference,
            "collection_id": st.sampled_from([None, None, None, "col_1", "col_2", "col_9"]),
            "amount": amounts,
            "fee": st.sampled_from([None, 0, 2]),
            "currency": st.sampled_from(["TZS", "TZS", "KES"]),
            "status": st.sampled_from(["paid", "paid", "open", "not_paid"]),
            "booked_at": moments,
        }
    ),
    max_size=7,
)


def day_of(at: datetime) -> date:
    return at.astimezone(EAT).date()


def expected(
    service: list[Row], books: list[Row], *, net: bool, other: list[str], unknown: list[str]
) -> list[tuple[Any, ...]]:
    due = {s["id"]: s["amount"] - (s["fee"] if net else 0) for s in service}
    paid = {s["id"]: s["status"] == "succeeded" for s in service}
    rank_s = {"succeeded": 0, "created": 1}
    rank_b = {"paid": 0, "open": 1, "not_paid": 2}
    by_id = {s["id"]: s for s in service}
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

    books_from = min([MARCH.first, *(day_of(b["booked_at"]) for b in books)])
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
            if booked:
                return "timing_unseen" if fresh else "missing_at_provider"
            return "not_billable"
        if came and (b is None or b["status"] == "open") and fresh:
            return "timing_unbooked"
        if came and b is None:
            # A line for it may lie before the first one that was given.
            since = day_of(s["created_at"]) - timedelta(days=TERMS.grace_days)
            return "perhaps_booked_earlier" if since < books_from else "missing_in_ledger"
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
            for who, when in (("paid", s["completed_at"]), ("booked", b["booked_at"])):
                if day_of(when) < MARCH.first:
                    return f"{who}_in_earlier_period"
                if day_of(when) > MARCH.last:
                    return f"{who}_in_later_period"
            return "timing"
        return "matched"

    result = []
    for line_of, said_of, rule in whole:
        b, s = line_of, said_of
        days = [day_of(b["booked_at"])] if b else []
        days += [day_of(s["completed_at"] or s["created_at"])] if s else []
        if any(MARCH.first <= day <= MARCH.last for day in days):
            row = b["row_no"] if b else None
            result.append((row, s["id"] if s else None, rule, verdict(b, s)))
    return sorted(result, key=repr)


@pytest.mark.scale(6, 150, 1_000)
def test_every_row_gets_the_verdict_of_the_rules_and_the_bridge_closes(
    collections_of: Make, rounds: int
) -> None:
    @settings(max_examples=rounds, deadline=None, database=None)
    @given(
        services,
        lines,
        st.booleans(),
        st.tuples(st.lists(references, max_size=1), st.lists(references, max_size=1)),
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
        agree(
            collections_of, service, books, net=net, other=other, unknown=unknown, outside=outside
        )

    holds()


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
        {
            **row,
            "id": f"col_{number}",
            "completed_at": None if row["status"] in open_ones else row["created_at"],
        }
        for number, row in enumerate(service, start=1)
    ]
    booked = [{**row, "row_no": number} for number, row in enumerate(books, start=1)]
    frame = collections_of(*said)
    book = columns.frame(
        LEDGER,
        {
            **{
                name: [b[name] for b in booked] for name in ("row_no", "reference", "collection_id")
            },
            **{name: [b[name] for b in booked] for name in ("amount", "fee", "currency", "status")},
            "channel": [None] * len(booked),
            "booked_at": [b["booked_at"] for b in booked],
            "booked_day": [pd.Timestamp(day_of(b["booked_at"])) for b in booked],
        },
    )
    asked: dict[str, Any] = {
        "period": MARCH,
        "tolerance": TERMS,
        "basis": "net" if net else "gross",
        "other_mode": columns.frame(KEYS, {"id": ["x"] * len(other), "reference": other}),
        "intents": columns.frame(
            INTENTS,
            {
                "id": ["i"] * len(unknown),
                "reference": unknown,
                "amount": [1] * len(unknown),
                "sent_at": [START] * len(unknown),
            },
        ),
    }
    # The order of the inputs means nothing.
    shuffled = (
        frame.sample(frac=1, random_state=len(booked)),
        book.sample(frac=1, random_state=len(said)),
    )
    # Nor does it matter which collections were looked up one by one.
    asked["outside"] = shuffled[0].iloc[:outside].reset_index(drop=True)
    shuffled = (shuffled[0].iloc[outside:].reset_index(drop=True), shuffled[1])
    found = ledger.match(*shuffled, **asked)
    columns.check(found.rows, MATCHES)
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
    # Nor does it matter what is only counted.
    counted = ledger.match(*shuffled, **asked, everything=False)
    read = found.rows[found.rows["standing"] != "ok"].reset_index(drop=True)
    pd.testing.assert_frame_equal(counted.rows, read)
    for name in ("bridge", "ageing", "doubles"):
        pd.testing.assert_frame_equal(getattr(counted, name), getattr(found, name))
