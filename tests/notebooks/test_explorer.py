"""The explorer as its user meets it: filters, a click, a story, an export; no kernel."""

import sys
from collections.abc import Callable
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from kusanya.errors import ConfigurationError
from kusanya.reconcile import days, load, story
from kusanya.reconcile.inputs import Inputs
from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.wire import Collection, Mode

FOLDER = Path(__file__).parents[2] / "notebooks"


@pytest.fixture(scope="module")
def explorer_class() -> Any:
    sys.path.insert(0, str(FOLDER))
    try:
        return import_module("explorer").Explorer
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def months() -> Callable[[str], Inputs]:
    loaded = {mode: load.of_mode("", mode, period="2026-03") for mode in ("live", "test")}
    return lambda mode: loaded[mode]


@pytest.fixture
def explorer(explorer_class: Any, months: Callable[[str], Inputs]) -> Any:
    return explorer_class(months, story.timeline)


def test_the_table_shows_the_newest_and_the_summary_says_how_many_there_are(explorer: Any) -> None:
    everything = len(explorer.chosen())
    assert everything > 49_000
    assert f"the newest 500 of {everything:,} collections" in explorer.summary.value
    assert "TZS" in explorer.summary.value
    assert "sample data" in explorer.summary.value
    assert len(explorer.table.df) == 500


def test_filters_narrow_and_widen_again(explorer: Any) -> None:
    everything = len(explorer.chosen())
    explorer.status.value = "failed"
    explorer.code.value = "invalid_pin"
    explorer.channel.value = "TIGO_TZ"
    explorer.first.value = explorer.last.value = date(2026, 3, 5)
    few = explorer.chosen()
    assert 0 < len(few) < 20
    assert set(few["failure_code"]) == {"invalid_pin"}
    assert set(few["channel"]) == {"TIGO_TZ"}
    assert few["created_day"].dt.day.unique().tolist() == [5]
    for widget in (explorer.status, explorer.code, explorer.channel):
        widget.value = ""
    explorer.first.value, explorer.last.value = date(2026, 3, 1), date(2026, 3, 31)
    assert len(explorer.chosen()) == everything


def test_a_reference_is_found_by_its_beginning(explorer: Any) -> None:
    wanted = explorer.chosen()["reference"].iloc[7]
    explorer.reference.value = wanted
    assert set(explorer.chosen()["reference"]) == {wanted}
    explorer.reference.value = "no such"
    assert len(explorer.chosen()) == 0
    assert explorer.summary.value.startswith("0 collections")


def test_a_click_tells_the_story_and_another_filter_forgets_it(explorer: Any) -> None:
    explorer.status.value = "failed"
    explorer.table.selected_rows = [0]
    chosen = explorer.chosen().iloc[0]
    assert explorer.selected() == chosen["id"]
    assert chosen["id"] in explorer.story.value
    told = explorer.timeline.df["detail"].tolist()
    assert told[-1] == f"failed, {chosen['failure_code']}"
    explorer.status.value = "expired"
    assert explorer.selected() is None
    assert explorer.story.value.startswith("Click a row")
    assert len(explorer.timeline.df) == 0


def test_switching_the_mode_shows_only_that_mode(explorer: Any) -> None:
    explorer.mode.value = "test"
    assert set(explorer.chosen()["mode"]) == {"test"}


def test_a_mode_that_holds_nothing_says_so_and_shows_nothing_of_the_other(
    explorer_class: Any, months: Callable[[str], Inputs]
) -> None:
    def read(mode: str) -> Inputs:
        if mode == "test":
            raise ConfigurationError("the store holds no test collection yet")
        return months(mode)

    explorer = explorer_class(read, story.timeline)
    explorer.mode.value = "test"
    assert explorer.summary.value == "the store holds no test collection yet"
    assert len(explorer.table.df) == 0
    assert len(explorer.chosen()) == 0


def test_the_export_holds_what_is_chosen_and_no_phone(explorer: Any, tmp_path: Path) -> None:
    explorer.status.value = "expired"
    explorer.folder.value = str(tmp_path / "out")
    explorer.export.click()
    path = tmp_path / "out" / "collections-live.csv"
    assert f"{len(explorer.chosen()):,} rows" in explorer.exported.value
    text = path.read_text(encoding="utf-8-sig")
    assert len(text.splitlines()) == len(explorer.chosen()) + 1
    assert "+255•••••" in text
    (tmp_path / "file").write_text("")
    explorer.folder.value = str(tmp_path / "file")
    assert explorer.write() is None
    assert explorer.exported.value.startswith("not written")


def test_the_story_from_a_store_has_facts_in_order(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    created = days.period("2026-03").begins
    facts = Collection(
        id="col_1",
        status="created",
        amount=1_000,
        fee=18,
        currency="TZS",
        channel="MPESA_TZ",
        phone="255754123456",
        reference="R-1",
        mode=Mode.TEST,
        created_at=created,
    )
    with Store.open(path) as store:
        store.record(
            Observation(
                source=Source.ANSWER,
                source_id="key",
                observed_at=created,
                heard_in=Mode.TEST,
                collection=facts,
            )
        )
    made = load.inputs(path, mode="test", period="2026-03")
    told = story.timeline(made, "col_1", store=path)
    assert told["what"].tolist() == ["heard from the answer"]
    assert told["detail"].tolist() == ["created, fee 18"]
