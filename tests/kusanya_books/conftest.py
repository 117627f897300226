"""Small months that every test of reconciliation can bend to its question."""

import os
import pickle
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pandas as pd
import pytest

from kusanya.clock import ManualClock
from kusanya_books.engine.engines import shared_databases
from kusanya_books.judge.report_pages import ReportPage
from kusanya_books.pack import html_page, write
from kusanya_books.read import load
from kusanya_books.read.store.normalisation import normalise
from kusanya_console.cli.finance import reconcile

Make = Callable[..., pd.DataFrame]
Draw = Callable[[ReportPage], bytes | None]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


TODAY = datetime(2026, 12, 31, 9, tzinfo=UTC)
"""The day of every run that names none: ages do not grow with the machine's clock."""


@pytest.fixture(scope="module", autouse=True)
def today() -> Iterator[None]:
    """Let every run be one of the same day; of a module: other folders live in the machine's."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(load, "SystemClock", partial(ManualClock, TODAY))
        patched.setattr(reconcile, "now", lambda: TODAY)
        yield


_MAKE_THEIR_OWN = frozenset({"test_frames_and_engine", "test_spill_folder"})
"""What looks at databases being made and removed."""


@pytest.fixture(scope="module", autouse=True)
def databases_made_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Share the databases of a module: to make one takes longer than what most tests ask it."""
    if request.module.__name__.rpartition(".")[2] in _MAKE_THEIR_OWN:
        yield
        return
    with shared_databases():
        yield


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what the person who runs the tests has set up."""
    for name in [name for name in os.environ if name.startswith("KUSANYA_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session", autouse=True)
def pictures_drawn_once() -> Iterator[None]:
    """Draw each picture of a pack once: the same table gives the same bytes, as a test holds.

    A hundred tests close the same few small months, and an eighth of a run is drawing.
    """
    known: dict[bytes, bytes | None] = {}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(html_page, "_picture", partial(_drawn_once, known, html_page._picture))
        yield


def _drawn_once(known: dict[bytes, bytes | None], draw: Draw, page: ReportPage) -> bytes | None:
    key = pickle.dumps((page.name, page.frame))
    if key not in known:
        known[key] = draw(page)
    return known[key]


@pytest.fixture(scope="module")
def papers_are_blank() -> Iterator[None]:
    """Leave page and workbook blank: a third of a close, for tests that look at what it says."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(write, "to_html", lambda *_, **__: "")
        patched.setattr(write, "to_xlsx", lambda *_, **__: None)
        yield


@pytest.fixture
def collections_of() -> Make:
    """Return a maker of collections frames: one dict per row, the rest plain."""
    return maker()


@pytest.fixture(scope="module")
def module_collections() -> Make:
    """Return the same maker for what a whole module shares."""
    return maker()


def maker() -> Make:

    def make(*rows: dict[str, Any], **options: Any) -> pd.DataFrame:
        plain: dict[str, Any] = {
            "mode": "live",
            "currency": "TZS",
            "channel": "MPESA_TZ",
            "amount": 1_000,
            "fee": 18,
            "status": "succeeded",
            "failure_code": None,
            "created_at": at("2026-03-05T09:00:00+03:00"),
            "completed_at": at("2026-03-05T09:00:30+03:00"),
            "fee_202": None,
            "fee_event": None,
            "fee_get": None,
            "contradictions": 0,
            "seq": 1,
            "phone": "255754000001",
            "event_at": None,
            "final_seen_at": None,
        }
        records = [
            {**plain, "id": f"col_{number}", "reference": f"R-{number}", **row}
            for number, row in enumerate(rows, start=1)
        ]
        names = [*plain, "id", "reference"]
        frame = pd.DataFrame(records, columns=names, dtype="object")
        return normalise(frame, key="test", **options)

    return make
