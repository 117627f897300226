"""What a row of a leg is on the list of what is left to do: its name, its money, its day."""

from datetime import date
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import BANK_MATCHES, BREAKS, DOUBLES, EXCEPTIONS, ITEMS, OPERATOR_MATCHES
from kusanya_books.columns import PAYOUTS as SETTLED
from kusanya_books.judge import findings, open_items
from kusanya_books.request.days import Period

DAY, NEXT = pd.Timestamp("2026-03-05"), pd.Timestamp("2026-03-06")
LINE = "line 2026-03-05 1000"
MARCH = Period(first=date(2026, 3, 1), last=date(2026, 3, 31))


def inputs(**said: Any) -> Any:
    made: dict[str, Any] = {
        "mode": Mode.LIVE,
        "judged_on": date(2026, 4, 9),
        "histories": {},
        "period": MARCH,
        "tariff": None,
        "days_before": (),
        "is_settled": lambda *_: False,
    }
    return SimpleNamespace(**{**made, **said})


def listed(**said: Any) -> list[dict[str, Any]]:
    """Return the items of a close of which only some parts are given."""
    parts: dict[str, Any] = dict.fromkeys(("matched", "settled", "operator", "bank"))
    tables = {"exceptions": columns.empty(EXCEPTIONS), "late": pd.DataFrame({"key": []})}
    given = said.pop("inputs", inputs())
    found = open_items.items(given, **{**parts, **tables, **said})
    columns.check(found, ITEMS)
    return columns.dicts(found)


def leg(rows: pd.DataFrame, gaps: Any = ()) -> Any:
    return SimpleNamespace(
        rows=rows, balances=SimpleNamespace(gaps=pd.DataFrame(gaps)), doubles=columns.empty(DOUBLES)
    )


def of_operator(**said: Any) -> list[dict[str, Any]]:
    made = {
        "break_code": "operator_missing",
        "standing": "break",
        "currency": "TZS",
        "at_stake": 9,
        "receipt": "RC1",
        "collection_id": "col_1",
        "reference": "R-1",
        "channel": "MPESA_TZ",
        "line_no": 4,
        "operator_day": DAY,
        "amount_operator": 1_000,
        "kind": "payment",
    }
    rows = columns.from_dicts(
        OPERATOR_MATCHES, [{**dict.fromkeys(OPERATOR_MATCHES.columns), **made, **said}]
    )
    return list(open_items.of_operator(rows))


@pytest.mark.parametrize(
    ("said", "subject", "line", "key"),
    [
        ({}, "RC1", None, None),
        ({"receipt": None}, "col_1", LINE, None),
        ({"receipt": None, "collection_id": None}, LINE, LINE, f" {LINE}"),
        ({"collection_id": None}, "RC1", None, f"RC1 {LINE}"),
        ({"receipt": None, "line_no": None}, "col_1", None, None),
    ],
)
def test_a_row_of_an_operator_is_called_by_its_receipt_payment_or_line(
    said: dict[str, Any], subject: str, line: str | None, key: str | None
) -> None:
    [item] = of_operator(**said)
    assert (item["subject"], item[open_items.LINE], item["key"]) == (subject, line, key)


BOTH = {"amount_service": 900, "bridge_effect": 5}


@pytest.mark.parametrize(
    ("said", "balance", "figures"),
    [
        ({}, None, "1000|"),
        ({"amount_service": 900}, None, "1000|900"),
        (BOTH, 100, "1000|900"),
        ({**BOTH, "status_service": "succeeded"}, 100, "1000|900"),
        ({**BOTH, "status_service": "failed"}, 1_000, "1000|900"),
        ({"bridge_effect": 5}, 5, "1000|"),
        ({"amount_operator": None, "amount_service": 900, "bridge_effect": -900, "line_no": None},
         -900, "|900"),
        ({"break_code": "operator_fee_differs", "fee_operator": 30, "fee_service": 20,
          "fee_drift": 10}, -10, "30|20"),
        ({"break_code": "operator_fees_differ", "fee_operator": 10, "fee_service": 20,
          "fee_drift": -10}, 10, "10|20"),
    ],
)  # fmt: skip
def test_a_row_of_an_operator_has_what_its_line_has_more(
    said: dict[str, Any], balance: int | None, figures: str
) -> None:
    [item] = of_operator(**said)
    assert (None if pd.isna(item["balance"]) else item["balance"], item["figures"]) == (
        balance,
        figures,
    )


