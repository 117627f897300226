"""Breaks that few months have: the advice of each followed, in March closed again and in April."""

import functools
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from typing import Any

import msgspec
import pandas as pd
import pytest
from tests.kit.earlier import compared
from tests.kit.movements import movements_of

from kusanya_books import columns
from kusanya_books.columns import DUE, INTENTS, LEDGER, STATEMENT
from kusanya_books.judge import carried_payouts
from kusanya_books.judge.report import Report, ReportVerdict, report
from kusanya_books.read import load
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.days import period
from kusanya_books.request.earlier_period import Compared, EarlierPeriod
from kusanya_books.request.report_inputs import Inputs
from kusanya_books.request.tolerance import PLAIN, Tolerance

pytestmark = pytest.mark.usefixtures("no_settings")
Line = dict[str, Any]


def at(month: int, day: int, hour: int = 9) -> datetime:
    return datetime(2026, month, day, hour, tzinfo=UTC)


def sale(name: str, day: int, month: int = 3) -> Line:
    """Return what the service says of a payment of 1,000 with a fee of 18."""
    when = {"created_at": at(month, day), "completed_at": at(month, day)}
    return {"id": f"col_{name}", "reference": name, **when}


def paid(name: str, day: int, month: int = 3, **more: Any) -> Line:
    """Return the operator's line for it, its fee beside it."""
    return {"receipt": f"RC{name}", "reference": name, "at": at(month, day), "fee": 18, **more}


def paid_out(name: str, day: int, amount: int, month: int = 3) -> Line:
    return {"receipt": name, "at": at(month, day), "kind": "payout", "amount": -amount}


def credited(name: str, day: int, amount: int, month: int = 3, **more: Any) -> Line:
    bank = {"leg": "bank", "input": "bank.xml", "channel": None, "kind": "payout"}
    return {**bank, "details": name, "at": at(month, day), "amount": amount, **more}


ONE, TWO = paid("A", 2), paid("B", 30)
BOTH = (sale("A", 2), sale("B", 30))
FEES = {"kind": "fee", "amount": -50, "at": at(3, 30, 10), "details": "charges of March"}
BESIDE_NOTHING = [{**ONE, "fee": None}, {**TWO, "fee": None}]
COPY = credited("PAYOUT-7", 11, 2_000, input="again.xml", receipt="B7")


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A break of March, and what is given once its advice was followed."""

    march: list[Line]
    sales: tuple[Line, ...] = BOTH
    unanswered: str | None = None
    again: list[Line] | None = None
    """March's lines when it is closed again; None where only April can put it right."""
    april: list[Line]
    sales_then: tuple[Line, ...] = ()


CASES = {
    "operator_fees_differ": Case(
        march=[*BESIDE_NOTHING, FEES],
        april=[{"kind": "fee", "amount": 14, "at": at(4, 9), "details": "charges given back"}],
    ),
    "operator_outcome_unknown": Case(
        march=[ONE, TWO, paid("C", 20)],
        unanswered="C",
        sales_then=(*BOTH, sale("C", 20)),
        again=[ONE, TWO, paid("C", 20)],
        april=[],
    ),
    "operator_unknown_here": Case(
        march=[ONE, TWO, {**paid("C", 20), "receipt": None}],
        sales_then=(*BOTH, sale("C", 20)),
        again=[ONE, TWO, {**paid("C", 20), "receipt": None}],
        april=[],
    ),
    "operator_not_reached": Case(
        sales=(*BOTH, sale("C", 1)),
        march=[ONE, TWO],
        again=[ONE, TWO, paid("C", 1)],
        april=[paid("C", 1)],
    ),
    "bank_line_again": Case(
        march=[ONE, TWO, paid_out("PAYOUT-7", 10, 2_000), {**COPY, "input": "bank.xml"}, COPY],
        again=[ONE, TWO, paid_out("PAYOUT-7", 10, 2_000), COPY],
        april=[],
    ),
    "bank_perhaps_earlier": Case(
        march=[
            ONE,
            TWO,
            paid_out("PAYOUT-7", 3, 2_000),
            credited("PAYOUT-7", 4, 2_000),
            credited("PAYOUT-6", 2, 700),
        ],
        again=[
            ONE,
            TWO,
            paid_out("PAYOUT-6", 27, 700, month=2),
            paid_out("PAYOUT-7", 3, 2_000),
            credited("PAYOUT-7", 4, 2_000),
            credited("PAYOUT-6", 2, 700),
        ],
        april=[paid_out("PAYOUT-6", 27, 700, month=2)],
    ),
}
Close = Callable[..., Report]
March = Callable[[str], Report]


