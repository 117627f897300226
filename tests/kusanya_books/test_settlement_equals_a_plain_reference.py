"""Settlement against its rules written as plain loops: verdicts, balances and both bridges."""
# ruff: noqa: C901, PLR0912, PLR0915 - the rules stand here as plainly as they are stated

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.statements import statement_of

from kusanya.domain.business_day import EAT
from kusanya_books import columns
from kusanya_books.columns import BRIDGE, SETTLED
from kusanya_books.match import settlement
from kusanya_books.request.days import period
from kusanya_books.request.tolerance import Tolerance

WEEK = period("2026-03-02..2026-03-08")
JUDGED = date(2026, 3, 8)
TERMS = Tolerance(amount=1, fee=1, settle_days=2)
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
OK, EXPECTED, BREAK = "ok", "expected", "break"
STANDING = {
    "settled": OK,
    "settlement_pending": EXPECTED,
    "settlement_zero": EXPECTED,
    "settlement_other_period": EXPECTED,
    "settlement_within_tolerance": EXPECTED,
}
Make = Callable[..., pd.DataFrame]
Row = dict[str, Any]
Unit = tuple[Any, ...]
days = st.integers(1, 9).map(lambda day: date(2026, 3, day))
channels = st.sampled_from(["MPESA_TZ", "TIGO_TZ"])
currencies = st.sampled_from(["TZS", "TZS", "TZS", "KES"])
services = st.lists(
    st.fixed_dictionaries(
        {
            "channel": channels,
            "currency": currencies,
            "amount": st.sampled_from([100, 200, 2**53 + 1]),
            "fee": st.sampled_from([0, 2]),
            "status": st.sampled_from(["succeeded"] * 4 + ["failed", "created", "on_hold"]),
            "created_at": st.integers(0, 8 * 4).map(lambda n: START + timedelta(hours=6 * n)),
        }
    ),
    max_size=8,
)
extras = st.lists(
    st.fixed_dictionaries(
        {
            "day": st.one_of(days, st.sampled_from([date(2026, 1, 15), date(2026, 4, 2)])),
            "channel": channels,
            "currency": currencies,
            "collection": st.sampled_from(["col_1", "col_2", "col_9"]),
            "gross": st.sampled_from([100, 200]),
            "fee": st.sampled_from([None, 0, 2]),
            "net": st.sampled_from([98, 100, 198, -98, -100]),
            "batch_id": st.sampled_from(["A", "B"]),
        }
    ),
    max_size=4,
)
changes = st.lists(
    st.sampled_from(
        [
            "as it is",
            "late",
            "next",
            "gone",
            "twice",
            "again",
            "halves",
            "+1",
            "-1",
            "+9",
            "-9",
            "fee",
            "fee, net",
        ]
    )
)


def day_of(at: datetime) -> date:
    return at.astimezone(EAT).date()


def prepared(given_rows: list[Row]) -> list[Row]:
    return [
        {
            **row,
            "id": f"col_{number}",
            "completed_at": row["created_at"] if row["status"] in {"succeeded", "failed"} else None,
        }
        for number, row in enumerate(given_rows, start=1)
    ]


def unit_of(row: Row, *, item: bool) -> Unit:
    if item:
        return row["id"], row["currency"]
    return day_of(row["created_at"]), row["channel"], row["currency"]


def is_inside(row: Row) -> bool:
    return WEEK.first <= day_of(row["created_at"]) <= WEEK.last


def earned(rows: list[Row], *, item: bool, everywhere: bool = False) -> dict[Unit, list[Row]]:
    units: dict[Unit, list[Row]] = defaultdict(list)
    for row in rows:
        if row["status"] == "succeeded" and (everywhere or is_inside(row)):
            units[unit_of(row, item=item)].append(row)
    return units


