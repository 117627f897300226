"""Every gap that is filled has a name, and every name that is cited exists."""

import re
from pathlib import Path

import pytest

from kusanya.assumptions import REPLAY_HOURS, Assumption, every

ROOT = Path(__file__).parents[2]
LIB = ROOT / "lib"
CITED = re.compile(r"(?:[Aa]ssum(?:es|ption|ptions))\s+((?:[A-Z][A-Z_]{3,}(?:,\s+|\s+and\s+)?)+)")


@pytest.mark.parametrize(("name", "entry"), every().items(), ids=every().keys())
def test_an_assumption_quotes_its_gap_and_says_what_we_do(name: str, entry: Assumption) -> None:
    assert name == name.upper()
    assert entry.gap
    assert entry.assume.endswith(".")


def test_what_the_code_cites_exists() -> None:
    cited = {
        (name, path.name)
        for path in LIB.rglob("*.py")
        for found in CITED.finditer(path.read_text())
        for name in re.findall(r"[A-Z][A-Z_]{3,}", found[1])
    }
    assert len({name for name, _ in cited}) > 5
    assert {pair for pair in cited if pair[0] not in every()} == set()


@pytest.mark.parametrize("paper", ["lib/README.md", "console/README.md"])
def test_the_papers_name_the_hours_in_which_a_create_may_be_replayed(paper: str) -> None:
    said = " ".join((ROOT / paper).read_text().split())
    named = re.findall(r"(?:only for|After) (\d+) hours", said)
    assert named == [str(REPLAY_HOURS)]
