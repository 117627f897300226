"""What is booked of each row that a leg judged, one row and one condition at a time."""

from collections.abc import Mapping
from datetime import date
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import DAILY, ITEMS, OPERATOR_MATCHES, POSTINGS, SETTLED
from kusanya_books.judge import postings, suspense
from kusanya_books.judge.postings import cleared, differences, taxes
from kusanya_books.request.days import Period
from kusanya_books.request.earlier_period import STATEMENT

APRIL = Period(first=date(2026, 4, 1), last=date(2026, 4, 30))
DAY, BEFORE, AFTER = (pd.Timestamp(f"2026-{day}") for day in ("04-10", "03-31", "05-01"))
Booked = list[tuple[Any, ...]]


def inputs(**said: Any) -> Any:
    made: dict[str, Any] = {
        "period": APRIL,
        "carried": None,
        "tariff": None,
        "mode": Mode.LIVE,
        "days_before": (),
        "is_settled": lambda *_: False,
        "is_named": lambda *_: False,
    }
    return SimpleNamespace(**{**made, **said})


def carried(**said: Any) -> Any:
    made: dict[str, Any] = {"earned": None, "earned_since": None, "settled_days": dict}
    return SimpleNamespace(**{"items": columns.empty(ITEMS), **made, **said})


def paid(code: str = "settled", **said: Any) -> dict[str, Any]:
    """Return a row of the settlement statement: 980 paid for one payment of 10 April."""
    made = {
        "break_code": code,
        "standing": "ok",
        "business_day": DAY,
        "channel": "MPESA_TZ",
        "currency": "TZS",
        "count": 1,
        "net": 980,
        "net_settled": 980,
    }
    return {**dict.fromkeys(SETTLED.columns), **made, **said}


def moved(code: str = "operator_agrees", **said: Any) -> dict[str, Any]:
    """Return a line of an operator that moved 1,000 on 10 April."""
    made = {
        "break_code": code,
        "standing": "ok",
        "operator_day": DAY,
        "channel": "MPESA_TZ",
        "currency": "TZS",
        "kind": "payment",
        "counted_operator": 1_000,
    }
    return {**dict.fromkeys(OPERATOR_MATCHES.columns), **made, **said}


def booked(
    *rows: dict[str, Any],
    lines: tuple[dict[str, Any], ...] = (),
    since: Mapping[Any, int] = {},
    explained: Mapping[Any, int] = {},
    daily: pd.DataFrame | None = None,
    **said: Any,
) -> Booked:
    """Return day, kind, code, rows and net of everything that is booked."""
    payouts: Any = SimpleNamespace(rows=columns.from_dicts(SETTLED, rows))
    operator: Any = SimpleNamespace(rows=columns.from_dicts(OPERATOR_MATCHES, lines))
    found = postings.postings(
        inputs(**said), columns.empty(DAILY) if daily is None else daily, explained,
        payouts=payouts, operator=operator, since=since,
    )  # fmt: skip
    columns.check(found.rows, POSTINGS)
    return [
        (row["business_day"], row["kind"], row["break_code"], row["rows"], row["net"])
        for row in columns.dicts(found.rows)
    ]


BREAK = {"standing": "break"}


