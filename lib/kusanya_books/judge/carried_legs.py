"""What operators' and banks' statements and the fee audit left open, judged again.

An item is matched again with the lines that came with it, those given now, and the whole store. It
is cleared where its line, payment or payout agrees now; where a line that came since is of exactly
what was open and names it, or is the only one of that amount on either side; where fees for many
payments are too low by what they were too high, or by what those of single payments were, all
together or those of a month; where the books have the chargeback or reversal that was to be booked.
What cannot be seen again stays open.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import BANK_MATCHES, COLLECTIONS, KEYS, MOVEMENTS, OPERATOR_MATCHES
from kusanya_books.columns.dtypes import is_missing, spelled
from kusanya_books.engine.engine import query
from kusanya_books.engine.engines import open_engine
from kusanya_books.judge import fees, findings, open_items
from kusanya_books.judge.open_items import BANK, FEES, OPERATOR, Item
from kusanya_books.match import bank, breaks, operator
from kusanya_books.match.balances import ENDS, said_again
from kusanya_books.match.bank import BankMatch
from kusanya_books.match.legs import gives_back
from kusanya_books.match.operator import OperatorMatch
from kusanya_books.request.days import Period
from kusanya_books.request.earlier_period import (
    BOOKS,
    REMEMBERED,
    SHOWN,
    SHOWN_NAMES,
    EarlierPeriod,
)
from kusanya_books.request.report_inputs import Inputs

LEGS: Final = frozenset({OPERATOR, BANK, FEES})
_BOOKED_BY: Final = frozenset(code for code, rule in breaks.OPERATOR.items() if rule.refund_clears)
_LEFT_ALONE: Final = frozenset({"bank_other_credit", "bank_debit"})
"""Lines of the bank that nothing explains: one of them may be what an open item waited for."""
_WORDS: Final = re.compile(r"[a-z0-9-]+")
_NOT_REACHED: Final = "operator_not_reached"
_MISSING: Final = "operator_missing"
_FEE_OF_ONE: Final = "operator_fee_differs"
_FEES_OF_MANY: Final = "operator_fees_differ"


def is_carried(item: Item) -> bool:
    """Return whether an item of these legs is open: what agrees in two periods is not."""
    if item["leg"] == FEES:
        # Without an agreed tariff nobody counts it.
        return item["finding"] is not None
    return item["leg"] in LEGS and item["break_code"] not in findings.ACROSS_CODES


class Judgement(msgspec.Struct, frozen=True):
    """How the carried items of these legs ended."""

    now: dict[str, Item | None]
    """By the id of each: what it is now, None where it is cleared."""
    expected: frozenset[str]
    """Ids of the period's own items that clear what was carried."""
    since: list[Item] = []
    """What no operator has of what became known since, as its own period would have listed it."""


def judge(
    inputs: Inputs,
    carried: EarlierPeriod,
    new: Collection[Item],
    *,
    own: BankMatch | None,
    of_operator: OperatorMatch | None = None,
) -> Judgement:
    """Return what the carried items of operators, banks and fees are now.

    `new` are the period's own items, `own` and `of_operator` are its matches of the statements.
    """
    was = [item for item in columns.dicts(carried.items) if is_carried(item)]
    known = carried.ids_since(OPERATOR)
    if not was and not known:
        return Judgement({}, frozenset())
    days = [item["day"].date() for item in was if item["day"] is not None]
    first = carried.judged_from if known else inputs.period.first
    span = msgspec.structs.replace(inputs.period, first=min([first, *days]))
    collections = known_collections(inputs, carried.keys())
    moved = carried.with_movements(inputs.moved)
    now: dict[str, Item | None] = {}
    parts = {leg: [item for item in was if item["leg"] == leg] for leg in LEGS}
    since: list[Item] = []
    if parts[OPERATOR] or known:
        given = {*inputs.operator_channels, *carried.operators}
        rows = list(_operator(inputs, collections, moved, span, given))
        now |= _again(inputs, parts[OPERATOR], rows)
        since = [row for row in rows if row["collection_id"] in known and _still(row)]
    if parts[BANK]:
        now |= _again(inputs, parts[BANK], list(_bank(inputs, carried, span)))
    now |= _fees(inputs, collections, parts[FEES], span)
    at_bank = columns.empty(BANK_MATCHES) if own is None else own.rows
    booked = _booked_now(
        columns.empty(OPERATOR_MATCHES) if of_operator is None else of_operator.rows
    )
    offsets = _Offsets(inputs, new, at_bank, booked)
    for item in was:
        left = now[item["break_id"]]
        if left is None or left["leg"] == FEES:
            continue
        if offsets.clear_fees(left) or offsets.clear_named(item, left):
            now[item["break_id"]] = None
    _clear_reversals(was, now)
    rest = [{**item, "break_id": id_} for id_, item in now.items() if item is not None]
    for id_ in offsets.clear_fees_together(rest):
        now[id_] = None
    for id_ in offsets.clear_alone([item for item in rest if item["leg"] == BANK]):
        now[id_] = None
    listed = [_counted(item) for item in open_items.numbered(inputs, since)]
    return Judgement(now, frozenset(offsets.expected), listed)


