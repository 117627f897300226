"""Shares, bridges in one row and providers of page one, counted again in plain Python."""

from collections import defaultdict
from functools import cache
from types import SimpleNamespace
from typing import Any

import msgspec
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.frames import frame_of

from kusanya_books import columns
from kusanya_books.columns import (
    BANK_MATCHES,
    BREAKS,
    BRIDGE,
    DAILY,
    MOVEMENTS,
    OPERATOR_MATCHES,
    RECONCILIATION,
    SETTLED,
    Schema,
)
from kusanya_books.judge import coverage, reconciliation
from kusanya_books.judge.coverage import Key, Taken
from kusanya_books.read import load
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.report_inputs import Inputs

Row = dict[str, Any]
DAY = pd.Timestamp(2026, 3, 5)
CHANNELS = ("MPESA_TZ", "TIGO_TZ")
CURRENCIES = ("TZS", "KES")
KEYS = [(channel, currency) for channel in CHANNELS for currency in CURRENCIES]
KEY = st.sampled_from(KEYS)
MONEY = st.integers(0, 9_000)
STATUS = st.sampled_from(["succeeded", "failed", None])


@cache
def sample() -> Inputs:
    """Return a month that is made once: what the others are made from."""
    return load.inputs(CloseRequest(period="2026-03"))


def drawn(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Row]]:
    made = st.fixed_dictionaries({"key": KEY, **fields})
    return st.lists(made, max_size=6)


TAKEN = st.dictionaries(KEY, st.tuples(st.integers(0, 6), MONEY, MONEY), max_size=4)
BOOKS = drawn(
    row_no=st.none() | st.just(3), match_rule=st.none() | st.just("id"), status_service=STATUS,
    amount_service=MONEY,
)  # fmt: skip
OPERATOR = drawn(
    line_no=st.none() | st.just(3), group_key=st.none() | st.just("line 3"), status_service=STATUS,
    amount_service=MONEY,
)  # fmt: skip
SETTLEMENT = drawn(
    gross_settled=st.none() | MONEY, gross=st.none() | MONEY,
    count=st.none() | st.integers(0, 4), is_named=st.booleans(),
)  # fmt: skip
BANK = drawn(
    payout=st.none() | st.just("PO"), amount_payout=st.none() | MONEY,
    break_code=st.sampled_from(["bank_agrees", "bank_pending", "bank_missing", "bank_short"]),
)  # fmt: skip


def keyed(schema: Schema, rows: list[Row], *, currency: str = "currency") -> pd.DataFrame:
    """Return the frame of drawn rows, each with the channel and the currency of its key."""
    named = [
        {"channel": row["key"][0] if row.get("is_named", True) else None, currency: row["key"][1]}
        for row in rows
    ]
    return frame_of(schema, *({**row, **name} for row, name in zip(rows, named, strict=True)))


def taken_of(drawn_sums: dict[Key, tuple[int, int, int]]) -> dict[Key, Taken]:
    return {
        key: Taken(rows=rows, amount=amount, net=net, open_rows=0, open_amount=0)
        for key, (rows, amount, net) in drawn_sums.items()
    }


