"""What an earlier period left open, judged again: cleared, still open or changed.

Opening + new - cleared ± changed = closing, for each currency and code of every leg, in rows and in
money; suspected double payments and late changes stay with the pack that said so.
A carried item of the books is matched again with everything that is known now: the lines that came
with it, the books given now, and the whole store. A payout is judged by what was paid since; items
of other legs as `carried_legs` says.
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping
from datetime import date
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.store.records import BreakStatus
from kusanya_books import columns
from kusanya_books.columns import (
    BREAKS,
    CARRIED,
    DUE,
    ITEMS,
    LEDGER,
    ROLLED,
)
from kusanya_books.columns.dtypes import is_missing, spelled
from kusanya_books.judge import (
    carried_legs,
    carried_payouts,
    findings,
    open_items,
    open_lines,
    postings,
    refunds_of_books,
    suspense,
)
from kusanya_books.judge.open_items import Item
from kusanya_books.judge.refunds_of_books import Refunds
from kusanya_books.match import break_life, ledger
from kusanya_books.match.bank import BankMatch
from kusanya_books.match.ledger import LedgerMatch
from kusanya_books.match.operator import OperatorMatch
from kusanya_books.match.settlement import SettlementMatch
from kusanya_books.request.earlier_period import BOOKS, STATEMENT, EarlierPeriod
from kusanya_books.request.report_inputs import Inputs

CLEARED: Final = "cleared"
STILL_OPEN: Final = "still open"
_CORRECTS: Final = "reversal_alone"
CHANGED: Final = "changed"


class RollForward(msgspec.Struct, frozen=True, kw_only=True):
    """How what was carried ended, and what is open now."""

    items: pd.DataFrame
    """What is open at the end, of this period and of earlier ones, as `ITEMS`."""
    carried: pd.DataFrame
    """One row per item that was carried, and how it ended."""
    expected: pd.DataFrame
    """Items of two periods that clear what was carried: nobody need look at them."""
    table: pd.DataFrame
    """The account: one row per leg, currency and code."""
    lines: pd.DataFrame
    """The lines of the books that a later run needs, as `LEDGER`."""
    explained: Mapping[postings.Key, int] = postings.NOTHING
    """What the entries have on the account for breaks and nothing open holds there any more."""
    cleared: Mapping[postings.Payout, int] = {}
    """How much of what was paid out is for what an earlier period waited for."""


class _Became:
    """What the rows of the books that were carried are among those that are open now.

    A row that was found again is itself. Of the others each may have become one row of its order
    that was not there before, as a line whose payment was found; where it could be one of several
    it stays what it was.
    """

    def __init__(self, judged: Mapping[str, Item], carried: list[Item]) -> None:
        self._judged = judged
        known = {item["break_id"] for item in carried}
        self._fresh: defaultdict[tuple[Any, ...], list[Item]] = defaultdict(list)
        for id_, item in judged.items():
            if id_ not in known:
                self._fresh[item["reference"], item["currency"]].append(item)

    def of(self, was: Item) -> Item | None:
        """Return what an item is now, None where nothing of its order is open that was not."""
        if was["break_id"] in self._judged:
            return self._judged[was["break_id"]]
        fresh = self._fresh[was["reference"], was["currency"]]
        if was["reference"] is None or not fresh:
            return None
        return fresh.pop() if len(fresh) == 1 else {**was, "finding": findings.of_carried(was)}


def roll(
    inputs: Inputs,
    items: pd.DataFrame,
    *,
    matched: LedgerMatch | None,
    payouts: SettlementMatch | None = None,
    bank: BankMatch | None = None,
    operator: OperatorMatch | None = None,
) -> RollForward:
    """Return what is open after a period that begins with what an earlier one left open.

    What became known of the earlier period since is judged as its own close would have judged it.
    A payout of it is paid by what `payouts` found to be of its day.
    """
    new = {item["break_id"]: item for item in columns.dicts(items)}
    own = None if matched is None else matched.rows
    carried = inputs.carried
    if carried is None:
        return _first_period(inputs, items, list(new.values()), own)
    books = inputs.books
    rows = _judge_books(inputs, carried, books)
    judged = {} if rows is None else _open(rows)
    other = carried_legs.judge(inputs, carried, new.values(), own=bank, of_operator=operator)
    rolled = list(filter(_is_rolled, columns.dicts(carried.items)))
    became = _Became(judged, rolled)
    settled = [item for item in rolled if item["leg"] == STATEMENT]
    refunds = Refunds(
        books, refunds_of_books.orders_of(inputs, settled, payouts), payouts, before=carried
    )
    since_due, not_paid_out = carried_payouts.due_of(
        settled, columns.empty(DUE) if carried.due_since is None else carried.due_since
    )
    said = inputs.statement if payouts is None else payouts.placed
    lines = columns.empty(columns.STATEMENT) if said is None else said
    since_paid, not_owed = carried_payouts.paid_of(
        settled, lines, since_due, known_days=carried.settled_days()
    )
    payers = inputs.paid_by_operators
    endings = [
        (
            was,
            # Its operator pays out itself, as is known now.
            None
            if was["leg"] == STATEMENT and (was["channel"], was["currency"]) in payers
            else _now(
                was,
                inputs,
                other.now,
                new,
                books=books,
                refunds=refunds,
                became=became,
                since_due=since_due,
                since_paid=since_paid,
            ),
        )
        for was in rolled
    ]
    taken = {one["break_id"] for pair in endings for one in pair if one is not None}
    left = [now for _, now in endings if now is not None]
    cleared = {order for was, now in endings if now is None for order in _orders(was)}
    expected = [
        item for item in new.values() if _is_expected(item, other.expected, cleared, judged)
    ]
    taken |= {item["break_id"] for item in expected}
    fresh = [item for id_, item in new.items() if id_ not in taken]
    of_days, cleared_since = carried_payouts.of_days(
        inputs, carried.settled_of(not_paid_out), not_owed, before=carried.settlement
    )
    cleared_since.update(carried_payouts.cleared(settled, since_paid, since_due))
    of_days = [item for item in of_days if (item["channel"], item["currency"]) not in payers]
    lacking = [*judged.values(), *other.since, *of_days]
    fresh += _known_since(inputs, carried, lacking, besides=taken | set(new))
    return RollForward(
        items=columns.from_dicts(ITEMS, [*fresh, *left]),
        carried=columns.from_dicts(
            CARRIED, [_account(was, now, span=_span(inputs)) for was, now in endings]
        ),
        expected=columns.from_dicts(ITEMS, expected),
        table=_table(endings, fresh),
        lines=carried.lines if inputs.ledger is None else open_lines.of(inputs, own, rows),
        explained={
            **suspense.explained(inputs.period, carried.period, endings, expected, since_due),
            **refunds.given_back,
        },
        cleared=cleared_since,
    )


def _first_period(
    inputs: Inputs, items: pd.DataFrame, new: list[Item], own: pd.DataFrame | None
) -> RollForward:
    """Return what is open after a period to which nothing was carried."""
    return RollForward(
        items=items,
        carried=columns.empty(CARRIED),
        expected=columns.empty(ITEMS),
        table=_table([], new),
        lines=open_lines.of(inputs, own),
    )


def _is_expected(
    item: Item,
    known: frozenset[str],
    cleared: set[tuple[Any, ...]],
    judged: Container[str],
) -> bool:
    """Return whether an item of two periods clears what was carried: by its id or its order.

    `judged` are the ids of what is open beside the earlier lines: a reversal that is not among them
    corrects one of them.
    """
    if item["status"] == BreakStatus.ACCEPTED.value:
        return False
    corrects = item["break_code"] == _CORRECTS and item["break_id"] not in judged
    is_of_cleared_order = not cleared.isdisjoint(_orders(item))
    may_clear = corrects or item["finding"] == findings.ACROSS
    return item["break_id"] in known or (may_clear and is_of_cleared_order)


def _judge_books(
    inputs: Inputs, carried: EarlierPeriod, books: pd.DataFrame | None
) -> pd.DataFrame | None:
    """Return the rows of what was carried, matched again; None where there is nothing to match.

    Without books nothing is proven: what was open stays open, and so does what they had of payments
    that are otherwise now.
    """
    items = carried.items[carried.items["leg"] == BOOKS]
    since = carried.ids_since(BOOKS)
    if books is None:
        # Whatever they say: what they had of such a payment is still in them.
        if not carried.otherwise_now:
            return None
        books = columns.empty(LEDGER)
    if items.empty and not since:
        return None
    keys = carried.keys()
    days = [*items["day"].dropna(), *carried.lines["booked_day"].dropna()]
    begins = carried.judged_from if since else inputs.period.first
    first = min([begins, *(day.date() for day in days)])
    found = ledger.match(
        carried_legs.known_collections(inputs, keys),
        _books(books, carried, inputs, keys),
        period=msgspec.structs.replace(inputs.period, first=first),
        tolerance=inputs.tolerance,
        as_of=inputs.judged_on,
        basis=inputs.basis,
        beside=ledger.Beside(
            other_mode=inputs.other_mode,
            intents=inputs.intents,
            books_from=_books_from(books, carried, inputs),
        ),
    )
    return break_life.with_life(found.rows, BREAKS, leg=BOOKS, inputs=inputs)


def _books_from(books: pd.DataFrame, carried: EarlierPeriod, inputs: Inputs) -> date:
    """Return the day from which the books are known, though few of their lines are looked at."""
    begins = carried.books_begin if carried.adjoins(inputs.period) else inputs.period.first
    earliest = books["booked_day"].min()
    return begins if pd.isna(earliest) else min(begins, earliest.date())


def _books(
    books: pd.DataFrame, carried: EarlierPeriod, inputs: Inputs, keys: pd.DataFrame
) -> pd.DataFrame:
    """Return the lines that speak of what was carried.

    By a name; of a carried line without one by the opposite amount.
    """
    before = carried.lines_before(books, inputs.period)
    nameless = before.loc[before["reference"].isna() & before["collection_id"].isna(), "amount"]
    named = spelled(books["reference"]).isin(spelled(keys["reference"]).dropna())
    named |= books["collection_id"].isin(keys["id"].dropna())
    named |= books["reference"].isna() & books["amount"].isin(-nameless)
    return pd.concat([books[named], before], ignore_index=True)


def _open(rows: pd.DataFrame) -> dict[str, Item]:
    """Return the judged rows that are open, by their id."""
    listed = open_items.of_books(rows[rows["break_id"].notna()], finding=findings.CARRIED)
    return {item["break_id"]: item for item in listed}


def _is_rolled(item: Item) -> bool:
    return item["leg"] in {BOOKS, STATEMENT} or carried_legs.is_carried(item)


def _now(
    was: Item,
    inputs: Inputs,
    legs: Mapping[str, Item | None],
    new: dict[str, Item],
    *,
    books: pd.DataFrame | None,
    refunds: Refunds,
    became: "_Became",
    since_due: Mapping[str, int],
    since_paid: Mapping[str, int],
) -> Item | None:
    """Return what a carried item is now, None where it is cleared."""
    if was["leg"] in carried_legs.LEGS:
        now = legs[was["break_id"]]
    elif was["leg"] == STATEMENT:
        id_ = was["break_id"]
        now = carried_payouts.now(
            was, inputs, due=since_due.get(id_, 0), paid=since_paid.get(id_, 0)
        )
        if now is not None and refunds.clears_payout(was, now):
            return None
    elif books is None:
        now = {**was, "finding": findings.of_carried(was)}
    elif refunds.clears(was):
        return None
    else:
        now = became.of(was)
    if now is None:
        return None
    since = was["carried_from"] or _span(inputs)
    own = {"carried_from": since, "suspended": suspense.suspended(was, now, since_due)}
    # In the period's own list too: it is one thing, and counted there.
    return open_items.decided({**new.get(now["break_id"], now), **own}, inputs)


def _orders(item: Item) -> set[tuple[Any, ...]]:
    """Return by which names an item's order is known."""
    names = ("reference", "collection_id")
    orders = {(name, item[name]) for name in names if not is_missing(item.get(name))}
    return orders if is_missing(item["subject"]) else orders | {("subject", item["subject"])}


