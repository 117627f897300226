"""What people say about breaks, and operators' receipts: facts, on both engines."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kusanya.clock import ManualClock
from kusanya.errors import StoreError, StoreUnavailable
from kusanya.store import Store
from kusanya.store.records import BreakStatus, BreakSubject, ChangeKind, Key
from kusanya.wire import Mode

TEST = Mode.TEST
SUBJECT = BreakSubject(
    break_id="0123456789abcdef",
    leg="books",
    code="amount_mismatch",
    reference="INV-1",
    collection_id="col_1",
    currency="TZS",
    amount=500,
    figures="500|450|5|5",
)


def test_each_field_of_a_break_is_what_was_said_of_it_last(
    store: Store, clock: ManualClock
) -> None:
    first = store.breaks.record(SUBJECT, TEST, actor="asha", note="asked the shop", owner="juma")
    clock.step(timedelta(hours=1))
    second = store.breaks.record(
        SUBJECT,
        TEST,
        actor="asha",
        status=BreakStatus.EXPLAINED,
        note="a typing error",
        run_id="r1",
    )
    third = store.breaks.record(SUBJECT, TEST, actor="asha", owner="")
    assert store.breaks.of(SUBJECT.break_id, TEST) == (first, second, third)
    assert store.breaks.of(SUBJECT.break_id, Mode.LIVE) == ()
    history = store.breaks.histories(TEST)[SUBJECT.break_id]
    assert (history.status, history.owner, history.note) == ("explained", None, "a typing error")
    assert history.decision == second
    assert (second.actor, second.at) == (store.audit.actor, clock.now())
    earlier = store.breaks.histories(TEST, as_of=first.seq)[SUBJECT.break_id]
    assert (earlier.status, earlier.owner, earlier.note) == ("open", "juma", "asked the shop")


def test_a_decision_covers_the_code_and_the_money_that_it_was_about(store: Store) -> None:
    store.breaks.record(SUBJECT, TEST, actor="a", status=BreakStatus.ACCEPTED, note="too small")
    history = store.breaks.histories(TEST)[SUBJECT.break_id]
    assert history.status_for(SUBJECT) is BreakStatus.ACCEPTED
    changes: list[dict[str, Any]] = [
        {"amount": 500_000},
        {"code": "missing_in_ledger"},
        {"currency": "KES"},
        {"figures": "500|450|5|6"},
    ]
    for changed in changes:
        assert history.status_for(replace(SUBJECT, **changed)) is BreakStatus.OPEN
    store.breaks.record(SUBJECT, TEST, actor="a", status=BreakStatus.OPEN)
    again = store.breaks.histories(TEST)[SUBJECT.break_id]
    assert again.status_for(SUBJECT) is BreakStatus.OPEN


def test_a_note_on_what_a_break_became_does_not_widen_the_decision(store: Store) -> None:
    store.breaks.record(SUBJECT, TEST, actor="a", status=BreakStatus.ACCEPTED, note="too small")
    larger = replace(SUBJECT, amount=500_000)
    store.breaks.record(larger, TEST, actor="a", note="it grew")
    history = store.breaks.histories(TEST)[SUBJECT.break_id]
    assert history.status_for(larger) is BreakStatus.OPEN


def test_what_is_said_of_a_break_is_audited_and_paged_newest_first(store: Store) -> None:
    facts = [store.breaks.record(SUBJECT, TEST, actor="asha", note=f"n{n}") for n in range(5)]
    page = store.breaks.page(TEST, limit=3)
    assert page.rows == tuple(facts[:1:-1])
    assert page.more
    rest = store.breaks.page(TEST, older_than=Key(page.rows[-1].seq, ""), limit=3)
    assert (rest.rows, rest.more) == (tuple(facts[1::-1]), False)
    row = store.audit.page().rows[0]
    assert (row.act, row.subject, row.outcome) == ("note_break", SUBJECT.break_id, "noted")
    assert row.detail == "n4 (as asha)"
    change = store.feed.changes(0)[-1]
    assert (change.kind, change.id) == (ChangeKind.BREAK, SUBJECT.break_id)


@pytest.mark.parametrize("status", [BreakStatus.ACCEPTED, BreakStatus.TO_BE_BOOKED])
def test_a_decision_has_a_reason(store: Store, status: BreakStatus) -> None:
    with pytest.raises(ValueError, match="give the reason"):
        store.breaks.record(SUBJECT, TEST, actor="asha", status=status, note="  ")
    with pytest.raises(ValueError, match="say something"):
        store.breaks.record(SUBJECT, TEST, actor="asha")
    assert store.feed.head() == 0


def test_a_store_that_is_only_read_takes_no_facts(url: str, open_store: Any) -> None:
    open_store().close()
    with (
        Store.open(url, read_only=True) as store,
        pytest.raises(StoreUnavailable, match="read-only"),
    ):
        store.breaks.record(SUBJECT, TEST, actor="asha", note="x")


def test_a_masked_copy_has_no_note_and_no_id_that_follows_from_a_phone(
    store: Store, tmp_path: Path, clock: ManualClock
) -> None:
    of_phone = replace(SUBJECT, break_id="fedcba9876543210", reference="PAY-255754123987")
    for subject in (SUBJECT, of_phone):
        store.breaks.record(subject, TEST, actor="asha", note="call 0754 123 987", owner="juma")
    store.maintenance.copy(tmp_path / "masked.db", as_of=clock.now(), masked=True)
    with Store.open(tmp_path / "masked.db") as copy:
        plain, hidden = copy.breaks.histories(TEST).values()
    assert (plain.break_id, plain.subject) == (SUBJECT.break_id, SUBJECT)
    assert str(plain.note).startswith("(hidden ")
    assert hidden.break_id != of_phone.break_id
    assert "754123987" not in str(hidden.subject.reference)


def test_a_receipt_is_found_in_any_case_and_recorded_once(store: Store, make: Any) -> None:
    store.record(make.arrival(1))
    fact = store.receipts.record("col_1", TEST, " SJ31hg4K2 ", source="mpesa.csv", actor="asha")
    assert (fact.receipt, fact.source, fact.actor) == (
        "SJ31hg4K2",
        "mpesa.csv",
        store.audit.actor,
    )
    head = store.feed.head()
    again = store.receipts.record("col_1", TEST, "sj31HG4K2", source="other.csv", actor="asha")
    assert again == fact
    assert store.feed.head() == head
    assert store.receipts.find("sj31hg4k2", TEST) == (fact,)
    assert store.receipts.find("sj31hg4k2", Mode.LIVE) == ()
    assert store.receipts.of("col_1", TEST) == (fact,)


def test_many_receipts_are_one_audited_act_and_an_unknown_collection_stops_them(
    store: Store, make: Any
) -> None:
    for number in range(4):
        store.record(make.arrival(number))
    pairs = [(f"col_{number}", f"R{number}") for number in range(4)]
    record = store.receipts.record_all
    assert record([*pairs, pairs[0]], TEST, source="mpesa.csv", actor="asha") == 4
    assert record(pairs, TEST, source="mpesa.csv", actor="asha") == 0
    row = store.audit.page().rows[0]
    assert (row.act, row.outcome) == ("record_receipts", "4 recorded")
    head = store.feed.head()
    with pytest.raises(StoreError, match="no collection col_9"):
        record([("col_1", "R9"), ("col_9", "R8")], TEST, source="mpesa.csv", actor="asha")
    with pytest.raises(ValueError, match="at least one character"):
        record([("col_1", " ")], TEST, source="mpesa.csv", actor="asha")
    assert store.feed.head() == head