def lines_of(rows: list[Row], extra: list[Row], change: list[str], *, item: bool) -> list[Row]:
    """Return a statement that pays what was earned, bent in some places, and lines of its own."""
    lines: list[Row] = []
    for place, group in enumerate(earned(rows, item=item).values()):
        bend = change[place] if place < len(change) else "as it is"
        first = group[0]
        gross, fee = (sum(row[name] for row in group) for name in ("amount", "fee"))
        line: Row = {
            "day": day_of(first["created_at"]),
            "channel": first["channel"],
            "currency": first["currency"],
            "collection_id": first["id"] if item else None,
            "batch_id": "A",
            "gross": gross,
            "fee": fee + (5 if bend.startswith("fee") else 0),
            "net": gross - fee + (int(bend) if bend[0] in "+-" else 0),
        }
        if bend == "fee, net":
            line["net"] -= 5
        halves = {name: line[name] // 2 for name in ("gross", "fee", "net")}
        bent = {
            "gone": [],
            "twice": [line, line],
            "again": [line, {**line, "batch_id": "B"}],
            "halves": [{**line, **halves}, {**line, **halves, "batch_id": "B"}],
        }
        if bend in {"late", "next"}:
            line["day"] += timedelta(days=1 if bend == "late" else 2)
        lines += bent.get(bend, [line])
    for more in extra:
        named = {"collection_id": more["collection"] if item else None}
        lines.append({**{name: more[name] for name in more if name != "collection"}, **named})
    return [{**line, "line_no": number} for number, line in enumerate(lines, start=1)]


def placed(rows: list[Row], lines: list[Row]) -> list[Row]:
    """Return the lines of days by the days that they pay for."""
    sums: dict[Unit, dict[date, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
    for row in rows:
        if row["status"] == "succeeded":
            total = sums[row["channel"], row["currency"]][day_of(row["created_at"])]
            for place, more in enumerate((row["amount"], row["fee"], row["amount"] - row["fee"])):
                total[place] += more
    result: list[Row] = []
    for key in dict.fromkeys((line["channel"], line["currency"]) for line in lines):
        mine = [line for line in lines if (line["channel"], line["currency"]) == key]
        paid: dict[date, int] = defaultdict(int)
        result += [line for line in mine if line["net"] < 0]
        mine = [line for line in mine if line["net"] >= 0]
        for line in mine:
            paid[line["day"]] += line["net"]
        votes = [
            sum(
                abs(net - sums[key][day - timedelta(days=late)][2]) <= TERMS.amount
                for day, net in paid.items()
                if day - timedelta(days=late) in sums[key]
            )
            for late in range(TERMS.settle_days + 1)
        ]
        late = timedelta(days=votes.index(max(votes)))
        moved = [{**line, "day": line["day"] - late} for line in mine]
        days = sorted({line["day"] for line in moved})
        for line in moved:
            before = max((day for day in days if day < line["day"]), default=date.min)
            alone = sum(other["day"] == line["day"] for other in moved) == 1
            here = sums[key].get(line["day"])
            differs = here is None or abs(line["net"] - here[2]) > TERMS.amount
            run: list[date] = []
            left = line["net"]
            for day in sorted(
                (day for day in sums[key] if before < day <= line["day"]), reverse=True
            ):
                run.append(day)
                left -= sums[key][day][2]
                if day < line["day"] and abs(left) <= TERMS.amount:
                    break
            else:
                run = []
            if not (alone and differs and run):
                result.append(line)
                continue
            rest = dict(line)
            for day in run[1:]:
                part = dict(zip(("gross", "fee", "net"), sums[key][day], strict=True))
                said = {name: None if line[name] is None else part[name] for name in part}
                result.append({**line, "day": day, **said})
                for name, less in part.items():
                    rest[name] = None if rest[name] is None else rest[name] - less
            result.append({**rest, "day": run[0]})
    return sorted(result, key=lambda line: (line["line_no"], line["day"]))


def with_units(lines: list[Row], *, item: bool) -> list[Row]:
    """Return the lines with the unit that each is of; what takes back is of its batch's one day."""
    found = []
    homes: dict[Any, set[Unit]] = defaultdict(set)
    for line in lines:
        day = (line["day"], line["channel"], line["currency"])
        unit = (line["collection_id"], line["currency"]) if item else day
        found.append({**line, "unit": unit})
        if line["net"] >= 0:
            homes[line["batch_id"], *day[1:]].add(unit)
    for line in found:
        if line["net"] < 0 and not item:
            units = homes[line["batch_id"], line["channel"], line["currency"]]
            line["unit"] = next(iter(units)) if len(units) == 1 else None
    return found


def judged(rows: list[Row], lines: list[Row], *, item: bool) -> list[Row]:
    ours = earned(rows, item=item, everywhere=True)
    lines = with_units(lines if item else placed(rows, lines), item=item)
    known = {row["id"] for row in rows}
    said_by: dict[Any, list[Row]] = defaultdict(list)
    for line in sorted(lines, key=lambda line: (line["day"], line["line_no"])):
        key = tuple(line[name] for name in ("channel", "currency", "gross", "fee", "net"))
        said_by[key].append(line)
    echoes = [line for group in said_by.values() for line in group[1:]] if not item else []
    seen: set[Unit] = set()
    said_before: set[Unit] = set()
    paid_before: dict[Unit, int] = defaultdict(int)
    theirs: dict[Unit, list[Row]] = defaultdict(list)
    again: list[Row] = []
    alone: list[Row] = []
    for line in lines:
        key = (line["day"], line["channel"], line["currency"])
        unit, back = line["unit"], line["net"] < 0
        says = (line["collection_id"], *key, line["net"])
        whole = (line["batch_id"], *says, line["gross"], line["fee"])
        due = sum(row["amount"] - row["fee"] for row in ours.get(unit, []))
        covered = unit in ours and says in said_before and paid_before[unit] >= due - 1
        of_unit = [other for other in lines if other["unit"] == unit]
        echoed = (
            any(line is other for other in echoes)
            and sum(other["net"] == line["net"] for other in of_unit) == 1
            and abs(sum(other["net"] for other in of_unit) - due - line["net"]) <= TERMS.amount
        )
        if whole in seen or (not back and (covered or echoed)):
            again.append(line)
        elif unit is None:
            alone.append(line)
        else:
            theirs[unit].append(line)
        if whole not in seen:
            paid_before[unit] += line["net"]
        seen.add(whole)
        said_before.add(says)
    result = [{"code": "settlement_duplicate", "net": 0, "paid": x["net"]} for x in again]
    result += [{"code": "settlement_taken_back", "net": 0, "paid": x["net"]} for x in alone]
    for unit in {**ours, **theirs}:
        group, paid = ours.get(unit, []), theirs.get(unit, [])
        net = sum(row["amount"] - row["fee"] for row in group)
        came = sum(line["net"] for line in paid)
        said = [line["fee"] for line in paid]
        fee = None if None in said else sum(said)
        deducted = 0 if fee is None else abs(fee - sum(row["fee"] for row in group))
        grossed = sum(line["gross"] for line in paid) - sum(row["amount"] for row in group)
        code = "settled" if came == net else "settlement_within_tolerance"
        back = any(line["net"] < 0 for line in paid)
        if group and not is_inside(group[0]):
            code, net = "settlement_other_period", 0
            if not paid:
                continue
        elif not group:
            nothing = came == 0 and not grossed and not fee
            first = min(line["day"] for line in paid)
            code = (
                "settlement_zero"
                if nothing
                else "settlement_unknown"
                if item and unit[0] not in known
                else "settlement_unexpected"
                if WEEK.first <= first <= WEEK.last
                else "settlement_outside"
            )
        elif not paid:
            waited = (JUDGED - day_of(group[0]["created_at"])).days
            code = "settlement_pending" if waited < 2 else "settlement_missing"
        elif back and came < net - 1:
            code = "settlement_taken_back"
        elif deducted > 1 and abs(grossed) <= 1:
            code = "settlement_fee_mismatch"
        elif abs(came - net) > 1:
            code = "settlement_short" if came < net else "settlement_over"
        elif deducted > 1:
            code = "settlement_fee_mismatch"
        result.append({"code": code, "net": net, "paid": came})
    return result


def verdicts_of(found: settlement.SettlementMatch) -> list[tuple[Any, ...]]:
    rows = found.rows[["break_code", "net", "net_settled", "open_balance"]].astype("object")
    return sorted(rows.itertuples(index=False, name=None))


def check_bridge(bridge: pd.DataFrame, rows: list[Row], lines: list[Row], *, item: bool) -> None:
    """Hold the totals to the inputs, each currency by itself."""
    columns.check(bridge, BRIDGE)
    if not item:
        lines = placed(rows, lines)
    ours = [row for group in earned(rows, item=item).values() for row in group]
    assert set(bridge["currency"]) == {row["currency"] for row in (*ours, *lines)}
    for currency, part in bridge.groupby("currency"):
        amounts = dict(zip(part["line"], part["amount"], strict=True))
        here = [row for row in ours if row["currency"] == currency]
        gross, fee = (sum(row[name] for row in here) for name in ("amount", "fee"))
        came = sum(line["net"] for line in lines if line["currency"] == currency)
        sums = [amounts.pop(name) for name in ("gross", "fees", "net", "paid out")]
        assert sums == [gross, -fee, gross - fee, came]
        assert amounts.pop("open balance") == gross - fee - came
        assert amounts.pop("unexplained") == 0
        assert sum(amounts.values()) == came - (gross - fee)


@pytest.mark.scale(15, 120, 800)
def test_every_payout_gets_the_verdict_of_the_rules_and_the_bridge_closes(
    collections_of: Make, rounds: int
) -> None:
    @settings(max_examples=rounds, deadline=None, database=None)
    @given(services, extras, changes, st.booleans())
    def holds(service: list[Row], extra: list[Row], change: list[str], item: bool) -> None:
        rows = prepared(service)
        lines = lines_of(rows, extra, change, item=item)
        found = settlement.match(
            collections_of(*rows).sample(frac=1, random_state=len(rows)),
            statement_of(lines).sample(frac=1, random_state=len(lines)),
            period=WEEK,
            tolerance=TERMS,
            as_of=JUDGED,
        )
        columns.check(found.rows, SETTLED)
        # Without a line that names a collection, a statement is one by day.
        item = item and bool(lines)
        wanted = judged(rows, lines, item=item)
        assert verdicts_of(found) == sorted(
            (row["code"], row["net"], row["paid"], row["net"] - row["paid"]) for row in wanted
        )
        standing = dict(zip(found.rows["break_code"], found.rows["standing"], strict=True))
        assert standing == {code: STANDING.get(code, BREAK) for code in standing}
        assert found.breaks == sum(row["code"] not in STANDING for row in wanted)
        assert found.rows["lines"].sum() == len(lines)
        check_bridge(found.bridge, rows, lines, item=item)

    holds()
