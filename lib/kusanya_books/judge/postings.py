"""What there is to book, by business day and channel: collections, payouts, refunds, and breaks.

Payouts and refunds are the rows that the legs judged, each once: what a leg calls a break is kept
apart, under its code. VAT and excise are taken out of the fee where the agreed tariff names them;
they are counted on the sum of a day and channel, not on each payment, so that they are whole units
with one rounding.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.domain.prices import rounded
from kusanya_books import columns
from kusanya_books.columns import POSTINGS
from kusanya_books.columns.dtypes import is_missing, text_of
from kusanya_books.match.breaks.rule import BREAK
from kusanya_books.match.breaks.settlement import CHARGE, REFUND_BOOKED
from kusanya_books.match.operator import OperatorMatch
from kusanya_books.match.settlement import SettlementMatch
from kusanya_books.request.days import Period
from kusanya_books.request.earlier_period import STATEMENT, EarlierPeriod
from kusanya_books.request.report_inputs import Inputs

COLLECTIONS: Final = "collections"
PAYOUT: Final = "payout"
REFUND: Final = "refund"
PAYOUT_BREAK: Final = "payout_break"
"""Money that was paid out beyond what was earned, or that nothing was earned for."""
LINE_BREAK: Final = "line_break"
"""Money that an operator's line moved without a collection that explains it."""
PAID_SINCE: Final = "paid_since"
"""A payout of a day of an earlier period, which waited for it."""
OVER_SINCE: Final = "over_since"
"""What such a payout has beyond that, or any that is a break."""
REFUND_SINCE: Final = "refund_since"
"""What a provider had taken back of a day of an earlier period, and the books give back since."""
PROVIDER_CHARGE: Final = "provider_charge"
"""What a provider took out of its payouts for itself."""
CHARGE_SINCE: Final = "charge_since"
"""The same of a day of an earlier period, whose statement did not have it."""
EXPLAINED: Final = "explained"
"""What breaks of the two kinds above had on the account for them, and is explained since."""
NOT_BOOKED: Final = "not_booked"
"""What must not be booked before a person looked at it: it may not be money at all."""
OF_EARLIER_DAYS: Final = (PAID_SINCE, OVER_SINCE, REFUND_SINCE, CHARGE_SINCE)
"""What is of a day of an earlier period, and was read since."""
_REPEATED: Final = frozenset({"settlement_duplicate", "operator_line_again"})
_READ_BEFORE: Final = "settlement_read_before"
"""The close that read such a line first has booked it."""
_OVER: Final = "settlement_over"
_REFUNDS: Final = frozenset({"operator_refund", "operator_refund_booked"})
"""That of a payment which is no success here is none: neither is booked."""
_KEPT: Final = {
    REFUND_BOOKED: (REFUND, REFUND_SINCE),
    CHARGE: (PROVIDER_CHARGE, CHARGE_SINCE),
}
"""What a provider kept of its payouts: how it is booked, of the period and of a day before it."""
_FEES: Final = frozenset({"fee", "charge", "tax"})
_WHOLE: Final = 10_000
"""Basis points of one."""
FIGURES: Final = ("rows", "gross", "fee", "excise", "vat", "net")
"""The columns of POSTINGS that are counts and money."""
_ORDER: Final = ["business_day", "currency", "channel", "kind", "break_code"]
Key = tuple[Any, ...]
"""Business day, currency, channel, kind and break code of what is booked."""
NOTHING: Final[Mapping[Key, int]] = {}
Payout = tuple[Any, ...]
"""The collection that is paid out, else the day, channel and currency."""
_Figures = tuple[int, ...]
"""As `FIGURES` names them."""
_NONE: Final[_Figures] = (0,) * len(FIGURES)


class Postings(msgspec.Struct, frozen=True):
    """What one close has to book, as POSTINGS."""

    rows: pd.DataFrame
    """Of the period, and of the days before it what changed since they were closed."""
    earned: pd.DataFrame
    """What the collections of each day are, and what became known of its statements since."""


