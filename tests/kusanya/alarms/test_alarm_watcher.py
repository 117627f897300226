"""Telling people of alarms in virtual time: how soon, how often, and what they read."""

import json
import logging
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from shutil import copy
from typing import Any

import msgspec
import pytest
from tests.kit.sinks import http_sink, mail_sink
from tests.kit.watched_shop import NOON, ROUND, WatchedShop

from kusanya.alarms import inputs
from kusanya.alarms.acknowledgements import acknowledgements
from kusanya.alarms.alarm import as_json
from kusanya.alarms.muting import mute
from kusanya.alarms.notices.targets import targets
from kusanya.alarms.rules import raised
from kusanya.alarms.sender import SenderEndpoint
from kusanya.clock import ManualClock
from kusanya.errors import (
    AuthenticationError,
    ConfigurationError,
    KusanyaError,
    StoreUnavailable,
)
from kusanya.say import Language
from kusanya.store import Store
from kusanya.store.records.watchers import PendingNotice
from kusanya.wire import Mode

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@pytest.fixture
def shop(tmp_path: Path, empty_store: Path) -> Iterator[WatchedShop]:
    clock = ManualClock(NOON)
    with Store.open(copy(empty_store, tmp_path / "store.db"), clock=clock) as store:
        made = WatchedShop(store, clock)
        made.delivered()
        yield made


@pytest.mark.merge
def test_an_endpoint_that_fails_for_three_days_is_sent_once_and_once_more_when_disabled(
    shop: WatchedShop,
) -> None:
    watcher = shop.watcher()
    shop.delivered(answer=400)
    shop.run([watcher], 10 * MINUTE)
    [(at, message)] = shop.inbox.messages
    assert at - NOON <= timedelta(minutes=2) + 2 * ROUND
    assert message.title == "Kusanya live, urgent: 1 alarm"
    assert message.body.startswith("URGENT failing: shop refused 1, too_old; a failure at or")
    assert message.body.endswith("See console/README.md#alarm-failing")
    for _ in range(8):
        shop.run([watcher], 8 * HOUR, every=4 * HOUR)
        shop.delivered(answer=400)
    assert shop.inbox.codes == ["failing"]
    shop.run([watcher], 9 * HOUR, every=4 * HOUR)
    shop.delivered(answer=400)
    shop.run([watcher], 10 * MINUTE, every=MINUTE)
    assert shop.inbox.codes == ["failing", "failing"]
    assert "has disabled it by now" in shop.inbox.messages[-1][1].body
    shop.delivered()
    shop.run([watcher], 10 * MINUTE, every=MINUTE)
    assert shop.inbox.codes == ["failing", "failing", "+failing:shop"]
    assert shop.inbox.messages[-1][1].body == "recovered: endpoint shop, after 3 days"
    shop.run([watcher], DAY, every=HOUR)
    assert len(shop.inbox.messages) == 3


@pytest.mark.merge
def test_people_are_told_in_their_language_and_programs_in_english(shop: WatchedShop) -> None:
    watcher = shop.watcher(language=Language.SWAHILI)
    shop.delivered(answer=400)
    shop.run([watcher], 10 * MINUTE)
    shop.delivered()
    shop.run([watcher], 10 * MINUTE, every=MINUTE)
    (_, raised_), (_, recovered) = shop.inbox.messages
    assert raised_.title == "Kusanya live, dharura: tahadhari 1"
    assert raised_.body.startswith("DHARURA kinashindwa: shop kilikataa 1, too_old; kosa saa ")
    assert raised_.body.endswith("na ya huduma. Tazama console/README.md#alarm-failing")
    [alarm] = raised_.data["alarms"]
    assert alarm["sentence"].startswith("failing: shop refused 1, too_old; a failure at or after")
    assert recovered.body.startswith("imekwisha: kituo shop, baada ya dakika ")
    assert recovered.data["recovered"][0]["name"] == "endpoint shop"


