"""What nearly fits, as plain loops: what the match suggests for a row that stayed alone."""

from collections import defaultdict
from datetime import timedelta
from typing import Any

import pandas as pd
from tests.kusanya_books.plain_signed_lines import Row, day_of

from kusanya_books.match import breaks
from kusanya_books.request.tolerance import Tolerance

MINUTES = timedelta(minutes=Tolerance().double_minutes)
CROSSED = {code for code, rule in breaks.LEDGER.items() if rule.others_may_complete}
ADDED_UP = ("its reference adds up", "all lines of this reference")
TWIN = " books it already, as "


def check_hints(rows: pd.DataFrame, service: list[Row], books: list[Row], *, net: bool) -> None:
    """Assert that each row suggests what nearly fits it best, and nothing else."""
    wanted = _wanted(rows, service, books, net=net)
    for row in rows[["row_no", "collection_id", "status_service", "suggested_match"]].to_dict(
        "records"
    ):
        line = None if pd.isna(row["row_no"]) else int(row["row_no"])
        met = None if pd.isna(row["status_service"]) else row["collection_id"]
        hint = "" if pd.isna(row["suggested_match"]) else row["suggested_match"]
        best = wanted.get((line, met), "")
        if TWIN in hint or (not best and hint.startswith(ADDED_UP)):
            continue
        assert hint == best, (line, met)


def _wanted(
    rows: pd.DataFrame, service: list[Row], books: list[Row], *, net: bool
) -> dict[tuple[int | None, str | None], str]:
    due = {s["id"]: s["amount"] - (s["fee"] if net else 0) for s in service}
    by_id = {s["id"]: s for s in service}
    by_no = {b["row_no"]: b for b in books}
    alone = rows[rows["group_key"].isna()]
    no_service = alone[alone["status_service"].isna() & alone["row_no"].notna()]
    lines = [by_no[int(number)] for number in no_service["row_no"]]
    lines = [b for b in lines if b["status"] == "paid" and b["kind"] == "payment"]
    no_line = alone[alone["row_no"].isna()]
    paid = [by_id[name] for name in no_line["collection_id"]]
    paid = [s for s in paid if s["status"] == "succeeded"]

    found: dict[tuple[int | None, str | None], list[tuple[int, str]]] = defaultdict(list)
    near = [
        (abs(s["completed_at"] - b["booked_at"]), b["row_no"], s["id"])
        for b in lines
        for s in paid
        if (b["currency"], b["amount"]) == (s["currency"], due[s["id"]])
        and abs(s["completed_at"] - b["booked_at"]) <= MINUTES
    ]
    for _, number, name in sorted(near, reverse=True):
        found[number, None] = [(1, f"{name}: the same amount within minutes")]
    for _, number, name in sorted(near, key=lambda one: (one[0], one[1]), reverse=True):
        found[None, name] = [(1, f"row {number}: the same amount within minutes")]

    days: dict[Any, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for b in lines:
        days[b["currency"], b["amount"], day_of(b["booked_at"])][0].append(b)
    for s in paid:
        days[s["currency"], due[s["id"]], day_of(s["completed_at"])][1].append(s)
    for own_lines, own_paid in days.values():
        if len(own_lines) == len(own_paid) == 1:
            number, name = own_lines[0]["row_no"], own_paid[0]["id"]
            only = "the only one of this amount on this day"
            found[number, None].append((2, f"{name}: {only}"))
            found[None, name].append((2, f"row {number}: {only}"))

    met = rows[rows["break_code"].isin(CROSSED) & rows["row_no"].notna()]
    crossed = [
        (int(number), name, by_no[int(number)]["currency"], by_no[int(number)]["amount"], due[name])
        for number, name, said in met[["row_no", "collection_id", "status_service"]].itertuples(
            index=False
        )
        if not pd.isna(said)
    ]
    for number, name, currency, amount, owed in crossed:
        others = [
            one[0]
            for one in crossed
            if one[2] == currency and one[3] == owed and one[4] == amount and one[0] != number
        ]
        if len(others) == 1:
            text = f"row {others[0]}: the two references may stand the wrong way round"
            found[number, name].append((0, text))
    return {key: min(each)[1] for key, each in found.items()}
