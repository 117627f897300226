"""Notes and the audit of people's acts."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from kusanya.alarms.acknowledgements import acknowledgements
from kusanya.clock import ManualClock
from kusanya.errors import StoreError
from kusanya.store import Store
from kusanya.store.records import AuditFilter, ChangeKind, Note
from kusanya.wire import Mode


def test_notes_belong_to_a_subject_and_are_found_by_their_text(store: Store) -> None:
    first = store.notes.add("col_1", Note("Customer paid 50% twice"), author="asha", mode=Mode.LIVE)
    store.notes.add("col_2", Note("called back"), author="juma", mode=Mode.LIVE)
    assert store.notes.of("col_1", Mode.LIVE) == (first,)
    assert store.notes.of("col_1", Mode.TEST) == ()
    assert store.notes.search(Mode.LIVE, "PAID") == (first,)
    assert store.notes.search(Mode.LIVE, "50%") == (first,)
    assert store.notes.search(Mode.LIVE, "50_") == ()
    assert store.notes.search(Mode.TEST, "PAID") == ()
    change = store.feed.changes(0)[0]
    assert (change.kind, change.id, change.collection_id) == (ChangeKind.NOTE, first.id, "col_1")


def test_the_audit_is_paged_newest_first(store: Store) -> None:
    made = [store.audit.add(actor="asha", act="resend", subject=f"evt_{n}") for n in range(5)]
    page = store.audit.page(limit=3)
    assert page.rows == tuple(made[:1:-1])
    assert page.more
    rest = store.audit.page(older_than=page.rows[-1].key)
    assert rest.rows == tuple(made[1::-1])
    assert not rest.more


def test_the_audit_is_narrowed_and_read_in_both_directions(store: Store) -> None:
    done = [
        store.audit.add(actor="x", act=act, subject=subject, outcome=outcome)
        for act, subject, outcome in (
            ("reveal_phone", "col_1", "revealed"),
            ("decide intent", "int_1", "failed: 100% lost"),
            ("note", "col_2", "done"),
            ("reveal_phone", "col_3", "unknown collection"),
        )
    ]

    def found(where: AuditFilter) -> list[int]:
        return [done.index(row) for row in store.audit.page(where=where).rows]

    assert found(AuditFilter(acts=("REVEAL phone",))) == [3, 0]
    assert found(AuditFilter(acts=("%",))) == []
    assert found(AuditFilter(acts=("note", "intent"), subjects=("int_1",))) == [1]
    assert found(AuditFilter(actors=(store.audit.actor[:3].upper(), "nobody"))) == [3, 2, 1, 0]
    assert found(AuditFilter(unwell=True)) == [3, 1]
    assert found(AuditFilter(since=done[0].at, until=done[0].at)) == []
    assert len(found(AuditFilter(since=done[0].at))) == 4
    assert [row.is_done for row in done] == [True, False, True, False]
    upwards = store.audit.page(newer_than=done[0].key, limit=2)
    assert (upwards.rows, upwards.more) == ((done[2], done[1]), True)
    assert store.audit.by_id([done[1].id, "audit_0"]) == {done[1].id: done[1]}


def test_revealing_a_phone_leaves_an_audit_row(store: Store, make: Any) -> None:
    store.record(make.arrival(1))
    phone = store.audit.reveal_phone("col_1", Mode.TEST, actor="asha", why="the customer asked")
    assert phone == "255754000001"
    row = store.audit.page().rows[0]
    assert (row.act, row.actor, row.subject) == ("reveal_phone", store.audit.actor, "col_1")
    assert (row.detail, row.outcome) == ("the customer asked (as asha)", "revealed")


def test_revealing_an_unknown_phone_is_audited_too(store: Store) -> None:
    with pytest.raises(StoreError, match="no such collection"):
        store.audit.reveal_phone("col_9", Mode.TEST, actor="asha", why="curious")
    assert store.audit.page().rows[0].outcome == "unknown collection"


@pytest.mark.merge
def test_who_looks_after_an_alarm_is_known_under_thousands_of_later_acts(
    store: Store, clock: ManualClock
) -> None:
    me, keep = store.audit.actor, store.acknowledgements.record
    keep("silent:live:shop:never", actor=me, reason="first")
    second = keep("silent:live:shop:never", actor=me, reason="second")
    end = clock.now() + timedelta(hours=2)
    muted = keep("stuck:live:M-Pesa", actor=me, reason=" the network is at work ", until=end)
    writing = [
        partial(store.audit.add, actor=me, act="resend", subject=f"evt_{n}") for n in range(1_100)
    ]
    with ThreadPoolExecutor(32) as many:
        for added in [many.submit(act) for act in writing]:
            added.result()
    names = (second.alarm, muted.alarm, "silent:live")
    assert store.acknowledgements.newest(names) == {second.alarm: second, muted.alarm: muted}
    assert store.acknowledgements.newest(names[2:]) == {}
    assert (muted.reason, muted.until, muted.actor) == ("the network is at work", end, me)
    held = acknowledgements(store, names, now=end - timedelta(seconds=1))
    assert held.of("silent:live:shop:later") is None
    assert held.of("stuck:live:M-Pesa:2026-03-14T09", "stuck:live:M-Pesa") == muted
    assert acknowledgements(store, names, now=end).by_name == {second.alarm: second}, (
        "it ends by itself"
    )


def test_an_acknowledgement_is_an_act_and_a_mute_has_a_reason_and_an_end(
    store: Store, clock: ManualClock
) -> None:
    me, keep = store.audit.actor, store.acknowledgements.record
    end = clock.now() + timedelta(hours=2)
    with pytest.raises(ValueError, match="give the reason"):
        keep("stuck:live", actor=me, reason=" ", until=end)
    with pytest.raises(ValueError, match="in the future"):
        keep("stuck:live", actor=me, reason="why", until=clock.now())
    assert store.audit.page().rows == ()
    keep("stuck:live", actor="asha", reason="why", until=end)
    keep("stuck:live:never", actor=me, reason="")
    last, first = store.audit.page().rows
    assert (first.act, first.actor, first.subject, first.outcome) == (
        "mute", me, "stuck:live", "done"
    )  # fmt: skip
    assert first.detail.endswith(": why (as asha)")
    assert (last.act, last.subject) == ("acknowledge", "stuck:live:never")