def _known_since(
    inputs: Inputs, carried: EarlierPeriod, lacking: list[Item], *, besides: set[str]
) -> Iterator[Item]:
    """Yield what lacks of payments that became known since, but for what is listed already."""
    ids = carried.otherwise_now if inputs.books is None else carried.ids_since(BOOKS)
    for item in lacking:
        known = ids if item["leg"] == BOOKS else carried.ids_since(item["leg"])
        is_of_them = item["leg"] == STATEMENT or item["collection_id"] in known
        if is_of_them and item["break_id"] not in besides:
            yield open_items.decided({**item, "carried_from": _span(inputs)}, inputs)


def _span(inputs: Inputs) -> str | None:
    return None if inputs.carried is None else suspense.name_of(inputs.carried.period)


def _account(was: Item, now: Item | None, *, span: str | None) -> Item:
    same = now is not None and suspense.state_of(was) == suspense.state_of(now)
    ended = {} if now is None else now
    return {
        **{name: was[name] for name in ("break_id", "leg", "reference", "collection_id")},
        **{name: was[name] for name in ("currency", "day")},
        "carried_from": was["carried_from"] or span,
        "ending": CLEARED if now is None else STILL_OPEN if same else CHANGED,
        "break_code": was["break_code"],
        "amount": was["amount"],
        "break_code_now": ended.get("break_code"),
        "amount_now": ended.get("amount"),
        **{name: ended.get(name) for name in ("status", "owner", "note", "suggested_action")},
    }


