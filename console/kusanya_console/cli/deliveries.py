"""`kusanya deliveries`: what arrived, what should have, and having an event sent once more."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kusanya.privacy import mask_text
from kusanya.text import safe
from kusanya_console.cli.options import (
    MOST_LISTED,
    AsJson,
    ClockName,
    ProfileName,
    StoreUrl,
    now,
    profile_of,
    since_of,
)
from kusanya_console.output import FAILED, USAGE, Refused, say, say_json, stop

if TYPE_CHECKING:
    from kusanya.store import Store
    from kusanya.store.records import DeliveryRow, MissingEventRow
    from kusanya.wire import Mode

_deliveries = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.add_typer(
        _deliveries, name="deliveries", help="Deliveries that arrived, and events that never came."
    )


@_deliveries.command("list", epilog="Example: kusanya deliveries list --unwell --since 2h")
def deliveries_list(
    *,
    unwell: Annotated[
        bool, typer.Option("--unwell", help="Only what was not plainly taken, and what is missing.")
    ] = False,
    missing: Annotated[
        bool, typer.Option("--missing", help="Only events that never came, known by polling.")
    ] = False,
    endpoint: Annotated[str, typer.Option(help="Only of this endpoint.")] = "",
    since: Annotated[
        str | None, typer.Option(help="Only from then on: 2h, 18:00, yesterday 18:00.")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=MOST_LISTED, help="How many, newest first.")
    ] = 50,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """List deliveries, newest first: when, verdict, event, payment, endpoint, our answer.

    Events that never came stand among them at the time at which polling told. Times are East
    Africa's.
    """
    from kusanya.store import Store
    from kusanya.store.records import DeliveryFilter

    chosen = profile_of(profile, store)
    where = DeliveryFilter(
        endpoints=(endpoint,) if endpoint else (),
        arrived_from=None if since is None else since_of("--since", since, now=now(clock)),
        unwell=unwell,
        only_missing=missing,
    )
    with Store.open(chosen.store, create=False, read_only=True) as opened:
        page = opened.deliveries.page_with_missing(chosen.mode, where=where, limit=limit)
    if as_json:
        say_json({"data": [_document(row) for row in page.rows], "more": page.more})
        return
    for row in page.rows:
        say(_line(row))
    if not page.rows:
        say(f"none in {chosen.mode.value} mode")
    elif page.more:
        say("more: give a higher --limit")


@_deliveries.command("resend", epilog="Example: kusanya deliveries resend evt_...")
def deliveries_resend(
    event: Annotated[
        str,
        typer.Argument(
            help="An evt_ or dlv_ id as the list shows it; of an event that never came the payment."
        ),
    ],
    *,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Let the sender make one more attempt at every endpoint of an event; audited.

    Needs KUSANYA_DASHBOARD_URL and KUSANYA_DASHBOARD_TOKEN of the embedded service: the real one
    has no resend, and tries again by itself. Exits with 1 where nothing was sent.
    """
    from kusanya.store import Store
    from kusanya_console.actions.factory import actions_for
    from kusanya_console.sandbox.service_clock import parse_clock

    chosen, time = profile_of(profile, store), parse_clock(clock)
    with ExitStack() as stack:
        opened = stack.enter_context(Store.open(chosen.store, create=False, clock=time))
        row = _named(opened, event, chosen.mode)
        actions = actions_for(chosen, opened, time, None, stack)
        if off := actions.resend_disabled_reason():
            raise Refused(off.removeprefix("off: "), code=USAGE)
        done = actions.resend(row)
    if as_json:
        say_json({"id": event, "sent": done.is_good, "said": done.sentence})
    else:
        say(done.sentence)
    if not done.is_good:
        stop(FAILED)


def _named(opened: "Store", text: str, mode: "Mode") -> "DeliveryRow | MissingEventRow":
    """Return the arrival, or the event that never came, which an id names."""
    from kusanya.store.records import missing_event

    event = opened.events.get(text, mode)
    row = opened.deliveries.get(text if event is None else event.delivery_id)
    payment = opened.collections.get(text, mode)
    lost = None if payment is None else missing_event(payment)
    if row is None and payment is not None and payment.event_id is not None:
        return _named(opened, payment.event_id, mode)
    found = row or lost
    if found is None or found.mode is not mode:
        raise Refused(f"{safe(text, 60)} names no delivery or missing event in {mode.value} mode")
    return found


def _line(row: "DeliveryRow | MissingEventRow") -> str:
    from kusanya_console.cli.lookup.words import in_eat

    reason = f" ({row.reason})" if row.reason else ""
    facts = [
        in_eat(row.arrived_at),
        f"{row.verdict.value}{reason}",
        row.event_id or "-",
        row.collection_id or "-",
        mask_text(row.reference or "-"),
        row.endpoint or "-",
        str(row.answer or "-"),
    ]
    return safe("  ".join(facts), 400)


def _document(row: "DeliveryRow | MissingEventRow") -> dict[str, Any]:
    return {
        "id": row.id,
        "at": row.arrived_at,
        "verdict": row.verdict.value,
        "reason": row.reason,
        "event_id": row.event_id,
        "event_type": row.event_type,
        "collection_id": row.collection_id,
        "reference": None if row.reference is None else mask_text(row.reference),
        "endpoint": row.endpoint,
        "answer": row.answer,
    }
