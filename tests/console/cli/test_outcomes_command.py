"""`kusanya outcomes`: who acts on outcomes, and what waits there for a person."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.kit.payments import by_event

from kusanya.outcomes import Consumer, Kind, Outcome, Park, ddl
from kusanya.store import Store
from kusanya.wire import Mode

pytestmark = pytest.mark.merge

Kusanya = Callable[..., tuple[int, str, str]]
NAMED = 200
"""So much of the work is listed."""


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a store in live mode that the commands find by themselves."""
    path = str(tmp_path / "store.sqlite")
    Store.open(path).close()
    monkeypatch.setenv("KUSANYA_STORE", path)
    monkeypatch.setenv("KUSANYA_API_KEY", "svc_live_sk_aaaa")
    monkeypatch.setenv("KUSANYA_MODE", "live")
    return path


def work(kusanya: Kusanya, *more: str) -> list[dict[str, Any]]:
    """Return what is listed of the consumer's work."""
    code, out, err = kusanya("outcomes", "list", "shipping", "--json", *more)
    assert (code, err) == (0, "")
    found: list[dict[str, Any]] = json.loads(out)["work"]
    return found


def test_what_is_parked_is_listed_behind_any_number_that_wait_and_a_person_decides(
    kusanya: Kusanya, url: str
) -> None:
    assert kusanya("outcomes", "list")[1] == "no consumers: kusanya outcomes add NAME --begin now\n"
    assert kusanya("outcomes", "add", "shipping", "--begin", "all")[0] == 0
    with Store.open(url) as store:
        created = datetime.now(UTC) - timedelta(hours=1)
        for number in range(NAMED + 2):
            store.submit(by_event(number, created)).result()
        consumer = Consumer(store, "shipping", mode=Mode.LIVE)

        @consumer.on(*Kind)
        def ship(outcome: Outcome, tx: Any) -> None:
            raise Park("no stock")

        with closing(sqlite3.connect(":memory:")) as shop:
            shop.execute(ddl("sqlite"))
            while [one for one in store.outcomes.consumers() if one.parked < NAMED + 2]:
                consumer.run_once(lambda: shop)
        last = store.outcomes.work("shipping", limit=NAMED + 2)[-1].outcome.id
        for one in store.outcomes.work("shipping", limit=NAMED + 1):
            store.outcomes.retry("shipping", one.outcome.id, actor="asha")
    assert len(work(kusanya)) == NAMED
    assert kusanya("outcomes", "list", "shipping")[1].endswith("\nmore: give a higher --limit\n")
    for limit, more in ((NAMED + 1, True), (NAMED + 2, False)):
        listed = kusanya("outcomes", "list", "shipping", "--json", "--limit", str(limit))[1]
        assert (len(json.loads(listed)["work"]), json.loads(listed)["more"]) == (limit, more)
    [parked] = work(kusanya, "--parked")
    assert (parked["id"], parked["why"]) == (last, "no stock")
    assert "1 parked; a customer paid" in kusanya("outcomes", "list")[1]
    assert kusanya("outcomes", "skip", "shipping", last, "--why", " ")[0] == 2
    assert kusanya("outcomes", "skip", "shipping", last, "--why", "given back")[0] == 0
    assert work(kusanya, "--parked") == []
    code, _, err = kusanya("outcomes", "retry", "shipping", last)
    assert (code, "has no outcome" in err) == (1, True)
