"""`kusanya tail`: follow what is committed to the store, a line a fact."""

import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from kusanya.privacy import mask_text
from kusanya.text import safe
from kusanya_console.cli.options import (
    ClockName,
    ProfileName,
    StoreUrl,
    now,
    profile_of,
    since_of,
)
from kusanya_console.output import say, say_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kusanya.store import Store
    from kusanya.store.records import Change, CollectionRow
    from kusanya.wire import Mode

_EVERY_S: Final = 0.5
_LATE: Final = timedelta(minutes=5)
"""Facts stand in the order of their commits, and one may have waited for its own so long."""


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog="Example: kusanya tail --since 2h")(tail)


def tail(
    *,
    since: Annotated[
        str | None,
        typer.Option(help="Begin with what was then: 2h, 30min, 18:00, yesterday 18:00."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow/--no-follow", help="Go on until Ctrl-C; or end at the end.")
    ] = True,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON document a line for scripts.")
    ] = False,
) -> None:
    """Print each fact as it is committed: observations, deliveries, creations, acts, notes.

    With the payment it is about as it stands now. Nothing is missed and nothing comes twice; phones
    are masked, times are East Africa's.
    """
    from kusanya.store import Store

    chosen, present = profile_of(profile, store), now(clock)
    begin = present if since is None else since_of("--since", since, now=present)
    with Store.open(chosen.store, create=False, read_only=True) as opened:
        head = opened.feed.head()
        place = head if since is None else _place_at(opened, begin - _LATE, head)
        while True:
            changes = opened.feed.changes(place)
            shown = [one for one in changes if since is None or one.seq > head or one.at >= begin]
            _print(opened, shown, chosen.mode, as_json=as_json)
            if changes:
                place = changes[-1].seq
            elif follow:
                time.sleep(_EVERY_S)
            else:
                return


def _place_at(opened: "Store", at: datetime, head: int) -> int:
    """Return a place before everything that is of `at` or later, by halving."""
    low, high = 0, head
    while low < high:
        middle = (low + high) // 2
        found = opened.feed.changes(middle, limit=1)
        if found and found[0].at < at:
            low = found[0].seq
        else:
            high = middle
    return low


def _print(opened: "Store", changes: "Sequence[Change]", mode: "Mode", *, as_json: bool) -> None:
    from kusanya_console.cli.lookup.words import in_eat

    ours = [one for one in changes if one.mode in {None, mode}]
    ids = {one.collection_id for one in ours if one.collection_id is not None}
    rows = opened.collections.by_id(sorted(ids), mode)
    for one in ours:
        row = rows.get(one.collection_id or "")
        if as_json:
            say_json(_document(one, row))
        else:
            about = one.collection_id or one.id
            facts = [in_eat(one.at), f"{one.kind.value:<11}", mask_text(about)]
            if row is not None:
                facts += [mask_text(row.reference), f"{row.currency} {row.amount:,}", row.status]
            say(safe("  ".join(facts), 400))


def _document(change: "Change", row: "CollectionRow | None") -> dict[str, Any]:
    return {
        "seq": change.seq,
        "at": change.at,
        "kind": change.kind.value,
        "id": mask_text(change.id),
        "mode": change.mode,
        "collection_id": change.collection_id,
        "reference": None if row is None else mask_text(row.reference),
        "amount": None if row is None else row.amount,
        "currency": None if row is None else row.currency,
        "status": None if row is None else row.status,
        "failure_code": None if row is None else row.failure_code,
    }
