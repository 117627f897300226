"""Every line of every file ends in exactly one place, whatever the lines say."""

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

import msgspec
import pandas as pd
import pytest
from tests.kit.books import books_of
from tests.kit.frames import frame_of
from tests.kit.movements import movements_of
from tests.kit.statements import statement_of

from kusanya.domain.business_day import EAT
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS, KEYS, LEDGER, MOVEMENTS
from kusanya_books.judge.accounting import accounted, lost
from kusanya_books.judge.report import Report, ReportVerdict, report
from kusanya_books.match import bank, ledger, operator, settlement
from kusanya_books.pack import summary
from kusanya_books.read import load
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.days import period
from kusanya_books.request.report_inputs import Inputs

Make = Callable[..., pd.DataFrame]
LINES: Final = 150
CURRENCIES: Final = ("TZS", "TZS", "TZS", "KES")
CHANNELS: Final = ("MPESA_TZ", "TIGO_TZ", "MPESA_TZ")
AMOUNTS: Final = (1_000, 1_000, 2_000, 982, 0, -1_000, 5_000)
BOOKED: Final = ("payment", "payment", "payment", "refund", "reversal", "charge", "chargeback")
MOVED: Final = (
    *("payment", "payment", "payment", "fee", "payout", "reversal", "refund", "chargeback"),
    *("other", "tax", "charge"),
)