def postings(
    inputs: Inputs,
    daily: pd.DataFrame,
    explained: Mapping[Key, int] = NOTHING,
    *,
    payouts: SettlementMatch | None = None,
    operator: OperatorMatch | None = None,
    since: Mapping[Payout, int] = NOTHING,
) -> Postings:
    """Return what there is to book, from the DAILY fees and what the legs say of the statements.

    What was paid out is what the settlement statement says of the channels and currencies that it
    names, else what the operator's statement says. What an earlier period still waited for is paid
    on its own day, and what is `explained` was of that of its break; any other line of a day
    outside the period is not booked, and is listed.
    """
    sums: dict[Key, tuple[int, int]] = {}
    changed: Counter[Key] = Counter(explained)
    last = pd.Timestamp(inputs.period.last)
    for key, money in (
        *_settled(payouts, inputs, _Cleared(since, inputs.carried)),
        *_moved(operator, inputs),
    ):
        day = last if is_missing(key[0]) else key[0]
        placed = tuple(None if is_missing(part) else part for part in (day, *key[1:]))
        if key[3] in OF_EARLIER_DAYS:
            changed[placed] += money
            continue
        if not is_of_period(day, inputs.period):
            placed = (*placed[:3], NOT_BOOKED, placed[4])
        rows, total = sums.get(placed, (0, 0))
        # In whole numbers of Python: a sum of the frame's own would wrap around in silence.
        sums[placed] = rows + 1, total + money
    closed = _as_closed(inputs)
    earned = _earned(inputs, daily, changed, closed)
    rest = [(*key, rows, 0, 0, 0, 0, total) for key, (rows, total) in sums.items()]
    return Postings(_frame([*_changes(earned, closed), *rest]), _frame(earned))


def _frame(rows: list[Key]) -> pd.DataFrame:
    """Return POSTINGS of rows."""
    made = pd.DataFrame(rows, columns=list(POSTINGS.columns), dtype="object")
    return columns.frame(POSTINGS, made).sort_values(_ORDER, ignore_index=True)


def _earned(
    inputs: Inputs,
    daily: pd.DataFrame,
    since: Mapping[Key, int],
    closed: Mapping[Key, _Figures],
) -> list[Key]:
    """Return the rows of a period's collections, of those before it, and of what is known `since`.

    A day of an earlier period is as its own close knew it, with what changed.
    """
    first, carried = pd.Timestamp(inputs.period.first), inputs.carried
    days = dict(closed)
    for key, money in since.items():
        rows, *_, known = days.get(key, _NONE)
        days[key] = (rows + 1, 0, 0, 0, 0, known + money)
    if carried is not None and carried.earned_since is not None:
        for row in columns.records(carried.earned_since):
            if row.business_day < first:
                key = _key_of(row)
                rows, gross, fee, *_ = days.get(key, _NONE)
                now = rows + int(row.rows), gross + int(row.gross), fee + int(row.fee)
                days[key] = _priced(inputs, key, *now)
    for row in columns.records(daily[daily["business_day"].notna() & (daily["succeeded"] > 0)]):
        key = _key_of(row)
        days[key] = _priced(inputs, key, int(row.succeeded), int(row.gross), int(row.fee))
    return [(*key, *figures) for key, figures in days.items() if any(figures)]


def taxes(fee: int, *, excise: int, vat: int) -> tuple[int, int]:
    """Return the excise and the VAT that a fee holds, both in basis points.

    VAT is on the fee with its excise; what is left is the fee without taxes.
    """
    before_vat = rounded(fee * _WHOLE, _WHOLE + vat, "half_up")
    bare = rounded(before_vat * _WHOLE, _WHOLE + excise, "half_up")
    return before_vat - bare, fee - before_vat


def is_of_period(day: Any, period: Period) -> bool:
    """Return whether a period books a line of a day; one of collections may say no day."""
    return is_missing(day) or pd.Timestamp(period.first) <= day <= pd.Timestamp(period.last)


def cleared(paid: int, owed: int) -> int:
    """Return how much of a payout clears what is owed; what is too much is taken back as well."""
    return max(0, min(paid, owed)) if paid > 0 else min(0, max(paid, owed))


