"""What entries hold of payouts and breaks, to the shilling and to the day, as plain tables say."""

import shutil
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from tests.kit.accounting_shop import Shop, day

from kusanya.errors import InputRefused
from kusanya_books import columns
from kusanya_books.columns import POSTINGS
from kusanya_books.judge import postings, suspense
from kusanya_books.pack.journals import account_map, booked_before, journal_entries
from kusanya_books.pack.journals.to_book import Booked, Continued, ToBook
from kusanya_books.read import pack_folder
from kusanya_books.request.days import period

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
FEBRUARY, MARCH = period("2026-02"), period("2026-03")


@pytest.mark.parametrize("paid", range(-3, 4))
@pytest.mark.parametrize("owed", range(-3, 4))
def test_a_payout_clears_no_more_than_is_owed_and_never_the_other_way(paid: int, owed: int) -> None:
    same_side = paid * owed > 0
    smaller = min(abs(paid), abs(owed)) * (1 if paid > 0 else -1)
    assert postings.cleared(paid, owed) == (smaller if same_side else 0)


def settled(**more: Any) -> SimpleNamespace:
    plain = {"standing": "break", "break_code": "settlement_over", "count": 1}
    return SimpleNamespace(**{**plain, "net_settled": 100, "net": 70, **more})


@pytest.mark.parametrize(
    ("row", "held"),
    [
        (settled(), 30),
        (settled(net=100), 0),
        (settled(net=130), 0),
        (settled(count=0), 100),
        (settled(standing="ok"), 0),
        (settled(standing="expected"), 0),
        (settled(break_code="settlement_duplicate"), 0),
    ],
)
def test_of_a_payout_what_is_beyond_the_earnings_is_held(row: Any, held: int) -> None:
    assert postings.suspended_payout(row) == held


def moved(**more: Any) -> SimpleNamespace:
    plain = {"standing": "break", "break_code": "operator_unknown_here", "kind": "payment"}
    return SimpleNamespace(**{**plain, "counted_operator": 100, "bridge_effect": pd.NA, **more})


@pytest.mark.parametrize(
    ("row", "held"),
    [
        (moved(), 100),
        (moved(bridge_effect=7), 7),
        (moved(bridge_effect=-7), 0),
        (moved(kind="reversal", counted_operator=-50), -50),
        (moved(kind="reversal", counted_operator=-50, bridge_effect=-20), -20),
        (moved(counted_operator=pd.NA), 0),
        (moved(counted_operator=0, bridge_effect=7), 0),
        (moved(standing="ok"), 0),
        (moved(standing="expected"), 0),
        (moved(break_code="operator_line_again"), 0),
        (moved(kind="fee"), 0),
        (moved(kind="charge"), 0),
        (moved(kind="tax"), 0),
    ],
)
def test_of_an_operators_line_what_no_payment_explains_is_held(row: Any, held: int) -> None:
    assert postings.suspended_line(row) == held


def item(**more: Any) -> dict[str, Any]:
    plain = {
        "break_id": "b", "leg": "statement", "break_code": "settlement_over", "currency": "TZS",
        "channel": "MPESA_TZ", "amount": 100, "balance": 0, "suspended": 40,
        "day": pd.Timestamp("2026-02-10"), "carried_from": None,
    }  # fmt: skip
    return {**plain, **more}


@pytest.mark.parametrize(
    ("owed", "balance", "held"),
    [
        # What was held stays, and what came beyond what was owed is held with it.
        (100, 0, 0),
        (100, -30, 30),
        (100, 60, 0),
        (0, -30, 30),
        (-50, -80, 70),
        (-50, -20, 20),
    ],
)
def test_what_is_held_of_a_carried_payout_is_what_was_and_what_came_beyond(
    owed: int, balance: int, held: int
) -> None:
    was = item(balance=owed, suspended=40 if owed < 0 else 0)
    assert suspense.suspended(was, item(balance=balance), {}) == held


@pytest.mark.parametrize(
    ("leg", "of", "booked_on"),
    [
        ("operator", "2026-01-31", "2026-02-01"),
        ("operator", "2026-02-01", "2026-02-01"),
        ("operator", "2026-02-28", "2026-02-28"),
        ("operator", "2026-03-01", "2026-02-28"),
        ("operator", None, "2026-02-28"),
        ("statement", "2026-01-31", "2026-01-31"),
        ("statement", None, "2026-02-28"),
    ],
)
@pytest.mark.parametrize("named", [None, "2026-02-01..2026-02-28"])
def test_what_is_explained_leaves_the_day_on_which_it_was_booked(
    leg: str, of: str | None, booked_on: str, named: str | None
) -> None:
    on = pd.NaT if of is None else pd.Timestamp(of)
    before = FEBRUARY if named is None else period("2026-01")
    was = item(leg=leg, day=on, carried_from=named)
    found = suspense.explained(MARCH, before, [(was, None)], [], {})
    key = (pd.Timestamp(booked_on), "TZS", "MPESA_TZ", postings.EXPLAINED, "settlement_over")
    assert found == {key: 40}


