"""The feed's snapshots: what changed, and figures that agree with the records."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from kusanya.clock import ManualClock
from kusanya.say import Language
from kusanya.store import Store
from kusanya.store.records import Verdict
from kusanya.wire import Mode
from kusanya_console.feed import CollectionCounts, FeedReader, Tally
from kusanya_console.lists.figures import collection_figures
from kusanya_console.ui import language
from kusanya_console.ui.format import plain

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def test_the_first_snapshot_primes_and_the_next_ones_say_what_changed(
    store: Store, seed: Any, clock: ManualClock
) -> None:
    seed.busy(10)
    feed = FeedReader(store, mode=Mode.LIVE, clock=clock)
    assert feed.read().changed == frozenset()
    assert feed.read().changed == frozenset()
    done = seed.life(3000, at=clock.now())
    second = feed.read()
    assert second.changed == {done.id}
    assert len(second.arrived) == 1
    assert feed.read().changed == frozenset()


def test_a_store_that_was_restored_to_an_earlier_day_is_read_anew(
    store: Store, seed: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seed.busy(3)
    store.maintenance.backup(tmp_path / "earlier.db")
    seed.busy(5)
    feed = FeedReader(store, mode=Mode.LIVE, clock=clock)
    feed.read()
    with Store.open(tmp_path / "earlier.db") as restored:
        monkeypatch.setattr(feed, "_store", restored)
        assert feed.read().seq == restored.feed.head()
        assert feed.read().changed == frozenset()


def test_the_last_60_minutes_reach_into_the_hour_before(
    store: Store, seed: Any, clock: ManualClock
) -> None:
    now = clock.now()  # 15:24:07 in East Africa
    for n, ago in enumerate((5, 30, 59, 61)):
        seed.life(1 + 10 * n, at=now - timedelta(minutes=ago))
    snapshot = FeedReader(store, mode=Mode.LIVE, clock=clock).read()
    assert snapshot.hour.of("succeeded").count == 3
    assert snapshot.arrivals.total == 3
    assert snapshot.hour.of("succeeded").amount == sum(
        row.amount for row in store.collections.page(Mode.LIVE, limit=3).rows
    )


@pytest.mark.anyio
async def test_a_minute_later_what_is_an_hour_old_is_gone(
    store: Store, seed: Any, clock: ManualClock
) -> None:
    seed.life(1, at=clock.now() - timedelta(minutes=59))
    feed = FeedReader(store, mode=Mode.LIVE, clock=clock)
    assert feed.read().hour.of("succeeded").count == 1
    await clock.advance(61)
    assert feed.read().hour.of("succeeded").count == 0


def test_figures_count_this_hour_and_sum_the_eat_day_of_one_mode(
    store: Store, seed: Any, clock: ManualClock
) -> None:
    now = clock.now()
    midnight = now.replace(hour=21, minute=0, second=0) - timedelta(days=1)
    money = {"amount": 10_000, "fee": 150}
    seed.life(1, at=now, status="succeeded", **money)
    seed.life(2, at=midnight, status="succeeded", **money)
    seed.life(3, at=midnight - timedelta(seconds=1), status="succeeded", **money)
    seed.life(4, at=now, status="succeeded", mode=Mode.TEST, **money)
    seed.life(5, at=now, status="succeeded", currency="USD", **money)
    snapshot = FeedReader(store, mode=Mode.LIVE, clock=clock).read()
    assert snapshot.hour.of("succeeded").count == 2
    day = snapshot.day.of("succeeded")
    assert (day.count, day.amount, day.fee) == (3, 20_000, 300)
    assert snapshot.day.currency == "TZS"
    assert snapshot.day.other_currencies


def test_unknown_statuses_are_counted_as_others_and_not_as_finals(
    store: Store, seed: Any, clock: ManualClock
) -> None:
    seed.busy(10)
    hour = FeedReader(store, mode=Mode.LIVE, clock=clock).read().hour
    assert hour.others == 2, "one status that nobody names and one contradiction"
    assert hour.finals == 6 + 2 + 2


def test_arrivals_are_counted_by_verdict(store: Store, seed: Any, clock: ManualClock) -> None:
    seed.busy(10)
    arrivals = FeedReader(store, mode=Mode.LIVE, clock=clock).read().arrivals
    assert arrivals.verdicts[Verdict.REJECTED] == 3
    assert arrivals.verdicts[Verdict.REPEAT] == 1


def test_the_trend_moves_with_the_minutes_and_follows_a_status(
    store: Store, seed: Any, clock: ManualClock
) -> None:
    born = seed.collection(1, at=clock.now())
    seed.answered(born)
    feed = FeedReader(store, mode=Mode.LIVE, clock=clock)
    assert feed.read().trends["created"][-1] == 1
    clock.sleep(60)
    done = seed.collection(1, at=born.created_at, status="succeeded", completed_at=clock.now())
    seed.polled(done, at=clock.now())
    trends = feed.read().trends
    assert trends["created"] == (0,) * 15
    assert trends["succeeded"][-2:] == (1, 0)


def test_what_the_other_mode_says_of_a_known_collection_is_news(
    store: Store, seed: Any, clock: ManualClock
) -> None:
    born = seed.collection(1, at=clock.now())
    seed.answered(born)
    feed = FeedReader(store, mode=Mode.LIVE, clock=clock)
    feed.read()
    for number in (1, 2):
        seed.answered(seed.collection(number, at=clock.now(), mode=Mode.TEST))
    assert feed.read().changed == {born.id}
    row = store.collections.get(born.id, Mode.LIVE)
    assert row is not None
    assert row.contradictions == 1


@pytest.mark.merge
def test_a_backlog_is_read_in_bounded_steps_and_its_age_is_reported(
    store: Store, seed: Any, clock: ManualClock
) -> None:
    feed = FeedReader(store, mode=Mode.LIVE, clock=clock)
    feed.read()
    pending = [
        store.submit(seed.observation(seed.collection(n, at=clock.now()))) for n in range(5_200)
    ]
    for future in pending:
        future.result()
    clock.sleep(9)
    behind = feed.read()
    assert len(behind.changed) == 5_000
    assert timedelta(0) < behind.behind <= timedelta(seconds=9)
    caught_up = feed.read()
    assert len(caught_up.changed) == 200
    assert caught_up.behind == timedelta()


class StandingClock(ManualClock):
    """A service's virtual clock: its time stands still while the machine's goes on."""

    def now(self) -> datetime:
        """Return the instant at which it stands."""
        return NOON


def test_health_is_examined_again_although_a_virtual_clock_stands_still(
    store: Store, seed: Any
) -> None:
    clock = StandingClock(NOON)
    feed = FeedReader(store, mode=Mode.LIVE, clock=clock)
    assert feed.read().health.stuck == ()
    seed.answered(seed.collection(1, at=NOON - timedelta(minutes=3)))
    clock.sleep(6)
    assert [one.stuck for one in feed.read().health.stuck] == [1]


@pytest.mark.parametrize("spoken", Language, indirect=True)
@pytest.mark.usefixtures("spoken")
@pytest.mark.parametrize("succeeded", [36, 1_284, 61_284])
def test_what_failed_and_what_nobody_knows_is_counted_whole_on_eighty_columns(
    succeeded: int, store: Store, clock: ManualClock
) -> None:
    counts = {"succeeded": succeeded, "created": 127, "failed": 341, "expired": 119, "on_hold": 25}
    hour = CollectionCounts(
        statuses={status: Tally(count) for status, count in counts.items()},
        currency="TZS",
        other_currencies=False,
    )
    snapshot = structs.replace(FeedReader(store, mode=Mode.LIVE, clock=clock).read(), hour=hour)
    [said] = plain(collection_figures(snapshot, 78, short=True)).splitlines()
    assert len(said) <= 78
    for status in ("succeeded", "failed", "expired"):
        assert f"{language.translate(status)} {counts[status]:,}" in said
    assert said.endswith("25")


@pytest.mark.parametrize("spoken", Language, indirect=True)
@pytest.mark.usefixtures("spoken")
@pytest.mark.parametrize("count", [7, 1_284, 61_284, 4_061_284])
def test_no_figure_of_live_is_cut_at_any_width(
    count: int, store: Store, clock: ManualClock
) -> None:
    words = ("succeeded", "created", "failed", "expired")
    tallies = {word: Tally(count + place, 10**9, 10**7) for place, word in enumerate(words)}
    many = CollectionCounts(statuses=tallies, currency="TZS", other_currencies=True)
    read = FeedReader(store, mode=Mode.LIVE, clock=clock).read()
    snapshot = structs.replace(read, hour=many, day=many)
    for width in range(100, 180):
        drawn = plain(collection_figures(snapshot, width, short=False))
        assert max(map(len, drawn.splitlines())) <= width
        for place, word in enumerate(words):
            figure = rf"{language.translate(word)} +{count + place:,}(?: |$)"
            assert re.search(figure, drawn, re.MULTILINE), (width, word)
        for money in ("1,000,000,000", "10,000,000", "990,000,000"):
            assert f"TZS {money}" in drawn, width
