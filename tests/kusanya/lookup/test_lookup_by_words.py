"""A reference, a phone, an amount among other words, as they stand in what agents paste."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.kit.intents import prepare_intent
from tests.kusanya.lookup.test_lookup import NOW, ask, collection, record, ways

from kusanya.clock import ManualClock
from kusanya.lookup import MatchKind
from kusanya.store import Store
from kusanya.wire import Mode

PHONE = "255674799851"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder: Path = tmp_path_factory.mktemp("words")
    with Store.open(folder / "lookup.db", clock=ManualClock(NOW)) as opened:
        record(opened, collection("000001", amount=150_800, phone=PHONE, minutes_ago=60 * 30))
        record(opened, collection("000002", amount=9_000, phone=PHONE))
        record(opened, collection("000003", phone="255754988320", minutes_ago=60 * 2))
        record(opened, collection("000004", phone="255754188320", minutes_ago=60 * 30))
        record(opened, collection("000099"))
        opened.receipts.record("col_000003", Mode.LIVE, "SJ31HG4K2", source="m.csv", actor="asha")
        opened.receipts.record("col_000099", Mode.LIVE, "26291410", source="m.csv", actor="asha")
        prepare_intent(
            opened, idempotency_key="key-1", body=b"{}", mode=Mode.LIVE, profile="main",
            reference="SHOP-77", amount=150_800, phone="255754000777",
            prepared_at=NOW - timedelta(minutes=1), intent_id="int_00000001",
        )  # fmt: skip
        yield opened


@pytest.mark.parametrize(
    "text",
    [
        "ref INV-000001",
        "payment INV-000001",
        "INV-000001 please",
        "INV-000001 \N{GRINNING FACE}",
        "Ref: INV-000001.",
        "ref:INV-000001",
        "the payment of yesterday (INV-000001), 150800",
    ],
)
def test_a_known_reference_is_found_among_other_words(store: Store, text: str) -> None:
    found = ask(store, text)
    assert ways(found) == [("INV-000001", MatchKind.REFERENCE)]
    assert found.looked_at == "INV-000001 in the text"


@pytest.mark.parametrize(
    "text", ["INV000099", "inv000099", "INV-OOOO99", "ref inv-000099", "ref INV 000099 please"]
)
def test_a_reference_is_found_without_its_joint_and_with_letters_read_for_digits(
    store: Store, text: str
) -> None:
    assert ways(ask(store, text)) == [("INV-000099", MatchKind.SPELLING)]


def test_two_references_are_both_found(store: Store) -> None:
    found = ask(store, "INV-000001 and INV-000099")
    assert {name for name, _ in ways(found)} == {"INV-000001", "INV-000099"}
    assert found.looked_at.endswith("in the text")


def test_a_receipt_an_id_and_a_creation_are_found_among_other_words(store: Store) -> None:
    assert ways(ask(store, "receipt SJ31HG4K2")) == [("INV-000003", MatchKind.RECEIPT)]
    assert ways(ask(store, "2629141O")) == [("INV-000099", MatchKind.RECEIPT)]
    assert ways(ask(store, "TxnID: 26291410.")) == [("INV-000099", MatchKind.RECEIPT)]
    assert ways(ask(store, "look at col_000002")) == [("INV-000002", MatchKind.ID)]
    assert [one.kind for one in ask(store, "ref SHOP-77").creations] == [MatchKind.REFERENCE]


@pytest.mark.parametrize(
    "text", ["0674799851 150800", "150,800/= +255 674 799 851", "phone:674799851, 150800"]
)
def test_of_a_phone_with_an_amount_the_payments_of_the_amount_stand_first(
    store: Store, text: str
) -> None:
    found = ask(store, text)
    assert ways(found) == [
        ("INV-000001", MatchKind.PHONE_AND_AMOUNT),
        ("INV-000002", MatchKind.PHONE),
    ]
    assert found.looked_at == "150,800 with the phone"
    assert found.phones == 1


@pytest.mark.parametrize(
    "text", ["Phone: 0674 799 851", "call 0674799851", "simu:+255674799851 leo"]
)
def test_a_phone_is_found_behind_its_label(store: Store, text: str) -> None:
    assert {name for name, _ in ways(ask(store, text))} == {"INV-000001", "INV-000002"}


def test_a_phone_whose_payments_have_another_amount_is_found_all_the_same(store: Store) -> None:
    found = ask(store, "0674799851 77")
    assert {name for name, _ in ways(found)} == {"INV-000001", "INV-000002"}
    assert found.looked_at == "the phone, though none is of 77"


def test_a_creation_of_a_phone_with_an_amount_is_found(store: Store) -> None:
    (found,) = ask(store, "0754000777 150800").creations
    assert found.kind is MatchKind.PHONE_AND_AMOUNT


def test_a_reference_beside_its_phone_stands_before_what_else_the_phone_was_asked(
    store: Store,
) -> None:
    assert ways(ask(store, "INV-000001, 0674799851")) == [
        ("INV-000001", MatchKind.REFERENCE),
        ("INV-000002", MatchKind.PHONE),
    ]


def test_of_two_phones_none_is_looked_up(store: Store) -> None:
    found = ask(store, "0674799851 0754988320")
    assert (found.count, found.phones) == (0, 2)


@pytest.mark.parametrize("text", ["0674799851 today", "today 674 799 851", "0754000412 07:18"])
def test_a_phone_beside_a_day_or_a_time_is_no_amount(store: Store, text: str) -> None:
    found = ask(store, text)
    assert (found.looked_at, found.phones) == ("", 1)
    assert {kind for _, kind in ways(found)} <= {MatchKind.PHONE}


def test_an_amount_with_a_date_is_no_phone(store: Store) -> None:
    assert ask(store, "70000 2026-03-04").looked_at == "70,000, today"
    assert ask(store, "06/01/2026 67 000").looked_at == "67,000, on 06 Jan 2026"


@pytest.mark.parametrize("digits", ["320", "8320", "88320"])
def test_three_to_five_digits_are_the_end_of_a_phone_of_today_where_no_amount_is_found(
    store: Store, digits: str
) -> None:
    found = ask(store, digits)
    assert ways(found) == [("INV-000003", MatchKind.PHONE_END)]
    assert found.phone_end_in == "today, among the newest 20,000"


def test_the_end_of_a_phone_is_asked_for_by_name_on_any_day(store: Store) -> None:
    names = {name for name, _ in ways(ask(store, "phone:8320"))}
    assert names == {"INV-000003", "INV-000004"}
    whole = ask(store, "phone:0674799851")
    assert {kind for _, kind in ways(whole)} == {MatchKind.PHONE}
    refused = ask(store, "phone:12")
    assert refused.trouble is not None
    assert refused.count == 0


def test_what_was_tried_in_vain_is_named(store: Store) -> None:
    found = ask(store, "87321")
    assert (found.looked_at, found.phone_end_in) == (
        "87,321, today",
        "today, among the newest 20,000",
    )
    assert ask(store, "ref ABC-1 please").words == ("ABC-1", "ref", "please")
    assert ask(store, "ABC-1 0674799000").words == ("ABC-1",)