@pytest.mark.parametrize(
    ("row", "parts"),
    [
        (paid(), [("payout", None, 980)]),
        (paid(net_settled=0), []),
        (paid("settlement_read_before"), []),
        (paid("settlement_read_before", **BREAK), []),
        (paid("settlement_duplicate", **BREAK), [("not_booked", "settlement_duplicate", 980)]),
        (paid("settlement_short", net_settled=900, **BREAK), [("payout", "settlement_short", 900)]),
        (
            paid("settlement_over", net_settled=1_000, **BREAK),
            [("payout", "settlement_over", 980), ("payout_break", "settlement_over", 20)],
        ),
        (
            paid("settlement_unknown", count=0, **BREAK),
            [("payout_break", "settlement_unknown", 980)],
        ),
        (
            paid("settlement_taken_back", net_settled=-980, **BREAK),
            [("payout", "settlement_taken_back", -980)],
        ),
        (
            paid("settlement_refund_booked", net_settled=-980),
            [("payout", None, -980), ("refund", None, 980)],
        ),
        (
            paid("settlement_charge", net_settled=-50),
            [("payout", None, -50), ("provider_charge", None, 50)],
        ),
        (
            paid("settlement_charge", net_settled=-50, business_day=BEFORE),
            [("charge_since", None, 50), ("paid_since", None, -50)],
        ),
        (
            paid("settlement_refund_booked", net_settled=-980, business_day=BEFORE),
            [("paid_since", None, -980), ("refund_since", None, 980)],
        ),
        (paid(business_day=BEFORE), [("not_booked", None, 980)]),
        (paid(business_day=AFTER), [("not_booked", None, 980)]),
        (paid(business_day=None), [("payout", None, 980)]),
        (
            paid("settlement_over", net_settled=1_000, business_day=BEFORE, **BREAK),
            [("not_booked", "settlement_over", 1_000)],
        ),
    ],
)  # fmt: skip
def test_a_row_of_the_settlement_statement_is_booked(
    row: dict[str, Any], parts: list[tuple[str, str | None, int]]
) -> None:
    found = booked(row)
    assert sorted((kind, str(code), net) for _, kind, code, _, net in found) == sorted(
        (kind, str(code), net) for kind, code, net in parts
    )
    day = pd.Timestamp(APRIL.last) if row["business_day"] is None else row["business_day"]
    assert {one[0] for one in found} <= {day}


def test_rows_of_one_day_channel_and_kind_are_counted_together() -> None:
    rows = [paid(), paid(), paid(channel="TIGO_TZ"), paid(channel=None), paid(currency="KES")]
    assert sorted(one[3:] for one in booked(*rows)) == [(1, 980), (1, 980), (1, 980), (2, 1_960)]


def test_a_break_of_a_day_that_an_earlier_close_compared_is_of_what_is_known_since() -> None:
    row = paid("settlement_over", net_settled=1_000, business_day=BEFORE, **BREAK)
    found = booked(row, days_before=(BEFORE.date(),))
    assert [one[1:] for one in found] == [
        ("not_booked", "settlement_over", 1, 980),
        ("over_since", "settlement_over", 1, 20),
    ]


WAITING = (BEFORE, "MPESA_TZ", "TZS")


@pytest.mark.parametrize(
    ("since", "said", "parts"),
    [
        ({WAITING: 980}, {}, [("paid_since", 980)]),
        ({WAITING: 900}, {}, [("over_since", 80), ("paid_since", 900)]),
        ({WAITING: 2_000}, {}, [("paid_since", 980)]),
        ({WAITING: 0}, {}, [("over_since", 980)]),
        ({WAITING: -5}, {}, [("over_since", 980)]),
        ({WAITING: -5}, {"net_settled": -9}, [("over_since", -4), ("paid_since", -5)]),
        ({("col_1",): 980}, {"collection_id": "col_1"}, [("paid_since", 980)]),
        ({WAITING: 980}, {"collection_id": "col_1"}, [("not_booked", 980)]),
        ({WAITING: 980}, {"channel": "TIGO_TZ"}, [("not_booked", 980)]),
        ({WAITING: 980}, {"channel": None}, [("not_booked", 980)]),
        ({(BEFORE, None, "TZS"): 980}, {"channel": None}, [("paid_since", 980)]),
        ({WAITING: 980}, {"currency": "KES"}, [("not_booked", 980)]),
        ({WAITING: 980}, {"business_day": DAY}, [("payout", 980)]),
    ],
)
def test_what_an_earlier_period_waited_for_is_paid_on_its_own_day(
    since: dict[Any, int], said: dict[str, Any], parts: list[tuple[str, int]]
) -> None:
    found = booked(paid(**{"business_day": BEFORE, **said}), since=since)
    assert [(kind, net) for _, kind, _, _, net in found] == parts


def test_two_payouts_clear_no_more_than_waited() -> None:
    row = paid(business_day=BEFORE)
    found = booked(row, row, since={WAITING: 1_000})
    assert [one[1:] for one in found] == [
        ("over_since", "settlement_over", 1, 960),
        ("paid_since", None, 1, 1_000),
    ]


