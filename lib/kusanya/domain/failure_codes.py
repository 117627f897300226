"""The one table of failure codes: what each means, and what helps.

Filters, sentences, advice and the sample month read them here. The set is open: a code that is not
here appears as itself. The embedded service keeps its own list, as an independent check; a test
compares the two. Source: the field's codes; assumption OPEN_SETS.
"""

from typing import Final

from kusanya.domain.status import CAUSES, CodeClass, Words


class FailureCode(Words, frozen=True, kw_only=True):
    """What is known of one failure code."""

    group: CodeClass
    advice: str
    """For an analyst: what helps."""
    sample_share: float = 0.0
    """Its share of the failures of the sample month; all of them make 1."""


FAILURE_CODES: Final[dict[str, FailureCode]] = {
    "insufficient_funds": FailureCode(
        group=CodeClass.CUSTOMER,
        advice="Top up, then a new attempt.",
        english="There is not enough money in your account.",
        swahili="Salio lako halitoshi.",
        step_english="Top up, charges included, then tell us.",
        step_swahili="Ongeza salio, kisha tujulishe.",
        support_step="After a top-up, charges included, send a new request.",
        may_prompt=True,
        sample_share=0.42,
    ),
    "user_cancelled": FailureCode(
        group=CodeClass.CUSTOMER,
        advice="Ask the customer, then a new attempt.",
        english="The request was cancelled on your phone.",
        swahili="Ombi la malipo limeghairiwa kwenye simu yako.",
        step_english="Shall we send a new request?",
        step_swahili="Tukutumie ombi jipya?",
        support_step="Ask, then send a new request if the customer wants it.",
        may_prompt=True,
        sample_share=0.16,
    ),
    "payer_unreachable": FailureCode(
        group=CodeClass.LATER,
        advice="Phone on and in coverage, then a new attempt.",
        english="We could not reach your phone.",
        swahili="Hatukuweza kuipata simu yako.",
        step_english="Make sure that your phone is on and has network.",
        step_swahili="Hakikisha simu imewashwa na ina mtandao.",
        support_step="Once the phone has signal, send a new request.",
        may_prompt=True,
        sample_share=0.14,
    ),
    "invalid_pin": FailureCode(
        group=CodeClass.CUSTOMER,
        advice="A new attempt; three wrong PINs lock the account.",
        english="The PIN was not correct.",
        swahili="Namba ya siri uliyoweka si sahihi.",
        step_english="Tell nobody your PIN.",
        step_swahili="Usimwambie mtu yeyote namba yako ya siri.",
        support_step="A careful new try; three wrong PINs lock the account.",
        may_prompt=True,
        sample_share=0.12,
    ),
    "payer_limit_reached": FailureCode(
        group=CodeClass.LATER,
        advice="A smaller amount, or tomorrow.",
        english="You have reached your account's limit.",
        swahili="Umefikia kikomo cha akaunti yako.",
        step_english="Please try again later.",
        step_swahili="Tafadhali jaribu tena baadaye.",
        support_step="A smaller amount, or tomorrow.",
        may_prompt=True,
        sample_share=0.06,
    ),
    "provider_unavailable": FailureCode(
        group=CodeClass.LATER,
        advice="Try later; watch the channel.",
        english="Your network's payment service is not available now.",
        swahili="Huduma ya malipo ya mtandao wako haipatikani kwa sasa.",
        step_english="Please try again later.",
        step_swahili="Tafadhali jaribu tena baadaye.",
        support_step="Watch the channel; try later.",
        may_prompt=True,
        sample_share=0.05,
    ),
    "payer_not_found": FailureCode(
        group=CodeClass.DATA,
        advice="Check the phone number.",
        english="This number is not registered for mobile money.",
        swahili="Namba hii haijasajiliwa kwa huduma ya pesa kwa simu.",
        step_english="Please check the number.",
        step_swahili="Tafadhali hakiki namba.",
        support_step="Check the number digit by digit.",
        may_prompt=True,
        sample_share=0.05,
    ),
    "payer_inactive": FailureCode(
        group=CodeClass.CUSTOMER,
        advice="The customer visits the operator's shop.",
        english="Your mobile-money account is not active.",
        swahili="Akaunti yako ya pesa kwa simu haifanyi kazi kwa sasa.",
        step_english="Please visit your network's shop.",
        step_swahili="Tafadhali tembelea duka la mtandao wako.",
        support_step="Only the network can change that.",
    ),
    "payment_in_progress": FailureCode(
        group=CodeClass.LATER,
        advice="Wait two minutes; no second prompt.",
        english="Another payment is still open on your phone.",
        swahili="Kuna malipo mengine yanaendelea kwenye simu yako.",
        step_english="Please finish it first.",
        step_swahili="Tafadhali yamalize kwanza.",
        support_step="Wait two minutes; send no second prompt before.",
    ),
    "declined": FailureCode(
        group=CodeClass.UNKNOWN,
        advice="Ask the operator.",
        english="Your network did not accept the payment.",
        swahili="Mtandao wako haukukubali malipo haya.",
        step_english="Please call your network.",
        step_swahili="Tafadhali wasiliana na mtandao wako.",
        support_step="The network knows why; a new request may be declined again.",
        may_prompt=True,
    ),
    "amount_out_of_bounds": FailureCode(
        group=CodeClass.DATA,
        advice="Correct the amount.",
        english="This amount is not allowed.",
        swahili="Kiasi hiki hakiruhusiwi.",
        support_step="Correct the amount.",
        may_prompt=True,
    ),
    "duplicate": FailureCode(
        group=CodeClass.DATA,
        advice="Look for the earlier payment first.",
        english="A similar request already exists. We are checking.",
        swahili="Ombi kama hili tayari lipo. Tunahakiki.",
        support_step="Look the other one up first; send no prompt.",
    ),
}

UNKNOWN_ADVICE: Final = "Ask the provider what it means; never retry it automatically."
ADVICE: Final[dict[str, tuple[CodeClass, str]]] = {
    **{code: (known.group, known.advice) for code, known in FAILURE_CODES.items()},
    **{cause: (status.facts.group, status.facts.advice) for cause, status in CAUSES.items()},
}
"""Who can do something, and what: for every way in which no money came."""