def payout_of(id_: str | None, day: Any, channel: str | None, currency: str) -> Payout:
    """Return how a payout is known."""
    return (day, channel, currency) if id_ is None else (id_,)


def suspended_payout(row: Any) -> int:
    """Return what the entries of a row of SETTLED have on the account for breaks."""
    if row.standing != BREAK or row.break_code in _REPEATED:
        return 0
    paid = int(row.net_settled)
    return paid - (min(paid, int(row.net)) if row.count else 0)


def suspended_line(row: Any) -> int:
    """Return the same of a row of OPERATOR_MATCHES, where no statement of payouts is of it."""
    if is_missing(row.counted_operator) or not row.counted_operator or row.standing != BREAK:
        return 0
    return 0 if row.break_code in _REPEATED or row.kind in _FEES else _beside(row)


def _beside(row: Any) -> int:
    """Return what an operator's line that is a break moved beside what its payment explains."""
    alone = is_missing(row.bridge_effect)
    beside = int(row.counted_operator if alone else row.bridge_effect)
    # A payment that is too small leaves the rest on the clearing account, as what is owed.
    return beside if row.kind != "payment" else max(beside, 0)


def differences(
    now: Mapping[Key, _Figures], before: Mapping[Key, _Figures]
) -> Iterator[tuple[Key, _Figures]]:
    """Yield by how much each key has more now than before, in the order of the keys."""
    for key in sorted({*now, *before}, key=str):
        sides = zip(now.get(key, _NONE), before.get(key, _NONE), strict=True)
        yield key, tuple(a - b for a, b in sides)


def _changes(earned: list[Key], closed: Mapping[Key, _Figures]) -> Iterator[Key]:
    """Yield the rows of the period's own days, and of earlier ones what changed since a close."""
    now = {row[: len(_ORDER)]: row[len(_ORDER) :] for row in earned}
    for key, change in differences(now, closed):
        if any(change):
            yield (*key, *change)


def _as_closed(inputs: Inputs) -> dict[Key, _Figures]:
    """Return what the collections of the days before the period were when those were closed."""
    if inputs.carried is None or inputs.carried.earned is None:
        return {}
    known = inputs.carried.earned
    return _by_key(known[known["business_day"] < pd.Timestamp(inputs.period.first)])


def _by_key(earned: pd.DataFrame) -> dict[Key, _Figures]:
    """Return the figures of POSTINGS by their keys."""
    found: dict[Key, _Figures] = {}
    for row in columns.records(earned):
        code = None if is_missing(row.break_code) else row.break_code
        figures = tuple(int(getattr(row, name)) for name in FIGURES)
        found[*_key_of(row)[:3], row.kind, code] = figures
    return found


def _key_of(row: Any) -> Key:
    """Return the key of the collections of a day."""
    channel = None if is_missing(row.channel) else row.channel
    return row.business_day, row.currency, channel, COLLECTIONS, None


def _priced(inputs: Inputs, key: Key, rows: int, gross: int, fee: int) -> _Figures:
    """Return the figures of a day and channel, with the taxes of its fees apart."""
    rates = _rates(inputs, *key[:3])
    return rows, gross, fee, *taxes(fee, excise=rates[0], vat=rates[1]), gross - fee


def _rates(
    inputs: Inputs, day: pd.Timestamp, currency: str, channel: str | None
) -> tuple[int, int]:
    """Return excise and VAT of the price that holds on a day; 0 where none names them."""
    prices = inputs.tariff
    if prices is None:
        return 0, 0
    same = (
        (prices["mode"] == inputs.mode.value)
        & (prices["currency"] == currency)
        & (prices["channel"] == channel)
        & (prices["first_day"].isna() | (prices["first_day"] <= day))
        & (prices["last_day"].isna() | (prices["last_day"] >= day))
    )
    held = prices[same.fillna(False)]
    if held.empty:
        return 0, 0
    price = held.iloc[0]
    excise, vat = (
        0 if pd.isna(price[name]) else int(price[name]) for name in ("excise_bps", "vat_bps")
    )
    return excise, vat


