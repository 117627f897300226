"""Which lines and collections agree at first sight: they are counted, the others are looked at.

A month's books agree but for one line in a hundred. What decides that is packed into a few whole
numbers a row, the hashes of both sides' references are sorted together, and neighbours are
compared. Whatever is not plain (a difference, a row alone, a reference in disorder) goes the long
way through SQL by its key, with everything else of that key. A hash decides nothing: two texts that
share one are told apart before a row is counted.
"""

from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from kusanya.reconcile.matching.runs import NONE, Crowd, Runs, blocks, index_bits, members
from kusanya.reconcile.matching.sides import (
    LOST,
    PAID,
    Side,
    Span,
    Tally,
    agree,
    amounts,
    classes,
    currencies,
    same_money,
    same_text,
)

_MINUTE: Final = 32
"""Bits of a payment that hold its minute; the payer is above them."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked at, by key, and what is only counted; no row is both.

    A key is a reference's hash without its last `shift` bits. Rows that are neither lie beyond the
    period and agree.
    """

    shift: int
    wanted: pa.Table
    repeated: pa.Table
    """Wanted keys that one side has more than once, lines that name a collection left out."""
    agreed: pa.Table
    """Rows and money of pairs that agree and of collections that nobody owes, by their facts."""


def find(
    service: Side,
    books: Side,
    *,
    span: Span,
    hasty: Any = NONE,
    net: bool = False,
    everything: bool = False,
    bits: int = 64,
) -> Found:
    """Return which keys need a closer look, and the rows of the others that count.

    References of the hashes `hasty` are looked at in any case; with `everything` no row is only
    counted. `net` says that a collection's money is its amount less the fee. `bits` is how
    much of the hashes is read: fewer send more rows the long way and change no answer.
    """
    shift = max(index_bits(service.keys, books.keys), 64 - bits)
    named = None if books.names is None else _Named(service, books, span, shift)
    runs = _runs(service, books, named, shift)
    crowd = runs.crowd()
    if everything:
        return Found(
            shift=shift, wanted=_keys(NONE), repeated=_keys(crowd.keys), agreed=Tally().table()
        )
    extra = np.unique(hasty >> shift)
    if named is not None:
        extra = np.union1d(extra, named.odd)
    plain = np.zeros(len(crowd.starts), dtype=bool)
    for block in blocks(len(plain)):
        plain[block] = _retried(service, books, crowd.part(block), span, net=net)
    while True:
        seen = _look(service, books, runs, span, extra, net=net)
        still = plain & ~members(crowd.keys, extra)
        seen.wanted.append(crowd.keys[~still])
        wanted = np.unique(np.concatenate(seen.wanted))
        strays = NONE if named is None else named.strays(wanted)
        if not len(strays):
            break
        # A line and the collection it names are looked at together.
        extra = np.union1d(extra, strays)
    rows = crowd.places[crowd.spread(still) & ~crowd.theirs]
    seen.tally.add(service.facts[rows], amounts(service.money[rows]))
    if named is not None:
        ours, theirs = named.counted(wanted)
        seen.tally.add(service.facts[ours], amounts(books.money[theirs]))
    return Found(
        shift=shift,
        wanted=_keys(wanted),
        repeated=_keys(crowd.keys[~still]),
        agreed=seen.tally.table(),
    )


def hasty(keys: Any, payments: Any, *, minutes: int) -> Any:
    """Return the hashes of all payments of payers who paid twice within `minutes`; 0 is none.

    See `ledger_seen.sql` for what a payment packs.
    """
    ordered = np.sort(payments)
    payers = [NONE]
    for block in blocks(len(ordered) - 1):
        before, after = ordered[block], ordered[block.start + 1 : block.stop + 1]
        payers.append(after[(before > 0) & (after - before <= minutes)] >> _MINUTE)
    found = np.unique(np.concatenate(payers))
    if not len(found):
        return NONE
    return np.concatenate(
        [keys[block][members(payments[block] >> _MINUTE, found)] for block in blocks(len(payments))]
    )


def repeated(keys: Any, facts: Any) -> Any:
    """Return the hashes of references that more than one success has."""
    ordered = np.sort(keys[classes(facts) == PAID])
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


class _Seen(msgspec.Struct, frozen=True):
    """What one look at the pairs and the lonely found."""

    wanted: list[Any]
    tally: Tally


def _look(service: Side, books: Side, runs: Runs, span: Span, extra: Any, *, net: bool) -> _Seen:
    """Tell the rows that count from the keys that are wanted, `extra` among them."""
    seen = _Seen([extra], Tally())
    mates = runs.mates(len(service.keys), without=extra)
    for block in blocks(len(mates)):
        ours = np.flatnonzero(mates[block] >= 0) + block.start
        theirs = mates[ours]
        alike = agree(service, books, ours, theirs)
        near = span.holds(service.facts[ours]) | span.holds(books.facts[theirs])
        # What agrees beyond the period is neither counted nor looked at.
        met = np.flatnonzero(alike & near)
        same = same_text(service.references, books.references, ours[met], theirs[met])
        seen.tally.add(service.facts[ours[met[same]]], amounts(books.money[theirs[met[same]]]))
        apart = np.concatenate([np.flatnonzero(~alike), met[~same]])
        seen.wanted.append(service.keys[ours[apart]] >> runs.shift)

    ours, theirs = runs.alone(without=extra)
    facts = service.facts[ours]
    lost = classes(facts) == LOST
    counted = ours[lost & span.holds(facts)]
    seen.tally.add(service.facts[counted], amounts(service.money[counted], with_fee=net))
    for side, rows in ((service, ours[~lost]), (books, theirs)):
        facts = side.facts[rows]
        # A row that is not told so quickly has no day here.
        looked = rows[span.holds(facts) | (classes(facts) > LOST)]
        seen.wanted.append(side.keys[looked] >> runs.shift)
    return seen


