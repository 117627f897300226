"""What a close knows of the periods before it, and what became of a payout that one left open."""

from datetime import date, timedelta
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from kusanya_books import columns
from kusanya_books.columns import DUE, ITEMS, LEDGER, MOVEMENTS, SINCE, STATEMENT
from kusanya_books.judge import carried_legs, carried_payouts, findings
from kusanya_books.request.days import Period
from kusanya_books.request.earlier_period import Compared, EarlierPeriod

MARCH = Period(first=date(2026, 3, 1), last=date(2026, 3, 31))
APRIL = Period(first=date(2026, 4, 1), last=date(2026, 4, 30))
MARCH_5 = pd.Timestamp("2026-03-05")


def day(text: str) -> date:
    return date.fromisoformat(f"2026-{text}")


def span(first: str, last: str, **said: Any) -> Compared:
    return Compared(first=day(first), last=day(last), **said)


OWN = span("03-01", "03-31")


def earlier(*compared: Compared, **said: Any) -> EarlierPeriod:
    made: dict[str, Any] = {
        "run_id": "r",
        "period": MARCH,
        "compared": compared or (OWN,),
        "items": columns.empty(ITEMS),
        "lines": columns.empty(LEDGER),
    }
    return EarlierPeriod(**{**made, **said})


def moved(*rows: dict[str, Any]) -> pd.DataFrame:
    return columns.from_dicts(MOVEMENTS, rows)


@pytest.mark.parametrize(
    ("first", "follows", "precedes"),
    [
        ("2026-04-01", True, True),
        ("2026-03-31", True, True),
        ("2026-03-02", True, True),
        ("2026-03-01", False, False),
        ("2026-02-01", False, False),
        ("2026-04-02", False, True),
    ],
)
def test_a_later_period_follows_where_no_day_lies_between(
    first: str, follows: bool, precedes: bool
) -> None:
    later = Period(first=date.fromisoformat(first), last=date(2026, 5, 1))
    assert (earlier().follows(later), earlier().precedes(later)) == (follows, precedes)
    assert not earlier().adjoins(later), "its own books were not given"
    assert earlier(span("03-01", "03-31", books=True)).adjoins(later) is follows


@pytest.mark.parametrize(
    ("compared", "begins"),
    [
        ([OWN], "03-01"),
        ([span("02-01", "02-28", books=True), OWN], "03-01"),
        ([span("02-01", "02-28", books=True), span("03-01", "03-31", books=True)], "02-01"),
        ([span("02-01", "02-27", books=True), span("03-01", "03-31", books=True)], "03-01"),
        ([span("02-01", "03-31", books=True), span("03-01", "03-31", books=True)], "02-01"),
        (
            [
                *(span("01-01", "01-31", books=True), span("02-01", "02-28")),
                span("03-01", "03-31", books=True),
            ],
            "03-01",
        ),
    ],
)
def test_books_were_given_from_the_first_of_closes_without_a_gap(
    compared: list[Compared], begins: str
) -> None:
    assert earlier(*compared).books_begin == day(begins)


@pytest.mark.parametrize(
    ("begins", "changed", "chain", "judged"),
    [
        (None, None, "03-01", "03-01"),
        ("02-01", "02-10", "02-01", "02-10"),
        ("03-09", "03-09", "03-01", "03-01"),
    ],
)
def test_a_chain_begins_with_its_first_period_and_is_judged_from_the_first_change(
    begins: str | None, changed: str | None, chain: str, judged: str
) -> None:
    found = earlier(
        begins=None if begins is None else day(begins),
        changed_from=None if changed is None else day(changed),
    )
    assert (found.chain_begins, found.judged_from) == (day(chain), day(judged))


def test_who_was_named_lately_is_of_a_month() -> None:
    found = earlier(
        span("02-01", "02-27", settled=("A",), operators={"OLD": True}),
        span("02-28", "02-28", settled=("B",), operators={"X": True, "Y": False}),
        span("03-01", "03-31", settled=("C",), operators={"X": False}),
    )
    first = day("02-28") + timedelta(days=31)
    assert found.settled_before(first) == {"B", "C"}
    assert found.settled_before(first + timedelta(days=1)) == {"C"}
    assert found.operators_before(first) == {"X": False, "Y": False}
    assert found.operators == {"OLD", "X", "Y"}