@pytest.mark.parametrize(
    ("batch", "days", "is_taken"),
    [("B1", {}, True), ("B2", {}, False), ("B9 B3", {}, False), ("B2", {BEFORE.date(): 0}, True)],
)
def test_a_batch_that_an_earlier_period_counted_pays_no_more(
    batch: str, days: dict[date, int], is_taken: bool
) -> None:
    items = [{"leg": STATEMENT, "reference": "B2 B3"}, {"leg": "books", "reference": "B1"}]
    before = carried(items=columns.from_dicts(ITEMS, items), settled_days=lambda: days)
    row = paid(business_day=BEFORE, batch_id=batch)
    [(_, kind, *_)] = booked(row, since={WAITING: 980}, carried=before)
    assert kind == ("paid_since" if is_taken else "not_booked")


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (moved(), []),
        (moved("operator_refund", kind="refund", counted_operator=-700), [("refund", None, 700)]),
        (
            moved("operator_refund_booked", kind="reversal", counted_operator=-700),
            [("refund", None, 700)],
        ),
        (moved(kind="payout", counted_operator=-700), [("payout", None, 700)]),
        (moved(kind="fee", counted_operator=-7), []),
        (moved("operator_line_again", **BREAK), [("not_booked", "operator_line_again", 1_000)]),
        (
            moved("operator_unknown_here", **BREAK),
            [("line_break", "operator_unknown_here", 1_000)],
        ),
        (
            moved("operator_amount", bridge_effect=30, **BREAK),
            [("line_break", "operator_amount", 30)],
        ),
        (moved("operator_amount", bridge_effect=-30, **BREAK), []),
        (
            moved("operator_chargeback", kind="chargeback", bridge_effect=-30, **BREAK),
            [("line_break", "operator_chargeback", -30)],
        ),
        (
            moved("operator_fees", kind="fee", bridge_effect=0, **BREAK),
            [("not_booked", "operator_fees", 0)],
        ),
        (moved(counted_operator=0, kind="payout"), []),
        (
            moved(kind="payout", counted_operator=-700, operator_day=BEFORE),
            [("not_booked", None, 700)],
        ),
    ],
)
def test_a_line_of_an_operator_is_booked(
    line: dict[str, Any], parts: list[tuple[str, str | None, int]]
) -> None:
    found = booked(lines=(line,))
    assert [(kind, code, net) for _, kind, code, _, net in found] == parts


@pytest.mark.parametrize("is_named", [True, False])
def test_of_a_channel_that_the_provider_pays_out_an_operator_pays_nothing_out(
    is_named: bool,
) -> None:
    out = moved("operator_payout", kind="payout", counted_operator=-700)
    lines = out, moved("operator_unknown_here", **BREAK), moved("operator_refund", kind="refund",
                                                                counted_operator=-9)  # fmt: skip
    found = booked(lines=lines, is_settled=lambda *_: True, is_named=lambda *_: is_named)
    assert [(kind, code, net) for _, kind, code, _, net in found] == [
        *([] if is_named else [("not_booked", "operator_payout", -700)]),
        ("not_booked", "operator_unknown_here", 1_000),
        ("refund", None, 9),
    ]


def daily(*rows: tuple[Any, int, int, int], channel: str | None = "MPESA_TZ") -> pd.DataFrame:
    return columns.from_dicts(
        DAILY,
        [
            dict(zip(("business_day", "succeeded", "gross", "fee"), row, strict=True))
            | {"currency": "TZS", "channel": channel}
            for row in rows
        ],
    )


def test_collections_of_each_day_are_booked_gross_less_their_fee() -> None:
    rows = daily((DAY, 3, 3_000, 54), (DAY, 0, 9, 9), (None, 1, 9, 9))
    assert booked(daily=rows) == [(DAY, "collections", None, 3, 2_946)]


PRICE = {
    "mode": "live",
    "currency": "TZS",
    "channel": "MPESA_TZ",
    "excise_bps": 1_000,
    "vat_bps": 1_800,
    "first_day": None,
    "last_day": None,
}