@pytest.fixture(scope="module")
def close_month(module_collections: Callable[..., pd.DataFrame]) -> Close:
    """Return what closes a month over the sales and the lines of statements that are given."""
    plain = load.inputs(CloseRequest(mode="live", period="2020-01"))

    def closing(
        span: str,
        sales: Iterable[Line],
        lines: list[Line],
        *,
        unanswered: str | None = None,
        carried: EarlierPeriod | None = None,
        booked: Iterable[Line] = (),
        statement: pd.DataFrame | None = None,
        tolerance: Tolerance = PLAIN,
    ) -> Report:
        asked = {**dict.fromkeys(INTENTS.columns), "reference": unanswered, "mode": "live"}
        asked |= {"prepared_at": at(3, 20), "amount": 1_000, "currency": "TZS"}
        open_intents = {name: [asked[name]] for name in INTENTS.columns}
        days = period(span)
        return report(msgspec.structs.replace(
            plain,
            collections=module_collections(*sales),
            intents=columns.frame(INTENTS, open_intents) if unanswered else plain.intents,
            ledger=books_of(*booked) if booked else None,
            statement=statement,
            tolerance=tolerance,
            movements=movements_of(*lines) if lines else None,
            period=days,
            judged_on=days.last,
            quality=(),
            carried=carried,
        ))  # fmt: skip

    return closing


@pytest.fixture(scope="module")
def march_of(close_month: Close) -> Callable[[str], Report]:
    """Return what closes the March of a code, once."""

    @functools.cache
    def closing(code: str) -> Report:
        case = CASES[code]
        return close_month("2026-03", case.sales, case.march, unanswered=case.unanswered)

    return closing


def books_of(*sales: Line) -> pd.DataFrame:
    """Return books in which these are booked on their day."""
    plain = {"currency": "TZS", "status": "paid", "kind": "payment", "amount": 1_000}
    rows = [
        {**dict.fromkeys(LEDGER.columns), **plain, "row_no": number, "reference": one["reference"]}
        | {"booked_at": one["completed_at"], "booked_day": one["completed_at"].replace(tzinfo=None)}
        for number, one in enumerate(sales, start=2)
    ]
    frame = pd.DataFrame(rows)
    frame["booked_day"] = frame["booked_day"].dt.normalize()
    return columns.frame(LEDGER, frame)


def carried_of(march: Report) -> EarlierPeriod:
    return EarlierPeriod(
        run_id="march",
        period=march.inputs.period,
        items=march.items,
        lines=march.lines,
        compared=compared(march.inputs.period, books=False),
        movements=march.movements,
        payouts=march.payouts,
    )


def broken(made: Report) -> list[str]:
    """Return the codes of the operator's and the bank's breaks that are open."""
    found = made.items[made.items["leg"].isin(["operator", "bank"])]
    return sorted(found.loc[found["standing"] == "break", "break_code"])


@pytest.mark.merge
@pytest.mark.parametrize("code", CASES)
def test_march_has_the_break_and_no_other(march_of: March, code: str) -> None:
    march = march_of(code)
    assert broken(march) == [code]
    assert march.verdict(max_breaks=0) is ReportVerdict.BREAKS


@pytest.mark.merge
@pytest.mark.parametrize("code", [code for code, case in CASES.items() if case.again is not None])
def test_march_closed_again_by_the_advice_has_none(close_month: Close, code: str) -> None:
    case = CASES[code]
    march = close_month("2026-03", case.sales_then or case.sales, case.again or [])
    assert broken(march) == []
    assert march.verdict() is ReportVerdict.NOT_PROVEN, march.findings.to_string()


@pytest.mark.merge
@pytest.mark.parametrize("code", CASES)
def test_in_april_what_was_advised_clears_it_and_brings_no_other(
    close_month: Close, march_of: March, code: str
) -> None:
    case = CASES[code]
    then = [*(case.sales_then or case.sales), sale("D", 3, month=4)]
    april = close_month(
        "2026-04", then, [*case.april, paid("D", 3, month=4)], carried=carried_of(march_of(code))
    )
    ended = april.page("carried").frame
    assert ended["break_code"].tolist() == [code]
    assert ended["ending"].tolist() == ["cleared"]
    assert broken(april) == []
    assert april.verdict() is ReportVerdict.NOT_PROVEN, april.findings.to_string()
    assert april.page("rolled_forward").frame["foots"].all()


