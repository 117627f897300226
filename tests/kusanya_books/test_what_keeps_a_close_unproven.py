"""What a close does not prove, one condition at a time, and how much of each leg was compared."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from kusanya.domain.business_day import EAT
from kusanya_books import columns
from kusanya_books.columns import BREAKS, COLLECTIONS, CONTROLS, COVERAGE, ITEMS, LINES
from kusanya_books.judge import coverage, proof, reconciliation
from kusanya_books.judge.coverage import Taken
from kusanya_books.request.days import Period
from kusanya_books.request.expectation import Expected
from kusanya_books.request.quality import FileTotal, Quality, Remark

MARCH = Period(first=date(2026, 3, 1), last=date(2026, 3, 31))
MPESA, TIGO = ("MPESA_TZ", "TZS"), ("TIGO_TZ", "TZS")
LEGS = ("matched", "settled", "operator", "bank")


def taken(rows: int = 2, open_rows: int = 0) -> Taken:
    return Taken(
        rows=rows, amount=1_000 * rows, net=980 * rows, open_rows=open_rows,
        open_amount=500 * open_rows,
    )  # fmt: skip


def inputs(**said: Any) -> Any:
    made: dict[str, Any] = {
        "read": 5,
        "carried": None,
        "ledger": None,
        "quality": (),
        "expect": (),
        "feed": None,
        "operator_channels": ("MPESA_TZ", "TIGO_TZ"),
        "empty_statements": (),
        "unnamed": (),
        "period": MARCH,
        "judged_on": date(2026, 4, 9),
        "tolerance": SimpleNamespace(grace_days=1),
    }
    return SimpleNamespace(**{**made, **said})


def leg(*codes: str, **said: Any) -> Any:
    rows = pd.DataFrame({"break_code": list(codes)})
    return SimpleNamespace(**{"rows": rows, "is_unread": False, "has_compared": True, **said})


def before(**said: Any) -> Any:
    made = {"not_closed": (), "operators": (), "shown": [], "items": items()}
    return SimpleNamespace(**{**made, **said})


def items(*rows: dict[str, Any]) -> pd.DataFrame:
    return columns.from_dicts(ITEMS, rows)


def covered(*rows: tuple[str, str, int]) -> pd.DataFrame:
    """Return shares by leg, channel and what was met of 1,000."""
    return columns.from_rows(
        COVERAGE, [(leg_, channel, "TZS", 2, 1_000, 1, met, 0) for leg_, channel, met in rows]
    )


def doubts(given: Any, /, shares: Any = None, found: Any = None, **legs: Any) -> list[str]:
    named: Any = {**dict.fromkeys(LEGS), "matched": leg(), **legs}
    rows = covered() if shares is None else shares
    return list(proof.unproven(given, found or {}, rows, given.open_ if hasattr(given, "open_")
                               else items(), **named))  # fmt: skip


def test_a_close_of_everything_has_no_doubt() -> None:
    assert doubts(inputs()) == []


def test_without_books_nothing_is_proven() -> None:
    assert doubts(inputs(), matched=None) == ["no ledger was given"]


def books(kept: int) -> Quality:
    return Quality(source="ledger b.csv", rows=kept, kept=kept)


@pytest.mark.parametrize(
    ("said", "is_nothing"),
    [
        ({}, True),
        ({"read": 1}, False),
        ({"carried": before()}, False),
        ({"quality": (books(1),)}, False),
        ({"quality": (books(0),)}, True),
        ({"quality": (Quality(source="bank b.csv", rows=1, kept=1),)}, True),
        ({"ledger": pd.DataFrame({"a": [1]})}, False),
        ({"ledger": pd.DataFrame({"a": []}), "quality": (books(1),)}, True),
    ],
)
def test_nothing_read_is_never_proven(said: dict[str, Any], is_nothing: bool) -> None:
    found = doubts(inputs(**{"read": 0, **said}))
    assert [one.partition(":")[0] for one in found] == (["nothing was read"] if is_nothing else [])


@pytest.mark.parametrize(
    ("name", "legs", "is_given"),
    [
        ("books", {"matched": leg()}, True),
        ("books", {"settled": leg(), "operator": leg(), "bank": leg()}, False),
        ("settlement", {"settled": leg()}, True),
        ("settlement", {"matched": leg(), "operator": leg(), "bank": leg()}, False),
        ("operator", {"operator": leg()}, True),
        ("operator", {"operator": leg(is_unread=True)}, False),
        ("operator", {"matched": leg(), "settled": leg(), "bank": leg()}, False),
        ("bank", {"bank": leg()}, True),
        ("bank", {"bank": leg(is_unread=True)}, False),
        ("bank", {"matched": leg(), "settled": leg(), "operator": leg()}, False),
    ],
)
def test_a_leg_is_given_by_its_own_files_alone(
    name: str, legs: dict[str, Any], is_given: bool
) -> None:
    named: Any = {**dict.fromkeys(LEGS), **legs}
    assert coverage.is_leg_given(name, **named) is is_given


ALL_GIVEN: dict[str, Any] = {name: leg() for name in LEGS}
NO_FILE = "the books: expected, and nothing of it was given; give the file"


@pytest.mark.parametrize(
    ("expected", "shares", "legs", "said"),
    [
        (Expected("books"), [], {"matched": None}, ["no ledger was given", NO_FILE]),
        (Expected("books"), [("books", "MPESA_TZ", 5)], {}, []),
        (Expected("books"), [("books", "MPESA_TZ", 0)], {}, ["compared"]),
        (Expected("books"), [("bank", "MPESA_TZ", 0), ("books", "MPESA_TZ", 5)], {}, []),
        (Expected("books"), [("books", "TIGO_TZ", 0), ("books", "MPESA_TZ", 5)], {}, []),
        (Expected("books"), [], {}, []),
        (
            Expected("books", "TIGO_TZ"),
            [("books", "TIGO_TZ", 0), ("books", "MPESA_TZ", 5)],
            {},
            ["compared"],
        ),
        (Expected("settlement"), [("settlement", "TIGO_TZ", 0)], {}, ["compared"]),
        (
            Expected("settlement"),
            [("settlement", "TIGO_TZ", 0)],
            {"settled": leg("settlement_pending")},
            [],
        ),
        (
            Expected("settlement"),
            [("settlement", "TIGO_TZ", 0)],
            {"settled": leg("settlement_pending", "settlement_missing")},
            ["compared"],
        ),
        (
            Expected("books"),
            [("books", "TIGO_TZ", 0)],
            {"settled": leg("settlement_pending")},
            ["compared"],
        ),
        (Expected("operator"), [("operator", "MPESA_TZ", 5)], {}, []),
    ],
)
def test_a_leg_that_is_expected_is_given_and_compared(
    expected: Expected, shares: Any, legs: dict[str, Any], said: list[str]
) -> None:
    found = doubts(inputs(expect=(expected,)), covered(*shares), **{**ALL_GIVEN, **legs})
    assert [one for one, word in zip(found, said, strict=True) if word not in one] == []


def test_of_all_operators_each_channel_that_took_money_has_its_statement() -> None:
    given = inputs(expect=(Expected("operator"),), operator_channels=("MPESA_TZ",))
    shares = covered(*(("operator", name, 5) for name in ("TIGO_TZ", "MPESA_TZ", "AIRTEL_TZ")))
    found = doubts(given, shares, **ALL_GIVEN)
    assert [one.partition(": expected")[0] for one in found] == [
        "the operator's statements for Airtel Money",
        "the operator's statements for Mixx by Yas",
    ]
    one = inputs(expect=(Expected("operator", "MPESA_TZ"),), operator_channels=("MPESA_TZ",))
    assert doubts(one, shares, **ALL_GIVEN) == []
    elsewhere = inputs(expect=(Expected("bank"),), operator_channels=("MPESA_TZ",))
    assert doubts(elsewhere, shares, **ALL_GIVEN) == []


@pytest.mark.parametrize(
    ("legs", "carried", "is_due"),
    [
        ({"bank": leg("bank_pending")}, None, False),
        ({"bank": leg("bank_pending", "bank_missing")}, None, True),
        ({"bank": leg()}, None, True),
        ({"bank": leg(), "settled": leg("settlement_pending")}, None, False),
        ({"bank": leg("bank_missing"), "settled": leg("settlement_pending")}, None, True),
        ({"bank": leg(), "settled": leg("settlement_pending", "settlement_missing")}, None, True),
        ({"bank": leg()}, before(), True),
        ({"bank": leg()}, before(shown=["a payout"]), False),
        ({"bank": leg()}, before(items=items({"leg": "bank"})), False),
        ({"bank": leg()}, before(items=items({"leg": "operator"})), True),
        ({"bank": leg("bank_missing")}, before(shown=["a payout"]), True),
    ],
)
def test_the_bank_has_nothing_where_nothing_is_paid_out_yet(
    legs: dict[str, Any], carried: Any, is_due: bool
) -> None:
    given = inputs(expect=(Expected("bank"),), carried=carried)
    found = doubts(given, covered(("bank", "MPESA_TZ", 0)), **{**ALL_GIVEN, **legs})
    assert bool(found) is is_due


@pytest.mark.parametrize(
    ("bank", "carried", "is_doubted"),
    [
        (None, None, False),
        (leg(), None, False),
        (leg("bank_other_credit"), None, False),
        (leg("bank_other_credit", has_compared=False), None, True),
        (leg("bank_other_credit", has_compared=False), before(), True),
        (leg("x", has_compared=False), before(items=items({"leg": "bank"})), False),
        (leg("x", has_compared=False), before(items=items({"leg": "books"})), True),
        (leg(has_compared=False), None, False),
    ],
)
def test_a_bank_proves_something_only_beside_payouts(
    bank: Any, carried: Any, is_doubted: bool
) -> None:
    found = doubts(inputs(carried=carried), bank=bank)
    assert [one.startswith("no payout is known") for one in found] == ([True] if is_doubted else [])


def test_a_file_without_its_end_and_a_night_that_was_not_closed_are_named() -> None:
    cut = Quality(source="bank b.sta", rows=1, kept=1, unproven="there is no end")
    nights = ((date(2026, 3, 1), date(2026, 3, 1)), (date(2026, 3, 2), date(2026, 3, 4)))
    found = doubts(inputs(quality=(cut, books(1)), carried=before(not_closed=nights)))
    assert [one.partition(" is not closed")[0] for one in found] == [
        *("bank b.sta: there is no end", "2026-03-01", "2026-03-02 to 2026-03-04")
    ]


@pytest.mark.parametrize(
    ("said", "rows", "lacking"),
    [
        ({}, 2, "TIGO_TZ"),
        ({"empty_statements": ()}, 2, None),
        ({"operator_channels": ("MPESA_TZ", "TIGO_TZ")}, 2, None),
        ({}, 0, None),
        ({"carried": before()}, 2, "TIGO_TZ"),
        ({"carried": before(operators=("MPESA_TZ",))}, 2, None),
        ({"carried": before(operators=("MPESA_TZ",)), "unnamed": ("TIGO_TZ",)}, 2, "TIGO_TZ"),
    ],
)
def test_an_empty_statement_may_lack_what_came_on_a_channel_that_none_names(
    said: dict[str, Any], rows: int, lacking: str | None
) -> None:
    made = {"empty_statements": ("operator e.csv",), "operator_channels": ("MPESA_TZ",)}
    found = doubts(inputs(**{**made, **said}), found={MPESA: taken(), TIGO: taken(rows)})
    assert [f"came on {lacking}, of which" in one for one in found] == ([True] if lacking else [])


def feed(last: datetime | None = None) -> Any:
    return SimpleNamespace(doubts=lambda *_, **__: iter(()), advice="catch up", last_fact_at=last)


def test_what_is_not_final_after_its_grace_is_named_with_its_money() -> None:
    given = inputs(feed=feed(datetime(2026, 4, 2, tzinfo=EAT)))
    found = doubts(given, found={MPESA: taken(open_rows=3), TIGO: taken()})
    assert [one.partition(" are not")[0] for one in found] == [
        "3 payment(s) of MPESA_TZ, TZS 1,500,"
    ]
    assert doubts(inputs(), found={MPESA: taken(open_rows=3)}) == [], "nobody told when"


def unknown(code: str, **said: Any) -> dict[str, Any]:
    made = {"break_code": code, "standing": "break", "reference": "R-1", "currency": "TZS"}
    return {**made, "amount": 700, "day": pd.Timestamp("2026-03-20"), **said}


BOOKED, AT_OPERATOR = unknown("missing_at_provider"), unknown("operator_unknown_here")
BOTH = "1 payment(s), TZS 700, are in the books and at the operator"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([BOOKED, AT_OPERATOR], BOTH),
        ([BOOKED, AT_OPERATOR, {**BOOKED, "reference": "R-2", "amount": 9}], BOTH),
        ([BOOKED, AT_OPERATOR, AT_OPERATOR], BOTH),
        (
            [BOOKED, AT_OPERATOR, {**BOOKED, "amount": 8}],
            "2 payment(s), TZS 708, are in the books and at the operator",
        ),
        ([{**BOOKED, "reference": " r-1 "}, AT_OPERATOR], BOTH),
        ([BOOKED, {**AT_OPERATOR, "currency": "KES"}], None),
        ([BOOKED, {**AT_OPERATOR, "reference": "R-2"}], None),
        ([BOOKED, {**AT_OPERATOR, "standing": "expected"}], None),
        ([BOOKED, {**AT_OPERATOR, "status": "accepted"}], None),
        ([BOOKED, {**AT_OPERATOR, "status": "open"}], BOTH),
        ([BOOKED, unknown("settlement_unknown")], None),
        ([unknown("missing_in_ledger"), AT_OPERATOR], None),
        ([{**BOOKED, "reference": None}, {**AT_OPERATOR, "reference": None}], None),
    ],
)
def test_an_order_that_books_and_operator_have_was_paid(
    rows: list[dict[str, Any]], said: str | None
) -> None:
    given = inputs(feed=feed(datetime(2026, 4, 2, tzinfo=EAT)), open_=items(*rows))
    found = doubts(given)
    assert len(found) == (said is not None)
    assert all(one.startswith(said or "") for one in found)


@pytest.mark.parametrize(
    ("last", "code", "is_later"),
    [
        (datetime(2026, 3, 19, 23, 59, tzinfo=EAT), "missing_at_provider", True),
        (datetime(2026, 3, 19, 23, 59, tzinfo=EAT), "operator_unknown_here", True),
        (datetime(2026, 3, 19, 23, 59, tzinfo=EAT), "settlement_unexpected", True),
        (datetime(2026, 3, 19, 23, 59, tzinfo=EAT), "settlement_unknown", True),
        (datetime(2026, 3, 19, 23, 59, tzinfo=EAT), "missing_in_ledger", False),
        (datetime(2026, 3, 20, tzinfo=EAT), "missing_at_provider", False),
        (MARCH.ends, "missing_at_provider", False),
        (None, "missing_at_provider", False),
    ],
)
def test_what_is_dated_after_the_last_fact_is_perhaps_not_known_yet(
    last: datetime | None, code: str, is_later: bool
) -> None:
    found = doubts(inputs(feed=feed(last), open_=items(unknown(code))))
    assert ["1 open line(s) of books" in one for one in found] == ([True] if is_later else [])


def test_after_the_period_no_line_is_later_than_the_last_fact() -> None:
    late = unknown("missing_at_provider", day=pd.Timestamp("2026-04-20"))
    assert doubts(inputs(feed=feed(MARCH.ends), open_=items(late))) == []
    assert doubts(inputs(feed=feed(MARCH.ends - timedelta(seconds=1)), open_=items(late)))


def test_what_waits_is_summed_by_leg_code_and_currency_with_its_oldest_day() -> None:
    row = {"leg": "settlement", "break_code": "settlement_pending", "currency": "TZS"}
    found = proof.waiting(
        items(
            {**row, "amount": 700, "age_days": 2},
            {**row, "amount": 5, "age_days": 9},
            {**row, "amount": None, "age_days": None},
            {**row, "amount": 1, "currency": "KES"},
            {**row, "amount": 1, "currency": None},
            {**row, "amount": 1, "finding": "settlement"},
            {**row, "amount": 1, "break_code": "settlement_missing"},
            {**row, "leg": "bank", "break_code": "bank_pending", "amount": 4, "age_days": 1},
        )
    )
    assert [
        (one["leg"], one["currency"], one["rows"], one["amount"], one["oldest_days"])
        for one in found
    ] == [
        ("bank", "TZS", 1, 4, 1),
        ("settlement", "KES", 1, 1, None),
        ("settlement", "TZS", 3, 705, 9),
        ("settlement", None, 1, 1, None),
    ]
    assert [one["meaning"] for one in found[1:]] == 3 * ["not due yet"]


TOTAL = FileTotal(currency="TZS", stated=100, rows=3, read=80, unread=15)


def load(source: str, *lost: tuple[str | None, int | None], total: Any = None) -> Quality:
    remarks = [
        Remark(row=1, verdict="rejected", reason="x", currency=currency, amount=amount)
        for currency, amount in lost
    ]
    warned = Remark(row=9, verdict="warned", reason="x", currency="TZS", amount=1_000)
    return Quality(source=source, rows=len(lost), kept=0, remarks=(*remarks, warned), total=total)


def controls(
    lines: Sequence[tuple[Any, ...]], loads: Sequence[Quality], moved: Any = None
) -> list[list[Any]]:
    found = reconciliation.controls(columns.from_rows(LINES, lines), loads, moved)
    columns.check(found, CONTROLS)
    return [list(row.values()) for row in columns.dicts(found)]


def test_a_file_of_the_books_is_counted_with_what_is_not_paid() -> None:
    lines = [
        ("ledger", "TZS", "in the period", 7, 70, 1, 10),
        ("ledger", "TZS", "all lines", 2, 30, 1, 4),
        ("ledger", "KES", "all lines", 1, 9, 0, 0),
        ("statement", "TZS", "all lines", 5, 50, 0, 0),
    ]
    loads = [load("ledger b.csv", ("TZS", 8), ("TZS", None), (None, 6)), load("statement s.csv")]
    assert controls(lines, loads) == [
        ["ledger b.csv", "KES", 1, 9, 0, 0, None, None],
        ["ledger b.csv", "TZS", 3, 34, 2, 8, None, None],
        ["ledger b.csv", None, 0, 0, 1, 6, None, None],
        ["statement s.csv", "TZS", 5, 50, 0, 0, None, None],
    ]


@pytest.mark.parametrize(
    ("total", "row"),
    [
        (TOTAL, ["bank b.csv", "TZS", 3, 80, 1, 15, 100, 5]),
        (None, ["bank b.csv", "TZS", 2, 30, 1, 7, None, None]),
    ],
)
def test_a_file_is_held_against_the_total_that_it_states(total: Any, row: list[Any]) -> None:
    moved = pd.DataFrame({"leg": "bank", "input": "b.csv", "currency": "TZS", "amount": [40, -10]})
    assert controls([], [load("bank b.csv", ("TZS", 7), total=total)], moved) == [row]


def test_a_total_of_no_one_currency_is_stated_and_compared_with_nothing() -> None:
    several = FileTotal(currency=None, stated=100, rows=3, read=80, unread=15)
    assert controls([], [load("bank b.csv", total=several)]) == [
        ["bank b.csv", None, 0, 0, 0, 0, 100, None]
    ]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            [("books", "TZS", 1_000, 999), ("bank", "TZS", 980, 980), ("bank", "KES", 1, 0)],
            "TZS 1,000: books 99 %, operator 100 %, settlement 100 %, bank 100 %",
        ),
        (
            [("books", "TZS", 600, 0), ("books", "TZS", 400, 400), ("operator", "TZS", 0, 0)],
            "TZS 1,000: books 40 %, operator 100 %, settlement 100 %, bank 100 %",
        ),
    ],
)
def test_shares_are_said_by_currency_and_never_rounded_up(rows: Any, words: str) -> None:
    frame = columns.from_rows(
        COVERAGE, [(leg_, "C", currency, 1, of, 1, met, 0) for leg_, currency, of, met in rows]
    )
    assert coverage.in_words(frame)[0] == words


def shares(found: dict[Any, Taken], **legs: Any) -> dict[tuple[str, str], tuple[Any, ...]]:
    named: Any = {**dict.fromkeys(LEGS), **legs}
    frame = coverage.coverage(inputs(operator_channels=("MPESA_TZ",)), found, **named)
    return {
        (row["leg"], row["channel"]): (row["rows_met"], row["amount_met"], row["percent"])
        for row in columns.dicts(frame)
    }


FOUND = {MPESA: taken(4), TIGO: taken(1), ("AIRTEL_TZ", "TZS"): taken(0)}


def test_of_a_leg_that_was_not_given_nothing_was_met() -> None:
    found = shares(FOUND)
    assert found[("books", "MPESA_TZ")] == (0, 0, 0)
    assert found[("bank", "TIGO_TZ")] == (None, 0, 0)
    assert {channel for _, channel in found} == {"MPESA_TZ", "TIGO_TZ"}, "what took no money is not"


def test_the_books_met_all_but_what_succeeded_and_stands_alone() -> None:
    alone: dict[str, Any] = {"status_service": "succeeded", "channel": "MPESA_TZ"}
    alone |= {"currency_service": "TZS", "amount_service": 1_500}
    rows = [alone, {**alone, "row_no": 5}, {**alone, "match_rule": "sum"},
            {**alone, "status_service": "failed"}]  # fmt: skip
    matched: Any = SimpleNamespace(rows=columns.from_dicts(BREAKS, rows))
    found = shares(FOUND, matched=matched)
    assert found[("books", "MPESA_TZ")] == (3, 2_500, 62)
    assert found[("books", "TIGO_TZ")] == (1, 1_000, 100)


def settled(*rows: tuple[str | None, int | None, int | None, int | None]) -> Any:
    names = ["channel", "count", "gross", "gross_settled"]
    made = pd.DataFrame(rows, columns=names).assign(currency="TZS")
    return SimpleNamespace(rows=made.convert_dtypes())


@pytest.mark.parametrize(
    ("rows", "mpesa", "tigo"),
    [
        ([("MPESA_TZ", 3, 3_000, 2_990)], (3, 3_000, 75), (0, 0, 0)),
        ([("MPESA_TZ", 3, 3_000, 0), ("MPESA_TZ", 1, 1_000, 5)], (1, 1_000, 25), (0, 0, 0)),
        ([("MPESA_TZ", 3, None, 5), ("MPESA_TZ", 1, 1_000, None)], (0, 0, 0), (0, 0, 0)),
        ([("MPESA_TZ", None, 1_000, 5), ("MPESA_TZ", None, 1_000, 5)], (2, 2_000, 50), (0, 0, 0)),
        ([("MPESA_TZ", 9, 9_000, 5)], (4, 4_000, 100), (0, 0, 0)),
        ([(None, 5, 5_000, 5_000)], (4, 4_000, 100), (1, 1_000, 100)),
        ([(None, 5, 2_500, 5)], (4, 2_000, 50), (1, 500, 50)),
        ([("TIGO_TZ", 1, 500, 5), (None, 0, 500, 5)], (0, 400, 10), (1, 600, 60)),
    ],
)
def test_a_settlement_line_without_a_channel_is_shared_by_all(
    rows: Any, mpesa: tuple[int, int, int], tigo: tuple[int, int, int]
) -> None:
    found = shares(FOUND, settled=settled(*rows))
    assert (found[("settlement", "MPESA_TZ")], found[("settlement", "TIGO_TZ")]) == (mpesa, tigo)


def payment(status: str, day: str, created: str | None = None, **said: Any) -> dict[str, Any]:
    made = {
        "id": f"col_{status}_{day}",
        "status": status,
        "channel": "MPESA_TZ",
        "currency": "TZS",
        "business_day": pd.Timestamp(f"2026-{day}"),
        "amount": 1_000,
        "fee": 20,
        "created_day": pd.Timestamp(f"2026-{created or day}"),
        "mode": "live",
    }
    return {**dict.fromkeys(COLLECTIONS.columns), **made, **said}


def test_what_was_taken_is_of_the_days_of_the_period_and_what_is_open_of_those_past_its_grace() -> (
    None
):
    rows = [
        *(payment("succeeded", day) for day in ("02-28", "03-01", "03-31", "04-01")),
        payment("succeeded", "03-05", fee=None),
        *(payment("created", day) for day in ("02-28", "03-01", "03-28", "03-29")),
        payment("failed", "03-05"),
    ]
    given = inputs(collections=columns.from_dicts(COLLECTIONS, rows), judged_on=date(2026, 3, 30))
    found = coverage.taken(given)
    assert found == {MPESA: Taken(rows=3, amount=3_000, net=2_960, open_rows=2, open_amount=2_000)}
    later = inputs(collections=given.collections, judged_on=date(2026, 5, 1))
    assert coverage.taken(later)[MPESA].open_rows == 3
