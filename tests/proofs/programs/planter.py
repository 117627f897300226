"""A warm parent that plants a bug and runs tests under it. Run by tests, never imported.

Reads one JSON object a line: {"bug": a name or null, "tests": their ids below tests/, "folder": for
their files}. Each is answered with {"failed", "passed", "errors"}: lists of test ids. The child
that ran them is gone by then, and the bug with it.
"""

import importlib
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest
from tests.proofs.planted.bugs import planted

TESTS = Path(__file__).parents[2]
PLUGINS = ("anyio.pytest_plugin", "pytest_timeout", "xdist.plugin", "_hypothesis_pytestplugin")
"""Those that the tests need; loading all that are installed takes longer than a test."""
WARM = ("hypothesis", "kusanya.intents", "kusanya.receiver.serve", "kusanya_service.testing")
"""What most tests import, imported once for all children."""


class Reports:
    """Takes down how each test ended."""

    def __init__(self) -> None:
        self.ends: dict[str, list[str]] = {"failed": [], "passed": [], "errors": []}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the end of a test; a failure outside of the test itself is an error."""
        if report.when == "call" and report.outcome in self.ends:
            self.ends[report.outcome].append(report.nodeid)
        elif report.failed:
            self.ends["errors"].append(report.nodeid)


def main() -> None:
    """Fork a child for every line of the input."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in (*PLUGINS, *WARM):
        importlib.import_module(name)
    for line in sys.stdin:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            _child(json.loads(line), writer)
        os.close(writer)
        with os.fdopen(reader) as answer:
            said = answer.read()
        os.waitpid(pid, 0)
        sys.stdout.write((said or '{"failed": [], "passed": [], "errors": ["died"]}') + "\n")
        sys.stdout.flush()


def _child(job: dict[str, Any], answer: int) -> None:
    status = 1
    try:
        os.close(0)
        output = os.open(Path(job["folder"]) / "output", os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        reports = Reports()
        with planted(job["bug"]):
            pytest.main(_arguments(job), plugins=[reports])
        os.write(answer, json.dumps(reports.ends).encode())
        status = 0
    except BaseException:  # noqa: BLE001 - a forked child reports and ends here, always
        traceback.print_exc()
    finally:
        os._exit(status)


def _arguments(job: dict[str, Any]) -> list[str]:
    quiet = ["-q", "-n", "0", "-p", "no:cacheprovider", "--tb", "line"]
    # Plugins that are imported here already do not get better messages; nobody reads them.
    quiet += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    quiet += [part for name in PLUGINS for part in ("-p", name)]
    where = ["--rootdir", str(TESTS.parent), "-c", str(TESTS.parent / "pyproject.toml")]
    # One engine tells: the bugs are not about engines.
    chosen = ["-k", "not postgres", "--basetemp", str(Path(job["folder"]) / "base")]
    return [*quiet, *where, *chosen, *(str(TESTS / test) for test in job["tests"])]


if __name__ == "__main__":
    main()
