"""A month on three legs, its advice followed in the next: nothing comes back, and it adds up."""

import itertools
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest
from tests.kit import three_legs
from tests.kit.earlier import compared
from tests.kit.movements import movements_of

from kusanya.domain.business_day import EAT
from kusanya.store import Store
from kusanya_books import columns
from kusanya_books.columns import LEDGER, STATEMENT
from kusanya_books.judge import fees
from kusanya_books.judge.report import Report, ReportVerdict, report
from kusanya_books.pack import close, decisions
from kusanya_books.read import earlier_pack, load
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.days import period
from kusanya_books.request.earlier_period import EarlierPeriod
from kusanya_books.request.report_inputs import Inputs

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
Item = dict[str, Any]
ACCEPTED = {"contradiction", "fee_above_tariff", "fee_below_tariff", "suspected_double"}
"""What nobody can put right afterwards: a person accepts it by name."""
DOUBLES_AND_LATE = {"doubles", "late", "across"}
"""Legs that stay with the pack that found them."""


def items(made: Report) -> list[Item]:
    return [
        {str(name): None if pd.isna(value) else value for name, value in row.items()}
        for row in made.items.to_dict("records")
    ]


def april(day: int) -> datetime:
    return datetime(2026, 4, day, 12, tzinfo=EAT)


