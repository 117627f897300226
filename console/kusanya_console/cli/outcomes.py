"""`kusanya outcomes`: who acts on what orders came to, and what waits there for a person."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
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
from kusanya_console.output import USAGE, Refused, say, say_json

if TYPE_CHECKING:
    from kusanya.store import Store
    from kusanya.store.records.outcomes import ConsumerRow, Work
    from kusanya.wire import Mode

_outcomes = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
Consumer = Annotated[str, typer.Argument(help="The consumer's name, as in: shipping.")]
OutcomeId = Annotated[str, typer.Argument(help="An out_ id as the list shows it.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.add_typer(_outcomes, name="outcomes", help="What orders came to, and who acts on it.")


@_outcomes.command("add", epilog="Example: kusanya outcomes add shipping --begin now")
def outcomes_add(
    consumer: Consumer,
    *,
    begin: Annotated[
        str,
        typer.Option(help="Which outcomes are for it: now, all, or from a time on: yesterday, 2h."),
    ],
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
) -> None:
    """Add a consumer of the profile's mode; audited.

    A consumer that is there already stays as it is. What became known before is told first, so that
    the second success of an old order is no first one: a large store takes minutes.
    """
    check_name(consumer)
    since = None if begin in {"now", "all"} else since_of("--begin", begin, now=now(clock))
    with _opened(profile, store) as (opened, mode):
        row = opened.outcomes.add(
            consumer, mode=mode, begin=since, all_=begin == "all", actor=opened.audit.actor
        )
    say(f"consumer {row.name} acts on outcomes of {row.mode.value} mode")


@_outcomes.command("list", epilog="Example: kusanya outcomes list shipping --parked")
def outcomes_list(
    consumer: Annotated[str, typer.Argument(help="Only this one's, with what it has to do.")] = "",
    *,
    parked: Annotated[bool, typer.Option("--parked", help="Only what waits for a person.")] = False,
    limit: Annotated[
        int, typer.Option(min=1, max=MOST_LISTED, help="How much of the work, oldest first.")
    ] = 200,
    profile: ProfileName = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """List consumers, and with a name what it has not done yet, oldest first."""
    from kusanya.store import Store

    chosen = profile_of(profile, store)
    with Store.open(chosen.store, create=False, read_only=True) as opened:
        rows = [row for row in opened.outcomes.consumers() if consumer in {"", row.name}]
        wanted = parked or None
        found = opened.outcomes.work(consumer, parked=wanted, limit=limit + 1) if consumer else ()
    work, more = found[:limit], len(found) > limit
    if as_json:
        work_documents = [_work_document(one) for one in work]
        consumers = [_document(row) for row in rows]
        say_json({"consumers": consumers, "work": work_documents, "more": more})
        return
    for row in rows:
        say(_line(row))
    for one in work:
        say(_work_line(one))
    if not rows:
        say("no consumers: kusanya outcomes add NAME --begin now")
    elif more:
        say("more: give a higher --limit")


@_outcomes.command("retry", epilog="Example: kusanya outcomes retry shipping out_...")
def outcomes_retry(
    consumer: Consumer, outcome: OutcomeId, *, profile: ProfileName = None, store: StoreUrl = None
) -> None:
    """Let a consumer try an outcome at once, parked or not; audited."""
    with _opened(profile, store) as (opened, _):
        opened.outcomes.retry(consumer, outcome, actor=opened.audit.actor)
    say(f"{outcome} is due now")


@_outcomes.command("skip", epilog="Example: kusanya outcomes skip shipping out_... --why returned")
def outcomes_skip(
    consumer: Consumer,
    outcome: OutcomeId,
    *,
    why: Annotated[str, typer.Option(help="Why nothing is to be done for it.")],
    profile: ProfileName = None,
    store: StoreUrl = None,
) -> None:
    """Give an outcome up for good: nothing is done for it; audited with the reason."""
    if not why.strip():
        raise Refused("--why: give the reason why nothing is to be done for it", code=USAGE)
    with _opened(profile, store) as (opened, _):
        opened.outcomes.skip(consumer, outcome, actor=opened.audit.actor, why=why)
    say(f"{outcome} is skipped")


@_outcomes.command("replay", epilog="Example: kusanya outcomes replay shipping --since 2h")
def outcomes_replay(
    consumer: Consumer,
    *,
    since: Annotated[str, typer.Option(help="From then on: 2h, 18:00, yesterday 18:00.")],
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
) -> None:
    """Hand a consumer again what became known from a time on; audited.

    For a shop whose database was put back from a backup: what its table kusanya_done knows is not
    done twice.
    """
    at = since_of("--since", since, now=now(clock))
    with _opened(profile, store) as (opened, _):
        say(hand_out_again(opened, consumer, at))


def hand_out_again(store: "Store", consumer: str, since: "datetime") -> str:
    """Hand a consumer again what it had from a time on, and return what is said of it."""
    from kusanya.domain.business_day import format_instant

    count = store.outcomes.replay(consumer, since=since, actor=store.audit.actor)
    said = f"{count:,} outcomes are handed out again"
    began = next(row.began_at for row in store.outcomes.consumers() if row.name == consumer)
    if began <= since:
        return said
    return (
        f"{said}; what became known before {format_instant(began, now=store.clock.now())} was "
        f"never for {consumer}: a new consumer can begin earlier (kusanya outcomes add NAME "
        "--begin TIME)"
    )


@_outcomes.command("rejoin", epilog="Example: kusanya outcomes rejoin shipping")
def outcomes_rejoin(
    consumer: Consumer, *, profile: ProfileName = None, store: StoreUrl = None
) -> None:
    """Let a consumer go on after the store was restored or begun anew; audited."""
    with _opened(profile, store) as (opened, _):
        opened.outcomes.rejoin(consumer, actor=opened.audit.actor)
    say(f"consumer {consumer} goes on")


@_outcomes.command("ddl", epilog="Example: kusanya outcomes ddl postgresql | psql shop")
def outcomes_ddl(
    database: Annotated[str, typer.Argument(help="postgresql, sqlite or mysql.")],
) -> None:
    """Print the SQL of the one table that a shop's own database needs; it may be run again."""
    from kusanya.errors import ConfigurationError
    from kusanya.outcomes import ddl

    try:
        say(ddl(database) + ";")
    except ConfigurationError as error:
        raise Refused(str(error), code=USAGE) from None


