"""What legs against a statement share, written as plain loops: bridges, copies and many months."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from itertools import pairwise
from random import Random
from typing import Any

import pandas as pd

from kusanya.domain.business_day import EAT
from kusanya_books import columns
from kusanya_books.columns import LEG_BRIDGE
from kusanya_books.match.breaks.rule import BreakRule
from kusanya_books.request.days import Period

Row = dict[str, Any]
Counted = tuple[str | None, str, str, int, Any]
"""The channel, the currency, the code, the sum, and the row that it stands in."""


def day_of(at: datetime) -> date:
    return at.astimezone(EAT).date()


def drawn(chance: Random, fields: Mapping[str, Sequence[Any]], most: int) -> list[Row]:
    """Return up to so many rows, each field of them by chance."""
    return [
        {name: chance.choice(values) for name, values in fields.items()}
        for _ in range(chance.randint(0, most))
    ]


def copies(lines: Iterable[Row], *said: str) -> set[int]:
    """Return the numbers of completed lines with a receipt that say what an earlier one says."""
    seen = set()
    found = set()
    for line in sorted(lines, key=lambda line: (line["input"], line["line_no"])):
        says = tuple(line[name] for name in said)
        if line["receipt"] is not None and line["status"] == "completed":
            if says in seen:
                found.add(line["line_no"])
            seen.add(says)
    return found


class Run:
    """Lines of one file whose balances lead from one to the next."""

    def __init__(self, place: tuple[str, int], opening: int, line: Row) -> None:
        self.place = place
        self.opening, self.closing = opening, line["balance"]
        self.at = [line["at"]]

    def goes_on(self, line: Row) -> None:
        """Take one line more."""
        self.closing = line["balance"]
        self.at.append(line["at"])


def balances(
    lines: list[Row], period: Period, *, at_bank: bool
) -> dict[tuple[str | None, str], dict[str, int]]:
    """Return what the balances of each account say, where its lines say any: its bridge's lines."""
    files: dict[Any, list[Row]] = defaultdict(list)
    for line in sorted(lines, key=lambda line: line["line_no"]):
        files[line["channel"], line["currency"], line["input"]].append(line)
    parts: dict[Any, dict[str, list[list[Row]]]] = defaultdict(dict)
    moved: Counter[Any] = Counter()
    for line in lines:
        if line["status"] == "completed" and period.first <= day_of(line["at"]) <= period.last:
            moved[line["channel"], line["currency"]] += line["amount"]
    fields = ("currency", "receipt", "kind", "status", "amount", "at", "balance", "details")
    said_again = copies(lines, "channel", *fields)
    for (*account, name), said in files.items():
        whole = [
            line
            for line in said
            if line["status"] == "completed" and line["line_no"] not in said_again
        ]
        if not whole:
            continue
        ordered = _oldest_first(whole)
        of_period = [period.first <= day_of(line["at"]) <= period.last for line in ordered]
        if not any(of_period):
            continue
        # Lines of other days that stand between those of the period lead on too.
        first, back = of_period.index(True), of_period[::-1].index(True)
        counted = ordered[first : len(ordered) - back]
        if any(line["balance"] is not None for line in counted):
            parts[tuple(account)][name] = _parts(counted)
    return {
        account: _said(of_files, moved[account], at_bank=at_bank)
        for account, of_files in parts.items()
    }


def _oldest_first(lines: list[Row]) -> list[Row]:
    """Return a file's lines as they stand, or turned; else by time, if more balances lead on so."""
    turned = lines if lines[0]["at"] <= lines[-1]["at"] else lines[::-1]
    by_time = sorted(turned, key=lambda line: line["at"])
    return by_time if _apart(by_time) < _apart(turned) else turned


def _apart(lines: list[Row]) -> int:
    found = 0
    for before, part in pairwise(_parts(lines)[:-1]):
        step = part[-1]["balance"] - before[-1]["balance"]
        amount = _sum(part, "amount")
        found += step not in {amount, amount - _sum(part, "fee")}
    return found


