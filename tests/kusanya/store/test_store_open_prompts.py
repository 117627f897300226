"""Collections without a final state are counted by channel and age, the newest of them."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from sqlalchemy import update

from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.records import OpenPrompts
from kusanya.store.tables.schema import claim
from kusanya.store.tables.values import to_us
from kusanya.wire import Mode

CHANNELS = ("MPESA_TZ", "TIGO_TZ", "AIRTEL_TZ")
SECOND = timedelta(seconds=1)
AGES: dict[str, dict[str | None, timedelta]] = {"late": {None: 60 * SECOND}}
KNOWN: dict[str, dict[str | None, timedelta]] = {
    "overdue": {None: 120 * SECOND, "TIGO_TZ": 45 * SECOND}
}


@pytest.mark.parametrize("limit", [1, 7, 1_000])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_open_is_counted_as_a_plain_reference_counts(
    store: Store, make: Any, seed: int, limit: int
) -> None:
    rng = Random(seed)  # noqa: S311 - a repeatable choice
    rows = []
    for number in range(40):
        row: dict[str, Any] = {
            "channel": rng.choice(CHANNELS),
            "phone": f"2557540000{rng.randrange(4):02}",
            "age": rng.choice([0, 44, 45, 46, 59, 60, 61, 119, 120, 121, 9_999]),
            "is_open": rng.random() < 0.7,
            "mode": rng.choice(["test", "test", "live"]),
            "asked": rng.choice([None, None, 0, 1, 46, 100]),
        }
        rows.append({**row, "number": number})
        said: dict[str, Any] = {"status": "created", "source": Source.ANSWER}
        if not row["is_open"]:
            said = {"status": "failed", "failure_code": "declined"}
        at = make.noon - timedelta(seconds=row["age"])
        store.record(
            make.observation(
                number, channel=row["channel"], phone=row["phone"], mode=row["mode"],
                created_at=at, observed_in=Mode(row["mode"]), **said,
            )
        )  # fmt: skip
    open_test = [row for row in rows if row["is_open"] and row["mode"] == "test"]
    leases, until = store.poll_leases, store.clock.now() + 3_600 * SECOND
    leases.take(Mode.TEST, by="me", until=until, limit=100)
    with store._engines.writer.begin() as connection:
        for row in open_test:
            asked = None if row["asked"] is None else to_us(make.noon - row["asked"] * SECOND)
            mine = claim.c.collection_id == f"col_{row['number']}"
            connection.execute(update(claim).where(mine).values(asked_at=asked))
    for listened in (None, (121, 1), (61, 30), (10, 0)):
        span = listened and (make.noon - listened[0] * SECOND, make.noon - listened[1] * SECOND)
        found = store.collections.open_by_channel(
            Mode.TEST, AGES, now=make.noon, known=KNOWN, listened=span, phones="overdue",
            limit=limit,
        )  # fmt: skip
        assert found == wanted(rows, limit, make, listened)


def known_age(row: dict[str, Any], listened: tuple[int, int] | None) -> int:
    """Return at which age a collection was last known to be open."""
    ages = [0 if row["asked"] is None else row["age"] - row["asked"]]
    if listened and row["age"] <= listened[0]:
        ages.append(row["age"] - listened[1])
    return max(ages)


def wanted(
    rows: list[dict[str, Any]], limit: int, make: Any, listened: tuple[int, int] | None
) -> tuple[OpenPrompts, ...]:
    """Return the counts of the newest open ones, counted in plain Python."""
    opened = [row for row in rows if row["is_open"] and row["mode"] == "test"]
    opened.sort(key=lambda row: (-row["age"], f"col_{row['number']}"))
    result = []
    for channel in sorted({row["channel"] for row in opened[-limit:]}):
        mine = [row for row in opened[-limit:] if row["channel"] == channel]
        edge = 45 if channel == "TIGO_TZ" else 120
        late = [row for row in mine if row["age"] >= 60]
        overdue = [row for row in mine if known_age(row, listened) >= edge]
        result.append(
            OpenPrompts(
                channel=channel,
                count=len(mine),
                oldest_at=make.noon - timedelta(seconds=max(row["age"] for row in mine)),
                phones=len({row["phone"] for row in overdue}),
                older={"late": len(late), "overdue": len(overdue)},
            )
        )
    return tuple(result)