def _retried(service: Side, books: Side, crowd: Crowd, span: Span, *, net: bool) -> Any:
    """Return which runs are one reference that was tried again, and booked as it went.

    At most one success and one paid line, which agree; lines that say not paid for no more than the
    attempts that were lost; one amount, one currency, all within the period. Whichever line then
    meets whichever attempt, the same rows are counted.
    """
    lines, places = crowd.theirs, crowd.places
    facts = np.empty(len(places), dtype="uint32")
    money = np.empty(len(places), dtype="int64")
    for side, rows in ((service, ~lines), (books, lines)):
        facts[rows], money[rows] = side.facts[places[rows]], side.money[places[rows]]
    kind, due = classes(facts), amounts(money)
    paid, lost = kind == PAID, kind == LOST
    won, booked = crowd.total(paid & ~lines), crowd.total(paid & lines)
    tried, billed = crowd.total(lost & ~lines), crowd.total(lost & lines)
    uneven = (due != crowd.spread(due[crowd.starts])) | (
        currencies(facts) != crowd.spread(currencies(facts[crowd.starts]))
    )
    plain = (won == booked) & (won <= 1) & (tried == billed if net else tried >= billed)
    plain &= crowd.total((kind > LOST) | uneven | ~span.holds(facts)) == 0
    of_won, of_booked = (
        (crowd.total(np.where(rows, facts, 0)), crowd.total(np.where(rows, money, 0)))
        for rows in (paid & ~lines, paid & lines)
    )
    plain &= (of_won[0] == of_booked[0]) & same_money(of_won[1], of_booked[1])
    # Such a run has a collection, and the first row is one.
    firsts = crowd.spread(places[crowd.starts])
    told = crowd.spread(plain)
    apart = np.zeros(len(places), dtype=bool)
    for side, of in ((service, ~lines), (books, lines)):
        rows = np.flatnonzero(told & of)
        apart[rows] = ~same_text(service.references, side.references, firsts[rows], places[rows])
    return plain & (crowd.total(apart) == 0)


class _Named:
    """Lines that name a collection by its id, and the collections they name."""

    def __init__(self, service: Side, books: Side, span: Span, shift: int) -> None:
        lines = np.flatnonzero(books.ids.is_valid().to_numpy(zero_copy_only=False))
        runs = Runs((service.names, None), (books.names[lines], lines), shift=shift)
        mates = runs.mates(len(service.keys))
        ours = np.flatnonzero(mates >= 0)
        same = same_text(service.ids, books.ids, ours, mates[ours])
        self.ours, self.theirs = ours[same], mates[ours[same]].astype("int64")
        self._keys = service.keys[self.ours] >> shift, books.keys[self.theirs] >> shift
        alike = agree(service, books, self.ours, self.theirs)
        near = span.holds(service.facts[self.ours]) | span.holds(books.facts[self.theirs])
        self._near = near
        # Ids that are named twice, or that only share a hash.
        crowd = runs.crowd()
        odd = [ours[~same], mates[ours[~same]]]
        if len(crowd.starts):
            ends = crowd.spread(~crowd.theirs[crowd.starts])
            odd = [
                np.concatenate([rows, crowd.places[ends & of]])
                for rows, of in zip(odd, (~crowd.theirs, crowd.theirs), strict=True)
            ]
        self.odd = np.unique(
            np.concatenate(
                [
                    service.keys[odd[0]] >> shift,
                    books.keys[odd[1]] >> shift,
                    *(keys[~alike] for keys in self._keys),
                ]
            )
        )

    def strays(self, wanted: Any) -> Any:
        """Return the keys of pairs of which only one side is wanted."""
        ours, theirs = self._keys
        apart = members(ours, wanted) != members(theirs, wanted)
        return np.union1d(ours[apart], theirs[apart])

    def counted(self, wanted: Any) -> tuple[Any, Any]:
        """Return the places of the pairs that count, collections and lines."""
        kept = self._near & ~members(self._keys[0], wanted)
        return self.ours[kept], self.theirs[kept]


def _runs(service: Side, books: Side, named: _Named | None, shift: int) -> Runs:
    """Return the runs of references, without lines and collections that met by id."""
    if named is None:
        return Runs((service.keys, None), (books.keys, None), shift=shift)
    sides = []
    for side, taken in ((service, named.ours), (books, named.theirs)):
        free = np.ones(len(side.keys), dtype=bool)
        free[taken] = False
        rows = np.flatnonzero(free)
        sides.append((side.keys[rows], rows))
    return Runs(*sides, shift=shift)


def _keys(keys: Any) -> pa.Table:
    return pa.table({"key": keys.astype("uint64")})
