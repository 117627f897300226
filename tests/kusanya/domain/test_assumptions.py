"""Every gap that is filled has a name, and every name that is cited exists."""

import re
from pathlib import Path

import pytest

from kusanya.domain.assumptions import REPLAY_HOURS, REPLAY_WINDOW, Assumption, every
from kusanya.domain.limits import IDEMPOTENCY_RETENTION

ROOT = Path(__file__).parents[3]
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


def test_a_create_is_replayed_only_while_the_service_knows_its_key() -> None:
    assert REPLAY_WINDOW < IDEMPOTENCY_RETENTION


@pytest.mark.parametrize(
    ("paper", "times"),
    [(f"{folder}.md", 1) for folder in ("lib/docs/house", "lib/docs/glossary", "console/README")],
)
def test_the_papers_name_the_hours_in_which_a_create_may_be_replayed(
    paper: str, times: int
) -> None:
    said = " ".join((ROOT / paper).read_text().split())
    named = re.findall(r"(?:only for|After|the) (\d+) hours\b(?= in which|:|,)", said)
    assert named == times * [str(REPLAY_HOURS)]
