"""Settlement against its rules written as plain loops: verdicts, balances and both bridges."""
# ruff: noqa: C901, PLR0912, PLR0915 - the rules stand here as plainly as they are stated

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

import msgspec
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.books import books_of
from tests.kit.frames import breaks_of
from tests.kit.statements import statement_of
from tests.kusanya_books.plain_legs import Row, check_order, day_of, drawn, first

from kusanya_books import columns
from kusanya_books.columns import BRIDGE, SETTLED
from kusanya_books.match import settlement
from kusanya_books.match.breaks import SETTLEMENT
from kusanya_books.match.settlement import OWED
from kusanya_books.request.days import period
from kusanya_books.request.tolerance import Tolerance

WEEK = period("2026-03-02..2026-03-08")
JUDGED = date(2026, 3, 8)
TERMS = Tolerance(amount=1, fee=1, settle_days=2, settle_days_of={"TIGO_TZ": 1})
BEFORE = date(2026, 1, 15)
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
OK, EXPECTED, BREAK = "ok", "expected", "break"
REFUND_BOOKED = "settlement_refund_booked"
CHARGED = "settlement_charge"
NOT_OWED = (REFUND_BOOKED, CHARGED, "settlement_other_period", "settlement_read_before")
STANDING = {
    "settled": OK,
    "settlement_pending": EXPECTED,
    "settlement_zero": EXPECTED,
    "settlement_other_period": EXPECTED,
    "settlement_read_before": EXPECTED,
    REFUND_BOOKED: EXPECTED,
    CHARGED: EXPECTED,
    "settlement_within_tolerance": EXPECTED,
}
DAY_UNIT = 3
"""Parts of a unit that is a day of a channel and currency."""
Make = Callable[..., pd.DataFrame]
Unit = tuple[Any, ...]
SERVICES: dict[str, Sequence[Any]] = {
    "channel": ["MPESA_TZ", "MPESA_TZ", "TIGO_TZ", None],
    "currency": ["TZS", "TZS", "TZS", "KES"],
    "amount": [100, 200, 2**53 + 1],
    "fee": [0, 2],
    "status": ["succeeded"] * 4 + ["failed", "created", "on_hold"],
    "created_at": [START + timedelta(hours=6 * n) for n in range(8 * 4 + 1)],
}
EXTRAS: dict[str, Sequence[Any]] = {
    "day": [*(date(2026, 3, day) for day in range(1, 10)), BEFORE, date(2026, 4, 2)],
    "channel": ["MPESA_TZ", "MPESA_TZ", "TIGO_TZ", None],
    "currency": ["TZS", "TZS", "TZS", "KES"],
    "collection_id": ["col_1", "col_2", "col_9"],
    "gross": [100, 200, 0],
    "fee": [None, 0, 2],
    "net": [98, 100, 198, -98, -100, 0],
    "batch_id": ["A", "B", None],
}
CHARGES: dict[str, Sequence[Any]] = {
    **{name: EXTRAS[name] for name in ("day", "channel", "currency", "batch_id")},
    "kind": ["charge"],
    "collection_id": [None, None, "col_1"],
    "gross": [None, 0],
    "fee": [None, 0, 5],
    "net": [-5, -5, -98, 5, 0],
}
BOOKED: dict[str, Sequence[Any]] = {
    "reference": ["R0", "r1", " R1", "R2", None],
    "currency": ["TZS", "TZS", "TZS", "KES"],
    "amount": [-100, -100, -98, -200, 100],
    "kind": ["refund", "refund", "chargeback", "credit_note", "reversal", "payment", "charge"],
    "status": ["paid", "paid", "paid", "not_paid"],
    "at": [START, START + timedelta(days=4)],
}
BACK = frozenset({"refund", "chargeback", "credit_note", "reversal"})
CHANGES = [
    *("as it is", "as it is", "late", "next", "gone", "gone", "gone", "twice", "again", "halves"),
    *("+1", "-1", "+9", "-9", "fee", "fee, net", "two days"),
    *("twice, other fee", "twice, other gross"),
]


