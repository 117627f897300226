"""What a report is made from: one value that every notebook and the month-end run pass on."""

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from functools import cache
from typing import Final

import msgspec
import pandas as pd

from kusanya.errors import InputRefused
from kusanya.store.records import BreakHistory
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS, LEDGER, MOVEMENTS, STATEMENT
from kusanya_books.columns.dtypes import text_of
from kusanya_books.engine import on_disk
from kusanya_books.engine.engine import Source
from kusanya_books.request.days import Period
from kusanya_books.request.earlier_period import ALL, READ, EarlierPeriod
from kusanya_books.request.expectation import Expected
from kusanya_books.request.feed import Feed
from kusanya_books.request.quality import Quality
from kusanya_books.request.tolerance import PLAIN, Tolerance

EXPORT: Final = "export"
"""How the store id of what was read from an export begins."""


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """Collections of one mode around a period, and what else is known about them."""

    collections: Source
    """Reaches some days past the period on both sides; Parquet that is never loaded whole where the
    inputs are an export, or were to stay on the disk."""
    outside: pd.DataFrame | None = None
    """Collections of other days that the period's lines of the books name; from the whole store."""
    other_mode: pd.DataFrame
    """Keys of the other mode, so that a booking on the wrong side is recognised."""
    intents: pd.DataFrame
    """Creations whose outcome is not known."""
    control: pd.DataFrame
    """What was loaded against the store's own rollups."""
    ledger: Source | None = None
    """The books; None where none were given, which proves nothing and is no zero."""
    statement: pd.DataFrame | None = None
    movements: pd.DataFrame | None = None
    """The lines of the operator's and the bank's statements; None where none were given."""
    receipts: pd.DataFrame | None = None
    """The operator's receipts of collections that are known from earlier statements."""
    tariff: pd.DataFrame | None = None
    """The declared tariff."""
    basis: str = "gross"
    """Whether the ledger books gross or net amounts."""
    tolerance: Tolerance = PLAIN
    period: Period
    mode: Mode
    source: str
    """Where the collections come from, in words; says so when they are sample data."""
    store_id: str
    as_of: int
    """The journal position up to which facts are known."""
    as_of_at: datetime
    """When the fact at that position was observed."""
    judged_on: date
    """The business day that ages are counted to: that of the run, unless somebody named another."""
    feed: Feed | None = None
    """What shows that the service was heard; None of sample data, which are whole."""
    expect: tuple[Expected, ...] = ()
    """What must have been compared before anybody signs."""
    quality: tuple[Quality, ...]
    carried: EarlierPeriod | None = None
    """What an earlier period left open."""
    histories: Mapping[str, BreakHistory] = {}
    """What people said about breaks up to the position, by the break's id."""

    @property
    def is_export(self) -> bool:
        """Return whether the collections lie in an export: as many as no machine may hold."""
        return self.store_id.startswith(EXPORT) and not isinstance(self.collections, pd.DataFrame)

    @property
    def books(self) -> pd.DataFrame | None:
        """Return the lines of the books as a frame; None where none were given."""
        return None if self.ledger is None else on_disk.whole(self.ledger, LEDGER, order="row_no")

    @property
    def frame(self) -> pd.DataFrame:
        """Return the collections as a frame, for what looks at single rows.

        Raises InputRefused where they are an export's: `exported.whole` loads them.
        """
        if not self.is_export:
            return on_disk.whole(self.collections, COLLECTIONS, order="created_at, id")
        raise InputRefused("an export is queried where it lies; load it whole to look at its rows")

    @property
    def read(self) -> int:
        """Return how many collections were read."""
        if isinstance(self.collections, pd.DataFrame):
            return len(self.collections)
        return sum(load.kept for load in self.quality if load.source == "collections")

    @property
    def movements_with_carried(self) -> pd.DataFrame:
        """Return the statements' lines, with those that the period before left open."""
        if self.carried is None or not self.carried.follows(self.period):
            return self.moved
        return self.carried.with_movements(self.moved)

    @property
    def at_bank_with_carried(self) -> pd.DataFrame:
        """Return the same of `at_bank`; days that nobody closed may lie between."""
        if self.carried is None or not self.carried.precedes(self.period):
            return self.at_bank
        return self.carried.with_movements(self.at_bank)

    @property
    def moved(self) -> pd.DataFrame:
        """Return the lines of operators' and banks' statements; none where none were given."""
        return columns.empty(MOVEMENTS) if self.movements is None else self.movements

    @property
    def of_operators(self) -> pd.DataFrame:
        """Return the lines of operators' statements; none where none were given."""
        return self.moved[self.moved["leg"] == "operator"]

    @property
    def has_bank(self) -> bool:
        """Return whether a bank's statement was given, be it without a line."""
        return any(load.leg == "bank" for load in self.quality) or bool(
            (self.moved["leg"] == "bank").any()
        )

    @property
    def operator_channels(self) -> dict[str, bool]:
        """Return the channels of the operators' statements, and whether those name fees.

        One without a line says that nothing came, and not whose it is: where there are as many as
        channels of the month before that no other one names, they are of those.
        """
        lines, unnamed = self.of_operators, self.unnamed
        names_fee = lines["fee"].notna() | (lines["kind"] == "fee")
        named = {str(name): bool(fees.any()) for name, fees in names_fee.groupby(lines["channel"])}
        return named | (unnamed if len(unnamed) <= len(self.empty_statements) else {})

    @property
    def unnamed(self) -> dict[str, bool]:
        """Return the channels of operators' statements of the month before that none names now."""
        if self.carried is None:
            return {}
        known = self.carried.operators_before(self.period.first)
        named = set(self.of_operators["channel"].unique())
        return {name: fees for name, fees in known.items() if name not in named}

    @property
    def empty_statements(self) -> tuple[str, ...]:
        """Return the operators' statements without a line: they do not say whose they are."""
        loads = (load for load in self.quality if load.leg == "operator")
        return tuple(
            load.source for load in loads if not (load.kept or load.rejected or load.repeated)
        )

    @property
    def settled_channels(self) -> frozenset[tuple[str | None, str]]:
        """Return the channels and currencies of which the settlement statement pays out anything.

        What the provider itself charges may be on a line without a channel.
        """
        if self.statement is None:
            return frozenset()
        # Lines may be a million, and this is asked for each channel.
        named = self.statement[["channel", "currency", "kind"]].drop_duplicates()
        return frozenset(_accounts(payments_of(named)))

    @property
    def _settled_before(self) -> frozenset[str]:
        """Return the channels that settlement statements of the month before named.

        That of one night may name few, and there may be none.
        """
        return (
            frozenset() if self.carried is None else self.carried.settled_before(self.period.first)
        )

    @property
    def _are_all_settled(self) -> bool:
        """Return whether the settlement statement names no channel, or is empty after such ones."""
        named = {channel for channel, _ in self.settled_channels}
        return None in named or (not named and ALL in self._settled_before)

    @property
    def paid_by_operators(self) -> frozenset[tuple[str, str]]:
        """Return the channels and currencies that operators pay out themselves.

        The settlement statement names none of them, nor did one of the month before, and their own
        statements have payouts, or had them in the period before; where no settlement statement is
        given, those of the period before.
        """
        if self._are_all_settled:
            return frozenset()
        known = frozenset(() if self.carried is None else self.carried.payers)
        if self.statement is None:
            # Nothing says otherwise.
            return known
        before = self._settled_before
        accounts = set(_accounts(self._operator_payouts))
        mine = frozenset((name, of) for name, of in accounts if name and name not in before)
        return (mine | known) - self.settled_channels

    def is_named(self, channel: str | None, currency: str) -> bool:
        """Return whether the settlement statement names a channel, or is of all."""
        return not self.settled_channels.isdisjoint({(channel, currency), (None, currency)})

    def is_settled(self, channel: str | None, currency: str) -> bool:
        """Return whether the settlement statement says what is paid out of a channel.

        Else its operator's statement does.
        """
        if self.is_named(channel, currency):
            return True
        before = self._settled_before
        return not before.isdisjoint({channel, ALL}) and (
            (channel, currency) not in self.paid_by_operators
        )

    @property
    def at_bank(self) -> pd.DataFrame:
        """Return the statements' lines without payouts that the bank's do not show.

        Where the settlement statement names a channel, its operator pays the provider.
        """
        lines, paid = self.moved, self._operator_payouts
        is_named = cache(self.is_named)
        named = [is_named(*account) for account in _accounts(paid)]
        return lines.drop(index=paid.index[named])

    @property
    def perhaps_at_bank(self) -> frozenset[tuple[str | None, str]]:
        """Return the channels and currencies whose operators may pay the provider, or us by now.

        The settlement statement names none of them, and one of the month before did: a payout of
        theirs that the bank does not show is not missing there.
        """
        accounts = set(_accounts(self._operator_payouts))
        return frozenset(
            one for one in accounts if self.is_settled(*one) and not self.is_named(*one)
        )

    @property
    def _operator_payouts(self) -> pd.DataFrame:
        lines = self.of_operators
        return lines[lines["kind"] == "payout"]

    @property
    def days_before(self) -> frozenset[date]:
        """Return the days before the period of which a line that no earlier period read is new."""
        days = () if self.carried is None else self.carried.settled_days()
        return frozenset(day for day in days if day < self.period.first)

    @property
    def late_payouts(self) -> pd.DataFrame:
        """Return the settlement lines of `days_before` that no earlier period read."""
        if self.statement is None or self.carried is None:
            return columns.empty(STATEMENT)
        days = pd.to_datetime(sorted(self.days_before))
        lines = self.statement[self.statement["business_day"].isin(days)]
        read = self.carried.settlement_lines
        if read is None or lines.empty:
            return lines
        said = list(READ.columns)
        known = read[said].drop_duplicates()
        found = lines[said].merge(known, how="left", on=said, indicator=True)["_merge"]
        return lines[(found == "left_only").to_numpy()]

    def payouts_beside(self, late: pd.DataFrame) -> pd.DataFrame | None:
        """Return the settlement lines but the `late` ones, and what the bank before left open."""
        lines = self.statement
        if lines is not None:
            lines = lines.drop(index=late.index)
        if self.carried is None or not self.carried.precedes(self.period):
            return lines
        # What the bank has shown is no part of what is paid late, or taken back, under its name.
        shown = self.carried.shown["receipt"]
        settled = set(late.loc[late["batch_id"].isin(shown), "batch_id"])
        return self.carried.with_payouts(lines, but=settled)

    @property
    def rejected(self) -> int:
        """Return how many input rows could not be read; with one, the period is not closed."""
        return sum(load.count("rejected") for load in self.quality)

    @property
    def differing(self) -> tuple[Quality, ...]:
        """Return the loads of files whose own total is not that of their rows.

        With one, the period is not closed: rows may be missing from the file, or were not read.
        """
        return tuple(load for load in self.quality if load.total and load.total.difference)


def payments_of(statement: pd.DataFrame) -> pd.DataFrame:
    """Return a settlement statement's lines for collections: not what the provider charges."""
    return statement[statement["kind"] == "payment"]


def _accounts(lines: pd.DataFrame) -> Iterator[tuple[str | None, str]]:
    """Yield the channel and the currency of each line."""
    for channel, currency in zip(lines["channel"], lines["currency"], strict=True):
        yield text_of(channel), str(currency)
