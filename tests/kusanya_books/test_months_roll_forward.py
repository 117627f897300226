"""What one month's advice asked for is never called wrong in the next: the whole store is read."""

from collections.abc import Callable
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.kit.intents import prepare_intent
from tests.kit.payments import polled

from kusanya.state.observation import Observation
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_books.match import ledger
from kusanya_books.read import load
from kusanya_books.request.close_request import CloseRequest

OCTOBER, NOVEMBER = "2026-10", "2026-11"
Codes = Callable[..., dict[str, str]]
BOOKED = (
    "R1,1000,TZS,2026-11-15",
    "R3,1000,TZS,2026-11-11",
    "R5,1000,TZS,2026-11-12",
    "R6,1000,TZS,2026-11-12",
    "R10,1000,TZS,2026-11-12",
)
"""November's books: each line asks another question."""
pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")


def observation(name: str, at: str, created: str = "", **fields: Any) -> Observation:
    began = datetime.fromisoformat(f"{created or at}+03:00")
    completed = datetime.fromisoformat(f"{at}+03:00")
    reference = name.partition("-")[0]
    return polled(name, began, **{"completed_at": completed, "reference": reference, **fields})


FACTS = (
    observation("R1", "2026-10-10T12:00"),
    observation("R2", "2026-11-01T09:00", phone="255754000002"),
    observation("R3-won", "2026-10-05T12:00"),
    observation("R3-again", "2026-11-10T12:00", status="failed", failure_code="duplicate"),
    observation("R4-first", "2026-10-03T12:00"),
    observation("R4-second", "2026-11-20T12:00"),
    observation("R5", "2026-09-10T12:00", mode=Mode.TEST),
    observation("R7", "2026-11-05T12:00", created="2026-10-20T12:00"),
    observation("R8", "2026-11-30T12:00", status="failed", failure_code="declined"),
    observation("R11", "2026-10-31T12:00", phone="255754000011"),
    observation("R9", "2026-12-05T12:00", status="failed", failure_code="declined"),
)


