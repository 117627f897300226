"""`kusanya find`, `show`, `verify`: look things up without the console."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kusanya.text import safe
from kusanya_console.cli.options import AsJson, ProfileName, StoreUrl, now, profile_of
from kusanya_console.cli.output import FAILED, USAGE, Refused, say, say_json, stop

if TYPE_CHECKING:
    from kusanya.lookup import Found
    from kusanya.store import Store
    from kusanya.store.records import CollectionRow
    from kusanya.wire import Mode


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command(epilog="Example: kusanya find INV-000042")(find)
    app.command(epilog="Example: kusanya show col_...")(show)
    app.command(
        epilog="Example: kusanya verify --body body.json --header 't=...,v1=...' --secret whsec_..."
    )(verify)


def find(
    text: Annotated[
        str,
        typer.Argument(
            help="A reference or a part of it, an id, a phone, or an amount and a time."
        ),
    ],
    *,
    profile: ProfileName = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Find collections as support would ask for them; exit 1 when nothing matches."""
    from kusanya import lookup
    from kusanya.business_day import day_start

    chosen = profile_of(profile, store)
    with _open(chosen.store) as opened:
        found = lookup.find(opened, text, mode=chosen.mode, now=now(), day=day_start)
    if as_json:
        matches = [_record(match.row) | {"found_by": match.way.value} for match in found.matches]
        say_json({"mode": chosen.mode.value, "data": matches, "more": found.more})
    else:
        for match in found.matches:
            say(f"{_line(match.row)}  (by {match.way.value})")
        if found.more:
            say("more begin with this: type more of the reference")
    if not found.matches:
        raise Refused(_nothing(chosen.mode, found))


