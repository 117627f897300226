"""What `kusanya find` and `show` print: one line a match, the story, what to say.

Pure but for reading stories from the store. Times are East Africa's.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from kusanya.domain.business_day import EAT
from kusanya.domain.status import Status
from kusanya.lookup import (
    CreationTimeline,
    EventKind,
    LookupResult,
    MatchKind,
    MessageMatch,
    NewRequest,
    ReceiptClaim,
    Timeline,
    advice,
    claims,
    creation_advice,
    load_creation_timeline,
    load_timeline,
    new_request,
    order_sentence,
)
from kusanya.privacy import mask_phone, mask_text
from kusanya.state.anomalies import Anomaly, anomalies
from kusanya.store import Store
from kusanya.store.records import CollectionRow, IntentRow
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya.wording import Advice, Wording
from kusanya_console.lookup.message_lines import summary
from kusanya_console.lookup.words import looked_at, looked_for, tried
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import attempt_words, first_sent_words

_STORIES: Final = 5
"""So many of the best matches are printed with what to say; `show` says it of the others."""


def found_lines(
    store: Store,
    found: LookupResult,
    now: datetime,
    *,
    is_claimed: Callable[[str], bool] = lambda _: False,
) -> Iterator[str]:
    """Yield what was found: a line each, and what to say about the best.

    `is_claimed` says of a collection's id whether a message that was pasted before may be of it.
    """
    for message in found.messages:
        yield from _message_lines(message)
    if found.trouble and found.is_message and found.count:
        yield f"! {translate(found.trouble)}"
    for place, creation in enumerate(found.creations):
        yield f"{_creation_line(creation.intent)}  {_by(creation.kind)}"
        if place < _STORIES:
            yield from _creation_lines(store, creation.intent, now)
    for place, match in enumerate(found.matches, start=len(found.creations)):
        row = match.row
        yield f"{_line(row)}  {_by(match.kind)}"
        if row.contradictions:
            yield from _contradiction_lines(store, row, now)
        if place < _STORIES:
            claimed = found.is_claim or is_claimed(row.id)
            timeline = load_timeline(
                store,
                row.id,
                row.mode,
                now=now,
                is_claimed=claimed,
                is_unsure=found.is_unsure,
            )
            yield from _match_lines(timeline, is_message=bool(found.messages))
    if found.count > _STORIES:
        yield translate("kusanya show ID says what to tell the customer about the others")
    yield from _foot_lines(found)


def _foot_lines(found: LookupResult) -> Iterator[str]:
    if found.looked_at and found.kinds <= {MatchKind.AMOUNT}:
        yield translate("looked for: {what}, East Africa Time", what=looked_at(found))
    elif looked_for(found):
        yield translate("looked for: {what}", what=looked_for(found))
    if found.more:
        yield translate("more begin with this: type more of the reference")


def _creation_lines(store: Store, row: IntentRow, now: datetime) -> Iterator[str]:
    timeline = load_creation_timeline(store, row.id, now=now)
    if timeline is not None:
        yield from _replay_lines(timeline)
        yield from _say_lines(creation_advice(timeline), new_request(timeline))


def _match_lines(timeline: Timeline | None, *, is_message: bool) -> Iterator[str]:
    if timeline is None:
        return
    yield from _order_lines(timeline)
    if timeline.receipts or not is_message:  # else the message's own lines say it
        yield from _claim_lines(timeline)
    yield from _say_lines(advice(timeline), new_request(timeline))


def nothing_line(mode: Mode, found: LookupResult) -> str:
    """Return why nothing was found, or where else there is something."""
    if found.messages:
        return translate("no payment of ours fits the message")
    if found.trouble and found.is_message:
        return translate(found.trouble)
    if found.trouble:
        return translate("not a phone number: {why}", why=translate(found.trouble))
    if found.elsewhere:
        other = "test" if mode == "live" else "live"
        return translate(
            "nothing in {mode} mode; {count} match in {other} mode",
            mode=mode.value,
            count=found.elsewhere,
            other=other,
        )
    if found.phones > 1:
        return translate(
            "the text holds {count} phone numbers: look one up at a time", count=found.phones
        )
    phone = [translate("the phone")] if found.phones and found.words else []
    what = "; ".join([*phone, *tried(found)])
    said = "nothing in {mode} mode matches"
    if what:
        said = "nothing in {mode} mode matches (looked for {what})"
    return translate(said, mode=mode.value, what=what)


def _message_lines(message: MessageMatch) -> Iterator[str]:
    yield summary(message)
    yield f"  {'! ' if message.is_doubtful else ''}{safe(translate(message.sentence), 400)}"
    if message.keeps_receipt:
        yield translate("  give --keep-receipt to keep the receipt with this payment")


def story_lines(store: Store, timeline: Timeline | CreationTimeline) -> Iterator[str]:
    """Yield all that is known of one payment or creation."""
    if isinstance(timeline, CreationTimeline):
        yield from _creation_story_lines(timeline)
        return
    row = timeline.row
    yield from _payment_lines(row)
    yield from _order_lines(timeline)
    yield from _say_lines(advice(timeline), new_request(timeline))
    yield from _fact_lines(store, timeline)
    yield from _added_lines(store, timeline)
    for intent in timeline.around.creations:
        beside = translate("? open beside it: {creation}", creation=_creation_line(intent))
        yield f"  {beside}"
    for odd in oddities(store, timeline):
        yield safe(f"  {_mark(odd)} {translate(odd.sentence)}", 400)


def _creation_story_lines(timeline: CreationTimeline) -> Iterator[str]:
    yield _creation_line(timeline.intent)
    yield from _replay_lines(timeline)
    yield from _say_lines(creation_advice(timeline), new_request(timeline))
    for moment in timeline.entries:
        is_note = moment.kind is EventKind.NOTE
        detail = moment.detail if is_note else translate(moment.detail)
        said = mask_text(f"{translate(moment.word)}  {detail}".rstrip())
        by = f" {translate('by {who}', who=moment.source)}" if is_note else ""
        yield safe(f"  {in_eat(moment.at)}  {said}{by}", 600)


def _order_lines(timeline: Timeline) -> Iterator[str]:
    order = order_sentence(timeline.around, timeline.row.id)
    if order:
        yield f"  {translate(order)}"


def _payment_lines(row: CollectionRow) -> Iterator[str]:
    net = "-" if row.net is None else f"{row.net:,}"
    yield _line(row)
    yield translate(
        "mode {mode}  fee {fee}  net {net}", mode=row.mode.value, fee=f"{row.fee:,}", net=net
    )
    yield translate(
        "created {at}  completed {done}", at=in_eat(row.created_at), done=in_eat(row.completed_at)
    )
    if row.failure_message:
        yield translate("reason  {why}", why=safe(mask_text(row.failure_message)))


def _fact_lines(store: Store, timeline: Timeline) -> Iterator[str]:
    row = timeline.row
    for seen in store.collections.observations(row.id, row.mode):
        event = f"  {seen.event_id}" if seen.event_id else ""
        by = translate("by {source}", source=translate(seen.source.value.replace("_", " ")))
        yield safe(
            f"  {in_eat(seen.observed_at)}  {_status(seen.collection.status):<10} {by}{event}"
        )
    for one in reversed(timeline.deliveries):
        yield safe(
            f"  {in_eat(one.arrived_at)}  "
            + translate(
                "delivery to {endpoint}: {verdict}, {attempt}, we answered {code}",
                endpoint=one.endpoint,
                verdict=translate(one.verdict.value),
                attempt=attempt_words(one),
                code=one.answer,
            )
        )


def _added_lines(store: Store, timeline: Timeline) -> Iterator[str]:
    """Yield what the shop is told, and what people and files added to what the service said."""
    row = timeline.row
    for one in timeline.entries:
        if one.kind is EventKind.OUTCOME:
            said = f"{translate(one.word)}: {translate(one.detail)}"
            yield safe(f"  {in_eat(one.at)}  {mask_text(said)}", 400)
    for note in store.notes.of(row.id, row.mode):
        said = translate("note by {who}: {note}", who=note.author, note=mask_text(note.words))
        yield safe(f"  {in_eat(note.at)}  {said}", 600)
    for proof in store.receipts.of(row.id, row.mode):
        said = translate(
            "receipt {receipt}, from {source}", receipt=proof.receipt, source=proof.source
        )
        yield safe(f"  {in_eat(proof.at)}  {said}", 400)


def oddities(store: Store, timeline: Timeline) -> tuple[Anomaly | ReceiptClaim, ...]:
    """Return what is odd about a payment, and what is claimed and not borne out."""
    facts = store.collections.observations(timeline.row.id, timeline.row.mode)
    return (*claims(timeline), *anomalies(timeline.state, facts, now=timeline.at))


def _contradiction_lines(store: Store, row: CollectionRow, now: datetime) -> Iterator[str]:
    state = store.collections.state(row.id, row.mode)
    odd = () if state is None else anomalies(state, now=now)
    for one in odd[: row.contradictions]:
        yield safe(f"  ≠ {translate(one.sentence)}", 400)


def _claim_lines(timeline: Timeline) -> Iterator[str]:
    for one in claims(timeline):
        yield safe(f"  {_mark(one)} {translate(one.sentence)}", 400)


def _mark(one: Anomaly | ReceiptClaim) -> str:
    return "≠" if one.urgent else "!"


def _say_lines(said: Advice, verdict: NewRequest) -> Iterator[str]:
    yield f"  EN   {spoken_line(said.english)}"
    yield f"  SW   {spoken_line(said.swahili)}"
    yield f"  {translate('Next')} {safe(translate(said.support_step), 400)}"
    yield f"  {translate(verdict.sentence)}"


def spoken_line(said: Wording) -> str:
    """Return what to say to a customer, in one line."""
    return safe(f"{said.sentence} {said.next_step}".strip(), 400)


def _line(row: CollectionRow) -> str:
    reason = f" {row.failure_code}" if row.failure_code else ""
    doubt = "≠ " if row.contradictions else ""
    return safe(
        f"{row.id}  {mask_text(row.reference)}  {row.currency} {row.amount:,}  "
        f"{mask_phone(row.phone)}  {row.channel}  {doubt}{_status(row.status)}{reason}  "
        f"{in_eat(row.created_at)}",
        400,
    )


def _creation_state(row: IntentRow) -> str:
    return translate("? creation {state}", state=translate(row.state.value))


def _status(word: str) -> str:
    return translate(word) if word in set(Status) else word


def _creation_line(row: IntentRow) -> str:
    first = first_sent_words(row, in_eat(row.first_sent_at))
    return safe(
        f"{row.id}  {mask_text(row.reference)}  TZS {row.amount:,}  {mask_phone(row.phone)}  "
        f"{_creation_state(row)}  {first}",
        400,
    )


def _by(kind: MatchKind) -> str:
    return translate("(by {kind})", kind=translate(kind.value))


def _replay_lines(timeline: CreationTimeline) -> Iterator[str]:
    if not timeline.is_open:
        if timeline.outcome:
            what = mask_text(translate(timeline.outcome))
            yield safe(translate("  outcome: {what}", what=what), 400)
    elif timeline.replay_until is None:
        yield translate("  its replay window is over: a person decides, kusanya intents decide")
    else:
        yield translate(
            "  a replay is safe until {at}: kusanya intents resume {id}",
            at=in_eat(timeline.replay_until),
            id=safe(timeline.intent.id, 60),
        )


def in_eat(instant: datetime | None) -> str:
    """Return an instant in East Africa Time, with its day."""
    return "-" if instant is None else f"{instant.astimezone(EAT):%Y-%m-%d %H:%M:%S} EAT"