def shares(
    found: dict[Key, Taken], movements: pd.DataFrame | None = None, **legs: Any
) -> dict[tuple[str, Key], tuple[int | None, int]]:
    """Return what the table says of each leg and key: the rows and the money that it met."""
    given_legs = dict.fromkeys(("matched", "settled", "operator", "bank"))
    inputs = msgspec.structs.replace(sample(), movements=movements)
    said = coverage.coverage(inputs, found, **{**given_legs, **legs})
    for row in columns.dicts(said):
        one = found[row["channel"], row["currency"]]
        assert row["rows"] == one.rows
        assert row["amount"] == (one.net if row["leg"] == "bank" else one.amount)
        whole = row["amount"]
        assert row["percent"] == (100 * row["amount_met"] // whole if whole else 100)
    assert len(said) == 4 * sum(one.rows > 0 for one in found.values())
    return {
        (row["leg"], (row["channel"], row["currency"])): (row["rows_met"], row["amount_met"])
        for row in columns.dicts(said)
    }


def within(value: int, most: int) -> int:
    return min(max(value, 0), most)


@given(TAKEN, BOOKS, OPERATOR, st.sets(st.sampled_from(CHANNELS)))
def test_books_and_operators_met_all_but_what_stands_alone(
    taken: dict[Key, tuple[int, int, int]], books: list[Row], lines: list[Row], compared: set[str]
) -> None:
    found = taken_of(taken)
    places = {"books": ("row_no", "match_rule"), "operator": ("line_no", "group_key")}
    alone: defaultdict[tuple[str, Key], list[int]] = defaultdict(list)
    for leg, rows in (("books", books), ("operator", lines)):
        for row in rows:
            is_paid = row["status_service"] == "succeeded"
            if is_paid and all(row[name] is None for name in places[leg]):
                alone[leg, row["key"]].append(row["amount_service"])
    moved = frame_of(
        MOVEMENTS,
        *({"leg": "operator", "channel": name} for name in compared),
        *({"leg": "bank", "channel": name} for name in CHANNELS),
    )
    said = shares(
        found,
        moved,
        matched=SimpleNamespace(rows=keyed(BREAKS, books, currency="currency_service")),
        operator=SimpleNamespace(rows=keyed(OPERATOR_MATCHES, lines), is_unread=False),
    )
    for key, one in found.items():
        if not one.rows:
            continue
        for leg in ("books", "operator"):
            left = alone[leg, key]
            met = (one.rows - len(left), one.amount - sum(left))
            if leg == "operator" and key[0] not in compared:
                met = (0, 0)
            assert said[leg, key] == (within(met[0], one.rows), within(met[1], one.amount))
        assert said["settlement", key] == (0, 0)
        assert said["bank", key] == (None, 0)


@given(TAKEN, SETTLEMENT, BANK)
def test_settlement_and_bank_met_what_they_name_and_share_what_names_no_channel(
    taken: dict[Key, tuple[int, int, int]], days: list[Row], payouts: list[Row]
) -> None:
    found = taken_of(taken)
    said = shares(
        found,
        settled=SimpleNamespace(rows=keyed(SETTLED, days)),
        bank=SimpleNamespace(rows=keyed(BANK_MATCHES, payouts), is_unread=False),
    )
    met = [row for row in days if row["gross_settled"] and row["gross"] is not None]
    paid = {key: one for key, one in found.items() if one.rows}
    for key, one in paid.items():
        mine = [row for row in met if row["is_named"] and row["key"] == key]
        loose = [row for row in met if not row["is_named"] and row["key"][1] == key[1]]
        alike = [other for (_, currency), other in paid.items() if currency == key[1]]
        rows = sum(1 if row["count"] is None else row["count"] for row in mine)
        more = sum(1 if row["count"] is None else row["count"] for row in loose)
        amount, gross = (sum(row["gross"] for row in some) for some in (mine, loose))
        rows += more * one.rows // sum(other.rows for other in alike)
        whole = sum(other.amount for other in alike)
        amount += gross * one.amount // whole if whole else 0
        assert said["settlement", key] == (within(rows, one.rows), within(amount, one.amount))
        credited = sum(
            row["amount_payout"]
            for row in payouts
            if row["key"] == key
            and row["payout"] is not None
            and row["amount_payout"] is not None
            and row["break_code"] in {"bank_agrees", "bank_short"}
        )
        assert said["bank", key] == (None, within(credited, one.net))


@pytest.mark.parametrize("movements", [None, columns.empty(MOVEMENTS)])
def test_what_was_not_given_or_could_not_be_read_met_nothing(movements: Any) -> None:
    found = {KEYS[0]: Taken(rows=2, amount=500, net=490, open_rows=0, open_amount=0)}
    unread = SimpleNamespace(rows=columns.empty(OPERATOR_MATCHES), is_unread=True)
    said = shares(found, movements, operator=unread)
    assert said == {
        ("books", KEYS[0]): (0, 0),
        ("operator", KEYS[0]): (0, 0),
        ("settlement", KEYS[0]): (0, 0),
        ("bank", KEYS[0]): (None, 0),
    }


BRIDGES: dict[str, list[tuple[str, str]]] = {
    "books": [
        ("ledger total", "opening"), ("amount_mismatch", "adjustment"), ("unread", "memo"),
        ("service total", "counted"), ("unexplained", "difference"),
    ],
    "operator": [
        ("operator total", "opening"), ("operator_missing", "adjustment"), ("of its own", "memo"),
        ("another total", "counted"), ("unexplained", "difference"), ("opening balance", "memo"),
        ("not in the balances", "memo"),
    ],
    "payouts": [
        ("gross", "opening"), ("fees", "adjustment"), ("net", "subtotal"), ("paid out", "counted"),
        ("open balance", "memo"),
    ],
    "cut short": [("operator total", "opening"), ("operator_missing", "adjustment"),
                  ("the rest", "counted")],
}  # fmt: skip
"""The lines of a bridge, and how each adds up: a total above what is unexplained is counted."""


@pytest.mark.parametrize("name", BRIDGES)
def test_each_line_of_a_bridge_adds_up_as_its_place_says(name: str) -> None:
    lines = [line for line, _ in BRIDGES[name]]
    assert [role.value for role in reconciliation.roles(lines)] == [
        role for _, role in BRIDGES[name]
    ]


def test_a_statement_has_the_balance_as_adjusted_before_the_other_side() -> None:
    amounts = [1_000, -30, None, 980, 10]
    rows = [
        {"currency": "TZS", "line": line, "rows": number, "amount": amount}
        for number, ((line, _), amount) in enumerate(zip(BRIDGES["books"], amounts, strict=True))
    ]
    bridges = [
        ("books", frame_of(BRIDGE, *rows)),
        ("bank", columns.empty(BRIDGE)),
        ("payouts: no statement was given", frame_of(BRIDGE, *rows)),
    ]
    found = reconciliation.statement(bridges[:2])
    assert [
        (row["part"], row["role"], row["line"], row["code"], row["standing"], row["rows"],
         row["amount"])
        for row in columns.dicts(found)
    ] == [
        ("books", "opening", "Balance of the books", None, None, 0, 1_000),
        ("books", "adjustment", "the amounts differ", "amount_mismatch", "break", 1, -30),
        ("books", "memo", "Rows that could not be read", None, None, 2, None),
        ("books", "subtotal", "Balance as adjusted", None, None, None, 970),
        ("books", "counted", "Balance of the service, as counted", None, None, 3, 980),
        ("books", "difference", "Difference", None, None, None, 10),
        ("bank", "memo", "nothing to compare", None, None, None, None),
    ]  # fmt: skip
    said = columns.dicts(reconciliation.statement(bridges[2:]))
    assert (said[0]["part"], said[0]["line"]) == ("payouts", "no statement was given")


LINES: list[tuple[str, str | None, str, str | None, int | None]] = [
    ("books", None, "opening", None, 1_000),
    ("books", None, "adjustment", "break", -30),
    ("books", None, "adjustment", "break", -4),
    ("books", None, "adjustment", "expected", 7),
    ("books", None, "adjustment", None, 100),
    ("books", None, "adjustment", "break", None),
    ("books", None, "subtotal", None, 5_000),
    ("books", None, "counted", None, 1_070),
    ("books", None, "difference", None, 3),
    ("books", None, "memo", "break", 9_000),
    ("nothing", None, "memo", None, None),
    ("statement", "MPESA_TZ", "opening", None, 20),
    ("statement", "MPESA_TZ", "adjustment", "break", 2),
    ("statement", "MPESA_TZ", "counted", None, 22),
    ("statement", "TIGO_TZ", "counted", None, 5),
    ("statement", "TIGO_TZ", "counted", None, 9),
]


def test_each_bridge_stands_in_one_row_with_what_breaks_and_what_is_carried() -> None:
    rows = [
        {"part": part, "channel": channel, "currency": "TZS", "role": role, "standing": standing,
         "amount": amount, "line": role}
        for part, channel, role, standing, amount in LINES
    ]  # fmt: skip
    found = reconciliation.balances(frame_of(RECONCILIATION, *rows))
    assert [tuple(row.values()) for row in columns.dicts(found)] == [
        ("books", None, "TZS", 1_000, -34, 107, 1_073, 1_070, 3),
        ("statement", "MPESA_TZ", "TZS", 20, 2, 0, 22, 22, 0),
        ("statement", "TIGO_TZ", "TZS", 0, 0, 0, 0, 5, -5),
    ]


def of_day(channel: str, day: Any, succeeded: int, gross: int, fee: int | None) -> Row:
    return {
        "channel": channel, "currency": "TZS", "business_day": day, "succeeded": succeeded,
        "gross": gross, "fee": fee,
    }  # fmt: skip


def test_each_provider_has_what_it_took_and_what_it_paid_out() -> None:
    daily = frame_of(
        DAILY,
        of_day("MPESA_TZ", DAY, 2, 5_000, 90),
        of_day("MPESA_TZ", DAY + pd.Timedelta(days=1), 1, 700, None),
        of_day("TIGO_TZ", DAY, 3, 9_000, 135),
        of_day("TOTAL", None, 6, 14_700, 225),
    )
    rows = [
        {"channel": "MPESA_TZ", "currency": "TZS", "net_settled": 4_910, "open_balance": 0},
        {"channel": "MPESA_TZ", "currency": "TZS", "net_settled": 600, "open_balance": 90},
        {"channel": "AIRTEL_TZ", "currency": "TZS", "net_settled": 40, "open_balance": None},
        {
            "channel": "MPESA_TZ",
            "currency": "TZS",
            "net_settled": -300,
            "open_balance": 0,
            "break_code": "settlement_refund_booked",
        },
        {
            "channel": "MPESA_TZ",
            "currency": "TZS",
            "net_settled": -70,
            "open_balance": 0,
            "break_code": "settlement_charge",
        },
        {
            "channel": "MPESA_TZ",
            "currency": "TZS",
            "net_settled": 80,
            "open_balance": 0,
            "break_code": "settlement_other_period",
        },
    ]
    found = reconciliation.providers(daily, frame_of(SETTLED, *rows))
    assert [tuple(row.values()) for row in columns.dicts(found)] == [
        ("AIRTEL_TZ", "TZS", 0, 0, 0, 0, 40, 0, 0, 0, 0, -40),
        ("MPESA_TZ", "TZS", 3, 5_700, 90, 5_610, 5_220, 80, 300, 70, 90, 10),
        ("TIGO_TZ", "TZS", 3, 9_000, 135, 8_865, *[None] * 6),
    ]
    alone = reconciliation.providers(daily, None)
    assert [tuple(row.values()) for row in columns.dicts(alone)] == [
        ("MPESA_TZ", "TZS", 3, 5_700, 90, 5_610, *[None] * 6),
        ("TIGO_TZ", "TZS", 3, 9_000, 135, 8_865, *[None] * 6),
    ]


def test_a_frame_with_the_lines_of_a_bridge_and_no_parts_is_a_bridge() -> None:
    plain = columns.empty(BRIDGE)
    assert reconciliation.is_bridge(plain)
    assert reconciliation.is_bridge(plain.assign(channel=None))
    assert not reconciliation.is_bridge(plain.assign(part=None))
    assert not reconciliation.is_bridge(plain.drop(columns="amount"))
