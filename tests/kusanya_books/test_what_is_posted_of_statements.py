"""What the legs say of payouts and of the wallet is booked once, by the channel it is of."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.accounts import PLAIN_ACCOUNTS
from tests.kit.earlier import compared
from tests.kit.frames import frame_of
from tests.kit.movements import movements_of
from tests.kit.statements import statement_of

from kusanya_books import columns
from kusanya_books.columns import DUE, ITEMS, LEDGER
from kusanya_books.judge import fees, postings, roll_forward
from kusanya_books.match import operator, settlement
from kusanya_books.pack.journals import account_map, journal_entries
from kusanya_books.read import load
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.days import period
from kusanya_books.request.earlier_period import EarlierPeriod
from kusanya_books.request.report_inputs import Inputs

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
Make = Callable[..., pd.DataFrame]
SETTLED, WALLET = "MPESA_TZ", "TIGO_TZ"
ACCOUNTS = f"""{PLAIN_ACCOUNTS}
[channels.{SETTLED}]
clearing = "Clearing settled"
[channels.{WALLET}]
clearing = "Clearing wallet"
"""


def at(day: int) -> datetime:
    return datetime(2026, 3, day, 9, tzinfo=UTC)


@cache
def sample() -> Inputs:
    """Return a month that is made once: what the others are made from."""
    return load.inputs(CloseRequest(period="2026-03"))


def month_of(make: Make, month: Any) -> Inputs:
    """Return the inputs of a month; of one channel payouts are settled, of one the wallet tells."""
    taken, settled, lines = month
    rows = [
        {
            "channel": channel,
            "amount": amount,
            "fee": amount // 100,
            "created_at": at(day),
            "completed_at": at(day),
        }
        for channel, day, amount in taken
    ]
    collections = make(*rows)
    net: Counter[int] = Counter()
    for channel, day, amount in taken:
        net[day] += amount - amount // 100 if channel == SETTLED else 0
    said: list[dict[str, Any]] = []
    for day, how in settled:
        due = net[day] + {"short": -7, "over": 13}.get(how, 0)
        for _ in range({"none": 0, "twice": 2}.get(how, 1)):
            said.append(
                {
                    **dict.fromkeys(("collection_id", "gross", "fee")),
                    "line_no": len(said) + 1,
                    "batch_id": f"B{day}",
                    "channel": SETTLED,
                    "currency": "TZS",
                    "net": due,
                    "day": f"2026-03-{day:02}",
                }
            )
    wallet: list[dict[str, Any]] = [
        {
            "receipt": f"RC{row['id'].upper()}",
            "collection_id": row["id"],
            "amount": int(row["amount"]),
            "at": at(row["completed_at"].day),
        }
        for row in collections.to_dict("records")
        if row["channel"] == WALLET
    ]
    for number, (day, what, amount) in enumerate(lines):
        sign = {"back": 1, "unknown": 1}.get(what, -1)
        kind = {"back": "reversal", "unknown": "payment"}.get(what, what)
        line = {"receipt": f"X{number}", "kind": kind, "amount": sign * amount, "at": at(day)}
        if what == "copy" and wallet:
            line = {**wallet[0], "input": f"again{number}.csv"}
        elif what == "copy":
            continue
        wallet.append(line)
    statement = statement_of(said)
    return msgspec.structs.replace(
        sample(),
        collections=collections,
        statement=statement,
        movements=movements_of(*({"channel": WALLET, **line} for line in wallet)),
        ledger=None,
        receipts=None,
        tariff=None,
    )


def posted(month: Inputs) -> pd.DataFrame:
    daily = fees.daily(month.collections, period=month.period)
    payouts = settlement.of(month)
    rolled = roll_forward.roll(month, columns.empty(ITEMS), matched=None, payouts=payouts)
    return postings.postings(
        month,
        daily,
        payouts=payouts,
        operator=operator.of(month, everything=False),
        since=rolled.cleared,
    ).rows


def test_a_payout_taken_back_is_no_refund_to_customers(module_collections: Make) -> None:
    month = month_of(module_collections, ([], [], [(2, "back", 85_000), (2, "refund", 5_000)]))
    rows = posted(month)
    assert rows.loc[rows["kind"] == "refund", "net"].tolist() == [5_000]
    [taken_back] = rows[rows["kind"] == "line_break"].to_dict("records")
    assert (taken_back["break_code"], taken_back["net"]) == ("operator_reversal_alone", 85_000)


def test_lines_of_a_day_are_counted_and_collections_alone_have_a_gross_and_fees(
    module_collections: Make,
) -> None:
    taken = [(SETTLED, 2, 10_000), (SETTLED, 2, 20_000), (WALLET, 3, 5_000)]
    lines = [(3, "refund", 100), (3, "refund", 200), (4, "refund", 400), (3, "payout", 4_000)]
    rows = posted(month_of(module_collections, (taken, [(2, "paid")], lines)))
    figures = ["rows", "gross", "fee", "excise", "vat", "net"]
    booked = {
        (row["kind"], row["business_day"].day): tuple(row[name] for name in figures)
        for row in rows.to_dict("records")
    }
    assert booked == {
        ("collections", 2): (2, 30_000, 300, 0, 0, 29_700),
        ("collections", 3): (1, 5_000, 50, 0, 0, 4_950),
        ("payout", 2): (1, 0, 0, 0, 0, 29_700),
        ("payout", 3): (1, 0, 0, 0, 0, 4_000),
        ("refund", 3): (2, 0, 0, 0, 0, 300),
        ("refund", 4): (1, 0, 0, 0, 0, 400),
    }
    assert rows.index.tolist() == list(range(6))


def test_a_payout_of_the_wallet_is_booked_beside_a_settlement_of_another_channel(
    module_collections: Make,
) -> None:
    month = month_of(
        module_collections,
        ([(SETTLED, 1, 10_000), (WALLET, 1, 5_000)], [(1, "all")], [(2, "payout", 4_000)]),
    )
    rows = posted(month)
    paid = rows[rows["kind"] == "payout"]
    assert list(zip(paid["channel"], paid["rows"], paid["net"], strict=True)) == [
        (SETTLED, 1, 9_900),
        (WALLET, 1, 4_000),
    ]
    # Where the statement says what was paid out, the operator's own line is not booked again.
    both = msgspec.structs.replace(
        month, movements=movements_of({"kind": "payout", "amount": -9_900, "at": at(2)})
    )
    again = posted(both)
    assert again.loc[again["kind"] == "payout", "net"].tolist() == [9_900]


@pytest.mark.parametrize("beside", [1, -1])
def test_what_an_operator_moved_beyond_a_payment_is_booked_and_what_lacks_is_still_owed(
    module_collections: Make, beside: int
) -> None:
    month = month_of(module_collections, ([(WALLET, 1, 5_000)], [], []))
    lines = month.of_operators
    other = msgspec.structs.replace(month, movements=lines.assign(amount=lines["amount"] + beside))
    rows = posted(other)
    apart = rows[rows["kind"] == "line_break"]
    assert apart["net"].tolist() == [beside][: beside > 0]


days = st.integers(1, 4)
months = st.tuples(
    st.lists(
        st.tuples(st.sampled_from([SETTLED, WALLET]), days, st.sampled_from([1_000, 5_000])),
        max_size=6,
    ),
    st.lists(
        st.tuples(days, st.sampled_from(["all", "all", "short", "over", "none", "twice"])),
        unique_by=lambda line: line[0],
        max_size=4,
    ),
    st.lists(
        st.tuples(
            days,
            st.sampled_from(["payout", "refund", "back", "unknown", "chargeback", "fee", "copy"]),
            st.sampled_from([500, 1_000]),
        ),
        max_size=4,
    ),
)


@pytest.mark.merge
@pytest.mark.scale(12, 80, 500)
def test_the_clearing_account_rolls_to_what_the_legs_leave_open(
    module_collections: Make, rounds: int, tmp_path: Path
) -> None:
    (tmp_path / "accounts.toml").write_text(ACCOUNTS, encoding="utf-8")
    accounts = account_map.read(tmp_path / "accounts.toml")

    @settings(max_examples=rounds, deadline=None, database=None)
    @given(months)
    def holds(drawn: Any) -> None:
        month = month_of(module_collections, drawn)
        made = journal_entries.journals(posted(month), accounts)
        held: Counter[str] = Counter()
        for entry in made.entries:
            assert sum(line.amount for line in entry.lines) == 0
            for line in entry.lines:
                held[line.account] += line.amount
        assert not made.missing
        taken, settled, lines = drawn
        earned: Counter[int] = Counter()
        for channel, day, amount in taken:
            earned[day] += amount - amount // 100 if channel == SETTLED else 0
        said = {
            day: earned[day] + {"short": -7, "over": 13}.get(how, 0)
            for day, how in settled
            if how != "none"
        }
        # The provider owes what was earned and is not paid out; what was paid beyond is apart.
        owed = sum(max(0, net - said.get(day, 0)) for day, net in earned.items() if net)
        assert held["Clearing settled"] == owed
        # The wallet holds its lines, each once, but for the fees, which the service counts.
        wallet = sum(amount - amount // 100 for channel, _, amount in taken if channel == WALLET)
        signs = {"back": 1, "unknown": 1, "fee": 0, "copy": 0}
        wallet += sum(signs.get(what, -1) * amount for _, what, amount in lines)
        assert held["Clearing wallet"] == wallet

    holds()


CARRIED = {
    "paid whole": (990, 990, "B9", [("paid_since", None, 28, 990)]),
    "paid in part": (1_500, 990, "B9", [("paid_since", None, 28, 990)]),
    "paid more": (700, 990, "B9", [
        ("over_since", "settlement_over", 28, 290), ("paid_since", None, 28, 700)]),
    "taken back": (-990, -990, "B9", [("paid_since", None, 28, -990)]),
    "taken back more": (-700, -990, "B9", [
        ("over_since", "settlement_over", 28, -290), ("paid_since", None, 28, -700)]),
    "nothing was owed": (0, 990, "B9", [("over_since", "settlement_over", 28, 990)]),
    "too much was paid before": (-50, 990, "B9", [("over_since", "settlement_over", 28, 990)]),
    "counted then": (990, 990, "B0", [("not_booked", None, 28, 990)]),
}  # fmt: skip
"""What was owed and is paid, the batch, and what is booked: kind, code, day and money."""


@pytest.mark.parametrize("case", CARRIED)
@pytest.mark.parametrize("by", ["day", "item", "due since"])
def test_what_an_earlier_month_waited_for_is_paid_on_its_own_day(
    module_collections: Make, case: str, by: str
) -> None:
    owed, paid, batch, wanted = CARRIED[case]
    early = datetime(2026, 2, 28, 9, tzinfo=UTC)
    took = {"channel": SETTLED, "amount": 1_000, "fee": 10}
    collections = module_collections({**took, "created_at": early, "completed_at": early})
    id_ = collections["id"].iloc[0]
    line = {
        **dict.fromkeys(("gross", "fee")), "line_no": 1, "batch_id": batch, "channel": SETTLED,
        "currency": "TZS", "net": paid, "day": "2026-02-28",
        "collection_id": id_ if by == "item" else None,
    }  # fmt: skip
    day = pd.Timestamp(2026, 2, 28)
    item = {
        "leg": "statement", "break_id": "b", "day": day, "channel": SETTLED, "currency": "TZS",
        "balance": owed, "amount": abs(owed), "reference": "B0", "standing": "break",
        "break_code": "settlement_missing",
        "collection_id": id_ if by == "item" else None,
    }  # fmt: skip
    due = {"collection_id": id_, "business_day": day, "channel": SETTLED, "currency": "TZS"}
    is_since = by == "due since"
    if is_since:
        item |= {"balance": 0, "day": pd.Timestamp(2026, 2, 1)}
    carried = EarlierPeriod(
        run_id="february",
        period=period("2026-02"),
        items=frame_of(ITEMS, item),
        lines=columns.empty(LEDGER),
        compared=compared(period("2026-02"), books=False, has_settlement=True),
        due_since=frame_of(DUE, *([{**due, "net": owed}] if is_since else [])),
    )
    month = msgspec.structs.replace(
        month_of(module_collections, ([], [], [])),
        collections=collections,
        statement=statement_of([line]),
        carried=carried,
    )
    rows = posted(month)
    assert [
        (row["kind"], row["break_code"], row["business_day"].day, row["net"])
        for row in columns.dicts(rows)
    ] == wanted
