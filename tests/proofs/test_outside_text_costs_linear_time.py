"""Whoever sends us text must not choose how long we work: every pattern grows with its text."""

import ast
import importlib
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.growth import filled, is_linear, runs_of

import kusanya
import kusanya_books
import kusanya_console
import kusanya_service
from kusanya import privacy
from kusanya.errors import InputRefused
from kusanya.lookup.search.amounts import read_amount
from kusanya.text import safe
from kusanya_books.columns import DType
from kusanya_books.read.bank import camt, mt940, ofx
from kusanya_books.read.mapping import Layout
from kusanya_books.read.tables import dates, footers, numbers
from kusanya_books.read.tables.sheet import Sheet

_PACKAGES: Final = (kusanya, kusanya_books, kusanya_service, kusanya_console)
_WHOLE: Final = frozenset({"fullmatch", "match"})
_READS: Final = frozenset({"search", "sub", "subn", "finditer", "findall", "split", *_WHOLE})


def _files() -> Iterator[tuple[str, Path]]:
    """Yield every module's name and file."""
    for top in (Path(package.__path__[0]) for package in _PACKAGES):
        for file in sorted(top.rglob("*.py")):
            parts = file.relative_to(top.parent).with_suffix("").parts
            yield ".".join(part for part in parts if part != "__init__"), file


def _modules() -> list[str]:
    """Return the names of all modules that read with patterns; found by text, imported later."""
    read = ((name, file.read_text(encoding="utf-8")) for name, file in _files())
    return [name for name, text in read if "\nimport re\n" in text]


def _patterns(module: str) -> dict[tuple[Any, int], tuple[re.Pattern[Any], set[str]]]:
    """Return every pattern of a module, and the ways in which the module reads with it."""
    made = importlib.import_module(module)
    tree = ast.parse(Path(str(made.__file__)).read_text(encoding="utf-8"))
    used: dict[str, set[str]] = {}
    found: dict[tuple[Any, int], tuple[re.Pattern[Any], set[str]]] = {}

    def add(pattern: re.Pattern[Any], ways: set[str]) -> None:
        found.setdefault((pattern.pattern, pattern.flags), (pattern, set()))[1].update(ways)

    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used.setdefault(node.value.id, set()).add(node.attr)
        if _is_of_re(node):
            given = node.args[0]  # type: ignore[attr-defined]
            how = node.func.attr  # type: ignore[attr-defined]
            if isinstance(given, ast.Constant) and how != "compile":
                add(re.compile(given.value), {how})
    for name, value in vars(made).items():
        for pattern, how in _within(value):
            add(pattern, {how} if how else used.get(name, set()) & _READS or {"search"})
    return found


def _is_of_re(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in {*_READS, "compile"}
    )


def _within(value: Any) -> Iterator[tuple[re.Pattern[Any], str | None]]:
    if isinstance(value, re.Pattern):
        yield value, None
    elif isinstance(getattr(value, "__self__", None), re.Pattern):
        yield value.__self__, value.__name__
    elif isinstance(value, tuple | list | frozenset):
        for each in value:
            yield from _within(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _within(each)


def _acts(pattern: re.Pattern[Any], ways: set[str]) -> Callable[[str], object]:
    how = "fullmatch" if ways <= {"fullmatch"} else ("match" if ways <= _WHOLE else "all")

    def act(text: str) -> object:
        data: Any = (
            text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text
        )
        if how == "all":
            return sum(1 for _ in pattern.finditer(data))
        return getattr(pattern, how)(data)

    return act


@pytest.mark.scale(4_096, 16_384, 262_144)
@pytest.mark.parametrize("module", _modules())
def test_every_pattern_costs_in_proportion_to_the_text(module: str, rounds: int) -> None:
    slow = [
        (pattern.pattern, name)
        for pattern, ways in _patterns(module).values()
        for name, run in runs_of(pattern)
        if not is_linear(_acts(pattern, ways), run, rounds)
    ]
    assert not slow


def _column(read: Callable[[Any], object]) -> Callable[[str], object]:
    return lambda text: read(pd.Series([text], dtype=DType.TEXT.pandas))


def _footers(text: str) -> object:
    frame = pd.DataFrame({"a": pd.Series([text, "1"], dtype=DType.TEXT.pandas), "b": ["1", "2"]})
    sheet = Sheet(frame=frame.astype(DType.TEXT.pandas), numeric=frozenset(), sha256="", name="x")
    return footers.skipped(sheet, Layout(), date="b", amounts=["b"])


def _statement(read: Callable[[str, bytes], object], before: str) -> Callable[[str], object]:
    def act(text: str) -> object:
        try:
            return read("x", f"{before}{text}".encode("utf-8", "replace"))
        except InputRefused:
            return None

    return act


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0)