def show(
    identifier: Annotated[str, typer.Argument(help="A col_ or evt_ id.")],
    *,
    profile: ProfileName = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show all that is known about a collection or event: state, evidence, deliveries."""
    chosen = profile_of(profile, store)
    with _open(chosen.store) as opened:
        collection_id = _collection_of(opened, identifier)
        row = opened.collection(collection_id) if collection_id else None
        if row is None:
            raise Refused(f"the store knows no {safe(identifier, 60)}; try kusanya find")
        if as_json:
            say_json(_evidence(opened, row))
        else:
            _print_card(opened, row)


def verify(
    *,
    body: Annotated[Path, typer.Option(help="File with the exact bytes of the body.")],
    header: Annotated[str, typer.Option(help="The signature header's value.")],
    secret: Annotated[
        list[str] | None,
        typer.Option(help="Signing secret; may repeat. Better in KUSANYA_SECRETS."),
    ] = None,
    at: Annotated[
        float | None, typer.Option(help="Unix seconds of receipt; now by default.")
    ] = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Say whether a delivery is authentic, else what most likely went wrong and exit 1."""
    from kusanya.webhooks.forensics import explain

    try:
        payload = body.read_bytes()
    except OSError as error:
        raise Refused(f"cannot read {body}: {error.strerror}", code=USAGE) from error
    secrets = list(secret or [])
    if not secrets:
        endpoints = profile_of(profile).endpoints
        secrets = [key.reveal() for endpoint in endpoints for key in endpoint.secrets]
    if not secrets:
        raise Refused("no signing secret: give --secret or set KUSANYA_SECRETS", code=USAGE)
    finding = explain(payload, header, secrets, now=now().timestamp() if at is None else at)
    if as_json:
        say_json(
            {"authentic": finding.authentic, "reason": finding.reason, "why": finding.sentence}
        )
    else:
        say(safe(finding.sentence, 1_000))
    if not finding.authentic:
        stop(FAILED)


def _nothing(mode: "Mode", found: "Found") -> str:
    if found.trouble:
        return f"not a phone number: {found.trouble}"
    if found.elsewhere:
        other = "test" if mode == "live" else "live"
        return f"nothing in {mode.value} mode; {found.elsewhere} match in {other} mode"
    return f"nothing in {mode.value} mode matches"


def _open(url: str) -> "Store":
    from kusanya.store import Store

    return Store.open(url, read_only=True)


def _collection_of(store: "Store", identifier: str) -> str | None:
    from kusanya.wire import is_collection_id, is_event_id

    if is_event_id(identifier):
        event = store.event(identifier)
        return None if event is None else event.collection_id
    if is_collection_id(identifier):
        return identifier
    raise Refused("an id begins with col_ or evt_; for anything else use kusanya find", code=USAGE)


def _record(row: "CollectionRow") -> dict[str, Any]:
    from kusanya.privacy import mask_phone

    return {
        "id": row.id,
        "mode": row.mode.value,
        "status": row.status,
        "amount": row.amount,
        "fee": row.fee,
        "net": row.net,
        "currency": row.currency,
        "channel": row.channel,
        "phone": mask_phone(row.phone),
        "reference": row.reference,
        "failure_code": row.failure_code,
        "created_at": row.created_at,
        "completed_at": row.completed_at,
        "event_id": row.event_id,
        "contradictions": row.contradictions,
    }


def _evidence(store: "Store", row: "CollectionRow") -> dict[str, Any]:
    deliveries = _deliveries(store, row)
    return _record(row) | {
        "observations": [
            {
                "source": seen.source.value,
                "observed_at": seen.observed_at,
                "status": seen.collection.status,
                "fee": seen.collection.fee,
                "replayed": seen.replayed,
                "event_id": seen.event_id,
            }
            for seen in store.observations(row.id)
        ],
        "deliveries": [
            {
                "id": one.id,
                "arrived_at": one.arrived_at,
                "endpoint": one.endpoint,
                "verdict": one.verdict.value,
                "attempt": one.attempt,
                "answer": one.answer,
            }
            for one in deliveries
        ],
        "anomalies": _oddities(store, row),
    }


def _deliveries(store: "Store", row: "CollectionRow") -> tuple[Any, ...]:
    from kusanya.store.records import DeliveryFilter

    where = DeliveryFilter(collection_id=row.id)
    return tuple(reversed(store.deliveries(row.mode, where=where).rows))


def _line(row: "CollectionRow") -> str:
    from kusanya.privacy import mask_phone

    reason = f" {row.failure_code}" if row.failure_code else ""
    return safe(
        f"{row.id}  {row.reference}  {row.currency} {row.amount:,}  {mask_phone(row.phone)}  "
        f"{row.channel}  {row.status}{reason}",
        400,
    )


def _print_card(store: "Store", row: "CollectionRow") -> None:
    net = "-" if row.net is None else f"{row.net:,}"
    say(_line(row))
    say(f"mode {row.mode.value}  fee {row.fee:,}  net {net}")
    say(f"created {_at(row.created_at)}  completed {_at(row.completed_at)}")
    if row.failure_message:
        say(f"reason  {safe(row.failure_message)}")
    for seen in store.observations(row.id):
        event = f"  {seen.event_id}" if seen.event_id else ""
        say(
            safe(f"  {_at(seen.observed_at)}  {seen.collection.status:<10} by {seen.source}{event}")
        )
    for one in _deliveries(store, row):
        attempt = "?" if one.attempt is None else one.attempt
        say(
            safe(
                f"  {_at(one.arrived_at)}  delivery to {one.endpoint}: {one.verdict}, attempt "
                f"{attempt} of 7, we answered {one.answer}"
            )
        )
    for sentence in _oddities(store, row):
        say(safe(f"  ! {sentence}", 400))


def _oddities(store: "Store", row: "CollectionRow") -> list[str]:
    """Return what is odd about a collection, a sentence each, for an operator."""
    from kusanya.state.anomalies import anomalies

    state = store.state(row.id)
    if state is None:
        return []
    return [found.sentence for found in anomalies(state, store.observations(row.id), now=now())]


def _at(instant: Any) -> str:
    return "-" if instant is None else instant.strftime("%Y-%m-%d %H:%M:%SZ")
