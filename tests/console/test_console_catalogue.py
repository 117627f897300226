"""The Swahili catalogue: every text of ours is in it, once, and nothing that nobody says."""

import ast
import calendar
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

import polib
import pytest
from rich.cells import cell_len

import kusanya_console
from kusanya import say, wording
from kusanya.alarms.rules import RULES
from kusanya.domain.status import CONTRADICTION, Status
from kusanya.say import Said
from kusanya.state.anomalies import AnomalyKind
from kusanya.state.observation import Source
from kusanya.store.records import Verdict
from kusanya_console.actions.saved_views import DELETE, SAVE
from kusanya_console.commands import COMMANDS

CODE = Path(kusanya_console.__file__).parent
LIBRARY = Path(wording.__file__).parent
CACHE = LIBRARY / "confirmations/issuers/__pycache__"
OF_DEVELOPERS = (
    "__main__.py", "cli/__main__.py", "cli/command_line.py", "cli/console", "cli/create.py",
    "cli/deliveries.py", "cli/deploy.py", "cli/doctor.py", "cli/extras.py", "cli/finance",
    "cli/forward.py", "cli/gateway.py", "cli/init.py", "cli/options.py", "cli/outcomes.py",
    "cli/own_secrets.py", "cli/process",
    "cli/tail.py", "cli/receive.py", "cli/rule.py", "cli/store", "cli/watch.py", "deploy",
    "sandbox/commands",
    "sandbox/demo", "sandbox/service_clock.py", "output.py", "ui/crash.py", "ui/terminal.py", "web",
)  # fmt: skip
"""Commands that nobody at the console runs, and what is said of a crash: they stay English."""
AT_THE_DESK = (
    "alarms/alarm.py", "alarms/notices/messages.py", "alarms/rules/__init__.py",
    "alarms/rules/deliveries.py", "alarms/rules/operation.py", "alarms/rules/orders.py",
    "alarms/rules/payments.py",
    "confirmations/grammar.py", "confirmations/reading.py", "domain/business_day.py",
    "filters/parsing.py", "filters/values.py", "handover/page.py", "intents/leases.py",
    "intents/outcome.py", "intents/resolving.py", "intents/ruling.py",
    "intents/send_target.py", "intents/window.py",
    "lookup/claims.py", "lookup/entries.py", "lookup/new_request.py",
    "lookup/search/amounts.py", "lookup/search/by_message.py",
    "lookup/search/by_named_reference.py", "lookup/search/by_phone.py",
    "lookup/search/by_text.py", "lookup/search/by_words.py", "lookup/search/fitting.py",
    "privacy/__init__.py", "state/anomalies.py", "webhooks/forensics.py",
    "webhooks/refusals.py", "webhooks/variants.py",
)  # fmt: skip
"""What operations and support read of the library."""
MODULES = {
    str(path.relative_to(root)): path
    for root, paths in (
        (CODE, sorted(CODE.rglob("*.py"))),
        (LIBRARY, [LIBRARY / name for name in AT_THE_DESK]),
        # Not a pattern: a folder that was renamed is an error, not an empty list.
        (LIBRARY, sorted(set((LIBRARY / "confirmations/issuers").iterdir()) - {CACHE})),
    )
    for path in paths
    if root is LIBRARY or not str(path.relative_to(root)).startswith(OF_DEVELOPERS)
}
READ_NOT_SHOWN = re.compile(
    r"\(\?|\[\^|\\b|\\1| (?:to|from|confirmed|card) \{\}"
    r"|ume(?:lipa|pokea) \{\}|confirmed you|^malipo yamekamilika|kiasi cha"
)
"""Stands in the forms of what is read: operators' messages, numbers in a text."""
NOT_TRANSLATED = {
    "GET /v1/events/{}", "GET /v1/collections/{}",
    # a word of the status line, which the alarm's paragraph in the README names
    "▤ months",
    # what a command compares
    "there is no store",
    # the details that the audit keeps, as they were written
    "shown in the console for 30 s", "message of {}", "{} (taken over from {})", "under way",
    "not audited", "{}, test mode",
    # names and figures alone, and what is typed as it stands
    "{}  {}  TZS {}  {}  {}  {}", "LIVE MODE", "TEST MODE", "Airtel Money", "Mixx by Yas",
    "Selcom Pesa", "failed airtel", "age<15m at:2025-11-19", "INV-48 phone:412",
    "actor:asha act:reveal", "at:2025-11-19 age<8h", "INV-48 id:col_…", "Bearer (secret)",
    "Basic (secret)", "N COLLECTION|NOTHING WHY",
}  # fmt: skip
"""What stays as it is."""
LABEL_CELLS = 11
NAMED = {"labelled", "rule", "translate", "Column", "_column"}
"""Functions whose text is translated; `_column` has a number in front of it."""


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def form(text: str) -> str:
    """Return a text with nothing in its placeholders."""
    return re.sub(r"\{[^{}]*\}", "{}", text)


