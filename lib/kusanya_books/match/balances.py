"""What the balances beside the lines of statements say: whether lines lack between them.

A file is read from its oldest line to its newest. Lines whose balances lead from one to the next
are a run; a run goes on where another one ended, be it in another file or in the period before.
Several wallets, or accounts of a bank, may be given at once: each has its own balances, and a run
that begins before any other one ended is one of them. Files without balances say nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from datetime import date
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import BALANCE_GAPS, BALANCES_SAID, MOVEMENTS
from kusanya_books.request.days import DAY, Period
from kusanya_books.request.earlier_period import REMEMBERED

ENDS: Final = {"operator": "operator balance", "bank": "bank balance"}
"""The legs of the last balances, among what is carried, by the leg of their lines."""
_SAME: Final = [
    *("leg", "channel", "currency", "receipt", "kind", "status", "amount", "at", "balance"),
    "details",
]
"""What a line with a receipt says that another one only says once more."""
_LISTED: Final = 1_000
"""How many gaps of an account are listed one by one; the rest are one more: nothing leads on."""
_LARGEST: Final = float(2**62)
"""Balances and sums below this leave room for each difference of two of them in 64 bits."""
_Account = tuple[str, str]


class Balances(msgspec.Struct, frozen=True, kw_only=True):
    """What the balances of one leg's statements say."""

    said: pd.DataFrame
    """By account, as `BALANCES_SAID`."""
    gaps: pd.DataFrame
    """Where lines lack, as `BALANCE_GAPS`."""
    ends: pd.DataFrame
    """The last balances, as `MOVEMENTS` of a leg of `ENDS`: the next period begins with them."""


NOTHING: Final = Balances(
    said=columns.empty(BALANCES_SAID),
    gaps=columns.empty(BALANCE_GAPS),
    ends=columns.empty(MOVEMENTS),
)
"""What is said where no line was read."""


class _File(msgspec.Struct):
    """The lines of one account in one file up to the last of the period, the oldest first."""

    name: str
    first: int
    """The place of the first line of the period."""
    moments: Any
    days: Any
    moved: Any
    """What the lines up to each come to; and so are the fees beside them."""
    fees: Any
    balances: Any
    """The balances that are said, and beside which lines."""
    places: Any

    def total(self, sums: Any) -> int:
        """Return what the lines from the first of the period on come to."""
        return int(sums[-1]) - (int(sums[self.first - 1]) if self.first else 0)


class _End(msgspec.Struct):
    """A last balance, of a run or of the period before."""

    balance: int
    at: int
    """In microseconds."""
    first_day: date
    last_day: date
    input: str
    number: int
    """Which run of its file it is of."""

    @property
    def order(self) -> tuple[int, str, int]:
        """Return its place among all ends."""
        return self.at, self.input, self.number


class _Gap(NamedTuple):
    """Where lines lack, as `BALANCE_GAPS` without the account."""

    input: str
    day_before: date
    balance_before: int
    day: date
    balance: int
    amount: int


class _Run(msgspec.Struct):
    """Lines of the period in one file whose balances lead from one to the next."""

    opening: int
    begins: int
    end: _End
    earlier: Collection[int]
    """The balances of days before the period that lead to it in its file."""

    @property
    def order(self) -> tuple[int, str, int]:
        """Return its place among all beginnings and ends."""
        return self.begins, self.end.input, self.end.number

    @property
    def is_still(self) -> bool:
        """Return whether it comes to nothing."""
        return self.opening == self.end.balance


