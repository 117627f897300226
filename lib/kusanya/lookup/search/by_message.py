"""Which payment a customer's confirmation can be, and why not.

Nothing is matched by likeness: the operator's receipt decides, else amount, channel and time
together, and only where they leave one payment. Everything else is said in words.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.confirmations import Confirmation, Direction, MessageReading
from kusanya.domain.business_day import EAT
from kusanya.domain.channels import channel_label
from kusanya.lookup.search.by_named_reference import having, known_elsewhere, misfit, other_name
from kusanya.lookup.search.fitting import (
    FITS,
    ended_at,
    ends_near,
    fits,
    is_late,
    is_of_channel,
    ordered,
    paid_before,
    several,
)
from kusanya.privacy import mask_text
from kusanya.say import Said, dated, joined
from kusanya.store import Store
from kusanya.store.records import CollectionFilter, CollectionRow, IntentRow
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya.wording import status_word

_ASKED_BEFORE: Final = timedelta(minutes=30)
"""Longest time between asking a customer and the operator's message."""
_EARLY: Final = timedelta(minutes=2)
"""Clocks of operator and service may differ by so much."""
_DIFFERS: Final = timedelta(hours=1)
"""A message of a known receipt may be so far from its payment: networks write some late."""
_DAYS_AROUND: Final = timedelta(days=3)
_BOUND: Final = 20
_COMPARED: Final = 500
"""Payments of an amount that are compared: of more nobody can say that one fits alone."""
_FEW: Final = 3
_FIT: Final = "Amount, channel and time fit this payment alone."
_LATE: Final = (
    "Amount and channel fit one payment, but it was asked for after the message: that can be only "
    "where clocks differ. Compare the reference or the phone."
)
_FIT_WITH_REFERENCE: Final = "Amount, channel, time and reference fit this payment alone."
_NOT_PAID: Final = {
    Direction.RECEIVED: "The message says that the customer received money: no payment to us.",
    Direction.WITHDRAWN: "The message is about cash, a loan or a fee; it is no payment to us.",
    Direction.FAILED: "The message says that nothing was paid.",
}


class MessageMatch(msgspec.Struct, frozen=True, kw_only=True):
    """One confirmation of a message, and what it can be in one mode."""

    confirmation: Confirmation
    row: CollectionRow | None = None
    """The one payment that it is about; None where that is not sure."""
    rows: tuple[CollectionRow, ...] = ()
    """The payments that it can be, `row` among them."""
    creations: tuple[IntentRow, ...] = ()
    """Unanswered creations that it can be."""
    sentence: str
    """What was found, or why nothing fits, for the person at the desk."""
    is_doubtful: bool = False
    """True where the message contradicts itself or what we know: it may be forged."""
    keeps_receipt: bool = False
    """True where the receipt may be recorded with the one payment, because it is not yet."""

    @property
    def claims_unpaid(self) -> bool:
        """Return whether its receipt would be kept with a payment that the service calls unpaid."""
        return self.keeps_receipt and self.row is not None and not self.row.is_paid

    @property
    def summary(self) -> str:
        """Return what the message says, in one line that is safe to show."""
        said = self.confirmation
        amount = "an amount with cents" if said.amount is None else f"TZS {said.amount:,}"
        parts = [
            Said("{issuer} message: {our_direction} {our_amount}").of(
                issuer=said.issuer, our_direction=said.direction.value, our_amount=amount
            )
        ]
        if said.payee:
            text = "from {name}" if said.direction is Direction.RECEIVED else "to {name}"
            parts.append(Said(text).of(name=said.payee))
        if said.receipt:
            parts.append(Said("receipt {receipt}").of(receipt=said.receipt))
        if said.at is not None:
            parts.append(_format(said.at))
        return joined(", ", parts)


def match_messages(
    store: Store,
    reading: MessageReading,
    *,
    mode: Mode,
    now: datetime,
    payees: Sequence[str] = (),
) -> tuple[MessageMatch, ...]:
    """Return for each confirmation which payment it can be.

    `payees` are our names as customers' messages show them; a message that names somebody else is
    none of ours. Without them the sentence asks to compare the name. Raises StoreError.
    """
    return tuple(
        _match(store, confirmation, mode=mode, now=now, payees=payees)
        for confirmation in reading.confirmations
    )