def test_the_newest_settlement_statement_with_a_line_counts_and_else_its_own_close() -> None:
    old, named, empty = OWN, span("03-01", "03-30", settled=("A",)), span("03-31", "03-31")
    assert earlier(old, named, empty).settlement is named
    assert earlier(old, empty).settlement is empty
    assert earlier(named, span("03-31", "03-31", settled=("B",))).settlement.settled == ("B",)


def due(*days: str) -> pd.DataFrame:
    rows = [{"business_day": pd.Timestamp(f"2026-{one}"), "net": 1} for one in days]
    return columns.from_dicts(DUE, rows)


def test_what_is_due_is_of_days_whose_payouts_were_compared() -> None:
    found = earlier(
        span("03-01", "03-10", has_settlement=True), span("03-11", "03-12"),
        span("03-13", "03-31", has_settlement=True),
    )  # fmt: skip
    days = ("02-28", "03-01", "03-10", "03-11", "03-12", "03-13", "03-31", "04-01")
    left = found.settled_of(due(*days))["business_day"]
    assert [f"{one:%m-%d}" for one in left] == ["03-01", "03-10", "03-13", "03-31"]
    assert earlier().settled_of(due()).empty


def test_days_are_known_by_item_where_any_file_with_its_lines_says_so() -> None:
    lines: Any = {"has_settlement": True, "keeps_lines": True}
    found = earlier(
        span("03-01", "03-02", **lines),
        span("03-02", "03-03", by_item=True, **lines),
        span("03-03", "03-03", **lines),
        span("03-04", "03-04", has_settlement=True),
        span("03-05", "03-05", keeps_lines=True),
        span("03-06", "03-06", **lines),
    )
    assert found.settled_days() == {
        day("03-01"): False,
        day("03-02"): True,
        day("03-03"): True,
        day("03-06"): False,
    }
    old = Period(first=day("03-01"), last=day("03-06") + timedelta(days=92))
    assert earlier(*found.compared, period=old).settled_days() == {day("03-06"): False}


def test_ids_of_what_is_otherwise_are_those_of_the_leg() -> None:
    legs = {"b": "books", "s": "statement", "o": "operator"}
    since = columns.from_dicts(SINCE, [{"id": id_, "leg": leg} for id_, leg in legs.items()])
    found = earlier(
        paid_since=since,
        otherwise_now=frozenset({"now"}),
        otherwise_at_operator=frozenset({"there"}),
    )
    assert found.ids_since("books") == {"b", "now"}
    assert found.ids_since("operator") == {"o", "there"}
    assert earlier(otherwise_now=frozenset({"now"})).ids_since("books") == {"now"}


def test_keys_are_of_items_lines_what_is_known_since_and_operators_lines() -> None:
    named = {"collection_id": "c", "reference": "R"}
    found = earlier(
        items=columns.from_dicts(ITEMS, [{**named, "reference": "ITEM"}, named]),
        lines=columns.from_dicts(LEDGER, [{**named, "reference": "LINE"}, named]),
        paid_since=columns.from_dicts(SINCE, [{"id": "c", "reference": "SINCE"}]),
        movements=moved(
            {**named, "reference": "OP", "leg": "operator"},
            {**named, "reference": "X", "leg": "bank"},
        ),
    )
    assert found.keys()["reference"].tolist() == ["ITEM", "R", "LINE", "SINCE", "OP"]
    assert set(found.keys()["id"]) == {"c"}


LINE = {
    "leg": "operator",
    "channel": "MPESA_TZ",
    "business_day": MARCH_5,
    "input": "m.csv",
    "at": MARCH_5.tz_localize("UTC"),
    "amount": 7,
}


