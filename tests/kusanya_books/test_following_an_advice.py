"""Every break of one month, its advice followed in the next: nothing comes back, and it adds up."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pandas as pd
import pytest
from tests.kit.intents import prepare_intent
from tests.kit.payments import polled

from kusanya.state.observation import Observation
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import LEDGER, STATEMENT
from kusanya_books.judge.report import Report, report
from kusanya_books.match import breaks
from kusanya_books.pack import close, decisions
from kusanya_books.read import earlier_pack, load
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.earlier_period import EarlierPeriod

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
LATER = "perhaps_booked_later"
"""What is judged on the last day waits: this one comes to a close that is made later."""
OPEN = {
    code for code, rule in breaks.LEDGER.items() if rule.standing == "break" or rule.waits
} - {LATER}  # fmt: skip


def observation(name: str, at: str, **fields: Any) -> Observation:
    when = datetime.fromisoformat(f"2026-{at}+03:00")
    phone = f"2557540{sum(map(ord, name)):05d}"
    said = {"completed_at": when, "reference": name.partition("+")[0], "phone": phone, **fields}
    if said.get("status") == "created":
        said["completed_at"] = None
    return polled(name, said.pop("created", when), **said)


OCTOBER = (
    observation("duplicate_in_ledger", "10-10T12:00"),
    observation("contradiction", "10-10T12:00"),
    observation("contradiction", "10-10T12:05", status="failed", failure_code="x"),
    observation("unknown_status", "10-10T12:00", status="odd"),
    observation("double_payment", "10-10T12:00"),
    observation("double_payment+second", "10-20T12:00"),
    observation("mode_mismatch", "10-10T12:00", mode=Mode.TEST),
    observation("timing_unbooked", "10-31T12:00"),
    observation("perhaps_booked_earlier", "10-01T12:00"),
    observation("missing_in_ledger", "10-10T12:00"),
    observation("late_success", "10-10T12:00"),
    observation("still_open", "10-30T12:00", status="created"),
    observation("status_mismatch", "10-10T12:00", status="failed", failure_code="x"),
    observation("currency_mismatch", "10-10T12:00"),
    observation("booked_net", "10-10T12:00"),
    observation("amount_mismatch", "10-10T12:00"),
    observation("fee_mismatch", "10-10T12:00"),
    observation("booked_negative", "10-10T12:00"),
    observation("last", "10-31T23:00", status="failed", failure_code="x"),
)
NOVEMBER = (
    observation("unknown_status", "10-10T12:00"),
    observation("outcome_unknown", "10-10T12:00"),
    observation("timing_unseen", "11-01T09:00"),
    observation("missing_at_provider", "10-10T12:00"),
    observation(
        "still_open", "11-02T09:00", created=datetime.fromisoformat("2026-10-30T12:00+03:00")
    ),
    observation("last_of_november", "11-30T23:00", status="failed", failure_code="x"),
)
Line = tuple[str, int, str, str, str, int | None]
"""Reference, amount, currency, day, status, fee."""


def line(
    name: str, amount: int = 1_000, currency: str = "TZS", day: str = "10-10", **more: Any
) -> Line:
    return name, amount, currency, f"2026-{day}", more.get("status", "paid"), more.get("fee")


RIGHT = ("contradiction", "unknown_status", "outcome_unknown", "missing_at_provider")
"""Booked as it should be: what is wrong lies on the other side."""
SAME = (
    *map(line, RIGHT),
    line("double_payment"),
    line("timing_unseen", day="10-31"),
    line("still_open", day="10-30"),
)
WRONG = (
    line("duplicate_in_ledger"),
    line("mode_mismatch"),
    line("status_mismatch"),
    line("currency_mismatch", currency="KES"),
    line("booked_net", 982),
    line("amount_mismatch", 1_200),
    line("fee_mismatch", fee=50),
    line("booked_negative", -1_000),
    line("reversal_alone", -500_000),
    line("refund_alone", -5_000_000),
)
BOOKS = (line("duplicate_in_ledger"), *WRONG, *SAME, line("late_success", status="not_paid"))
CORRECTED = (
    line("duplicate_in_ledger"),
    line("currency_mismatch"),
    line("booked_net"),
    line("amount_mismatch"),
    line("fee_mismatch", fee=18),
    line("booked_negative"),
)
UNBOOKED = ("timing_unbooked", "perhaps_booked_earlier", "missing_in_ledger", "late_success")
"""What is to be booked."""
BOOKED = tuple(line(name, day="11-03") for name in UNBOOKED)
REFUND = line("double_payment", -1_000, day="11-04")
REVERSALS = tuple(
    (name, -amount, currency, "2026-11-05", "paid", None)
    for name, amount, currency, *_ in WRONG
)  # fmt: skip
ANEW = tuple(
    (name, amount, currency, "2026-11-06", status, fee)
    for name, amount, currency, _, status, fee in CORRECTED[1:]
)
OVER = "amount_mismatch"
"""Booked 200 too much: corrected whole, or by the difference."""
FOLLOWED = {
    "books of both months": (*CORRECTED, *SAME, *BOOKED, REFUND),
    "books of November": (*BOOKED, REFUND, *REVERSALS, *ANEW),
    "a difference and a credit note": (
        *BOOKED,
        REFUND,
        *(one for one in (*REVERSALS, *ANEW) if one[0] != OVER),
        line(OVER, -200, day="11-05"),
    ),
}


MISSED = {
    "a refund of more": ("refund", -5_000, "TZS"),
    "a refund of less": ("refund", -7, "TZS"),
    "a reversal of more": ("reversal", -5_000, "TZS"),
    "a reversal of less": ("reversal", -7, "TZS"),
    "a payment of more": ("payment", 5_000, "TZS"),
    "a payment of less": ("payment", 7, "TZS"),
    "a refund in another currency": ("refund", -1_000, "UGX"),
    "a payment in another currency": ("payment", 1_000, "UGX"),
}
"""What November books of each order of October, and is not what was advised."""
CLOSED_AGAIN = (
    *(one for one in CORRECTED if one[0] != OVER),
    line(OVER, 1_200),
    line(OVER, -200, day="10-25"),
    *SAME,
    *map(line, UNBOOKED),
    line("double_payment", -1_000, day="10-25"),
)
REFUNDS = {"double_payment", "refund_alone"}


def kinds_of(lines: tuple[Line, ...], way: str = "") -> list[str]:
    """Return what each line is; in one way what nobody paid is credited."""
    return [
        "payment"
        if amount >= 0 and name != "refund_alone"
        else "refund"
        if amount < 0 and name in REFUNDS
        else "credit_note"
        if name == "status_mismatch" and way == "a difference and a credit note"
        else "reversal"
        for name, amount, *_ in lines
    ]


def books(lines: tuple[Line, ...], kinds: list[str] | None = None) -> pd.DataFrame:
    at = [pd.Timestamp(day, tz="Africa/Dar_es_Salaam").tz_convert("UTC") for *_, day, _, _ in lines]
    kinds = kinds or kinds_of(lines)
    return columns.frame(
        LEDGER,
        {
            "row_no": list(range(2, len(lines) + 2)),
            "reference": [one[0] for one in lines],
            "collection_id": [None] * len(lines),
            "amount": [one[1] for one in lines],
            "fee": [one[5] for one in lines],
            "currency": [one[2] for one in lines],
            "channel": [None] * len(lines),
            "status": [one[4] for one in lines],
            "booked_at": pd.Series(at, dtype="datetime64[us, UTC]"),
            "booked_day": pd.to_datetime([one[3] for one in lines]).as_unit("us"),
            "kind": kinds,
        },
    )


class Months(msgspec.Struct):
    """October, and November after the advice was followed in each way, or not at all."""

    october: Report
    ignored: Report
    followed: dict[str, Report]
    missed: dict[str, Report]
    again: Report
    """October once more, with books put right."""


def closed(
    home: Path,
    span: str,
    lines: tuple[Line, ...],
    carried: EarlierPeriod | None = None,
    kinds: list[str] | None = None,
    *,
    judged_later: int = 0,
) -> Report:
    """Close a period over the store in a folder, by books that have these lines."""
    path, given = home / "books.csv", books(lines, kinds)
    booked = given.assign(kind="payment", amount=given["amount"].abs())
    booked.to_csv(path, index=False, date_format="%Y-%m-%d")
    loaded = load.inputs(
        CloseRequest(store=str(home / "s.db"), mode="live", period=span, ledger=str(path)),
        carried=carried,
    )
    judged_on = loaded.period.last + timedelta(days=judged_later)
    return report(msgspec.structs.replace(loaded, ledger=given, judged_on=judged_on))


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Months]:
    home = tmp_path_factory.mktemp("advice")
    with Store.open(home / "s.db") as store:
        intent = prepare_intent(
            store,
            idempotency_key="k",
            body=b"{}",
            mode=Mode.LIVE,
            profile="shop",
            reference="outcome_unknown",
            amount=1_000,
            phone="255754000001",
        )
        store.intents.begin_attempt(intent.id, at=datetime.fromisoformat("2026-10-10T12:00+03:00"))
        for fact in OCTOBER:
            store.record(fact)

        close_month = partial(closed, home)
        october = close_month("2026-10", BOOKS)
        folder = close.pack(october, out=home).folder
        assert folder is not None
        carried = earlier_pack.read(folder).carried
        for fact in NOVEMBER:
            store.record(fact)
        store.intents.resolve(
            intent.id,
            collection_id="col_outcome_unknown",
            sentence="it was paid",
            at=intent.prepared_at,
        )
        ignored = close_month("2026-11", (line("x", day="11-20"),), carried)
        items = decisions.load(store, folder)
        contradicted = items.frame[items.frame["break_code"] == "contradiction"]
        for break_id in contradicted["break_id"]:
            decisions.record(store, items, break_id, status="accepted", note="paid, says the bank")
        followed = {
            name: close_month("2026-11", lines, carried, kinds_of(lines, name))
            for name, lines in FOLLOWED.items()
        }
        orders = sorted(OPEN)
        missed = {
            name: close_month(
                "2026-11",
                tuple(line(of, amount, currency, "11-07") for of in orders),
                carried,
                [kind] * len(orders),
            )
            for name, (kind, amount, currency) in MISSED.items()
        }
        again = close_month("2026-10", CLOSED_AGAIN)
        yield Months(
            october=october, ignored=ignored, followed=followed, missed=missed, again=again
        )


def endings(made: Report) -> dict[str, str]:
    frame = made.page("carried").frame
    return dict(zip(frame["break_code"], frame["ending"], strict=True))


def codes(made: Report) -> dict[str, str]:
    items = made.items[made.items["leg"] == "books"]
    return {
        str(reference): str(code)
        for reference, code in zip(items["reference"], items["break_code"], strict=True)
    }


def test_october_has_each_break_once(months: Months) -> None:
    found = codes(months.october)
    assert found.pop("unknown_status") == "unknown_status"
    assert {name: code for name, code in found.items() if name != code} == {}
    assert set(found) == OPEN - {"unknown_status"}


@pytest.mark.parametrize("way", FOLLOWED)
@pytest.mark.parametrize("code", sorted(OPEN))
def test_what_was_advised_and_done_does_not_come_back(months: Months, way: str, code: str) -> None:
    made = months.followed[way]
    wanted = "still open" if code == "contradiction" else "cleared"
    assert endings(made)[code] == wanted
    stands = made.items[(made.items["leg"] == "books") & (made.items["standing"] == "break")]
    stands = stands[stands["status"] != "accepted"]
    back = stands[stands["reference"] == code]
    assert back["break_code"].tolist() == []
    assert made.items[(made.items["leg"] == "across") & (made.items["reference"] == code)].empty


@pytest.mark.parametrize("code", sorted(OPEN))
def test_what_was_put_right_in_the_same_books_is_gone(months: Months, code: str) -> None:
    made = months.again
    stands = made.items[(made.items["leg"] == "books") & (made.items["status"] != "accepted")]
    assert stands.loc[stands["reference"] == code, "break_code"].tolist() == []


BY_THEMSELVES = {
    "unknown_status", "outcome_unknown", "timing_unseen", "missing_at_provider", "still_open",
}  # fmt: skip
"""What the service said later."""


@pytest.mark.parametrize("way", MISSED)
@pytest.mark.parametrize("code", sorted(OPEN - BY_THEMSELVES))
def test_what_was_not_advised_clears_nothing(months: Months, way: str, code: str) -> None:
    made = months.missed[way]
    carried = made.page("carried").frame
    [was] = carried[carried["break_code"] == code].to_dict("records")
    left = made.items[(made.items["leg"] == "books") & (made.items["reference"] == code)]
    kind, amount, _ = MISSED[way]
    if (code, way) == ("booked_negative", "a payment of less"):
        # With another line for its payment the negative one is a reversal of it.
        assert list(zip(left["break_code"], left["amount"], strict=True)) == [
            ("amount_mismatch", 993)
        ]
        return
    # What a payment books of it is no more open, however little that is.
    booked = amount if kind == "payment" else 0
    assert int(left["amount"].sum()) >= was["amount"] - booked, left
    if code.endswith("_alone") or amount < 0:
        assert was["amount_now"] == was["amount"], left


@pytest.mark.parametrize("way", ["ignored", *FOLLOWED, *MISSED])
def test_what_was_open_and_what_is_open_add_up(months: Months, way: str) -> None:
    made = (months.followed | months.missed).get(way, months.ignored)
    table, october = made.page("rolled_forward").frame, months.october.page("rolled_forward").frame
    assert table["foots"].all()
    assert october["foots"].all()
    assert int(table["rows_opening"].sum()) == int(october["rows_closing"].sum()) == len(OPEN)
    assert int(table["amount_opening"].sum()) == int(october["amount_closing"].sum())
    closing = made.items[made.items["leg"] == "books"]
    assert int(table["rows_closing"].sum()) == len(closing)
    assert int(table["amount_closing"].sum()) == int(closing["amount"].sum())


def test_what_nobody_did_is_still_open_and_stands_against_the_verdict(months: Months) -> None:
    made = months.ignored
    ended = endings(made)
    assert {code for code, how in ended.items() if how == "cleared"} == BY_THEMSELVES
    changed = made.page("carried").frame.set_index("break_code")["break_code_now"].to_dict()
    assert changed["timing_unbooked"] == "missing_in_ledger"
    assert ended["perhaps_booked_earlier"] == "still open"
    found = made.findings[made.findings["finding"] == "open items of earlier periods"]
    assert int(found["rows"].sum()) == len(OPEN) - len(BY_THEMSELVES)
    assert sorted(found["currency"]) == ["KES", "TZS"]
    assert made.verdict(max_breaks=99) == "breaks"


def test_october_lines_are_known_in_november(months: Months) -> None:
    frame = months.ignored.page("breaks").frame
    rows = {row["reference"]: row for row in frame.to_dict("records")}
    for name in ("timing_unseen", "still_open"):
        near = name == "timing_unseen"
        wanted = "paid_over_edge" if near else "booked_in_earlier_period"
        assert rows[name]["break_code"] == wanted
        assert pd.isna(rows[name]["row_no"])


@pytest.mark.merge
@pytest.mark.parametrize("is_booked", [True, False])
def test_what_is_perhaps_booked_after_the_books_end_is_found_in_those_or_is_to_be_booked(
    tmp_path: Path, *, is_booked: bool
) -> None:
    with Store.open(tmp_path / "s.db") as store:
        store.record(observation("last", "10-31T12:00"))
        store.record(observation("other", "11-10T12:00"))
    other = line("other", day="11-10")
    november = (other, *([line("last", day="11-01")] if is_booked else []))
    close_month = partial(closed, tmp_path, judged_later=3)
    october = close_month("2026-10", ())
    assert codes(october) == {"last": LATER}
    folder = close.pack(october, out=tmp_path).folder
    assert folder is not None
    left = {} if is_booked else {"last": "missing_in_ledger"}
    assert codes(close_month("2026-10", november)) == left
    assert codes(close_month("2026-11", november, earlier_pack.read(folder).carried)) == left


PAYOUTS = {
    "settlement_short": ("10-05", 900),
    "settlement_over": ("10-06", 1_200),
    "settlement_fee_mismatch": ("10-07", 972),
    "settlement_duplicate": ("10-08", 982),
    "settlement_unexpected": ("10-09", 500),
}
"""The day of each fault, and what was paid out for it; 982 is due where something is."""
CORRECTIONS = {
    "settlement_short": ("10-05", 82),
    "settlement_over": ("10-06", -218),
    "settlement_fee_mismatch": ("10-07", 10),
    "settlement_duplicate": ("10-08", -982),
    "settlement_unexpected": ("10-09", -500),
    "settlement_missing": ("10-04", 982),
    "settlement_pending": ("10-31", 982),
}
"""What the provider pays or takes back in November, each for its day of October."""


def statement(lines: list[tuple[str, str, int, int]]) -> pd.DataFrame:
    days = pd.to_datetime([f"2026-{day}" for _, day, _, _ in lines]).as_unit("us")
    return columns.frame(
        STATEMENT,
        {
            "line_no": list(range(2, len(lines) + 2)),
            "batch_id": [one[0] for one in lines],
            "collection_id": [None] * len(lines),
            "business_day": days,
            "channel": ["MPESA_TZ"] * len(lines),
            "currency": ["TZS"] * len(lines),
            "gross": [net + fee for _, _, net, fee in lines],
            "fee": [fee for *_, fee in lines],
            "net": [net for _, _, net, _ in lines],
            "count": [1] * len(lines),
        },
    )


@pytest.fixture(scope="module", params=["October's lines again", "new lines", "its own batches"])
def payouts(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> tuple[Report, Report, Report]:
    """Return October's report, and November's without and with the provider's corrections."""
    home = tmp_path_factory.mktemp("payouts")
    with Store.open(home / "s.db") as store:
        for day in ("04", "05", "06", "07", "08", "31"):
            store.record(observation(f"d{day}", f"10-{day}T12:00"))
        store.record(observation("late", "10-31T23:00", status="failed", failure_code="x"))

        def close_month(period: str, lines: list[Any], carried: Any = None) -> Report:
            loaded = load.inputs(
                CloseRequest(store=str(home / "s.db"), mode="live", period=period), carried=carried
            )
            given = statement(lines)
            judged_on = loaded.period.last
            return report(msgspec.structs.replace(loaded, statement=given, judged_on=judged_on))

        lines = [
            (code[11:], day, net, 28 if code == "settlement_fee_mismatch" else 18)
            for code, (day, net) in PAYOUTS.items()
        ]
        october = close_month("2026-10", [*lines, ("duplicate", "10-08", 982, 18)])
        folder = close.pack(october, out=home).folder
        assert folder is not None
        carried = earlier_pack.read(folder).carried
        store.record(observation("end", "11-30T23:00", status="failed", failure_code="x"))
        ignored = close_month("2026-11", [("n1", "11-20", 5, 0)], carried)
        own = request.param == "its own batches"
        made = [
            (code[11:] if own else "n1", day, net, 0) for code, (day, net) in CORRECTIONS.items()
        ]
        again = lines if request.param == "October's lines again" else []
        followed = close_month("2026-11", [*again, *made], carried)
    return october, ignored, followed