@pytest.mark.parametrize(
    ("said", "finding"),
    [
        ({}, findings.OPERATOR),
        ({"standing": "ok"}, None),
        ({"standing": "expected"}, None),
        ({"break_code": "operator_across_cutoff"}, findings.ACROSS),
        ({"break_code": "operator_across_cutoff", "standing": "expected"}, findings.ACROSS),
    ],
)
def test_a_break_is_a_finding_of_its_leg_and_what_agrees_in_two_periods_of_both(
    said: dict[str, Any], finding: str | None
) -> None:
    assert of_operator(**said)[0]["finding"] == finding


def test_the_day_of_an_operators_row_is_that_of_the_payment_else_of_the_line() -> None:
    assert of_operator()[0]["day"] == DAY
    assert of_operator(business_day=NEXT)[0]["day"] == NEXT


@pytest.mark.parametrize(
    ("is_settled", "day", "suspended"),
    [(False, DAY, 1_000), (True, DAY, 0), (False, pd.Timestamp("2026-04-01"), 0)],
)
def test_of_an_operators_break_is_held_what_its_close_booked(
    is_settled: bool, day: pd.Timestamp, suspended: int
) -> None:
    row: dict[str, Any] = {"break_code": "operator_unknown_here", "standing": "break"}
    row["currency"] = "TZS"
    row |= {"kind": "payment", "counted_operator": 1_000, "operator_day": day, "line_no": 1}
    row |= {"amount_operator": 1_000, "at_stake": 1_000}
    rows = columns.from_dicts(OPERATOR_MATCHES, [row])
    [item] = listed(operator=leg(rows), inputs=inputs(is_settled=lambda *_: is_settled))
    assert item["suspended"] == suspended


def of_bank(**said: Any) -> dict[str, Any]:
    made = {
        "break_code": "bank_missing",
        "standing": "break",
        "currency": "TZS",
        "at_stake": 9,
        "payout": "B1",
        "line_no": 4,
        "bank_day": NEXT,
        "amount_bank": 1_000,
        "amount_payout": 980,
        "bridge_effect": 20,
        "payout_day": DAY,
    }
    rows = [{**dict.fromkeys(BANK_MATCHES.columns), **made, **said}]
    [item] = open_items.of_bank(columns.from_dicts(BANK_MATCHES, rows))
    return item


@pytest.mark.parametrize(
    ("said", "subject", "reference", "day"),
    [
        ({}, "B1", "B1", DAY),
        ({"group_key": "G"}, "B1", "B1", DAY),
        ({"payout": None}, "line 2026-03-06 1000", None, DAY),
        ({"payout": None, "group_key": "G"}, "line 2026-03-06 1000", "G", DAY),
        ({"payout_day": None}, "B1", "B1", NEXT),
    ],
)
def test_a_row_of_the_bank_is_called_by_its_payout_or_its_line(
    said: dict[str, Any], subject: str, reference: str | None, day: pd.Timestamp
) -> None:
    item = of_bank(**said)
    assert (item["subject"], item["reference"], item["day"]) == (subject, reference, day)
    assert (item["balance"], item["figures"], item["amount"]) == (20, "1000|980", 9)
    assert item[open_items.LINE] == "line 2026-03-06 1000"


def test_of_the_bank_what_waits_is_listed_and_what_agrees_is_not() -> None:
    rows = [
        {"break_code": code, "standing": standing, "payout": code, "payout_day": DAY, "at_stake": 1}
        for code, standing in (
            ("bank_missing", "break"), ("bank_pending", "expected"), ("bank_agrees", "ok"),
            ("bank_zero", "expected"),
        )
    ]  # fmt: skip
    rows[2]["break_code"] = "bank_debit"
    found = listed(bank=leg(columns.from_dicts(BANK_MATCHES, rows)))
    assert [(one["break_code"], one["standing"], one["finding"]) for one in found] == [
        ("bank_missing", "break", findings.BANK),
        ("bank_pending", "expected", None),
    ]


def of_books(**said: Any) -> dict[str, Any]:
    made = {
        "break_id": "B1",
        "break_code": "x",
        "standing": "break",
        "row_no": 4,
        "at_stake": 9,
        "currency_ledger": "TZS",
        "currency_service": "KES",
        "bridge_effect": -9,
        "amount_ledger": 1,
        "amount_service": 2,
        "fee_service": 3,
        "booked_day": NEXT,
    }
    rows = [{**dict.fromkeys(BREAKS.columns), **made, **said}]
    [item] = open_items.of_books(columns.from_dicts(BREAKS, rows), finding="f")
    return item