def test_runs_of_a_day_are_those_whose_days_hold_it() -> None:
    first, last = date(2026, 3, 5), date(2026, 3, 7)
    runs = (Continued(first, last, "b"), Continued(last, last, "a", "since"))
    booked = Booked(columns.empty(POSTINGS), runs)
    beside = timedelta(days=1)
    assert [
        booked.run_of(on) for on in (first - beside, first, last - beside, last, last + beside)
    ] == ["", "b", "b", "a b", ""]


def test_a_month_that_is_closed_again_continues_its_days_as_one_span(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.pay(day(0), 1_000)
    first = pack_folder.manifest(shop.close(day(0), day(30)))
    shop.pay(day(0), 2_000)
    again = pack_folder.manifest(shop.close(day(0), day(30)))
    after = again["made_from"][booked_before.AFTER]
    assert after == [[str(day(0)), str(day(30)), first["run_id"], "collections"]]
    shop.check()


@pytest.mark.merge
@pytest.mark.parametrize("late", [0, 30])
def test_a_late_change_of_the_first_or_last_day_asks_which_entries_are_booked(
    tmp_path: Path, late: int
) -> None:
    shop = Shop(tmp_path)
    accounts = account_map.read(tmp_path / "accounts.toml")
    shop.pay(day(15), 1_000)
    shop.close(day(0), day(30), accounts="")
    shop.pay(day(late), 9_000)
    april = shop.close(day(31), day(60), accounts="")
    # Closed again, March knows what April booked of it.
    march = shop.close(day(0), day(30), accounts="")
    for folder in (tmp_path / "packs").iterdir():
        if folder not in {april, march}:
            shutil.rmtree(folder)
    with pytest.raises(InputRefused, match=f"{april.name} is of the same days"):
        journal_entries.of_pack(march, accounts)


@pytest.mark.merge
def test_a_close_knows_who_booked_the_first_day_of_the_one_that_it_follows(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.pay(day(0), 1_000)
    march = shop.close(day(0), day(30))
    shop.pay(day(5), 2_000)
    again = pack_folder.manifest(shop.close(day(0), day(30)))["run_id"]
    april = pack_folder.manifest(shop.close(day(31), day(60), previous=str(march)))
    assert april["made_from"][booked_before.AFTER] == [
        [str(day(0)), str(day(30)), again, part] for part in ("collections", "since")
    ]
    shop.check()


SUM = {"currency": "TZS", "channel": "MPESA_TZ", "break_code": None, "rows": 1, "gross": 100,
       "fee": 0, "excise": 0, "vat": 0, "net": 100}  # fmt: skip
KINDS = (postings.COLLECTIONS, postings.EXPLAINED, postings.PAID_SINCE, "payout")


def posted(*rows: tuple[date, str]) -> pd.DataFrame:
    whole = [{**SUM, "business_day": pd.Timestamp(on), "kind": kind} for on, kind in rows]
    return columns.frame(POSTINGS, pd.DataFrame(whole, columns=[*POSTINGS.columns]))


def placed(rows: pd.DataFrame) -> set[tuple[date, str]]:
    found = list(zip(rows["business_day"].dt.date, rows["kind"], strict=True))
    assert len(found) == len(set(found))
    return set(found)


@pytest.mark.parametrize("by_command", [False, True])
@pytest.mark.parametrize("books_others", [False, True])
def test_each_sum_of_a_close_is_booked_or_waits_and_the_first_day_is_its_own(
    *, books_others: bool, by_command: bool
) -> None:
    before, first, last = MARCH.first - timedelta(days=1), MARCH.first, MARCH.last
    every = [(on, kind) for on in (before, first, last) for kind in KINDS]
    close = ToBook(
        first=first, last=last, begins=first, given=frozenset(), books_others=books_others,
        postings=posted(*every), earned=columns.empty(POSTINGS),
    )  # fmt: skip
    now, known, waiting = close.beside(None, by_command=by_command)
    booked = {(on, kind) for on, kind in every if on >= first and books_others}
    booked |= {(first, postings.COLLECTIONS), (last, postings.COLLECTIONS)}
    if by_command:
        booked |= {(before, kind) for kind in KINDS if kind != "payout"}
    assert (placed(now), len(known)) == (booked, 0)
    assert placed(waiting) == set(every) - booked


@pytest.mark.parametrize("part", ["", "collections", "since", "others"])
def test_what_a_run_booked_of_the_day_before_is_said_again_by_its_part(part: str) -> None:
    before, first = MARCH.first - timedelta(days=1), MARCH.first
    every = [(on, kind) for on in (before, first) for kind in KINDS]
    close = ToBook(
        first=first, last=MARCH.last, begins=before, given=frozenset(), books_others=True,
        postings=columns.empty(POSTINGS), earned=posted(*every),
    )  # fmt: skip
    runs = (Continued(before, first, "feb", part),)
    now, _, waiting = close.beside(Booked(columns.empty(POSTINGS), runs), by_command=False)
    of_part = {
        "": set(KINDS), "collections": {postings.COLLECTIONS},
        "since": {postings.EXPLAINED, postings.PAID_SINCE}, "others": {"payout"},
    }  # fmt: skip
    assert placed(now) == {(before, kind) for kind in of_part[part]}
    assert len(waiting) == 0