@pytest.mark.parametrize(
    ("said", "is_taxed"),
    [
        *(({}, True), ({"mode": "test"}, False), ({"currency": "KES"}, False)),
        *(({"channel": "TIGO_TZ"}, False), ({"first_day": DAY, "last_day": DAY}, True)),
        *(({"first_day": AFTER}, False), ({"last_day": BEFORE}, False)),
    ],
    ids=str,
)
def test_the_taxes_of_a_fee_are_those_of_the_price_that_holds(
    said: dict[str, Any], is_taxed: bool
) -> None:
    tariff = pd.DataFrame([{**PRICE, **said}]).astype(
        {"first_day": "datetime64[us]", "last_day": "datetime64[us]"}
    )
    found = postings.postings(inputs(tariff=tariff), daily((DAY, 1, 10_000, 1_298))).rows
    [row] = columns.dicts(found)
    assert (row["excise"], row["vat"], row["net"]) == (
        *((100, 198) if is_taxed else (0, 0)),
        8_702,
    )


def test_the_taxes_of_a_fee_are_taken_out_of_it_and_a_rate_that_is_not_said_is_none() -> None:
    assert taxes(1_298, excise=1_000, vat=1_800) == (100, 198)
    assert taxes(118, excise=0, vat=1_800) == (0, 18)
    assert taxes(110, excise=1_000, vat=0) == (10, 0)
    tariff = pd.DataFrame([{**PRICE, "excise_bps": None}]).astype(
        {"first_day": "datetime64[us]", "last_day": "datetime64[us]"}
    )
    [row] = columns.dicts(
        postings.postings(inputs(tariff=tariff), daily((DAY, 1, 1_000, 118))).rows
    )
    assert (row["excise"], row["vat"]) == (0, 18)


EARNED = columns.from_rows(
    POSTINGS,
    [
        (BEFORE, "TZS", "MPESA_TZ", "collections", None, 2, 2_000, 40, 0, 0, 1_960),
        (BEFORE, "TZS", "MPESA_TZ", "over_since", "settlement_over", 1, 0, 0, 0, 0, 20),
        (DAY, "TZS", "MPESA_TZ", "collections", None, 9, 9, 9, 9, 9, 9),
    ],
)


def test_of_a_day_before_the_period_what_changed_since_its_close_is_booked() -> None:
    later = daily((BEFORE, 0, 1_000, 20), (DAY, 0, 7, 7)).assign(rows=1)
    before = carried(earned=EARNED, earned_since=later)
    assert booked(carried=before) == [(BEFORE, "collections", None, 1, 980)]
    nothing = carried(earned=EARNED)
    assert booked(carried=nothing) == []
    key = BEFORE, "TZS", "MPESA_TZ", "over_since", "settlement_over"
    assert booked(carried=nothing, explained={key: -20}) == [(*key[:1], *key[3:], 1, -20)]


def test_what_was_earned_is_kept_for_the_next_close() -> None:
    before = carried(earned=EARNED)
    found = postings.postings(inputs(carried=before), daily((DAY, 1, 1_000, 20)))
    assert found.earned[["kind", "rows", "net"]].to_numpy().tolist() == [
        ["collections", 2, 1_960],
        ["over_since", 1, 20],
        ["collections", 1, 980],
    ]


@pytest.mark.parametrize(
    ("paid_", "owed", "found"),
    [
        *((5, 3, 3), (3, 5, 3), (5, 0, 0), (5, -3, 0), (-5, -3, -3), (-3, -5, -3), (-5, 3, 0)),
        (0, 3, 0),
    ],
)
def test_a_payout_clears_no_more_than_is_owed_on_its_side(
    paid_: int, owed: int, found: int
) -> None:
    assert cleared(paid_, owed) == found


def test_differences_are_of_all_keys_in_their_order() -> None:
    now, before = {("b",): (1, 2, 3, 4, 5, 6)}, {("a",): (1,) * 6, ("b",): (1,) * 6}
    assert list(differences(now, before)) == [(("a",), (-1,) * 6), (("b",), (0, 1, 2, 3, 4, 5))]


