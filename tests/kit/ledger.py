"""What the long proofs did: one line for each, with its rounds, the commit and the machine."""

import os
import platform
import subprocess
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

ROUNDS: Final = "rounds"
"""The property by which a test says how many rounds it ran."""


class Ledger:
    """Collects the ends of proofs, from every process of the run, and writes them at its end."""

    def __init__(self, path: Path, tier: str) -> None:
        self._path, self._tier = path, tier
        self._seconds: dict[str, float] = defaultdict(float)
        self._rounds: dict[str, list[int]] = defaultdict(list)
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the end of one part of a test."""
        told = [value for name, value in report.user_properties if name == ROUNDS]
        if not told or report.skipped:
            return
        proof = report.nodeid.partition("[")[0].removeprefix("tests/")
        self._seconds[proof] += report.duration
        if report.failed:
            self._failed.add(proof)
        if report.when == "call":
            self._rounds[proof].append(int(str(told[-1])))

    def pytest_sessionfinish(self) -> None:
        """Write the file, whole."""
        self._path.write_text(self.text(), encoding="utf-8")

    def text(self) -> str:
        """Return the page."""
        now = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
        machine = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"
        rows = [
            f"| `{proof}` | {sum(rounds):,} | {'failed' if proof in self._failed else 'held'} | "
            f"{self._seconds[proof]:,.0f} |"
            for proof, rounds in sorted(self._rounds.items())
        ]
        head = (
            f"Tier {self._tier}, of commit {_commit()}, {now}; {machine}, Python "
            f"{platform.python_version()}. {len(rows)} proofs, {len(self._failed)} failed."
        )
        how = (
            f"Written by `uv run pytest --tier {self._tier} --ledger tests/proofs/LEDGER.md`. A "
            "proof with parameters runs its rounds for each of them; the rounds are those of all."
        )
        table = ("| proof | rounds | ended | seconds |", "|---|---|---|---|", *rows)
        return "\n".join(("# Ledger of the long proofs", "", head, "", how, "", *table, ""))


def _commit() -> str:
    asked = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"],  # noqa: S607 - as the developer has it
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    return asked.stdout.strip() or "unknown"
