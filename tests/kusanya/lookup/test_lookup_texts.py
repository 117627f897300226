"""What customers read out, in the ways they read it out."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy

import pytest
from tests.kit.intents import prepare_intent
from tests.kusanya.lookup.test_lookup import NOW, ask, collection, record, ways

from kusanya.clock import ManualClock
from kusanya.domain.business_day import EAT, day_start
from kusanya.lookup import MatchKind
from kusanya.lookup.search.amounts import read_amount
from kusanya.store import Store
from kusanya.wire import Mode


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder: Path = tmp_path_factory.mktemp("texts")
    with Store.open(folder / "lookup.db", clock=ManualClock(NOW)) as opened:
        record(opened, collection("000100", minutes_ago=8 * 60 + 6))  # 07:18 EAT
        record(opened, collection("000099", minutes_ago=24 * 60 * 5))
        record(opened, collection("000098", amount=1, phone="255754000013"))
        prepare_intent(
            opened, idempotency_key="key-1", body=b"{}", mode=Mode.LIVE, profile="main",
            reference="SHOP-77", amount=3, phone="255754000777",
            prepared_at=NOW - timedelta(minutes=1), intent_id="int_00000001",
        )  # fmt: skip
        yield opened


@pytest.mark.parametrize(
    "text",
    [
        "TZS 85,000 at 07:18",
        "85000/= 07:18",
        "85000 7.18am",
        "Tsh 85,000.00 saa 1:18 asubuhi",
        "85 000 7:25 am today",
        "85,000/- 4/3/26 07:18",
        "85000 leo 07:18",
    ],
)
def test_an_amount_with_its_time_is_found_however_it_is_said(store: Store, text: str) -> None:
    found = ask(store, text)
    assert ways(found) == [("INV-000100", MatchKind.AMOUNT)]
    assert found.looked_at.startswith("85,000, 07:")
    assert found.looked_at.endswith("today")


@pytest.mark.parametrize(
    "text", ["85000 27 Feb", "85000 fri", "85,000 on 2026-02-27", "85000 27/2"]
)
def test_an_amount_with_a_day_means_all_of_that_day(store: Store, text: str) -> None:
    found = ask(store, text)
    assert ways(found) == [("INV-000099", MatchKind.AMOUNT)]
    assert found.looked_at == "85,000, on 27 Feb 2026"


@pytest.mark.parametrize(
    "text",
    [
        "85000 INV",
        "85000 24:00",
        "85000 25:00",
        "85000 31 Feb",
        "pay 85000",
        "85000 7 18",
        "85000 5000",
        "yesterday evening",
        "5.555k",
        "8,50,000",
        "85000 07:18 08:20",
        "85000 morning evening",
        "85000 18:00 evening",
        "85000 18:00 ±13h",
        "85000 ±30m",
        "4900..5100..5200",
        "..5100",
    ],
)
def test_what_says_anything_else_is_no_amount(text: str) -> None:
    assert read_amount(text, now=NOW, day=day_start) is None


@pytest.mark.parametrize(
    ("text", "amounts", "times"),
    [
        ("5000 yesterday evening", (5_000, 5_000), "16:00 to 22:00 on 03 Mar 2026"),
        ("5,000 jana jioni", (5_000, 5_000), "16:00 to 20:00 on 03 Mar 2026"),
        ("TZS 5000 in the morning", (5_000, 5_000), "05:00 to 12:00 today"),
        ("5000 mon 18:00 ±30m", (5_000, 5_000), "17:30 to 18:30 on 02 Mar 2026"),
        ("5000 yesterday 18:00 +/-2h", (5_000, 5_000), "16:00 to 20:00 on 03 Mar 2026"),
        ("5000 jana usiku", (5_000, 5_000), "19:00 to 05:00 on 03 Mar 2026"),
        ("4900..5100", (4_900, 5_100), "today"),
        ("5,100 .. 4,900 jana", (4_900, 5_100), "on 03 Mar 2026"),
        ("yesterday evening, 5000", (5_000, 5_000), "16:00 to 22:00 on 03 Mar 2026"),
        ("mon 18:00 ±30m 5k", (5_000, 5_000), "17:30 to 18:30 on 02 Mar 2026"),
        ("jana 4900..5100", (4_900, 5_100), "on 03 Mar 2026"),
        ("laki 2 saa 3 asubuhi", (200_000, 200_000), "08:30 to 09:30 today"),
        ("27 Feb 85000", (85_000, 85_000), "on 27 Feb 2026"),
        ("last night elfu 5", (5_000, 5_000), "19:00 to 05:00 on 03 Mar 2026"),
    ],
)
def test_parts_of_days_spans_and_ranges_are_read(
    text: str, amounts: tuple[int, int], times: str
) -> None:
    read = read_amount(text, now=day_start(NOW) + timedelta(hours=13), day=day_start)
    assert read is not None
    assert ((read.amount, read.up_to), read.sentence) == (amounts, times)


def test_a_part_of_the_day_that_is_yet_to_come_was_yesterdays() -> None:
    read = read_amount("1 evening", now=day_start(NOW) + timedelta(hours=9), day=day_start)
    assert read is not None
    assert read.sentence == "16:00 to 22:00 on 03 Mar 2026"


def test_a_range_of_amounts_finds_collections_and_creations(store: Store) -> None:
    found = ask(store, "84999..85001 today")
    assert ways(found) == [("INV-000100", MatchKind.AMOUNT)]
    assert found.looked_at == "84,999 to 85,001, today"
    assert [one.intent.id for one in ask(store, "2..4").creations] == ["int_00000001"]
    assert ask(store, "4..9").count == 0


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("1 saa 1:00 asubuhi", "07:00"), ("1 saa 11:00 asubuhi", "05:00"),
        ("1 saa 6:30 mchana", "12:30"), ("1 saa 9:23 alasiri", "15:23"),
        ("1 saa 12:00 jioni", "18:00"), ("1 saa 1:00 jioni", "19:00"),
        ("1 saa 3:00 usiku", "21:00"), ("1 saa 6:00 usiku", "00:00"),
        ("1 saa 22:38:24", "22:38"), ("1 12:05 am", "00:05"), ("1 12pm", "12:00"),
        ("1 saa 9:00 jioni", "15:00"), ("1 saa 8:00 jioni", "02:00"), ("1 2:05 pm", "14:05"),
        ("1 saa 12:30 asubuhi", "06:30"), ("1 saa 12:00 usiku", "06:00"), ("1 13:05 pm", "13:05"),
    ],
)  # fmt: skip
def test_swahili_hours_are_counted_from_six(text: str, clock: str) -> None:
    midnight = day_start(NOW) + timedelta(hours=23, minutes=59)
    read = read_amount(text, now=midnight, day=day_start)
    assert read is not None
    assert read.at is not None
    assert f"{read.at:%H:%M}" == clock


def test_a_time_that_is_yet_to_come_was_yesterday() -> None:
    read = read_amount("1 23:50", now=datetime(2026, 3, 3, 21, 10, tzinfo=UTC), day=day_start)
    assert read is not None
    assert read.sentence == "23:35 to 00:05 on 03 Mar 2026"


@pytest.mark.parametrize("text", ["INV 000100", "inv 000100", "INV/000100", "inv_000100"])
def test_a_reference_is_found_with_other_joints(store: Store, text: str) -> None:
    assert ways(ask(store, text)) == [("INV-000100", MatchKind.SPELLING)]


def test_an_open_creation_is_found_with_other_joints_too(store: Store) -> None:
    found = ask(store, "shop 77")
    assert [(one.intent.reference, one.kind) for one in found.creations] == [
        ("SHOP-77", MatchKind.SPELLING)
    ]


@pytest.mark.parametrize("text", ["(0754) 000.013", "+255 (754) 000-013"])
def test_a_phone_is_read_with_its_brackets(store: Store, text: str) -> None:
    assert ways(ask(store, text)) == [("INV-000098", MatchKind.PHONE)]


def test_the_last_six_digits_of_a_phone_find_what_was_asked_of_it_lately(store: Store) -> None:
    assert ways(ask(store, "000013")) == [("INV-000098", MatchKind.PHONE_END)]
    assert ways(ask(store, "000 013")) == [("INV-000098", MatchKind.PHONE_END)]
    found = ask(store, "000777")
    assert [one.kind for one in found.creations] == [MatchKind.PHONE_END]
    assert found.matches == ()


def test_a_receipt_of_thirteen_digits_or_more_is_no_wrong_phone(store: Store) -> None:
    for receipt in ("25564953713737", "02649537137375"):
        found = ask(store, receipt)
        assert found.count == 0
        assert found.trouble is None
    assert ask(store, "0454 000 412").trouble is not None


def test_a_phone_that_nothing_is_known_of_is_repeated_as_no_amount(store: Store) -> None:
    for text in ("754.000.999", "754 000 999"):
        found = ask(store, text)
        assert (found.count, found.looked_at, found.phones) == (0, "", 1)


def test_a_number_of_thirteen_digits_that_begins_as_a_phone_is_a_wrong_phone(store: Store) -> None:
    assert ask(store, "2557540004121").trouble is not None
    assert ask(store, "25575400041212").trouble is None


def test_a_number_alone_is_a_reference_before_it_is_an_amount(
    tmp_path: Path, empty_store: Path
) -> None:
    with Store.open(copy(empty_store, tmp_path / "store.db"), clock=ManualClock(NOW)) as opened:
        record(opened, collection("1", amount=7_321))
        record(opened, collection("2", reference="SHOP-7321-B"))
        assert ways(ask(opened, "7321")) == [("SHOP-7321-B", MatchKind.PART)]
        assert ways(ask(opened, "7321 today")) == [("INV-1", MatchKind.AMOUNT)]
        record(opened, collection("3", reference="7321"))
        assert ways(ask(opened, "7321")) == [("7321", MatchKind.REFERENCE)]


def test_what_is_nearest_to_the_named_time_stands_first(tmp_path: Path, empty_store: Path) -> None:
    said = NOW - timedelta(hours=3)
    with Store.open(copy(empty_store, tmp_path / "near.db"), clock=ManualClock(NOW)) as store:
        for halves in range(-28, 29):
            at = 3 * 60 + halves / 2
            record(store, collection(f"{halves:06}", amount=7_000, minutes_ago=at))
        found = ask(store, f"{said.astimezone(EAT):%H:%M}, 7000").matches
    away = [abs(match.row.created_at - said) for match in found]
    assert len(away) == 50, "the seven that are furthest away are left out"
    assert away == sorted(away)
    assert max(away) < timedelta(minutes=13)


def test_the_hundreds_that_came_later_hide_nothing_near_the_named_time(
    tmp_path: Path, empty_store: Path
) -> None:
    said = NOW - timedelta(hours=3)
    with Store.open(copy(empty_store, tmp_path / "busy.db"), clock=ManualClock(NOW)) as store:
        record(store, collection("meant", amount=7_000, minutes_ago=3 * 60 + 1))
        for number in range(501):
            ago = 3 * 60 - 3 - number / 100
            record(store, collection(f"later-{number}", amount=7_000, minutes_ago=ago))
        found = ask(store, f"{said.astimezone(EAT):%H:%M}, 7000").matches
    assert len(found) == 50
    assert "meant" in found[0].row.id