def _parts(lines: list[Row]) -> list[list[Row]]:
    """Return the lines up to each balance; last what comes after the last one."""
    found: list[list[Row]] = [[]]
    for line in lines:
        found[-1].append(line)
        if line["balance"] is not None:
            found.append([])
    return found


def _takes_fees(files: Iterable[list[list[Row]]]) -> bool:
    votes: Counter[str] = Counter()
    for parts in files:
        for before, part in pairwise(parts[:-1]):
            step = part[-1]["balance"] - before[-1]["balance"]
            amount = _sum(part, "amount")
            ways = {amount: "amount", amount - _sum(part, "fee"): "net"}
            votes[ways.get(step, "")] += len(ways) > 1
    return votes["net"] > votes["amount"]


def _runs(name: str, parts: list[list[Row]], *, takes_fees: bool) -> list[Run]:
    runs: list[Run] = []
    *parts, tail = parts
    for part in parts:
        moved = _sum(part, "amount") - (_sum(part, "fee") if takes_fees else 0)
        opening = part[-1]["balance"] - moved
        if runs and runs[-1].closing == opening:
            runs[-1].goes_on(part[-1])
        else:
            runs.append(Run((name, len(runs)), opening, part[-1]))
    runs[-1].closing += _sum(tail, "amount") - (_sum(tail, "fee") if takes_fees else 0)
    return runs


def _sum(lines: Iterable[Row], name: str) -> int:
    return sum(line.get(name) or 0 for line in lines)


def _said(files: Mapping[str, list[list[Row]]], moved: int, *, at_bank: bool) -> dict[str, int]:
    """Return a bridge's lines of one account: a run goes on where another one ended."""
    takes_fees = _takes_fees(files.values())
    runs = [
        run for name, parts in files.items() for run in _runs(name, parts, takes_fees=takes_fees)
    ]
    every = [line for parts in files.values() for part in parts for line in part]
    said, fees = _sum(every, "amount"), _sum(every, "fee") if takes_fees else 0
    opening = denied = 0
    starts, ended = _loose(runs)
    in_file = {
        id(run): _last_before(run, [one for one in ended if one.place[0] == run.place[0]])
        for run in starts
    }
    left = [one for one in ended if all(one is not used for used in in_file.values())]
    for run in starts:
        last = in_file[id(run)] or _last_before(run, left)
        days = {day_of(at) for at in (*run.at, *(last.at if last else ()))}
        if last and (at_bank or last.place[0] != run.place[0]) and len(days) == 1:
            last = None
        if last is None:
            opening += run.opening
        else:
            denied += run.opening - last.closing
    found = {"opening balance": opening}
    if said != moved:
        found["without a balance"] = said - moved
    if fees:
        found["fees in the balances"] = -fees
    found["closing balance"] = opening + said - fees + denied
    return {**found, "not in the balances": denied}


def _loose(runs: list[Run]) -> tuple[list[Run], list[Run]]:
    """Return the runs whose beginning no end leads to, and those whose end leads to none."""
    moving = [run for run in runs if run.opening != run.closing]
    starts = sorted(moving, key=lambda run: (min(run.at), run.place))
    ended = sorted(moving, key=lambda run: (max(run.at), run.place))
    for value in {run.opening for run in moving}:
        came = [run for run in ended if run.closing == value][::-1]
        went = [run for run in starts if run.opening == value][::-1]
        for end, start in zip(came, went, strict=False):
            ended.remove(end)
            starts.remove(start)
    known = {value for run in moving for value in (run.opening, run.closing)}
    for run in sorted(runs, key=lambda run: (min(run.at), run.place)):
        if run.opening == run.closing and run.opening not in known:
            known.add(run.opening)
            starts.append(run)
            ended.append(run)
    return starts, ended


def _last_before(run: Run, ended: Iterable[Run]) -> Run | None:
    before = [
        one
        for one in ended
        if (max(one.at), one.place) < (min(run.at), run.place) and one is not run
    ]
    return max(before, key=lambda one: (max(one.at), one.place), default=None)


