# ruff: noqa: E501 - messages stand as they come
"""A message that names our reference: it decides among payments that fit, and never against them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy

import pytest
from tests.kit.payments import by_event

from kusanya.clock import ManualClock
from kusanya.confirmations import read
from kusanya.domain.business_day import day_start
from kusanya.lookup import LookupResult, find
from kusanya.store import Store
from kusanya.wire import Mode

NOW = datetime(2026, 6, 21, 12, 0, tzinfo=UTC)
PAID = NOW - timedelta(hours=3)
TEXTS = (
    "DFL7C2KPQ8 Confirmed. Tsh5,000.00 sent to KUSANYA SHOP for account INV-000272 on 21/6/26 at 12:01 pm.",
    "DFL7C2KPQ8 imethibitishwa. Umelipa Tsh5,000.00 kwa KUSANYA SHOP kwa akaunti namba INV-000272 tarehe 21/6/26 saa 12:01.",
    "DFL7C2KPQ8 imethibitishwa. Umelipa Tsh5,000.00 kwa KUSANYA SHOP tarehe 21/6/26 saa 12:01 namba ya kumbukumbu INV-000272. Salio Tsh9.",
)


@pytest.fixture
def store(tmp_path: Path, empty_store: Path) -> Iterator[Store]:
    with Store.open(copy(empty_store, tmp_path / "named.db"), clock=ManualClock(NOW)) as opened:
        yield opened


def asked(store: Store, text: str) -> LookupResult:
    return find(store, text, mode=Mode.LIVE, now=NOW, day=day_start, payees=("KUSANYA SHOP",))


@pytest.mark.parametrize("text", TEXTS)
def test_the_reference_is_read_and_ends_the_payee(text: str) -> None:
    (said,) = read(text).confirmations
    assert (said.payee, said.reference) == ("KUSANYA SHOP", "INV-000272")


def test_the_operators_own_number_is_no_reference() -> None:
    (said,) = read(
        "Umelipa TSH 5,000 kwa DUKA tarehe 21/06/26 12:01. Makato TSH 0. Kumbukumbu namba: MP260621.1201.ABC123."
    ).confirmations
    assert (said.payee, said.reference) == ("DUKA", "")


@pytest.mark.parametrize("text", TEXTS)
def test_the_reference_decides_among_those_that_fit(store: Store, text: str) -> None:
    for number in (271, 272, 273):
        store.record(by_event(number, PAID, amount=5_000, reference=f"INV-000{number}"))
    found = asked(store, text)
    assert [match.row.reference for match in found.matches] == ["INV-000272"]
    assert (
        found.messages[0].sentence == "Amount, channel, time and reference fit this payment alone."
    )


def test_a_reference_whose_payment_has_another_amount_chooses_none(store: Store) -> None:
    store.record(by_event(1, PAID, amount=5_000, reference="INV-000001"))
    store.record(by_event(272, PAID, amount=9_000, reference="INV-000272"))
    (said,) = asked(store, TEXTS[0]).messages
    assert (said.row, said.keeps_receipt) == (None, False)
    assert said.sentence.startswith(
        "It names INV-000272, for which we asked TZS 9,000, not TZS 5,000: none is chosen."
    )


def test_a_reference_that_we_do_not_know_is_shown_beside_the_payment_that_fits(
    store: Store,
) -> None:
    store.record(by_event(1, PAID, amount=5_000, reference="INV-000001"))
    (said,) = asked(store, TEXTS[0]).messages
    assert said.row is not None
    assert said.sentence == (
        "Amount, channel and time fit this payment alone. "
        "It names INV-000272, this payment is INV-000001: compare them."
    )


def test_a_reference_that_was_added_to_another_persons_message_chooses_nothing(
    store: Store,
) -> None:
    """A customer adds the reference of a failed order of their own to the message of a payer."""
    store.record(by_event(1, PAID, amount=5_000, reference="INV-000001"))
    store.record(
        by_event(
            272, PAID - timedelta(minutes=2), amount=5_000, reference="INV-000272",
            status="failed", failure_code="insufficient_funds",
        )
    )  # fmt: skip
    (said,) = asked(store, TEXTS[0]).messages
    assert (said.row, said.keeps_receipt, said.is_doubtful) == (None, False, True)
    assert {row.reference for row in said.rows} == {"INV-000001", "INV-000272"}
    assert said.sentence.startswith(
        "It names INV-000272, which we know as failed, but INV-000001 is paid and fits"
    )


def test_a_reference_whose_payment_was_paid_minutes_before_chooses_none(store: Store) -> None:
    before = PAID - timedelta(minutes=20)
    store.record(by_event(272, before, amount=5_000, reference="INV-000272"))
    (said,) = asked(store, TEXTS[0]).messages
    assert (said.row, said.keeps_receipt) == (None, False)
    assert said.sentence.startswith(
        "It names INV-000272, whose payment does not fit in channel or time: none is chosen."
    )


def test_a_reference_of_a_payment_that_failed_here_is_that_payment_where_none_is_paid(
    store: Store,
) -> None:
    for number, code in ((271, "timeout"), (272, "insufficient_funds")):
        failed = {"status": "failed", "failure_code": code, "reference": f"INV-000{number}"}
        store.record(by_event(number, PAID, amount=5_000, **failed))
    (said,) = asked(store, TEXTS[0]).messages
    assert (said.row and said.row.id, said.is_doubtful) == ("col_272", False)
    assert "we know it as failed: ask the service before anything else" in said.sentence


@pytest.mark.parametrize("text", [TEXTS[0].replace(" for account INV-000272", ""), TEXTS[0]])
def test_a_receipt_kept_with_an_unpaid_payment_never_hides_the_paid_one(
    store: Store, text: str
) -> None:
    store.record(
        by_event(
            272, PAID - timedelta(minutes=2), amount=5_000, reference="INV-000272",
            status="failed", failure_code="insufficient_funds",
        )
    )  # fmt: skip
    store.receipts.record(
        "col_272", Mode.LIVE, "DFL7C2KPQ8", source="message of M-Pesa", actor="asha"
    )
    store.record(by_event(1, PAID, amount=5_000, reference="INV-000001"))
    (said,) = asked(store, text).messages
    assert said.row is not None
    assert said.row.reference == "INV-000001"
    assert {row.reference for row in said.rows} == {"INV-000001", "INV-000272"}
    assert said.sentence.startswith("Receipt DFL7C2KPQ8 is claimed for INV-000272 too")
    assert (said.is_doubtful, said.keeps_receipt) == (True, True)


def test_a_forged_message_leads_to_the_payment_that_it_names_and_keeps_nothing(
    store: Store,
) -> None:
    for number in (271, 272):
        store.record(by_event(number, PAID, amount=5_000, reference=f"INV-000{number}"))
    found = asked(store, TEXTS[0].replace("21/6/26", "20/6/26"))
    (said,) = found.messages
    assert said.sentence.startswith("Possibly forged: its receipt")
    assert [match.row.reference for match in found.matches] == ["INV-000272"]
    assert (said.is_doubtful, said.keeps_receipt, found.is_claim) == (True, False, True)
