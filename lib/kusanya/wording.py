"""What to say to a customer, in English and in Swahili.

One sentence per state and failure code, and one next step. Never asks for a PIN, never promises a
refund, never offers a second prompt while one may be open. Codes we do not know get the sentence
that is true for any of them.
"""

from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.domain.business_day import EAT
from kusanya.domain.failure_codes import FAILURE_CODES
from kusanya.domain.status import CODED, CONTRADICTION, OPEN, PAID, Status, Words
from kusanya.domain.swahili_numbers import ONES, TENS
from kusanya.say import Language, Said
from kusanya.text import safe


class Wording(msgspec.Struct, frozen=True, kw_only=True):
    """What happened and what comes next, in one language."""

    language: Language
    sentence: str
    """For the customer, to be said or sent as it is."""
    next_step: str
    """For the customer; empty where there is nothing to do."""


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """What support says and does about one state."""

    topic: str
    """The state or failure code that this is about; "other" for a code we do not know."""
    english: Wording
    swahili: Wording
    support_step: str
    """What support itself does next."""
    may_prompt: bool
    """Whether a new request may be offered at all once this one is known to be over."""

    def in_language(self, language: Language) -> Wording:
        """Return the wording in `language`."""
        return self.english if language is Language.ENGLISH else self.swahili


_NAMED: Final = frozenset(Status)
CREATED_LATE: Final = "created_late"
UNKNOWN_OUTCOME: Final = "unknown_outcome"
WHICH_PAYMENT: Final = "which_payment"
NEVER_ASKED: Final = "never_asked"
OTHER: Final = "other"

LATE_AFTER: Final = timedelta(minutes=3)
"""From when on a prompt without an answer is called late: past any usual expiry."""

_PIN: Final = ("Tell nobody your PIN.", "Usimwambie mtu yeyote namba yako ya siri.")


_WORDS: Final[dict[str, Words]] = {
    **FAILURE_CODES,
    **{OTHER if status in CODED else status.value: status.facts for status in Status},
    CREATED_LATE: Words(
        english="We have no answer from your network yet. Please do not pay again.",
        swahili="Bado hatujapata jibu kutoka kwa mtandao wako. Tafadhali usilipe tena.",
        support_step=(
            "Fetch the present state; see whether the channel is stuck. Send no second prompt."
        ),
    ),
    UNKNOWN_OUTCOME: Words(
        english="We are checking whether your request went through. Please do not pay again.",
        swahili="Tunahakiki kama ombi lako limefika. Tafadhali usilipe tena.",
        support_step=(
            "Resume the intent with its own key, or have somebody decide. Never create another."
        ),
    ),
    WHICH_PAYMENT: Words(
        english="Please tell me your order number and the phone number that paid.",
        swahili="Tafadhali niambie namba ya oda yako na namba ya simu iliyolipa.",
        support_step=(
            "Compare reference, phone and time; choose the payment that fits before you say "
            "anything about it."
        ),
    ),
    NEVER_ASKED: Words(
        english="No payment request has been sent for this order yet.",
        swahili="Bado hakuna ombi la malipo lililotumwa kwa oda hii.",
        support_step="See whether the order was placed, and send a request if it was.",
        may_prompt=True,
    ),
    CONTRADICTION: Words(
        english="We have two different answers about this payment. Please do not pay again.",
        swahili="Tuna majibu mawili tofauti kuhusu malipo haya. Tafadhali usilipe tena.",
        support_step="Escalate with the evidence card; send no prompt.",
    ),
}


_HELD_BACK: Final[dict[str, Words]] = {
    "attempts": Words(
        english="We have sent as many payment requests for this order as we send.",
        swahili="Tumetuma maombi yote ya malipo tunayoweza kutuma kwa oda hii.",
        step_english="Please contact us to pay it.",
        step_swahili="Tafadhali wasiliana nasi ili kuilipa.",
        support_step="See why the attempts failed before you ask for another one.",
    ),
    "phone_hour": Words(
        english="We have sent several payment requests to this phone within an hour.",
        swahili="Tumetuma maombi kadhaa ya malipo kwenye simu hii ndani ya saa moja.",
        step_english="Please try again in an hour.",
        step_swahili="Tafadhali jaribu tena baada ya saa moja.",
        support_step="Wait: the limit of the phone ends by itself.",
        may_prompt=True,
    ),
    "phone_day": Words(
        english="We have sent many payment requests to this phone within a day.",
        swahili="Tumetuma maombi mengi ya malipo kwenye simu hii ndani ya siku moja.",
        step_english="Please try again tomorrow.",
        step_swahili="Tafadhali jaribu tena kesho.",
        support_step="Wait: the limit of the phone ends by itself.",
        may_prompt=True,
    ),
    "wrong_pins": Words(
        english="The PIN was not correct several times, and your network may lock it.",
        swahili="Namba ya siri ilikosewa mara kadhaa, na mtandao wako unaweza kuifunga.",
        step_english="Please try again in an hour.",
        step_swahili="Tafadhali jaribu tena baada ya saa moja.",
        support_step="Wait an hour, or let the customer ask the network for a new PIN.",
        may_prompt=True,
    ),
    "channel_down": Words(
        english="The payment service of your network is not available now.",
        swahili="Huduma ya malipo ya mtandao wako haipatikani kwa sasa.",
        step_english="Please pay by another network, or wait.",
        step_swahili="Tafadhali lipa kwa mtandao mwingine au subiri.",
        support_step="Wait for the network, or offer another one.",
        may_prompt=True,
    ),
}
"""By the limit that held a prompt back; the longest that it may take is what is promised."""