def _match(
    store: Store, said: Confirmation, *, mode: Mode, now: datetime, payees: Sequence[str]
) -> MessageMatch:
    if said.direction is not Direction.PAID:
        return MessageMatch(confirmation=said, sentence=_NOT_PAID[said.direction])
    by_receipt = _by_receipt(store, said, mode, payees)
    if by_receipt is not None:
        return by_receipt
    early = said.at is not None and said.at > now + _EARLY
    doubts = [*said.doubts, *(["its time lies in the future"] if early else [])]
    if doubts:
        sentence = Said("Possibly forged: {our_why}. Look at the payment itself.").of(
            our_why=joined("; ", doubts)
        )
        # Its reference alone leads anywhere: amount and time of a forged message prove nothing.
        rows = known_elsewhere(store, said, mode)
        return MessageMatch(confirmation=said, rows=rows, sentence=sentence, is_doubtful=True)
    objection = _objection(said, payees)
    if objection is not None or said.amount is None or said.at is None:
        return MessageMatch(confirmation=said, sentence=objection or "")
    found = _by_amount_and_time(store, said, said.amount, said.at, mode)
    if not (found.rows or found.creations):
        return found
    sentence = joined(" ", (found.sentence, _whose(said, payees)))
    return msgspec.structs.replace(found, sentence=sentence)


def _whose(said: Confirmation, payees: Sequence[str]) -> str:
    """Return what a person compares where our names are not known here."""
    if payees or not said.payee:
        return ""
    return Said("It names {payee}: check that this is us.").of(payee=said.payee)


def _objection(said: Confirmation, payees: Sequence[str]) -> str | None:
    """Return why a genuine message can be none of ours, None where it can."""
    if _is_to_another(said, payees):
        return Said("It was paid to somebody else: {payee}.").of(payee=said.payee)
    if said.amount is None:
        return "The message names cents; we ask for whole shillings only, so it is none of ours."
    if said.at is None:
        return Said("The message has no time. Look for TZS {amount} and the customer's phone.").of(
            amount=said.amount
        )
    return None


def _is_to_another(said: Confirmation, payees: Sequence[str]) -> bool:
    if not said.payee or not payees:
        return False
    named = "".join(said.payee.split()).casefold()
    return not any("".join(ours.split()).casefold() in named for ours in payees if ours.strip())


def _by_receipt(
    store: Store, said: Confirmation, mode: Mode, payees: Sequence[str]
) -> MessageMatch | None:
    numbers = [number for number in (said.receipt, *said.also) if number]
    ids = {fact.collection_id for number in numbers for fact in store.receipts.find(number, mode)}
    rows = tuple(store.collections.by_id(sorted(ids), mode).values())
    if not rows:
        return None
    wrong = [row for row in rows if row.amount != said.amount]
    if wrong:
        return MessageMatch(
            confirmation=said,
            rows=rows,
            sentence=Said(
                "Possibly forged: receipt {receipt} is known on another payment, of {currency} "
                "{amount}."
            ).of(receipt=said.receipt, currency=wrong[0].currency, amount=wrong[0].amount),
            is_doubtful=True,
        )
    claimed = _with_paid(store, said, rows, mode)
    if len(claimed) > 1:
        return _of_several(said, claimed, known=rows)
    altered = _differs(said, rows[0], payees)
    if altered:
        return MessageMatch(
            confirmation=said,
            rows=rows,
            sentence=Said(
                "Possibly altered: receipt {receipt} is known on this payment, but the message "
                "has {our_what}."
            ).of(receipt=said.receipt, our_what=altered),
            is_doubtful=True,
        )
    return MessageMatch(
        confirmation=said,
        row=rows[0],
        rows=rows,
        sentence=joined(
            " ",
            (
                Said("Receipt {receipt} is known: this payment.").of(receipt=said.receipt),
                other_name(said, rows[0]),
                _whose(said, payees),
            ),
        ),
    )


def _with_paid(
    store: Store, said: Confirmation, known: tuple[CollectionRow, ...], mode: Mode
) -> tuple[CollectionRow, ...]:
    """Return the payments that a receipt is kept with, after the paid ones that fit better.

    Whoever kept it may have been given another person's message: a receipt on a payment that the
    service does not call paid is a claim, and what is paid and fits stands above it.
    """
    if said.amount is None or said.at is None or any(row.is_paid for row in known):
        return known
    begin, end = said.at - _ASKED_BEFORE, said.at + said.precision + _EARLY
    same = _rows(store, mode, begin, end, amount=said.amount, limit=_COMPARED)
    paid = [row for row in same if row.is_paid and fits(said, row, said.at)]
    return (*ordered(paid, said.at, said.precision)[:_BOUND], *known)


