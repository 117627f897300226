"""Whether a channel is paid out by its operator, or the provider owes it."""

from datetime import timedelta
from typing import Any

import msgspec
import pandas as pd
import pytest
from tests.kit.earlier import compared
from tests.kit.movements import movements_of

from kusanya_books import columns
from kusanya_books.columns import ITEMS, LEDGER, STATEMENT
from kusanya_books.read import load
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.days import period
from kusanya_books.request.earlier_period import EarlierPeriod
from kusanya_books.request.quality import Quality
from kusanya_books.request.report_inputs import Inputs

NIGHT = period("2026-03-20..2026-03-20")


def night(*spans: tuple[int, list[str]], payers: Any = ()) -> Inputs:
    """Return the inputs of a night on which Airtel's operator pays out, and the provider M-Pesa.

    Before it lie closes that ended so many days earlier, with the channels that they had settled.
    """
    last = NIGHT.first - timedelta(days=1)
    history = [
        one
        for days, settled in spans
        for day in [last - timedelta(days=days)]
        for one in compared(period(f"{day}..{day}"), has_settlement=True, settled=settled)
    ]
    earlier = EarlierPeriod(
        run_id="earlier",
        period=period(f"{last}..{last}"),
        items=columns.empty(ITEMS),
        lines=columns.empty(LEDGER),
        compared=tuple(history),
        payers=payers,
    )
    row = {"channel": "MPESA_TZ", "currency": "TZS", "net": 982, "business_day": NIGHT.first}
    statement = pd.DataFrame(
        [{**dict.fromkeys(STATEMENT.columns), **STATEMENT.defaults, **row, "line_no": 1}]
    )
    statement["business_day"] = pd.to_datetime(statement["business_day"])
    return msgspec.structs.replace(
        load.inputs(CloseRequest(mode="live", period="2026-03")),
        period=NIGHT,
        statement=columns.frame(STATEMENT, statement),
        movements=movements_of(
            {"channel": "AIRTEL_TZ", "kind": "payout", "amount": -500, "receipt": "A1"}
        ),
        carried=earlier if spans else None,
    )


@pytest.mark.merge
@pytest.mark.parametrize(
    ("spans", "pays"),
    [
        ([], True),
        ([(0, ["MPESA_TZ"])], True),
        ([(0, ["MPESA_TZ", "AIRTEL_TZ"])], False),
        ([(1, ["AIRTEL_TZ"]), (0, [])], False),
        ([(30, ["AIRTEL_TZ"]), (0, [])], False),
        ([(31, ["AIRTEL_TZ"]), (0, [])], True),
    ],
)
def test_an_operator_pays_out_itself_where_the_provider_did_not_for_a_month(
    spans: list[tuple[int, list[str]]], *, pays: bool
) -> None:
    made = night(*spans)
    found = made.paid_by_operators
    assert found == ({("AIRTEL_TZ", "TZS")} if pays else set())
    # What the provider charges pays out nothing, of no channel and of none that it names.
    assert made.statement is not None
    charges = [made.statement.assign(kind="charge", channel=name) for name in (None, "AIRTEL_TZ")]
    more = columns.frame(STATEMENT, pd.concat([made.statement, *charges], ignore_index=True))
    assert msgspec.structs.replace(made, statement=more).paid_by_operators == found


@pytest.mark.merge
@pytest.mark.parametrize(
    ("before", "empty", "given"),
    [
        ([["MPESA_TZ", "AIRTEL_TZ"]], 1, {"AIRTEL_TZ", "MPESA_TZ"}),
        ([["MPESA_TZ", "AIRTEL_TZ"], ["AIRTEL_TZ"]], 1, {"AIRTEL_TZ", "MPESA_TZ"}),
        ([["MPESA_TZ", "AIRTEL_TZ"]], 0, {"AIRTEL_TZ"}),
        ([["MPESA_TZ", "AIRTEL_TZ", "TIGO_TZ"]], 1, {"AIRTEL_TZ"}),
        ([["MPESA_TZ", "AIRTEL_TZ", "TIGO_TZ"]], 2, {"AIRTEL_TZ", "MPESA_TZ", "TIGO_TZ"}),
        ([["AIRTEL_TZ"]], 1, {"AIRTEL_TZ"}),
    ],
)
def test_a_statement_without_a_line_is_of_the_channel_that_no_other_one_names(
    before: list[list[str]], empty: int, given: set[str]
) -> None:
    inputs = night((0, []))
    assert inputs.carried is not None
    [own] = inputs.carried.compared
    history = tuple(
        msgspec.structs.replace(own, operators=dict.fromkeys(names, False)) for names in before
    )
    inputs = msgspec.structs.replace(
        inputs,
        carried=msgspec.structs.replace(inputs.carried, compared=history),
        quality=tuple(
            Quality(source=f"operator {number}.csv", rows=0, kept=0) for number in range(empty)
        ),
    )
    assert set(inputs.operator_channels) == given