def check_name(consumer: str) -> None:
    """Raise Refused for what cannot name a new consumer."""
    from kusanya.store.records.outcomes import check_consumer_name

    try:
        check_consumer_name(consumer)
    except ValueError as error:
        raise Refused(str(error), code=USAGE) from None


@contextmanager
def _opened(profile: str | None, store: str | None) -> "Iterator[tuple[Store, Mode]]":
    """Open the store of a profile to act in; beside it the profile's mode."""
    from kusanya.store import Store

    chosen = profile_of(profile, store)
    with Store.open(chosen.store, create=False) as opened:
        yield opened, chosen.mode


def _line(row: "ConsumerRow") -> str:
    oldest = f"; a customer paid {_at(row.oldest_paid)} and waits" if row.oldest_paid else ""
    return (
        f"{row.name}  {row.mode.value} mode  {row.waiting:,} waiting  {row.parked:,} parked{oldest}"
    )


def _work_line(one: "Work") -> str:
    outcome, state = one.outcome, "parked" if one.parked else f"due {_at(one.due_at)}"
    facts = [
        outcome.id,
        outcome.kind.value,
        safe(mask_text(outcome.reference), 64),
        f"{outcome.amount:,} {safe(outcome.currency, 8)}",
        f"{state}, {one.tries} tries",
        safe(one.why, 120) if one.why else "",
    ]
    return "  ".join(filter(None, facts))


def _at(at: datetime) -> str:
    from kusanya_console.cli.lookup.words import in_eat

    return in_eat(at)


def _document(row: "ConsumerRow") -> dict[str, Any]:
    return {
        "name": row.name,
        "mode": row.mode.value,
        "waiting": row.waiting,
        "parked": row.parked,
        "oldest_paid": None if row.oldest_paid is None else row.oldest_paid.isoformat(),
    }


def _work_document(one: "Work") -> dict[str, Any]:
    outcome = one.outcome
    return {
        "id": outcome.id,
        "kind": outcome.kind.value,
        "reference": mask_text(outcome.reference),
        "collection": outcome.collection_id,
        "amount": outcome.amount,
        "currency": outcome.currency,
        "parked": one.parked,
        "tries": one.tries,
        "due_at": one.due_at.isoformat(),
        "why": one.why,
    }
