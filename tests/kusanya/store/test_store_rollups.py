"""Rollups equal a full scan and rows equal the fold, whatever was heard in what order."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy import text

from kusanya.domain.status import CONTRADICTION
from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.records import RollupRow
from kusanya.wire import Mode

SCAN = """
    SELECT created_at / 3600000000 AS hour, channel, currency, status, failure_code,
           count(*), sum(amount), sum(fee)
    FROM collection WHERE mode = :mode GROUP BY 1, 2, 3, 4, 5
"""
facts = st.fixed_dictionaries(
    {
        "number": st.integers(0, 4),
        "source": st.sampled_from(list(Source)),
        "status": st.sampled_from(["created", "succeeded", "failed", "expired", "reviewing"]),
        "amount": st.sampled_from([5000, 5000, 5000, 7000]),
        "fee": st.sampled_from([50, 50, 60]),
        "channel": st.sampled_from(["MPESA_TZ", "MPESA_TZ", "TIGO"]),
        "failure_code": st.sampled_from([None, None, "", "insufficient_funds"]),
        "mode": st.sampled_from(["test", "live"]),
        "hours": st.integers(0, 2),
        "arrives": st.booleans(),
    }
)


def fact(make: Any, said: dict[str, Any]) -> Any:
    said = dict(said)
    number, source, arrives = said.pop("number"), said.pop("source"), said.pop("arrives")
    said["created_at"] = make.noon + timedelta(hours=said.pop("hours"))
    # Collections are told apart per mode, and events per what they say.
    number = number + 10 * (said["mode"] == "live")
    if arrives:
        return make.arrival(number, event_id=f"evt_{number}_{said['status']}", **said)
    return make.observation(number, source=source, source_id=f"{said['status']}", **said)


def key(row: RollupRow) -> tuple[Any, ...]:
    hour = row.hour.timestamp() // 3600
    code = row.failure_code
    return (
        (hour, row.channel, row.currency, row.status, code),
        (row.count, row.amount, row.fee),
    )


@pytest.mark.merge
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(batches=st.lists(st.lists(facts, min_size=1, max_size=6), min_size=1, max_size=5))
def test_at_every_commit_rollups_equal_a_scan_and_rows_equal_the_fold(
    store: Store, make: Any, batches: list[list[dict[str, Any]]]
) -> None:
    for batch in batches:
        for future in [store.submit(fact(make, said)) for said in batch]:
            future.result()
        for mode in Mode:
            rows = store.rollups.collections(
                mode, since=make.noon - timedelta(days=1), until=make.noon + timedelta(days=1)
            )
            with store._engines.reader.connect() as connection:
                scan = connection.execute(text(SCAN), {"mode": mode.value}).all()
            assert {key(row)[0]: key(row)[1] for row in rows} == {
                tuple(line[:5]): tuple(line[5:]) for line in scan
            }
            for row in store.collections.page(mode).rows:
                state = store.collections.state(row.id, row.mode)
                assert state is not None
                assert (row.status, row.amount, row.fee) == (state.status, state.amount, state.fee)
                assert row.contradictions == len(state.contradictions)
                assert row.final_seen_at == state.final_seen_at
    assert store.maintenance.check() == ()


def test_a_collection_moves_from_one_bucket_to_another(store: Store, make: Any) -> None:
    span = {"since": make.noon, "until": make.noon + timedelta(hours=1)}
    store.record(make.observation(1, source=Source.ANSWER))
    (created,) = store.rollups.collections(Mode.TEST, **span)
    assert (created.status, created.count, created.amount, created.fee) == ("created", 1, 5000, 50)
    store.record(make.arrival(1, status="failed", failure_code="invalid_pin"))
    (failed,) = store.rollups.collections(Mode.TEST, **span)
    assert (failed.status, failed.failure_code, failed.count) == ("failed", "invalid_pin", 1)
    store.record(make.observation(1, source=Source.POLL, status="succeeded"))
    (torn,) = store.rollups.collections(Mode.TEST, **span)
    assert (torn.status, torn.count) == (CONTRADICTION, 1)
    assert store.rollups.collections(Mode.LIVE, **span) == ()


def test_an_absurd_amount_cannot_break_the_sums(store: Store, make: Any) -> None:
    for number in range(3):
        store.record(make.arrival(number, amount=2**63 - 1, fee=-(2**63)))
    (row,) = store.rollups.collections(
        Mode.TEST, since=make.noon, until=make.noon + timedelta(hours=1)
    )
    assert (row.count, row.amount, row.fee) == (3, 3 * 10**12, -3 * 10**12)
    kept = store.collections.get("col_0", Mode.TEST)
    assert kept is not None
    assert (kept.amount, kept.fee) == (2**63 - 1, -(2**63))
    assert store.maintenance.check() == ()


def test_what_no_service_says_is_kept_and_shown(store: Store, make: Any) -> None:
    odd = make.observation(1, status="☃" * 300, channel="\0" * 300, currency="€" * 300)
    store.record(replace(odd, source_id="x" * 5000))
    row = store.collections.get("col_1", Mode.TEST)
    assert row is not None
    assert row.status == "☃" * 63 + "…"
    assert store.maintenance.check() == ()
