"""What the readers of bank formats agree on: entries, and how they become movements."""

from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.errors import InputRefused
from kusanya.privacy import mask_text
from kusanya.text import safe
from kusanya_books import columns
from kusanya_books.columns import MOVEMENTS, DType
from kusanya_books.read.mapping import EAT_NAME
from kusanya_books.read.tables.numbers import (
    DIGITS_MAX,
    HAS_CENTS,
    HUNDREDTHS,
    NO_CENTS,
    made_whole,
    no_balance,
)
from kusanya_books.request.days import business_days
from kusanya_books.request.quality import FileTotal, Quality, Remark, file_total

FILE_MAX: Final = 200_000_000
"""Largest statement in a bank's format, in bytes."""
COMPLETED: Final = "completed"
NO_AMOUNT: Final = f"amount {NO_CENTS}"
NO_DATE: Final = "the booking date cannot be read"


class BankEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a bank's statement."""

    row: int
    """The entry's line, or its place in a file that has no lines."""
    at: datetime | None = None
    """An aware instant, where the entry says a time."""
    day: date | None = None
    currency: str | None = None
    amount: int | None = None
    """Signed hundredths: in +, out -."""
    receipt: str | None = None
    reference: str | None = None
    kind: str = "other"
    status: str = COMPLETED
    details: str = ""
    reason: str | None = None
    """Why it cannot be used."""
    column: str | None = None
    """The field that the reason is about, as the format calls it."""


class Entries(msgspec.Struct, frozen=True, kw_only=True):
    """The entries of a file, in its order, with their running balances where it has them."""

    entries: tuple[BankEntry, ...]
    balances: tuple[int | None, ...] = ()
    """In hundredths, as all sums here until the entries are movements."""
    notes: tuple[str, ...] = ()
    moved: tuple[int | None, ...] = ()
    """By how much the balances of each statement moved; None where it does not say both."""
    unproven: str = ""
    """Why entries may be missing; empty where the file says its own end."""

    def finish(
        self, name: str, digest: str, *, leg: str, cutoff: timedelta
    ) -> tuple[pd.DataFrame, Quality]:
        """Return the movements of those that can be used, and the account of all."""
        balances = self.balances or (None,) * len(self.entries)
        pairs = [
            (entry, balance)
            for entry, balance in zip(self.entries, balances, strict=True)
            if entry.reason is None
        ]
        good = [entry for entry, _ in pairs]
        return _movements(pairs, name, leg=leg, cutoff=cutoff), Quality(
            source=f"{leg} {safe(name)}",
            rows=len(self.entries),
            kept=len(good),
            remarks=tuple(self._remarks()),
            sha256=digest,
            total=self._total(good),
            unproven=self.unproven,
        )

    def _remarks(self) -> Iterator[Remark]:
        said = [*self.notes, *filter(None, [self.unproven])]
        if not self.entries:
            said.append("there is no entry in it")
        for note in said:
            yield Remark(row=None, verdict="warned", reason=note)
        for entry in self.entries:
            if entry.reason is not None:
                yield Remark(
                    row=entry.row,
                    verdict="rejected",
                    reason=entry.reason,
                    column=entry.column,
                    currency=entry.currency,
                    amount=_whole(entry, None),
                )
            elif (entry.amount or 0) % HUNDREDTHS:
                yield Remark(row=entry.row, verdict="warned", reason=HAS_CENTS)

    def _total(self, good: list[BankEntry]) -> FileTotal | None:
        """Return what the balances of all statements say that their entries come to."""
        stated = [each for each in self.moved if each is not None]
        if not stated or len(stated) < len(self.moved):
            return None
        currencies = {entry.currency for entry in good}
        lost = [entry.amount or 0 for entry in self.entries if entry.reason is not None]
        return file_total(
            currencies.pop() if len(currencies) == 1 else None,
            sum(stated),
            rows=len(good),
            read=_booked(good),
            unread=sum(lost),
            unit=HUNDREDTHS,
        )


