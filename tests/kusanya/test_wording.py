"""What support says: one sentence per state and code, in two languages."""

from datetime import UTC, datetime, timedelta

import pytest

from kusanya import wording
from kusanya.domain.failure_codes import FAILURE_CODES
from kusanya.orders import Limits
from kusanya.say import Language, in_language
from kusanya.wording import (
    advise,
    advise_held_back,
    clock_english,
    clock_swahili,
    is_late,
    money,
)

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)

SAID = {
    "insufficient_funds": ("There is not enough money in your account.", "Salio lako halitoshi."),
    "user_cancelled": (
        "The request was cancelled on your phone.",
        "Ombi la malipo limeghairiwa kwenye simu yako.",
    ),
    "declined": (
        "Your network did not accept the payment.",
        "Mtandao wako haukukubali malipo haya.",
    ),
    "invalid_pin": ("The PIN was not correct.", "Namba ya siri uliyoweka si sahihi."),
    "payer_not_found": (
        "This number is not registered for mobile money.",
        "Namba hii haijasajiliwa kwa huduma ya pesa kwa simu.",
    ),
    "payer_inactive": (
        "Your mobile-money account is not active.",
        "Akaunti yako ya pesa kwa simu haifanyi kazi kwa sasa.",
    ),
    "payer_limit_reached": (
        "You have reached your account's limit.",
        "Umefikia kikomo cha akaunti yako.",
    ),
    "payment_in_progress": (
        "Another payment is still open on your phone.",
        "Kuna malipo mengine yanaendelea kwenye simu yako.",
    ),
    "payer_unreachable": ("We could not reach your phone.", "Hatukuweza kuipata simu yako."),
    "provider_unavailable": (
        "Your network's payment service is not available now.",
        "Huduma ya malipo ya mtandao wako haipatikani kwa sasa.",
    ),
    "amount_out_of_bounds": ("This amount is not allowed.", "Kiasi hiki hakiruhusiwi."),
    "duplicate": (
        "A similar request already exists. We are checking.",
        "Ombi kama hili tayari lipo. Tunahakiki.",
    ),
}


@pytest.mark.parametrize(("code", "said"), SAID.items(), ids=SAID.keys())
def test_every_failure_code_has_its_two_sentences(code: str, said: tuple[str, str]) -> None:
    advice = advise("failed", failure_code=code)
    assert advice.topic == code
    assert (advice.english.sentence, advice.swahili.sentence) == said


def test_the_table_of_codes_is_complete() -> None:
    assert set(SAID) == FAILURE_CODES.keys()


@pytest.mark.parametrize("code", [None, "", "INS-2006", "created", "succeeded", "other"])
def test_a_code_we_do_not_know_gets_the_sentence_that_is_true_for_any(code: str | None) -> None:
    advice = advise("failed", failure_code=code)
    assert advice.topic == "other"
    assert advice.english.sentence == "The payment did not go through. We are checking why."
    assert not advice.may_prompt


@pytest.mark.parametrize(
    ("status", "english"),
    [
        ("created", "We sent a payment request to your phone. Enter your PIN to approve it."),
        ("expired", "The time to enter your PIN ran out and the request was cancelled."),
        (
            "contradiction",
            "We have two different answers about this payment. Please do not pay again.",
        ),
        (
            "unknown_outcome",
            "We are checking whether your request went through. Please do not pay again.",
        ),
        ("in_review", "We have no answer from your network yet. Please do not pay again."),
    ],
)
def test_every_state_has_its_sentence(status: str, english: str) -> None:
    assert advise(status).english.sentence == english


def test_a_late_prompt_has_another_sentence_than_a_fresh_one() -> None:
    late = advise("created", late=True)
    assert "Please do not pay again." in late.english.sentence
    assert "usilipe tena" in late.swahili.sentence
    assert not is_late(NOON, now=NOON + timedelta(minutes=3))
    assert is_late(NOON, now=NOON + timedelta(minutes=3, seconds=1))


