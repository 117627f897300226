"""A leg's rules as its queries read them: a table, a CASE and lists of codes."""

from collections.abc import Callable
from typing import Final

import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import DType, Schema
from kusanya_books.match.breaks.rule import OK, BreakRule

RULES: Final = Schema(
    "rules",
    {
        "break_code": DType.TEXT,
        "place": DType.WHOLE,
        "standing": DType.TEXT,
        "meaning": DType.TEXT,
        "action": DType.TEXT,
    },
)


def table(rules: dict[str, BreakRule]) -> pd.DataFrame:
    """Return the rules with their place in the order."""
    return columns.frame(
        RULES,
        {
            "break_code": list(rules),
            "place": list(range(1, len(rules) + 1)),
            "standing": [rule.standing.value for rule in rules.values()],
            "meaning": [rule.meaning for rule in rules.values()],
            "action": [rule.action for rule in rules.values()],
        },
    )


def break_code(rules: dict[str, BreakRule]) -> str:
    """Return the SQL that gives a row of a leg's verdicts its code, by rules with a condition."""
    tried = "\n".join(
        f"WHEN {rule.condition} THEN '{code}'" for code, rule in rules.items() if rule.condition
    )
    return f"CASE\n{tried}\nEND"


def agreeing(rules: dict[str, BreakRule]) -> str:
    """Return the SQL list of the codes of rows that agree."""
    return _codes(rules, lambda rule: rule.standing is OK)


def completed_by_others(rules: dict[str, BreakRule]) -> str:
    """Return the SQL list of the codes that split and joint bookings may complete."""
    return _codes(rules, lambda rule: rule.others_may_complete)


def cleared_by_refund(rules: dict[str, BreakRule]) -> str:
    """Return the SQL list of the codes whose payments a refund pays back."""
    return _codes(rules, lambda rule: rule.refund_clears)


def _codes(rules: dict[str, BreakRule], chosen: Callable[[BreakRule], bool]) -> str:
    codes = (f"'{code}'" for code, rule in rules.items() if chosen(rule))
    return f"({', '.join(codes)})"
