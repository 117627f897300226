"""The refunds in the books, each of which clears one item that an earlier period left open."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

import msgspec
import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import KEYS, LEDGER
from kusanya_books.columns.dtypes import is_missing, spelled
from kusanya_books.judge import carried_legs, postings
from kusanya_books.judge.open_items import Item
from kusanya_books.match import breaks
from kusanya_books.match.breaks.settlement import REFUND_BOOKED
from kusanya_books.match.legs import gives_back
from kusanya_books.match.settlement import SettlementMatch
from kusanya_books.request.earlier_period import EarlierPeriod
from kusanya_books.request.report_inputs import Inputs

_RULES: Final = {**breaks.LEDGER, **breaks.SETTLEMENT}
_TAKEN_BACK: Final = "settlement_taken_back"


class Order(msgspec.Struct, frozen=True):
    """Whose payment was taken back: its reference, as it is compared, and the payment's fee."""

    reference: str
    fee: int


class Refunds:
    """The lines of the books that pay back, each of which clears one item of its order and sum.

    `orders` says of which order collections are whose payouts were taken back. What explains a line
    of the period's own settlement statement, or explained one `before`, clears nothing else.
    """

    def __init__(
        self,
        books: pd.DataFrame | None,
        orders: Mapping[str, Order] = {},
        payouts: SettlementMatch | None = None,
        *,
        before: EarlierPeriod | None = None,
    ) -> None:
        found = columns.empty(LEDGER) if books is None else books
        some = found[gives_back(found)]
        self._left = Counter(
            zip(spelled(some["reference"]), some["currency"], -some["amount"], strict=True)
        )
        self._orders = orders
        if before is not None and orders:
            old = some[some["booked_day"] <= pd.Timestamp(before.period.last)]
            self._leave_out(old, before)
        self.given_back: Counter[postings.Key] = Counter()
        """What cleared payouts that were taken back, as POSTINGS have it."""
        if payouts is not None:
            rows = payouts.rows[payouts.rows["break_code"] == REFUND_BOOKED]
            for row in columns.records(rows):
                amount = row.net_settled if is_missing(row.gross_settled) else row.gross_settled
                if order := self._orders.get(row.collection_id):
                    self._takes(order.reference, row.currency, abs(int(amount)))

    def _leave_out(self, old: pd.DataFrame, before: EarlierPeriod) -> None:
        """Take away those of the `old` lines that explained what an earlier close read."""
        lines = before.settlement_lines
        if lines is None:
            return
        backs = lines[(lines["net"] < 0) & lines["collection_id"].isin(set(self._orders))]
        used = Counter(
            (self._orders[row.collection_id].reference, row.currency)
            for row in columns.records(backs)
        )
        for item in columns.dicts(before.items):
            order = self._orders.get(item["collection_id"])
            if item["break_code"] == _TAKEN_BACK and order is not None:
                used[order.reference, item["currency"]] -= 1
        for row in columns.records(old.assign(order=spelled(old["reference"]))):
            if used[row.order, row.currency] > 0:
                used[row.order, row.currency] -= 1
                self._left[row.order, row.currency, -row.amount] -= 1

    def _takes(self, reference: str, currency: str, amount: int) -> bool:
        key = reference, currency, amount
        self._left[key] -= 1
        return self._left[key] >= 0

    def clears_payout(self, was: Item, now: Item) -> bool:
        """Return whether what the provider took back is given back by the books, and note it."""
        if was["break_code"] != _TAKEN_BACK or now["balance"] != was["balance"]:
            return False
        order, owed = self._orders.get(was["collection_id"]), int(was["balance"])
        # The provider may have given its fee back.
        if order is None or not any(
            self._takes(order.reference, was["currency"], paid) for paid in (owed, owed + order.fee)
        ):
            return False
        channel = None if is_missing(was["channel"]) else was["channel"]
        key = was["day"], was["currency"], channel, postings.REFUND_SINCE, None
        self.given_back[key] += owed
        return True

    def clears(self, was: Item) -> bool:
        """Return whether a line gives back what an item is about, and was not another one's."""
        if not _RULES[was["break_code"]].refund_clears or was["reference"] is None:
            return False
        return self._takes(was["reference"].strip().lower(), was["currency"], was["amount"])


def orders_of(
    inputs: Inputs, settled: list[Item], payouts: SettlementMatch | None
) -> dict[str, Order]:
    """Return the orders of collections whose payouts were taken back, then or now."""
    ids = {item["collection_id"] for item in settled if item["break_code"] == _TAKEN_BACK}
    if payouts is not None:
        now = payouts.rows["break_code"] == REFUND_BOOKED
        ids |= {*payouts.rows.loc[now, "collection_id"]}
    ids = {id_ for id_ in ids if not is_missing(id_)}
    if not ids:
        return {}
    keys = columns.frame(KEYS, {"id": sorted(ids), "reference": [None] * len(ids)})
    known = carried_legs.known_collections(inputs, keys)
    return {
        row.id: Order(row.reference.strip().lower(), int(row.fee))
        for row in columns.records(known)
        if not is_missing(row.reference)
    }