@pytest.mark.merge
@pytest.mark.parametrize("code", [code for code in CASES if code != "bank_line_again"])
def test_in_april_what_nobody_did_is_still_open(
    close_month: Close, march_of: March, code: str
) -> None:
    case = CASES[code]
    april = close_month(
        "2026-04",
        [*case.sales, sale("D", 3, month=4)],
        [paid("D", 3, month=4)],
        unanswered=case.unanswered,
        carried=carried_of(march_of(code)),
    )
    ended = april.page("carried").frame
    assert ended["ending"].tolist() != ["cleared"]
    assert april.verdict(max_breaks=99) is ReportVerdict.BREAKS
    assert april.page("rolled_forward").frame["foots"].all()


@pytest.mark.merge
@pytest.mark.parametrize(
    ("given_back", "endings", "left"),
    [
        ([9], ["cleared", "cleared"], []),
        ([2, 7], ["cleared", "cleared"], []),
        ([8], ["still open", "still open"], ["operator_fees_differ"]),
        ([], ["still open", "still open"], []),
    ],
)
def test_fees_of_single_payments_are_given_back_in_one_sum(
    close_month: Close, given_back: list[int], endings: list[str], left: list[str]
) -> None:
    march = close_month("2026-03", BOTH, [{**ONE, "fee": 25}, {**TWO, "fee": 20}])
    assert broken(march) == ["operator_fee_differs"] * 2
    back = [
        {**FEES, "amount": one, "at": at(4, 9 + number)} for number, one in enumerate(given_back)
    ]
    april = close_month(
        "2026-04",
        [*BOTH, sale("D", 3, month=4)],
        [*back, paid("D", 3, month=4)],
        carried=carried_of(march),
    )
    assert april.page("carried").frame["ending"].tolist() == endings
    own = april.items[april.items["carried_from"].isna()]
    assert sorted(own["break_code"]) == left
    assert april.page("rolled_forward").frame["foots"].all()


@pytest.mark.merge
@pytest.mark.parametrize(
    ("given_back", "ending"), [(0, "still open"), (13, "still open"), (14, "cleared")]
)
def test_fees_of_the_next_month_clear_those_of_the_last_only_by_what_is_given_back(
    close_month: Close, march_of: March, given_back: int, ending: str
) -> None:
    code, case = "operator_fees_differ", CASES["operator_fees_differ"]
    own = {"kind": "fee", "amount": -18, "at": at(4, 1), "details": "charges of April"}
    back = {"kind": "fee", "amount": given_back, "at": at(4, 9), "details": "given back"}
    april = close_month(
        "2026-04",
        [*case.sales, sale("D", 3, month=4)],
        [own, {**paid("D", 3, month=4), "fee": None}, back],
        carried=carried_of(march_of(code)),
    )
    assert april.page("carried").frame["ending"].tolist() == [ending]
    left = april.items[april.items["break_code"] == "operator_fees_differ"]
    assert left["balance"].sum() == (0 if ending == "cleared" else given_back - 14)


@pytest.mark.merge
def test_a_line_of_nobody_is_not_taken_for_another_payment_of_its_day_and_amount(
    close_month: Close,
) -> None:
    sales = [*BOTH, sale("E", 20)]
    nobody = {**paid("X", 20), "reference": None}
    march = close_month(
        "2026-03", sales, [ONE, TWO, paid("E", 20), nobody], booked=(*BOTH, sale("F", 5))
    )
    assert broken(march) == ["operator_unknown_here"]
    # April knows the payment of E, which is not booked, and not the line that paid it in March.
    later = [*sales, sale("D", 3, month=4)]
    april = close_month(
        "2026-04",
        later,
        [paid("D", 3, month=4)],
        booked=[sale("D", 3, month=4)],
        carried=msgspec.structs.replace(carried_of(march), compared=compared(march.inputs.period)),
    )
    ended = april.page("carried").frame.set_index("break_code")["ending"].to_dict()
    assert ended["operator_unknown_here"] == "still open"


def payouts_of(*rows: tuple[str, int]) -> pd.DataFrame:
    """Return the provider's statement: payouts of 982, each by its name and its day of March."""
    plain = {"channel": "MPESA_TZ", "currency": "TZS", "gross": 1_000, "fee": 18, "net": 982}
    lines = [
        {
            **dict.fromkeys(STATEMENT.columns),
            **STATEMENT.defaults,
            **plain,
            "count": 1,
            "line_no": number,
        }
        | {"batch_id": name, "business_day": pd.Timestamp(2026, 3, day)}
        for number, (name, day) in enumerate(rows, start=2)
    ]
    return columns.frame(STATEMENT, pd.DataFrame(lines))