class _Cleared:
    """How much of what was paid out is for what an earlier period waited for."""

    def __init__(self, known: Mapping[Payout, int], carried: EarlierPeriod | None) -> None:
        self._left = dict(known)
        self._seen: set[str] = set()
        self._known_days = {} if carried is None else carried.settled_days()
        if carried is not None:
            items = carried.items[carried.items["leg"] == STATEMENT]
            self._seen.update(*items["reference"].dropna().str.split())

    def take(self, row: Any) -> int | None:
        """Return how much of a payout is for that, None where nothing was open.

        A batch that was counted then pays no more, where it may be the same line.
        """
        id_, channel = text_of(row.collection_id), text_of(row.channel) or None
        key = payout_of(id_, row.business_day, channel, row.currency)
        is_known = not is_missing(row.business_day) and row.business_day.date() in self._known_days
        is_seen = not self._seen.isdisjoint((text_of(row.batch_id) or "").split())
        if (is_seen and not is_known) or key not in self._left:
            return None
        taken = cleared(int(row.net_settled), self._left[key])
        self._left[key] -= taken
        return taken


def _settled(
    payouts: SettlementMatch | None, inputs: Inputs, owed: _Cleared
) -> Iterator[tuple[Key, int]]:
    """Yield what was paid out; of a break what clears the earnings, and the rest apart."""
    if payouts is None:
        return
    known, first = inputs.days_before, pd.Timestamp(inputs.period.first)
    for row in columns.records(payouts.rows[payouts.rows["net_settled"] != 0]):
        where = (row.business_day, row.currency, row.channel)
        paid = int(row.net_settled)
        if row.break_code == _READ_BEFORE:
            continue
        if row.break_code in _KEPT:
            own, since = _KEPT[row.break_code]
            kinds = (PAID_SINCE, since) if row.business_day < first else (PAYOUT, own)
            yield from zip([(*where, kind, None) for kind in kinds], (paid, -paid), strict=True)
            continue
        if row.standing != BREAK:
            is_before = row.business_day < first
            clears = owed.take(row) if is_before else None
            parts: list[tuple[str, str | None, int]] = [(PAYOUT, None, paid)]
            if clears is not None:
                parts = [(PAID_SINCE, None, clears), (OVER_SINCE, _OVER, paid - clears)]
            yield from (((*where, kind, code), money) for kind, code, money in parts if money)
        elif row.break_code in _REPEATED:
            yield (*where, NOT_BOOKED, row.break_code), paid
        else:
            apart = suspended_payout(row)
            if paid != apart:
                yield (*where, PAYOUT, row.break_code), paid - apart
            if apart:
                is_since = not is_missing(row.business_day) and row.business_day.date() in known
                yield (*where, OVER_SINCE if is_since else PAYOUT_BREAK, row.break_code), apart


def _moved(operator: OperatorMatch | None, inputs: Inputs) -> Iterator[tuple[Key, int]]:
    """Yield what the operator's lines of the period moved beside payments that agree."""
    if operator is None:
        return
    is_settled = cache(inputs.is_settled)
    for row in columns.records(operator.rows[operator.rows["counted_operator"] != 0]):
        where = (row.operator_day, row.currency, row.channel)
        key = text_of(row.channel), row.currency
        by_provider = is_settled(*key)
        moved = int(row.counted_operator)
        if row.break_code in _REPEATED:
            yield (*where, NOT_BOOKED, row.break_code), moved
        elif row.standing == BREAK:
            beside = _beside(row)
            if beside or row.kind != "payment":
                # Fees are booked as the service counts them.
                kind = NOT_BOOKED if by_provider or row.kind in _FEES else LINE_BREAK
                yield (*where, kind, row.break_code), beside
        elif row.break_code in _REFUNDS:
            yield (*where, REFUND, None), -moved
        elif row.kind == "payout" and not by_provider:
            yield (*where, PAYOUT, None), -moved
        elif row.kind == "payout" and not inputs.is_named(*key):
            # The provider may have stopped paying the channel out.
            yield (*where, NOT_BOOKED, row.break_code), moved
