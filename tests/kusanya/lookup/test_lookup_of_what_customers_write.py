"""What support pastes of a chat: a customer's own sentences, masked phones, unread messages."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.intents import prepare_intent
from tests.kusanya.lookup.test_lookup import NOW, ask, collection, record, ways

from kusanya.clock import ManualClock
from kusanya.confirmations.reading import FAILED, UNKNOWN_FORM, UNREAD
from kusanya.domain.business_day import day_start
from kusanya.lookup import MatchKind, advice, load_timeline
from kusanya.lookup.search.amounts import read_amount, read_amount_in
from kusanya.lookup.search.in_figures import in_figures
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya.wording import clock_swahili

PHONE = "255674799851"
LATE = day_start(NOW) + timedelta(hours=23, minutes=59)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder: Path = tmp_path_factory.mktemp("chats")
    with Store.open(folder / "lookup.db", clock=ManualClock(NOW)) as opened:
        record(opened, collection("000001", amount=150_800, phone=PHONE, minutes_ago=8 * 60 + 6))
        record(opened, collection("000002", amount=150_800, phone=PHONE, minutes_ago=60 * 24 * 5))
        record(opened, collection("000003", amount=7_000, phone="255754988320"))
        record(opened, collection("000004", amount=9_000, phone="255754188320"))
        prepare_intent(
            opened, idempotency_key="key-1", body=b"{}", mode=Mode.LIVE, profile="main",
            reference="SHOP-77", amount=4_400, phone="255754000777",
            prepared_at=NOW - timedelta(minutes=1), intent_id="int_00000001",
        )  # fmt: skip
        yield opened


LONG = (
    "Habari za jioni, mimi ni mteja wenu wa siku nyingi, nimelipa oda yangu {} kwa Tigo lakini "
    "mpaka sasa haijathibitishwa, naomba msaada tafadhali"
)


@pytest.mark.parametrize(
    "text",
    [
        LONG.format("INV-000001"),
        "Good evening, I have made payment of TZS 150,800 for INV-000001, please confirm",
        "Nimelipa Tsh 150,800 kwa INV-000001 salio langu limekatwa",
        "Umelipa TSh 150,800 kwa DUKA. Salio TSh 3. Kumbukumbu namba INV-000001.",
    ],
)
def test_a_reference_is_found_in_whatever_a_customer_writes(store: Store, text: str) -> None:
    assert ways(ask(store, text)) == [("INV-000001", MatchKind.REFERENCE)]


@pytest.mark.parametrize(
    "text",
    [
        "Habari za usiku, nimelipa 150,800 leo saa 1:18 asubuhi kwa Tigo, sijapata jibu",
        "paid tsh 150,800/= today, not confirmed",
        'Customer says: "I paid 150800 this morning (from Tigo)".',
        "nililipa laki moja na elfu hamsini na mia nane leo",
        "I sent 150.8k today for 3 items",
        LONG.format("ya 150,800/="),
    ],
)
def test_the_one_amount_of_a_sentence_is_looked_for_at_the_time_beside_it(
    store: Store, text: str
) -> None:
    found = ask(store, text)
    assert ways(found) == [("INV-000001", MatchKind.AMOUNT)]
    assert found.looked_at.startswith("150,800, ")
    assert not found.is_claim


def test_an_open_creation_of_the_amount_of_a_sentence_is_found(store: Store) -> None:
    found = ask(store, "nimelipa 4,400/= sasa hivi")
    assert [(one.intent.id, one.kind) for one in found.creations] == [
        ("int_00000001", MatchKind.AMOUNT)
    ]


@pytest.mark.parametrize(
    "text",
    ["5,000 or 150,800/=, I forgot", "I paid for 3 shoes in 2026", "0754000412 na 150,800 na"],
)
def test_of_several_amounts_or_beside_a_phone_none_is_looked_for_alone(
    store: Store, text: str
) -> None:
    assert ask(store, text).matches == ()


def test_what_was_looked_for_in_vain_is_named(store: Store) -> None:
    found = ask(store, "nimelipa 77,800 jana saa tano na robo usiku")
    assert (found.count, found.looked_at) == (0, "77,800, 23:00 to 23:30 on 03 Mar 2026")
    assert "nimelipa" in found.words


@pytest.mark.parametrize(
    ("word", "kept"),
    [("W1" * 9000, "W1" * 9000), ("AB\0C-123", "AB␀C-123")],
)
def test_a_reference_is_found_by_a_word_that_no_store_could_keep(
    store: Store, word: str, kept: str
) -> None:
    record(store, collection("long", reference=kept))
    assert [match.row.id for match in ask(store, f"please {word} now").matches] == ["col_long"]


def test_an_address_is_named_without_its_password(store: Store) -> None:
    found = ask(store, "see postgresql://asha:geheim@db.example:5432/shop please")
    assert found.words == ("postgresql://asha:***@db.example:5432/s…", "see", "please")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("+255•••••851", ["INV-000001"]),
        ("+255XXXXXX851", ["INV-000001"]),
        ("255674***851", ["INV-000001"]),
        ("0674***851", ["INV-000001"]),
        ("0754***851", []),
        ("***88320", ["INV-000003", "INV-000004"]),
        ("07549**88320", ["INV-000003"]),
        ("simu ni ****851 naomba", ["INV-000001"]),
        ("the phone ending in 851", ["INV-000001"]),
        ("namba inaishia 851", ["INV-000001"]),
        ("mwisho 851", ["INV-000001"]),
        ("***988320", ["INV-000003"]),
        ("***799851", ["INV-000001", "INV-000002"]),
        ("***851 or ***320", []),
        ("A***851B", []),
    ],
)
def test_a_phone_that_is_shown_by_its_end_is_found(
    store: Store, text: str, names: list[str]
) -> None:
    found = ask(store, text)
    assert sorted(name for name, _ in ways(found)) == names
    assert {kind for _, kind in ways(found)} <= {MatchKind.PHONE_END}
    creation = ask(store, "0754***777").creations
    assert [one.intent.id for one in creation] == ["int_00000001"]
    assert ask(store, "0755***777").count == 0


def test_a_reference_beside_the_end_of_a_phone_is_what_is_meant(store: Store) -> None:
    found = ask(store, "INV-000004, phone ending in 851")
    assert ways(found) == [("INV-000004", MatchKind.REFERENCE)]


def test_phones_in_a_long_text_are_looked_up_one_at_a_time(store: Store) -> None:
    one = ask(store, LONG.format("0674 799 851"))
    assert {name for name, _ in ways(one)} == {"INV-000001", "INV-000002"}
    assert one.phones == 1
    none = ask(store, LONG.format("0754 111 222"))
    assert (none.count, none.phones) == (0, 1)
    two = ask(store, LONG.format("0754 111 222, 0674 799 851"))
    assert (two.count, two.phones) == (0, 2)


def test_a_very_long_text_is_looked_through_as_far_as_it_is_read(store: Store) -> None:
    text = "INV-000001 " + "na " * 5_000
    found = ask(store, text)
    assert (ways(found), found.text) == ([("INV-000001", MatchKind.REFERENCE)], text.strip())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Umelipa TSh 150,800.00 kwa DUKA LA DEMO. Salio TSh 3.", UNKNOWN_FORM),
        ("Muamala wa TZS 150,800 umefanikiwa, TxnID 26495371000758 04/03/26 07:18", UNREAD),
    ],
)
def test_of_a_message_that_cannot_be_read_nothing_is_said_to_the_customer(
    store: Store, text: str, reason: str
) -> None:
    found = ask(store, text)
    assert ways(found) == [("INV-000001", MatchKind.AMOUNT)]
    assert (found.trouble, found.is_message) == (reason, True)
    assert (found.is_claim, found.is_unsure) == (True, True)
    (match,) = found.matches
    told = load_timeline(
        store, match.row.id, Mode.LIVE, now=NOW,
        is_claimed=found.is_claim, is_unsure=found.is_unsure,
    )  # fmt: skip
    assert told is not None
    assert advice(told).english.sentence.startswith("Please tell me your order number")


def test_a_reference_makes_such_a_message_sure_and_leaves_it_a_claim(store: Store) -> None:
    found = ask(store, "Umelipa TSh 150,800 kwa DUKA. Salio TSh 3. Namba INV-000001.")
    assert (found.is_claim, found.is_unsure) == (True, False)


def test_a_message_of_no_payment_leads_to_what_it_names_alone(store: Store) -> None:
    text = "Muamala wa TZS 150,800 umeshindikana, salio halitoshi."
    found = ask(store, text)
    assert (found.count, found.trouble) == (0, FAILED)
    named = ask(store, f"{text} Namba INV-000001")
    assert (ways(named), named.trouble) == ([("INV-000001", MatchKind.REFERENCE)], FAILED)
    assert (named.is_claim, named.is_unsure) == (False, False)


@pytest.mark.parametrize(
    ("said", "figures"),
    [
        ("saa tano usiku", "saa 5 usiku"),
        ("saa tano na nusu usiku", "saa 5:30 usiku"),
        ("saa 5 na robo usiku", "saa 5:15 usiku"),
        ("saa sita kasoro robo usiku", "saa 5:45 usiku"),
        ("saa moja kasoro robo asubuhi", "saa 12:45 asubuhi"),
        ("saa kumi na mbili kasoro robo", "saa 11:45"),
        ("saa kumi na moja na dakika ishirini na tano jioni", "saa 11:25 jioni"),
        ("saa kumi na dakika tano jioni", "saa 10:05 jioni"),
        ("elfu hamsini na tano", "elfu 55"),
        ("elfu moja na mia tano", "1500"),
        ("laki moja na nusu", "150000"),
        ("laki 2 na elfu 3 na mia 4", "203400"),
        ("milioni moja na laki mbili", "1200000"),
        ("elfu tano na elfu tano", "elfu 5 na elfu 5"),
        ("moja na mbili", "moja na mbili"),
        ("watu kumi", "watu kumi"),
    ],
)
def test_swahili_hours_and_amounts_become_figures(said: str, figures: str) -> None:
    assert in_figures(said) == figures


@pytest.mark.parametrize(
    ("text", "amount", "times"),
    [
        ("nimelipa 20 Machi sh 3000", 3_000, "on 20 Mar 2025"),
        ("jumatatu niliwatumia elfu mbili", 2_000, "on 02 Mar 2026"),
        ("I have money 5000", 5_000, "today"),
        ("good morning, I paid 5000 at 3 pm", 5_000, "14:30 to 15:30 today"),
        ("mwaka 2026 nililipa 5000", 5_000, "today"),
        ("order 12345, sent 50k", 50_000, "today"),
        ("order 12345", 12_345, "today"),
        ("saa 3 usiku tarehe 2/3 nimetuma 45000 jioni", 45_000, "20:30 to 21:30 on 02 Mar 2026"),
        ("12 pieces, 300 each", None, ""),
        ("receipt 0123456 or 123456789", None, ""),
        ("x " * 600 + "5000", None, ""),
    ],
)
def test_of_a_sentence_what_can_be_nothing_else_is_read(
    text: str, amount: int | None, times: str
) -> None:
    read = read_amount_in(text, now=LATE, day=day_start)
    assert (None if read is None else (read.amount, read.sentence)) == (
        None if amount is None else (amount, times)
    )


@given(st.integers(0, 24 * 60 - 1))
def test_the_time_that_we_say_in_swahili_is_read(minute: int) -> None:
    at = day_start(NOW) + timedelta(minutes=minute)
    read = read_amount(f"5000 {clock_swahili(at)}", now=LATE, day=day_start)
    assert read is not None
    assert read.at == at


@given(
    money=st.sampled_from(["150,800", "tsh 5000", "85k", "elfu 7", "laki moja na nusu"]),
    time=st.sampled_from(["", "saa 3 usiku", "07:18", "saa tatu na robo asubuhi", "5 pm"]),
    day=st.sampled_from(["", "jana", "leo", "2/3/2026", "jumanne", "20 Feb"]),
    order=st.permutations(range(3)),
    between=st.sampled_from([" ", " nimelipa ", ", then I ", " kwa Tigo ", " (oda yangu) "]),
)
def test_a_sentence_says_what_its_amount_and_time_say_alone(
    money: str, time: str, day: str, order: list[int], between: str
) -> None:
    parts = [(money, time, day)[place] for place in order]
    alone = read_amount(" ".join(parts), now=LATE, day=day_start)
    assert alone is not None
    said = between.join(["Habari za asubuhi", *parts, "asante."])
    assert read_amount_in(said, now=LATE, day=day_start) == alone
