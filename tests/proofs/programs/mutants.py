"""Change one operator or number of a room at a time, and see whether its own tests notice.

    uv run python -m tests.proofs.programs.mutants                    all rooms
    uv run python -m tests.proofs.programs.mutants schedule fold      these
    uv run python -m tests.proofs.programs.mutants --sample 60 --seed 1a2b3c legs    some of a room

Each mutant is put into a forked process, where the code of the room's functions or the text of its
queries is exchanged, and the room's tests run there until one fails. Prints the survivors and the
score; exit code 1 below 95 %. Words of messages and docstrings are left alone: nothing depends on
them. Mutants that do what the original does are named with their reasons in tests/proofs/kit/alike
and count nowhere.
"""

import argparse
import ast
import copy
import importlib
import inspect
import itertools
import os
import pickle
import re
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import msgspec
import pytest
from _pytest.runner import runtestprotocol
from hypothesis import Phase, settings
from tests.proofs.kit.alike import ALIKE
from tests.proofs.kit.sql_variants import sql_variants
from tests.proofs.programs.mutant_rooms import ROOMS, ROOT, SQL, Room

PATIENCE_S: Final = 180
NEEDED: Final = 0.95


_COMPARED: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_REACHED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.FloorDiv: ast.Mult,
}


def variants(node: ast.AST) -> Iterator[ast.AST]:  # noqa: C901, PLR0912 - one table of cases
    """Yield what could stand in a node's place."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in _COMPARED.get(type(operator), ()):
                changed = copy.deepcopy(node)
                changed.ops[place] = other()
                yield changed
    elif isinstance(node, ast.BoolOp):
        changed_bool = copy.deepcopy(node)
        changed_bool.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield changed_bool
    elif isinstance(node, ast.BinOp) and type(node.op) in _REACHED:
        changed_sum = copy.deepcopy(node)
        changed_sum.op = _REACHED[type(node.op)]()
        yield changed_sum
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bytes):
        yield ast.Constant(node.value + b"x")
    elif isinstance(node, ast.IfExp | ast.If):
        turned = copy.deepcopy(node)
        turned.test = ast.UnaryOp(ast.Not(), turned.test)
        yield turned
    elif isinstance(node, ast.Continue):
        yield ast.Break()
    elif isinstance(node, ast.Return) and node.value is not None:
        empty = isinstance(node.value, ast.Constant) and node.value.value is None
        if not empty:
            yield ast.Return(ast.Constant(None))


def _is_strict(node: ast.AST) -> bool:
    """Return whether this is the `strict=` of a zip, which says what holds anyway."""
    return isinstance(node, ast.keyword) and node.arg == "strict"


def _rules(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that are a rule's, each before those inside it."""
    if isinstance(node, ast.AnnAssign):
        # Its annotation is for readers.
        if node.value is not None:
            yield from _rules(node.value)
    elif not isinstance(node, ast.Raise) and not _is_strict(node):
        # What an error says is nobody's rule; that it is raised, is: its `if` is turned.
        yield node
        for inner in ast.iter_child_nodes(node):
            yield from _rules(inner)


class _Exchange(ast.NodeTransformer):
    """Puts a node in another one's place."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old = old
        self._new = ast.copy_location(new, old)

    def visit(self, node: ast.AST) -> ast.AST:
        """Exchange the one node."""
        return self._new if node is self._old else self.generic_visit(node)


def functions(module: ModuleType) -> Iterator[tuple[str, FunctionType]]:
    """Yield the module's own functions and methods."""
    here = module.__file__
    for name, value in vars(module).items():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, FunctionType):
            yield name, value
        elif isinstance(value, type):
            for inner, method in vars(value).items():
                found = getattr(method, "fget", method)
                found = getattr(found, "__func__", found)
                # Not what a library wrote for the class.
                if isinstance(found, FunctionType) and found.__code__.co_filename == here:
                    yield f"{name}.{inner}", found


