"""Findings of page one, counted again in plain Python from the rows that they are made of."""

from collections import defaultdict
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.frames import frame_of

from kusanya_books import columns
from kusanya_books.columns import (
    AGEING,
    BALANCE_GAPS,
    BANK_MATCHES,
    BRIDGE,
    CONTROL,
    DELTA,
    DOUBLES,
    EXCEPTIONS,
    FINDINGS,
    ITEMS,
    OPERATOR_MATCHES,
    ROLLED,
    SETTLED,
    UNPRICED,
    Schema,
)
from kusanya_books.judge import findings
from kusanya_books.match.balances import NOTHING
from kusanya_books.request.quality import FileTotal, Quality, Remark

Row = dict[str, Any]
Sums = dict[Any, tuple[int, int | None]]
MONEY = st.integers(-9_000, 9_000)
SIZE = st.just(0) | st.integers(0, 9_000)
CURRENCY = st.sampled_from(["TZS", "KES"])
STANDING = st.sampled_from(["break", "expected", "unproven"])
CODE = st.sampled_from(
    sorted(
        {"missing", *findings.ACROSS_CODES, *findings.EDGE_CODES, *findings.WITHIN_CODES}
    )
)  # fmt: skip
LINE = st.sampled_from(["unexplained", "opening balance"])


def drawn(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Row]]:
    return st.lists(st.fixed_dictionaries({"currency": CURRENCY, **fields}), max_size=5)


BRIDGES = drawn(line=LINE, amount=MONEY)
AGED = drawn(break_code=CODE, standing=STANDING, rows=st.integers(1, 4), amount=SIZE)
ALIKE = drawn(suspected=st.booleans(), amount=SIZE, at_stake=SIZE)
OF_LEG = drawn(break_code=CODE, standing=STANDING, at_stake=SIZE)
PAID = drawn(
    break_code=st.sampled_from(["settlement_within_tolerance", "settlement_short"]),
    standing=STANDING, open_balance=MONEY, net=SIZE, net_settled=SIZE,
)  # fmt: skip
GAPS = st.none() | st.fixed_dictionaries(
    {"accounts": st.integers(0, 2), "gaps": drawn(amount=MONEY)}
)
LEG = st.none() | st.fixed_dictionaries(
    {"rows": OF_LEG, "bridge": BRIDGES, "is_unread": st.booleans(), "balances": GAPS}
)
REMARKS = st.lists(
    st.fixed_dictionaries(
        {
            "verdict": st.sampled_from(["skipped", "rejected", "warned"]),
            "currency": st.none() | CURRENCY,
            "amount": st.none() | SIZE,
        }
    ),
    max_size=5,
)
TOTAL = st.none() | st.fixed_dictionaries(
    {"currency": st.none() | CURRENCY, "stated": SIZE, "read": SIZE, "unread": SIZE}
)
INPUTS = st.fixed_dictionaries(
    {
        "loads": st.lists(st.tuples(REMARKS, TOTAL), max_size=3),
        "control": drawn(amount=SIZE, amount_rollup=SIZE, agrees=st.booleans()),
        "has_tariff": st.booleans(),
        "fees": drawn(drift=st.sampled_from([-400, -1, 0, 1, 250])),
        "unpriced": drawn(rows=st.integers(1, 9), fee=SIZE),
        "late": st.none() | drawn(key=st.sampled_from(["a", "b"]), amount_effect=MONEY),
    }
)


def counted(rows: Iterable[tuple[Any, int, int | None]]) -> Sums:
    found: Sums = {}
    for currency, count, amount in rows:
        before, sum_ = found.get(currency, (0, None))
        known = [one for one in (sum_, amount) if one is not None]
        found[currency] = (before + count, sum(known) if known else None)
    return found


def each(rows: Iterable[Row], amount: str) -> list[tuple[Any, int, int]]:
    return [(row["currency"], 1, row[amount]) for row in rows]


def load_of(number: int, remarks: list[Row], total: Row | None) -> Quality:
    return Quality(
        source=f"ledger {number}", rows=sum(one["verdict"] != "warned" for one in remarks) + 2,
        kept=2, remarks=tuple(Remark(row=n, reason="", **one) for n, one in enumerate(remarks)),
        total=None if total is None else FileTotal(rows=2, **total),
    )  # fmt: skip


