"""The break desk as its user meets it: choose a break, say something, save; no kernel."""

import sys
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.kit.payments import polled

import kusanya_books as reconcile
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_books.request.close_request import CloseRequest

FOLDER = Path(__file__).parents[2] / "notebooks"
NOON = datetime(2026, 3, 5, 9, tzinfo=UTC)


@pytest.fixture(scope="module")
def desk_class() -> Any:
    sys.path.insert(0, str(FOLDER))
    try:
        return import_module("break_desk").BreakDesk
    finally:
        sys.path.remove(str(FOLDER))


@pytest.mark.merge
def test_what_is_saved_at_the_desk_is_a_fact_of_the_store(
    desk_class: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUSANYA_STORE", raising=False)
    store = str(tmp_path / "store.db")
    with Store.open(store) as opened:
        for number in range(1, 4):
            opened.record(polled(number, NOON + timedelta(hours=number)))
    books = tmp_path / "books.csv"
    books.write_text("reference,amount,currency,booked_at\nR-1,1000,TZS,2026-03-05\n")
    request = CloseRequest(period="2026-03", mode="live", store=store, ledger=str(books))
    ended = reconcile.run(request, out=tmp_path / "packs")
    desk = desk_class(ended.folder, store)
    assert desk.said.value == "2 open"
    assert not desk.write()
    assert desk.said.value == "Choose a break in the table first."
    desk.table.selected_rows = [0]
    chosen = desk.selected()
    desk.status.value = "accepted"
    assert not desk.write()
    assert "give the reason" in desk.said.value
    desk.owner.value, desk.note.value = "juma", "<b>agreed</b>"
    assert desk.write()
    assert desk.said.value.startswith(f"saved: {chosen}, by ")
    with Store.open(store, read_only=True) as opened:
        history = opened.breaks.histories(Mode.LIVE)[chosen]
    assert (history.status, history.owner, history.note) == ("accepted", "juma", "<b>agreed</b>")
    shown = desk.table.df.set_index("break id").loc[chosen]
    assert (shown["status"], shown["owner"], shown["note"]) == (
        "accepted",
        "juma",
        "<b>agreed</b>",
    )
    assert (desk.owner.value, desk.note.value, desk.status.value) == ("", "", "")


def test_without_a_store_the_desk_says_what_it_wants(
    desk_class: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUSANYA_STORE", raising=False)
    desk = desk_class(None)
    assert desk.save.disabled
    assert "kept in a store" in desk.said.value
