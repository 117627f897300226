"""Collections without a final state are counted by channel and age, the newest of them."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest

from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.records import OpenPrompts
from kusanya.wire import Mode

CHANNELS = ("MPESA_TZ", "TIGO_TZ", "AIRTEL_TZ")
AGES: dict[str, dict[str | None, timedelta]] = {
    "late": {None: timedelta(seconds=60)},
    "overdue": {None: timedelta(seconds=120), "TIGO_TZ": timedelta(seconds=45)},
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
    found = store.collections.open_by_channel(
        Mode.TEST, AGES, now=make.noon, phones="overdue", limit=limit
    )
    assert found == wanted(rows, limit, make)


def wanted(rows: list[dict[str, Any]], limit: int, make: Any) -> tuple[OpenPrompts, ...]:
    """Return the counts of the newest open ones, told in plain Python."""
    opened = [row for row in rows if row["is_open"] and row["mode"] == "test"]
    opened.sort(key=lambda row: (-row["age"], f"col_{row['number']}"))
    result = []
    for channel in sorted({row["channel"] for row in opened[-limit:]}):
        mine = [row for row in opened[-limit:] if row["channel"] == channel]
        edge = 45 if channel == "TIGO_TZ" else 120
        late, overdue = ([row for row in mine if row["age"] >= seconds] for seconds in (60, edge))
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