def test_a_row_of_the_books_is_listed_with_what_both_sides_say() -> None:
    item = of_books()
    assert (item["finding"], item["row_no"], item["currency"]) == ("f", 4, "TZS")
    assert (item["amount"], item["balance"], item["figures"]) == (9, -9, "1|2||3")
    assert item["day"] == NEXT
    assert of_books(business_day=DAY)["day"] == DAY
    assert of_books(standing="expected")["finding"] is None
    assert of_books(currency_ledger=None)["currency"] == "KES"
    for row_no in (None, -3):
        assert of_books(row_no=row_no)["row_no"] is None, "a carried line is no row of these books"
    assert of_books(row_no=0)["row_no"] == 0


@pytest.mark.parametrize(
    ("said", "known", "suspended"),
    [
        ({}, (), 20),
        ({"business_day": pd.Timestamp("2026-02-28")}, (), 0),
        ({"business_day": pd.Timestamp("2026-02-28")}, (date(2026, 2, 28),), 20),
        ({"business_day": pd.Timestamp("2026-02-28")}, (date(2026, 2, 27),), 0),
        ({"standing": "expected", "break_code": "settlement_pending"}, (), 0),
    ],
)
def test_of_a_payout_is_held_what_its_close_booked(
    said: dict[str, Any], known: Any, suspended: int
) -> None:
    row = {
        "break_id": "B1",
        "break_code": "settlement_over",
        "standing": "break",
        "count": 1,
        "business_day": DAY,
        "currency": "TZS",
        "batch_id": "BT",
        "line_no": 3,
        "net": 980,
        "gross": 1_000,
        "fee": 20,
        "net_settled": 1_000,
        "open_balance": -20,
    }
    rows = columns.from_dicts(SETTLED, [{**row, **said}, {**row, "break_id": None}])
    [item] = listed(settled=leg(rows), inputs=inputs(days_before=known))
    assert (item["suspended"], item["amount"], item["balance"]) == (suspended, 20, -20)
    assert (item["reference"], item["row_no"], item["break_id"]) == ("BT", 3, "B1")
    assert item["figures"] == "1000|20|980|||1000"
    assert item["finding"] == (findings.PAYOUTS if "standing" not in said else None)


@pytest.mark.parametrize(
    ("drift", "is_agreed", "code", "finding"),
    [
        (5, True, "fee_above_tariff", findings.ABOVE),
        (1, True, "fee_above_tariff", findings.ABOVE),
        (-5, True, "fee_below_tariff", findings.BELOW),
        (5, False, "fee_above_tariff", None),
        (-5, False, "fee_below_tariff", None),
    ],
)
def test_a_fee_beside_the_tariff_is_a_finding_where_one_was_agreed(
    drift: int, is_agreed: bool, code: str, finding: str | None
) -> None:
    row = {"collection_id": "col_1", "currency": "TZS", "created_day": DAY, "drift": drift}
    row |= {"amount": 1_000, "charged": 18 + drift, "expected": 18}
    rows = columns.from_dicts(EXCEPTIONS, [row])
    [item] = listed(exceptions=rows, inputs=inputs(tariff="agreed" if is_agreed else None))
    assert (item["break_code"], item["finding"], item["amount"]) == (code, finding, drift)
    assert (item["subject"], item["figures"]) == ("col_1", f"1000|{18 + drift}|18")
    assert item["standing"] == "break"


def double(**said: Any) -> pd.DataFrame:
    made = {
        "currency": "TZS",
        "reference": "R-1",
        "collection_ids": "col_1 col_2",
        "refund": 700,
        "last_at": pd.NaT,
        "business_day": DAY,
        "payments": 2,
        "amount": 1_400,
        "at_stake": 700,
        "booked": 1,
        "suspected": True,
    }
    return columns.from_dicts(DOUBLES, [{**made, **said}])


def test_a_suspected_second_payment_is_about_the_first_of_them() -> None:
    matched = leg(columns.empty(BREAKS))
    matched.doubles = double()
    [item] = listed(matched=matched)
    assert (item["collection_id"], item["subject"]) == ("col_1", "col_1 col_2")
    assert (item["amount"], item["figures"], item["day"]) == (700, "2|1400|1", DAY)
    matched.doubles = double(suspected=False)
    assert listed(matched=matched) == []


