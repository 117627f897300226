"""`kusanya store purge` and `erase`: personal data goes, money and proofs stay."""

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kusanya_console.cli.options import AsJson, ProfileName, StoreUrl, now, profile_of
from kusanya_console.output import USAGE, Refused, say, say_json

if TYPE_CHECKING:
    from kusanya.store.records import ErasureResult

_LEAST: Final = timedelta(days=31)
"""Younger deliveries are what people look at when a payment is disputed."""


def add_to(group: typer.Typer) -> None:
    """Add the commands to the group."""
    group.command(
        epilog="Example: kusanya store purge --bodies-after 30d --personal-after 400d",
    )(purge)
    group.command(epilog="Example: kusanya store erase --phone '0754 000 001'")(erase)


def purge(
    *,
    bodies_after: Annotated[
        str | None, typer.Option(help="Raw bodies and headers older than this go: 30d.")
    ] = None,
    personal_after: Annotated[
        str | None,
        typer.Option(help="Phones, descriptions, metadata, notes of older payments go: 400d."),
    ] = None,
    deliveries_after: Annotated[
        str | None,
        typer.Option(help="Deliveries of whole months older than this go: 400d. Events stay."),
    ] = None,
    profile: ProfileName = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Let what is personal go after an age; amounts, states, ids and counts stay. For cron."""
    from kusanya.store import Store

    if bodies_after is None and personal_after is None and deliveries_after is None:
        raise Refused(
            "say one or more of --bodies-after, --personal-after, --deliveries-after", code=USAGE
        )
    bodies_age = _age("--bodies-after", bodies_after)
    personal_age = _age("--personal-after", personal_after)
    deliveries_age = _age("--deliveries-after", deliveries_after)
    if deliveries_age is not None and deliveries_age < _LEAST:
        raise Refused(f"--deliveries-after is at least {_LEAST.days}d", code=USAGE)
    at, bodies, deliveries, done = now(), 0, 0, None
    with Store.open(profile_of(profile, store).store, create=False) as opened:
        if bodies_age is not None:
            bodies = opened.retention.forget_bodies(before=at - bodies_age)
        if personal_age is not None:
            done = opened.erasing.purge_personal(before=at - personal_age, actor=opened.audit.actor)
        if deliveries_age is not None:
            deliveries = opened.retention.forget_deliveries(before=at - deliveries_age)
    if as_json:
        say_json({"bodies": bodies, "personal": done, "deliveries": deliveries})
        return
    if bodies_age is not None:
        say(f"removed the bodies of {bodies:,} deliveries")
    if done is not None:
        _say(done)
    if deliveries_age is not None:
        say(f"removed {deliveries:,} deliveries of months that are over; their events stay")


def erase(
    *,
    phone: Annotated[str, typer.Option(help="The customer's number in any spelling.")],
    profile: ProfileName = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Erase one customer's personal data from the store; audited without the number.

    Refused while a creation or payment of the customer is open. Backups, copies and exports that
    were made before still hold it, and so does a program's own database.
    """
    from kusanya.privacy import PhoneError
    from kusanya.store import Store

    with Store.open(profile_of(profile, store).store, create=False) as opened:
        try:
            done = opened.erasing.erase(phone, actor=opened.audit.actor)
        except PhoneError as error:
            raise Refused(f"--phone: {error}", code=USAGE) from error
    if as_json:
        say_json(done)
    else:
        _say(done)


def _say(done: "ErasureResult") -> None:
    say(
        f"erased what is personal in {done.collections:,} collections, {done.creations:,} "
        f"creations, {done.deliveries:,} deliveries and {done.notes:,} notes"
    )


def _age(option: str, said: str | None) -> timedelta | None:
    if said is None:
        return None
    found = re.fullmatch(r"([1-9][0-9]{0,4})d", said)
    if found is None:
        raise Refused(f"{option} is a number of days as 30d, not {said}", code=USAGE)
    return timedelta(days=int(found[1]))
