# ruff: noqa: E501, S311 - messages stand as they come; chance has a seed
"""Which payment a customer's message can be: one, several, or none and why; never the wrong one."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from shutil import copy
from typing import Any

import pytest
from tests.kit.intents import prepare_intent
from tests.kit.messages import CHANNELS, ISSUERS, SOON, Message, message
from tests.kit.payments import by_event, polled

from kusanya.clock import ManualClock
from kusanya.domain.business_day import day_start
from kusanya.lookup import (
    LookupResult,
    MatchKind,
    Reason,
    advice,
    find,
    load_timeline,
    new_request,
)
from kusanya.say import Language
from kusanya.store import Store
from kusanya.wire import Mode

NOW = datetime(2026, 6, 21, 12, 0, tzinfo=UTC)
PAID = NOW - timedelta(hours=3)
PHONES = ("+255754000101", "+255754000102", "+255754000103")


@pytest.fixture
def store(tmp_path: Path, empty_store: Path) -> Iterator[Store]:
    with Store.open(copy(empty_store, tmp_path / "messages.db"), clock=ManualClock(NOW)) as opened:
        yield opened


def asked(store: Store, text: str, *payees: str) -> LookupResult:
    return find(store, text, mode=Mode.LIVE, now=NOW, day=day_start, payees=payees)


def mpesa(*, amount: int = 5_000, at: datetime = PAID + SOON, payee: str = "DUKA") -> Message:
    return message("M-Pesa", Language.SWAHILI, amount=amount, at=at, payee=payee, random=Random(4))


def test_the_one_payment_of_amount_channel_and_time_is_named(store: Store) -> None:
    store.record(by_event("mine", PAID, amount=5_000))
    store.record(by_event("other", PAID, amount=6_000))
    found = asked(store, mpesa().text)
    (match,) = found.matches
    assert (match.row.id, match.kind) == ("col_mine", MatchKind.MESSAGE)
    (said,) = found.messages
    assert said.keeps_receipt
    assert not said.is_doubtful
    assert said.sentence == (
        "Amount, channel and time fit this payment alone. It names DUKA: check that this is us."
    )


def test_two_payments_that_fit_are_both_listed_and_none_is_chosen(store: Store) -> None:
    store.record(by_event("mine", PAID, amount=5_000))
    store.record(by_event("other", PAID + timedelta(minutes=1), amount=5_000))
    found = asked(store, mpesa().text)
    (said,) = found.messages
    assert said.row is None
    assert not said.keeps_receipt
    assert {match.row.id for match in found.matches} == {"col_mine", "col_other"}
    assert "Ask for the reference or the phone" in said.sentence


def test_a_payment_fits_alone_only_among_all_of_its_amount(store: Store) -> None:
    store.record(by_event("mine", PAID, amount=5_000))
    for number in range(30):
        later = PAID + timedelta(seconds=60 + number)
        store.record(polled(number, later, amount=5_000, channel="AIRTEL_TZ"))
    store.record(by_event("other", PAID - timedelta(seconds=1), amount=5_000))
    (said,) = asked(store, mpesa().text).messages
    assert said.row is None
    assert {row.id for row in said.rows} == {"col_mine", "col_other"}


def test_a_receipt_that_is_recorded_decides_whatever_else_fits(store: Store) -> None:
    store.record(by_event("mine", PAID, amount=5_000))
    store.record(by_event("other", PAID + timedelta(minutes=1), amount=5_000))
    store.receipts.record("col_other", Mode.LIVE, mpesa().receipt, source="message", actor="desk")
    found = asked(store, mpesa().text)
    assert [match.row.id for match in found.matches] == ["col_other"]
    assert found.messages[0].sentence == (
        f"Receipt {mpesa().receipt} is known: this payment. It names DUKA: check that this is us."
    )
    (said,) = asked(store, mpesa().text, "DUKA").messages
    assert said.sentence == f"Receipt {mpesa().receipt} is known: this payment."


def unsure(store: Store, text: str) -> list[str]:
    """Return what is said to the customer about each payment that an unsure message leads to."""
    found = asked(store, text)
    assert found.matches
    assert found.is_unsure
    said = []
    for match in found.matches:
        timeline = load_timeline(
            store, match.row.id, Mode.LIVE, now=NOW, is_claimed=True, is_unsure=found.is_unsure
        )
        assert timeline is not None
        said.append(advice(timeline).english.sentence)
    return said


def test_of_several_that_fit_nothing_is_said_to_have_been_received(store: Store) -> None:
    for number in range(9):
        failed = {"status": "failed", "failure_code": "insufficient_funds"}
        store.record(by_event(f"{number}", PAID, amount=5_000, **(failed if number == 6 else {})))
    sentences = unsure(store, mpesa().text)
    assert len(sentences) == 9
    assert set(sentences) == {"Please tell me your order number and the phone number that paid."}


@pytest.mark.parametrize(
    ("known", "asked_for"),
    [
        pytest.param({"receipt": "DFK9999999"}, {}, id="another receipt is known on it"),
        pytest.param({"amount": 900, "receipt": ""}, {}, id="its receipt is on another amount"),
        pytest.param({}, {"at": PAID + timedelta(hours=9)}, id="its time lies in the future"),
    ],
)
def test_of_a_message_that_may_be_forged_nothing_is_said_to_have_been_received(
    store: Store, known: dict[str, Any], asked_for: dict[str, Any]
) -> None:
    sms = mpesa(**asked_for)
    store.record(by_event("mine", PAID, amount=known.get("amount", 5_000), reference="ORD-1001"))
    if "receipt" in known:
        receipt = known["receipt"] or sms.receipt
        store.receipts.record("col_mine", Mode.LIVE, receipt, source="M-Pesa", actor="desk")
    found = asked(store, sms.text)
    assert all(message.row is None or message.is_doubtful for message in found.messages)
    if found.matches:
        assert not any("received your payment" in said for said in unsure(store, sms.text))


def test_of_the_one_payment_that_fits_the_customer_is_told(store: Store) -> None:
    store.record(by_event("mine", PAID, amount=5_000))
    found = asked(store, mpesa().text)
    assert not found.is_unsure
    timeline = load_timeline(store, "col_mine", Mode.LIVE, now=NOW, is_unsure=found.is_unsure)
    assert timeline is not None
    assert "We have received your payment of TZS 5,000" in advice(timeline).english.sentence


def test_a_receipt_of_another_amount_may_be_forged(store: Store) -> None:
    store.record(by_event("mine", PAID, amount=5_000))
    store.record(by_event("earlier", PAID - timedelta(days=1), amount=900))
    store.receipts.record("col_earlier", Mode.LIVE, mpesa().receipt, source="s", actor="desk")
    (said,) = asked(store, mpesa().text).messages
    assert said.is_doubtful
    assert said.sentence.endswith("is known on another payment, of TZS 900.")


def test_a_message_that_differs_from_the_payment_of_its_receipt_may_be_altered(
    store: Store,
) -> None:
    store.record(by_event("mine", PAID, amount=5_000))
    store.receipts.record("col_mine", Mode.LIVE, mpesa().receipt, source="message", actor="desk")
    for text, payees, differs in (
        (mpesa().text.replace("21/6/26", "25/6/26"), (), "another time, 25 Jun 2026"),
        (mpesa(payee="DAWASCO").text, ("DUKA",), "another payee, DAWASCO."),
    ):
        (said,) = asked(store, text, *payees).messages
        assert said.sentence.startswith(
            f"Possibly altered: receipt {mpesa().receipt} is known on this payment"
        )
        assert differs in said.sentence
        assert (said.row, said.is_doubtful, len(said.rows)) == (None, True, 1)


def test_two_messages_of_one_receipt_that_differ_are_both_read_and_doubted(store: Store) -> None:
    store.record(by_event("mine", PAID, amount=5_000))
    altered = mpesa().text.replace("5,000", "51,000")
    for text in (f"{mpesa().text} {altered}", f"{altered} {mpesa().text}"):
        found = asked(store, text)
        assert {said.confirmation.amount for said in found.messages} == {5_000, 51_000}
        for said in found.messages:
            assert "another message with its receipt says something else" in said.sentence
            assert (said.is_doubtful, said.keeps_receipt) == (True, False)


def test_what_was_paid_minutes_before_its_message_is_another_persons_payment(store: Store) -> None:
    store.record(by_event("earlier", PAID - timedelta(minutes=20), amount=5_000))
    (said,) = asked(store, mpesa().text).messages
    assert (said.row, said.rows, said.keeps_receipt) == (None, (), False)
    assert said.sentence == (
        "Another time: TZS 5,000 was asked for on 21 Jun 2026 11:40 EAT, the message says "
        "21 Jun 2026 12:00 EAT."
    )
    store.record(by_event("mine", PAID, amount=5_000))
    (said,) = asked(store, mpesa().text).messages
    assert (said.row and said.row.id, len(said.rows)) == ("col_mine", 1)


@pytest.mark.parametrize(
    "fate", [{"status": "created", "completed_at": None}, {"status": "expired"}]
)
def test_what_is_not_known_as_paid_may_have_been_paid_later(
    store: Store, fate: dict[str, Any]
) -> None:
    fact = polled if "completed_at" in fate else by_event
    store.record(fact("slow", PAID - timedelta(minutes=20), amount=5_000, **fate))
    (said,) = asked(store, mpesa().text).messages
    assert said.row is not None
    assert "ask the service before anything else" in said.sentence


@pytest.mark.parametrize(
    ("at", "is_altered"),
    [
        (timedelta(minutes=-62), True),
        (timedelta(minutes=-61), False),
        (timedelta(minutes=61), False),
        (timedelta(minutes=62), True),
    ],
)
def test_a_message_may_be_an_hour_away_from_the_payment_of_its_receipt(
    store: Store, at: timedelta, *, is_altered: bool
) -> None:
    sms = mpesa(at=PAID + at)
    store.record(by_event("mine", PAID, amount=5_000))
    store.receipts.record("col_mine", Mode.LIVE, sms.receipt, source="message", actor="desk")
    (said,) = asked(store, sms.text).messages
    assert (said.row is None, "another time" in said.sentence) == (is_altered, is_altered)


def test_what_a_message_says_stands_in_one_line(store: Store) -> None:
    (said,) = asked(store, mpesa().text).messages
    assert said.summary == (
        f"M-Pesa message: paid TZS 5,000, to DUKA, receipt {mpesa().receipt}, 21 Jun 2026 12:00 EAT"
    )


def test_two_other_amounts_of_that_time_are_both_named(store: Store) -> None:
    for amount in (4_000, 6_000):
        store.record(by_event(amount, PAID, amount=amount))
    (said,) = asked(store, mpesa().text).messages
    assert said.sentence.startswith(
        "Another amount: about that time we asked for TZS 4,000 or TZS 6,000, not TZS 5,000."
    )


def test_a_payment_asked_for_after_the_message_fits_only_if_clocks_differ(store: Store) -> None:
    store.record(by_event("mine", PAID + SOON + timedelta(minutes=2), amount=5_000))
    (said,) = asked(store, mpesa().text).messages
    assert (said.row, len(said.rows), said.keeps_receipt) == (None, 1, False)
    assert "it was asked for after the message" in said.sentence
    store.record(by_event("earlier", PAID, amount=5_000))
    found = asked(store, mpesa().text)
    assert [match.row.id for match in found.matches] == ["col_earlier", "col_mine"]


def test_another_payee_is_questioned_where_several_fit_as_well(store: Store) -> None:
    store.record(by_event("mine", PAID, amount=5_000))
    store.record(by_event("other", PAID, amount=5_000))
    (said,) = asked(store, mpesa(payee="TANESCO").text).messages
    assert said.sentence.endswith("It names TANESCO: check that this is us.")


def test_no_payment_is_the_one_while_an_unanswered_creation_fits_as_well(store: Store) -> None:
    store.record(by_event("mine", PAID, amount=5_000, status="failed", failure_code="timeout"))
    prepare_intent(
        store, idempotency_key="key-1", body=b"{}", mode=Mode.LIVE, profile="main",
        reference="SHOP-1", amount=5_000, phone=PHONES[0], prepared_at=PAID,
        intent_id="int_00000001",
    )  # fmt: skip
    (said,) = asked(store, mpesa().text).messages
    assert (said.row, len(said.rows), len(said.creations)) == (None, 1, 1)


def test_a_second_receipt_for_one_payment_may_be_forged(store: Store) -> None:
    store.record(by_event("mine", PAID, amount=5_000))
    store.receipts.record("col_mine", Mode.LIVE, "DFL0000001", source="message", actor="desk")
    (said,) = asked(store, mpesa().text).messages
    assert said.is_doubtful
    assert not said.keeps_receipt
    assert "this one has receipt DFL0000001" in said.sentence


def test_a_message_of_a_payment_that_failed_here_says_to_ask_the_service(store: Store) -> None:
    store.record(by_event("mine", PAID, amount=5_000, status="failed", failure_code="timeout"))
    (said,) = asked(store, mpesa().text).messages
    assert said.row is not None
    assert "The message says paid and we know it as failed: ask the service" in said.sentence


def test_of_several_that_fit_none_that_is_not_paid_may_be_asked_for_again(store: Store) -> None:
    fates: dict[str, dict[str, str | None]] = {
        "failed": {"status": "failed", "failure_code": "insufficient_funds"},
        "expired": {"status": "expired"},
        "open": {"status": "created"},
    }
    for minutes, (name, fate) in enumerate(fates.items()):
        fact = polled if name == "open" else by_event
        store.record(
            fact(
                name, PAID + timedelta(minutes=minutes), amount=5_000, phone=PHONES[minutes], **fate
            )
        )
    found = asked(store, mpesa().text)
    assert [match.row.id for match in found.matches] == ["col_open", "col_failed", "col_expired"]
    assert "Before a new request to any that is not paid here, ask the service" in (
        found.messages[0].sentence
    )
    assert found.is_claim
    for match in found.matches:
        timeline = load_timeline(store, match.row.id, Mode.LIVE, now=NOW, is_claimed=found.is_claim)
        assert timeline is not None
        verdict, said = new_request(timeline), advice(timeline)
        assert (verdict.safe, verdict.reason) == (False, Reason.CLAIMED)
        assert said.support_step.startswith("Ask the service about this one before anything else")
        assert (said.may_prompt, said.english.next_step) == (False, "")
        assert "not pay again" in said.english.sentence
    plain = load_timeline(store, "col_failed", Mode.LIVE, now=NOW)
    assert plain is not None
    assert new_request(plain).safe


def test_the_paid_one_stands_before_those_that_fit_as_well(store: Store) -> None:
    store.record(by_event("paid", PAID, amount=5_000))
    for number in (1, 2):
        at = PAID + timedelta(minutes=number)
        store.record(
            by_event(f"not_{number}", at, amount=5_000, status="failed", failure_code="timeout")
        )
    found = asked(store, mpesa().text)
    assert found.matches[0].row.id == "col_paid"
    assert len(found.matches) == 3


def test_a_failed_one_does_not_hide_an_open_one_that_may_be_the_paid_one(store: Store) -> None:
    store.record(by_event("no", PAID, amount=5_000, status="failed", failure_code="timeout"))
    store.record(polled("open", PAID, amount=5_000, status="created"))
    found = asked(store, mpesa().text)
    assert [match.row.id for match in found.matches] == ["col_open", "col_no"]
    assert found.messages[0].row is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (mpesa(amount=5_500).text, "Another amount: about that time we asked for TZS 5,000, not"),
        (
            mpesa(at=PAID + timedelta(days=1)).text,
            "Another time: TZS 5,000 was asked for on 21 Jun 2026 12:00 EAT, the message says 22",
        ),
        (
            mpesa(at=PAID - timedelta(hours=9)).text,
            "Another time: TZS 5,000 was asked for on 21 Jun 2026 12:00 EAT, the message says 21",
        ),
        (
            message(
                "HaloPesa",
                Language.ENGLISH,
                amount=5_000,
                at=PAID + SOON,
                payee="DUKA",
                random=Random(4),
            ).text,
            "Another channel: TZS 5,000 was asked for by M-Pesa, not by HaloPesa.",
        ),
        (
            mpesa(amount=7, at=PAID - timedelta(days=9)).text,
            (
                "No payment of TZS 7 was asked for about 12 Jun 2026 12:00 EAT: it was paid to somebody "
                "else (DUKA), or is not of live mode."
            ),
        ),
        (
            (
                "DFL7C2KX2B confirmed. You have received a payment of Tsh5,000.00 from 92 - DUKA on "
                "21/6/26 at 12:00 pm."
            ),
            "The message says that the customer received money: no payment to us.",
        ),
        (mpesa().text.replace("21/", "20/"), "Possibly forged: its receipt"),
        ("Malipo ya TZS 5,000 yameshindwa. Muamala haujafanikiwa.", "nothing was paid"),
    ],
)
def test_a_message_that_fits_none_says_why(store: Store, text: str, reason: str) -> None:
    store.record(by_event("mine", PAID, amount=5_000))
    found = asked(store, text)
    assert found.matches == ()
    sentences = [said.sentence for said in found.messages] + [found.trouble or ""]
    if "the message says 22" in reason:
        # Tomorrow's message, read today.
        assert "Possibly forged: its time lies in the future" in sentences[0]
    else:
        assert any(reason in sentence for sentence in sentences), sentences


def test_a_message_that_names_another_payee_is_none_of_ours(store: Store) -> None:
    store.record(by_event("mine", PAID, amount=5_000))
    (said,) = asked(store, mpesa(payee="SOKO KUU").text, "Duka la Vitabu").messages
    assert said.row is None
    assert said.sentence == "It was paid to somebody else: SOKO KUU."
    (ours,) = asked(store, mpesa(payee="DUKA LA  VITABU 2").text, "Duka la Vitabu").messages
    assert ours.row is not None
    assert ours.sentence == "Amount, channel and time fit this payment alone."


@pytest.mark.merge
@pytest.mark.parametrize("language", Language)
def test_no_message_is_matched_with_a_payment_that_it_is_not_about(
    store: Store, language: Language
) -> None:
    random = Random(language.value)
    amounts = (1_000, 2_000, 5_000, 5_500, 12_000)
    ours: dict[str, Message] = {}
    for number in range(120):
        issuer = ISSUERS[number % len(ISSUERS)]
        at = NOW - timedelta(minutes=random.randrange(60, 2 * 1440))
        made = message(
            issuer,
            language,
            amount=random.choice(amounts),
            at=at + SOON,
            payee="DUKA LA VITABU",
            random=random,
        )
        ours[f"col_{number}"] = made
        channel = CHANNELS.get(issuer, "MPESA_TZ")
        store.record(polled(number, at, amount=made.amount, channel=channel))
    strangers = [
        message(
            random.choice(ISSUERS),
            language,
            amount=random.choice(amounts),
            at=NOW - timedelta(minutes=random.randrange(60, 2 * 1440)),
            payee=random.choice(("SOKO KUU", "LUKU", "MTEJA")),
            random=random,
        )
        for _ in range(120)
    ]
    named = 0
    for collection_id, made in ours.items():
        found = asked(store, made.text, "DUKA LA VITABU")
        assert collection_id in {match.row.id for match in found.matches}, made.text
        (said,) = found.messages
        if said.row is not None:
            named += 1
            assert said.row.id == collection_id
    for made in strangers:
        (said,) = asked(store, made.text, "DUKA LA VITABU").messages
        assert said.rows == ()
    # Banks write no channel and amounts repeat: some fit several, and then nobody is chosen.
    assert named > 80
