"""Which breaks of the statements have their advice followed by a test, and which do not yet."""

from tests.kit import three_legs
from tests.kusanya_books.test_following_an_advice import CORRECTIONS

from kusanya_books.match import breaks

IN_CHAINS = frozenset(
    {
        "bank_taken_back",
        "operator_fee_differs",
        "settlement_outside",
        "settlement_taken_back",
        "settlement_unknown",
    }
)
"""Codes of faults that test_chained_months.py plants and puts right."""
NOT_FOLLOWED = frozenset(
    {
        "bank_line_again",
        "bank_perhaps_earlier",
        "operator_fees_differ",
        "operator_not_reached",
        "operator_outcome_unknown",
    }
)
"""Codes whose advice no test follows into the next month; a code goes from here with its test."""


def test_a_code_without_a_followed_advice_is_on_the_list() -> None:
    # What is planted here has its advice followed in test_legs_roll_forward.py.
    month = three_legs.month(seed=1, rows=1_200)
    followed = {code for code, _ in [*month.operator, *month.bank]} | set(CORRECTIONS) | IN_CHAINS
    legs = {**breaks.SETTLEMENT, **breaks.OPERATOR, **breaks.BANK}
    wrong = {code for code, rule in legs.items() if rule.standing == "break"}
    assert wrong - followed == NOT_FOLLOWED
    assert wrong >= IN_CHAINS