def of(
    movements: pd.DataFrame, *, leg: str, period: Period, given: Collection[str] = ()
) -> Balances:
    """Return what the balances of a leg's statements, operator or bank, say of a period.

    `movements` may hold the last balances of the period before, as its `ends` said them: the
    period's first ones are held against them. They are passed over where the files do not say
    all balances, and where nothing was `given` of an operator's channel. The lines of a channel are
    one account, those of all banks are one. Raises OverflowError for balances past 62 bits.
    """
    files, silent = _files(movements[movements["leg"] == leg], period, is_bank=leg == "bank")
    carried = _carried(movements[movements["leg"] == ENDS[leg]], period)
    said: list[tuple[Any, ...]] = []
    gaps: list[tuple[Any, ...]] = []
    ends: list[dict[str, Any]] = []
    quiet = {one for one in carried if one not in silent and (leg == "bank" or one[0] in given)}
    for account in sorted({*files, *quiet}):
        own = files.get(account, [])
        takes_fees = _takes_fees(own)
        runs = [run for each in own for run in _runs(each, period, takes_fees=takes_fees)]
        known = [] if account in silent else [_moved_on(end, runs) for end in carried[account]]
        opening, apart, left = _join(runs, known, is_bank=leg == "bank")
        channel, currency = account
        moved = sum(each.total(each.moved) for each in own)
        fees = sum(each.total(each.fees) for each in own) if takes_fees else 0
        if own:
            said.append((*account, moved, fees, opening, sum(gap.amount for gap in apart)))
        gaps += [(channel or None, currency, *gap) for gap in _listed(apart)]
        if account not in silent:
            since = period.last - REMEMBERED
            ends += [_to_carry(account, end, leg, period) for end in left if end.last_day >= since]
    return Balances(
        said=columns.from_rows(BALANCES_SAID, said),
        gaps=columns.from_rows(BALANCE_GAPS, gaps),
        ends=columns.from_dicts(MOVEMENTS, ends),
    )


def said_again(movements: pd.DataFrame) -> pd.Index:
    """Return which lines with a receipt only say once more what one before them says."""
    # Of a million receipts few come twice: the other columns of those alone are looked at.
    receipts = movements["receipt"]
    named = movements[receipts.notna() & receipts.duplicated(keep=False)]
    return named.index[named.duplicated(_SAME)]


def _files(
    lines: pd.DataFrame, period: Period, *, is_bank: bool
) -> tuple[dict[_Account, list[_File]], set[_Account]]:
    """Return the files of each account that say balances, and the accounts of which one does not.

    A line that is said once more is left out.
    """
    found: defaultdict[_Account, list[_File]] = defaultdict(list)
    silent: set[_Account] = set()
    lines = lines.assign(channel="" if is_bank else lines["channel"].fillna(""))
    lines = lines[lines["status"] == "completed"].sort_values(["input", "line_no"], kind="stable")
    lines = lines.drop(index=said_again(lines))
    for key, part in lines.groupby(["channel", "currency", "input"]):
        channel, currency, name = map(str, key)
        account = channel, currency
        ordered = _oldest_first(part)
        days = ordered["business_day"].to_numpy("datetime64[D]")
        of_period = np.flatnonzero((days >= period.first) & (days <= period.last))
        if not len(of_period):
            continue
        first, last = int(of_period[0]), int(of_period[-1])
        ordered = ordered[: last + 1]
        places = np.flatnonzero(ordered["balance"].notna())
        if not (places >= first).any():
            silent.add(account)
            continue
        _check_sizes(ordered)
        found[account].append(
            _File(
                name=name,
                first=first,
                moments=ordered["at"].astype("datetime64[us, UTC]").astype("int64").to_numpy(),
                days=days,
                moved=np.cumsum(ordered["amount"].to_numpy("int64")),
                fees=np.cumsum(ordered["fee"].fillna(0).to_numpy("int64")),
                balances=ordered["balance"].dropna().to_numpy("int64"),
                places=places,
            )
        )
    return found, silent