def advise_held_back(limit: str) -> Advice:
    """Return what to say where a limit of `orders.Limits` held a prompt back, or a channel is down.

    Raises KeyError for any other name.
    """
    return _advice(limit, _HELD_BACK[limit])


def advise(
    status: str,
    *,
    failure_code: str | None = None,
    amount: int | None = None,
    currency: str = "TZS",
    late: bool = False,
) -> Advice:
    """Return what to say about a collection of `status`.

    `failure_code` counts for a failed one, `late` for one still created; "contradiction" and
    "unknown_outcome" are statuses here. `amount` is in whole units and is needed for a succeeded
    one alone. For a status we do not know the sentence promises nothing.
    Raises ValueError for a succeeded collection without its amount.
    """
    if status in PAID and amount is None:
        raise ValueError("the sentence about a payment names its amount")
    topic = _topic(status, failure_code, late=late)
    return _advice(topic, _WORDS[topic], "" if amount is None else money(amount, currency))


def _advice(topic: str, words: Words, paid: str = "") -> Advice:
    return Advice(
        topic=str(topic),
        english=Wording(
            language=Language.ENGLISH,
            sentence=words.english.format(money=paid),
            next_step=words.step_english,
        ),
        swahili=Wording(
            language=Language.SWAHILI,
            sentence=words.swahili.format(money=paid),
            next_step=words.step_swahili,
        ),
        support_step=words.support_step,
        may_prompt=words.may_prompt,
    )


def status_word(status: str) -> str:
    """Return a status as a text of ours; one that the specification does not name as it came."""
    return Said(status) if status in _NAMED else safe(status, 40)


def _topic(status: str, failure_code: str | None, *, late: bool) -> str:
    if status in CODED:
        return failure_code if failure_code in FAILURE_CODES else OTHER
    if status in OPEN and late:
        return CREATED_LATE
    # A status the specification does not name: neither paid nor failed.
    return status if status in _STATUSES else CREATED_LATE


_STATUSES: Final = frozenset({*Status, CONTRADICTION, UNKNOWN_OUTCOME, WHICH_PAYMENT, NEVER_ASKED})


def is_late(created_at: datetime, *, now: datetime) -> bool:
    """Return whether a prompt of `created_at` has waited longer than prompts do."""
    return now - created_at > LATE_AFTER


def money(amount: int, currency: str = "TZS") -> str:
    """Return an amount for people: TZS 12,500."""
    return f"{currency} {amount:,}"


RECEIPT_QUESTION: Final = {
    Language.ENGLISH: "Please send us the receipt number that is in the SMS.",
    Language.SWAHILI: "Tutumie namba ya muamala iliyo kwenye SMS.",
}
"""Asked of a customer who has a confirmation while we show no success; no prompt is sent then."""

_HOURS: Final = (
    "saa sita",
    "saa saba",
    "saa nane",
    "saa tisa",
    "saa kumi",
    "saa kumi na moja",
    "saa kumi na mbili",
    "saa moja",
    "saa mbili",
    "saa tatu",
    "saa nne",
    "saa tano",
)
"""The Swahili clock counts from six, morning and evening; the index is the hour modulo 12."""
# From which hour on a part of the day has its name.
_PARTS: Final = ((4, "alfajiri"), (6, "asubuhi"), (12, "mchana"), (16, "jioni"), (19, "usiku"))


def outage_notice(channel: str, *, since: datetime) -> tuple[Wording, Wording]:
    """Return the notice for customers of a network that confirms no payments, in both languages.

    `channel` is the name that customers know it by. It promises no time, and asks nobody to pay a
    second time.
    """
    english = Wording(
        language=Language.ENGLISH,
        sentence=(
            f"Payments by {channel} are delayed since {clock_english(since)}. The fault lies in "
            "the network, and we are following it up."
        ),
        next_step=(
            "Have you approved a payment already? Please do not pay again: we tell you when it is "
            f"confirmed. Otherwise pay by another network, or wait. {_PIN[0]}"
        ),
    )
    swahili = Wording(
        language=Language.SWAHILI,
        sentence=(
            f"Malipo kwa {channel} yanachelewa tangu {clock_swahili(since)}. Tatizo liko "
            "kwenye mtandao, na tunalifuatilia."
        ),
        next_step=(
            "Umeshathibitisha malipo? Tafadhali usilipe tena: tutakujulisha yakithibitishwa. "
            f"Kama bado, lipa kwa mtandao mwingine au subiri. {_PIN[1]}"
        ),
    )
    return english, swahili


def clock_english(at: datetime) -> str:
    """Return the time of an aware instant in East Africa: 14:05."""
    return at.astimezone(EAT).strftime("%H:%M")


def clock_swahili(at: datetime) -> str:
    """Return the same time as it is said in Swahili: saa nane na dakika tano mchana."""
    local = at.astimezone(EAT)
    return f"{_HOURS[local.hour % 12]}{_minutes(local.minute)} {_part(local.hour)}"


def _minutes(minute: int) -> str:
    special = {0: "", 15: " na robo", 30: " na nusu"}
    if minute in special:
        return special[minute]
    tens, ones = divmod(minute, 10)
    words = (
        " na ".join((*TENS[tens - 1 : tens], *ONES[ones - 1 : ones])) if tens else ONES[ones - 1]
    )
    return f" na dakika {words}"


def _part(hour: int) -> str:
    return next((name for start, name in reversed(_PARTS) if hour >= start), "usiku")
