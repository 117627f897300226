"""`kusanya find`, `show`, `audit`, `verify`: look things up without the console."""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kusanya.privacy import mask_text
from kusanya.say import Said
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
    speak,
)
from kusanya_console.output import FAILED, USAGE, Refused, say, say_json, stop

if TYPE_CHECKING:
    from datetime import datetime

    from kusanya.lookup import CreationTimeline, LookupResult, Timeline
    from kusanya.privacy.secret_url import SecretUrl
    from kusanya.store import Store
    from kusanya.wire import Mode


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command(epilog="Example: kusanya find INV-000042")(find)
    app.command(epilog="Example: kusanya show col_...")(show)
    app.command(epilog="Example: kusanya audit --actor asha --since 18:00")(audit)
    app.command(
        epilog="Example: kusanya verify --body body.json --header 't=...,v1=...' --secret whsec_..."
    )(verify)


def find(
    text: Annotated[
        str,
        typer.Argument(
            help="A reference or a part of it, an id, a phone, an amount and a time, or a whole "
            "confirmation message of a customer; - reads it, or many of them, a line each, from "
            "standard input."
        ),
    ],
    *,
    keep_receipt: Annotated[
        bool,
        typer.Option("--keep-receipt", help="Record the message's receipt with its one payment."),
    ] = False,
    as_claim: Annotated[
        bool,
        typer.Option("--as-claim", help="Keep it too where the service does not call it paid."),
    ] = False,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Find payments and unanswered creations as support would ask for them.

    Says what to tell the customer and whether a new request is safe; times are East Africa's.
    Exits with 1 when nothing matches or a message may be forged, with 3 when facts about a match
    contradict each other; of many texts one is enough for either.
    """
    from kusanya import lookup
    from kusanya.domain.business_day import day_start
    from kusanya_console.cli.lookup import documents, words
    from kusanya_console.cli.lookup.batch import ExitCode, LookupReport, answer_all, read_texts

    speak(as_json=as_json)
    chosen, present = profile_of(profile, store), now(clock)
    with _open_or_hint(chosen.store, read_only=not keep_receipt) as opened:

        def ask(asked: str) -> LookupReport:
            def look() -> "LookupResult":
                return lookup.find(
                    opened, asked, mode=chosen.mode, now=present, day=day_start,
                    payees=chosen.payees,
                )  # fmt: skip

            found = look()
            if keep_receipt:
                _keep_receipts(opened, found, chosen.mode, as_claim=as_claim)
                found = look()
            said = {"mode": chosen.mode.value} | documents.found_json(opened, found, present)
            lines = tuple(words.found_lines(opened, found, present))
            why = ""
            if not found.count:
                why = words.nothing_line(chosen.mode, found)
                why += "" if store else _demo_hint(chosen.store)
            exit_code = ExitCode.DONE
            doubtful = any(message.is_doubtful for message in found.messages)
            if why or doubtful or found.is_unread:
                exit_code = ExitCode.NOT_FOUND
            elif any(match.row.contradictions for match in found.matches):
                exit_code = ExitCode.CONTRADICTION
            return LookupReport(lines, said, exit_code, why)

        texts = read_texts(sys.stdin) if text == "-" else iter((text,))
        exit_code = answer_all(texts, ask, as_json=as_json)
    if exit_code is not ExitCode.DONE:
        stop(exit_code)


def show(
    identifier: Annotated[
        str,
        typer.Argument(
            help="A col_, evt_ or int_ id; - reads many, a line each, from standard input."
        ),
    ],
    *,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Show all that is known about a collection, an event or a creation.

    Says what to tell the customer and whether a new request is safe; times are East Africa's.
    Exits with 1 when one is unknown, with 3 when facts about one contradict each other.
    """
    from kusanya_console.cli.lookup import documents, words
    from kusanya_console.cli.lookup.batch import ExitCode, LookupReport, answer_all, read_texts
    from kusanya_console.ui.language import translate

    speak(as_json=as_json)
    chosen, present = profile_of(profile, store), now(clock)
    with _open_or_hint(chosen.store) as opened:

        def ask(asked: str) -> LookupReport:
            timeline = _story_of(opened, asked, chosen.mode, present)
            if timeline is None:
                named = safe(mask_text(asked), 60)
                why = translate("the store knows no {id}; try kusanya find", id=named)
                why += "" if store else _demo_hint(chosen.store)
                return LookupReport((), {}, ExitCode.NOT_FOUND, why)
            return LookupReport(
                tuple(words.story_lines(opened, timeline)),
                documents.story_json(opened, timeline),
                ExitCode.CONTRADICTION if timeline.contradicts else ExitCode.DONE,
            )

        many = identifier == "-"
        texts = read_texts(sys.stdin, messages=False) if many else iter((identifier,))
        exit_code = answer_all(texts, ask, as_json=as_json)
    if exit_code is not ExitCode.DONE:
        stop(exit_code)


def audit(
    *,
    actor: Annotated[str, typer.Option(help="Only acts of people with this in their name.")] = "",
    act: Annotated[str, typer.Option(help="Only such acts, as in: reveal phone.")] = "",
    since: Annotated[
        str | None,
        typer.Option(help="Only from then on: 18:00, yesterday 18:00, 2026-03-04 18:00."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=MOST_LISTED, help="How many acts, newest first.")
    ] = 50,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """List what people did, newest first: who, when, what, to which payment, why, how it ended.

    Phones are masked; times are East Africa's.
    """
    from kusanya.lookup import load_subjects
    from kusanya.store.records import AuditFilter
    from kusanya_console.cli.lookup.acts import audit_json, audit_line
    from kusanya_console.ui.language import translate

    speak(as_json=as_json)
    where = AuditFilter(
        actors=(actor,) if actor else (),
        acts=(act,) if act else (),
        since=None if since is None else since_of("--since", since, now=now(clock)),
    )
    with _open(profile_of(profile, store).store) as opened:
        page = opened.audit.page(where=where, limit=limit)
        subjects = load_subjects(opened, (row.subject for row in page.rows))
    if as_json:
        said = [audit_json(row, subjects) for row in page.rows]
        say_json({"data": said, "more": page.more})
        return
    for row in page.rows:
        say(audit_line(row, subjects))
    if not page.rows and where == AuditFilter():
        say(translate("none: nobody has acted on this store yet"))
    elif not page.rows:
        say(translate("none: no act is as you asked"))
    elif page.more:
        say(translate("more: give a higher --limit"))


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
    from kusanya_console.ui.language import translate

    speak(as_json=as_json)
    try:
        payload = body.read_bytes()
    except OSError as error:
        raise Refused(
            Said("cannot read {path}: {why}").of(path=body, why=error.strerror), code=USAGE
        ) from error
    secrets = list(secret or [])
    if not secrets:
        endpoints = profile_of(profile).endpoints
        secrets = [key.reveal() for endpoint in endpoints for key in endpoint.secrets]
    if not secrets:
        raise Refused("no signing secret: give --secret or set KUSANYA_SECRETS", code=USAGE)
    if at is not None and not math.isfinite(at):
        raise Refused("--at is a number of Unix seconds, as 1772449200", code=USAGE)
    try:
        finding = explain(payload, header, secrets, now=now().timestamp() if at is None else at)
    except ValueError as error:
        raise Refused(f"--secret: {error}", code=USAGE) from None
    if as_json:
        say_json(
            {"authentic": finding.authentic, "reason": finding.reason, "why": finding.sentence}
        )
    else:
        say(safe(translate(finding.sentence), 1_000))
    if not finding.authentic:
        stop(FAILED)


def _keep_receipts(store: "Store", found: "LookupResult", mode: "Mode", *, as_claim: bool) -> None:
    kept = [message for message in found.messages if message.keeps_receipt]
    if not kept:
        raise Refused("no receipt was kept: no message here fits one payment alone")
    from kusanya.wording import status_word

    unpaid = next((message.row for message in kept if message.claims_unpaid), None)
    if unpaid is not None and not as_claim:
        raise Refused(
            Said(
                "no receipt was kept: the service calls this payment {status}, so the receipt "
                "is only a claim. Ask the service first; --as-claim keeps it all the same"
            ).of(status=status_word(unpaid.status))
        )
    for message in kept:
        if message.row is not None and message.confirmation.receipt is not None:
            store.receipts.record(
                message.row.id,
                mode,
                message.confirmation.receipt,
                source=f"message of {message.confirmation.issuer}",
                actor=store.audit.actor,
            )


def _open(url: "SecretUrl", *, read_only: bool = True) -> "Store":
    from kusanya.store import Store

    return Store.open(url, read_only=read_only)


def _open_or_hint(url: "SecretUrl", *, read_only: bool = True) -> "Store":
    """Open a store; where there is none, say where the demo's store lies."""
    from kusanya.errors import StoreUnavailable

    try:
        return _open(url, read_only=read_only)
    except StoreUnavailable as error:
        hint = _demo_hint(url) if str(error).startswith("there is no store") else ""
        if not hint:
            raise
        raise StoreUnavailable(f"{error}{hint}") from None


def _demo_hint(url: "SecretUrl") -> str:
    """Return what to add to the command for the demo's store, where there is another one of it."""
    from kusanya.profiles import data_folder
    from kusanya_console.sandbox.demo import STORE
    from kusanya_console.ui.language import translate

    demos = data_folder() / "demo" / STORE
    if not demos.exists() or url.reveal().endswith(str(demos)):
        return ""
    return translate("; to look in the demo's store add --store {path}", path=demos)


def _story_of(
    store: "Store", identifier: str, first: "Mode", now: "datetime"
) -> "Timeline | CreationTimeline | None":
    """Return the story of an id in the profile's mode or, where that has none, in the other."""
    from kusanya.lookup import load_creation_timeline, load_timeline
    from kusanya.wire import Mode, is_collection_id, is_event_id

    if identifier.startswith("int_"):
        intent = store.intents.get(identifier)
        if intent is not None and intent.collection_id is not None:
            became = load_timeline(store, intent.collection_id, intent.mode, now=now)
            if became is not None:
                return became
        return load_creation_timeline(store, identifier, now=now)
    if not is_event_id(identifier) and not is_collection_id(identifier):
        raise Refused(
            "an id begins with col_, evt_ or int_; for anything else use kusanya find", code=USAGE
        )
    for mode in sorted(Mode, key=lambda one: one is not first):
        event = store.events.get(identifier, mode) if is_event_id(identifier) else None
        collection_id = identifier if event is None else event.collection_id
        found = load_timeline(store, collection_id, mode, now=now)
        if found is not None:
            return found
    return None
