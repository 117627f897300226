"""`kusanya whoami`, `collect`, `intents`: commands that talk to the service about money."""

import signal
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kusanya.text import safe
from kusanya_console.cli.options import AsJson, ClockName, ProfileName, StoreUrl, profile_of
from kusanya_console.output import FAILED, USAGE, Refused, complain, say, say_json, stop

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from kusanya.client import Client
    from kusanya.clock import Clock
    from kusanya.profiles import Profile
    from kusanya.store import Store
    from kusanya.store.records import AttemptRow, IntentRow
    from kusanya.wire import Collection

_intents = typer.Typer(rich_markup_mode=None)


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command(epilog="Example: KUSANYA_API_KEY=... kusanya whoami")(whoami)
    app.command(epilog="Example: kusanya collect 5000 '0754 000 001' INV-1 --wait")(collect)
    app.add_typer(_intents, name="intents", help="Creations whose outcome is not known yet.")


def whoami(*, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """Check the API key: whose it is and in which mode."""
    with client_of(profile_of(profile)) as client:
        found = client.whoami()
    if as_json:
        facts = {"key_id": found.key_id, "merchant_id": found.merchant_id, "mode": found.mode.value}
        say_json(facts)
    else:
        say(f"{safe(found.merchant_id)}  {safe(found.key_id)}  {found.mode.value} mode")


def collect(
    amount: Annotated[int, typer.Argument(min=1, help="Whole shillings.")],
    phone: Annotated[str, typer.Argument(help="The customer's number in any spelling.")],
    reference: Annotated[str, typer.Argument(help="Your own reference: one sale.")],
    *,
    description: Annotated[str | None, typer.Option(help="Free text.")] = None,
    meta: Annotated[list[str] | None, typer.Option(help="KEY=VALUE; may repeat.")] = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key", help="Your job's idempotency key; else made from profile and reference."
        ),
    ] = None,
    again: Annotated[
        str | None,
        typer.Option(help="Why an order that brought no money is asked for again; audited."),
    ] = None,
    although_paid: Annotated[
        str | None,
        typer.Option(
            help="Why an order is asked for again although it is paid, or nobody knows; takes the "
            "role kusanya_decide where the store keeps roles; audited."
        ),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the outcome is final.")] = False,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Ask a customer to pay, crash-safe: saved before it is sent, never sent twice.

    Exits with 1 unless the collection was created and, with --wait, has succeeded.
    """
    from kusanya.client.requests import CreateRequest
    from kusanya.errors import KusanyaError
    from kusanya.intents.creating import create
    from kusanya.store import Store
    from kusanya_console.sandbox.service_clock import parse_clock

    chosen = profile_of(profile, store)
    metadata = _metadata(meta or [])
    time = parse_clock(clock)
    with Store.open(chosen.store, clock=time) as opened, client_of(chosen, clock=time) as client:
        try:
            request = CreateRequest(
                amount=amount,
                phone=phone,
                reference=reference,
                description=description,
                metadata=metadata,
                idempotency_key=key,
                force_repeat_reason=again,
                although_paid=although_paid,
                profile=chosen.name,
            )
            made = client.run(create(opened, client.core, request)).collection
        except ValueError as error:
            raise Refused(str(error), code=USAGE) from error
        except (KusanyaError, KeyboardInterrupt) as error:
            stopped = isinstance(error, KeyboardInterrupt)
            raise Refused(
                _what_is_known(
                    opened, chosen, reference, said="stopped" if stopped else str(error)
                ),
                code=128 + signal.SIGINT if stopped else FAILED,
            ) from error
        _report(made, as_json=as_json, more=wait and not made.is_final)
        if wait and not made.is_final:
            made = _wait(opened, client, made)
            _report(made, as_json=as_json)
    if wait and not made.is_paid:
        stop(FAILED)


@_intents.callback(invoke_without_command=True, epilog="Example: kusanya intents")
def intents(
    context: typer.Context,
    *,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """List creations whose outcome is not known, with the time left to replay them."""
    if context.invoked_subcommand is not None:
        return
    from kusanya.intents import open_intents
    from kusanya.store import Store
    from kusanya_console.sandbox.service_clock import parse_clock

    chosen = profile_of(profile, store)
    present = parse_clock(clock).now()
    with Store.open(chosen.store, read_only=True) as opened:
        every = list(open_intents(opened, chosen.mode))
        rows = [row for row in every if row.profile == chosen.name]
        if as_json:
            say_json(
                {"data": [_record(row, opened.intents.attempts(row.id), present) for row in rows]}
            )
            return
    for row in rows:
        say(_line(row, present))
    if not rows:
        say(f"none: every creation of profile {chosen.name} has its answer")
    if others := {row.profile for row in every} - {chosen.name}:
        say(f"more belong to other profiles: {', '.join(map(safe, sorted(others)))}")


@_intents.command("resume", epilog="Example: kusanya intents resume")
def intents_resume(
    intent_id: Annotated[
        str | None, typer.Argument(help="One intent; otherwise all that may be replayed.")
    ] = None,
    *,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Replay unanswered creations: same key, same bytes; exit 1 if any stays unanswered.

    Those of programs that name no profile are among them; those of another profile belong to
    another account: they are named, and replayed with its --profile.
    """
    from kusanya.domain.assumptions import DEFAULT_PROFILE
    from kusanya.errors import KusanyaError
    from kusanya.intents import open_intents, resolve_waiting, resume
    from kusanya.privacy import mask_text
    from kusanya.profiles import profile_names
    from kusanya.store import Store
    from kusanya_console.sandbox.service_clock import parse_clock

    chosen, time = profile_of(profile, store), parse_clock(clock)
    resumed: list[dict[str, str]] = []
    left: list[dict[str, str]] = []
    others: Counter[str] = Counter()
    # With one account there is no doubt whose they are; with more they go where they went before.
    unnamed = DEFAULT_PROFILE if len(profile_names()) <= 1 else None
    with Store.open(chosen.store, clock=time) as opened, client_of(chosen, clock=time) as client:
        resolved = resolve_waiting(opened, now=time.now(), mode=chosen.mode)
        if resolved and not as_json:
            say(f"{resolved} resolved by what the store knows already")
        waiting = (
            [_intent_of(opened, intent_id)] if intent_id else open_intents(opened, chosen.mode)
        )
        for row in list(waiting):
            if not intent_id and row.profile not in {chosen.name, DEFAULT_PROFILE}:
                others[row.profile] += 1
                continue
            named = unnamed if row.profile == DEFAULT_PROFILE != chosen.name else chosen.name
            try:
                made = resume(opened, client, row, profile=named).collection
            except KusanyaError as error:
                left.append({"id": row.id, "reference": mask_text(row.reference)})
                complain(f"{row.reference}: {error}")
            else:
                resumed.append(
                    {"id": row.id, "reference": mask_text(row.reference), "collection_id": made.id,
                     "status": made.status}
                )  # fmt: skip
                if not as_json:
                    say(f"{safe(mask_text(row.reference))}  {safe(made.id)}  {safe(made.status)}")
    if as_json:
        say_json(
            {"settled": resolved, "resumed": resumed, "left": left, "of_other_profiles": others}
        )
    elif not (resolved or resumed or left or others):
        say(f"none: every creation in {chosen.mode.value} mode has its answer")
    _name_others(others)
    if left or others:
        stop(FAILED)


def _intent_of(store: "Store", intent_id: str) -> "IntentRow":
    from kusanya.errors import IntentError, IntentReason

    found = store.intents.get(intent_id)
    if found is None:
        raise IntentError(
            "there is no such intent", reason=IntentReason.UNKNOWN_INTENT, intent_id=intent_id
        )
    return found


def _name_others(others: "Counter[str]") -> None:
    for other, count in sorted(others.items()):
        complain(
            f"{count:,} more of profile {safe(other, 40)} wait, of another account: run "
            f"kusanya intents resume --profile {safe(other, 40)}"
        )


@_intents.command(
    "decide", epilog="Example: kusanya intents decide int_... --nothing-created --why 'statement'"
)
def intents_decide(
    intent_id: Annotated[str, typer.Argument(help="An intent whose replay window is over.")],
    *,
    why: Annotated[str, typer.Option(help="What you saw and where; audited.")],
    collection: Annotated[
        str | None, typer.Option(help="The col_ id that it became, from a statement.")
    ] = None,
    nothing_created: Annotated[
        bool, typer.Option("--nothing-created", help="The customer was never charged.")
    ] = False,
    unseen: Annotated[
        bool,
        typer.Option(
            "--unseen", help="Decide although neither store nor service could be asked about it."
        ),
    ] = False,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Record a person's decision on a creation that nothing else can resolve; audited.

    The collection is compared with the creation, in the store and, with an API key, at the service:
    another mode, reference, amount or phone is refused.
    """
    from kusanya.intents import decide
    from kusanya.privacy import mask_text
    from kusanya.store import Store
    from kusanya_console.sandbox.service_clock import parse_clock

    if (collection is None) is not nothing_created:
        raise Refused("say either --collection col_... or --nothing-created", code=USAGE)
    chosen, time = profile_of(profile, store), parse_clock(clock)
    with Store.open(chosen.store, clock=time) as opened, ExitStack() as stack:
        asking = chosen.api_key is not None and chosen.base_url is not None
        client = stack.enter_context(client_of(chosen, clock=time)) if asking else None
        try:
            decided = decide(
                opened,
                intent_id,
                actor=opened.audit.actor,
                why=why,
                collection_id=collection,
                now=time.now(),
                client=client,
                unseen=unseen,
            )
        except ValueError as error:
            raise Refused(str(error), code=USAGE) from error
    if as_json:
        say_json(_record(decided, (), time.now()) | {"collection_id": decided.collection_id})
    else:
        said = f"{decided.id}  {mask_text(decided.reference)}  {decided.state}: {decided.outcome}"
        say(safe(said, 400))


def client_of(
    profile: "Profile", *, clock: "Clock | None" = None, max_attempts: int = 5
) -> "Client":
    """Return a client for the profile's service; raises ConfigurationError for what is missing."""
    from kusanya.client import Client

    return Client(
        profile.need_api_key(),
        base_url=profile.need_base_url(),
        mode=profile.mode,
        clock=clock,
        max_attempts=max_attempts,
    )


def _what_is_known(store: "Store", profile: "Profile", reference: str, *, said: str) -> str:
    """Return what went wrong, and whether the customer may have been asked all the same."""
    from kusanya.store.records import IntentState

    for intent in store.intents.by_reference(profile.mode, reference):
        if intent.state in {IntentState.SENT, IntentState.UNKNOWN}:
            return (
                f"{said}; the customer may have been asked: do not create it again, run "
                f"'kusanya intents resume {intent.id}'"
            )
        if intent.state is IntentState.PREPARED:
            return (
                f"{said}; the customer was not asked and the creation is kept: once the service "
                f"answers, run 'kusanya intents resume {intent.id}'"
            )
    return said


def _metadata(pairs: list[str]) -> dict[str, str] | None:
    found: dict[str, str] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name:
            raise Refused(f"--meta takes KEY=VALUE, not {safe(pair, 40)}", code=USAGE)
        found[name] = value
    return found or None


def _wait(store: "Store", client: "Client", made: "Collection") -> "Collection":
    from kusanya.client.observations import poll_observation

    final = client.wait(made.id)
    store.record(poll_observation(final, at=client.core.clock.now()))
    return final


def _report(made: "Collection", *, as_json: bool, more: bool = False) -> None:
    from kusanya.privacy import mask_phone, mask_text

    if as_json:
        if not more:  # one document: the last word
            say_json(
                {
                    "id": made.id,
                    "status": made.status,
                    "reference": mask_text(made.reference),
                    "amount": made.amount,
                    "fee": made.fee,
                    "currency": made.currency,
                    "channel": made.channel,
                    "phone": mask_phone(made.phone),
                    "mode": made.mode.value,
                    "failure_code": made.failure_code,
                }
            )
        return
    reason = f" {made.failure_code}" if made.failure_code else ""
    say(
        safe(
            f"{made.id}  {mask_text(made.reference)}  {made.currency} {made.amount:,}  "
            f"fee {made.fee:,}  {mask_phone(made.phone)}  {made.channel}  {made.status}{reason}",
            400,
        )
    )


def _record(row: "IntentRow", attempts: "Sequence[AttemptRow]", now: "datetime") -> dict[str, Any]:
    from kusanya.intents import replay_left
    from kusanya.intents.outcome import outcome_sentence
    from kusanya.privacy import mask_phone, mask_text

    return {
        "id": row.id,
        "reference": mask_text(row.reference),
        "amount": row.amount,
        "phone": mask_phone(row.phone),
        "state": row.state.value,
        "first_sent_at": row.first_sent_at,
        "attempts": row.attempts,
        "replay_left_s": int(replay_left(row, now=now).total_seconds()),
        "outcome": outcome_sentence(row, attempts),
    }


def _line(row: "IntentRow", now: "datetime") -> str:
    from kusanya.intents import replay_left
    from kusanya.privacy import mask_phone, mask_text

    left = int(replay_left(row, now=now).total_seconds()) // 60
    window = f"replay window {left // 60} h {left % 60} min" if left > 0 else "window closed"
    phone = mask_phone(row.phone)
    return safe(
        f"{row.id}  {mask_text(row.reference)}  {row.amount:,}  {phone}  {row.state}  {window}", 400
    )
