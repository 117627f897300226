"""`kusanya breaks`: what a pack left open, who takes care of it, and what was decided."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from kusanya.text import safe
from kusanya_console.cli.options import AsJson, ProfileName, StoreUrl, profile_of
from kusanya_console.output import USAGE, Refused, say, say_json

if TYPE_CHECKING:
    from kusanya.store import Store
    from kusanya.store.records import BreakFact
    from kusanya_books.pack.decisions import OpenItems

_STATUSES: Final = ("open", "explained", "accepted", "to-be-booked")
_breaks = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
PackFolder = Annotated[
    Path, typer.Option("--pack", help="A pack's folder, or a folder of packs: its latest one.")
]
_HERE: Final = Path("packs")


def add_to(app: typer.Typer) -> None:
    """Add the group to the command line."""
    app.add_typer(
        _breaks, name="breaks", help="What a reconciliation left open: list, note, resolve."
    )


@_breaks.command("list", epilog="Example: kusanya breaks list --pack ./packs --status open")
def list_(
    *,
    pack: PackFolder = _HERE,
    status: Annotated[
        str | None, typer.Option(help="Only open, explained, accepted or to-be-booked.")
    ] = None,
    code: Annotated[str | None, typer.Option(help="Only this code.")] = None,
    owner: Annotated[str | None, typer.Option(help="Only this owner's; '' for nobody's.")] = None,
    older_than: Annotated[
        int | None, typer.Option(min=0, help="Only those older than so many days.")
    ] = None,
    profile: ProfileName = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """List what the pack left open, as it stands now: id, code, reference, amount, age, owner.

    A break that was decided counts as open again where its code or its money has changed since.
    """
    wanted = None if status is None else _status(status)
    with _open(profile, store, read_only=True) as opened:
        items = _load(opened, pack)
    frame = items.frame
    if wanted is not None:
        frame = frame[frame["status"] == wanted]
    if code is not None:
        frame = frame[frame["break_code"] == code]
    if owner is not None:
        frame = frame[frame["owner"].fillna("") == owner]
    if older_than is not None:
        frame = frame[(frame["age_days"] > older_than).fillna(value=False)]
    rows = [_plain(row) for row in frame.to_dict("records")]
    if as_json:
        say_json({"run_id": items.run_id, "mode": items.mode.value, "data": rows})
        return
    for row in rows:
        say(_line(row))
    say(f"{len(rows):,} of {len(items.frame):,} open in {safe(items.folder.name, 120)}")


@_breaks.command(epilog="Example: kusanya breaks note 3f2a9c 'asked the shop' --owner finance")
def note(
    break_id: Annotated[str, typer.Argument(metavar="ID", help="Its id, or how it begins.")],
    text: Annotated[str, typer.Argument(help="What you know of it.")],
    *,
    owner: Annotated[str | None, typer.Option(help="Who takes care of it; '' for nobody.")] = None,
    pack: PackFolder = _HERE,
    profile: ProfileName = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Note something about a break; the next run shows it beside the break."""
    with _open(profile, store) as opened:
        fact = _record(opened, pack, break_id, note=text, owner=owner)
    _say(fact, as_json=as_json)


@_breaks.command(
    epilog="Example: kusanya breaks resolve 3f2a9c --as accepted --reason 'below 10 TZS'"
)
def resolve(
    break_id: Annotated[str, typer.Argument(metavar="ID", help="Its id, or how it begins.")],
    *,
    as_: Annotated[str, typer.Option("--as", help="explained, accepted, to-be-booked, or open.")],
    reason: Annotated[str, typer.Option(help="Why.")] = "",
    pack: PackFolder = _HERE,
    profile: ProfileName = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Decide about a break, with a reason: an accepted one stands against no later verdict.

    The decision covers the break as it is now: where its code or its money changes, it is open
    again. `--as open` takes a decision back.
    """
    wanted = _status(as_)
    if wanted != "open" and not reason.strip():
        raise Refused("give the reason with --reason: it stands beside your name", code=USAGE)
    with _open(profile, store) as opened:
        fact = _record(opened, pack, break_id, status=wanted, note=reason or None)
    _say(fact, as_json=as_json)


def _status(text: str) -> str:
    if text.replace("_", "-") not in _STATUSES:
        raise Refused(f"a status is {', '.join(_STATUSES)}, not {safe(text, 40)}", code=USAGE)
    return text.replace("-", "_")


def _open(profile: str | None, store: str | None, *, read_only: bool = False) -> "Store":
    from kusanya.store import Store

    return Store.open(profile_of(profile, store).store, create=False, read_only=read_only)


def _load(store: "Store", pack: Path) -> "OpenItems":
    from kusanya.errors import InputRefused
    from kusanya_books.pack import decisions

    try:
        return decisions.load(store, pack)
    except InputRefused as error:
        raise Refused(f"{error} (--pack)", code=USAGE) from error


def _record(store: "Store", pack: Path, break_id: str, **said: str | None) -> "BreakFact":
    from kusanya.errors import InputRefused
    from kusanya_books.pack import decisions

    items = _load(store, pack)
    try:
        return decisions.record(store, items, break_id, actor=store.audit.actor, **said)
    except InputRefused as error:
        raise Refused(str(error)) from error


def _say(fact: "BreakFact", *, as_json: bool) -> None:
    if as_json:
        say_json(fact)
        return
    done = "noted" if fact.status is None else fact.status.value.replace("_", " ")
    about = fact.subject
    name = about.reference or about.collection_id or "-"
    say(safe(f"{about.break_id}  {about.code}  {name}: {done} by {fact.actor}", 300))


def _line(row: dict[str, Any]) -> str:
    money = "-" if row["amount"] is None else f"{row['currency'] or ''} {row['amount']:,}".strip()
    age = "-" if row["age_days"] is None else f"{row['age_days']} d"
    name = safe(row["reference"] or row["collection_id"] or "-", 32)
    parts = (
        f"{row['break_id']}  {row['break_code']:<22} {name:<24} {money:>16} {age:>6}",
        f"{row['status'].replace('_', ' '):<12}",
        safe(row["owner"] or "-", 24),
        safe(row["note"] or "", 120),
    )
    return "  ".join(parts).rstrip()


def _plain(row: dict[Any, Any]) -> dict[str, Any]:
    import pandas as pd

    found = {str(name): None if pd.isna(value) else value for name, value in row.items()}
    day = found["day"]
    return {**found, "day": None if day is None else f"{day:%Y-%m-%d}"}