def test_each_message_and_each_failed_one_is_a_line_of_the_log(
    shop: WatchedShop, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kusanya.alarms")
    watcher = shop.watcher()
    shop.inbox.full = True
    shop.delivered(answer=400)
    shop.run([watcher], 5 * MINUTE)
    shop.inbox.full = False
    shop.run([watcher], 5 * MINUTE)
    lines = [vars(one) for one in caplog.records if one.name == "kusanya.alarms"]
    assert {one["message"] for one in lines} == {"not sent", "sent"}
    assert all(one["target"] == "inbox" and "failing" in one["alarms"] for one in lines)


@pytest.mark.merge
def test_what_the_sender_says_of_an_endpoint_is_sent_and_its_last_word_stands(
    shop: WatchedShop,
) -> None:
    said = SenderEndpoint(id="we_1", url="https://pay.example/shop", mode="live", status="enabled")
    word: list[SenderEndpoint | None] = [said]

    def ask() -> tuple[SenderEndpoint, ...]:
        if word[0] is None:
            raise KusanyaError("the dashboard does not answer")
        return (word[0],)

    watcher = shop.watcher(sender=ask)
    shop.run([watcher], 10 * MINUTE)
    assert shop.inbox.messages == []
    failing = msgspec.structs.replace(said, failing_since=shop.clock.now())
    word[0] = failing
    shop.run([watcher], 10 * MINUTE)
    assert shop.inbox.codes == ["sender_failing"]
    word[0] = None
    shop.run([watcher], HOUR, every=MINUTE)
    assert shop.inbox.codes == ["sender_failing"], "nobody said that it recovered"
    shop.learned(5 * MINUTE)
    shop.learned(5 * MINUTE)
    shop.learned(5 * MINUTE)
    shop.run([watcher], HOUR, every=MINUTE)
    assert shop.inbox.codes == ["sender_failing"], "the silence follows from it"
    word[0] = said
    shop.delivered()
    shop.run([watcher], 10 * MINUTE)
    assert shop.inbox.codes == ["sender_failing", "missing_events", "+sender_failing:we_1"]


def test_what_comes_and_goes_is_sent_once(shop: WatchedShop) -> None:
    watcher = shop.watcher()
    for _ in range(6):
        shop.delivered(answer=400)
        shop.run([watcher], 3 * MINUTE, every=MINUTE)
        shop.delivered()
        shop.run([watcher], MINUTE, every=MINUTE)
    assert shop.inbox.codes == ["failing"]


@pytest.mark.merge
def test_a_refusal_that_its_first_retry_ends_is_sent_to_nobody(shop: WatchedShop) -> None:
    watcher = shop.watcher()
    shop.delivered(answer=400)
    shop.run([watcher], 75 * timedelta(seconds=1))
    shop.delivered()
    shop.run([watcher], 20 * MINUTE)
    assert shop.inbox.messages == []


@pytest.mark.merge
def test_silence_is_sent_within_four_minutes_of_the_third_lost_event(shop: WatchedShop) -> None:
    watcher = shop.watcher()
    shop.run([watcher], 5 * MINUTE)
    began = shop.clock.now()
    for _ in range(3):
        shop.learned(ago=3 * MINUTE)
    shop.run([watcher], 5 * MINUTE)
    shop.run([watcher], HOUR, every=5 * MINUTE)
    assert shop.inbox.codes == ["silent"]
    assert shop.inbox.messages[0][0] - began <= timedelta(minutes=2) + 2 * ROUND


@pytest.mark.merge
def test_a_stuck_channel_is_sent_minutes_after_its_prompts_are_overdue(shop: WatchedShop) -> None:
    watcher = shop.watcher()
    for number in range(8):
        shop.opened(phone=f"25575400000{number}")
    began = shop.clock.now()
    shop.run([watcher], 5 * MINUTE, polled=True)
    assert shop.inbox.codes == ["stuck"]
    # Two minutes until they are overdue where there is no history, and two that it must stand.
    assert shop.inbox.messages[0][0] - began <= timedelta(minutes=4) + 2 * ROUND
    shop.run([watcher], 5 * HOUR, every=10 * MINUTE, polled=True)
    assert "stuck" not in shop.inbox.codes[1:], "another hour is no other cause"


@pytest.mark.merge
def test_a_dead_poller_is_sent_by_whoever_still_watches(shop: WatchedShop) -> None:
    shop.poller_runs()
    shop.opened()
    began = shop.clock.now()
    shop.run([shop.watcher()], 10 * MINUTE)
    assert shop.inbox.codes == ["unwatched"]
    assert shop.inbox.messages[0][0] - began <= timedelta(minutes=7) + 2 * ROUND


def test_a_skewed_clock_is_sent_once(shop: WatchedShop) -> None:
    watcher = shop.watcher()
    for _ in range(3):
        shop.poller_runs(clock_offset=timedelta(seconds=-240))
        shop.run([watcher], MINUTE)
    for _ in range(12):
        shop.poller_runs(clock_offset=timedelta(seconds=-240))
        shop.run([watcher], 5 * MINUTE, every=5 * MINUTE)
    assert shop.inbox.codes == ["clock_skew"]
    [(at, message)] = shop.inbox.messages
    assert at - NOON <= timedelta(minutes=2) + 2 * ROUND
    assert "till-3 is 240 s ahead of the service's answers" in message.body
    for _ in range(8):
        shop.poller_runs(clock_offset=timedelta())
        shop.run([watcher], MINUTE, every=MINUTE)
    assert shop.inbox.codes == ["clock_skew", "+clock_skew:till-3"]


class LostStore:
    """A store that can be lost and found again."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.lost = False

    def __getattr__(self, name: str) -> Any:
        if self.lost:
            raise StoreUnavailable("the disk is gone")
        return getattr(self.store, name)


@pytest.mark.merge
def test_a_lost_store_is_sent_once_by_one_of_two_watchers_and_so_is_its_return(
    shop: WatchedShop,
) -> None:
    lost = LostStore(shop.store)
    # Each reads through the store that is lost: its reader keeps its own parts.
    watchers = [shop.watcher(by, store=lost) for by in ("one:1:a", "two:2:b")]
    for watcher in watchers:
        watcher._reader = inputs.AlarmReader(lost, Mode.LIVE)  # type: ignore[arg-type] # acts as one
    shop.run(watchers, 5 * MINUTE)
    assert shop.inbox.messages == []
    lost.lost = True
    began = shop.clock.now()
    shop.run(watchers, 3 * HOUR, every=MINUTE)
    [(at, message)] = shop.inbox.messages
    assert at - began <= timedelta(minutes=4)
    assert message.title == "Kusanya live, urgent: the store cannot be used"
    assert "the disk is gone" in message.body
    lost.lost = False
    shop.run(watchers, 10 * MINUTE)
    assert [one.title for _, one in shop.inbox.messages[1:]] == [
        "Kusanya live: the store recovered"
    ]


@pytest.mark.merge
def test_two_watchers_and_a_restart_send_no_second_message(shop: WatchedShop) -> None:
    first, second = shop.watcher("one:1:a"), shop.watcher("two:2:b")
    shop.delivered(answer=400)
    shop.run([first, second], 10 * MINUTE)
    assert shop.inbox.codes == ["failing"]
    third = shop.watcher("one:9:c")
    # The first one has died; the others take over when its lease has ended.
    shop.run([second, third], 10 * MINUTE)
    shop.delivered()
    shop.run([second, third], 10 * MINUTE)
    assert shop.inbox.codes == ["failing", "+failing:shop"]


def test_alarms_of_the_same_time_are_one_message(shop: WatchedShop) -> None:
    watcher = shop.watcher()
    shop.delivered(answer=400)
    shop.poller_runs(clock_offset=timedelta(seconds=200))
    shop.run([watcher], 5 * MINUTE)
    assert [len(one.data["alarms"]) for _, one in shop.inbox.messages] == [2]


@pytest.mark.merge
def test_an_acknowledged_alarm_is_silent_and_its_next_outbreak_is_not(shop: WatchedShop) -> None:
    watcher = shop.watcher()
    shop.delivered(answer=400)
    shop.run([watcher], MINUTE)
    read = inputs.load(shop.store, Mode.LIVE, now=shop.clock.now())
    [alarm] = raised(read, format_time=str)
    shop.store.acknowledgements.record(alarm.id, actor="asha", reason="mine")
    shop.run([watcher], HOUR, every=MINUTE)
    assert shop.inbox.messages == []
    shop.delivered()
    shop.run([watcher], 10 * MINUTE)
    shop.delivered(answer=400)
    shop.run([watcher], 10 * MINUTE)
    assert shop.inbox.codes == ["failing"]


@pytest.mark.merge
def test_a_muted_alarm_is_silent_in_every_outbreak_and_is_told_anew_at_the_end(
    shop: WatchedShop,
) -> None:
    watcher = shop.watcher()
    shop.delivered(answer=400)
    shop.run([watcher], 5 * MINUTE)
    assert shop.inbox.codes == ["failing"]
    now = shop.clock.now()
    mute(
        shop.store, "failing:shop", Mode.LIVE, until=now + 2 * HOUR, reason="we deploy",
        actor="asha", now=now,
    )  # fmt: skip
    for _ in range(3):
        shop.run([watcher], 10 * MINUTE, every=MINUTE)
        shop.delivered()
        shop.run([watcher], 10 * MINUTE, every=MINUTE)
        shop.delivered(answer=400)
    shop.run([watcher], 30 * MINUTE, every=MINUTE)
    assert shop.inbox.codes == ["failing", "+failing:shop"], "that it is over is told"
    read = inputs.load(shop.store, Mode.LIVE, now=shop.clock.now())
    [alarm] = raised(read, format_time=str)
    held = acknowledgements(shop.store, alarm.names, now=shop.clock.now()).of(*alarm.names)
    assert held is not None, "it stands for everybody to see, with who muted it"
    shop.run([watcher], 45 * MINUTE, every=MINUTE)
    assert shop.inbox.codes == ["failing", "+failing:shop", "failing"]


@pytest.mark.merge
def test_what_was_sent_before_a_mute_is_sent_again_when_it_ends_and_still_stands(
    shop: WatchedShop,
) -> None:
    watcher = shop.watcher()
    shop.delivered(answer=400)
    shop.run([watcher], 5 * MINUTE)
    now = shop.clock.now()
    for length in (9 * HOUR, 2 * HOUR):  # the newest counts
        mute(
            shop.store, "failing:shop", Mode.LIVE, until=now + length, reason="we deploy",
            actor="asha", now=now,
        )  # fmt: skip
    shop.run([watcher], 115 * MINUTE, every=MINUTE)
    assert shop.inbox.codes == ["failing"]
    shop.run([watcher], 15 * MINUTE, every=MINUTE)
    assert shop.inbox.codes == ["failing", "failing"]


@pytest.mark.parametrize(
    ("key", "days", "why", "said"),
    [
        ("failing", 1, " ", "give the reason"),
        ("failing", 8, "why", "7 days at most"),
        ("failure:shop", 1, "why", "no alarm is called failure"),
    ],
)
def test_a_mute_names_a_rule_has_a_reason_and_is_short(
    shop: WatchedShop, key: str, days: int, why: str, said: str
) -> None:
    now = shop.clock.now()
    with pytest.raises(ValueError, match=said):
        mute(shop.store, key, Mode.LIVE, until=now + days * DAY, reason=why, actor="a", now=now)
    assert shop.store.audit.page().rows == ()


@pytest.mark.merge
def test_an_address_that_takes_nothing_is_an_alarm_and_gets_the_message_later(
    shop: WatchedShop,
) -> None:
    from kusanya.alarms.notices.targets import NoticeTarget

    broken, other = shop.inbox, WatchedShop(shop.store, shop.clock).inbox
    watcher = shop.watcher(
        "one:1:a", NoticeTarget("broken", broken.send), NoticeTarget("other", other.send)
    )
    broken.full = True
    shop.delivered(answer=400)
    shop.run([watcher], HOUR, every=MINUTE)
    assert broken.messages == []
    assert other.codes == ["failing", "unsent"]
    assert "notifications do not reach broken since" in other.messages[-1][1].body
    restarted = shop.watcher(
        "two:2:b", NoticeTarget("broken", broken.send), NoticeTarget("other", other.send)
    )
    broken.full = False
    shop.run([restarted], HOUR, every=MINUTE)
    assert broken.codes == ["failing", "unsent", "+unsent:broken"]
    assert broken.messages[0][1].title.startswith("Kusanya: 2 messages, the first waited since")
    assert other.codes == ["failing", "unsent", "+unsent:broken"]


def test_a_watcher_that_ends_by_an_error_says_so_once(shop: WatchedShop) -> None:
    error = AuthenticationError("the API key is not known", status=401)
    for by in ("one:1:a", "one:2:b"):
        watcher = shop.watcher(by)
        watcher.report_stopped(error)
        watcher.stop()
    [(_, message)] = shop.inbox.messages
    assert "kusanya watch has stopped: the API key is not known" in message.body
    shop.run([shop.watcher("one:3:c")], 10 * MINUTE)
    assert shop.inbox.codes == ["unwatched", "+unwatched:stopped"]


@pytest.mark.merge
def test_people_get_it_by_http_by_mail_and_through_a_program(
    shop: WatchedShop, tmp_path: Path
) -> None:
    pytest.importorskip("apprise", reason="needs the extra notify")
    script = tmp_path / "hook.py"
    script.write_text("import sys; open(sys.argv[1], 'ab').write(sys.stdin.buffer.read())")
    taken = tmp_path / "taken.json"
    with http_sink() as http, mail_sink() as mail:
        given = targets([http.url, mail.url], [f"{sys.executable} {script} {taken}"])
        watcher = shop.watcher("one:1:a", *given)
        shop.delivered(answer=400)
        shop.run([watcher], 10 * MINUTE)
        [posted], [letter] = http.received, mail.received
    assert posted["title"] == letter["Subject"] == "Kusanya live, urgent: 1 alarm"
    assert posted["data"]["alarms"][0]["code"] == "failing"
    assert "shop refused 1, too_old" in str(letter.get_payload(decode=True))
    assert json.loads(taken.read_bytes()) == posted["data"]


def test_a_program_that_fails_is_a_failure_and_no_shell_reads_it(shop: WatchedShop) -> None:
    with pytest.raises(ConfigurationError, match="program is empty"):
        targets([], [" "])
    watcher = shop.watcher(
        "one:1:a", *targets([], ["false $(touch /tmp/never)", "no-such-program"])
    )
    shop.delivered(answer=400)
    shop.run([watcher], 5 * MINUTE)
    unsent = {one.target: one.reason for one in shop.store.alarm_notices.unsent(Mode.LIVE)}
    assert unsent == {
        "program false": "it ended with 1",
        "program no-such-program": "it cannot be started: No such file or directory",
    }


def test_no_phone_is_in_an_alarm_for_a_program(shop: WatchedShop) -> None:
    for number in range(8):
        shop.opened(phone=f"25575400000{number}")
    shop.clock.sleep(400)
    shop.poller_runs()
    read = inputs.load(shop.store, Mode.LIVE, now=shop.clock.now())
    said = json.dumps([as_json(one) for one in raised(read, format_time=str)])
    assert "stuck" in said
    assert "2557540" not in said


@pytest.mark.merge
def test_a_full_list_of_waiting_messages_makes_room_for_the_newest(shop: WatchedShop) -> None:
    """What happens now is worth more to a person than what happened first."""
    shop.inbox.full = True
    watcher = shop.watcher("one:1:a")
    shop.run([watcher], MINUTE, every=MINUTE)
    old = tuple(
        PendingNotice(
            target="inbox", title=f"old {number}", body="", data={}, since=shop.clock.now(),
            next_at=shop.clock.now() + DAY,
        )
        for number in range(100)
    )  # fmt: skip
    notices = shop.store.alarm_notices
    book = msgspec.structs.replace(notices.load(Mode.LIVE), pending=old)
    assert notices.save(Mode.LIVE, book, by="one:1:a")
    shop.delivered(answer=400)
    shop.run([watcher], HOUR, every=MINUTE)
    waiting = [one.title for one in shop.store.alarm_notices.load(Mode.LIVE).pending]
    new = [title for title in waiting if not title.startswith("old")]
    assert len(waiting) == 100
    assert new, "the alarm of this hour waits with the others"
    assert waiting[0] == f"old {len(new)}"
