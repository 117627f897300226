"""The break rules, a table for each leg: ordered, disjoint, exhaustive.

The first rule that applies to a row gives its code. To add a rule of the ledger, the operator or
the bank, add a row to the table of its leg: the query's CASE, the labels and the advice are read
from it. The settlement's rows have no condition: `sql/settlement/rows.sql` decides them.
"""

from typing import Final

from kusanya_books.match.breaks.bank import BANK
from kusanya_books.match.breaks.for_queries import (
    RULES,
    agreeing,
    break_code,
    cleared_by_refund,
    completed_by_others,
    table,
)
from kusanya_books.match.breaks.ledger import LEDGER
from kusanya_books.match.breaks.operator import OPERATOR, OPERATOR_FEES
from kusanya_books.match.breaks.rule import BreakRule, Standing
from kusanya_books.match.breaks.settlement import SETTLEMENT

__all__ = [
    "BANK",
    "EVERY",
    "LEDGER",
    "OPERATOR",
    "OPERATOR_FEES",
    "RULES",
    "SETTLEMENT",
    "BreakRule",
    "Standing",
    "agreeing",
    "break_code",
    "cleared_by_refund",
    "completed_by_others",
    "table",
]

EVERY: Final = {**LEDGER, **SETTLEMENT, **OPERATOR, **BANK}
"""The codes of all legs."""