@pytest.mark.parametrize(
    ("taken", "found"),
    [({"B1", "B2"}, [("TZS", 2, 705)]), ({"B1"}, [("TZS", 1, 5)]), (set(), [])],
)
def test_a_refund_is_accepted_with_all_second_payments_of_its_order(
    taken: set[str], found: list[tuple[str, int, int]]
) -> None:
    rows = [
        {"break_code": "double_payment", "break_id": f"B{at}", "collection_id": f"col_{at}"}
        for at in (1, 2)
    ]
    matched = leg(
        columns.from_dicts(BREAKS, [*rows, {**rows[0], "break_code": "x", "break_id": "B9"}])
    )
    matched.doubles = pd.concat(
        [
            *(double(suspected=False), double(suspected=False, collection_ids="col_1", refund=5)),
            *(double(), double(suspected=False, collection_ids="col_7", refund=1)),
        ]
    )
    accepted = pd.DataFrame({"break_id": sorted(taken)})
    assert open_items.refunds_of(matched, accepted) == found
    assert open_items.refunds_of(None, accepted) == []


def test_what_was_accepted_counts_where_a_finding_counts_it() -> None:
    rows = [
        {"break_id": id_, "status": status, "finding": finding}
        for id_, status, finding in (
            *(("A", "accepted", "f"), ("B", "accepted", None), ("C", "open", "f")),
            ("D", None, "f"),
        )
    ]
    found = open_items.accepted(columns.from_dicts(ITEMS, rows))
    assert found["break_id"].tolist() == ["A"]


def test_late_changes_of_one_payment_are_one_item() -> None:
    late = pd.DataFrame(
        {
            "key": ["c1", "c2", "c1"],
            "field": ["status", "fee", "amount"],
            "currency": "TZS",
            "now": ["failed", None, "7"],
            "amount_effect": [-9, 1, 0],
        }
    )
    first, second = listed(late=late)
    assert (first["subject"], first["figures"], first["amount"]) == (
        "c1",
        "status=failed|amount=7",
        -9,
    )
    assert (second["collection_id"], second["figures"]) == ("c2", "fee=")


GAP = {
    "channel": "MPESA_TZ",
    "currency": "TZS",
    "day": NEXT,
    "day_before": DAY,
    "input": "m.csv",
    "balance_before": 5_000,
    "balance": 9_000,
    "amount": -4_000,
}


def test_where_lines_lack_between_two_balances_is_an_item_of_each_leg() -> None:
    found = listed(
        operator=leg(columns.empty(OPERATOR_MATCHES), [GAP]),
        bank=leg(columns.empty(BANK_MATCHES), [{**GAP, "channel": None}]),
    )
    assert [(one["subject"], one["amount"], one["figures"]) for one in found] == [
        ("MPESA_TZ 2026-03-06 5000", 4_000, "5000|9000"),
        ("bank 2026-03-06 5000", 4_000, "5000|9000"),
    ]
    assert "5,000 of 2026-03-05 and 9,000 of 2026-03-06 in m.csv" in found[0]["suggested_action"]


def test_two_things_of_one_name_have_two_ids_and_of_two_currencies_one_each() -> None:
    rows: list[dict[str, Any]] = [
        {"leg": "bank", "currency": currency, "subject": "B1", "finding": "f", "standing": "ok"}
        for currency in ("TZS", "TZS", "KES", None)
    ]
    ids = [item["break_id"] for item in open_items.numbered(inputs(), rows)]
    assert len(set(ids)) == 4
    again = [item["break_id"] for item in open_items.numbered(inputs(), rows[:1])]
    assert again == ids[:1]
    keyed = [{**rows[0], "key": "K"}, {**rows[0], "subject": "other", "key": "K"}]
    first, second = open_items.numbered(inputs(), keyed)
    assert first["break_id"] != second["break_id"] != ids[0]
    assert (first["standing"], first["subject"]) == ("break", "B1")
    [waits] = open_items.numbered(inputs(), [{**rows[0], "finding": None}])
    assert waits["standing"] == "ok"


@pytest.mark.parametrize(
    ("said", "age"),
    [
        ({"day": DAY}, 35),
        ({"day": DAY, "age_days": 2}, 2),
        ({"day": pd.Timestamp("2026-04-20")}, 0),
        ({"day": None}, None),
        ({"day": pd.NaT}, None),
    ],
)
def test_an_item_is_as_old_as_its_day_on_the_day_of_the_run(
    said: dict[str, Any], age: int | None
) -> None:
    item = {**dict.fromkeys(ITEMS.columns), "break_id": "B1", "leg": "bank", "break_code": "x"}
    found = open_items.decided({**item, "figures": "", **said}, inputs())
    assert (found["age_days"], found["status"], found["owner"]) == (age, "open", None)