def of_inputs(given_inputs: Row) -> dict[str, Sums | None]:
    """Return the findings of what was read and of its fees; None where it is not proven."""
    differing: list[tuple[Any, int, int]] = []
    unread: list[tuple[Any, int, Any]] = []
    for remarks, total in given_inputs["loads"]:
        unread += [(x["currency"], 1, x["amount"]) for x in remarks if x["verdict"] == "rejected"]
        if total is not None and total["currency"] is not None:
            apart = abs(total["stated"] - total["read"] - total["unread"])
            differing += [(total["currency"], 1, apart)] if apart else []
    wrong = [row for row in given_inputs["control"] if not row["agrees"]]
    fees, late = given_inputs["fees"], given_inputs["late"]
    unpriced = [(x["currency"], x["rows"], x["fee"]) for x in given_inputs["unpriced"]]
    priced: dict[str, Sums | None] = {
        findings.ABOVE: counted(each([x for x in fees if x["drift"] > 0], "drift")),
        findings.BELOW: counted(each([x for x in fees if x["drift"] < 0], "drift")),
        findings.UNPRICED: counted(unpriced),
    }
    firsts = {row["key"]: row for row in reversed(late or [])}
    changes = counted(each(firsts.values(), "amount_effect"))
    return {
        findings.UNREAD: counted(unread),
        findings.TOTALS: counted(differing),
        findings.DISAGREES: counted(
            (row["currency"], 1, abs(row["amount"] - row["amount_rollup"])) for row in wrong
        ),
        **(priced if given_inputs["has_tariff"] else dict.fromkeys(priced)),
        findings.LATE: None if late is None else changes,
    }


def of_books(books: Row | None) -> dict[str, Sums | None]:
    """Return the findings of the books by themselves."""
    if books is None:
        return dict.fromkeys((findings.BREAKS, findings.REFUND, findings.SUSPECTED))
    broken = [row for row in books["ageing"] if row["standing"] == "break"]
    certain = [row for row in books["doubles"] if not row["suspected"]]
    alike = [row for row in books["doubles"] if row["suspected"]]
    return {
        findings.BREAKS: counted((row["currency"], row["rows"], row["amount"]) for row in broken),
        findings.REFUND: counted(each(certain, "at_stake")),
        findings.SUSPECTED: counted(each(alike, "at_stake")),
    }


def of_statements(paid: Row | None, legs: dict[str, Row | None]) -> dict[str, Sums | None]:
    """Return the findings of the statements by themselves."""
    found: dict[str, Sums | None] = {findings.PAYOUTS: None}
    if paid is not None:
        broken = [row for row in paid["rows"] if row["standing"] == "break"]
        apart = [(row["currency"], 1, abs(row["open_balance"])) for row in broken]
        found[findings.PAYOUTS] = counted(apart)
    for kind, leg in ((findings.OPERATOR, legs["operator"]), (findings.BANK, legs["bank"])):
        found[kind] = None
        if leg is not None and not leg["is_unread"]:
            broken = [row for row in leg["rows"] if row["standing"] == "break"]
            found[kind] = counted(each(broken, "at_stake"))
    said = [one["balances"] for one in legs.values() if one is not None and one["balances"]]
    lacks = [(gap["currency"], 1, abs(gap["amount"])) for one in said for gap in one["gaps"]]
    has_said = any(one["accounts"] for one in said)
    found[findings.BALANCES] = counted(lacks) if has_said else None
    return found


def of_all(
    books: Row | None, paid: Row | None, legs: dict[str, Row | None]
) -> dict[str, Sums | None]:
    """Return the findings that books and statements share."""
    found: dict[str, Sums | None] = {}
    compared = [one for one in (books, *legs.values()) if one is not None]
    bridged = compared if paid is None else [*compared, paid]
    apart: dict[Any, int] = defaultdict(int)
    for row in [row for one in bridged for row in one["bridge"] if row["line"] == "unexplained"]:
        apart[row["currency"]] += abs(row["amount"])
    unexplained: Sums = {currency: (1, amount) for currency, amount in apart.items() if amount}
    found[findings.UNEXPLAINED] = unexplained if bridged else None
    aged = [] if books is None else books["ageing"]
    lines = [row for one in legs.values() if one is not None for row in one["rows"]]
    for kind, codes in (
        (findings.ACROSS, findings.ACROSS_CODES),
        (findings.EDGE, findings.EDGE_CODES),
        (findings.WITHIN, findings.WITHIN_CODES),
    ):
        rows = [(x["currency"], x["rows"], x["amount"]) for x in aged if x["break_code"] in codes]
        rows += each([x for x in lines if x["break_code"] in codes], "at_stake")
        found[kind] = counted(rows) if compared else None
    if paid is not None:
        let_pass = [x for x in paid["rows"] if x["break_code"] == "settlement_within_tolerance"]
        more = [(x["currency"], 1, abs(x["net_settled"] - x["net"])) for x in let_pass]
        before = found[findings.WITHIN] or {}
        found[findings.WITHIN] = counted(
            [*((currency, *sums) for currency, sums in before.items()), *more]
        )
    return found


