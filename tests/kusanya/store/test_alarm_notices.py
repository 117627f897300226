"""What people were told of alarms, and the lease of whoever keeps that book, on both engines."""

from datetime import UTC, datetime, timedelta
from typing import Any

from kusanya.store.records import AlarmNotice, NoticeBook, PendingNotice, UnsentNotice
from kusanya.wire import Mode

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
BOOK = NoticeBook(
    notices=(
        AlarmNotice(
            key="failing:shop", name="endpoint shop", stages=("", "disabled"), is_urgent=True,
            seen_at=NOW, began_at=NOW, sent_at=NOW, is_new=False,
        ),
    ),
    pending=(
        PendingNotice(
            target="slack://…", title="1 alarm", body="ümlaut 'quoted'\n", data={"mode": "live"},
            since=NOW, next_at=NOW,
        ),
    ),
    unsent=(UnsentNotice(target="slack://…", since=NOW, reason="answered 404"),),
)  # fmt: skip


def test_only_the_holder_of_the_lease_keeps_the_book(store: Any) -> None:
    notices = store.alarm_notices
    now = store._clock.now()
    assert notices.load(Mode.LIVE) == NoticeBook()
    assert not notices.save(Mode.LIVE, BOOK, by="nobody")
    assert notices.take_lease(Mode.LIVE, by="one", until=now + timedelta(minutes=2))
    assert not notices.take_lease(Mode.LIVE, by="two", until=now + timedelta(minutes=2))
    assert not notices.save(Mode.LIVE, BOOK, by="two")
    assert notices.save(Mode.LIVE, BOOK, by="one")
    assert notices.load(Mode.LIVE) == BOOK
    assert notices.unsent(Mode.LIVE) == BOOK.unsent
    assert notices.load(Mode.TEST) == NoticeBook()
    assert notices.is_leased(Mode.LIVE)
    notices.release_lease(Mode.LIVE, by="two")
    assert notices.is_leased(Mode.LIVE)
    notices.release_lease(Mode.LIVE, by="one")
    assert not notices.is_leased(Mode.LIVE)
    assert notices.take_lease(Mode.LIVE, by="two", until=now + timedelta(minutes=2))
    assert not notices.save(Mode.LIVE, NoticeBook(), by="one")
    assert notices.load(Mode.LIVE) == BOOK


def test_what_a_poller_notes_of_its_clock_is_read_with_its_heartbeat(store: Any) -> None:
    leases = store.poll_leases
    leases.record_poll(Mode.LIVE, by="till_3:1:a", clock_offset=timedelta(seconds=-1.5))
    leases.record_poll(Mode.LIVE, by="till%3:1:a")
    leases.record_poll(Mode.TEST, by="till_3:1:a", clock_offset=timedelta(seconds=9))
    found = {one.name: one.clock_offset for one in leases.pollers(Mode.LIVE)}
    assert found == {"till_3:1:a": timedelta(seconds=-1.5), "till%3:1:a": None}
