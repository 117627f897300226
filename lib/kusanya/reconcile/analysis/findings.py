"""Everything of a period that a person must look at, each with its count and its sum.

One list for every place that says how a period stands: the pack's first sheet, the page, the
command and the notebooks. The verdict is reconciled only when nothing on it is left.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pandas as pd

from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import FINDINGS
from kusanya.reconcile.frames.report_inputs import Inputs
from kusanya.reconcile.matching.ledger import Matched
from kusanya.reconcile.matching.settlement import Settled

UNREAD: Final = "input rows that could not be read"
UNEXPLAINED: Final = "left unexplained by a bridge"
DISAGREES: Final = "totals that differ from the store's own"
BREAKS: Final = "breaks of the books"
REFUND: Final = "double payments to refund, among the breaks"
SUSPECTED: Final = "suspected double payments"
PAYOUTS: Final = "breaks of the statement"
ABOVE: Final = "fees above the agreed tariff"
BELOW: Final = "fees below the agreed tariff"
UNPRICED: Final = "fees that the agreed tariff does not price"
LATE: Final = "late changes of an earlier period"
_LIMITED: Final = frozenset({BREAKS, REFUND, PAYOUTS})
"""What a limit of tolerated breaks may cover."""

Sums = tuple[str | None, int, int | None]
"""Currency, rows, amount; an amount that nobody knows is None."""


def findings(
    inputs: Inputs,
    *,
    matched: Matched | None,
    settled: Settled | None,
    exceptions: pd.DataFrame,
    unpriced: pd.DataFrame,
    late: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return one row per kind of finding and currency; a kind without any has one row of 0.

    `rows` is missing, and `note` says why, where an input that would tell was not given.
    """
    agreed = inputs.tariff is not None
    drift = exceptions["drift"]
    parts: list[tuple[str, str | None, str, Iterable[Sums] | None]] = [
        (UNREAD, "remarks", "", [(None, inputs.rejected, None)]),
        (UNEXPLAINED, "bridge", "no ledger", _unexplained(matched, settled)),
        (DISAGREES, None, "", _disagreeing(inputs.control)),
        (BREAKS, "breaks", "no ledger", None if matched is None else _breaks(matched)),
        (REFUND, "double_payments", "no ledger", _doubles(matched, suspected=False)),
        (SUSPECTED, "double_payments", "no ledger", _doubles(matched, suspected=True)),
        (PAYOUTS, "settlement", "no statement", None if settled is None else _payouts(settled)),
        (ABOVE, "fee_exceptions", "no tariff", _sums(exceptions[drift > 0], "drift", agreed)),
        (BELOW, "fee_exceptions", "no tariff", _sums(exceptions[drift < 0], "drift", agreed)),
        (UNPRICED, "fees", "no tariff", _unpriced(unpriced) if agreed else None),
        (LATE, "late", "no earlier pack", None if late is None else _late(late)),
    ]
    rows = [row for part in parts for row in _rows(*part)]
    return columns.frame(
        FINDINGS, {name: [row[at] for row in rows] for at, name in enumerate(FINDINGS.columns)}
    )


def left(found: pd.DataFrame, *, within: bool = False) -> pd.DataFrame:
    """Return the findings that are not nil; `within` leaves out what the limit of breaks covers."""
    some: pd.DataFrame = found[found["rows"].fillna(0) > 0]
    return some[~some["finding"].isin(_LIMITED)] if within else some


def _rows(kind: str, page: str | None, wants: str, sums: Iterable[Sums] | None) -> Iterator[Any]:
    if sums is None:
        yield kind, None, None, None, page, f"not proven: {wants} was given"
        return
    some = [(currency, rows, amount) for currency, rows, amount in sums if rows]
    for currency, rows, amount in some or [(None, 0, None)]:
        yield kind, currency, rows, amount, page, None


def _sums(frame: pd.DataFrame, amount: str, known: bool = True) -> list[Sums] | None:  # noqa: FBT001, FBT002 - private
    """Return rows and sum by currency; None where it is not known."""
    if not known:
        return None
    # In whole numbers of Python: a sum of the frame's own would wrap around in silence.
    found: dict[Any, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for currency, value in zip(frame["currency"], frame[amount], strict=True):
        rows, sum_ = found[currency]
        found[currency] = rows + 1, sum_ + int(value)
    return [(currency, *found[currency]) for currency in sorted(found)]


def _unexplained(matched: Matched | None, settled: Settled | None) -> list[Sums] | None:
    if matched is None:
        return None
    found: dict[Any, int] = defaultdict(int)
    for leg in (matched, settled):
        if leg is not None:
            lines = leg.bridge[leg.bridge["line"] == "unexplained"]
            for currency, amount in zip(lines["currency"], lines["amount"], strict=True):
                found[currency] += abs(int(amount))
    return [(currency, 1, found[currency]) for currency in sorted(found) if found[currency]]


def _disagreeing(control: pd.DataFrame) -> list[Sums]:
    wrong = control[~control["agrees"]]
    apart = wrong.assign(apart=(wrong["amount"] - wrong["amount_rollup"]).abs())
    return _sums(apart, "apart") or []


def _breaks(matched: Matched) -> list[Sums]:
    found: dict[Any, tuple[int, int]] = defaultdict(lambda: (0, 0))
    aged = matched.ageing[matched.ageing["standing"] == "break"]
    for currency, rows, amount in zip(aged["currency"], aged["rows"], aged["amount"], strict=True):
        before, sum_ = found[currency]
        found[currency] = before + int(rows), sum_ + int(amount)
    return [(currency, *found[currency]) for currency in sorted(found)]


def _doubles(matched: Matched | None, *, suspected: bool) -> list[Sums] | None:
    if matched is None:
        return None
    chosen = matched.doubles[matched.doubles["suspected"] == suspected]
    return _sums(chosen, "amount" if suspected else "refund")


def _payouts(settled: Settled) -> list[Sums]:
    wrong = settled.rows[settled.rows["standing"] == "break"]
    return _sums(wrong.assign(apart=wrong["open_balance"].abs()), "apart") or []


def _unpriced(found: pd.DataFrame) -> list[Sums]:
    return [(row.currency, int(row.rows), int(row.fee)) for row in columns.records(found)]


def _late(late: pd.DataFrame) -> list[Sums]:
    firsts = late[~late["key"].duplicated()]
    return _sums(firsts, "amount_effect") or []
