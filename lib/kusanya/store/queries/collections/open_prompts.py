"""Counting open collections by channel and age: one statement for each set of ages."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from sqlalchemy import BigInteger, Select, Text, and_, bindparam, case, func, select

from kusanya.store.queries.planner_hints import bound_asked
from kusanya.store.tables.schema import claim, collection
from kusanya.store.tables.values import to_us
from kusanya.wire import Mode

_TICK: Final = timedelta(microseconds=1)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)
Ages = Mapping[str | None, timedelta]
"""An age by channel; that of None is every other channel's."""


def counting(
    mode: Mode,
    ages: Mapping[str, Ages],
    known: Mapping[str, Ages],
    *,
    now: datetime,
    listened: tuple[datetime, datetime] | None,
    phones: str,
    limit: int,
) -> tuple[Select[Any], dict[str, Any]]:
    """Return the statement and what fills it; see `Collections.open_by_channel`.

    Its rows are a channel, the oldest, how many are open, on how many phones, and how many have
    reached each age, `ages` before `known`.
    """
    since, until = listened or (_LATEST, _LATEST)
    values: dict[str, Any] = {
        "of_mode": mode.value, "bound": limit, "now": to_us(now),
        "listening_since": to_us(since), "listening_until": to_us(until),
    }  # fmt: skip
    every = {**ages, **known}
    forms = []
    for place, (of_age, of) in enumerate(every.items()):
        own = [(name, age) for name, age in of.items() if name is not None]
        values[f"age_{place}"] = of[None] // _TICK
        for number, (name, age) in enumerate(own):
            values[f"channel_{place}_{number}"] = name
            values[f"age_{place}_{number}"] = age // _TICK
        forms.append((len(own), of_age in known))
    query = _open_by_channel(tuple(forms), list(every).index(phones))
    return query, values


@cache
def _open_by_channel(ages: tuple[tuple[int, bool], ...], phones: int) -> Select[Any]:
    """Return the counts of open collections by channel; made once, as any statement.

    Of each age: how many channels have one of their own, and whether it counts as far as is known;
    `phones` is the place of the age whose phones are counted.
    """
    it = collection.c
    newest = (
        select(it.id, it.mode, it.channel, it.created_at, it.phone)
        .where(it.mode == bindparam("of_mode"), it.final_seen_at.is_(None))
        .order_by(it.created_at.desc(), it.id.desc())
        .limit(bound_asked())
        .subquery()
    )
    one, now = newest.c, bindparam("now", type_=BigInteger)
    since = bindparam("listening_since", type_=BigInteger)
    until = bindparam("listening_until", type_=BigInteger)
    by_events = case((one.created_at >= since, until), else_=one.created_at)
    known = case((claim.c.asked_at > by_events, claim.c.asked_at), else_=by_events)
    reached = []
    for place, (count, is_known) in enumerate(ages):
        rest = bindparam(f"age_{place}", type_=BigInteger)
        own = [
            (
                one.channel == bindparam(f"channel_{place}_{number}", type_=Text),
                bindparam(f"age_{place}_{number}", type_=BigInteger),
            )
            for number in range(count)
        ]
        passed = (known if is_known else now) - one.created_at
        reached.append(passed >= (case(*own, else_=rest) if own else rest))
    asked = and_(claim.c.collection_id == one.id, claim.c.mode == one.mode)
    return (
        select(
            one.channel,
            func.min(one.created_at),
            func.count(),
            func.count(one.phone.distinct()).filter(reached[phones]),
            *(func.count().filter(old) for old in reached),
        )
        .select_from(newest.outerjoin(claim, asked))
        .group_by(one.channel)
        .order_by(one.channel)
    )