def test_a_success_names_the_amount_in_whole_shillings() -> None:
    advice = advise("succeeded", amount=12_500)
    assert advice.english.sentence == "We have received your payment of TZS 12,500. Thank you."
    assert advice.swahili.sentence == "Tumepokea malipo yako ya TZS 12,500. Asante."
    with pytest.raises(ValueError, match="amount"):
        advise("succeeded")
    assert [money(one) for one in (1, 999, 1000, 1_234_567)] == [
        "TZS 1",
        "TZS 999",
        "TZS 1,000",
        "TZS 1,234,567",
    ]


def every_advice() -> list[wording.Advice]:
    states = ["created", "expired", "contradiction", "unknown_outcome", "never_asked"]
    limits = {*Limits.__struct_fields__, "channel_down"}
    return [
        *(advise_held_back(limit) for limit in sorted(limits)),
        *(advise(status) for status in states),
        advise("created", late=True),
        advise("succeeded", amount=5),
        *(advise("failed", failure_code=code) for code in [*SAID, None]),
    ]


@pytest.mark.parametrize("advice", every_advice(), ids=lambda advice: str(advice.topic))
def test_no_wording_asks_for_a_pin_promises_a_refund_or_leaves_a_blank(
    advice: wording.Advice,
) -> None:
    for language in Language:
        spoken = advice.in_language(language)
        assert spoken.language is language
        assert spoken.sentence.endswith(".")
        said = f"{spoken.sentence} {spoken.next_step}".lower()
        assert "{" not in said
        for never in ("refund", "tell us your pin", "send us your pin", "rudisha"):
            assert never not in said
    assert advice.support_step


def test_an_order_that_was_asked_for_often_enough_is_not_offered_again() -> None:
    assert not advise_held_back("attempts").may_prompt
    for limit in ("phone_hour", "phone_day", "wrong_pins", "channel_down"):
        assert advise_held_back(limit).may_prompt
    with pytest.raises(KeyError):
        advise_held_back("none")


@pytest.mark.parametrize("status", ["created", "succeeded", "contradiction", "unknown_outcome"])
def test_no_new_request_is_offered_where_money_may_have_moved_or_still_may(status: str) -> None:
    assert not advise(status, amount=5).may_prompt
    assert not advise("created", late=True).may_prompt
    assert not advise("failed", failure_code="payment_in_progress").may_prompt
    assert not advise("failed", failure_code="duplicate").may_prompt


@pytest.mark.parametrize(
    ("utc", "english", "swahili"),
    [
        ("21:00", "00:00", "saa sita usiku"),
        ("02:05", "05:05", "saa kumi na moja na dakika tano alfajiri"),
        ("03:00", "06:00", "saa kumi na mbili asubuhi"),
        ("04:00", "07:00", "saa moja asubuhi"),
        ("08:59", "11:59", "saa tano na dakika hamsini na tisa asubuhi"),
        ("09:00", "12:00", "saa sita mchana"),
        ("11:15", "14:15", "saa nane na robo mchana"),
        ("13:30", "16:30", "saa kumi na nusu jioni"),
        ("16:20", "19:20", "saa moja na dakika ishirini usiku"),
        ("20:10", "23:10", "saa tano na dakika kumi usiku"),
    ],
)
def test_times_are_those_of_east_africa_and_count_from_six_in_swahili(
    utc: str, english: str, swahili: str
) -> None:
    hour, minute = map(int, utc.split(":"))
    at = NOON.replace(hour=hour, minute=minute)
    assert (clock_english(at), clock_swahili(at)) == (english, swahili)


def test_a_status_is_said_in_the_readers_language_and_an_unknown_one_as_it_came() -> None:
    assert in_language(wording.status_word("failed"), Language.SWAHILI) == "imeshindwa"
    assert in_language(wording.status_word("on_hold\x1b"), Language.SWAHILI) == "on_hold␛"
