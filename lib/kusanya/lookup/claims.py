"""What receipts and pasted messages claim about a payment, beside what the service says of it.

A receipt is kept with a payment as a fact, so a later reader of the payment sees the claim too.
"""

from collections.abc import Iterator

import msgspec

from kusanya.lookup.timeline import Timeline
from kusanya.privacy import mask_text
from kusanya.say import Said
from kusanya.text import safe
from kusanya.wording import money, status_word


class ReceiptClaim(msgspec.Struct, frozen=True, kw_only=True):
    """One claim that the service's word does not bear out."""

    sentence: str
    """What is claimed and what to do, safe to show; phones are masked."""
    urgent: bool
    """Whether a person should look before anything else happens with this payment."""


def claims(timeline: Timeline) -> tuple[ReceiptClaim, ...]:
    """Return what is claimed of a payment and not borne out, the urgent first.

    A receipt that another payment has too is named even where this one is paid.
    """
    return (*_shared(timeline), *_unpaid(timeline))


def _shared(timeline: Timeline) -> Iterator[ReceiptClaim]:
    for shared in timeline.shared_receipts:
        row = shared.row
        other = f"{safe(mask_text(row.reference), 60)}, {safe(money(row.amount, row.currency), 60)}"
        yield ReceiptClaim(
            sentence=Said(
                "Receipt {receipt} is kept with another payment too: {other}. A receipt is of one "
                "payment, so one of the two may be forged."
            ).of(receipt=safe(shared.receipt, 60), other=other),
            urgent=True,
        )


def _unpaid(timeline: Timeline) -> Iterator[ReceiptClaim]:
    row = timeline.row
    if not timeline.is_claimed or row.is_paid:
        return
    urgent, status = row.final_seen_at is not None, status_word(row.status)
    for fact in timeline.receipts:
        yield ReceiptClaim(
            sentence=Said(
                "Receipt {receipt} ({source}) claims that this was paid, the service says "
                "{status}: ask the service first."
            ).of(
                receipt=safe(fact.receipt, 60),
                source=safe(mask_text(fact.source), 80),
                status=status,
            ),
            urgent=urgent,
        )
    if not timeline.receipts:
        yield ReceiptClaim(
            sentence=Said(
                "A pasted confirmation may be of this payment, the service says {status}: ask the "
                "service first."
            ).of(status=status),
            urgent=urgent,
        )
