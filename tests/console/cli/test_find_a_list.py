"""`kusanya find -` and `show -`: many references on standard input, each answered in its place."""

import io
import json
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.console.seeding import NOW, Seed

from kusanya.lookup import LookupResult

Kusanya = Callable[..., tuple[int, str, str]]


def test_references_on_standard_input_are_answered_line_by_line_in_their_order(
    kusanya: Kusanya, seed: Seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in (1, 2, 3):
        seed.life(n, at=NOW - timedelta(minutes=9 + n))

    def find(text: str, *more: str, command: str = "find") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        return kusanya(command, "-", *more)

    code, out, _ = find("INV-482003\n\n  INV-482001\r\nINV-482002")
    headings = [line for line in out.splitlines() if not line.startswith(" ")]
    assert (code, headings) == (0, ["INV-482003:", "INV-482001:", "INV-482002:"])
    assert out.count("  EN   ") == 3
    code, out, _ = find("INV-482003\n0754999999\nINV-482001\n", "--json")
    said = [json.loads(line) for line in out.splitlines()]
    assert (code, [one["line"] for one in said]) == (1, [1, 2, 3])
    assert [len(one["data"]) for one in said] == [1, 0, 1]
    assert said[0]["data"][0]["reference"] == "INV-482003"
    assert "0754999999" not in out
    assert said[1]["trouble"] == "nothing in live mode matches"
    code, out, err = find("INV-482003\n")
    assert (code, out.startswith("col_"), err) == (0, True, "")
    code, out, err = find(" \n")
    assert (code, "standard input is empty" in err) == (2, True)

    code, out, _ = find("col_0000000000000002\nINV-1\ncol_7\nint_9\n", command="show")
    assert code == 1
    assert "INV-1:\n  an id begins with col_, evt_ or int_" in out
    assert "int_9:\n  the store knows no int_9" in out
    code, out, _ = find("col_0000000000000002\ncol_0000000000000001", "--json", command="show")
    assert code == 0
    assert [json.loads(line)["reference"] for line in out.splitlines()] == [
        "INV-482002",
        "INV-482001",
    ]


def test_more_references_than_a_message_has_characters_are_all_answered(
    kusanya: Kusanya, seed: Seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def ask(_store: Any, text: str, **_given: Any) -> LookupResult:
        asked.append(text)
        return LookupResult(text=text)

    monkeypatch.setattr("kusanya.lookup.find", ask)
    texts = [f"INV-{n:07}" for n in range(12_000)]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(texts)))
    assert kusanya("find", "-")[0] == 1
    assert asked == texts
    seed.life(1, at=NOW)


def test_facts_that_contradict_each_other_are_reported_by_the_code_where_all_were_found(
    kusanya: Kusanya, seed: Seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in (1, 3):
        seed.life(n, at=NOW - timedelta(minutes=9))
    at = NOW - timedelta(minutes=5)
    seed.polled(seed.collection(3, at=NOW - timedelta(minutes=9), amount=1), at=at)
    for text, code in (("INV-482003\nINV-482001", 3), ("INV-482003\nno such thing", 1)):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        assert kusanya("find", "-")[0] == code
