"""What was planted is what is found, nothing else, and the month closes to zero."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pytest
from tests.kit.frames import breaks_of

from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS, LEDGER, STATEMENT
from kusanya_books.match import ledger, settlement
from kusanya_books.read.sample import faults as sample_faults
from kusanya_books.read.sample import month as sample
from kusanya_books.request.days import cutoff, period
from kusanya_books.request.tolerance import Tolerance
from kusanya_service.simulation.tariff import DEFAULT_TARIFF, fee_of

Make = Callable[..., pd.DataFrame]
AGREES = {"matched", "not_billable"}


def match(month: sample_faults.Month, **options: Any) -> ledger.LedgerMatch:
    return ledger.match(
        month.collections,
        month.ledger,
        period=month.period,
        beside=ledger.Beside(other_mode=month.other_mode, intents=month.intents),
        **options,
    )


def named(frame: pd.DataFrame) -> set[tuple[Any, ...]]:
    ledger_only = frame["row_no"].notna()
    return {
        (code, int(row) if has_row else None, None if has_row else collection)
        for code, row, collection, has_row in zip(
            frame["break_code"], frame["row_no"], frame["collection_id"], ledger_only, strict=True
        )
    }


@pytest.mark.scale(3, 20, 40)
def test_the_verdicts_are_those_that_were_planted(rounds: int) -> None:
    for seed in range(rounds):
        month = sample_faults.month(seed=seed, rows=1_200)
        found = match(month)
        wrong = found.rows[~found.rows["break_code"].isin(AGREES)]
        # Payments that cross midnight by themselves are booked on the day they completed.
        assert named(wrong) == named(month.planted[month.planted["leg"] == "ledger"]), seed
        assert found.unexplained == 0
        assert len(month.planted) > 50


@pytest.mark.scale(3, 20, 40)
def test_the_settlement_verdicts_are_those_that_were_planted(rounds: int) -> None:
    for seed in range(rounds):
        month = sample_faults.month(seed=seed, rows=1_200)
        found = settlement.match(month.collections, month.statement, period=month.period)
        breaks = found.rows[found.rows["standing"] == "break"]
        due = month.planted[month.planted["leg"] == "settlement"]
        keys = ["break_code", "business_day", "channel"]
        assert set(breaks[keys].itertuples(index=False, name=None)) == set(
            due[keys].itertuples(index=False, name=None)
        )
        pending = found.rows[found.rows["break_code"] == "settlement_pending"]
        assert set(pending["business_day"]) == {pd.Timestamp("2026-03-31")}
        assert found.unexplained == 0
        assert len(due) == 6


def test_a_month_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    first, again, other = (sample_faults.month(seed=seed, rows=300) for seed in (1, 1, 2))
    assert first.ledger.equals(again.ledger)
    assert first.collections.equals(again.collections)
    assert not first.collections.equals(other.collections)


def test_the_sample_month_charges_what_the_embedded_service_charges() -> None:
    frame = sample.collections(rows=2_000)
    before = frame[frame["created_day"] < "2026-03-16"]
    charged = [
        fee_of(int(amount), channel, DEFAULT_TARIFF)
        for amount, channel in zip(before["amount"], before["channel"], strict=True)
    ]
    assert before["fee"].tolist() == charged
    assert set(frame["channel"]) == set(DEFAULT_TARIFF)


def test_the_ledger_of_a_moved_day_still_closes() -> None:
    shift = cutoff("02:00")
    month = sample_faults.month(rows=1_200, cutoff=shift)
    found = match(month)
    assert found.unexplained == 0
    assert set(found.rows["break_code"]) >= {"timing", "missing_in_ledger", "matched"}


def test_shuffling_the_inputs_changes_nothing() -> None:
    month = sample_faults.month(rows=600)
    plain = match(month)
    mixed = ledger.match(
        month.collections.sample(frac=1, random_state=3),
        month.ledger.sample(frac=1, random_state=4),
        period=month.period,
        beside=ledger.Beside(other_mode=month.other_mode, intents=month.intents),
    )
    for name in ("rows", "bridge", "ageing", "doubles"):
        pd.testing.assert_frame_equal(getattr(plain, name), getattr(mixed, name))


def test_larger_money_gives_the_same_verdicts_and_larger_drifts() -> None:
    month, factor = sample_faults.month(rows=600), 10**9 + 7
    plain = match(month)
    larger = ledger.match(
        month.collections.assign(
            amount=month.collections["amount"] * factor, fee=month.collections["fee"] * factor
        ),
        month.ledger.assign(
            amount=month.ledger["amount"] * factor, fee=month.ledger["fee"] * factor
        ),
        period=month.period,
        beside=ledger.Beside(other_mode=month.other_mode, intents=month.intents),
    )
    assert larger.rows["break_code"].equals(plain.rows["break_code"])
    for name in ("amount_drift", "fee_drift", "net_drift", "bridge_effect", "at_stake"):
        assert larger.rows[name].equals(plain.rows[name] * factor)


def test_every_input_row_is_in_exactly_one_result_row() -> None:
    month = sample_faults.month(rows=600)
    rows = match(month).rows
    march = (pd.Timestamp("2026-03-01"), pd.Timestamp("2026-03-31"))
    booked = month.ledger.loc[month.ledger["booked_day"].between(*march), "row_no"]
    assert sorted(rows["row_no"].dropna()) == booked.tolist()
    inside = month.collections["business_day"].fillna(month.collections["created_day"])
    inside = inside.between(*march)
    came = rows.loc[rows["status_service"].notna(), "collection_id"]
    assert sorted(came) == sorted(month.collections.loc[inside, "id"])


def test_the_pairs_are_the_lines_that_agree_whether_they_were_counted_or_carried() -> None:
    month = sample_faults.month(rows=1_200)
    carried = match(month, pairs=True)
    rows = carried.rows[carried.rows["break_code"] == "matched"]
    assert isinstance(carried.pairs, pd.DataFrame)
    due = rows.sort_values("row_no")[["row_no", "collection_id"]].reset_index(drop=True)
    assert len(due) > 500
    pd.testing.assert_frame_equal(carried.pairs[["row_no", "collection_id"]], due)
    assert carried.pairs["amount_ledger"].equals(carried.pairs["amount_service"])
    counted = match(month, everything=False, pairs=True)
    assert isinstance(counted.pairs, pd.DataFrame)
    pd.testing.assert_frame_equal(counted.pairs, carried.pairs)
    assert match(month).pairs is None


def test_doubles_list_what_was_paid_twice_and_what_looks_like_it(collections_of: Make) -> None:
    month = sample_faults.month(rows=1_200)
    doubles = match(month).doubles
    certain = doubles[~doubles["suspected"]]
    assert certain["payments"].tolist() == [2, 2, 2]
    assert certain["booked"].tolist() == [1, 1, 1]
    assert (certain["refund"] * 2 == certain["amount"]).all()
    pair = collections_of({"phone": "255754000009"}, {"phone": "255754000009"})
    looked = ledger.match(pair, columns.empty(LEDGER), period=month.period).doubles
    assert looked["suspected"].tolist() == [True]
    assert looked["refund"].isna().all()


def booked_as(paid: pd.DataFrame, *, named: bool) -> pd.DataFrame:
    """Return a line of the books for each payment, which names the collection where `named`."""
    return columns.frame(
        LEDGER,
        paid[["reference", "amount", "currency", "channel", "fee"]].assign(
            row_no=range(1, len(paid) + 1),
            collection_id=paid["id"] if named else None,
            status="paid",
            booked_at=paid["completed_at"],
            booked_day=paid["business_day"],
        ),
    )


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("everything", [True, False])
def test_an_order_that_was_paid_twice_and_booked_twice_is_suspected(
    collections_of: Make, named: bool, everything: bool
) -> None:
    noon = datetime(2026, 3, 5, 9, tzinfo=UTC)
    paid = collections_of(
        {"reference": "R-1"},
        {"reference": "R-1", "created_at": noon, "completed_at": noon},
        {"phone": "255754000002"},
    )
    march = period("2026-03")
    lines = booked_as(paid, named=named)
    found = ledger.match(paid, lines, period=march, everything=everything)
    assert breaks_of(found) == 0
    [double] = found.doubles.to_dict("records")
    assert (double["reference"], double["payments"], double["booked"]) == ("R-1", 2, 2)
    assert double["suspected"]
    assert double["rule"] == "one reference, paid and booked more than once"


def test_the_window_of_two_payments_of_one_customer_can_be_set(collections_of: Make) -> None:
    later = datetime(2026, 3, 5, 6, 25, tzinfo=UTC)
    pair = collections_of({}, {"created_at": later, "completed_at": later})
    march = period("2026-03")
    for minutes, suspected in ((10, 0), (24, 0), (25, 1), (60, 1), (1_440, 1)):
        found = ledger.match(
            pair,
            columns.empty(LEDGER),
            period=march,
            tolerance=Tolerance(double_minutes=minutes),
        )
        assert len(found.doubles) == suspected, minutes


def test_a_line_near_a_payment_is_a_hint_however_long_the_window(collections_of: Make) -> None:
    paid = datetime(2026, 3, 5, 6, tzinfo=UTC)
    service = collections_of({"reference": "A", "created_at": paid, "completed_at": paid})
    line = {"row_no": 1, "reference": "B", "collection_id": None, "fee": None, "channel": None}
    line |= {"amount": service["amount"][0], "currency": "TZS", "status": "paid"}
    line |= {"booked_at": paid + timedelta(minutes=25), "booked_day": pd.Timestamp("2026-03-05")}
    books = columns.frame(LEDGER, {name: [value] for name, value in line.items()})
    for minutes, reason in (
        (24, "on this day"),
        (25, "within minutes"),
        (60, "within minutes"),
        (1_440, "within minutes"),
    ):
        found = ledger.match(
            service,
            books,
            period=period("2026-03"),
            tolerance=Tolerance(double_minutes=minutes),
        )
        assert all(reason in hint for hint in found.rows["suggested_match"]), minutes


def test_without_any_row_there_is_nothing_to_explain() -> None:
    march = period("2026-03")
    found = ledger.match(columns.empty(COLLECTIONS), columns.empty(LEDGER), period=march)
    paid = settlement.match(columns.empty(COLLECTIONS), columns.empty(STATEMENT), period=march)
    assert (found.unexplained, breaks_of(found), len(found.bridge)) == (0, 0, 0)
    assert (paid.unexplained, breaks_of(paid), len(paid.bridge)) == (0, 0, 0)


def test_a_month_in_which_everything_failed_closes(collections_of: Make) -> None:
    frame = collections_of(*[{"status": "failed", "failure_code": "declined"}] * 5)
    found = ledger.match(frame, columns.empty(LEDGER), period=period("2026-03"))
    assert found.rows["break_code"].tolist() == ["not_billable"] * 5
    assert found.unexplained == 0


def test_test_and_live_are_never_matched_together(collections_of: Make) -> None:
    both = pd.concat([collections_of({}), collections_of({"mode": "test", "id": "col_2"})])
    with pytest.raises(ValueError, match="one mode"):
        ledger.match(both, columns.empty(LEDGER), period=period("2026-03"))
    with pytest.raises(ValueError, match="one mode"):
        settlement.match(both, columns.empty(STATEMENT), period=period("2026-03"))


def test_a_statement_may_name_every_collection(collections_of: Make) -> None:
    frame = collections_of({}, {}, {}, {"status": "failed"})
    lines = columns.frame(
        STATEMENT,
        {
            "line_no": [1, 2, 3],
            "batch_id": ["b"] * 3,
            "collection_id": ["col_1", "col_2", "col_4"],
            "business_day": [pd.Timestamp("2026-03-05")] * 3,
            "channel": ["MPESA_TZ"] * 3,
            "currency": ["TZS"] * 3,
            "gross": [1_000, 1_000, 1_000],
            "fee": [18, 20, 18],
            "net": [982, 980, 982],
            "count": [1, 1, 1],
        },
    )
    found = settlement.match(frame, lines, period=period("2026-03"))
    verdicts = dict(zip(found.rows["collection_id"], found.rows["break_code"], strict=True))
    assert verdicts == {
        "col_1": "settled",
        "col_2": "settlement_fee_mismatch",
        "col_3": "settlement_missing",
        "col_4": "settlement_unexpected",
    }
    assert found.unexplained == 0


def test_a_day_that_is_paid_out_again_under_another_batch_is_a_duplicate_and_no_claim(
    collections_of: Make,
) -> None:
    frame = collections_of({}, {})
    line: dict[str, Any] = {
        "channel": "MPESA_TZ",
        "currency": "TZS",
        "collection_id": None,
        "count": None,
    }
    line |= {"business_day": pd.Timestamp("2026-03-05"), "gross": 2_000, "fee": 36, "net": 1_964}
    twice = pd.DataFrame(
        [{**line, "line_no": 1, "batch_id": "B-1"}, {**line, "line_no": 2, "batch_id": "B-2"}],
        dtype="object",
    )
    found = settlement.match(
        frame, columns.frame(STATEMENT, twice), period=period("2026-03")
    ).rows.sort_values("line_no")
    assert found["break_code"].tolist() == ["settled", "settlement_duplicate"]
    short = twice.head(1).assign(gross=1_500, fee=27, net=1_473)
    found = settlement.match(frame, columns.frame(STATEMENT, short), period=period("2026-03")).rows
    assert found["break_code"].tolist() == ["settlement_short"]


def test_a_payment_stays_a_hint_until_a_person_decides(collections_of: Make) -> None:
    frame = collections_of({"reference": "R-9"})
    book = columns.frame(
        LEDGER,
        {
            **{name: [None] for name in ("collection_id", "fee", "channel")},
            "row_no": [1],
            "reference": ["R-8"],
            "amount": [1_000],
            "currency": ["TZS"],
            "status": ["paid"],
            "booked_at": [frame["completed_at"][0] + timedelta(minutes=4)],
            "booked_day": [frame["business_day"][0]],
        },
    )
    rows = ledger.match(frame, book, period=period("2026-03")).rows
    assert rows["break_code"].tolist() == ["missing_at_provider", "missing_in_ledger"]
    hints = rows["suggested_match"].tolist()
    assert hints == [f"{match}: the same amount within minutes" for match in ("col_1", "row 1")]


def test_the_mode_of_a_sample_month_is_the_one_that_was_asked_for() -> None:
    assert set(sample.collections(rows=20, mode=Mode.TEST)["mode"]) == {"test"}