@pytest.mark.merge
@pytest.mark.parametrize("is_named", [True, False])
def test_a_payout_that_never_came_is_not_paid_by_the_credit_of_another(
    close_month: Close, *, is_named: bool
) -> None:
    sales = [sale("A", 10), sale("B", 11)]
    name = "PAYOUT-B" if is_named else "a credit"
    march = close_month(
        "2026-03",
        sales,
        [credited(name, 12, 982), credited("SALARY", 25, -5, kind="other")],
        statement=payouts_of(("PAYOUT-A", 10), ("PAYOUT-B", 11)),
        tolerance=Tolerance(settle_days=2 if is_named else 1),
    )
    assert broken(march) == ["bank_missing"]
    april = close_month(
        "2026-04",
        [sale("D", 3, month=4)],
        [credited("SALARY", 25, -5, month=4, kind="other")],
        carried=carried_of(march),
        tolerance=Tolerance(settle_days=3),
    )
    assert april.page("carried").frame["ending"].tolist() == ["still open"]


@pytest.mark.merge
@pytest.mark.parametrize(
    ("by", "owed"),
    [
        ("channel", {("MPESA_TZ", None): 1_964, ("TIGO_TZ", None): 985}),
        ("all", {(None, None): 2_949}),
        ("item", {("MPESA_TZ", "a"): 982, ("MPESA_TZ", "b"): 982, ("TIGO_TZ", "c"): 985}),
    ],
)
def test_what_became_due_since_is_owed_as_the_statement_names_payouts(
    by: str, owed: dict[tuple[str | None, str | None], int]
) -> None:
    day = pd.Timestamp(2026, 3, 20)
    statement = payouts_of(("PAYOUT-A", 10))
    statement["channel"] = None if by == "all" else "MPESA_TZ"
    statement["collection_id"] = "z" if by == "item" else None
    due = columns.frame(
        DUE,
        {
            "collection_id": ["a", "b", "c", "d"],
            "business_day": [day] * 4,
            "channel": ["MPESA_TZ", "MPESA_TZ", "TIGO_TZ", "MPESA_TZ"],
            "currency": ["TZS"] * 3 + ["KES"],
            "net": [982, 982, 985, -300],
        },
    )
    plain = load.inputs(CloseRequest(mode="live", period="2026-04"))
    given = columns.frame(STATEMENT, statement)
    march = period("2026-03")
    settled = [["" if by == "all" else "MPESA_TZ"], ["MPESA_TZ"]]
    then, other = (
        compared(march, has_settlement=True, settled=names, by_item=is_by_item)[0]
        for names, is_by_item in zip(settled, (by == "item", by != "item"), strict=True)
    )
    now = msgspec.structs.replace(plain, statement=given)
    found = list(of_days(now, due, other))
    shillings = [item for item in found if item["currency"] == "TZS"]
    assert {(one["channel"], one["collection_id"]): one["balance"] for one in shillings} == owed
    assert {one["break_code"] for one in shillings} == {"settlement_missing"}
    [kenya] = [item for item in found if item["currency"] == "KES"]
    assert (kenya["break_code"], kenya["amount"]) == ("settlement_over", 300)
    assert len({one["break_id"] for one in found}) == len(found)
    none = msgspec.structs.replace(plain, statement=None)
    assert list(of_days(none, due, then)) == found, "as it was named then"


def of_days(inputs: Inputs, due: pd.DataFrame, before: Compared) -> list[dict[str, Any]]:
    lines = columns.empty(STATEMENT) if inputs.statement is None else inputs.statement
    return carried_payouts.of_days(inputs, due, lines, before=before)[0]


def test_what_became_due_since_waits_as_long_as_its_channel_pays_out_late() -> None:
    day = pd.Timestamp(2026, 3, 20)
    due = columns.frame(
        DUE,
        {
            "collection_id": ["a", "b"],
            "business_day": [day, day],
            "channel": ["MPESA_TZ", "TIGO_TZ"],
            "currency": ["TZS", "TZS"],
            "net": [982, 985],
        },
    )
    plain = load.inputs(CloseRequest(mode="live", period="2026-04"))
    found = {}
    for judged_on in (20, 21, 22, 23):
        given = msgspec.structs.replace(
            plain,
            statement=payouts_of(("PAYOUT-A", 10)),
            judged_on=date(2026, 3, judged_on),
            tolerance=Tolerance(settle_days_of={"TIGO_TZ": 2}),
        )
        rows = of_days(given, due, compared(period("2026-03"))[0])
        found[judged_on] = {row["channel"]: (row["break_code"], row["standing"]) for row in rows}
    waits, lacks = ("settlement_pending", "expected"), ("settlement_missing", "break")
    assert found == {
        20: {"MPESA_TZ": waits, "TIGO_TZ": waits},
        21: {"MPESA_TZ": waits, "TIGO_TZ": waits},
        22: {"MPESA_TZ": lacks, "TIGO_TZ": waits},
        23: {"MPESA_TZ": lacks, "TIGO_TZ": lacks},
    }