@pytest.mark.parametrize(
    ("said", "is_kept"),
    [
        ({}, False),
        ({"leg": "bank"}, True),
        ({"channel": "TIGO_TZ"}, True),
        ({"channel": None}, True),
        ({"business_day": MARCH_5 + timedelta(days=1)}, True),
        ({"at": (MARCH_5 + timedelta(days=1)).tz_localize("UTC")}, True),
        ({"amount": 8}, False),
    ],
    ids=str,
)
def test_of_a_day_that_is_given_again_the_carried_line_is_gone(
    said: dict[str, Any], is_kept: bool
) -> None:
    found = earlier(movements=moved(LINE)).with_movements(moved({**LINE, **said}))
    assert found["input"].tolist() == [
        "m.csv",
        *(["m.csv (until 2026-03-31)"] if is_kept else []),
    ]


def test_a_carried_line_keeps_the_name_of_the_first_file_and_its_day() -> None:
    old = {**LINE, "input": "m.csv (until 2026-02-28)"}
    later = moved({**LINE, "business_day": MARCH_5 + timedelta(days=30)})
    found = earlier(movements=moved(old)).with_movements(later)
    assert found["input"].tolist() == ["m.csv", "m.csv (until 2026-02-28)"]
    assert found.index.tolist() == [0, 1]
    for nothing in (None, moved()):
        assert earlier(movements=nothing).with_movements(later) is later


def test_what_the_bank_has_shown_is_known_by_its_leg() -> None:
    assert earlier().shown.empty
    found = earlier(movements=moved({**LINE, "leg": "shown"}, LINE)).shown
    assert found["leg"].tolist() == ["shown"]


PAYOUT = {"batch_id": "B1", "channel": "MPESA_TZ", "business_day": MARCH_5, "net": 980}


def statement(*rows: dict[str, Any]) -> pd.DataFrame:
    return columns.from_dicts(STATEMENT, rows)


@pytest.mark.parametrize(
    ("said", "is_kept"),
    [
        *(({}, False), ({"batch_id": "B2"}, True), ({"channel": "TIGO_TZ"}, True)),
        *(({"business_day": MARCH_5 + timedelta(days=1)}, True), ({"net": 5}, False)),
    ],
    ids=str,
)
def test_a_payout_that_is_said_again_is_not_carried(said: dict[str, Any], is_kept: bool) -> None:
    newer = statement({**PAYOUT, **said})
    found = earlier(payouts=statement(PAYOUT)).with_payouts(newer)
    assert found is not None
    assert (len(found), found.index.tolist()) == (1 + is_kept, [0, 1][: 1 + is_kept])
    without = earlier(payouts=statement(PAYOUT)).with_payouts(newer, but=["B1"])
    assert without is not None
    assert len(without) == 1


def test_without_a_statement_the_carried_payouts_are_all_there_are() -> None:
    kept = statement(PAYOUT)
    assert earlier(payouts=kept).with_payouts(None) is kept
    assert earlier().with_payouts(None) is None
    newer = statement(PAYOUT)
    assert earlier().with_payouts(newer) is newer
    assert earlier(payouts=statement()).with_payouts(newer) is newer


@pytest.mark.parametrize(
    ("books", "kept"),
    [
        ([], ["03-31"]),
        (["04-01"], ["03-31"]),
        (["04-09"], ["03-31"]),
        (["03-31"], []),
        (["04-02", "03-30"], []),
    ],
)
def test_lines_are_carried_of_days_that_the_books_do_not_reach_back_to(
    books: list[str], kept: list[str]
) -> None:
    def ledger(days: list[str]) -> pd.DataFrame:
        return columns.from_dicts(
            LEDGER, [{"booked_day": pd.Timestamp(f"2026-{one}")} for one in days]
        )

    lines = pd.concat([ledger(["03-31", "04-01"]), columns.from_dicts(LEDGER, [{}])])
    found = earlier(lines=lines).lines_before(ledger(books), APRIL)
    assert [f"{one:%m-%d}" for one in found["booked_day"]] == kept