class April:
    """April, after everybody did what March's pack advised."""

    def __init__(self, month: three_legs.Month, march: Report) -> None:
        self.month, self.open = month, items(march)
        self.collections = month.made.collections.copy()
        self.lines: list[Item] = []
        self.booked: list[Item] = []
        self._days: set[tuple[str, Any]] = set()
        self._right = month.movements.copy()
        for item in self.open:
            do = getattr(self, f"_{item['leg']}", None)
            if do is not None:
                do(item)
        for name, status in (("unknown_status", "succeeded"), ("still_open", "succeeded")):
            self._settle(self._ids(name), status)
        self._pay_unmet(month)

    def _ids(self, code: str) -> set[str]:
        return {item["collection_id"] for item in self.open if item["break_code"] == code}

    def _settle(self, ids: set[str], status: str) -> None:
        at = self.collections["id"].isin(ids)
        self.collections.loc[at, "status"] = status
        lacks = at & self.collections["completed_at"].isna()
        for name, since in (("completed_at", "created_at"), ("business_day", "created_day")):
            self.collections.loc[lacks, name] = self.collections.loc[lacks, since]

    def _pay_unmet(self, month: three_legs.Month) -> None:
        """Let the provider give the collections that only operator or books knew of."""
        made = month.made
        plain = made.collections.iloc[0].to_dict()
        unknown = [item for item in self.open if item["break_code"] == "operator_unknown_here"]
        rows = [
            {
                **plain,
                "id": f"col_{number}",
                "reference": item["reference"],
                "amount": item["amount"],
                "channel": item["channel"],
                "status": "succeeded",
                "contradictions": 0,
                "fee": 0,
                "completed_at": item["day"].tz_localize("UTC") + timedelta(hours=9),
                "created_at": item["day"].tz_localize("UTC") + timedelta(hours=9),
                "business_day": item["day"],
                "created_day": item["day"],
            }
            for number, item in enumerate(unknown)
        ]
        if rows:
            more = columns.frame(columns.COLLECTIONS, pd.DataFrame(rows))
            self.collections = pd.concat([self.collections, more], ignore_index=True)

    def _line(self, item: Item, amount: int, kind: str, **more: Any) -> None:
        bank = {"leg": "bank", "input": "bank-april.xml", "channel": None}
        plain = {"input": "april.csv", "channel": item["channel"], "reference": item["reference"]}
        self.lines.append(
            {
                **(bank if item["leg"] == "bank" else plain),
                "currency": item["currency"],
                "amount": amount,
                "kind": kind,
                "at": april(2 + len(self.lines) % 20),
                **more,
            }
        )

    def _operator(self, item: Item) -> None:
        code, balance = item["break_code"], item["balance"]
        if code in {"operator_chargeback", "operator_reversed"}:
            self.booked.append({**item, "kind": "refund"})
        elif code == "operator_duplicate":
            self._line(item, -balance, "refund")
        elif code == "operator_missing":
            self._line(item, -balance, "payment", collection_id=item["collection_id"])
        elif code == "operator_not_paid_here":
            self._settle({item["collection_id"]}, "succeeded")
        elif code in {"operator_currency_mismatch", "operator_channel_mismatch"}:
            self._correct(item)
        elif code not in {"operator_unknown_here", "operator_line_again"} and balance:
            self._line(item, -balance, "other")

    def _correct(self, item: Item) -> None:
        """Give the days of a wrong line again, the line put right."""
        right = self._right
        at = right["receipt"] == item["subject"]
        truth = self.collections.set_index("id").loc[item["collection_id"]]
        day = right.loc[at, "business_day"].iloc[0]
        self._days |= {(str(right.loc[at, "channel"].iloc[0]), day), (str(truth["channel"]), day)}
        right.loc[at, "channel"] = truth["channel"]
        right.loc[at, "currency"] = truth["currency"]

    def _bank(self, item: Item) -> None:
        code, balance = item["break_code"], item["balance"]
        named = item["reference"] or "put right"
        kind = {True: "payout", False: "reversal"}[balance < 0]
        if code != "bank_line_again":
            self._line(item, -balance, kind, details=named)

    @property
    def movements(self) -> pd.DataFrame:
        """Return April's lines, and the days of March that are given again."""
        copies = self._right["input"] == "again.csv"
        days = zip(self._right["channel"], self._right["business_day"], strict=True)
        again = pd.Series([day in self._days for day in days], self._right.index) & ~copies
        of_bank = {"leg": "bank", "input": "bank-april.xml", "channel": None, "kind": "other"}
        paid = [
            {**of_bank, "currency": row.currency, "amount": int(row.net), "details": row.batch_id}
            | {"at": april(5)}
            for row in columns.records(self.statement)
        ]
        lines = movements_of(*self.lines, *paid)
        return pd.concat([lines, self._right[again]], ignore_index=True)

    @property
    def books(self) -> pd.DataFrame:
        """Return the books of both months as they should be."""
        second = self._ids("double_payment")
        won = self.collections[self.collections["status"].isin(["succeeded", "contradiction"])]
        lines: list[dict[Any, Any]] = [
            {**row, "kind": "payment", "status": "paid", "booked_at": row["completed_at"]}
            for row in won[~won["id"].isin(second)].to_dict("records")
        ]
        refunds = won[won["id"].isin(second)].to_dict("records")
        lines += [
            {**row, "kind": "refund", "amount": -row["amount"], "fee": None, "status": "paid"}
            | {"booked_at": pd.Timestamp(april(3)).tz_convert("UTC")}
            for row in refunds
        ]
        lines += [
            {**row, "amount": -row["amount"], "fee": None, "status": "paid"}
            | {"booked_at": pd.Timestamp(april(4)).tz_convert("UTC")}
            for row in self.booked
        ]
        frame = pd.DataFrame(lines)
        frame["fee"] = pd.array(
            [None if pd.isna(fee) else int(fee) for fee in frame["fee"]], dtype="Int64"
        )
        at = pd.to_datetime(frame["booked_at"], utc=True).astype("datetime64[us, UTC]")
        local = at.dt.tz_convert(EAT).dt.tz_localize(None).dt.normalize()
        return columns.frame(
            LEDGER,
            frame.assign(
                row_no=range(1, len(frame) + 1), collection_id=None, booked_at=at, booked_day=local
            ),
        )

    @property
    def statement(self) -> pd.DataFrame:
        """Return what the provider paid and took back in April, each for its day of March."""
        owed = [item for item in self.open if item["leg"] == "statement"]
        rows = [
            {
                "line_no": number,
                "batch_id": f"APRIL-{number}",
                "business_day": item["day"],
                "channel": item["channel"],
                "currency": item["currency"],
                "gross": item["balance"],
                "fee": 0,
                "net": item["balance"],
                "count": 1,
                "collection_id": None,
            }
            for number, item in enumerate(owed, start=2)
        ]
        return columns.frame(STATEMENT, pd.DataFrame(rows))


def close_march(plain: Inputs, month: three_legs.Month, tariff: pd.DataFrame) -> Report:
    made = month.made
    return report(
        msgspec.structs.replace(
            plain,
            collections=made.collections,
            other_mode=made.other_mode,
            intents=made.intents,
            ledger=made.ledger,
            statement=made.statement,
            movements=month.movements,
            tariff=tariff,
            period=made.period,
            judged_on=made.period.last,
            quality=(),
        )
    )


def carried_of(march: Report, folder: Path) -> EarlierPeriod:
    """Return what a pack carries; it is written and read as a person's next month reads it."""
    found = earlier_pack.read(close.pack(march, out=folder).folder or folder).carried
    assert found is not None
    return found