def mutants(function: FunctionType) -> Iterator[tuple[str, CodeType]]:
    """Yield a sentence and the code of each mutant of a function."""
    source = textwrap.dedent(inspect.getsource(function))
    first = function.__code__.co_firstlineno - 1
    tree = ast.parse(source)
    defined = tree.body[0]
    if not isinstance(defined, ast.FunctionDef | ast.AsyncFunctionDef):
        # A lambda.
        return
    defined.decorator_list = []
    bare = ast.Module(defined.body, [])
    for number, rule in enumerate(_rules(bare)):
        for place, new in enumerate(variants(rule)):
            said = f"line {getattr(rule, 'lineno', '?')}: {ast.unparse(rule)[:60]!r}"
            said += f" became {ast.unparse(new)[:60]!r}"
            # A copy has the same nodes in the same order.
            body = copy.deepcopy(bare)
            old = next(itertools.islice(_rules(body), number, None))
            _Exchange(old, list(variants(old))[place]).visit(body)
            program = copy.deepcopy(tree)
            copied: Any = program.body[0]
            copied.body = body.body
            ast.fix_missing_locations(program)
            ast.increment_lineno(program, first)
            compiled = compile(program, function.__code__.co_filename, "exec")
            code = next(c for c in compiled.co_consts if isinstance(c, CodeType))
            if code.co_freevars == function.__code__.co_freevars:
                yield said, code


class _Shelf:
    """The folder of queries, one of them changed."""

    def __init__(self, name: str, text: str) -> None:
        self._changed = (f"{name}.sql", text)

    def __truediv__(self, name: str) -> "_Text":
        changed, text = self._changed
        return _Text(text if name == changed else (SQL / name).read_text(encoding="utf-8"))


class _Text(msgspec.Struct, frozen=True):
    said: str

    def read_text(self, encoding: str) -> str:
        """Return the text."""
        return self.said


def exchange_code(function: FunctionType, code: CodeType) -> None:
    """Let a function do something else."""
    function.__code__ = code


def exchange_query(name: str, text: str) -> None:
    """Let a query ask something else."""
    engine: Any = importlib.import_module("kusanya_books.engine.engine")
    engine.files = lambda _package: _Shelf(name, text)
    engine._text.cache_clear()


def exchange_rule(rules: dict[str, Any], code: str, condition: str) -> None:
    """Let a break rule apply to other rows."""
    rules[code] = msgspec.structs.replace(rules[code], condition=condition)


Mutant = tuple[str, str | None, Callable[[], None]]
"""A sentence, the query that is changed, if one is, and the call that puts the mutant in place."""


def exchanges(room: Room) -> Iterator[Mutant]:
    """Yield each mutant of a room."""
    for where in room.modules:
        for label, function in functions(importlib.import_module(where)):
            if not room.only or label in room.only:
                for said, code in mutants(function):
                    exchange = partial(exchange_code, function, code)
                    yield f"{label}, {said}", None, exchange
    for name in room.queries:
        for said, text in sql_variants((SQL / f"{name}.sql").read_text(encoding="utf-8")):
            yield f"{name}, {said}", name, partial(exchange_query, name, text)
    for name in room.rules:
        rules = getattr(importlib.import_module("kusanya_books.match.breaks"), name)
        for code, rule in rules.items():
            # Its place in the file is no line of a query's.
            for said, text in sql_variants(f"WHEN {rule.condition} THEN"):
                condition = text.strip().removeprefix("WHEN").removesuffix("THEN")
                yield f"{code}, {said}", None, partial(exchange_rule, rules, code, condition)


_OPTIONS: Final = (
    *("-n", "0", "-s", "-p", "no:cacheprovider", "-p", "no:terminal"),
    # Not the longest: a mutant that only chance finds is not found every time.
    *("--tier", "merge", "-k", "not postgres"),
    # What is imported once for all children is imported already in each.
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)