def to_carry(
    inputs: Inputs,
    items: pd.DataFrame,
    of_operator: OperatorMatch | None,
    of_bank: BankMatch | None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the lines of movements and of the settlement statement that a later run needs.

    Of an operator every line that names what is open, so that a second payment is not taken for the
    first; of a bank all lines and payouts since its first open item, so that a credit is not taken
    for another payout's. Without a bank's statement the payouts that may be credited after the
    period: the next one may be given. And what the bank has shown: it may be taken back; and the
    last balances, which the next statements begin with.
    """
    open_ = [item for item in columns.dicts(items) if is_carried(item)]
    every = inputs.at_bank
    if inputs.carried is not None:
        every = inputs.carried.with_movements(every)
        every = every[every["leg"].isin(ENDS)]
    open_at_bank = [item for item in open_ if item["leg"] == BANK]
    shown = _shown(inputs, of_bank, {item["subject"] for item in open_at_bank})
    keep = _names(inputs, every, [item for item in open_ if item["leg"] == OPERATOR])
    first = None
    awaited = pd.Timestamp(inputs.period.last) - pd.Timedelta(days=inputs.tolerance.settle_days)
    if open_at_bank:
        widened = pd.Timedelta(days=inputs.tolerance.widen_days)
        first = min(item["day"] for item in open_at_bank) - widened
    elif not inputs.has_bank:
        first = awaited
    payouts = every["kind"] == "payout"
    if inputs.perhaps_at_bank:
        # Nobody waits for one of these; the bank may show it all the same.
        is_new = ~every["receipt"].isin(shown["receipt"])
        keep |= payouts & is_new & (every["business_day"] >= awaited)
    if first is not None:
        keep |= (every["leg"] == "bank") & (every["business_day"] >= first)
    # What was credited after the period is on the next statement of the bank once more.
    beyond = shown[shown["at"].dt.tz_localize(None) > pd.Timestamp(inputs.period.last)]
    since = min([*beyond["business_day"], *([] if first is None else [first])], default=None)
    if since is not None:
        keep |= payouts & (every["business_day"] >= since)
    ends = [leg.balances.ends for leg in (of_operator, of_bank) if leg is not None]
    kept = every[keep & ~every.index.isin(said_again(every))]
    kept = pd.concat([kept, shown, *ends], ignore_index=True)
    return columns.frame(MOVEMENTS, kept), _payouts(inputs, since)


def _shown(inputs: Inputs, of_bank: BankMatch | None, open_: set[str]) -> pd.DataFrame:
    """Return the payouts that the bank has shown of late and none is `open_` of, as MOVEMENTS."""
    known = columns.empty(MOVEMENTS) if inputs.carried is None else inputs.carried.shown
    if of_bank is not None:
        rows = of_bank.rows
        met = rows[rows["match_rule"].notna() & (rows["amount_payout"] > 0)]
        of_groups = rows.groupby("group_key")["bank_day"].transform("max")
        bank_days = met["bank_day"].fillna(of_groups)
        fields: dict[str, Any] = {
            **dict.fromkeys(MOVEMENTS.columns),
            "input": SHOWN,
            "line_no": 0,
            "leg": SHOWN,
            "kind": "payout",
            "status": "completed",
            "channel": met["channel"],
            "currency": met["currency"],
            "business_day": met["payout_day"],
            "at": bank_days.dt.tz_localize("UTC"),
            "receipt": met["payout"],
            "amount": -met["amount_payout"],
        }
        new = columns.frame(MOVEMENTS, pd.DataFrame(fields, index=met.index))
        known = pd.concat([known, new], ignore_index=True)
    is_recent = known["business_day"] >= pd.Timestamp(inputs.period.last - REMEMBERED)
    newest = (
        known[is_recent & ~known["receipt"].isin(open_)]
        .drop_duplicates(["currency", "receipt"], keep="last")
        .sort_values("business_day", kind="stable")
    )
    return newest.tail(SHOWN_NAMES)


def _payouts(inputs: Inputs, first: pd.Timestamp | None) -> pd.DataFrame:
    known = inputs.carried.with_payouts(inputs.statement) if inputs.carried else inputs.statement
    if known is None or first is None:
        return columns.empty(columns.STATEMENT)
    is_since = ~(known["business_day"] < first)
    # A batch is paid as a whole, of however many days it is.
    batches = known.loc[is_since, "batch_id"].dropna()
    return columns.frame(columns.STATEMENT, known[is_since | known["batch_id"].isin(batches)])


def _names(inputs: Inputs, every: pd.DataFrame, of_operator: list[Item]) -> "pd.Series[bool]":
    """Return which lines of operators name what is open, by any of its names."""
    if not of_operator:
        return pd.Series(False, every.index)
    keys = columns.frame(
        KEYS,
        {
            "id": [item["collection_id"] for item in of_operator],
            "reference": [item["reference"] for item in of_operator],
        },
    )
    known = known_collections(inputs, keys)
    ids = {*keys["id"].dropna(), *known["id"]}
    names = {_key(item[name]) for item in of_operator for name in ("subject", "reference")}
    names |= {_key(reference) for reference in known["reference"].dropna()}
    if inputs.receipts is not None:
        mine = inputs.receipts[inputs.receipts["collection_id"].isin(ids)]
        names |= {_key(receipt) for receipt in mine["receipt"]}
    lines = {(item["row_no"], item["day"]) for item in of_operator}
    named = every["collection_id"].isin(ids).fillna(value=False)
    for column in ("reference", "receipt"):
        named |= spelled(every[column]).isin(names - {None}).fillna(value=False)
    placed = zip(every["line_no"], every["business_day"], strict=True)
    named |= pd.Series([place in lines for place in placed], every.index)
    return named & (every["leg"] == "operator")


def known_collections(inputs: Inputs, keys: pd.DataFrame) -> pd.DataFrame:
    """Return what is known of collections that an earlier period left open, by their `keys`."""
    outside = columns.empty(COLLECTIONS) if inputs.outside is None else inputs.outside
    with open_engine(inputs.collections) as engine:
        engine.register("loaded", inputs.collections, COLLECTIONS)
        engine.register("outside", outside, COLLECTIONS)
        engine.register("keys", keys, KEYS)
        return engine.frame(query("inputs/carried_collections"), COLLECTIONS)


def _operator(
    inputs: Inputs,
    collections: pd.DataFrame,
    moved: pd.DataFrame,
    span: Period,
    given: Collection[str],
) -> Iterator[Item]:
    found = operator.match(
        collections,
        moved,
        period=span,
        tolerance=inputs.tolerance,
        as_of=inputs.judged_on,
        intents=inputs.intents,
        receipts=inputs.receipts,
        given=given,
    )
    return open_items.of_operator(found.rows)


def _bank(inputs: Inputs, carried: EarlierPeriod, span: Period) -> Iterator[Item]:
    found = bank.match(
        carried.with_movements(inputs.at_bank),
        carried.with_payouts(inputs.statement),
        period=span,
        tolerance=inputs.tolerance,
        as_of=inputs.judged_on,
    )
    return open_items.of_bank(found.rows)


def _again(inputs: Inputs, was: list[Item], rows: list[Item]) -> dict[str, Item | None]:
    """Return what each item is among the rows of a match: the same, another one, or cleared."""
    numbered = list(open_items.numbered(inputs, filter(_still, rows)))
    by_id = {row["break_id"]: row for row in numbered}
    by_name = {name: row for row in numbered for name in _row_names(row)}
    # A line that nothing meets is expected money out or in by itself: it agrees with nothing, and
    # clears no break of its own, as where a payout that was taken back is not known any more.
    met = [row for row in rows if not _still(row) and row["break_code"] not in _LEFT_ALONE]
    agreeing = {name for row in met for name in _row_names(row)}
    found: dict[str, Item | None] = {}
    for item in was:
        name = item["subject"]
        row = by_id.get(item["break_id"]) or by_name.get(name)
        if item["break_code"] == _FEES_OF_MANY:
            # Its payments were not carried: their fees cannot be added up again.
            found[item["break_id"]] = item
        elif row is None:
            found[item["break_id"]] = None if name in agreeing else item
        elif (item["break_code"], row["break_code"]) == (_MISSING, _NOT_REACHED):
            found[item["break_id"]] = item
        else:
            found[item["break_id"]] = row
    return {id_: None if now is None else _counted(now) for id_, now in found.items()}


def _counted(item: Item) -> Item:
    return {**item, "finding": findings.CARRIED if item["standing"] == "break" else None}


def _still(row: Item) -> bool:
    return open_items.is_open(row) and row["break_code"] not in findings.ACROSS_CODES


def _row_names(row: Item) -> set[str]:
    """Return by which names a row is or was known; its currency may have been what was wrong.

    A line that meets its other side is called by that from then on, and was called by its day.
    """
    names = (row["subject"], row.get("collection_id"), row.get(open_items.LINE))
    return {str(name) for name in names if not is_missing(name)}


def _fees(
    inputs: Inputs, collections: pd.DataFrame, was: list[Item], span: Period
) -> dict[str, Item | None]:
    """Return what each fee is beside the tariff that is given now; without one, what it was."""
    if inputs.tariff is None:
        return {item["break_id"]: _counted(item) for item in was}
    known = set(collections["id"])
    wrong = fees.exceptions(
        collections, period=span, tariff=inputs.tariff, tolerance=inputs.tolerance
    )
    listed = open_items.numbered(inputs, open_items.of_fees(wrong, is_agreed=True))
    rows = {row["break_id"]: row for row in listed}
    found: dict[str, Item | None] = {}
    for item in was:
        row = rows.get(item["break_id"], item if item["collection_id"] not in known else None)
        found[item["break_id"]] = None if row is None else _counted({**item, **row})
    return found


class _Offsets:
    """Lines that came since, each of which may clear one open item of its amount."""

    def __init__(
        self,
        inputs: Inputs,
        new: Collection[Item],
        own: pd.DataFrame,
        booked_now: Mapping[tuple[Any, ...], int],
    ) -> None:
        self._movements, self._books = inputs.moved, inputs.books
        self._new = [item for item in new if item["leg"] in LEGS]
        self._of_books = {item["row_no"]: item for item in new if item["leg"] == BOOKS}
        alone = own[(own["standing"] == "break") | own["break_code"].isin(_LEFT_ALONE)]
        self._alone = set(zip(alone["input"], alone["line_no"], strict=True))
        self._used: set[int] = set()
        self._booked: set[int] = set()
        self._booked_now = booked_now
        self.expected: set[str] = set()

    def _lines(self, item: Item) -> list[Any]:
        """Return the lines of an item's leg that came after it and are of what is open."""
        if is_missing(item["balance"]) or not item["balance"]:
            return []
        movements = self._movements
        mine = (movements["leg"] == item["leg"]) & (movements["currency"] == item["currency"])
        mine &= (movements["amount"] == -item["balance"]) & (movements["status"] == "completed")
        mine &= movements["business_day"] > item["day"]
        found = columns.records(movements[mine.fillna(value=False)])
        return [line for line in found if line.Index not in self._used]

    def clear_named(self, was: Item, now: Item) -> bool:
        """Return whether a line names what is open, or the books have what was to be booked."""
        line = next((each for each in self._lines(now) if _named(each, was)), None)
        if line is not None:
            self._use(line)
            return True
        return was["break_code"] in _BOOKED_BY and self._is_booked(was)

    def clear_fees(self, left: Item) -> bool:
        """Return whether the period's fees for many payments differ by the opposite: given back."""
        return left["break_code"] == _FEES_OF_MANY and self._is_given_back([left])

    def clear_fees_together(self, left: list[Item]) -> Iterator[str]:
        """Yield the ids of fees of single payments that are given back in one sum."""
        found: defaultdict[Any, list[Item]] = defaultdict(list)
        for item in left:
            if item["break_code"] == _FEE_OF_ONE and not is_missing(item["balance"]):
                account = item["channel"], item["currency"]
                found[account].append(item)
                found[(*account, f"{item['day']:%Y-%m}")].append(item)
        cleared: set[str] = set()
        # All that is open first: it may be what one month has alone.
        for key in sorted(found, key=lambda key: (len(key), repr(key))):
            ids = {item["break_id"] for item in found[key]}
            if cleared.isdisjoint(ids) and self._is_given_back(found[key]):
                cleared |= ids
        yield from cleared

    def _is_given_back(self, left: list[Item]) -> bool:
        """Return whether fees of the period for many payments are of the opposite sum."""
        one, balance = left[0], sum(int(item["balance"]) for item in left)
        wanted = _FEES_OF_MANY, one["channel"], one["currency"], -balance
        for item in self._new:
            said = tuple(item[name] for name in ("break_code", "channel", "currency", "balance"))
            if said == wanted and item["break_id"] not in self.expected:
                self.expected.add(item["break_id"])
                return True
        return False

    def clear_alone(self, left: list[Item]) -> Iterator[str]:
        """Yield the ids of the bank's items for which one line, and no other item, is left."""
        many = Counter((item["currency"], item["balance"]) for item in left)
        for item in left:
            found = [
                each for each in self._lines(item) if (each.input, each.line_no) in self._alone
            ]
            if len(found) == many[item["currency"], item["balance"]] == 1:
                self._use(found[0])
                yield item["break_id"]

    def _use(self, line: Any) -> None:
        self._used.add(line.Index)
        name = line.leg, line.line_no, line.currency, abs(int(line.amount))
        for item in self._new:
            if (item["leg"], item["row_no"], item["currency"], item["amount"]) == name:
                self.expected.add(item["break_id"])

    def _is_booked(self, was: Item) -> bool:
        if self._books is None or was["reference"] is None:
            return False
        lines = self._books
        mine = gives_back(lines) & (lines["currency"] == was["currency"])
        mine &= spelled(lines["reference"]) == _key(was["reference"])
        mine &= (lines["amount"] == -was["amount"]) & ~lines["row_no"].isin(self._booked)
        every = [int(row) for row in lines.loc[mine.fillna(value=False), "row_no"]]
        name = _key(was["reference"]), was["currency"], -was["amount"]
        # The first ones are of the lines that this period's statements have themselves.
        found = every[self._booked_now.get(name, 0) :]
        for row in found[:1]:
            self._booked.add(row)
            if row in self._of_books:
                self.expected.add(self._of_books[row]["break_id"])
        return bool(found)


def _booked_now(rows: pd.DataFrame) -> Counter[tuple[Any, ...]]:
    """Return how many lines of the books are of lines that an operator took back in this period."""
    some = columns.records(rows[rows["break_code"] == "operator_refund_booked"])
    return Counter((_key(row.reference), row.currency, row.amount_operator) for row in some)


def _named(line: Any, was: Item) -> bool:
    """Return whether a line names what an item is about."""
    names = {_key(was["subject"]), _key(was["reference"])} - {None}
    if _key(line.reference) in names or _key(line.receipt) in names:
        return True
    collection = _key(line.collection_id)
    if collection is not None and collection == _key(was["collection_id"]):
        return True
    return not names.isdisjoint(_WORDS.findall(_key(line.details) or ""))


def _clear_reversals(was: list[Item], now: dict[str, Item | None]) -> None:
    """Clear a reversal with the payment that it took back, and the other way round."""
    both = [item for item in was if item["break_code"] == "operator_reversed"]
    cleared = {
        _key(item[name])
        for item in both
        if now[item["break_id"]] is None
        for name in ("subject", "reference")
    } - {None}
    for item in both:
        if cleared & {_key(item["subject"]), _key(item["reference"])}:
            now[item["break_id"]] = None


def _key(text: Any) -> str | None:
    return None if is_missing(text) else str(text).strip().lower()