def open_payout(**said: Any) -> dict[str, Any]:
    """Return an item that waits for the 980 of 5 March."""
    made = {
        "break_id": "B1",
        "leg": "statement",
        "break_code": "settlement_missing",
        "channel": "MPESA_TZ",
        "currency": "TZS",
        "day": MARCH_5,
        "balance": 980,
        "amount": 980,
        "figures": "980",
        "standing": "break",
    }
    return {**dict.fromkeys(ITEMS.columns), **made, **said}


def paid(*rows: dict[str, Any]) -> pd.DataFrame:
    return statement(*({**PAYOUT, "currency": "TZS", **row} for row in rows))


@pytest.mark.parametrize(
    ("was", "row", "found"),
    [
        ({}, {}, 980),
        ({}, {"net": 900}, 900),
        ({}, {"currency": "KES"}, 0),
        ({}, {"channel": "TIGO_TZ"}, 0),
        ({"channel": None}, {"channel": "TIGO_TZ"}, 980),
        ({}, {"business_day": MARCH_5 + timedelta(days=1)}, 0),
        ({}, {"collection_id": "col_1"}, 0),
        ({"collection_id": "col_1"}, {"collection_id": "col_1"}, 980),
        ({"collection_id": "col_1"}, {"collection_id": "col_2"}, 0),
        ({"collection_id": "col_1"}, {}, 0),
        (
            {"collection_id": "col_1"},
            {"collection_id": "col_1", "business_day": None, "channel": None},
            980,
        ),
        ({"reference": "B1"}, {}, 0),
        ({"reference": "B0 B1"}, {}, 0),
        ({"reference": "B0"}, {}, 980),
    ],
)
def test_a_line_pays_the_payout_that_it_is_about(
    was: dict[str, Any], row: dict[str, Any], found: int
) -> None:
    sums, rest = carried_payouts.paid_of([open_payout(**was)], paid(row), {}, known_days=())
    assert sums == ({"B1": found} if found else {})
    assert len(rest) == (0 if found else 1)


def test_on_a_day_whose_lines_are_known_a_batch_may_be_named_again() -> None:
    was = open_payout(reference="B1")
    sums, _ = carried_payouts.paid_of([was], paid({}), {}, known_days={MARCH_5.date()})
    assert sums == {"B1": 980}


def test_of_two_payouts_of_a_day_a_line_pays_the_one_that_it_clears() -> None:
    both = [open_payout(balance=500, amount=500), open_payout(break_id="B2")]
    assert carried_payouts.paid_of(both, paid({}), {}, known_days=())[0] == {"B2": 980}
    due_ = {"B1": 480}
    assert carried_payouts.paid_of(both, paid({}), due_, known_days=())[0] == {"B1": 980}
    neither, _ = carried_payouts.paid_of(both, paid({"net": 7}), {}, known_days=())
    assert neither == {"B1": 7}
    two = paid({"net": 400}, {"net": 580})
    assert carried_payouts.paid_of(both[1:], two, {}, known_days=())[0] == {"B2": 980}
    nil, rest = carried_payouts.paid_of(both[1:], paid({"net": 5}, {"net": -5}), {}, known_days=())
    assert (nil, len(rest)) == ({}, 2)


def test_what_became_due_since_is_about_what_was_paid_too_much() -> None:
    over = open_payout(balance=-980)
    rows = columns.from_dicts(
        DUE,
        [
            {"business_day": MARCH_5, "channel": "MPESA_TZ", "currency": "TZS", "net": 980},
            {"business_day": MARCH_5, "channel": "TIGO_TZ", "currency": "TZS", "net": 5},
        ],
    )
    sums, rest = carried_payouts.due_of([over], rows)
    assert (sums, rest["net"].tolist()) == ({"B1": 980}, [5])


def judged(**said: Any) -> Any:
    tolerance = SimpleNamespace(**{"amount": 0, "settle_days": 3, "settle_days_of": {}, **said})
    return SimpleNamespace(tolerance=tolerance, judged_on=date(2026, 4, 9))


