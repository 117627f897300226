"""The explorer as its user meets it: filters, a click, a story, an export; no kernel."""

import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.kit.payments import polled

from kusanya.domain.status import Status
from kusanya.errors import ConfigurationError
from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.wire import Collection, Mode
from kusanya_books.present import timeline
from kusanya_books.read import load
from kusanya_books.request import days
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.report_inputs import Inputs

Load = Callable[..., Inputs]
FOLDER = Path(__file__).parents[2] / "notebooks"


@pytest.fixture(scope="module")
def explorer_class() -> Any:
    sys.path.insert(0, str(FOLDER))
    try:
        return import_module("explorer").Explorer
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def months() -> Load:
    return cache(lambda mode, period="2026-03": load.of_mode("", mode, period=period))


@pytest.fixture
def explorer(explorer_class: Any, months: Load) -> Any:
    return explorer_class(months, timeline.timeline)


@pytest.mark.merge
def test_the_table_shows_the_newest_and_the_summary_says_how_many_there_are(explorer: Any) -> None:
    everything = len(explorer.chosen())
    assert everything > 49_000
    assert f"the newest 500 of {everything:,} collections" in explorer.summary.value
    assert "TZS" in explorer.summary.value
    assert "sample data" in explorer.summary.value
    assert len(explorer.table.df) == 500


@pytest.mark.merge
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
    assert few["business_day"].dt.day.unique().tolist() == [5]
    for widget in (explorer.status, explorer.code, explorer.channel):
        widget.value = ""
    explorer.first.value, explorer.last.value = date(2026, 3, 1), date(2026, 3, 31)
    assert len(explorer.chosen()) == everything


@pytest.mark.merge
def test_a_reference_is_found_by_its_beginning(explorer: Any) -> None:
    wanted = explorer.chosen()["reference"].iloc[7]
    explorer.reference.value = wanted
    assert set(explorer.chosen()["reference"]) == {wanted}
    explorer.reference.value = "no such"
    assert len(explorer.chosen()) == 0
    assert explorer.summary.value.startswith("0 collections")


def test_a_click_shows_the_story_and_another_filter_forgets_it(explorer: Any) -> None:
    explorer.status.value = "failed"
    explorer.table.selected_rows = [0]
    chosen = explorer.chosen().iloc[0]
    assert explorer.selected() == chosen["id"]
    assert chosen["id"] in explorer.story.value
    details = explorer.timeline.df["detail"].tolist()
    assert details[-1] == f"failed, {chosen['failure_code']}"
    explorer.status.value = "expired"
    assert explorer.selected() is None
    assert explorer.story.value.startswith("Click a row")
    assert len(explorer.timeline.df) == 0


def test_the_collection_of_a_break_is_shown_whatever_is_filtered(
    explorer: Any, explorer_class: Any, months: Load
) -> None:
    collection_id = str(explorer.chosen()["id"].iloc[0])
    opened = explorer_class(months, timeline.timeline, collection=collection_id)
    assert opened.story.value == f"What happened to {collection_id}:"
    assert opened.timeline.df["what"].iloc[0] == "created"
    opened.status.value = "failed"
    assert opened.story.value == f"What happened to {collection_id}:"
    opened.collection.value = " col_nobody\x1b[2J "
    assert "No collection col_nobody" in opened.story.value
    assert "\x1b" not in opened.story.value
    assert opened.timeline.df.empty
    opened.collection.value = ""
    assert opened.story.value == "Click a row to read what happened to it."


@pytest.mark.merge
def test_switching_the_mode_shows_only_that_mode(explorer: Any) -> None:
    explorer.mode.value = "test"
    assert set(explorer.chosen()["mode"]) == {"test"}


def test_a_mode_that_holds_nothing_says_so_and_shows_nothing_of_the_other(
    explorer_class: Any, months: Load
) -> None:
    def read(mode: str, **period: str) -> Inputs:
        if mode == "test":
            raise ConfigurationError("the store holds no test collection yet")
        return months(mode, **period)

    explorer = explorer_class(read, timeline.timeline)
    explorer.mode.value = "test"
    assert explorer.summary.value == "the store holds no test collection yet"
    assert len(explorer.table.df) == 0
    assert len(explorer.chosen()) == 0
    explorer.mode.value = "live"
    assert len(explorer.chosen()) > 49_000
    # Nor does a page that begins with such a mode fail.
    begun = explorer_class(read, timeline.timeline, mode="test")
    assert begun.summary.value == "the store holds no test collection yet"
    begun.mode.value = "live"
    assert len(begun.chosen()) > 49_000


def paid(number: int, at: str, **fields: Any) -> Observation:
    created = datetime.fromisoformat(f"{at}+03:00")
    done = created + timedelta(minutes=2)
    return polled(number, created, **{"mode": Mode.TEST, "completed_at": done, **fields})


@pytest.fixture
def two_months(explorer_class: Any, tmp_path: Path) -> Any:
    """Return the explorer on a store of October and November, at November."""
    path = str(tmp_path / "store.db")
    with Store.open(path) as store:
        for number in range(1, 5):
            store.record(paid(number, f"2026-10-0{number}T12:00"))
        store.record(paid(5, "2026-10-31T23:59", channel="TIGO_TZ"))
        store.record(paid(6, "2026-11-20T12:00"))
    read = partial(load.of_mode, path, period="2026-11")
    return explorer_class(read, partial(timeline.timeline, store=path), mode="test")


def test_the_dates_ask_the_store_and_not_what_was_loaded(two_months: Any) -> None:
    assert sorted(two_months.chosen()["id"]) == ["col_5", "col_6"]
    two_months.first.value = date(2026, 10, 1)
    two_months.last.value = date(2026, 10, 4)
    assert sorted(two_months.chosen()["id"]) == ["col_1", "col_2", "col_3", "col_4"]
    assert two_months.summary.value.startswith("4 collections, 4 succeeded: TZS 4,000 gross")
    assert "2026-10-01 to 2026-10-04" in two_months.summary.value


def test_the_page_says_by_which_day_it_counts(two_months: Any) -> None:
    assert "by the day of their completion" in two_months.summary.value
    assert "col_5" in set(two_months.chosen()["id"])
    two_months.day.value = "creation"
    assert two_months.chosen()["id"].tolist() == ["col_6"]
    assert "by the day of their creation" in two_months.summary.value
    two_months.first.value = date(2026, 10, 31)
    two_months.channel.value = "TIGO_TZ"
    assert two_months.chosen()["id"].tolist() == ["col_5"]


def test_days_in_the_wrong_order_or_missing_show_nothing_and_say_why(two_months: Any) -> None:
    two_months.first.value = date(2026, 12, 1)
    assert two_months.summary.value.startswith("the days end on 2026-11-30, before they begin")
    assert len(two_months.chosen()) == 0
    two_months.first.value = None
    assert two_months.summary.value == "choose both days"
    two_months.first.value = date(2026, 11, 1)
    assert sorted(two_months.chosen()["id"]) == ["col_5", "col_6"]


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
        status=Status.CREATED,
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
                observed_in=Mode.TEST,
                collection=facts,
            )
        )
    made = load.inputs(CloseRequest(store=path, mode="test", period="2026-03"))
    story = timeline.timeline(made, "col_1", store=path)
    assert story["what"].tolist() == ["heard from the answer"]
    assert story["detail"].tolist() == ["created, fee 18"]
