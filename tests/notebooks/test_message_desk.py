"""A customer's message is pasted, and the collection or the reason is read; no kernel."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.kit.payments import polled

from kusanya.lookup import messages
from kusanya.store import Store

FOLDER = Path(__file__).parents[2] / "notebooks"
NOON = datetime(2026, 3, 5, 9, tzinfo=UTC)
PAID = "CC58XY12AB Confirmed. Tsh7,700.00 sent to business DUKA LETU on 5/3/26 at 12:00 PM."


@pytest.fixture(scope="module")
def desk_class() -> Any:
    sys.path.insert(0, str(FOLDER))
    try:
        return import_module("message_desk").MessageDesk
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[str]:
    path = str(tmp_path / "s.db")
    with Store.open(path) as opened:
        opened.record(polled(1, NOON - timedelta(minutes=1), amount=7_700))
        opened.record(polled(2, NOON + timedelta(hours=4)))
        yield path


@pytest.fixture
def shown() -> list[str]:
    return []


@pytest.fixture
def desk(desk_class: Any, store: str, shown: list[str]) -> Any:
    explorer = SimpleNamespace(mode=SimpleNamespace(value="live"), show=shown.append)
    return desk_class(explorer, store)


def test_the_collection_of_a_message_is_named_and_its_story_shown(
    desk: Any, shown: list[str]
) -> None:
    desk.text.value = PAID
    desk.find.click()
    first, where = (label.value for label in desk.answers.children)
    assert "Collection col_1, reference R-1, succeeded." in first
    assert where == "What happened to it stands in the table below."
    assert shown == ["col_1"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("  ", "Paste the customer's message first."),
        ("hello", "This is no confirmation that I know."),
        (PAID.replace("7,700", "7,800"), "TZS 7,800"),
        (f"<b>{PAID}</b>", "Collection col_1"),
    ],
)
def test_what_names_no_collection_says_why(desk: Any, text: str, says: str) -> None:
    desk.text.value = text
    assert any(says in sentence for sentence in desk.look())


def test_without_a_store_the_desk_says_what_it_wants() -> None:
    (answer,) = messages.look_up(PAID, mode="live", store="")
    assert answer.sentence.endswith("name a store to look a message up.")
    assert answer.collection_id is None