def rows_of(fields: dict[str, Sequence[Any]], most: int) -> st.SearchStrategy[list[Row]]:
    each = {name: st.sampled_from(list(values)) for name, values in fields.items()}
    return st.lists(st.fixed_dictionaries(each), max_size=most)


def days_of(channel: str | None) -> int:
    return TERMS.settle_days_of.get(channel or "", TERMS.settle_days)


def prepared(given_rows: list[Row], name: str = "") -> list[Row]:
    return [
        {
            **row,
            "id": f"{name}col_{number}",
            "reference": f"{name}R{number // 2}",
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


def earned(
    rows: list[Row], *, item: bool, everywhere: bool = False, whole_days: Collection[Unit] = ()
) -> dict[Unit, list[Row]]:
    units: dict[Unit, list[Row]] = defaultdict(list)
    for row in rows:
        if row["status"] == "succeeded" and (everywhere or is_inside(row)):
            by_item = item and unit_of(row, item=False) not in whole_days
            units[unit_of(row, item=by_item)].append(row)
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
            "twice, other fee": [line, {**line, "fee": line["fee"] + 1}],
            "twice, other gross": [line, {**line, "gross": line["gross"] + 1}],
            "again": [line, {**line, "batch_id": "B"}],
            "halves": [{**line, **halves}, {**line, **halves, "batch_id": "B"}],
        }
        if bend in {"late", "next"}:
            line["day"] += timedelta(days=1 if bend == "late" else 2)
        if bend == "two days" and lines and not item:
            line["day"] = max(line["day"], lines[-1]["day"])
            for name in ("gross", "fee", "net"):
                line[name] += lines[-1][name]
            lines.pop()
        lines += bent.get(bend, [line])
    for more in extra:
        lines.append(more if item else {**more, "collection_id": None})
    return [{**line, "line_no": number} for number, line in enumerate(lines, start=1)]


class Earlier(msgspec.Struct):
    """What an earlier period left open, the lines that it read, and the days that it compared."""

    owed: list[Row] = []
    read: list[Row] = []
    days: frozenset[date] = frozenset()
    payers: frozenset[tuple[str, str]] = frozenset()
    """Channels and currencies that operators pay out themselves."""
    books: list[Row] = []
    """Lines of the books of now."""
    settled: frozenset[str] = frozenset()
    """Channels that its statements named: of these no day waits beside what is owed."""

    def waits(self, day: date, channel: str | None, currency: str) -> bool:
        """Return whether a line may pay for a day; one that was paid too much waits for none."""
        due = sum(
            row["net"]
            for row in self.owed
            if (row["business_day"].date(), row["currency"]) == (day, currency)
            and row["channel"] in {None, channel}
        )
        return day >= WEEK.first or due > 0 or self.settled.isdisjoint({"", channel})


def placed(rows: list[Row], lines: list[Row], before: Earlier) -> list[Row]:
    """Return the lines of days by the days that they pay for."""
    sums: dict[Unit, dict[date, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
    for row in rows:
        if row["status"] == "succeeded":
            total = sums[row["channel"], row["currency"]][day_of(row["created_at"])]
            for place, more in enumerate((row["amount"], row["fee"], row["amount"] - row["fee"])):
                total[place] += more
    waiting = {key: {day for day in days if before.waits(day, *key)} for key, days in sums.items()}
    result: list[Row] = []
    lines = [{**line, "lines": 1, "group_key": None} for line in lines]
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
                if day - timedelta(days=late) in waiting.get(key, ())
            )
            for late in range(days_of(key[0]) + 1)
        ]
        late = timedelta(days=votes.index(max(votes)))
        moved = [{**line, "day": line["day"] - late} for line in mine]
        days = sorted({line["day"] for line in moved})
        for line in moved:
            since = max((day for day in days if day < line["day"]), default=date.min)
            alone = sum(other["day"] == line["day"] for other in moved) == 1
            here = sums[key].get(line["day"])
            differs = here is None or abs(line["net"] - here[2]) > TERMS.amount
            run: list[date] = []
            left = line["net"]
            for day in sorted(
                (day for day in waiting.get(key, ()) if since < day <= line["day"]), reverse=True
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
            group = {"group_key": f"line {line['line_no']}"}
            for day in run[1:]:
                part = dict(zip(("gross", "fee", "net"), sums[key][day], strict=True))
                said = {name: None if line[name] is None else part[name] for name in part}
                result.append({**line, "day": day, **said, "lines": 0, **group})
                for name, less in part.items():
                    rest[name] = None if rest[name] is None else rest[name] - less
            result.append({**rest, "day": run[0], **group})
    return sorted(result, key=lambda line: (line["line_no"], line["day"]))


def for_whole_days(rows: list[Row], lines: list[Row], days: Collection[Unit]) -> list[Row]:
    """Return the lines, those for a collection of a day that waits as a whole as lines of it."""
    paid = {(row["id"], row["currency"]): row for row in rows if row["status"] == "succeeded"}
    found = []
    for line in lines:
        row = paid.get((line["collection_id"], line["currency"]))
        own: Row = {"named": line["collection_id"]}
        if row is not None and (unit := unit_of(row, item=False)) in days:
            own |= {"collection_id": None, "day": unit[0], "channel": row["channel"]}
        found.append({**line, **own})
    return found


def with_units(lines: list[Row]) -> list[Row]:
    """Return the lines with the unit that each is of; what takes back is of its batch's one day."""
    found = []
    homes: dict[Any, set[Unit]] = defaultdict(set)
    for line in lines:
        day = (line["day"], line["channel"], line["currency"])
        is_item = line["collection_id"] is not None
        unit = (line["collection_id"], line["currency"]) if is_item else day
        found.append({"lines": 1, "group_key": None, **line, "unit": unit, "said": unit})
        if line["net"] >= 0 and line["batch_id"] is not None:
            homes[line["batch_id"], *day[1:]].add(unit)
    for line in found:
        if line["net"] < 0 and line["collection_id"] is None:
            units = homes.get((line["batch_id"], line["channel"], line["currency"]), set())
            line["unit"] = next(iter(units)) if len(units) == 1 else None
    return found


def refunds_among(rows: list[Row], lines: list[Row], before: Earlier) -> set[int]:
    """Return the numbers of the lines that take back what the books give back."""
    left: Counter[Any] = Counter()
    old: Counter[Any] = Counter()
    for one in before.books:
        if one["kind"] in BACK and one["status"] == "paid" and one["reference"]:
            key = (one["reference"].strip().lower(), one["currency"], one["amount"])
            left[key] += 1
            old[key] += day_of(one["at"]) < WEEK.first
    orders = {(row["id"], row["currency"]): row["reference"].lower() for row in rows}
    read = {reading_of(line) for line in before.read}
    used = Counter(
        (orders[line["collection_id"], line["currency"]], line["currency"])
        for line in {reading_of(line): line for line in before.read}.values()
        if line["net"] < 0 and (line["collection_id"], line["currency"]) in orders
    )
    for key in left:
        left[key] -= min(old[key], used[key[:2]])
    found = set()
    for line in sorted(lines, key=lambda line: line["line_no"]):
        order = orders.get((line["collection_id"], line["currency"]))
        if line["net"] < 0 and order is not None and reading_of(line) not in read:
            key = order, line["currency"], -abs(line["gross"] or line["net"])
            left[key] -= 1
            if left[key] >= 0:
                found.add(line["line_no"])
    return found


def reading_of(line: Row) -> tuple[Any, ...]:
    names = ("day", "batch_id", "collection_id", "channel", "currency", "net")
    return tuple(line[name] for name in names)


def judged(
    rows: list[Row],
    lines: list[Row],
    before: Earlier,
    known: Collection[str],
    refunds: Collection[int],
    *,
    item: bool,
) -> list[Row]:
    said_owed: dict[Unit, date] = {}
    for o in before.owed:
        day = o["business_day"].date()
        by_item = o["collection_id"] is not None
        unit = (
            (o["collection_id"], o["currency"]) if by_item else (day, o["channel"], o["currency"])
        )
        said_owed[unit] = min(day, said_owed.get(unit, day))
    whole_days = {unit for unit in said_owed if len(unit) == DAY_UNIT and unit[0] < WEEK.first}
    ours = earned(rows, item=item, everywhere=True, whole_days=whole_days)
    read = {reading_of(line) for line in before.read}
    lines = [{**line, "is_read": reading_of(line) in read} for line in lines]
    lines = for_whole_days(rows, lines, whole_days if item else ())
    lines = with_units(lines if item else placed(rows, lines, before))
    for line in lines:
        earners = ours.get(line["said"])
        paid_day = day_of(earners[0]["created_at"]) if earners else line["day"]
        line["is_read"] = line["is_read"] and paid_day < WEEK.first
        if line["line_no"] in refunds:
            line["unit"] = None
    said_by: dict[Any, list[Row]] = defaultdict(list)
    for line in sorted(lines, key=lambda line: (line["day"], line["line_no"])):
        key = tuple(line[name] for name in ("channel", "currency", "gross", "fee", "net"))
        if line["batch_id"] is not None:
            said_by[line["batch_id"], *key].append(line)
    echoes = [
        line
        for group in said_by.values()
        for line in [one for one in group if one["collection_id"] is None and one["net"] >= 0][1:]
    ]
    seen: set[Unit] = set()
    said_before: set[Unit] = set()
    paid_before: dict[Unit, int] = defaultdict(int)
    theirs: dict[Unit, list[Row]] = defaultdict(list)
    again: list[Row] = []
    known_lines: list[Row] = []
    alone: list[Row] = []
    for line in lines:
        key = (line["day"], line["channel"], line["currency"])
        unit, back = line["unit"], line["net"] < 0
        says = (line["named"], *key, line["net"])
        whole = (line["batch_id"], *says, line["gross"], line["fee"])
        due = sum(row["amount"] - row["fee"] for row in ours.get(unit, []))
        covered = unit in ours and says in said_before and paid_before[unit] >= due - 1
        of_unit = [other for other in lines if other["unit"] == unit]
        echoed = (
            any(line is other for other in echoes)
            and sum(other["net"] == line["net"] for other in of_unit) == 1
            and abs(sum(other["net"] for other in of_unit) - due - line["net"]) <= TERMS.amount
        )
        if line["is_read"]:
            known_lines.append(line)
        elif whole in seen or (not back and (covered or echoed)):
            again.append(line)
        elif unit is None:
            alone.append(line)
        else:
            theirs[unit].append(line)
        if whole not in seen:
            paid_before[unit] += line["net"]
        seen.add(whole)
        said_before.add(says)

    def day_shown(paid: list[Row], group: Sequence[Row] = ()) -> Row:
        """Return the day of what the week did not earn: that of what was owed for it."""
        said = min(map(spelled, paid))
        owed = [day for one, day in said_owed.items() if spelled({"said": one}) == said]
        return {"business_day": pd.Timestamp(owed[0])} if owed and not group else {}

    result = []
    for line in known_lines:
        own = {"code": "settlement_read_before", "net": 0, "paid": line["net"]}
        result.append({**own, **told([], [line])})
    for line in (*again, *alone):
        is_again = any(line is other for other in again)
        code = "settlement_duplicate" if is_again else "settlement_taken_back"
        code = "settlement_other_period" if line["said"] in said_owed else code
        if not is_again and line["line_no"] in refunds:
            code = REFUND_BOOKED
        own = {"code": code, "net": 0, "paid": line["net"]}
        result.append({**own, **told([], [line]), **day_shown([line])})
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
        is_owed = paid and min(map(spelled, paid)) in {spelled({"said": one}) for one in said_owed}
        shown: Row = {}
        if group and not is_inside(group[0]):
            code, net = "settlement_other_period", 0
            if not paid:
                continue
            if not is_owed and day_of(group[0]["created_at"]) in before.days:
                code = "settlement_taken_back" if back else "settlement_over"
        elif not group and is_owed:
            code = "settlement_other_period"
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
            due_in = days_of(group[0]["channel"])
            code = "settlement_pending" if waited <= due_in else "settlement_missing"
        elif back and came < net - 1:
            code = "settlement_taken_back"
        elif deducted > 1 and abs(grossed) <= 1:
            code = "settlement_fee_mismatch"
        elif abs(came - net) > 1:
            code = "settlement_short" if came < net else "settlement_over"
        elif deducted > 1:
            code = "settlement_fee_mismatch"
        counted = group if group and is_inside(group[0]) else []
        if not counted and paid:
            shown = day_shown(paid, group)
        result.append(
            {
                "code": code,
                "net": net,
                "paid": came,
                **told(group, paid),
                **earning(counted),
                **shown,
            }
        )
    return result


def charged(lines: list[Row], before: Earlier) -> list[Row]:
    """Return what the provider itself charges, each line by itself."""
    read = {reading_of(line) for line in before.read}
    seen: set[tuple[Any, ...]] = set()
    result = []
    for line in lines:
        says = reading_of(line)
        is_again = says in seen and line["batch_id"] is not None
        code = "settlement_charge_again" if is_again else CHARGED
        if line["day"] > WEEK.last:
            code = "settlement_other_period"
        if says in read:
            code = "settlement_read_before"
        seen.add(says)
        whole = {**line, "lines": 1, "group_key": None}
        result.append({"code": code, "net": 0, "paid": line["net"], **told([], [whole])})
    return result


def spelled(line: Row) -> tuple[str, ...]:
    return tuple(str(part or "") for part in line["said"])


def earning(group: list[Row]) -> Row:
    return {
        "count": len(group),
        "gross": sum(row["amount"] for row in group),
        "fee": sum(row["fee"] for row in group),
    }


def told(group: list[Row], paid: list[Row]) -> Row:
    """Return what a row says beside its sums: the unit, and the lines that pay it."""

    def total(name: str) -> int | None:
        values = [line[name] for line in paid]
        return None if None in values or not values else sum(values)

    def least(name: str, own: str) -> Any:
        values = [row[own] for row in group] or [line[name] for line in paid]
        return min(value or "" for value in values) or None

    of_item = bool(paid) and paid[0]["collection_id"] is not None
    days = [day_of(row["created_at"]) for row in group] or [line["day"] for line in paid]
    return {
        "business_day": pd.Timestamp(min(days)),
        "channel": least("channel", "channel"),
        "currency": least("currency", "currency"),
        "batch_id": " ".join(sorted({x["batch_id"] for x in paid if x["batch_id"]})) or None,
        "line_no": min((line["line_no"] for line in paid), default=None),
        "lines": sum(line["lines"] for line in paid),
        "group_key": min((x["group_key"] for x in paid if x["group_key"]), default=None),
        "gross_settled": total("gross"),
        "fee_settled": total("fee"),
        "is_item": of_item,
        **earning([]),
    }


ASKED = [
    *("break_code", "net", "net_settled", "business_day", "channel", "currency", "batch_id"),
    *("line_no", "lines", "group_key", "gross_settled", "fee_settled", "count", "gross", "fee"),
    "open_balance",
]


def verdicts_of(found: settlement.SettlementMatch) -> list[tuple[Any, ...]]:
    rows = found.rows[ASKED].astype("object").itertuples(index=False, name=None)
    return sorted(
        (tuple(None if pd.isna(value) else value for value in row) for row in rows), key=repr
    )


def as_verdict(row: Row) -> tuple[Any, ...]:
    own = {
        "break_code": row["code"],
        "net_settled": row["paid"],
        "open_balance": 0 if row["code"] in NOT_OWED else row["net"] - row["paid"],
    }
    return tuple({**row, **own}[name] for name in ASKED)


def check_bridge(bridge: pd.DataFrame, rows: list[Row], lines: list[Row], *, item: bool) -> None:
    """Hold the totals to the inputs, each currency by itself."""
    columns.check(bridge, BRIDGE)
    ours = [row for group in earned(rows, item=item).values() for row in group]
    assert set(bridge["currency"]) == {row["currency"] for row in (*ours, *lines)}
    for currency, part in bridge.groupby("currency"):
        amounts = dict(zip(part["line"], part["amount"], strict=True))
        here = [row for row in ours if row["currency"] == currency]
        gross, fee = (sum(row[name] for row in here) for name in ("amount", "fee"))
        came = sum(line["net"] for line in lines if line["currency"] == currency)
        sums = [amounts.pop(name) for name in ("gross", "fees", "net", "paid out")]
        assert sums == [gross, -fee, gross - fee, came]
        apart = sum(amounts.get(code, 0) for code in NOT_OWED)
        assert amounts.pop("open balance") == gross - fee - came + apart
        assert amounts.pop("unexplained") == 0
        assert sum(amounts.values()) == came - (gross - fee)


@pytest.mark.scale(10, 120, 800)
def test_every_payout_gets_the_verdict_of_the_rules_and_the_bridge_closes(
    collections_of: Make, rounds: int
) -> None:
    @settings(max_examples=rounds, deadline=None, database=None)
    @given(
        rows_of(SERVICES, 8),
        rows_of(EXTRAS, 4),
        st.lists(st.sampled_from(CHANGES)),
        st.booleans(),
    )
    def holds(service: list[Row], extra: list[Row], change: list[str], item: bool) -> None:
        rows = prepared(service)
        agree(collections_of, rows, lines_of(rows, extra, change, item=item), item=item)

    holds()


@pytest.mark.scale(4, 10, 100)
@pytest.mark.parametrize("item", [False, True])
def test_many_small_weeks_in_one_get_the_verdicts_of_each(
    collections_of: Make, rounds: int, item: bool
) -> None:
    codes: set[str] = set()
    for seed in range(rounds):
        chance = Random(f"settlement {seed} {item}")  # noqa: S311 - a repeatable choice
        rows: list[Row] = []
        lines: list[Row] = []
        booked: list[Row] = []
        for number in range(60):
            name = f"{number:02}"
            mine = [own(name, row) for row in drawn(chance, SERVICES, 8)]
            extra = [own(name, row) for row in drawn(chance, EXTRAS, 3)]
            rows += prepared(mine, name)
            for line in drawn(chance, BOOKED, 4):
                own_name = line["reference"] and line["reference"].replace("R", f"{name}R")
                own_name = own_name and own_name.replace("r", f"{name}r")
                booked.append({**own(name, line), "reference": own_name})
            change = [chance.choice(CHANGES) for _ in range(8)]
            lines += lines_of(prepared(mine, name), extra, change, item=item)
        kept = [own(chance.choice(["00", "01"]), line) for line in drawn(chance, CHARGES, 60)]
        kept += [line for line in kept if chance.random() < 0.2]
        lines = [{**line, "line_no": place} for place, line in enumerate([*kept, *lines], start=1)]
        booked += given_back(chance, rows, lines)
        owed = [
            {
                **{name: line[name] for name in ("channel", "currency", "collection_id")},
                "business_day": pd.Timestamp(line["day"]),
                "net": line["net"],
            }
            for line in lines
            if chance.random() < 0.1
        ]
        if item:
            # Of some days before the week nobody knew then that lines are for collections.
            owed += [
                {
                    **{name: row[name] for name in ("channel", "currency")},
                    "collection_id": None,
                    "net": row["amount"],
                    "business_day": pd.Timestamp(day_of(row["created_at"])),
                }
                for row in rows
                if day_of(row["created_at"]) <= WEEK.first and chance.random() < 0.6
            ]
        read = [line for line in lines if chance.random() < 0.2]
        days = frozenset(day for day in (START.date(), BEFORE) if chance.random() < 0.7)
        keys = {(row["channel"], row["currency"]) for row in rows if row["channel"]}
        payers = frozenset(key for key in sorted(keys) if chance.random() < 0.1)
        settled = frozenset(name for name in ("MPESA_TZ", "TIGO_TZ", "") if chance.random() < 0.3)
        before = Earlier(owed, read, days, payers, booked, settled)
        codes |= agree(collections_of, rows, lines, before, item=item)
    once = {"settlement_outside"} if item else {"settlement_unknown", REFUND_BOOKED}
    assert codes == set(SETTLEMENT) - once | (codes & once)


def given_back(chance: Random, rows: list[Row], lines: list[Row]) -> list[Row]:
    """Return lines of the books that give back some of what lines take back."""
    orders = {row["id"]: row["reference"] for row in rows}
    return [
        {
            "reference": f" {orders[line['collection_id']].lower()}",
            "currency": line["currency"],
            "amount": -abs(line["gross"] or line["net"]),
            "kind": chance.choice(BOOKED["kind"]),
            "status": chance.choice(BOOKED["status"]),
            "at": chance.choice(BOOKED["at"]),
        }
        for line in lines
        if line["net"] < 0 and line["collection_id"] in orders and chance.random() < 0.7
    ]


def own(world: str, row: Row) -> Row:
    named = {"currency": f"{row['currency']}{world}"}
    if row.get("collection_id"):
        named["collection_id"] = f"{world}{row['collection_id']}"
    return {**row, **named}


def agree(
    collections_of: Make,
    rows: list[Row],
    lines: list[Row],
    before: Earlier | None = None,
    *,
    item: bool,
) -> set[str]:
    """Hold the leg to the rules; return the codes that came."""
    before = before or Earlier()
    found = settlement.match(
        collections_of(*rows).sample(frac=1, random_state=len(rows)),
        statement_of(lines).sample(frac=1, random_state=len(lines)),
        period=WEEK,
        tolerance=TERMS,
        as_of=JUDGED,
        known=settlement.Known(
            owed=columns.frame(
                OWED, {name: [row[name] for row in before.owed] for name in OWED.columns}
            ),
            read=statement_of(before.read),
            days=dict.fromkeys(before.days, item),
            paid_by_operators=before.payers,
            settled_before=before.settled,
        ),
        books=books_of(*before.books),
    )
    columns.check(found.rows, SETTLED)
    ids = {row["id"] for row in rows}
    paying = [line for line in lines if line.get("kind") != "charge"]
    kept = [line for line in lines if line.get("kind") == "charge"]
    refunds = refunds_among(rows, paying, before)
    rows = [row for row in rows if (row["channel"], row["currency"]) not in before.payers]
    # Without a line that names a collection, a statement is one by day.
    item = item and bool(paying)
    if paying and not item and all(line["channel"] is None for line in paying):
        # It is of all channels together.
        rows = [{**row, "channel": None} for row in rows]
    wanted = judged(rows, paying, before, ids, refunds, item=item) + charged(kept, before)
    assert verdicts_of(found) == sorted(map(as_verdict, wanted), key=repr)
    standing = dict(zip(found.rows["break_code"], found.rows["standing"], strict=True))
    assert standing == {code: STANDING.get(code, BREAK) for code in standing}
    assert breaks_of(found) == sum(row["code"] not in STANDING for row in wanted)
    assert found.rows["lines"].sum() == len(lines)
    check_bridge(found.bridge, rows, lines, item=item)
    check_effects(found.bridge, wanted)
    then = [("business_day", first), ("channel", first), ("currency", first)]
    check_order(found.rows, SETTLEMENT, *then, ("collection_id", first), ("line_no", first))
    return {row["code"] for row in wanted}


def check_effects(bridge: pd.DataFrame, wanted: list[Row]) -> None:
    """Hold the rows between net and what was paid out to the verdicts."""
    effects: dict[Any, list[int]] = defaultdict(list)
    for row in wanted:
        effects[row["currency"], row["code"]].append(row["paid"] - row["net"])
    told = {
        (row.currency, row.line): (int(row.rows), int(row.amount))
        for row in columns.records(bridge)
        if row.line in SETTLEMENT
    }
    sums = {key: (len(amounts), sum(amounts)) for key, amounts in effects.items()}
    assert told == {key: sum_ for key, sum_ in sums.items() if sum_[1]}