def _movements(
    pairs: list[tuple[BankEntry, int | None]], name: str, *, leg: str, cutoff: timedelta
) -> pd.DataFrame:
    """Return the movements of entries, each with its balance."""
    good = [entry for entry, _ in pairs]
    at, day = _moments(good, cutoff)
    return columns.frame(
        MOVEMENTS,
        {
            "input": [safe(name)] * len(good),
            "line_no": [entry.row for entry in good],
            "leg": [leg] * len(good),
            "channel": [None] * len(good),
            "currency": [entry.currency for entry in good],
            "at": at,
            "business_day": day,
            "receipt": [entry.receipt for entry in good],
            "reference": [entry.reference for entry in good],
            "collection_id": [None] * len(good),
            "kind": [entry.kind for entry in good],
            "status": [safe(entry.status) for entry in good],
            "amount": [_whole(entry, balance) for entry, balance in pairs],
            "fee": [None] * len(good),
            "balance": [None if held is None else held // HUNDREDTHS for _, held in pairs],
            "details": [safe(mask_text(entry.details)) for entry in good],
        },
    )


def _moments(good: list[BankEntry], cutoff: timedelta) -> tuple[Any, Any]:
    """Return instants and business days; a day without a time is one already."""
    days = pd.Series([entry.day for entry in good], dtype="object")
    midnights = pd.to_datetime(days).astype("datetime64[us]")
    instants = pd.to_datetime(
        pd.Series([entry.at for entry in good], dtype="object"), utc=True
    ).astype(DType.INSTANT.pandas)
    begins = midnights.dt.tz_localize(EAT_NAME).dt.tz_convert("UTC")
    return instants.fillna(begins), midnights.fillna(business_days(instants, cutoff=cutoff))


def check_size(name: str, data: bytes, most: int = FILE_MAX) -> None:
    """Raise InputRefused for a file that is larger than any statement."""
    if len(data) > most:
        raise InputRefused(f"{name} is larger than {most:,} bytes; split it")


def _whole(entry: BankEntry, balance: int | None) -> int | None:
    """Return an entry's amount in whole, as its balance moved where one is known."""
    if entry.amount is None:
        return None
    held = no_balance(entry.amount) if balance is None else balance
    return int(made_whole(entry.amount, held))


def hundredths(text: str | None) -> int | None:
    """Return an amount of a bank's format, `1500,00` or `1500.00`; None for parts of a cent."""
    try:
        number = Decimal((text or "").strip().replace(",", "."))
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number.adjusted()) >= DIGITS_MAX - 2:
        return None
    number *= HUNDREDTHS
    return int(number) if number == number.to_integral_value() else None


def moved(opening: int | None, closing: int | None) -> int | None:
    """Return by how much a statement's balance moved; None where it does not say both."""
    return None if opening is None or closing is None else closing - opening


def _booked(entries: Iterable[BankEntry]) -> int:
    return sum(entry.amount or 0 for entry in entries if entry.status == COMPLETED)


def running(
    opening: int | None, closing: int | None, entries: Iterable[BankEntry]
) -> list[int | None]:
    """Return the balance after each entry; nothing where the entries do not lead to the end."""
    listed = list(entries)
    counted = [entry.amount or 0 if entry.status == COMPLETED else 0 for entry in listed]
    readable = all(entry.reason is None for entry in listed)
    if opening is None or closing is None or not readable or opening + sum(counted) != closing:
        return [None] * len(listed)
    balances: list[int | None] = []
    for amount in counted:
        opening += amount
        balances.append(opening)
    return balances


def cut(text: str | None, limit: int = 140) -> str | None:
    """Return a reference without blanks at its ends, None where it says nothing."""
    found = (text or "").strip()
    return found[:limit] if found and found.upper() not in {"NONREF", "NOTPROVIDED"} else None