def _of_several(
    said: Confirmation, rows: tuple[CollectionRow, ...], *, known: tuple[CollectionRow, ...]
) -> MessageMatch:
    """Return what a receipt says that several payments claim; one of them alone may be paid."""
    paid = [row for row in rows if row.is_paid]
    if len(paid) != 1:
        return MessageMatch(
            confirmation=said,
            rows=rows,
            sentence=Said("Receipt {receipt} is known on {count} payments: compare them.").of(
                receipt=said.receipt, count=len(rows)
            ),
            is_doubtful=True,
        )
    other = next(row for row in rows if row is not paid[0])
    return MessageMatch(
        confirmation=said,
        row=paid[0],
        rows=rows,
        sentence=Said(
            "Receipt {receipt} is claimed for {claimed} too, which we know as {status}; {paid} is "
            "paid. Compare reference and phone."
        ).of(
            receipt=said.receipt,
            claimed=_name(other),
            status=status_word(other.status),
            paid=_name(paid[0]),
        ),
        is_doubtful=True,
        keeps_receipt=paid[0] not in known,
    )


def _differs(said: Confirmation, row: CollectionRow, payees: Sequence[str]) -> str:
    """Return in what a message differs from the payment that has its receipt, or nothing."""
    if _is_to_another(said, payees):
        return Said("another payee, {payee}").of(payee=said.payee)
    if said.at is None:
        return ""
    ended = ended_at(row)
    begin, end = row.created_at - said.precision, ended + said.precision
    if begin - _DIFFERS <= said.at <= end + _DIFFERS:
        return ""
    return Said("another time, {said_at}, not {at}").of(said_at=_format(said.at), at=_format(ended))


def _by_amount_and_time(
    store: Store, said: Confirmation, amount: int, at: datetime, mode: Mode
) -> MessageMatch:
    begin, end = at - _ASKED_BEFORE, at + said.precision + _EARLY
    same = _rows(store, mode, begin, end, amount=amount, limit=_COMPARED)
    ours = [
        row for row in same if is_of_channel(said, row) and not paid_before(row, at, said.precision)
    ]
    near = _nearest(ours, at, said.precision)
    chosen = ordered(same if len(same) == _COMPARED else near, at, said.precision)[:_BOUND]
    opened = store.intents.still_open(
        mode, amounts=(amount, amount), prepared_from=begin, prepared_to=end, limit=_BOUND
    )
    creations = tuple(opened)
    named, created = having(said, ours), having(said, creations)
    paid = [row for row in near if row.is_paid and fits(said, row, at)]
    if named and paid and not any(row.is_paid for row in named):
        return _named_unpaid(said, named[0], paid)
    elsewhere = () if named or created else known_elsewhere(store, said, mode)
    if elsewhere:
        fitting = {row.id: row for row in (*chosen, *elsewhere)}
        return MessageMatch(
            confirmation=said,
            rows=tuple(fitting.values()) if len(fitting) > 1 else (),
            creations=creations,
            sentence=misfit(said, elsewhere[0]),
        )
    if named or created:
        chosen, creations = ordered(named, at, said.precision), created
    if len(chosen) == 1 and not creations:
        return _one(store, said, chosen[0], at, mode)
    if chosen or creations:
        count = len(chosen) + len(creations)
        return MessageMatch(
            confirmation=said,
            rows=tuple(chosen),
            creations=creations,
            sentence="An unanswered creation fits: the customer may have paid it. Resolve it first."
            if count == 1
            else several(chosen, count),
        )
    sentence = (
        _other_channel(said, amount, same)
        or _other_time(store, mode, amount, at)
        or _other_amount(store, mode, said, at)
        or _nothing(said, amount, at, mode)
    )
    return MessageMatch(confirmation=said, sentence=sentence)


def _named_unpaid(
    said: Confirmation, named: CollectionRow, paid: Sequence[CollectionRow]
) -> MessageMatch:
    """Return both: a reference is easily added to another person's message."""
    return MessageMatch(
        confirmation=said,
        rows=(*paid[:_BOUND], named),
        sentence=Said(
            "It names {named}, which we know as {status}, but {paid} is paid and fits in amount, "
            "channel and time: the reference may have been added. None is chosen. Ask the service "
            "before anything else."
        ).of(named=_name(named), status=status_word(named.status), paid=_name(paid[0])),
        is_doubtful=True,
    )