def without_a_pack(march: Report) -> EarlierPeriod:
    """Return the same without writing workbook and pages, which takes seconds."""
    numbers = pd.array(range(-1, -len(march.lines) - 1, -1), dtype="Int64")
    return EarlierPeriod(
        run_id="march",
        period=march.inputs.period,
        items=march.items,
        lines=march.lines.assign(row_no=numbers),
        compared=compared(march.inputs.period),
        movements=march.movements,
        payouts=march.payouts,
    )


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.ci) for seed in (1, 2, 3))]
)
def test_a_month_on_three_legs_whose_advice_was_followed_leaves_nothing(
    seed: int, tmp_path: Path
) -> None:
    plain = load.inputs(CloseRequest(mode="live", period="2020-01"))
    month = three_legs.month(seed=seed, rows=1_200)
    tariff = fees.tariff(month.made.collections, period=month.made.period)
    march = close_march(plain, month, tariff)
    carried = carried_of(march, tmp_path) if seed == 0 else without_a_pack(march)
    done = April(month, march)
    with Store.open(tmp_path / "store.db") as store:
        listed = decisions.OpenItems(
            folder=tmp_path, run_id=carried.run_id, mode=plain.mode, frame=march.items
        )
        for item in done.open:
            if item["break_code"] in ACCEPTED:
                decisions.record(
                    store, listed, item["break_id"], status="accepted", note="as agreed"
                )
        histories = store.breaks.histories(plain.mode)
    span = period("2026-04")
    shared = msgspec.structs.replace(
        plain,
        other_mode=columns.empty(columns.KEYS),
        intents=columns.empty(columns.INTENTS),
        tariff=tariff,
        period=span,
        judged_on=span.last,
        quality=(),
        carried=carried,
    )
    made = report(
        msgspec.structs.replace(
            shared,
            collections=done.collections,
            ledger=done.books,
            statement=done.statement,
            movements=done.movements,
            histories=histories,
        )
    )
    rolled = {
        item["break_id"]
        for item in done.open
        if item["leg"] not in DOUBLES_AND_LATE and not item["break_code"].endswith("cutoff")
    }
    ended = made.page("carried").frame
    assert set(ended["break_id"]) == rolled
    left = ended[(ended["ending"] != "cleared") & (ended["status"] != "accepted")]
    assert left.groupby(["leg", "break_code"]).size().to_dict() == {}
    stands = made.items[(made.items["standing"] == "break")]
    back = stands[stands["status"] != "accepted"]
    assert back.groupby(["leg", "break_code"]).size().to_dict() == {}
    assert made.verdict() is ReportVerdict.RECONCILED, made.findings.to_string()
    assert made.page("rolled_forward").frame["foots"].all()
    # Nobody did anything: all of it is still open, as it was.
    ignored = report(
        msgspec.structs.replace(
            shared,
            collections=month.made.collections,
            ledger=None,
            statement=None,
            movements=None,
            histories={},
        )
    )
    was = [item for item in done.open if item["leg"] in {"operator", "bank", "fees"}]
    now = {item["break_id"]: item for item in items(ignored)}
    for item in was:
        if item["break_id"] in rolled and item["break_code"] != "operator_line_again":
            assert now[item["break_id"]]["amount"] == item["amount"]
    assert ignored.verdict(max_breaks=999) is ReportVerdict.BREAKS
    assert ignored.page("rolled_forward").frame["foots"].all()


def month_of(
    plain: Inputs, span: str, *lines: Item, carried: EarlierPeriod | None = None
) -> Report:
    """Close a month in which there are lines of statements, and nothing else."""
    days = period(span)
    return report(
        msgspec.structs.replace(
            plain,
            collections=columns.empty(columns.COLLECTIONS),
            ledger=None,
            statement=None,
            movements=movements_of(*lines),
            period=days,
            judged_on=days.last,
            quality=(),
            carried=carried,
        )
    )


def test_another_line_of_a_receipt_clears_nothing_of_what_is_open() -> None:
    plain = load.inputs(CloseRequest(mode="live", period="2020-01"))
    kinds = ("payment", "payout", "fee", "reversal", "other")
    others = list(enumerate(itertools.product(kinds, (-7, 7))))
    of = [
        {"receipt": f"RX1234567{at}", "reference": f"B-{at}", "channel": "MPESA_TZ"}
        for at, _ in others
    ]
    march_at, april_at = (datetime(2026, month, 10, 12, tzinfo=EAT) for month in (3, 4))
    paid = [
        {**of[at], "at": march_at, "kind": "payment", "amount": 500_000 + at} for at, _ in others
    ]
    march = month_of(plain, "2026-03", *paid)
    wanted = {line["amount"] for line in paid}
    assert {item["amount"] for item in items(march) if item["leg"] == "operator"} == wanted
    more = [
        {**of[at], "at": april_at, "kind": kind, "amount": amount} for at, (kind, amount) in others
    ]
    after = month_of(plain, "2026-04", *more, carried=without_a_pack(march))
    assert {item["amount"] for item in items(after) if item["leg"] == "operator"} >= wanted
    assert after.page("rolled_forward").frame["foots"].all()
