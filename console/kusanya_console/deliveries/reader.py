"""What is read about the line under the cursor; runs on a worker thread."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from kusanya.alarms.sender import SenderEndpoint, our_name
from kusanya.errors import KusanyaError
from kusanya.health.delivery_plan import SEEN_WITHIN, DeliveryPlan, Slot, SlotState, delivery_plan
from kusanya.health.endpoints import EndpointHealth
from kusanya.store import Store
from kusanya.store.records import DeliveryBody, DeliveryFilter, DeliveryRow, MissingEventRow
from kusanya.text import safe
from kusanya.webhooks.forensics import DeliveryFinding
from kusanya.webhooks.schedule import plan
from kusanya_console.actions.forensics import Forensics
from kusanya_console.deliveries.filtering import DeliveryRecord
from kusanya_console.deliveries.sender import SenderComparison, compare
from kusanya_console.deliveries.tabs import ShownBody, shown_body
from kusanya_console.sandbox.dashboard.reader import ServiceReader
from kusanya_console.ui.format import Look

_SIBLINGS = 50


class DeliveryDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What belongs to one line: its attempts at our endpoint, its bytes, what is odd about them."""

    row_id: str
    rows: tuple[DeliveryRow, ...]
    """The arrivals of the same event at the same endpoint; those that claim a missing one."""
    everywhere: tuple[DeliveryRow, ...] = ()
    """The arrivals of the same event at all our endpoints."""
    plan: DeliveryPlan | None
    body: DeliveryBody | None = None
    shown: ShownBody | None = None
    """The body as it is drawn; None where it is no longer kept."""
    finding: DeliveryFinding | None = None


class SenderLog(msgspec.Struct, frozen=True, kw_only=True):
    """The sender's log of one line's event, or why there is none."""

    row_id: str
    found: SenderComparison | None = None
    why: str = ""


def initial_details(row: DeliveryRecord, look: Look) -> DeliveryDetails:
    """Return what a line says by itself, before anything is read."""
    if isinstance(row, MissingEventRow):
        return DeliveryDetails(row_id=row.id, rows=(), plan=missing_plan(row, now=look.now))
    return DeliveryDetails(row_id=row.id, rows=(row,), plan=delivery_plan((row,), now=look.now))


def load_details(
    store: Store, row: DeliveryRecord, look: Look, forensics: Forensics | None
) -> DeliveryDetails:
    """Return what belongs to a line. Raises StoreError."""
    if isinstance(row, MissingEventRow):
        where = DeliveryFilter(collection_id=row.collection_id)
        claims = store.deliveries.page(row.mode, where=where, limit=_SIBLINGS).rows
        # What came and was refused tells the attempts better than their plan does.
        plan = delivery_plan(claims, now=look.now) or missing_plan(row, now=look.now)
        return DeliveryDetails(row_id=row.id, rows=claims, plan=plan)
    everywhere: tuple[DeliveryRow, ...] = (row,)
    if row.event_id is not None:
        where = DeliveryFilter(event_id=row.event_id)
        everywhere = store.deliveries.page(row.mode, where=where, limit=_SIBLINGS).rows
    mine = tuple(one for one in everywhere if one.endpoint == row.endpoint) or (row,)
    body = store.deliveries.body(row.id)
    finding = None if forensics is None or body is None else forensics.explain(row, body)
    return DeliveryDetails(
        row_id=row.id,
        rows=mine,
        everywhere=everywhere,
        plan=delivery_plan(mine, now=look.now),
        body=body,
        shown=None if body is None or body.body is None else shown_body(body.body),
        finding=finding,
    )


def load_sender_log(
    service: ServiceReader, row: DeliveryRecord, everywhere: tuple[DeliveryRow, ...]
) -> SenderLog:
    """Return the sender's log of the event on a line, compared with what arrived."""
    if row.event_id is None:
        said = "Which event this is about is not known, so the sender's log cannot be asked for it."
        return SenderLog(row_id=row.id, why=said)
    try:
        return SenderLog(row_id=row.id, found=compare(service.sent(row.event_id), everywhere))
    except KusanyaError as error:
        return SenderLog(row_id=row.id, why=safe(str(error), 200))


def as_held(
    found: DeliveryPlan | None,
    row: DeliveryRecord,
    sender: Sequence[SenderEndpoint],
    known: Sequence[EndpointHealth],
) -> DeliveryPlan | None:
    """Return the plan of a line as its endpoint stands: nothing comes while that is disabled.

    The sender's own word wins over what we infer. A missing event names no endpoint: it is held
    where all of them are disabled.
    """
    said = _of_sender(row, sender, known)
    ends = [one.disabled_at for one in said if one.is_disabled and one.disabled_at]
    since = max(ends) if ends and len(ends) == len(said) else None
    if not said:
        blown = (one.fuse.blown_at for one in known if one.endpoint == row.endpoint)
        since = next(blown, None)
    return found if found is None or since is None else found.held(since=since)


def endpoint_of(
    row: DeliveryRecord, sender: Sequence[SenderEndpoint], known: Sequence[EndpointHealth]
) -> EndpointHealth | None:
    """Return the endpoint of a line, with the sender's own fuse where it can be asked."""
    found = next((one for one in known if one.endpoint == row.endpoint), None)
    said = _of_sender(row, sender, known)
    return found if found is None or not said else msgspec.structs.replace(found, fuse=said[0].fuse)


def _of_sender(
    row: DeliveryRecord, sender: Sequence[SenderEndpoint], known: Sequence[EndpointHealth]
) -> list[SenderEndpoint]:
    """Return what the sender says of the endpoint of a line; of all where it names none."""
    mine = [one for one in sender if one.mode == row.mode.value]
    if isinstance(row, MissingEventRow):
        return mine
    ours = [one.endpoint for one in known]
    return [one for one in mine if our_name(one, ours, mine) == row.endpoint]


def missing_plan(row: MissingEventRow, *, now: datetime) -> DeliveryPlan:
    """Return the attempts that the sender must have made, and those still to come."""
    slots = tuple(
        Slot(
            number=number,
            at=at,
            state=SlotState.NOT_SEEN if at + SEEN_WITHIN < now else SlotState.PLANNED,
        )
        for number, at in enumerate(plan(first_at=row.event_created_at), start=1)
    )
    return DeliveryPlan(slots=slots, delivered=False)
