"""What a person writes into the parameters of a notebook is taken for what it says, or refused."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kusanya.errors import ConfigurationError, InputRefused
from kusanya_books.read import load, mapped_files
from kusanya_books.request.close_request import CloseRequest

TEXTS = [one.name for one in msgspec.structs.fields(CloseRequest) if isinstance(one.default, str)]
FILES = ("statement", "operator", "bank", "expect")


def test_a_path_and_several_are_taken_and_none_is_what_was_left_out() -> None:
    several = [Path("d.csv"), None]
    by_hand: Any = {"ledger": Path("a b.csv"), "bank": Path("c.xml"), "operator": several}
    request = CloseRequest(**by_hand, expect="books,bank")
    assert (request.ledger, request.files("bank")) == ("a b.csv", ["c.xml"])
    assert (request.files("operator"), list(request.expect)) == (["d.csv"], ["books,bank"])
    nothing: Any = dict.fromkeys([*TEXTS, *FILES])
    assert CloseRequest(**nothing) == CloseRequest()


@pytest.mark.parametrize("name", [*TEXTS, *FILES])
@pytest.mark.parametrize("value", [5, True, 1.5, b"a.csv", date(2026, 3, 1), [["a.csv"]]], ids=repr)
def test_what_is_no_text_is_refused_by_its_name(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is "):
        CloseRequest(**{name: value})


@pytest.mark.parametrize(
    "value", ["2026-03-31", 31, datetime(2026, 3, 31, tzinfo=UTC), timedelta(1)], ids=repr
)
def test_the_day_of_judgement_is_a_date(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="judged_on is a date"):
        CloseRequest(judged_on=value)


@pytest.mark.parametrize("leg", ["ledger", "statement", "operator", "bank"])
@pytest.mark.parametrize("named", ["mpesa:", "own.toml:", "mpesa: "])
def test_a_mapping_without_a_file_is_no_leg_that_was_left_out(leg: str, named: str) -> None:
    # A script makes it of `mpesa:$FILE` where FILE is not set: the leg would not be compared.
    request = msgspec.structs.replace(CloseRequest(), **{leg: named})
    for read in (mapped_files.read, load.inputs):
        with pytest.raises(InputRefused, match="names a mapping and no file"):
            read(request)