def leg_of(schema: Schema, leg: Row | None) -> Any:
    if leg is None:
        return None
    return SimpleNamespace(
        rows=frame_of(schema, *leg["rows"]),
        bridge=frame_of(BRIDGE, *leg["bridge"]),
        is_unread=leg.get("is_unread"),
        balances=balances_of(leg.get("balances")),
    )


def balances_of(said: Row | None) -> Any:
    if said is None:
        return NOTHING
    return SimpleNamespace(said=range(said["accounts"]), gaps=frame_of(BALANCE_GAPS, *said["gaps"]))


def by_kind(found: pd.DataFrame) -> dict[str, Sums | None]:
    said: dict[str, Sums | None] = {}
    for row in columns.dicts(found):
        if row["rows"] is None:
            said[row["finding"]] = None
            assert row["note"].startswith("not proven: no ")
            continue
        sums = said.setdefault(row["finding"], {})
        assert sums is not None
        assert row["note"] is None
        if row["rows"]:
            sums[row["currency"]] = (row["rows"], row["amount"])
        else:
            assert (row["currency"], row["amount"]) == (None, None)
    return said


def one_a_currency(rows: list[Row]) -> list[Row]:
    """Return the first row of each currency, as a table has them that has one row for each."""
    return list({row["currency"]: row for row in reversed(rows)}.values())


@given(
    INPUTS,
    st.none() | st.fixed_dictionaries({"ageing": AGED, "doubles": ALIKE, "bridge": BRIDGES}),
    st.none() | st.fixed_dictionaries({"rows": PAID, "bridge": BRIDGES}),
    st.fixed_dictionaries({"operator": LEG, "bank": LEG}),
)
def test_each_finding_has_the_rows_and_the_money_of_what_it_is_made_of(
    drawn_inputs: Row, books: Row | None, paid: Row | None, legs: dict[str, Row | None]
) -> None:
    drawn_inputs["unpriced"] = one_a_currency(drawn_inputs["unpriced"])
    late = drawn_inputs["late"]
    quality = [load_of(n, *load) for n, load in enumerate(drawn_inputs["loads"])]
    inputs: Any = SimpleNamespace(
        tariff=object() if drawn_inputs["has_tariff"] else None,
        control=frame_of(CONTROL, *drawn_inputs["control"]),
        quality=tuple(quality),
        differing=tuple(one for one in quality if one.total and one.total.difference),
    )
    matched: Any = (
        None
        if books is None
        else SimpleNamespace(
            ageing=frame_of(AGEING, *books["ageing"]),
            doubles=frame_of(DOUBLES, *books["doubles"]),
            bridge=frame_of(BRIDGE, *books["bridge"]),
        )
    )
    found = findings.findings(
        inputs,
        matched=matched,
        settled=leg_of(SETTLED, paid),
        operator=leg_of(OPERATOR_MATCHES, legs["operator"]),
        bank=leg_of(BANK_MATCHES, legs["bank"]),
        exceptions=frame_of(EXCEPTIONS, *drawn_inputs["fees"]),
        unpriced=frame_of(UNPRICED, *drawn_inputs["unpriced"]),
        late=None if late is None else frame_of(DELTA, *late),
    )
    assert by_kind(found) == {
        **of_inputs(drawn_inputs),
        **of_books(books),
        **of_statements(paid, legs),
        **of_all(books, paid, legs),
    }
    for kind, whose in ((findings.OPERATOR, "operator"), (findings.BANK, "bank")):
        [*notes] = set(found[found["finding"] == kind]["note"].dropna())
        unread = (legs[whose] or {"is_unread": False})["is_unread"]
        wanted = f"no {whose}'s statement{' that could be read' if unread else ''} was given"
        assert notes == ([] if by_kind(found)[kind] is not None else [f"not proven: {wanted}"])
    kinds = list(dict.fromkeys(found["finding"]))
    nothing = [kind for kind in kinds if by_kind(found)[kind] == {}]
    assert findings.nil(found) == nothing
    stay = [kind for kind in kinds if by_kind(found)[kind] and kind not in findings.NOT_LEFT]
    assert list(dict.fromkeys(findings.left(found)["finding"])) == stay
    limited = {findings.BREAKS, findings.REFUND, findings.PAYOUTS, findings.OPERATOR, findings.BANK}
    strict = [kind for kind in stay if kind not in limited]
    assert list(dict.fromkeys(findings.left(found, within=True)["finding"])) == strict


