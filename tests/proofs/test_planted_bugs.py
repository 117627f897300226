"""The proofs can fail: each bug that is planted into the product is caught by the test it names."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Final

import pytest
from tests.proofs.kit.receivers import ROOT, environment
from tests.proofs.planted.bugs import BUGS, Catcher
from tests.proofs.planted.patching import replaced

pytestmark = pytest.mark.ci
PAIRS: Final = [(name, test) for name, bug in BUGS.items() for test in bug.caught_by]
CATCHERS: Final = sorted({test for _, test in PAIRS})
SAID: Final = [f"{bug}, {test.name}" for bug, test in PAIRS]

Ends = dict[str, list[str]]
Planter = Callable[[str | None, list[Catcher]], Ends]


@pytest.fixture(scope="module")
def planter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planter]:
    """Return a runner of single tests, with or without a bug in the product."""
    # What this run set for itself must not steer the runs within.
    inherited = {
        name: value
        for name, value in environment().items()
        if not name.startswith(("PYTEST", "PYTHONDONTWRITE"))
    }
    with subprocess.Popen(
        [sys.executable, str(ROOT / "tests/proofs/programs/planter.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=inherited,
        text=True,
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        given, answers = parent.stdin, parent.stdout

        def run(bug: str | None, tests: list[Catcher]) -> Ends:
            folder = tmp_path_factory.mktemp("planted")
            job = {"bug": bug, "tests": ["::".join(test) for test in tests], "folder": str(folder)}
            given.write(json.dumps(job) + os.linesep)
            given.flush()
            ends: Ends = json.loads(answers.readline())
            if ends["errors"] or not any(ends.values()):
                pytest.fail((folder / "output").read_text()[-3000:])
            return ends

        yield run
        given.close()


@pytest.mark.parametrize(("bug", "test"), PAIRS, ids=SAID)
def test_a_planted_bug_is_caught_by_the_test_it_names(
    planter: Planter, bug: str, test: Catcher
) -> None:
    assert planter(bug, [test])["failed"], "the bug was not noticed"


def test_without_a_bug_the_same_tests_pass(planter: Planter) -> None:
    quick = [test for test in CATCHERS if not test.file.startswith("proofs/")]
    ends = planter(None, quick)
    assert ends["failed"] == []
    assert {re.split(r"::|\[", passed)[1] for passed in ends["passed"]} == {t.name for t in quick}


def test_a_bug_whose_line_is_gone_is_not_silently_harmless() -> None:
    with (
        pytest.raises(LookupError, match="does not hold this once"),
        replaced(
            "kusanya.store.tables.engine:_set_up_writer", "synchronous = EXTRA", "synchronous = OFF"
        ),
    ):
        pytest.fail("nothing was replaced")


def test_a_replaced_line_is_back_when_the_context_closes() -> None:
    from kusanya.webhooks.signature import SignatureError, parse

    twice = "t=1,t=1,v1=" + "0" * 64
    bug = BUGS["the first of two t wins"]
    with replaced(bug.where, bug.old, bug.new):
        assert parse(twice).timestamp == b"1"
    with pytest.raises(SignatureError):
        parse(twice)