class Trial(msgspec.Struct):
    """Tests that are collected once; each mutant is tried on them in a child that then ends.

    What found a mutant is asked first about the next one, and only files that reach a mutant's
    query are asked at all.
    """

    judge: Callable[["Trial"], None]
    """Called once the tests are collected and known to pass."""
    reached: dict[str, set[str]] = {}
    """The queries that each file of tests asks."""
    seconds: float = 0.0
    kills: dict[str, int] = {}
    items: list[pytest.Item] = []
    passed: bool = False

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """Let a failing example be one: nobody reads the smallest."""
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", settings(), phases=phases, derandomize=True)
        settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try mutants instead of running the tests once."""
        self.items = list(session.items)
        began = time.monotonic()
        said = _in_child(self._reach, PATIENCE_S * 20)
        self.seconds = time.monotonic() - began
        self.passed = bool(said) and said[0]
        if self.passed:
            self.reached = said[1]
            self.judge(self)
        return True

    def killer(self, query: str | None, exchange: Callable[[], None]) -> str | None:
        """Return the test that fails once something is exchanged; None where all pass."""
        asked = [one for one in self.items if self._reaches(one, query)]
        asked.sort(key=lambda one: -self.kills.get(one.nodeid, 0))

        def tried() -> str | None:
            exchange()
            return _first_failure(asked)

        found: str | None = _in_child(tried, max(PATIENCE_S, 5 * self.seconds), late="no end")
        if found is not None:
            self.kills[found] = self.kills.get(found, 0) + 1
        return found

    def _reaches(self, item: pytest.Item, query: str | None) -> bool:
        return query is None or query in self.reached[item.path.as_posix()]

    def _reach(self) -> tuple[bool, dict[str, set[str]]]:
        engine: Any = importlib.import_module("kusanya_books.engine.engine")
        text = engine._text
        reached: dict[str, set[str]] = {}
        passed = True
        for path, items in itertools.groupby(self.items, lambda item: item.path.as_posix()):
            here = reached.setdefault(path, set())

            def noted(name: str, here: set[str] = here) -> str:
                here.add(name)
                return str(text(name))

            engine._text = noted
            passed = passed and _first_failure(list(items)) is None
        return passed, reached


def _first_failure(items: list[pytest.Item]) -> str | None:
    for item, following in itertools.zip_longest(items, items[1:]):
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, log=False, nextitem=following)
        if any(report.failed for report in reports):
            return str(item.nodeid)
    return None


def _in_child(call: Callable[[], Any], patience_s: float, late: Any = None) -> Any:
    """Return what a call returns in a forked child, in silence; `late` where it does not end."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        status = 1
        try:
            os.write(writer, pickle.dumps(call()))
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    os.set_blocking(reader, False)
    ends = time.monotonic() + patience_s
    said = b""
    with os.fdopen(reader, "rb") as answer:
        while True:
            said += answer.read() or b""
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                said += answer.read() or b""
                # A child that died was killed by what it tried.
                return pickle.loads(said) if status == 0 else "died"  # noqa: S301 - our own child
            if time.monotonic() > ends:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return late
            time.sleep(0.02)


def main(arguments: list[str]) -> int:
    """Try every mutant of the named rooms, or of all; or a sample of each room's."""
    parser = argparse.ArgumentParser(description="Try mutants of rules.")
    parser.add_argument("rooms", nargs="*", choices=[*ROOMS, []])
    parser.add_argument("--sample", type=int, help="how many of each room are tried")
    parser.add_argument("--seed", default="", help="which of them: the same seed, the same mutants")
    parser.add_argument("--only", default="", help="only mutants whose sentence holds this text")
    asked = parser.parse_args(arguments)
    names: list[str] = asked.rooms
    made = killed = 0
    for name in names or list(ROOMS):
        room = ROOMS[name]
        # All at once: whoever edits the room meanwhile changes nothing here.
        every = list(exchanges(room))
        alike = ALIKE.get(name, {})
        if unknown := alike.keys() - {unplaced(said) for said, _, _ in every}:
            sys.stderr.write(f"{name}: there is no mutant {sorted(unknown)}\n")
            return 2
        chosen = [one for one in every if unplaced(one[0]) not in alike and asked.only in one[0]]
        if asked.sample is not None and asked.sample < len(chosen):
            chance = Random(f"{asked.seed} {name}")  # noqa: S311 - a repeatable choice
            chosen = chance.sample(chosen, asked.sample)
        found: list[str | None] = []

        def judge(
            trial: Trial, chosen: list[Mutant] = chosen, found: list[str | None] = found
        ) -> None:
            for said, query, exchange in chosen:
                found.append(trial.killer(query, exchange))
                if found[-1] is None:
                    sys.stdout.write(f"  survived: {said}\n")
                    sys.stdout.flush()

        trial = Trial(judge)
        pytest.main([*_OPTIONS, *(str(ROOT / "tests" / test) for test in room.tests)], [trial])
        if not trial.passed:
            sys.stderr.write(f"{name}: its tests fail without any change\n")
            return 2
        tried, survived = len(found), found.count(None)
        dead = tried - survived
        sys.stdout.write(f"{name}: {dead} of {tried} killed, {dead / max(1, tried):.1%}")
        sys.stdout.write(f"; of {len(every)}, of which {len(alike)} do what the original does\n")
        sys.stdout.flush()
        made, killed = made + tried, killed + dead
    sys.stdout.write(f"all: {killed} of {made} killed, {killed / max(1, made):.1%}\n")
    return 0 if killed >= NEEDED * made else 1


def unplaced(said: str) -> str:
    """Return the sentence about a mutant without its line, which moves."""
    return re.sub(r", line [0-9]+:", ":", said, count=1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