@pytest.fixture(
    scope="module",
    params=[
        "sqlite",
        "export",
        pytest.param("postgres", marks=pytest.mark.postgres),
    ],
)
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a store of two months, or the folder of its export."""
    home = tmp_path_factory.mktemp("months")
    chosen = str(request.param)
    address = str(home / "s.db")
    if chosen == "postgres":
        address = request.getfixturevalue("module_postgres_url")
    with Store.open(address) as store:
        intent = prepare_intent(
            store,
            idempotency_key="k",
            body=b"{}",
            mode=Mode.LIVE,
            profile="shop",
            reference="R10",
            amount=1_000,
            phone="255754000001",
        )
        store.intents.begin_attempt(intent.id, at=datetime.fromisoformat("2026-11-11T12:00+03:00"))
        for fact in FACTS:
            store.record(fact)
        if chosen != "export":
            return address
        for mode in Mode:
            store.parquet.write(home / "out", mode)
    return str(home / "out")


@pytest.fixture(scope="module")
def codes(source: str, tmp_path_factory: pytest.TempPathFactory) -> Codes:
    """Return what a month says of each reference: the first, which is the worst."""
    path = tmp_path_factory.mktemp("books") / "books.csv"

    @cache
    def read(period: str, *lines: str) -> dict[str, str]:
        listed = "".join(f"{line}\n" for line in lines)
        path.write_text(f"reference,amount,currency,booked_at\n{listed}", encoding="utf-8")
        matched = ledger.of(
            load.inputs(CloseRequest(store=source, mode="live", period=period, ledger=str(path)))
        )
        assert matched is not None
        assert matched.unexplained == 0
        rows = matched.rows.iloc[::-1]
        return dict(zip(rows["reference"], rows["break_code"], strict=True))

    return read


@pytest.mark.merge
def test_a_payment_that_is_booked_a_month_later_is_recognised_in_both_months(codes: Codes) -> None:
    assert codes(NOVEMBER, *BOOKED)["R1"] == "paid_in_earlier_period"
    assert codes(OCTOBER, "R1,1000,TZS,2026-11-15")["R1"] == "booked_in_later_period"


@pytest.mark.merge
def test_a_payment_of_the_first_day_may_have_been_booked_before_the_books_begin(
    codes: Codes,
) -> None:
    assert codes(NOVEMBER)["R2"] == "perhaps_booked_earlier"
    booked = "R2,1000,TZS,2026-10-31"
    assert codes(NOVEMBER, booked)["R2"] == "paid_over_edge"
    assert codes(OCTOBER, booked)["R2"] == "paid_over_edge"
    booked = "R2,1000,TZS,2026-10-30"
    assert codes(NOVEMBER, booked)["R2"] == "booked_in_earlier_period"
    assert codes(OCTOBER, booked)["R2"] == "paid_in_later_period"
    # Books that reach further back are proof that it was not.
    assert codes(NOVEMBER, "R1,1000,TZS,2026-10-15")["R2"] == "missing_in_ledger"


def test_a_payment_asked_for_before_the_books_begin_may_have_been_booked_there(
    codes: Codes,
) -> None:
    assert codes(NOVEMBER)["R7"] == "perhaps_booked_earlier"


@pytest.mark.merge
def test_a_payment_of_the_last_day_may_be_booked_after_the_books_end(codes: Codes) -> None:
    assert codes(OCTOBER)["R11"] == "perhaps_booked_later"
    booked = "R11,1000,TZS,2026-11-01"
    assert codes(OCTOBER, booked)["R11"] == "booked_over_edge"
    assert codes(NOVEMBER, booked)["R11"] == "booked_over_edge"
    # Books that go on are proof that it was not.
    assert codes(OCTOBER, "R5,1000,TZS,2026-11-12")["R11"] == "missing_in_ledger"


def test_a_failed_attempt_nearby_does_not_hide_the_success_long_before(codes: Codes) -> None:
    assert codes(NOVEMBER, *BOOKED)["R3"] == "paid_in_earlier_period"


def test_a_second_payment_of_an_order_that_was_paid_a_month_before_is_to_be_refunded(
    codes: Codes,
) -> None:
    assert codes(NOVEMBER)["R4"] == "double_payment"


def test_an_order_that_was_paid_and_booked_in_two_months_is_suspected(
    source: str, tmp_path: Path
) -> None:
    books = tmp_path / "books.csv"
    books.write_text(
        "reference,amount,currency,booked_at\nR4,1000,TZS,2026-10-03\nR4,1000,TZS,2026-11-20\n"
    )
    matched = ledger.of(
        load.inputs(CloseRequest(store=source, mode="live", period=NOVEMBER, ledger=str(books)))
    )
    assert matched is not None
    [double] = matched.doubles.to_dict("records")
    assert double["collection_ids"] == "col_R4-first col_R4-second"
    assert (double["payments"], double["booked"], double["suspected"]) == (2, 2, True)


def test_a_booking_of_the_other_mode_is_found_however_old_it_is(codes: Codes) -> None:
    assert codes(NOVEMBER, *BOOKED)["R5"] == "mode_mismatch"


def test_what_the_whole_store_does_not_know_was_never_paid(codes: Codes) -> None:
    assert codes(NOVEMBER, *BOOKED)["R6"] == "missing_at_provider"


def test_a_booking_of_what_was_sent_and_never_answered_is_not_to_be_reversed(codes: Codes) -> None:
    assert codes(NOVEMBER, *BOOKED)["R10"] == "outcome_unknown"


def test_what_was_looked_up_is_no_part_of_the_months_own_figures(source: str) -> None:
    plain = load.inputs(CloseRequest(store=source, mode="live", period=NOVEMBER))
    assert plain.outside is None or plain.outside.empty
    assert plain.judged_on == date(2026, 12, 31)


def test_a_later_fact_does_not_exist_for_what_is_looked_up_as_of_an_earlier_position(
    tmp_path: Path,
) -> None:
    with Store.open(tmp_path / "s.db") as store:
        store.record(observation("R1", "2026-11-20T12:00", status="failed"))
        before = store.feed.head()
        store.record(observation("R2", "2026-10-01T12:00"))
    books = tmp_path / "books.csv"
    books.write_text("reference,amount,currency,booked_at\nR2,1000,TZS,2026-11-12\n")
    options: dict[str, Any] = {"mode": "live", "period": NOVEMBER, "ledger": str(books)}
    now = load.inputs(CloseRequest(store=str(tmp_path / "s.db"), **options))
    then = load.inputs(CloseRequest(store=str(tmp_path / "s.db"), **options, as_of=before))
    assert now.outside is not None
    assert then.outside is not None
    assert now.outside["id"].tolist() == ["col_R2"]
    assert now.outside["business_day"].tolist() == [pd.Timestamp("2026-10-01")]
    assert then.outside.empty