_NOW: Final = datetime(2026, 3, 1, 9, tzinfo=UTC)
_MT940: Final = ":20:1\n:25:1\n:60F:C260301TZS0,\n:61:2603010301C5,NTRFX\n:86:"
_CAMT: Final = "<Document><BkToCstmrStmt><Stmt>"
READERS: Final[dict[str, Callable[[str], object]]] = {
    "privacy.mask_json": lambda text: privacy.mask_json(json.dumps({"a": text}).encode()),
    "text.safe": lambda text: safe(text, 1_000_000),
    "numbers.read": _column(numbers.read),
    "dates.read": _column(lambda text: dates.read(text, zone="Africa/Dar_es_Salaam")),
    "dates.in_english": _column(dates.in_english),
    "footers.skipped": _footers,
    "mt940.read": _statement(mt940.read, _MT940),
    "camt.read": _statement(camt.read, _CAMT),
    "ofx.read": _statement(ofx.read, "OFXHEADER:100\n\n<OFX>"),
    "ofx.read, an entry": _statement(ofx.read, "OFXHEADER:100\n\n<OFX><STMTRS><STMTTRN><MEMO>"),
    "lookup.read_amount": lambda text: read_amount(text, now=_NOW, day=_midnight),
}
_UNITS: Final = (
    *(
        "A_",
        "a",
        "1",
        " ",
        "1 ",
        "1,",
        "0•",
        "(",
        "-",
        "'",
        '"',
        '\\"',
        "{",
        "<",
        "<A>",
        "<!-- x -->",
    ),
    *("<!--", "&", "\n", "\nx", "\n:61:", "total ", "jumla", "+255", "255 ", "7 ", "_test_sk_"),
    *("bearer ", "whsec_", "Invalid enum value ", "TZS ", "TZS 1", "/=", "a:", "@", "1:2 ", "Jan "),
    *("\u3164", "\u0301", "\u200b", "é"),
)


@pytest.mark.merge
@pytest.mark.scale(4_096, 16_384, 262_144)
@pytest.mark.parametrize("name", READERS)
def test_every_reader_costs_in_proportion_to_the_text(name: str, rounds: int) -> None:
    act = READERS[name]
    slow = [unit for unit in _UNITS if not is_linear(act, filled(unit, after="\x00"), rounds)]
    slow += [unit for unit in _UNITS if not is_linear(act, filled(unit, before="1"), rounds)]
    assert not slow


_OUTSIDE: Final = frozenset(
    {
        *("api_key", "asked", "body", "cell", "data", "digits", "fragment", "label", "line"),
        *("origin", "payload", "phone", "piece", "raw", "reference", "rest", "said", "spelling"),
        *("text", "value", "word"),
    }
)
"""What a parameter is called that holds text of others; paths, names and SQL are ours."""
_MAY_TAKE: Final = re.compile(
    rf"^def \w+\(\s*(?:{'|'.join(_OUTSIDE)}): (?:str|bytes)\b", re.MULTILINE
)
"""Most modules have no such function: reading all of them closely takes each run a second."""


def _takers() -> dict[str, list[tuple[str, bool]]]:
    """Return by module the functions that need one outside text alone, and whether it is bytes."""
    found: dict[str, list[tuple[str, bool]]] = {}
    for module, file in _files():
        if module == "kusanya_console.ui.language":
            continue  # its texts are sentences of ours, and are read with every one that we have
        source = file.read_text(encoding="utf-8")
        for node in ast.parse(source).body if _MAY_TAKE.search(source) else ():
            if not isinstance(node, ast.FunctionDef) or None in node.args.kw_defaults:
                continue
            needed = node.args.args[: len(node.args.args) - len(node.args.defaults)]
            match needed:
                case [ast.arg(arg=name, annotation=ast.expr() as said)] if name in _OUTSIDE:
                    kind = ast.unparse(said).removesuffix(" | None")
                    if kind in {"str", "bytes"}:
                        found.setdefault(module, []).append((node.name, kind == "bytes"))
    return found


_TAKERS: Final = _takers()


@pytest.mark.scale(4_096, 16_384, 262_144)
@pytest.mark.parametrize("module", _TAKERS)
def test_every_function_of_one_text_costs_in_proportion_to_it(module: str, rounds: int) -> None:
    """Found by their parameter: whoever adds one is held without adding it here."""
    home = pytest.importorskip(module)
    slow = []
    for name, in_bytes in _TAKERS[module]:
        made = getattr(home, name)
        act = _anything(getattr(made, "__wrapped__", made), in_bytes=in_bytes)
        runs = [(unit, filled(unit, after="\x00")) for unit in _UNITS]
        slow += [(name, unit) for unit, run in runs if not is_linear(act, run, rounds)]
    assert not slow


def _anything(read: Callable[[Any], object], *, in_bytes: bool) -> Callable[[str], object]:
    def act(text: str) -> object:
        try:
            return read(text.encode() if in_bytes else text)
        except Exception as refused:  # noqa: BLE001 - here it counts how long it takes to refuse
            return refused

    return act


def test_most_readers_are_found_by_themselves() -> None:
    found = {f"{module}.{name}" for module, names in _TAKERS.items() for name, _ in names}
    assert len(found) > 100
    assert {
        "kusanya.privacy.redact",
        "kusanya.privacy.normalise_phone",
        "kusanya.confirmations.reading.read",
        "kusanya.filters.parsing.parse",
        "kusanya.receiver.classification._read",
        "kusanya.wire.decode_event",
        "kusanya_console.cli.talk.lines.spoken",
    } <= found


@pytest.mark.scale(3_000, 20_000, 200_000)
def test_a_cell_is_a_number_exactly_where_the_plain_grammar_says_so(rounds: int) -> None:
    """The grammar that tries every split is kept here as the reference; it is slow."""
    plain = re.compile(
        numbers._WRITTEN.pattern.replace("++", "+")
        .replace("*+", "*")
        .replace("?+", "?")
        .replace("}+", "}")
        .replace("]*)", "]*?)"),
        re.VERBOSE,
    )
    letters = st.text(alphabet="15.,' \u00a0\t()-+=/TZSh\u2212", max_size=14)

    @given(letters)
    @settings(max_examples=rounds, deadline=None)
    def agree(cell: str) -> None:
        ours, its = numbers._WRITTEN.fullmatch(cell), plain.fullmatch(cell)
        assert (ours is None) == (its is None)
        if ours is not None and its is not None:
            said, known = ours.groupdict(), its.groupdict()
            assert said.pop("number").strip() == known.pop("number").strip()
            assert said == known

    agree()