class Lines:
    """Lines that a person would never write: everything at once, few names for many of them."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(seed)  # noqa: S311 - a repeatable choice

    def at(self) -> datetime:
        """Return a noon of March, or of a few days beside it."""
        return datetime(2026, 2, 26, 12, tzinfo=EAT) + timedelta(days=self._rng.randrange(37))

    def day(self, *, maybe: bool = False) -> pd.Timestamp | None:
        """Return the day of such a noon; `maybe` none."""
        return None if maybe and self._rng.random() < 0.1 else pd.Timestamp(self.at().date())

    def name(self, kind: str) -> str | None:
        """Return one of few names, or none."""
        return self._rng.choice([None, *(f"{kind}{number}" for number in range(20))])

    def same(self) -> dict[str, Any]:
        """Return what every kind of line says."""
        one = self._rng.choice
        return {"currency": one(CURRENCIES), "channel": one(CHANNELS), "amount": one(AMOUNTS)}

    def books(self) -> pd.DataFrame:
        """Return the books."""
        rows = [
            {
                **self.same(),
                "reference": self.name("R-"),
                "collection_id": self.name("col_") if self._rng.random() < 0.2 else None,
                "kind": self._rng.choice(BOOKED),
                "status": self._rng.choice(["paid", "paid", "paid", "open", "not_paid"]),
                "at": self.at(),
            }
            for _ in range(LINES)
        ]
        return books_of(*rows)

    def movements(self, leg: str) -> pd.DataFrame:
        """Return the lines of two statements of an operator or of the bank."""
        rows = [
            {
                **self.same(),
                "input": f"{leg}{self._rng.randrange(2)}.csv",
                "leg": leg,
                "kind": self._rng.choice(MOVED),
                "status": self._rng.choice(["completed", "completed", "completed", "Failed"]),
                "receipt": self.name("RC"),
                "reference": self.name("R-"),
                "details": self.name("PO "),
                "at": self.at(),
            }
            for _ in range(LINES)
        ]
        return movements_of(*rows, *rows[: LINES // 10])

    def statement(self, *, by_item: bool) -> pd.DataFrame:
        """Return a settlement statement, of days or of collections."""
        rows = []
        for number in range(LINES // 2):
            same = self.same()
            net = same.pop("amount")
            fee = self._rng.choice([None, 0, 18])
            day = self.day(maybe=by_item)
            item = self._rng.choice([f"col_{name}" for name in range(40)])
            rows.append(
                {
                    **same,
                    "line_no": number,
                    "batch_id": self.name("B"),
                    "collection_id": item if by_item else None,
                    "gross": None if fee is None else net + fee,
                    "fee": fee,
                    "net": net,
                    "day": day,
                }
            )
        return statement_of([*rows, *rows[:5]])

    def collections(self, make: Make) -> pd.DataFrame:
        """Return what the service says."""
        rows = []
        for number in range(LINES):
            at, status = self.at(), self._rng.choice(["succeeded"] * 4 + ["failed", "created"])
            done = at if status != "created" else None
            told = {"id": f"col_{number}", "reference": self.name("R-") or "R", "status": status}
            same = {**self.same(), "amount": self._rng.choice([1_000, 2_000, 5_000])}
            rows.append({**told, **same, "created_at": at, "completed_at": done})
        return make(*rows)


def test_each_input_is_counted_by_currency_and_a_line_without_a_day_is_outside() -> None:
    march = pd.Timestamp("2026-03-05")
    paid = {"status": "paid", "currency": "TZS"}
    inputs = msgspec.structs.replace(
        load.inputs(CloseRequest(mode="live", period="2020-01")),
        ledger=frame_of(
            LEDGER,
            {**paid, "amount": 5},
            {**paid, "amount": 7, "booked_day": march, "currency": "KES"},
            {**paid, "amount": 11, "booked_day": march},
            {"status": "paid", "booked_day": march},
            {"status": "open", "amount": 13, "booked_day": march, "currency": "TZS"},
        ),
        movements=frame_of(
            MOVEMENTS,
            {"input": "a.csv", "currency": "TZS", "amount": 17},
            {"input": "a.csv", "currency": "TZS", "amount": 19, "business_day": march},
        ),
        collections=frame_of(
            COLLECTIONS,
            {"status": "succeeded", "currency": "TZS", "amount": 23, "fee": 1},
            {
                "status": "succeeded",
                "currency": "TZS",
                "amount": 29,
                "fee": 1,
                "business_day": march,
            },
        ),
        statement=None,
        period=period("2026-03"),
    )
    parts = ("input", "currency", "rows_read", "amount_read", "rows_outside", "amount_outside")
    found = [tuple(row[part] for part in parts) for row in columns.dicts(accounted(inputs, []))]
    assert found == [
        ("a.csv", "TZS", 2, 36, 1, 17),
        ("collections", "TZS", 2, 52, 1, 23),
        ("ledger", None, 1, 0, 0, 0),
        ("ledger", "KES", 1, 7, 0, 0),
        ("ledger", "TZS", 3, 29, 2, 18),
    ]
    alone = accounted(msgspec.structs.replace(inputs, ledger=None), [])
    assert [row["input"] for row in columns.dicts(alone)] == ["a.csv"]


def inputs_of(seed: int, make: Make, *, by_item: bool, basis: str = "gross") -> Inputs:
    lines = Lines(seed)
    march = period("2026-03")
    plain = load.inputs(CloseRequest(mode="live", period="2020-01"))
    return msgspec.structs.replace(
        plain,
        collections=lines.collections(make),
        other_mode=columns.empty(KEYS),
        ledger=lines.books(),
        statement=lines.statement(by_item=by_item),
        movements=pd.concat(
            [lines.movements("operator"), lines.movements("bank")], ignore_index=True
        ),
        basis=basis,
        mode=Mode.LIVE,
        period=march,
        judged_on=march.last,
    )


def legs_of(inputs: Inputs, *, everything: bool) -> list[Any]:
    legs: list[Any] = [
        leg.of(inputs, everything=everything) for leg in (ledger, settlement, operator, bank)
    ]
    return [leg for leg in legs if leg is not None]


@pytest.mark.scale(3, 30, 300)
def test_no_line_is_lost_and_none_is_in_two_places(module_collections: Make, rounds: int) -> None:
    for seed in range(rounds):
        basis = "net" if seed % 3 == 2 else "gross"
        inputs = inputs_of(seed, module_collections, by_item=seed % 2 == 1, basis=basis)
        made = accounted(inputs, legs_of(inputs, everything=seed % 2 == 0))
        assert lost(made).to_dict("records") == [], seed
        files = {
            "ledger": inputs.ledger,
            "statement": inputs.statement,
            "collections": inputs.collections,
        }
        for name, frame in files.items():
            assert isinstance(frame, pd.DataFrame)
            rows = made[made["input"] == name]
            assert rows["rows_read"].sum() == len(frame), name
        assert (made["rows_read"] > 0).all()
        assert inputs.movements is not None
        moved = made[made["input"].str.endswith(".csv")]
        assert moved["rows_read"].sum() == len(inputs.movements)
        assert moved["amount_read"].sum() == inputs.movements["amount"].sum()


@pytest.mark.merge
def test_the_same_lines_go_to_the_same_places_whether_rows_are_listed_or_counted(
    module_collections: Make,
) -> None:
    inputs = inputs_of(5, module_collections, by_item=False)
    listed, counted = (
        accounted(inputs, legs_of(inputs, everything=everything)) for everything in (True, False)
    )
    pd.testing.assert_frame_equal(listed, counted)


@pytest.fixture(scope="module")
def sample() -> Report:
    """Return the report of the sample month."""
    return report(load.inputs(CloseRequest(mode="live")))


@pytest.mark.merge
def test_a_line_that_no_result_holds_keeps_the_month_open(sample: Report) -> None:
    assert sample.lost.empty
    page = sample.page("accounted")
    short = page.frame.assign(rows_lost=[1, *[0] * (len(page.frame) - 1)])
    pages = tuple(
        msgspec.structs.replace(one, frame=short) if one.name == "accounted" else one
        for one in sample.pages
    )
    made = msgspec.structs.replace(sample, pages=pages)
    assert made.verdict(max_breaks=10**6) is ReportVerdict.NOT_CLOSED
    said = summary.sentence(made, ReportVerdict.NOT_CLOSED)
    assert said == "Not closed: lines of collections are in no result, or in two."


@pytest.mark.parametrize("leg", ["matched", "settled"])
def test_a_leg_that_drops_a_verdict_is_seen(sample: Report, leg: str) -> None:
    match: Any = getattr(sample, leg)
    fewer = msgspec.structs.replace(match, places=match.places.iloc[1:].reset_index(drop=True))
    wrong = lost(accounted(sample.inputs, [fewer]))
    dropped = match.places.iloc[0]
    row = wrong[wrong["input"] == dropped["input"]].iloc[0]
    assert int(row["rows_lost"]) == int(dropped["rows"])
    assert int(row["amount_lost"]) == int(dropped["amount"])


def test_nothing_to_read_has_no_row() -> None:
    plain = load.inputs(CloseRequest(mode="live", period="2020-01"))
    empty = msgspec.structs.replace(
        plain, collections=columns.empty(COLLECTIONS), ledger=None, statement=None
    )
    assert accounted(empty, []).empty