def held(**said: Any) -> dict[str, Any]:
    made = {
        "break_id": "B1",
        "leg": "operator",
        "break_code": "x",
        "currency": "TZS",
        "day": DAY,
        "amount": 700,
        "suspended": 700,
        "channel": "MPESA_TZ",
        "carried_from": None,
    }
    return {**dict.fromkeys(ITEMS.columns), **made, **said}


MARCH = Period(first=date(2026, 3, 1), last=date(2026, 3, 31))


def explained(*endings: Any, expected: Any = (), due: Mapping[str, int] = {}) -> dict[Any, int]:
    return dict(suspense.explained(APRIL, MARCH, list(endings), list(expected), due))


MARCH_END = pd.Timestamp(MARCH.last)


def test_what_is_cleared_is_explained_whole_under_the_day_on_which_it_was_booked() -> None:
    key = MARCH_END, "TZS", "MPESA_TZ", "explained", "x"
    assert explained((held(), None)) == {key: 700}, (
        "a line of April was booked on the last of March"
    )
    early = held(day=pd.Timestamp("2026-02-20"), channel=None)
    assert explained((early, None)) == {(pd.Timestamp(MARCH.first), "TZS", None, *key[3:]): 700}
    assert explained((held(day=None), None)) == {key: 700}
    older = held(carried_from="2026-02-01..2026-02-28")
    assert explained((older, None)) == {(pd.Timestamp("2026-02-28"), *key[1:]): 700}
    payout = held(leg=STATEMENT, day=pd.Timestamp("2026-02-20"), balance=0)
    assert explained((payout, None)) == {(payout["day"], *key[1:]): 700}
    assert explained((held(suspended=None), None), (held(suspended=0), None)) == {}
    assert explained((held(), None), (held(), None)) == {key: 1_400}


@pytest.mark.parametrize(
    ("now", "gone"),
    [
        ({}, 0),
        ({"amount": 500, "suspended": 500}, 200),
        ({"amount": 900, "suspended": 900}, 0),
        ({"amount": 500, "suspended": -500}, 700),
        ({"break_code": "y", "suspended": 0}, 700),
        ({"currency": "KES", "suspended": 300}, 400),
    ],
)
def test_what_is_still_open_is_held_on(now: dict[str, Any], gone: int) -> None:
    assert sum(explained((held(), held(**now))).values()) == gone
    assert suspense.suspended(held(), held(**now), {}) == 700 - gone


def test_what_clears_in_this_period_is_explained_under_its_own_days() -> None:
    key = DAY, "TZS", "MPESA_TZ", "explained", "x"
    assert explained(expected=[held()]) == {key: 700}
    beyond = {(pd.Timestamp(APRIL.last), *key[1:]): 700}
    assert explained(expected=[held(day=AFTER)]) == beyond


@pytest.mark.parametrize(
    ("suspended", "balance", "due", "now", "found"),
    [
        # 20 too much was paid, and nothing came since.
        (20, -20, 0, -20, (20, 20)),
        # What became due since explains a part, or all of it.
        (20, -20, 5, -15, (15, 15)),
        (20, -20, 30, 10, (0, 0)),
        # 980 waited; 1,000 came: 20 of it is too much, and is held from now on.
        (0, 980, 0, -20, (0, 20)),
        (0, 980, 0, 80, (0, 0)),
        # It was taken back, and 15 more.
        (20, -20, 0, 0, (0, 0)),
        (20, -20, 0, 15, (0, -15)),
    ],
)
def test_of_a_payout_what_is_too_much_is_held(
    suspended: int, balance: int, due: int, now: int, found: tuple[int, int]
) -> None:
    was = held(leg=STATEMENT, suspended=suspended, balance=balance)
    left = held(leg=STATEMENT, balance=now)
    owed, (kept, held_now) = {"B1": due} if due else {}, found
    assert sum(explained((was, left), due=owed).values()) == suspended - kept
    assert suspense.suspended(was, left, owed) == held_now