@pytest.mark.parametrize("has_earlier_pack", [True, False])
def test_what_earlier_periods_left_open_is_a_finding_and_so_is_a_code_that_does_not_add_up(
    *, has_earlier_pack: bool
) -> None:
    before = frame_of(FINDINGS, {"finding": findings.BREAKS, "rows": 0})
    items = frame_of(
        ITEMS,
        {"finding": findings.CARRIED, "currency": "TZS", "amount": 500},
        {"finding": findings.CARRIED, "currency": "TZS", "amount": 40},
        {"finding": findings.BREAKS, "currency": "TZS", "amount": 7},
    )
    rolled = frame_of(ROLLED, {"foots": True}, {"foots": False}, {"foots": False})
    found = findings.with_carried(before, items, rolled, has_earlier_pack=has_earlier_pack)
    said = [(row["finding"], row["currency"], row["rows"], row["amount"], row["page"], row["note"])
            for row in columns.dicts(found)]  # fmt: skip
    carried = (findings.CARRIED, "TZS", 2, 540, "carried", None)
    unknown = (
        findings.CARRIED,
        None,
        None,
        None,
        "carried",
        "not proven: no earlier pack was given",
    )
    assert said == [
        (findings.BREAKS, None, 0, None, None, None),
        carried if has_earlier_pack else unknown,
        (findings.NOT_FOOTING, None, 2, None, "rolled_forward", None),
    ]  # fmt: skip
    assert list(found.index) == [0, 1, 2]


def test_of_what_was_carried_a_break_alone_is_a_finding() -> None:
    assert findings.of_carried({"standing": "break"}) == findings.CARRIED
    assert findings.of_carried({"standing": "expected"}) is None


FOUND = [
    {"finding": findings.BREAKS, "currency": "KES", "rows": 1, "amount": 30, "page": "breaks"},
    {"finding": findings.BREAKS, "currency": "TZS", "rows": 3, "amount": 900, "page": "breaks"},
    {"finding": findings.REFUND, "currency": "KES", "rows": 2, "amount": 50, "page": "doubles"},
    {"finding": findings.REFUND, "currency": "TZS", "rows": 2, "amount": 700, "page": "doubles"},
    {"finding": findings.BANK, "currency": "TZS", "rows": 1, "amount": 60, "page": "bank"},
    {"finding": findings.LATE, "rows": 0, "page": "late"},
]


def item(finding: str, amount: int, currency: str = "TZS", by: str | None = None) -> Row:
    return {"finding": finding, "currency": currency, "amount": amount, "decided_by": by}


def test_what_was_accepted_or_cleared_is_taken_off_its_finding_and_said_by_name() -> None:
    accepted = [
        item(findings.BREAKS, 500, by="neema"), item(findings.BREAKS, 30, "KES", by="asha"),
        item(findings.BANK, 60, by="neema"),
    ]  # fmt: skip
    expected = [item(findings.BREAKS, 100)]
    found = findings.less(
        frame_of(FINDINGS, *FOUND),
        frame_of(ITEMS, *accepted),
        expected=frame_of(ITEMS, *expected),
        refunds=[("TZS", 1, 300), ("KES", 1, None)],
    )
    said = [(row["finding"], row["currency"], row["rows"], row["amount"], row["page"], row["note"])
            for row in columns.dicts(found)]  # fmt: skip
    assert said == [
        (findings.BREAKS, "TZS", 1, 300, "breaks", None),
        (findings.REFUND, "KES", 1, 50, "doubles", None),
        (findings.REFUND, "TZS", 1, 400, "doubles", None),
        (findings.BANK, None, 0, None, "bank", None),
        (findings.LATE, None, 0, None, "late", None),
        (findings.ACCEPTED, "KES", 1, 30, "open_items", "by asha, neema"),
        (findings.ACCEPTED, "TZS", 2, 560, "open_items", "by asha, neema"),
    ]