def bridge(
    names: tuple[str, str],
    lines: list[Row],
    others: list[Counted],
    counted: list[Counted],
    period: Period,
) -> set[tuple[Any, ...]]:
    """Return the bridge's rows from lines to others: channel, currency, line, rows and amount.

    `counted` are the lines of the period as `others` are, with the code of the row of each.
    """
    both = [*((one, 1) for one in counted), *((one, -1) for one in others)]
    effects: dict[Any, int] = defaultdict(int)
    places: dict[Any, set[Any]] = defaultdict(set)
    for (channel, currency, code, amount, row), sign in both:
        effects[channel, currency, code] += sign * amount
        places[channel, currency, code].add(row)
    found = {(*key, len(places[key]), -amount) for key, amount in effects.items()}
    for account in {key[:2] for key in effects}:
        for name, side in zip(names, (counted, others), strict=True):
            sums = [one[3] for one in side if one[:2] == account]
            found.add((*account, name, len(sums), sum(sums)))
        found.add((*account, "unexplained", 0, 0))
    for account, said in balances(lines, period, at_bank=names[0] == "bank total").items():
        found |= {(*account, line, 0, amount) for line, amount in said.items()}
    return found


def bridge_rows(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return the rows of a bridge as `bridge` tells them."""
    columns.check(frame, LEG_BRIDGE)
    return [
        (
            None if pd.isna(row.channel) else row.channel,
            row.currency,
            row.line,
            int(row.rows),
            int(row.amount),
        )
        for row in columns.records(frame)
    ]


def places_of(
    lines: list[Row], standings: Mapping[int, str], period: Period
) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Return rows and sums of each file's lines of the period, by currency and standing."""
    sums: dict[Any, list[int]] = defaultdict(list)
    for line in lines:
        if period.first <= day_of(line["at"]) <= period.last:
            key = (line["input"], line["currency"], standings[line["line_no"]])
            sums[key].append(line["amount"])
    return {key: (len(amounts), sum(amounts)) for key, amounts in sums.items()}


def place_rows(frame: pd.DataFrame) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Return the rows of places as `places_of` tells them."""
    return {
        (row.input, row.currency, row.standing): (int(row.rows), int(row.amount))
        for row in columns.records(frame)
    }


def check_bridge_order(frame: pd.DataFrame, rules: Iterable[str], *ends: str) -> None:
    """Hold a bridge to its order: by account, from one total over the rules to the other."""
    total, other = ends
    after = (
        *("unexplained", "opening balance", "without a balance", "fees in the balances"),
        *("closing balance", "not in the balances"),
    )
    fees_ = ("operator fees", "service fees", "fee difference")
    places = [total, *rules, other, *after, *fees_]
    keys = [
        (first(row.channel), row.currency, places.index(row.line)) for row in columns.records(frame)
    ]
    assert keys == sorted(keys)


def first(value: Any) -> tuple[bool, Any]:
    """Return a key of sorting that puts what is missing first."""
    return (False, 0) if pd.isna(value) else (True, value)


def last(value: Any) -> tuple[bool, Any]:
    """Return a key of sorting that puts what is missing last."""
    return (True, 0) if pd.isna(value) else (False, value)


def oldest(value: Any) -> int:
    """Return a key of sorting that puts the greatest age first."""
    return -int(value)


def check_order(
    rows: pd.DataFrame, rules: Mapping[str, BreakRule], *then: tuple[str, Callable[[Any], Any]]
) -> None:
    """Hold rows to their order: breaks first, then what is expected, each in its rules' order."""
    standings = ["break", "expected", "ok"]
    places = list(rules)
    keys = [
        (
            standings.index(row.standing),
            places.index(row.break_code),
            *(key(getattr(row, name)) for name, key in then),
        )
        for row in columns.records(rows)
    ]
    assert keys == sorted(keys)
    assert all(
        rules[row.break_code].standing.value == row.standing for row in columns.records(rows)
    )
    assert all(
        rules[row.break_code].action == row.suggested_action for row in columns.records(rows)
    )


def check_brief(rows: pd.DataFrame, brief: pd.DataFrame) -> None:
    """Hold what is listed without what agrees to the whole list."""
    left = rows[rows["standing"] != "ok"].reset_index(drop=True)
    pd.testing.assert_frame_equal(brief, left)