def _nearest(
    ours: Sequence[CollectionRow], at: datetime, precision: timedelta
) -> Sequence[CollectionRow]:
    near = [row for row in ours if ends_near(row, at, precision)]
    if near and not any(row.is_paid for row in near):
        # What is open may be the one that was paid; a failed one beside it must not hide it.
        near += [row for row in ours if row.final_seen_at is None and row not in near]
    return near or ours


def _one(
    store: Store, said: Confirmation, row: CollectionRow, at: datetime, mode: Mode
) -> MessageMatch:
    known = store.receipts.of(row.id, mode)
    if known and said.receipt is not None:
        return MessageMatch(
            confirmation=said,
            rows=(row,),
            sentence=Said(
                "Possibly forged, or another payment: this one has receipt {known}, the message "
                "says {receipt}."
            ).of(known=known[0].receipt, receipt=said.receipt),
            is_doubtful=True,
        )
    is_named = bool(having(said, [row]))
    if is_late(row, at, said.precision) and not is_named:
        return MessageMatch(confirmation=said, rows=(row,), sentence=_LATE)
    sentence = _FIT_WITH_REFERENCE if is_named else joined(" ", (_FIT, other_name(said, row)))
    if not row.is_paid:
        sentence = Said(
            "{our_sentence} The message says paid and we know it as {status}: ask the service "
            "before anything else."
        ).of(our_sentence=sentence, status=status_word(row.status))
    return MessageMatch(
        confirmation=said,
        row=row,
        rows=(row,),
        sentence=sentence,
        keeps_receipt=said.receipt is not None,
    )


def _other_channel(said: Confirmation, amount: int, same: Sequence[CollectionRow]) -> str | None:
    others = [row for row in same if not is_of_channel(said, row)]
    if not others:
        return None
    label = channel_label(others[0].channel)
    return Said("Another channel: TZS {amount} was asked for by {channel}, not by {issuer}.").of(
        amount=amount, channel=label, issuer=said.issuer
    )


def _other_time(store: Store, mode: Mode, amount: int, at: datetime) -> str | None:
    wide = _rows(store, mode, at - _DAYS_AROUND, at + _DAYS_AROUND, amount=amount)
    if not wide:
        return None
    nearest = min(wide, key=lambda row: abs(row.created_at - at))
    return Said("Another time: TZS {amount} was asked for on {at}, the message says {said_at}.").of(
        amount=amount, at=_format(nearest.created_at), said_at=_format(at)
    )


def _other_amount(store: Store, mode: Mode, said: Confirmation, at: datetime) -> str | None:
    others = _rows(store, mode, at - FITS, at + FITS, channel=said.channel)
    if not 0 < len(others) <= _FEW:
        return None
    amounts = _either(*sorted({f"TZS {row.amount:,}" for row in others}))
    return Said("Another amount: about that time we asked for {our_amounts}, not TZS {amount}.").of(
        our_amounts=amounts, amount=said.amount
    )


def _either(amount: str, *others: str) -> str:
    if not others:
        return amount
    return Said("{amount} or {our_amounts}").of(amount=amount, our_amounts=_either(*others))


def _nothing(said: Confirmation, amount: int, at: datetime, mode: Mode) -> str:
    payee = f" ({said.payee})" if said.payee else ""
    return Said(
        "No payment of TZS {amount} was asked for about {at}: it was paid to somebody "
        "else{payee}, or is not of {mode} mode."
    ).of(amount=amount, at=_format(at), payee=payee, mode=mode.value)


def _rows(
    store: Store,
    mode: Mode,
    begin: datetime,
    end: datetime,
    *,
    amount: int | None = None,
    channel: str | None = None,
    limit: int = _BOUND,
) -> Sequence[CollectionRow]:
    where = CollectionFilter(
        amount_min=amount,
        amount_max=amount,
        created_from=begin,
        created_to=end,
        channels=() if channel is None else (channel,),
    )
    return store.collections.page(mode, where=where, limit=limit).rows


def _name(row: CollectionRow) -> str:
    return safe(mask_text(row.reference), 60)


def _format(at: datetime) -> Said:
    return dated(at.astimezone(EAT), "%d %b %Y %H:%M EAT")