@pytest.mark.merge
@pytest.mark.parametrize(
    ("before", "named", "receipts", "perhaps"),
    [
        (["MPESA_TZ"], "MPESA_TZ", ["A1"], set()),
        (["AIRTEL_TZ"], "MPESA_TZ", ["A1"], {("AIRTEL_TZ", "TZS")}),
        (["AIRTEL_TZ"], "AIRTEL_TZ", [], set()),
        (["MPESA_TZ"], "AIRTEL_TZ", [], set()),
    ],
)
def test_the_bank_shows_no_payout_of_an_operator_whose_channel_is_settled(
    before: list[str], named: str, receipts: list[str], perhaps: set[tuple[str, str]]
) -> None:
    """Where it was settled within a month it may do so."""
    inputs = night((0, before))
    assert inputs.statement is not None
    statement = inputs.statement.assign(channel=pd.array([named], "string[pyarrow]"))
    given = msgspec.structs.replace(inputs, statement=columns.frame(STATEMENT, statement))
    assert given.at_bank["receipt"].tolist() == receipts
    assert given.perhaps_at_bank == perhaps


def test_who_paid_out_itself_before_goes_on() -> None:
    found = night((0, ["MPESA_TZ"]), payers=[("HALOPESA_TZ", "TZS"), ("MPESA_TZ", "TZS")])
    assert found.paid_by_operators == {("AIRTEL_TZ", "TZS"), ("HALOPESA_TZ", "TZS")}


def test_who_paid_out_itself_before_goes_on_where_no_settlement_statement_is_given() -> None:
    given = night((0, ["MPESA_TZ"]), payers=[("HALOPESA_TZ", "TZS")])
    without = msgspec.structs.replace(given, statement=None)
    assert without.paid_by_operators == {("HALOPESA_TZ", "TZS")}
    assert not without.is_settled("HALOPESA_TZ", "TZS")
    assert msgspec.structs.replace(night(), statement=None).paid_by_operators == set()


@pytest.mark.merge
@pytest.mark.parametrize(
    ("spans", "names", "settled"),
    [
        ([], ["MPESA_TZ"], {"MPESA_TZ"}),
        ([], [None], {"MPESA_TZ", "AIRTEL_TZ"}),
        ([], [], set()),
        ([(0, ["MPESA_TZ"])], [], {"MPESA_TZ"}),
        ([(31, ["MPESA_TZ"]), (0, [])], [], set()),
        ([(0, [""])], [], {"MPESA_TZ", "AIRTEL_TZ"}),
        ([(0, ["MPESA_TZ"])], ["AIRTEL_TZ"], {"MPESA_TZ", "AIRTEL_TZ"}),
    ],
)
def test_the_provider_says_what_is_paid_out_of_the_channels_that_it_named_within_a_month(
    spans: list[tuple[int, list[str]]], names: list[str | None], settled: set[str]
) -> None:
    """That of one night may have no line of a channel, and there may be none of that night."""
    inputs = night(*spans)
    assert inputs.statement is not None
    rows = pd.concat([inputs.statement] * len(names) or [inputs.statement.head(0)])
    statement = columns.frame(STATEMENT, rows.assign(channel=pd.Series(names, dtype="object")))
    for given in (statement, *(() if names else (None,))):
        inputs = msgspec.structs.replace(inputs, statement=given)
        found = {name for name in ("MPESA_TZ", "AIRTEL_TZ") if inputs.is_settled(name, "TZS")}
        assert found == settled
