"""The mutants of a query: each part that it could forget is left out once, and each is readable."""

import re
from importlib.resources import files

import pytest
from tests.proofs.kit.alike import ALIKE
from tests.proofs.kit.sql_variants import sql_variants
from tests.proofs.programs.mutant_rooms import ROOMS, SQL
from tests.proofs.programs.mutants import exchanges, main, unplaced

QUERY = """
SELECT a.id, coalesce(a.fee, b.fee, 0) AS fee -- AND a.x = b.x
FROM a
ANTI JOIN b ON b.id = a.id AND b.currency = a.currency AND b.day BETWEEN {first_day} AND {last_day}
WHERE a.kind = 'WHERE AND' AND (a.paid OR a.open)
WINDOW w AS (PARTITION BY a.currency, a.channel ORDER BY a.day)
"""


def found() -> set[str]:
    return {re.sub("^line [0-9]+: ", "", said) for said, _ in sql_variants(QUERY)}


@pytest.mark.parametrize(
    "said",
    [
        "without 'b.id = a.id' of ON",
        "without 'b.currency = a.currency' of ON",
        "without 'b.day BETWEEN {first_day} AND {last_day}' of ON",
        "without \"a.kind = 'WHERE AND'\" of WHERE",
        "without '(a.paid OR a.open)' of WHERE",
        "without 'a.currency' of PARTITION BY",
        "without 'a.channel' of PARTITION BY",
        "without 'a.fee' of coalesce",
        "without 'b.fee' of coalesce",
        "without '0' of coalesce",
    ],
)
def test_each_part_is_left_out_once(said: str) -> None:
    assert said in found()
    assert sum(one.startswith("without") for one in found()) == 10


def test_what_is_left_out_leaves_a_query() -> None:
    texts = dict(sql_variants(QUERY))
    [without] = [text for said, text in texts.items() if "'b.currency = a.currency'" in said]
    assert "b.id = a.id  AND b.day BETWEEN {first_day} AND {last_day}\nWHERE" in without
    [first] = [text for said, text in texts.items() if "'b.id = a.id'" in said and "of ON" in said]
    assert "ON  b.currency = a.currency AND b.day" in " ".join(first.split(" "))
    assert all(text != QUERY for text in texts.values())
    assert all("-- AND a.x = b.x" in text for text in texts.values())


def test_every_query_of_the_close_belongs_to_a_room() -> None:
    known = {name for room in ROOMS.values() for name in room.queries}
    legs = {"ledger", "operator", "bank", "legs", "settlement"}
    paths = [path for leg in legs for path in (SQL / leg).rglob("*.sql")]
    assert paths
    missing = [path for path in paths if str(path.relative_to(SQL))[:-4] not in known]
    assert missing == []
    assert (files("kusanya_books.sql") / "inputs/read.sql").is_file()


def test_conditions_of_the_break_rules_are_changed_too() -> None:
    every = [said for said, _, _ in exchanges(ROOMS["legs"])]
    assert any(said.startswith("bank_charge, ") for said in every)
    assert any(said.startswith("operator_reversal_alone, ") for said in every)


@pytest.mark.parametrize("name", sorted(ALIKE))
def test_every_mutant_that_is_called_alike_is_one_of_its_room(name: str) -> None:
    """Whoever renames something in a room renames it there."""
    assert ALIKE[name].keys() - {unplaced(said) for said, _, _ in exchanges(ROOMS[name])} == set()


@pytest.mark.ci
def test_a_sample_of_a_room_is_found_by_its_tests() -> None:
    assert main(["--sample", "20", "--seed", "everyday", "fold"]) == 0