def _oldest_first(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of a file from the oldest to the newest: as they stand, or turned round.

    Where somebody sorted them by another column it is by their moments, if more balances lead on.
    """
    at = lines["at"]
    turned = lines if at.iloc[0] <= at.iloc[-1] else lines[::-1]
    if turned["at"].is_monotonic_increasing:
        return turned
    by_time = turned.sort_values("at", kind="stable")
    return by_time if _apart(by_time) < _apart(turned) else turned


def _apart(lines: pd.DataFrame) -> int:
    """Return how many balances of these lines do not lead on, with the fees or without."""
    said = lines["balance"].notna()
    step = lines.loc[said, "balance"].diff()
    moved = lines["amount"].cumsum()[said].diff()
    fees = lines["fee"].fillna(0).cumsum()[said].diff()
    return int(((step != moved) & (step != moved - fees)).sum())


def _check_sizes(lines: pd.DataFrame) -> None:
    moved, fees, balance = (
        lines[name].abs().astype("float64") for name in ("amount", "fee", "balance")
    )
    if moved.sum() + fees.sum() + balance.max() >= _LARGEST:
        raise OverflowError("the balances of a statement are too large to be added up")


def _takes_fees(files: Iterable[_File]) -> bool:
    """Return whether the fee beside a line is taken from the balance: most steps say it."""
    votes: Counter[str] = Counter()
    for each in files:
        step = np.diff(each.balances)
        moved, fees = (np.diff(sums[each.places]) for sums in (each.moved, each.fees))
        votes["net"] += int(((fees != 0) & (step == moved - fees)).sum())
        votes["gross"] += int(((fees != 0) & (step == moved)).sum())
    return votes["net"] > votes["gross"]


def _runs(file: _File, period: Period, *, takes_fees: bool) -> Iterator[_Run]:
    """Yield the runs of a file from its first line of the period on: at worst one for each."""
    sums = file.moved - file.fees if takes_fees else file.moved
    totals = np.concatenate([[0], sums])
    places, balances = file.places, file.balances
    moments, days = file.moments[places], file.days[places]
    heads = np.flatnonzero(np.diff(balances) != np.diff(sums[places])) + 1
    own = np.searchsorted(places, file.first)
    # The lines before the period that lead to the first run.
    reaches = max(heads[heads <= own], default=0)
    starts = np.concatenate([[own], heads[heads > own]])
    lasts = np.append(starts[1:], len(places)) - 1
    before = places[starts - 1]
    before[0] = file.first - 1
    openings = balances[starts] - (totals[places[starts] + 1] - totals[before + 1])
    closings = balances[lasts]
    closings[-1] += totals[-1] - totals[places[-1] + 1]
    first = np.datetime64(period.first)
    is_late = np.logical_or.reduceat(days < first, starts)
    is_late[0] = True
    columns_ = (
        *(openings, closings, is_late, lasts),
        *(np.minimum.reduceat(moments, starts), np.maximum.reduceat(moments, starts)),
        *(np.minimum.reduceat(days, starts), np.maximum.reduceat(days, starts)),
    )
    for number, (opening, closing, may_reach, last, begins, ends, first_day, last_day) in enumerate(
        zip(*(each.tolist() for each in columns_), strict=True)
    ):
        start = starts[number] if number else reaches
        yield _Run(
            opening=opening,
            begins=begins,
            end=_End(
                balance=closing,
                at=ends,
                first_day=first_day,
                last_day=last_day,
                input=file.name,
                number=number,
            ),
            earlier=_earlier(file, totals, slice(start, last + 1), first) if may_reach else (),
        )


def _earlier(file: _File, totals: Any, run: slice, first: np.datetime64) -> set[int]:
    """Return the balances of days before the period that lead on from one balance to another."""
    places, balances = file.places[run], file.balances[run]
    found = set(balances[file.days[places] < first].tolist())
    before = file.places[run.start - 1] if run.start else -1
    if file.days[before + 1] < first:
        found.add(int(balances[0] - (totals[places[0] + 1] - totals[before + 1])))
    return found


def _moved_on(end: _End, runs: Iterable[_Run]) -> _End:
    """Return the last balance of the period before with what its days had since: late lines."""
    for run in runs:
        if end.balance in run.earlier:
            return msgspec.structs.replace(end, balance=run.opening)
    return end


def _join(
    runs: list[_Run], carried: list[_End], *, is_bank: bool
) -> tuple[int, list[_Gap], list[_End]]:
    """Return the balance that an account begins with, where lines lack, and its last balances."""
    starts, ends = _loose(runs, carried)
    joined = _ends_before(starts, ends)
    opening = 0
    gaps: list[_Gap] = []
    used: set[int] = set()
    for run in starts:
        end, own = joined.get(id(run)), run.end
        if end is None or _are_two(end, own, is_bank=is_bank):
            opening += run.opening
            continue
        used.add(id(end))
        if run.opening != end.balance:
            before = end.last_day, end.balance
            apart = run.opening - end.balance
            gaps.append(_Gap(own.input, *before, own.first_day, run.opening, apart))
    left = [end for end in ends if id(end) not in used]
    quiet = {id(end) for end in left}
    opening += sum(end.balance for end in carried if id(end) not in quiet)
    return opening, gaps, left


def _are_two(before: _End, own: _End, *, is_bank: bool) -> bool:
    """Return whether two statements of one day alone are of two wallets.

    A bank writes those of its accounts into one file.
    """
    days = {before.first_day, before.last_day, own.first_day, own.last_day}
    return len(days) == 1 and (is_bank or before.input != own.input)


def _listed(gaps: list[_Gap]) -> list[_Gap]:
    """Return the gaps by their days, what is beyond the number that is listed as one."""
    ordered = sorted(gaps, key=lambda gap: (gap.day, gap.input, gap.balance))
    listed, rest = ordered[:_LISTED], ordered[_LISTED:]
    if rest:
        last, apart = rest[-1], sum(abs(gap.amount) for gap in rest)
        listed.append(rest[0]._replace(day=last.day, balance=last.balance, amount=apart))
    return listed


def _loose(runs: list[_Run], carried: list[_End]) -> tuple[list[_Run], list[_End]]:
    """Return the runs whose opening no end leads to, and the ends that lead to none.

    Each end leads to one opening of the same balance, the latest to the latest. A run that comes
    to nothing goes on with itself: it counts only where no other one has its balance.
    """
    moving = [run for run in runs if not run.is_still]
    went: defaultdict[int, list[_Run]] = defaultdict(list)
    came: defaultdict[int, list[_End]] = defaultdict(list)
    for run in sorted(moving, key=lambda run: run.order):
        went[run.opening].append(run)
    for end in sorted([*carried, *(run.end for run in moving)], key=lambda end: end.order):
        came[end.balance].append(end)
    still: dict[int, _Run] = {}
    for run in sorted(runs, key=lambda run: run.order):
        if run.is_still and run.opening not in went and run.opening not in came:
            still.setdefault(run.opening, run)
    starts, ends = [*still.values()], [run.end for run in still.values()]
    for balance in {*went, *came}:
        met = min(len(went[balance]), len(came[balance]))
        starts += went[balance][: len(went[balance]) - met]
        ends += came[balance][: len(came[balance]) - met]
    return starts, ends


def _ends_before(starts: list[_Run], ends: list[_End]) -> dict[int, _End]:
    """Return what each run may go on with that nothing leads to: what ended last before it began.

    In its own file first; then where no run of that file goes on with it.
    """
    # Of one moment, a run begins before it ends.
    both: list[tuple[_Run | None, _End]] = [*((run, run.end) for run in starts)]
    both += [(None, end) for end in ends]
    both.sort(key=lambda each: each[1].order if each[0] is None else each[0].order)
    found: dict[int, _End] = {}
    of_file: dict[str, _End] = {}
    for run, end in both:
        if run is None:
            of_file[end.input] = end
        elif end.input in of_file:
            found[id(run)] = of_file[end.input]
    used = set(map(id, found.values()))
    last: _End | None = None
    for run, end in both:
        if run is None:
            last = last if id(end) in used else end
        elif last is not None:
            found.setdefault(id(run), last)
    return found


def _carried(lines: pd.DataFrame, period: Period) -> defaultdict[_Account, list[_End]]:
    """Return the last balances of the period that ended the day before, by account."""
    found: defaultdict[_Account, list[_End]] = defaultdict(list)
    for row in columns.records(lines[lines["business_day"] == pd.Timestamp(period.first - DAY)]):
        day, channel = row.at.date(), "" if pd.isna(row.channel) else row.channel
        end = _End(
            balance=int(row.balance),
            at=row.at.value // 1_000,
            first_day=day,
            last_day=day,
            input=row.input,
            number=0,
        )
        found[channel, row.currency].append(end)
    return found


def _to_carry(account: _Account, end: _End, leg: str, period: Period) -> dict[str, Any]:
    """Return a last balance as one of `MOVEMENTS`: of the period's last day, `at` its own time."""
    channel, currency = account
    return {
        "input": end.input,
        "line_no": 0,
        "leg": ENDS[leg],
        "channel": channel or None,
        "currency": currency,
        "at": pd.Timestamp(end.at, unit="us", tz="UTC"),
        "business_day": pd.Timestamp(period.last),
        "kind": "other",
        "status": "completed",
        "amount": 0,
        "balance": end.balance,
    }