def unspoken(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what holds no text for the screen: docstrings, types, the help of commands, keys."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant() as said):
                yield said
            case ast.Assign(targets=[ast.Name(id="BINDINGS")], value=said):
                yield said
            case ast.AnnAssign(target=target, annotation=kind, value=said):
                yield kind
                if said is not None and getattr(target, "id", "") == "BINDINGS":
                    yield said
            case ast.keyword(arg="condition" | "help" | "epilog", value=said):
                yield said
            case ast.arg(annotation=ast.AST() as kind):
                yield kind
            case ast.FunctionDef(returns=ast.AST() as kind):
                yield kind


def literals(tree: ast.AST) -> Iterator[str]:
    """Yield the texts that stand somewhere as they are, placeholders and all."""
    in_f_strings = {id(part) for one in f_strings(tree) for part in one.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in in_f_strings:
            yield str(node.value)


def f_strings(tree: ast.AST) -> Iterator[ast.JoinedStr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node


@cache
def texts(path: Path) -> frozenset[str]:
    """Return every text that a module says; an f-string has {} for its values."""
    tree = ast.parse(path.read_text("utf-8"))
    silent = {id(part) for node in unspoken(tree) for part in ast.walk(node)}
    silent |= {id(part) for one in f_strings(tree) for part in ast.walk(one) if part is not one}
    spoken = [node for node in ast.walk(tree) if id(node) not in silent]
    said = {node.value for node in spoken if isinstance(node, ast.Constant)}
    for node in spoken:
        if isinstance(node, ast.JoinedStr):
            parts = (one.value if isinstance(one, ast.Constant) else "{}" for one in node.values)
            said.add("".join(map(str, parts)).strip())
    return frozenset(text for text in said if isinstance(text, str))


def named(path: Path) -> Iterator[str]:
    """Yield the texts that a module passes to be translated, single words too."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        called = getattr(node.func, "id", "")
        place = 1 if called == "_column" else 0
        given = [node.args[place]] if called in NAMED and len(node.args) > place else []
        for one in (*given, *(word.value for word in node.keywords if word.arg == "label")):
            if isinstance(one, ast.Constant) and re.search("[a-z]", str(one.value)):
                yield str(one.value)


@pytest.mark.parametrize("module", MODULES)
def test_every_sentence_for_the_desk_has_an_entry(module: str) -> None:
    missing = {
        text for text in texts(MODULES[module])
        if len(re.findall(r"[A-Za-z]{2,}", form(text))) > 1 and " " in text
        and not READ_NOT_SHOWN.search(form(text)) and text not in say.swahili()
    }  # fmt: skip
    assert missing - NOT_TRANSLATED == set()


@pytest.mark.parametrize("module", MODULES)
def test_every_label_and_heading_has_an_entry(module: str) -> None:
    assert [text for text in named(MODULES[module]) if text not in say.swahili()] == []


def test_no_label_of_a_card_is_wider_than_its_column() -> None:
    labels = {
        node.args[0].value
        for path in MODULES.values() for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "labelled"
        and isinstance(node.args[0], ast.Constant)
    }  # fmt: skip
    said = {str(label): say.swahili().get(str(label), "") for label in labels}
    assert {label: word for label, word in said.items() if cell_len(word) > LABEL_CELLS} == {}


def test_every_command_has_its_swahili_words() -> None:
    words = {text for one in COMMANDS for text in (one.label, one.sentence)}
    keys = {text.key if isinstance(text, Said) else text for text in words}
    assert keys - say.swahili().keys() == set()


def test_nobody_says_nothing_that_an_entry_is_for_and_every_placeholder_is_kept() -> None:
    ours = {*Status, CONTRADICTION}
    ours |= {one.value.replace("_", " ") for one in (*Source, *AnomalyKind, *Verdict)}
    ours |= {one.code.replace("_", " ") for one in RULES}
    ours |= {f"{{count}} {word}" for word in ours}
    ours |= {*calendar.day_abbr, *calendar.month_abbr}
    for path in (*CODE.rglob("*.py"), *LIBRARY.rglob("*.py")):
        said_here = set(literals(ast.parse(path.read_text("utf-8"))))
        ours |= said_here | {text.replace("_", " ") for text in said_here}
    for english, said in say.swahili().items():
        assert english in ours, f"nothing says this any more: {english}"
        assert fields(english) == fields(said), english
        assert said.strip() == said or english.strip() != english


def test_every_act_that_the_audit_keeps_has_its_swahili_words() -> None:
    acts = {SAVE, DELETE}
    for path in (*CODE.rglob("*.py"), *LIBRARY.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.keyword(arg="act", value=ast.Constant() | ast.IfExp() as said):
                    acts |= set(literals(said)) - {"None"}
                case ast.Call(
                    func=ast.Attribute(attr="run", value=ast.Attribute(attr="_audit")),
                    args=[ast.Constant(value=str(act)), *_],
                ):
                    acts.add(act)
    assert len(acts) > 20
    assert {act.replace("_", " ") for act in acts} - say.swahili().keys() == set()


def test_every_text_with_placeholders_is_given_what_fills_them() -> None:
    wrong = []
    for path in (*CODE.rglob("*.py"), *LIBRARY.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(
                        value=ast.Call(func=ast.Name(id="Said"), args=[ast.Constant(value=key)])
                    )
                ):
                    if isinstance(key, str) and fields(key) != {word.arg for word in node.keywords}:
                        wrong.append(f"{path.name}:{node.lineno} {key}")
    assert wrong == []


def test_no_text_has_two_entries_and_none_is_empty() -> None:
    entries = polib.pofile(str(LIBRARY / "say" / "sw.po"))
    assert [text for text, many in Counter(one.msgid for one in entries).items() if many > 1] == []
    assert [one.msgid for one in entries if not one.msgstr] == []


SEVERAL = re.compile(r"\{(?:count|total)\} (?:[a-z]+ )?[a-z]+s\b")
ALWAYS_SEVERAL = (
    # what fits, hangs or differs is said where it is more than one
    "{count} payments fit amount and time.", "Receipt {receipt} is known on {count} payments",
    "stuck: {count} prompts of {channel} wait over {limit}", "{count} phones: ask the service",
    "{count} different events arrived for one collection", "{count} lines: retries of one event",
    "the text holds {count} phone numbers", "The text holds {count} phone numbers",
    "noise: {name} refused {count} requests", "Kusanya: {count} messages, the first waited since",
    # bounds of ours, and sizes of what is never so small
    "one part of a description of {count} letters at least", "{count} cells", "{count} bytes",
    "{key}, {count} bytes", "{count} characters sent",
    # no noun follows
    "≠ differs in {count} from ours",
)  # fmt: skip
"""Beginnings of what is said of two and more alone."""


def chooses_a_number(function: ast.AST) -> bool:
    """Return whether a function has one text for one and another for several."""
    return any(
        (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "plural")
        or (isinstance(node, ast.Compare) and ast.unparse(node).endswith("== 1"))
        for node in ast.walk(function)
    )


def test_of_one_thing_no_sentence_speaks_as_of_several() -> None:
    wrong = set()
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and not chooses_a_number(node):
                wrong |= {
                    f"{module}: {text}"
                    for text in literals(node)
                    if SEVERAL.search(text) and not text.startswith(ALWAYS_SEVERAL)
                }
    assert wrong == set()
