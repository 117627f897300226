"""What Lookup's list holds: the matches of a text, their columns, and all that is known of one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from kusanya.domain.business_day import day_start
from kusanya.lookup import CreationTimeline, LookupResult, MatchKind, find, load_creation_timeline
from kusanya.privacy import mask_phone
from kusanya.store import Store
from kusanya.store.records import CollectionRow, IntentRow
from kusanya.wire import Mode
from kusanya_console.actions.context import Selection
from kusanya_console.actions.messages import copyable
from kusanya_console.collections.evidence import Evidence, gather
from kusanya_console.lists.export import Value, format_exact, masked
from kusanya_console.lists.underlining import phone_end
from kusanya_console.ui import vocabulary
from kusanya_console.ui.columns import Column
from kusanya_console.ui.format import Look, cell, format_listed_instant, format_money, format_text
from kusanya_console.ui.vocabulary import MUTED, PLAIN, Run
from kusanya_console.widgets.highlighting import Needle, Needles

LookupRecord = CollectionRow | IntentRow
Details = Evidence | CreationTimeline


def _created(row: LookupRecord, look: Look) -> Run:
    at = row.created_at if isinstance(row, CollectionRow) else row.first_sent_at or row.prepared_at
    return format_listed_instant(at, look), MUTED


def _channel(row: LookupRecord, _look: Look) -> Run:
    return vocabulary.channel(row.channel) if isinstance(row, CollectionRow) else "—", PLAIN


def _amount(row: LookupRecord, _look: Look) -> Run:
    currency = row.currency if isinstance(row, CollectionRow) else "TZS"
    return format_money(row.amount, currency, expected="TZS"), PLAIN


def _status(row: LookupRecord, _look: Look) -> Run:
    if isinstance(row, IntentRow):
        return vocabulary.intent(row.state)
    return vocabulary.with_code(vocabulary.status_of(row), row)


FIELDS: Final[Mapping[str, Callable[[LookupRecord], Value]]] = {
    "created_at": lambda row: format_exact(
        row.created_at if isinstance(row, CollectionRow) else row.first_sent_at or row.prepared_at
    ),
    "mode": lambda row: row.mode.value,
    "reference": lambda row: masked(row.reference),
    "id": lambda row: row.id,
    "status": lambda row: row.status if isinstance(row, CollectionRow) else row.state.value,
    "amount": lambda row: row.amount,
    "currency": lambda row: row.currency if isinstance(row, CollectionRow) else "TZS",
    "channel": lambda row: row.channel if isinstance(row, CollectionRow) else None,
    "phone": lambda row: mask_phone(row.phone),
}
COLUMNS: tuple[Column[LookupRecord], ...] = (
    Column("created", 9, _created, whole=True),
    Column("reference", 14, lambda row, _: cell(row.reference, limit=60), grows=20, names=True,
           key="ref"),
    Column("channel", 12, _channel, rank=1),
    Column("phone", 12, lambda row, _: (mask_phone(row.phone), PLAIN), rank=2, key="phone",
           extra=True),
    Column("amount TZS", 12, _amount, right=True, whole=True, key="amount"),
    Column("status", 15, _status, grows=20),
)  # fmt: skip


class LookupAnswer(msgspec.Struct, frozen=True):
    """What the store says to the text in the box."""

    found: LookupResult
    details: Details | None


def look_up(
    store: Store,
    text: str,
    *,
    mode: Mode,
    look: Look,
    is_claimed: Callable[[str], bool],
    payees: Sequence[str] = (),
    shown_id: str | None = None,
    chosen_id: str = "",
) -> LookupAnswer:
    """Return the matches of a text, with all that is known of one: `shown_id`, or the best.

    `is_claimed` says of a collection's id whether a message that was pasted before may be of it;
    `chosen_id` is the one that a person took it for.
    """
    found = find(store, text, mode=mode, now=look.now, day=day_start, payees=payees)
    rows = matched(found)
    if not rows:
        return LookupAnswer(found, None)
    row = next((row for row in rows if row.id == shown_id), rows[0])
    claimed = found.is_claim or is_claimed(row.id)
    unsure = found.is_unsure and row.id != chosen_id
    details = load_details(store, row, look, is_claimed=claimed, is_unsure=unsure)
    return LookupAnswer(found, details)


def matched(found: LookupResult) -> tuple[LookupRecord, ...]:
    """Return what was found as the table lists it: creations without an answer come first."""
    return (
        *(match.intent for match in found.creations),
        *(match.row for match in found.matches),
    )


def needles_of(found: LookupResult) -> Needles:
    """Return what to underline in the matches: how each kind of them was found."""
    of_phone = {MatchKind.PHONE, MatchKind.PHONE_AND_AMOUNT, MatchKind.PHONE_END}
    of_amount = {MatchKind.AMOUNT, MatchKind.PHONE_AND_AMOUNT}
    records: list[tuple[LookupRecord, MatchKind]] = [
        *((match.row, match.kind) for match in found.matches),
        *((match.intent, match.kind) for match in found.creations),
    ]
    names = {row.reference: None for row, kind in records if kind is MatchKind.REFERENCE}
    phones = {row.phone: None for row, kind in records if kind in of_phone}
    amounts = {row.amount: None for row, kind in records if kind in of_amount}
    return {
        "ref": tuple(map(Needle, {found.text: None, **names})),
        "phone": tuple(dict.fromkeys(map(phone_end, phones))),
        "amount": tuple(Needle(f"{amount:,}") for amount in amounts),
    }


def load_details(
    store: Store,
    row: LookupRecord,
    look: Look,
    *,
    is_claimed: bool = False,
    is_unsure: bool = False,
) -> Details | None:
    """Return all that is known of a match; raises StoreError."""
    if isinstance(row, IntentRow):
        return load_creation_timeline(store, row.id, now=look.now)
    return gather(store, row.id, row.mode, look, is_claimed=is_claimed, is_unsure=is_unsure)


def record_of(details: Details) -> LookupRecord:
    """Return the record that a story is about."""
    return details.intent if isinstance(details, CreationTimeline) else details.story.row


def ids_of(details: Details) -> set[str]:
    """Return the ids of every payment that a story shows the state of."""
    around = details.around if isinstance(details, CreationTimeline) else details.story.around
    return {record_of(details).id, *(row.id for row in around.also)}


def selection_of_match(row: LookupRecord) -> Selection:
    """Return a match as what the cursor points at."""
    name, copied = format_text(row.reference, 60), copyable(row.reference, row.id)
    if isinstance(row, IntentRow):
        return Selection(name=name, intent_id=row.id, copied=copied)
    return Selection(name=name, collection_id=row.id, copied=copied)
