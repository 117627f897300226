"""When people are sent an alarm: each rule at its edge, from a book of notices to the next."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from kusanya.alarms.alarm import Alarm, AlarmList, Severity
from kusanya.alarms.notices.notices import after_sending, due, observe
from kusanya.store.records import AlarmNotice, NoticeBook
from kusanya.wire import Mode

NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
TICK = timedelta(microseconds=1)
NOBODY: frozenset[str] = frozenset()


def alarm(code: str = "stuck", **fields: Any) -> Alarm:
    given: dict[str, Any] = {
        "code": code, "mode": Mode.LIVE, "onset": "1", "severity": Severity.WARNING, "mark": "!",
        "name": code, "sentence": "", "rows": next(iter(AlarmList)),
    }  # fmt: skip
    return Alarm(**given | fields)


def notice(code: str = "stuck", **fields: Any) -> AlarmNotice:
    given: dict[str, Any] = {
        "key": code, "name": code, "stages": ("",), "is_urgent": False, "seen_at": NOON,
        "began_at": NOON,
    }  # fmt: skip
    return AlarmNotice(**given | fields)


SENT: dict[str, Any] = {"sent_at": NOON, "is_new": False}
URGENT: dict[str, Any] = {"severity": Severity.URGENT}
BOOK = NoticeBook()


def book(*notices: AlarmNotice) -> NoticeBook:
    return msgspec.structs.replace(BOOK, notices=notices)


def sent(
    known: NoticeBook,
    *alarms: Alarm,
    at: datetime,
    acknowledged: Iterable[str] = (),
) -> tuple[list[str], list[str]]:
    """Return which alarms are sent, and which are said to have recovered."""
    found = due(known, alarms, acknowledged=frozenset(acknowledged), now=at)
    assert bool(found) == bool(found.alarms or found.recovered)
    return [one.key for one in found.alarms], [one.key for one in found.recovered]


def seen(known: NoticeBook, *alarms: Alarm, at: datetime = NOON, **how: Any) -> NoticeBook:
    return observe(known, alarms, acknowledged=how.get("acknowledged", NOBODY), now=at)


@pytest.mark.parametrize(("after", "codes"), [(2 * MINUTE, ["stuck"]), (2 * MINUTE - TICK, [])])
def test_an_alarm_is_sent_once_it_has_stood_for_two_minutes(
    after: timedelta, codes: list[str]
) -> None:
    known = seen(BOOK, alarm())
    assert sent(known, alarm(), at=NOON + after) == (codes, [])
    proven = alarm(is_proven=True)
    assert sent(known, proven, at=NOON) == (["stuck"], [])


def test_what_was_sent_is_not_sent_again_while_it_stands() -> None:
    known = seen(BOOK, alarm())
    out = due(known, [alarm()], acknowledged=NOBODY, now=NOON + 2 * MINUTE)
    after = after_sending(known, out, now=NOON + 2 * MINUTE)
    (kept,) = after.notices
    assert (kept.sent_at, kept.is_new) == (NOON + 2 * MINUTE, False)
    later = seen(after, alarm(), at=NOON + timedelta(hours=9))
    assert sent(later, alarm(), at=NOON + timedelta(hours=9)) == ([], [])


def test_what_was_not_sent_stays_as_it_is() -> None:
    other = notice("late")
    known = book(notice(), other)
    out = due(known, [alarm()], acknowledged=NOBODY, now=NOON + 2 * MINUTE)
    assert after_sending(known, out, now=NOON + 2 * MINUTE).notices[1] is other


@pytest.mark.parametrize(
    ("again", "is_news"),
    [
        (alarm(**URGENT), True),
        (alarm(stage="disabled"), True),
        (alarm(), False),
        (alarm(stage="failing"), False),
    ],
    ids=["presses more", "new stage", "the same", "a stage that it had"],
)
@pytest.mark.parametrize(("after", "is_late"), [(30 * MINUTE, True), (30 * MINUTE - TICK, False)])
def test_what_stands_is_news_again_if_it_gets_worse_and_half_an_hour_later(
    again: Alarm, after: timedelta, *, is_news: bool, is_late: bool
) -> None:
    known = book(notice(stages=("", "failing"), **SENT))
    worse = seen(known, again, at=NOON + 5 * MINUTE)
    (kept,) = worse.notices
    assert kept.is_new is is_news
    assert kept.seen_at == (NOON + 5 * MINUTE if is_news else NOON)
    assert kept.began_at == NOON
    codes = ["stuck"] if is_news and is_late else []
    assert sent(worse, again, at=NOON + after) == (codes, [])


def test_an_alarm_that_was_urgent_once_presses_no_more_when_it_is_urgent_again() -> None:
    known = seen(book(notice(is_urgent=True, **SENT)), alarm(), at=NOON + MINUTE)
    (kept,) = known.notices
    assert (kept.is_urgent, kept.is_new) == (True, False)
    (again,) = seen(known, alarm(**URGENT), at=NOON + 2 * MINUTE).notices
    assert (again.is_urgent, again.is_new) == (True, False)
    (first,) = seen(BOOK, alarm(**URGENT)).notices
    assert (first.is_urgent, first.stages, first.is_new) == (True, ("",), True)
    assert not seen(BOOK, alarm()).notices[0].is_urgent


def test_stages_are_kept_in_the_order_in_which_they_came_the_newest_fifty() -> None:
    known = BOOK
    for number in range(60):
        known = seen(known, alarm(stage=f"s{number}"))
    (kept,) = known.notices
    assert kept.stages == tuple(f"s{number}" for number in range(10, 60))
    (again,) = seen(known, alarm(stage="s20")).notices
    assert again.stages == kept.stages


@pytest.mark.parametrize(("after", "codes"), [(5 * MINUTE, ["stuck"]), (5 * MINUTE - TICK, [])])
def test_a_warning_waits_for_five_minutes_after_the_last_message(
    after: timedelta, codes: list[str]
) -> None:
    known = book(notice(), notice("old", **SENT), notice("older", sent_at=NOON - MINUTE))
    assert sent(known, alarm(), alarm("old"), at=NOON + after) == (codes, [])


def test_an_urgent_alarm_does_not_wait_and_takes_the_warnings_with_it() -> None:
    known = book(notice(), notice("dead"), notice("old", **SENT))
    alarms = (alarm(), alarm("dead", **URGENT), alarm("old"))
    assert sent(known, *alarms, at=NOON + 2 * MINUTE) == (["dead", "stuck"], [])


def test_an_acknowledged_or_muted_alarm_is_silent() -> None:
    one = alarm()
    known = seen(BOOK, one)
    for name in one.names:
        assert sent(known, one, at=NOON + 2 * MINUTE, acknowledged=[name]) == ([], [])
        assert seen(BOOK, one, acknowledged=frozenset({name})).notices == ()
    assert sent(known, one, at=NOON + 2 * MINUTE, acknowledged=["other"]) == (["stuck"], [])


@pytest.mark.parametrize(("how", "is_new"), [("id", False), ("muted_as", True)])
def test_what_was_sent_and_is_muted_is_sent_as_new_once_the_mute_ends(
    how: str, *, is_new: bool
) -> None:
    one = alarm()
    known = book(notice(gone_at=NOON, **SENT))
    silent = seen(known, one, at=NOON + MINUTE, acknowledged=frozenset({getattr(one, how)}))
    (kept,) = silent.notices
    assert (kept.is_new, kept.gone_at) == (is_new, None), "it stands, and has not recovered"
    (still,) = seen(book(notice()), one, acknowledged=frozenset({one.id})).notices
    assert still.is_new, "it had not been sent"


def test_what_follows_from_another_alarm_is_silent_and_has_not_recovered() -> None:
    cause = alarm("dead", follows=(alarm(),))
    known = seen(book(notice(**SENT)), cause, at=NOON + MINUTE)
    assert {(one.key, one.gone_at, one.is_new) for one in known.notices} == {
        ("stuck", None, False), ("dead", None, True),
    }  # fmt: skip
    assert seen(BOOK, cause).notices[0].key == "dead"
    assert len(seen(BOOK, cause).notices) == 1, "what was never raised by itself is not noted"


@pytest.mark.parametrize(("after", "codes"), [(5 * MINUTE, ["stuck"]), (5 * MINUTE - TICK, [])])
def test_what_was_sent_and_is_gone_for_five_minutes_has_recovered(
    after: timedelta, codes: list[str]
) -> None:
    known = seen(book(notice(**SENT)), at=NOON + MINUTE)
    assert known.notices[0].gone_at == NOON + MINUTE
    later = seen(known, at=NOON + 3 * MINUTE)
    assert later.notices[0].gone_at == NOON + MINUTE, "since it was first gone"
    at = NOON + MINUTE + after
    assert sent(later, at=at) == ([], codes)
    out = due(later, [], acknowledged=NOBODY, now=at)
    assert len(after_sending(later, out, now=at).notices) == 1 - len(codes)


def test_what_comes_and_goes_is_one_outbreak_and_what_was_never_sent_is_forgotten() -> None:
    gone = seen(book(notice(**SENT)), at=NOON + MINUTE)
    (back,) = seen(gone, alarm(), at=NOON + 2 * MINUTE).notices
    assert (back.gone_at, back.is_new, back.began_at) == (None, False, NOON)
    assert seen(book(notice()), at=NOON + MINUTE).notices == ()


def test_of_more_alarms_than_are_kept_those_that_were_sent_and_the_oldest_are() -> None:
    known = seen(book(notice("zz", **SENT)), alarm("zz"), *(alarm(f"a{n:03}") for n in range(600)))
    assert len(known.notices) == 500
    assert known.notices[0].key == "zz"
    assert known.notices[-1].key == "a498"
