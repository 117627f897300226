"""The Swahili catalogue: every text of ours is in it, once, and nothing that nobody says."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

import polib
import pytest
from rich.cells import cell_len

from kusanya import wording
from kusanya.alarms.rules import RULES
from kusanya.domain.status import CONTRADICTION, Status
from kusanya.state.anomalies import AnomalyKind
from kusanya.state.observation import Source
from kusanya.store.records import Verdict
from kusanya.wording import Language
from kusanya_console.commands import COMMANDS
from kusanya_console.ui import language

CODE = Path(language.__file__).parents[1]
LIBRARY = Path(wording.__file__).parent
CACHE = LIBRARY / "confirmations/issuers/__pycache__"
OF_DEVELOPERS = (
    "__main__.py", "cli/__main__.py", "cli/command_line.py", "cli/console", "cli/create.py",
    "cli/deploy.py", "cli/extras.py", "cli/finance", "cli/options.py", "cli/process",
    "cli/receive.py", "cli/service.py", "cli/store", "cli/watch.py", "demo", "deploy",
    "output.py", "ui/crash.py", "ui/terminal.py", "web",
)  # fmt: skip
"""Commands that nobody at the console runs, and what is said of a crash: they stay English."""
AT_THE_DESK = (
    "alarms/rules/deliveries.py", "alarms/rules/operation.py", "alarms/rules/payments.py",
    "confirmations/reading.py", "filters/parsing.py", "filters/values.py", "handover/page.py",
    "intents/leases.py", "intents/outcome.py", "intents/resolving.py", "intents/window.py",
    "lookup/claims.py", "lookup/entries.py", "lookup/new_request.py",
    "lookup/search/by_message.py", "lookup/search/by_named_reference.py",
    "lookup/search/by_text.py", "lookup/search/fitting.py", "privacy.py", "state/anomalies.py",
    "webhooks/forensics.py", "webhooks/refusals.py", "webhooks/variants.py",
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
FILLED_BY_JOINING = {
    "202, fee fixed at {}; {}": ("202, fee fixed at {}", "{}; {}"),
    "{} verified; {}": ("{} verified", "{}; {}"),
    "POST /v1/collections, attempt {}: {}": ("POST /v1/collections, attempt {}", ": {}"),
    "POST /v1/collections, attempt {}: lost": ("POST /v1/collections, attempt {}", ": {}"),
    "{} collections were created: {}": ("{} collections were created", ": {}"),
    "{} collections became final: {}": ("{} collections became final", ": {}"),
    "{} deliveries arrived, of them {}": ("{} deliveries arrived", ", of them {}"),
    "asked: {}; this resolves its intent": ("asked: {}", "; this resolves its intent"),
    "{} sent to the terminal's clipboard and saved to {}": ("{} and saved to {}",),
    "nothing was resent for {}: the sender has no delivery of it; {}": ("{}; {}",),
    "Said: {}.": ("{} Said: {}.",),
    "{} (answer to the create)": ("{} ({})", "answer to the create"),
    "{} (event)": ("{} ({})", "event"),
    "{} (event fetched again)": ("{} ({})", "event fetched again"),
    "{} (poll)": ("{} ({})", "poll"),
    "the service has no resend; {}": ("the service has no resend", "{}; {}"),
    "off: your role here is {}, and this needs {}": (
        "your role here is {}, and this needs {}", "off: {}",
    ),
    "{}; another message with its receipt says something else": (
        "another message with its receipt says something else", ";",
    ),
    "{}; its time lies in the future": ("its time lies in the future", ";"),
    "TZS {} or {}": ("TZS {}", "or"),
    "failed {}": ("{} ({}) is {}",),
    "Receipt {} is known: this payment.": ("Receipt {} is known: this payment.{}",),
    "status {} is unknown, you may mean {}; {}={} looks for it all the same": (
        "status {} is unknown, you may mean {}", "{}; {}={} looks for it all the same",
    ),
    "channel {} is unknown: there are {}; {}={} looks for it all the same": (
        "channel {} is unknown: there are {}", "{}; {}={} looks for it all the same",
    ),
    "{} days": ("days", "{} {}"),
    "{} hours": ("hours", "{} {}"),
}  # fmt: skip
"""Sentences that the code puts together, with their parts."""
NOT_TRANSLATED = {
    "GET /v1/events/{}", "GET /v1/collections/{}", "no new request: {}",
    # words of the status line, which the alarms' paragraphs in the README name
    "! {} failure rate", "▤ months",
    # what fills a placeholder
    "answer to the create", "event fetched again", ", of them {}", "the service has no resend",
    "Receipt {} is known: this payment.{}", "{} and saved to {}",
    "report sent to the terminal's clipboard",
    "with the secret of endpoint {}",
    "{}; {}={} looks for it all the same",
    # what a command compares
    "there is no store",
    # in front of a sentence that is in the catalogue
    "? outcome unknown: {}, TZS {}, {}; never create it anew",
    "? and {} more creations of unknown outcome",
    # what the audit keeps, and how it names what was done
    "shown in the console for 30 s", "message of {}", "{} (taken over from {})", "decide intent",
    "save view", "delete view", "nothing to do", "under way", "not audited", "try phone",
    "{}, test mode", "create key", "revoke key", "add endpoint", "enable endpoint",
    "rotate secret", "delete endpoint", "advance clock", "begin fault", "end faults",
    "nothing was created", ", seen by nobody",
    # names and figures alone, and what is typed as it stands
    "{}  {}  TZS {}  {}  {}  {}", "LIVE MODE", "TEST MODE", "Airtel Money", "Mixx by Yas",
    "Selcom Pesa", "failed airtel", "age<15m at:2025-11-19", "INV-48 phone:412",
    "actor:asha act:reveal", "at:2025-11-19 age<8h", "INV-48 id:col_…", "Bearer (secret)",
    "Basic (secret)", "N COLLECTION|NOTHING WHY",
    # a line of the registry, whose number is filled in when it is loaded
    "Send the same key and bytes again, within {} h of the first time.",
    # of the command line alone
    "--store is empty: name a file or an address, or leave the option out",
}  # fmt: skip
"""What stays as it is, or is a part of something that is in the catalogue."""
MARKS = "✕≠!∅?●○◐◌◷↺▪▫✉▤"
LABEL_CELLS = 11
NAMED = {"labelled", "rule", "translate", "Column", "_column"}
"""Functions whose text is translated; `_column` has a number in front of it."""


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def form(text: str) -> str:
    """Return a text of ours with nothing in its placeholders; two side by side are one."""
    return re.sub(r"(\{\})+", "{}", re.sub(r"\{[^{}]*\}", "{}", text)).strip()


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


@cache
def texts(path: Path) -> frozenset[str]:
    """Return every text that a module builds, its placeholders empty."""
    tree = ast.parse(path.read_text("utf-8"))
    silent = {id(part) for node in unspoken(tree) for part in ast.walk(node)}
    silent |= {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
        for value in node.values for part in (value, getattr(value, "format_spec", None))
    }  # fmt: skip
    said = set()
    for node in ast.walk(tree):
        if id(node) in silent:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [one.value if isinstance(one, ast.Constant) else "{}" for one in node.values]
            said.add(form("".join(map(str, parts))))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            said.add(form(node.value))
    return frozenset(said)


def literals(path: Path) -> Iterator[str]:
    """Yield the texts of a module that stand there as they are, placeholders and all."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def formed(path: Path) -> Iterator[str]:
    """Yield the forms of the texts that a module fills in before they are translated."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr):
            parts = [one.value if isinstance(one, ast.Constant) else "{}" for one in node.values]
            yield form("".join(map(str, parts)))


def marked(english: str) -> set[str]:
    """Return the forms that a text has behind a mark."""
    return {f"{mark} {form(english)}" for mark in MARKS}


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


def bare(text: str) -> set[str]:
    """Return a text, and the same without a mark in front of it."""
    return {text, text[2:]} if text[:1] in MARKS and text[1:2] == " " else {text}


@cache
def known() -> frozenset[str]:
    """Return the forms of all entries."""
    forms = {form(english) for english in language.swahili()}
    return frozenset(forms | {text.removeprefix("no new request: ") for text in forms})


@pytest.mark.parametrize("module", MODULES)
def test_every_sentence_for_the_desk_has_an_entry(module: str) -> None:
    missing = {
        text for text in texts(MODULES[module])
        if len(re.findall(r"[A-Za-z]{2,}", text)) > 1 and " " in text
        and not READ_NOT_SHOWN.search(text) and known().isdisjoint(bare(text))
    }  # fmt: skip
    assert missing - NOT_TRANSLATED == set()


@pytest.mark.parametrize("module", MODULES)
def test_every_label_and_heading_has_an_entry(module: str) -> None:
    assert [text for text in named(MODULES[module]) if form(text) not in known()] == []


def test_no_label_of_a_card_is_wider_than_its_column() -> None:
    labels = {
        node.args[0].value
        for path in MODULES.values() for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "labelled"
        and isinstance(node.args[0], ast.Constant)
    }  # fmt: skip
    said = {str(label): language.swahili().get(str(label), "") for label in labels}
    assert {label: word for label, word in said.items() if cell_len(word) > LABEL_CELLS} == {}


def test_every_command_has_its_swahili_words(monkeypatch: pytest.MonkeyPatch) -> None:
    words = {text for one in COMMANDS for text in (one.label, one.sentence)}
    monkeypatch.setattr(language, "_chosen", Language.SWAHILI)
    unknown = words - language.swahili().keys()
    assert sorted(text for text in unknown if language.translate_filled(text) == text) == []


def test_nobody_says_nothing_that_an_entry_is_for_and_every_placeholder_is_kept() -> None:
    ours = {text for one in COMMANDS for text in (one.label, one.sentence)}
    ours |= {*Status, CONTRADICTION}
    ours |= {one.value.replace("_", " ") for one in (*Source, *AnomalyKind, *Verdict)}
    ours |= {one.code.replace("_", " ") for one in RULES}
    ours |= {f"{{count}} {word}" for word in ours}
    sources = (*CODE.rglob("*.py"), *LIBRARY.rglob("*.py"))
    said_somewhere = {text for path in sources for text in texts(path)}
    assert {part for parts in FILLED_BY_JOINING.values() for part in parts} <= said_somewhere
    said_somewhere |= FILLED_BY_JOINING.keys()
    for english, said in language.swahili().items():
        text = form(english.removeprefix("no new request: "))
        is_said = {text, *marked(text)} & said_somewhere
        assert english in ours or is_said, f"nothing says this any more: {english}"
        assert fields(english) == fields(said), english
        assert said.strip() == said or english.strip() != english


def test_an_entry_that_the_console_fills_in_is_compared_with_no_finished_sentence() -> None:
    literal = {text for path in CODE.rglob("*.py") for text in literals(path)}
    filled = {text for path in (*MODULES.values(), *LIBRARY.rglob("*.py")) for text in formed(path)}
    filled |= FILLED_BY_JOINING.keys()
    wrong = []
    for entry in polib.pofile(str(CODE / "locale" / language.CATALOGUE)):
        here = entry.msgid in literal and not {form(entry.msgid), *marked(entry.msgid)} & filled
        if fields(entry.msgid) and here is not (language.FILLED_HERE in entry.flags):
            wrong.append(entry.msgid)
    assert wrong == []


def test_no_text_has_two_entries_and_none_is_empty() -> None:
    entries = polib.pofile(str(CODE / "locale" / language.CATALOGUE))
    assert [text for text, many in Counter(one.msgid for one in entries).items() if many > 1] == []
    assert [one.msgid for one in entries if not one.msgstr] == []
