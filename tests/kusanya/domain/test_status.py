"""The table of statuses: every place that treats statuses apart is asked whether it knows all."""

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kusanya
import kusanya_books
import kusanya_console
import kusanya_service
from kusanya.domain import status as table
from kusanya.domain.failure_codes import ADVICE
from kusanya.domain.status import CODED, EVENT_TYPES, FIGURES, FINAL, OPEN, PAID, UNPAID, Status
from kusanya.filters.values import STATUSES
from kusanya.say import Language, swahili
from kusanya.wording import advise
from kusanya_books.columns import DAILY
from kusanya_console.ui import ascii as ascii_only
from kusanya_console.ui import language, theme, vocabulary
from kusanya_service.simulation import resources

ROOT = Path(__file__).parents[3]
PRODUCT = [
    ROOT / part
    for part in ("lib/kusanya", "lib/kusanya_books", "console/kusanya_console", "notebooks")
]
HOME = ROOT / "lib/kusanya/domain/status.py"

COMPLETE = {
    frozenset(Status),
    *(FINAL, OPEN, PAID, UNPAID, CODED),
    *(OPEN | PAID, UNPAID - CODED, frozenset(Status) - CODED),
}
"""Which statuses a table may hold: one of the sets that the home derives."""

OF_DELIVERIES = {
    "kusanya_console.deliveries.sender._STATUS",
    "kusanya_service.dashboard.deliveries._STATUSES",
}
"""Tables of the states of a delivery at the sender, two of which have the same words."""

NAMED = {
    # What the sample month is made of, and what is done to it.
    "lib/kusanya_books/read/sample/month.py": {"EXPIRED", "FAILED", "SUCCEEDED"},
    "lib/kusanya_books/read/sample/faults.py": {"CREATED"},
    # The states of a delivery at the sender, which are none of a collection.
    "console/kusanya_console/deliveries/sender.py": {"FAILED", "SUCCEEDED"},
}
"""The only places that say a status by its name, each for a reason of its own."""


def modules() -> Iterator[Any]:
    for package in (kusanya, kusanya_books, kusanya_console, kusanya_service):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            # Spark is no dependency of these tests; the rest of what is left out runs on import.
            if not re.search(r"migrations|__main__|spark_", found.name):
                yield importlib.import_module(found.name)


def test_every_table_that_holds_statuses_holds_a_whole_set_of_them() -> None:
    words = {str(status) for status in Status}
    torn = {}
    for module in modules():
        for name, held in vars(module).items():
            if not isinstance(held, dict | set | frozenset | tuple | list):
                continue
            mine = {str(one) for one in held if isinstance(one, str)} & words
            if len(mine) > 1 and frozenset(mine) not in COMPLETE:
                torn[f"{module.__name__}.{name}"] = sorted(mine)
    assert torn.keys() - OF_DELIVERIES == set(), torn
    assert torn.keys() >= OF_DELIVERIES


def names(path: Path) -> set[str]:
    """Return the statuses that a module names, as members or as text beside a status."""
    words = {status.value: status.name for status in Status}
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Status":
            found.add(node.attr)
        if isinstance(node, ast.Compare) and "status" in ast.unparse(node).lower():
            texts = {str(one.value) for one in ast.walk(node) if isinstance(one, ast.Constant)}
            found |= {words[text] for text in texts & words.keys()}
        if isinstance(node, ast.Set | ast.Tuple | ast.List | ast.Dict):
            held = node.keys if isinstance(node, ast.Dict) else node.elts
            texts = {str(one.value) for one in held if isinstance(one, ast.Constant)}
            if len(texts & words.keys()) > 1:
                found |= {words[text] for text in texts & words.keys()}
    return found


def test_no_other_place_says_a_status_by_its_name() -> None:
    said = {
        str(path.relative_to(ROOT)): named
        for part in PRODUCT for path in sorted(part.rglob("*.py"))
        if path != HOME and (named := names(path))
    }  # fmt: skip
    assert said == NAMED


def test_no_query_says_a_status_by_its_name() -> None:
    words = "|".join(Status)
    said = re.compile(rf"\bstatus\b[^;\n]*'({words})'|'\(({words}|no code)\)'")
    queries = sorted((ROOT / "lib").rglob("*.sql"))
    assert queries
    assert [path.name for path in queries if said.search(path.read_text("utf-8"))] == []


def test_the_service_keeps_the_same_list_of_its_own() -> None:
    assert [one.value for one in resources.Status] == [one.value for one in Status]
    assert [one.value for one in resources.Status if one.is_final] == sorted(
        FINAL, key=[*Status].index
    )
    assert {*resources.EVENT_TYPES} == EVENT_TYPES.keys()


def test_what_is_paid_is_final_and_counted_as_one_figure() -> None:
    assert PAID <= FINAL
    assert {status.facts.figure for status in PAID} == {"succeeded"}
    assert {status.facts.figure for status in OPEN} == {"open"}
    assert FIGURES[-1] == "open"
    assert {*FIGURES} <= DAILY.columns.keys()


@pytest.mark.parametrize("status", Status)
def test_each_status_is_said_and_shown(status: Status, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = status.facts
    assert vocabulary.status(status)[0] == f"{facts.glyph} {status}"
    assert f"`{facts.glyph} {status}`" in (ROOT / "console/README.md").read_text("utf-8")
    assert facts.glyph.translate(ascii_only.TABLE).isascii()
    assert status in STATUSES
    assert vocabulary.role_of(status) in {
        vocabulary.PLAIN,
        *theme.roles(defaultdict(lambda: "red")).styles,
    }
    assert advise(status, amount=1).english.sentence == facts.english.format(money="TZS 1")
    assert facts.support_step in swahili()
    monkeypatch.setattr(language, "_chosen", Language.SWAHILI)
    assert vocabulary.status(status)[0] != f"{facts.glyph} {status}", "it has no Swahili word"


@pytest.mark.parametrize("status", sorted(UNPAID))
def test_each_end_without_money_is_a_cause_with_an_advice(status: Status) -> None:
    assert table.cause_of(status, None) == status.cause
    group, advice = ADVICE[status.cause]
    assert advice
    assert (table.cause_of(status, "declined") == "declined") is (status in CODED)
    assert group is status.facts.group


def test_a_status_that_nobody_knows_is_neither_final_nor_paid_nor_a_cause() -> None:
    assert "on_hold" not in FINAL | PAID | OPEN
    assert table.cause_of("on_hold", "declined") is None