@pytest.mark.merge
def test_october_has_each_fault_of_the_statement(payouts: tuple[Report, ...]) -> None:
    items = payouts[0].items
    assert set(items["break_code"]) == set(CORRECTIONS)
    assert int(items["balance"].sum()) == sum(net for _, net in CORRECTIONS.values())


@pytest.mark.parametrize("code", sorted(CORRECTIONS))
def test_a_payout_that_is_put_right_in_november_does_not_come_back(
    payouts: tuple[Report, ...], code: str
) -> None:
    _, ignored, followed = payouts
    assert endings(followed)[code] == "cleared"
    assert endings(ignored)[code] == ("changed" if code == "settlement_pending" else "still open")
    for made in (ignored, followed):
        assert made.page("rolled_forward").frame["foots"].all()
    assert followed.items[followed.items["leg"] == "statement"].empty


class Refunded(NamedTuple):
    """A line of November beside a carried second payment of 1,000 under R."""

    amount: int = -1_000
    reference: str = "R"
    currency: str = "TZS"
    status: str = "paid"
    kind: str = "refund"


@pytest.fixture(scope="module")
def twice_paid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return what closes November after an October in which R was paid twice and booked once."""
    home = tmp_path_factory.mktemp("refunds")
    with Store.open(home / "s.db") as store:
        store.record(observation("R", "10-10T12:00"))
        store.record(observation("R+second", "10-20T12:00"))
        store.record(observation("last", "10-31T23:00", status="failed", failure_code="x"))

        def close_month(period: str, given: pd.DataFrame, carried: Any = None) -> Report:
            path = home / "books.csv"
            given.assign(amount=given["amount"].abs()).to_csv(
                path, index=False, date_format="%Y-%m-%d"
            )
            loaded = load.inputs(
                CloseRequest(
                    store=str(home / "s.db"), mode="live", period=period, ledger=str(path)
                ),
                carried=carried,
            )
            judged_on = loaded.period.last
            return report(msgspec.structs.replace(loaded, ledger=given, judged_on=judged_on))

        october = close_month("2026-10", books((line("R"),)))
        assert codes(october) == {"R": "double_payment"}
        folder = close.pack(october, out=home).folder
        assert folder is not None
        carried = earlier_pack.read(folder).carried
        store.record(observation("last_of_november", "11-30T23:00", status="failed"))

        def november(*lines: Refunded) -> Report:
            given = books(tuple(
                (one.reference, one.amount, one.currency, "2026-11-04", one.status, None)
                for one in lines
            ), [one.kind for one in lines])  # fmt: skip
            return close_month("2026-11", given, carried)

        yield november


@pytest.mark.merge
@pytest.mark.parametrize(
    ("refund", "ending"),
    [
        (Refunded(), "cleared"),
        (Refunded(kind="chargeback"), "cleared"),
        (Refunded(amount=-999), "still open"),
        (Refunded(amount=-1_001), "still open"),
        (Refunded(amount=-2_000), "still open"),
        (Refunded(amount=-5_000), "still open"),
        (Refunded(amount=1_000), "still open"),
        (Refunded(currency="KES"), "still open"),
        (Refunded(reference="S"), "still open"),
        (Refunded(status="not_paid"), "still open"),
    ],
)
def test_a_second_payment_is_given_back_by_a_refund_of_its_order_currency_and_sum_alone(
    twice_paid: Any, refund: Refunded, ending: str
) -> None:
    made = twice_paid(refund)
    assert endings(made) == {"double_payment": ending}
    if ending == "still open":
        left = made.items[made.items["break_code"] == "double_payment"]
        assert left["amount"].tolist() == [1_000]
        assert made.verdict(max_breaks=99) == "breaks"


@pytest.mark.merge
def test_no_more_is_given_back_than_the_order_was_paid(twice_paid: Any) -> None:
    for count, alone in ((2, []), (3, ["refund_alone"])):
        made = twice_paid(*[Refunded()] * count)
        assert endings(made) == {"double_payment": "cleared"}
        assert made.items["break_code"].tolist() == alone


@pytest.mark.merge
def test_a_refund_of_the_first_payment_and_of_the_second_are_two(twice_paid: Any) -> None:
    made = twice_paid(Refunded(amount=-400), Refunded())
    assert endings(made) == {"double_payment": "cleared"}
    made = twice_paid(Refunded(amount=-400), Refunded(amount=-600))
    assert endings(made) == {"double_payment": "still open"}


@pytest.mark.merge
@pytest.mark.parametrize(
    "file", ["of the month so far", pytest.param("of the day", marks=pytest.mark.ci)]
)
def test_what_nobody_touches_keeps_its_code_and_its_advice_night_after_night(
    tmp_path: Path, file: str
) -> None:
    days = [f"10-{day:02}" for day in range(8, 15)]
    nights: list[dict[str, dict[str, Any]]] = []
    with Store.open(tmp_path / "s.db") as store:
        for fact in (observation("first", "10-08T12:00"), *OCTOBER):
            store.record(fact)
        carried: EarlierPeriod | None = None
        for number, day in enumerate(days):
            since = days[: number + 1] if file == "of the month so far" else [day]
            lines = tuple(
                one for one in (*BOOKS, line("first", day="10-08")) if one[3][5:] in since
            )
            made = closed(tmp_path, f"2026-{day}", lines, carried, judged_later=1)
            folder = close.pack(made, out=tmp_path / "packs").folder
            assert folder is not None
            carried = earlier_pack.read(folder).carried
            nights.append({item["break_id"]: item for item in columns.dicts(made.items)})
    said = ("break_code", "suggested_action")
    for before, after in pairwise(nights):
        was = {id_: item for id_, item in before.items() if item["standing"] == "break"}
        assert {id_: [item[name] for name in said] for id_, item in was.items()} == {
            id_: [after[id_][name] for name in said] for id_ in was if id_ in after
        }
    last = {item["reference"]: item["break_code"] for item in nights[-1].values()}
    named = {name: code for name, code in last.items() if name in OPEN and name != code}
    assert named == {"outcome_unknown": "missing_at_provider"}, "here it was never sent"
    assert {"missing_in_ledger", "missing_at_provider", *(one[0] for one in WRONG)} <= set(last)
