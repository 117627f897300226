"""A period is called reconciled only where what was given proves it: each gap is named."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy
from typing import Any

import msgspec
import pytest
from tests.kit.payments import polled

from kusanya.alarms import notify
from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya.store.records import Note
from kusanya.wire import Mode
from kusanya_books.pack import decisions
from kusanya_console.cli.command_line import main
from kusanya_console.cli.finance import reconcile

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
Ended = tuple[int, dict[str, Any]]
Close = Callable[..., Ended]
pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank", "store")


class Moment(ManualClock):
    """The time of the machine, which a test moves."""

    @property
    def at(self) -> datetime:
        """Return what the time is now."""
        return self.now()

    @at.setter
    def at(self, instant: datetime) -> None:
        self.step(instant - self.now())


@pytest.fixture
def moment() -> Moment:
    return Moment(MONDAY)


@pytest.fixture
def store(tmp_path: Path, empty_store: Path, moment: Moment) -> Store:
    copy(empty_store, tmp_path / "shop.db")
    return Store.open(tmp_path / "shop.db", clock=moment)


@pytest.fixture
def close(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    moment: Moment,
) -> Close:
    """Return the command, closing `books.csv` with the store at a moment; its code and JSON."""
    (tmp_path / "config.toml").touch()
    monkeypatch.setenv("KUSANYA_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reconcile, "now", moment.now)

    def run(*arguments: str, ledger: str = "books.csv") -> Ended:
        given = ("--store", "shop.db", "--mode", "live", "--ledger", ledger, "--out", "packs")
        monkeypatch.setattr(sys, "argv", ["kusanya", "reconcile", *given, "--json", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        code = int(ended.value.code or 0)
        return code, json.loads(said.out) if said.out else {"error": said.err}

    return run


def books(folder: Path, *lines: str) -> None:
    text = "".join(f"{line}\n" for line in ("reference,amount,currency,booked_at", *lines))
    (folder / "books.csv").write_text(text, encoding="utf-8")


def watched(store: Store) -> None:
    store.poll_leases.record_poll(Mode.LIVE, by="watch")


@pytest.mark.merge
def test_five_nights_find_on_the_second_what_was_never_booked_and_never_paid(
    close: Close, store: Store, moment: Moment, tmp_path: Path
) -> None:
    lines = ["INV-1,250000,TZS,2026-03-02"]
    endings = []
    for night in range(5):
        noon = MONDAY + timedelta(days=night)
        for number in range(4):
            store.record(polled(f"{night}-{number}", noon + timedelta(minutes=20 * number)))
            if (night, number) not in {(0, 1), (0, 2)}:
                lines.append(f"R-{night}-{number},1000,TZS,{noon:%Y-%m-%d}")
        books(tmp_path, *lines)
        moment.at = noon + timedelta(hours=15)
        watched(store)
        endings.append(close("--period", "yesterday"))
    (code, first), (again, second) = endings[:2]
    assert (code, first["verdict"]) == (0, "reconciled")
    waits = {row["break_code"]: (row["rows"], row["amount"]) for row in first["waiting"]}
    assert waits == {"timing_unbooked": (2, 2_000), "timing_unseen": (1, 250_000)}
    assert (again, second["verdict"]) == (1, "breaks")
    carried = [row for row in second["findings"] if row["finding"].startswith("open items")]
    assert [(row["rows"], row["amount"]) for row in carried] == [(3, 252_000)]
    assert second["previous"] == Path(first["folder"]).name
    assert [code for code, _ in endings[2:]] == [1, 1, 1], "they stay until somebody acts"


@pytest.mark.merge
@pytest.mark.parametrize(
    "heard_on", [1, *(pytest.param(night, marks=pytest.mark.ci) for night in (2, 3))]
)
def test_what_is_heard_days_later_is_named_by_the_next_night_and_every_later_one(
    close: Close, store: Store, moment: Moment, tmp_path: Path, heard_on: int
) -> None:
    lines: list[str] = []
    said = []
    for night in range(5):
        noon = MONDAY + timedelta(days=night)
        store.record(polled(night, noon))
        lines.append(f"R-{night},1000,TZS,{noon:%Y-%m-%d}")
        if night == heard_on:
            late = polled("late", MONDAY, amount=7_000)
            store.record(msgspec.structs.replace(late, observed_at=noon))
        books(tmp_path, *lines)
        moment.at = noon + timedelta(hours=15)
        watched(store)
        said.append(close("--period", "yesterday"))
    assert [code for code, _ in said] == [0] * heard_on + [1] * (5 - heard_on)
    for _, made in said[heard_on:]:
        found = [row for row in made["findings"] if row["finding"].startswith("open items")]
        assert [row["amount"] for row in found] == [7_000]


@pytest.mark.merge
def test_a_row_that_one_night_could_not_read_is_missed_by_every_later_one_until_it_is_read(
    close: Close, store: Store, moment: Moment, tmp_path: Path
) -> None:
    nights = {day: f"R-{day},1000,TZS,2026-03-{day:02}" for day in (2, 3, 4)}
    for day in nights:
        store.record(polled(day, MONDAY.replace(day=day)))
    moment.at = datetime(2026, 3, 5, 1, tzinfo=UTC)
    watched(store)

    def closed(day: int, *more: str) -> list[str]:
        books(tmp_path, nights[day], *more)
        code, said = close("--from", f"2026-03-{day:02}", "--to", f"2026-03-{day:02}")
        assert code == (said["verdict"] != "reconciled")
        return [said["verdict"], *said["unproven"]]

    assert closed(2, "X-9,-5OO000,TZS,2026-03-02") == ["not closed"]
    for day in (3, 4):
        verdict, unproven = closed(day)
        assert verdict == "not proven"
        assert unproven.startswith("2026-03-02 is not closed, because rows of its files could not")
    assert [closed(day) for day in nights] == [["reconciled"]] * 3


@pytest.mark.merge
def test_an_earlier_pack_can_be_refused_and_days_that_no_pack_holds_are_named(
    close: Close, store: Store, moment: Moment, tmp_path: Path
) -> None:
    store.record(polled(1, MONDAY))
    books(tmp_path, "R-1,1000,TZS,2026-03-02")
    for day in (3, 6):
        moment.at = datetime(2026, 3, day, 1, tzinfo=UTC)
        watched(store)
        code, said = close("--period", "yesterday")
        assert code == 0, said
    assert said["gap"] == "2026-03-03 to 2026-03-04"
    _, alone = close("--period", "yesterday", "--previous", "none")
    assert (alone["previous"], alone["gap"]) == (None, None)


def test_what_waits_and_what_is_not_proven_is_in_the_notification(
    close: Close, store: Store, moment: Moment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[notify.Message] = []
    monkeypatch.setattr(notify, "send_one", lambda _, message: sent.append(message))
    store.record(polled(1, MONDAY))
    books(tmp_path)
    moment.at = MONDAY + timedelta(hours=15)
    close("--period", "yesterday", "--notify", "https://chat.example/x")
    [message] = sent
    assert "waits: 1 paid, not booked yet, TZS 1,000, the oldest 1 day" in message.body
    assert "Not proven: the last fact is of 2026-03-02" in message.body
    assert message.title.endswith(": not proven")


def full_month(folder: Path) -> None:
    books(folder, *(f"R-{day},1000,TZS,2026-03-{day:02d}" for day in range(2, 31)))


def test_an_empty_store_proves_no_full_books(close: Close, moment: Moment, tmp_path: Path) -> None:
    full_month(tmp_path)
    moment.at = datetime(2026, 4, 3, tzinfo=UTC)
    code, said = close("--period", "last-month")
    assert (code, said["verdict"], said["may_sign"]) == (1, "breaks", False)
    assert "the store has heard nothing of the service" in said["unproven"][0]


def test_nothing_read_is_never_reconciled(
    close: Close, store: Store, moment: Moment, tmp_path: Path
) -> None:
    books(tmp_path)
    moment.at = datetime(2026, 4, 3, tzinfo=UTC)
    watched(store)
    code, said = close("--period", "last-month")
    assert (code, said["verdict"]) == (1, "not proven")
    assert said["unproven"][0].startswith("nothing was read")


def test_a_receiver_dead_since_the_tenth_is_not_reconciled_and_a_watcher_alone_cannot_hide_it(
    close: Close, store: Store, moment: Moment, tmp_path: Path
) -> None:
    for day in range(2, 11):
        store.record(polled(day, MONDAY + timedelta(days=day - 2)))
    books(tmp_path, *(f"R-{day},1000,TZS,2026-03-{day:02d}" for day in range(2, 11)))
    moment.at = datetime(2026, 4, 3, tzinfo=UTC)
    code, said = close("--period", "last-month")
    assert (code, said["verdict"]) == (1, "not proven")
    assert "the last fact is of 2026-03-10" in said["sentence"]
    assert "kusanya catch-up" in said["sentence"]
    full_month(tmp_path)
    watched(store)
    code, said = close("--period", "last-month")
    assert (code, said["by_code"]) == (1, {"missing_at_provider": 20})


OPERATOR = "receipt,reference,amount,currency,channel,at,status\n"


@pytest.fixture
def dead(close: Close, store: Store, moment: Moment, tmp_path: Path) -> Callable[..., list[str]]:
    """Return a close of a month whose receiver died on the 10th beside a watcher, and its doubts.

    The books and, where asked, an operator have a payment of two later days.
    """
    for day in (9, 10):
        store.record(polled(day, MONDAY + timedelta(days=day - 2), channel="MPESA_TZ"))
    known = [f"R-{day},1000,TZS,2026-03-{day:02d}" for day in (9, 10)]
    books(tmp_path, *known, "R-11,1000,TZS,2026-03-11", "r-12 ,1500,TZS,2026-03-12")
    moment.at = datetime(2026, 4, 3, tzinfo=UTC)
    watched(store)

    def closed(*said: str) -> list[str]:
        rows = [f"RC{row},TZS,MPESA_TZ,2026-03-11 12:00,completed\n" for row in said]
        (tmp_path / "operator.csv").write_text(OPERATOR + "".join(rows))
        given = ("--operator", "operator.csv") if said else ()
        found = close("--period", "last-month", *given)[1]
        assert found["verdict"] == "breaks"
        return [str(one) for one in found["unproven"]]

    return closed


@pytest.mark.merge
def test_what_books_and_operator_both_have_the_store_should_know(
    dead: Callable[..., list[str]],
) -> None:
    known = ("9,R-9,1000", "10,R-10,1000")
    [said] = dead(*known, "11,R-11,1000", "12,R-12,1500")
    assert said.startswith("2 payment(s), TZS 2,500, are in the books and at the operator, and")
    assert "run kusanya catch-up" in said
    [said] = dead(*known, "12,R-12,1500", "13,R-13,700")
    assert said.startswith("1 payment(s), TZS 1,500, are in the books")


@pytest.mark.merge
def test_once_they_are_known_nothing_is_in_doubt(
    dead: Callable[..., list[str]], close: Close, store: Store
) -> None:
    assert dead("9,R-9,1000", "10,R-10,1000", "11,R-11,1000", "12,R-12,1500") != []
    for day, amount in ((11, 1_000), (12, 1_500)):
        at = MONDAY + timedelta(days=day - 2)
        store.record(polled(day, at, amount=amount, channel="MPESA_TZ"))
    code, said = close("--period", "last-month", "--operator", "operator.csv")
    assert (said["by_code"], said["unproven"], code) == ({}, [], 0)


@pytest.mark.merge
def test_lines_after_the_last_fact_are_named_as_such(
    dead: Callable[..., list[str]], store: Store
) -> None:
    begins = "the last fact is of 2026-03-10 12:01 EAT, and"
    [said] = dead()
    assert said.startswith(f"{begins} 2 open line(s) of books and statements are of later days: ")
    [said] = dead("9,R-9,1000", "10,R-10,1000", "14,R-14,1500")
    assert said.startswith(f"{begins} 3 open line(s)")
    store.record(polled(30, MONDAY + timedelta(days=28), status="failed", failure_code="x"))
    assert dead() == [], "something was heard at the end"


@pytest.mark.merge
def test_what_a_person_accepted_raises_no_doubt(
    dead: Callable[..., list[str]], close: Close, store: Store, tmp_path: Path
) -> None:
    dead()
    items = decisions.load(store, tmp_path / "packs")
    for break_id in items.frame["break_id"]:
        decisions.record(store, items, break_id, status="accepted", note="paid in cash")
    code, said = close("--period", "last-month")
    assert (code, said["verdict"], said["unproven"]) == (0, "reconciled", [])


def test_a_quiet_shop_is_proven_by_its_watcher(
    close: Close, store: Store, moment: Moment, tmp_path: Path
) -> None:
    store.record(polled(1, MONDAY - timedelta(days=20)))
    books(tmp_path, "R-1,1000,TZS,2026-02-10")
    moment.at = datetime(2026, 4, 3, tzinfo=UTC)
    assert close("--period", "last-month")[1]["verdict"] == "not proven"
    watched(store)
    code, said = close("--period", "last-month")
    assert (code, said["verdict"], said["unproven"]) == (0, "reconciled", [])


def test_what_people_write_into_the_store_is_no_sign_of_the_service(
    close: Close, store: Store, moment: Moment, tmp_path: Path
) -> None:
    store.record(polled(1, MONDAY))
    books(tmp_path, "R-1,1000,TZS,2026-03-02")
    moment.at = datetime(2026, 4, 3, tzinfo=UTC)
    store.notes.add("col_1", Note(text="looked at"), author="asha", mode=Mode.LIVE)
    assert close("--period", "last-month")[1]["verdict"] == "not proven"


def test_what_is_still_open_after_its_grace_is_not_proven(
    close: Close, store: Store, moment: Moment, tmp_path: Path
) -> None:
    store.record(polled(1, MONDAY))
    store.record(polled(2, MONDAY, status="created", completed_at=None))
    books(tmp_path, "R-1,1000,TZS,2026-03-02")
    moment.at = MONDAY + timedelta(hours=15)
    watched(store)
    assert close("--period", "yesterday")[1]["verdict"] == "reconciled"
    moment.at = datetime(2026, 4, 3, tzinfo=UTC)
    watched(store)
    code, said = close("--period", "last-month")
    assert (code, said["verdict"]) == (1, "not proven")
    assert "1 payment(s) of MPESA_TZ, TZS 1,000, are not final" in said["sentence"]


@pytest.mark.merge
def test_ages_are_counted_to_the_day_of_the_run_and_the_same_day_gives_the_same_bytes(
    close: Close, store: Store, moment: Moment, tmp_path: Path
) -> None:
    store.record(polled(1, MONDAY + timedelta(days=28)))
    books(tmp_path)
    moment.at = datetime(2026, 4, 20, tzinfo=UTC)
    watched(store)
    code, said = close("--period", "last-month")
    assert (code, said["by_code"]) == (1, {"missing_in_ledger": 1})
    folder = Path(said["folder"])
    before = (folder / "manifest.json").read_bytes()
    assert json.loads(before)["made_from"]["judged_on"] == "2026-04-20"
    moment.at = datetime(2026, 4, 27, tzinfo=UTC)
    watched(store)
    assert close("--period", "2026-03")[1]["run_id"] != said["run_id"]
    same = close("--period", "2026-03", "--judged-on", "2026-04-20")[1]
    assert same["run_id"] == said["run_id"]
    assert (folder / "manifest.json").read_bytes() == before
    code, refused = close("--period", "2026-03", "--judged-on", "2026-12-31")
    assert (code, "yet to come" in refused["error"]) == (2, True)


@pytest.fixture
def two_channels(store: Store, moment: Moment, tmp_path: Path) -> None:
    store.record(polled(1, MONDAY, amount=3_000))
    store.record(polled(2, MONDAY, channel="TIGO_TZ", phone="255714123456"))
    books(tmp_path, "R-1,3000,TZS,2026-03-02", "R-2,1000,TZS,2026-03-02")
    (tmp_path / "mpesa.csv").write_text(
        "at,receipt,reference,amount,currency,channel,kind\n"
        "2026-03-02T12:00:30+03:00,QAB1CDEFGH,R-1,3000,TZS,MPESA_TZ,payment\n",
        encoding="utf-8",
    )
    moment.at = datetime(2026, 4, 3, tzinfo=UTC)
    watched(store)


@pytest.mark.usefixtures("two_channels")
def test_the_verdict_says_how_much_of_the_money_each_leg_compared(close: Close) -> None:
    code, said = close("--period", "last-month")
    assert code == 0
    compared = "TZS 4,000: books 100 %, operator 0 %, settlement 0 %, bank 0 %"
    assert compared in said["sentence"]
    rows = {
        (row["leg"], row["channel"]): (row["amount"], row["amount_met"], row["percent"])
        for row in said["coverage"]
    }
    assert rows["books", "MPESA_TZ"] == (3_000, 3_000, 100)
    assert rows["operator", "TIGO_TZ"] == (1_000, 0, 0)


@pytest.mark.usefixtures("two_channels")
def test_a_bank_with_nothing_to_compare_and_a_statement_without_its_end_are_not_proven(
    close: Close, tmp_path: Path
) -> None:
    (tmp_path / "bank.sta").write_text(
        ":20:1\n:25:1\n:28C:1\n:60F:C260301TZS0,\n:61:2603050305C9000,NTRFNONREF\n", "utf-8"
    )
    code, said = close("--period", "last-month", "--bank", "bank.sta")
    assert (code, said["verdict"], said["may_sign"]) == (1, "not proven", False)
    ends, compared = sorted(said["unproven"])
    assert "bank.sta: a statement has no closing balance" in ends
    assert "no payout is known" in compared


@pytest.mark.merge
@pytest.mark.usefixtures("two_channels")
@pytest.mark.parametrize("expected", ["settlement", "operator:mpesa", "operator:MIXX", "bank"])
@pytest.mark.parametrize("by_profile", [False, True])
def test_what_is_expected_and_missing_is_not_proven(
    close: Close, tmp_path: Path, expected: str, *, by_profile: bool
) -> None:
    arguments: tuple[str, ...] = ("--expect", f"books,{expected}")
    if by_profile:
        (tmp_path / "config.toml").write_text(
            f'[profiles.main]\nexpect = ["books", "{expected}"]\n', encoding="utf-8"
        )
        arguments = ()
    code, said = close("--period", "last-month", *arguments)
    assert (code, said["verdict"], said["may_sign"]) == (1, "not proven", False)
    assert "expected, and nothing of it was given; give the file" in said["unproven"][0]
    if by_profile:
        assert close("--period", "last-month", "--expect", "books")[0] == 0


@pytest.mark.merge
@pytest.mark.usefixtures("two_channels")
def test_of_all_operators_each_channel_that_took_money_must_have_its_statement(
    close: Close,
) -> None:
    given = ("--period", "last-month", "--operator", "mpesa.csv")
    code, said = close(*given, "--expect", "operator")
    assert (code, said["verdict"]) == (1, "not proven")
    [lacks] = said["unproven"]
    assert lacks.startswith("the operator's statements for Mixx")
    assert close(*given, "--expect", "operator:mpesa")[0] == 0


@pytest.mark.usefixtures("two_channels")
def test_a_settlement_statement_that_names_no_channel_is_compared_with_all(
    close: Close, tmp_path: Path
) -> None:
    (tmp_path / "paid.csv").write_text(
        "business_day,currency,gross,fee,net\n2026-03-02,TZS,4000,36,3964\n", encoding="utf-8"
    )
    code, said = close(
        "--period", "last-month", "--statement", "paid.csv", "--expect", "settlement"
    )
    assert (code, said["verdict"]) == (0, "reconciled")
    assert "settlement 100 %" in said["sentence"]


@pytest.mark.usefixtures("two_channels")
@pytest.mark.parametrize(
    ("expected", "says"),
    [("book", "books, operator, settlement, bank"), ("operator:vodacom", "mpesa, mixx")],
)
def test_an_unknown_name_of_what_is_expected_is_a_usage_error(
    close: Close, expected: str, says: str
) -> None:
    code, said = close("--period", "last-month", "--expect", expected)
    assert (code, says in said["error"].replace("tigo, ", "")) == (2, True)
