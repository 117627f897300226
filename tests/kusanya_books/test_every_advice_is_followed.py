"""Every break of the statements has its advice followed by a test."""

from tests.kit import three_legs
from tests.kusanya_books.test_advice_on_rare_breaks_of_statements import CASES
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
ACCEPTED = frozenset({"settlement_charge_again"})
"""Codes that somebody accepts, as in test_charges_of_the_provider.py."""


def test_no_code_is_without_a_followed_advice() -> None:
    # What is planted here has its advice followed in test_legs_roll_forward.py.
    month = three_legs.month(seed=1, rows=1_200)
    followed = (
        {code for code, _ in [*month.operator, *month.bank]}
        | set(CORRECTIONS)
        | IN_CHAINS
        | ACCEPTED
        | set(CASES)
    )
    legs = {**breaks.SETTLEMENT, **breaks.OPERATOR, **breaks.BANK}
    wrong = {code for code, rule in legs.items() if rule.standing == "break"}
    assert wrong - followed == set()
    assert wrong >= IN_CHAINS
