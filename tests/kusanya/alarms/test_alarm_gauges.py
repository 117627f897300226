"""The alarms as gauges: on the receiver's /metrics, on the watcher's, and without a store."""

import asyncio
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.kit.watched_shop import NOON, WatchedShop

from kusanya import receiver
from kusanya.alarms.gauges import StoreGauges
from kusanya.clock import ManualClock
from kusanya.platform.http_limits import PortTaken
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.cli.process.monitor import serving_pages


@pytest.fixture
def shop(tmp_path: Path, empty_store: Path) -> Iterator[WatchedShop]:
    clock = ManualClock(NOON)
    with Store.open(copy(empty_store, tmp_path / "store.db"), clock=clock) as store:
        made = WatchedShop(store, clock)
        made.delivered(answer=400)
        made.opened()
        clock.sleep(400)
        made.store.poll_leases.record_poll(
            Mode.LIVE, by="till-3:9:zz", clock_offset=timedelta(seconds=-39)
        )
        clock.sleep(1)
        made.poller_runs(clock_offset=timedelta(seconds=-40))
        clock.sleep(60)
        yield made


def read(text: str) -> dict[tuple[str, ...], float]:
    """Return each gauge of the store by its name and the values of its labels."""
    series = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(set(series)) == len(series), "a scrape with a series twice is refused whole"
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def scraped(application: Any) -> str:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("a scrape has no body")

    scope = {"type": "http", "method": "GET", "path": "/metrics", "headers": []}
    await application(scope, receive, send)
    return bytes(sent[1]["body"]).decode()


def test_the_receivers_metrics_hold_the_stores_gauges(shop: WatchedShop) -> None:
    gauges = StoreGauges(shop.store, Mode.LIVE, clock=shop.clock)
    application = receiver.app(
        shop.store, ["whsec_c2VjcmV0c2VjcmV0c2VjcmV0"], mode="live", clock=shop.clock, gauges=gauges
    )
    found = read(asyncio.run(scraped(application)))
    assert found["kusanya_store_readable", "live"] == 1
    assert found["kusanya_alarm", "failing", "live", "urgent", "shop"] == 1
    assert found["kusanya_alarm", "clock_skew", "live", "warning", "till-3"] == 1
    assert found["kusanya_stuck_prompts", "MPESA_TZ", "live"] == 1
    assert found["kusanya_fuse_seconds_left", "shop", "live"] == pytest.approx(
        3 * 86_400 - 460, abs=2
    )
    assert found["kusanya_poller_heartbeat_age_seconds", "live"] == 60
    assert found["kusanya_clock_offset_seconds", "till-3", "live"] == -40
    assert found["kusanya_unknown_outcomes", "live"] == 0
    assert found["kusanya_store_free_bytes",] > 0
    assert ("kusanya_requests_in_flight",) in found


def test_a_store_that_cannot_be_read_is_a_gauge(shop: WatchedShop, tmp_path: Path) -> None:
    gauges = StoreGauges(shop.store, Mode.LIVE, clock=shop.clock)
    (tmp_path / "store.db").rename(tmp_path / "moved.db")
    gauges.refresh()
    [family] = gauges.collect()
    assert [(sample.name, sample.value) for sample in family.samples] == [
        ("kusanya_store_readable", 0)
    ]


def test_the_watcher_answers_for_itself_and_for_its_store(
    shop: WatchedShop, tmp_path: Path
) -> None:
    gauges = StoreGauges(shop.store, Mode.LIVE, clock=shop.clock)
    with serving_pages(shop.store, gauges, host="127.0.0.1", port=0) as url:
        assert url.startswith("http://127.0.0.1:")
        status, text = fetched(url)
        assert status == 200
        assert read(text)["kusanya_alarm", "failing", "live", "urgent", "shop"] == 1
        base = url.removesuffix("metrics")
        assert fetched(f"{base}readyz") == (200, "ok")
        assert fetched(f"{base}else")[0] == 404
        (tmp_path / "store.db").rename(tmp_path / "moved.db")
        assert fetched(f"{base}readyz") == (503, "the store cannot be read or written")
        assert fetched(f"{base}livez") == (200, "ok")
    with pytest.raises(urllib.error.URLError, match="refused"):
        fetched(f"{base}livez")


def test_a_taken_port_is_an_error_where_it_was_asked_for(shop: WatchedShop) -> None:
    gauges = StoreGauges(shop.store, Mode.LIVE, clock=shop.clock)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(PortTaken, match=str(port)),
            serving_pages(shop.store, gauges, host="127.0.0.1", port=port),
        ):
            pytest.fail("it serves on a port that another program has")


def fetched(url: str) -> tuple[int, str]:
    """Return the status and the text of an answer."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - our own server
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