def _table(endings: list[tuple[Item, Item | None]], fresh: list[Item]) -> pd.DataFrame:
    """Return the account: what each code began with, what came and went, and what is left.

    What is left is counted by itself, so that an item lost on the way does not foot.
    """
    sums: defaultdict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)

    def add(item: Item, part: str) -> None:
        bucket = sums[item["leg"], item["currency"], item["break_code"]]
        bucket[f"rows_{part}"] += 1
        bucket[f"amount_{part}"] += int(item["amount"])

    for was, now in endings:
        add(was, "opening")
        if now is None:
            add(was, "cleared")
        elif suspense.state_of(was) != suspense.state_of(now):
            add(was, "changed_away")
            add(now, "changed_to")
    own = [item for item in fresh if _is_rolled(item)]
    for item in own:
        add(item, "new")
    for item in [*own, *(now for _, now in endings if now is not None)]:
        add(item, "closing")
    rows = []
    for leg, currency, code in sorted(sums, key=lambda key: tuple(map(str, key))):
        found = sums[leg, currency, code]
        foots = all(
            found[f"{what}_opening"]
            + found[f"{what}_new"]
            - found[f"{what}_cleared"]
            - found[f"{what}_changed_away"]
            + found[f"{what}_changed_to"]
            == found[f"{what}_closing"]
            for what in ("rows", "amount")
        )
        parts = {name: found[name] for name in ROLLED.columns if name.startswith(("rows", "amo"))}
        rows.append({"leg": leg, "currency": currency, "break_code": code, **parts, "foots": foots})
    return columns.from_dicts(ROLLED, rows)