@pytest.mark.parametrize(
    ("was", "change", "code", "balance"),
    [
        ({}, (0, 0), "settlement_missing", 980),
        ({}, (0, 980), None, 0),
        ({}, (0, 900), "settlement_short", 80),
        ({}, (0, 990), "settlement_over", -10),
        ({}, (20, 0), "settlement_short", 1_000),
        ({}, (20, 1_000), None, 0),
        ({"break_code": "settlement_over", "balance": -20}, (20, 0), None, 0),
        ({"break_code": "settlement_unknown", "balance": -20}, (0, 0), "settlement_unknown", -20),
        ({"break_code": "settlement_unknown", "balance": -20}, (9, 9), "settlement_over", -20),
        ({"break_code": "settlement_pending"}, (0, 0), "settlement_missing", 980),
        (
            {"break_code": "settlement_pending", "day": pd.Timestamp("2026-04-06")},
            (0, 0),
            "settlement_pending",
            980,
        ),
        (
            {"break_code": "settlement_pending", "day": pd.Timestamp("2026-04-05")},
            (0, 0),
            "settlement_missing",
            980,
        ),
    ],
)
def test_a_carried_payout_is_what_it_still_waits_for(
    was: dict[str, Any], change: tuple[int, int], code: str | None, balance: int
) -> None:
    due_, paid_ = change
    now = carried_payouts.now(open_payout(**was), judged(), due=due_, paid=paid_)
    if code is None:
        assert now is None
        return
    assert now is not None
    assert (now["break_code"], now["balance"], now["amount"]) == (code, balance, abs(balance))
    before = open_payout(**was)["balance"]
    assert now["figures"] == ("980" if balance == before else f"980|{balance}")
    assert now["finding"] == (None if code == "settlement_pending" else findings.CARRIED)


def test_a_channel_that_pays_late_waits_longer_and_a_tolerance_ends_what_is_small() -> None:
    was = open_payout(break_code="settlement_pending", day=pd.Timestamp("2026-03-20"))
    late = judged(settle_days_of={"MPESA_TZ": 20, "TIGO_TZ": 1})
    now = carried_payouts.now(was, late, due=0, paid=0)
    assert now is not None
    assert (now["break_code"], now["age_days"]) == ("settlement_pending", 20)
    small = judged(amount=10)
    assert carried_payouts.now(open_payout(), small, due=0, paid=970) is None
    assert carried_payouts.now(open_payout(), small, due=0, paid=990) is None
    assert carried_payouts.now(open_payout(), small, due=0, paid=969) is not None
    future = open_payout(day=pd.Timestamp("2026-04-20"))
    left = carried_payouts.now(future, judged(), due=0, paid=0)
    assert left is not None
    assert left["age_days"] == 0


def test_what_was_cleared_is_counted_by_payout() -> None:
    items = [open_payout(), open_payout(break_id="B2", collection_id="col_1")]
    items += [open_payout(break_id="B3")]
    found = carried_payouts.cleared(items, {"B1": 900, "B2": 1_000}, {"B2": 5})
    assert found == {(MARCH_5, "MPESA_TZ", "TZS"): 900, ("col_1",): 985}


def test_what_the_bank_has_shown_is_remembered_for_a_quarter_unless_it_is_open() -> None:
    last = pd.Timestamp(APRIL.last)
    days = {"old": 93, "quarter": 92, "new": 1, "open": 1}
    rows = [
        {**LINE, "leg": "shown", "receipt": name, "business_day": last - timedelta(days=ago)}
        for name, ago in days.items()
    ]
    newest = {**rows[2], "amount": 8}
    given: Any = SimpleNamespace(carried=earlier(movements=moved(*rows, newest)), period=APRIL)
    found = carried_legs._shown(given, None, {"open"})
    assert found["receipt"].tolist() == ["quarter", "new"]
    assert found["amount"].tolist() == [7, 8], "of one name the last that was said"
    nobody: Any = SimpleNamespace(carried=None, period=APRIL)
    assert carried_legs._shown(nobody, None, set()).empty
