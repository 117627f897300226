"""Who looks after which alarm, and what is muted until when. Facts, none changed or removed."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Row, func, insert, select

from kusanya.domain.business_day import format_instant
from kusanya.store.queries.base import StorePart
from kusanya.store.queries.notes_and_audit import audited
from kusanya.store.records import Acknowledgement
from kusanya.store.tables.schema import acknowledgement
from kusanya.store.tables.values import clean, from_us, maybe_at, maybe_us, to_us
from kusanya.store.writer.batch import Transaction

_FIELDS: Final = Acknowledgement.__struct_fields__
_COLUMNS: Final = tuple(acknowledgement.c[name] for name in _FIELDS)


class Acknowledgements(StorePart):
    """Keeping and reading acknowledgements."""

    def record(
        self, alarm: str, *, actor: str, reason: str, until: datetime | None = None
    ) -> Acknowledgement:
        """Make durable, with its audit row, that a person looks after an alarm; return it.

        With `until` the alarm is muted up to then, and is named without its outbreak. The store
        knows who says it, see `Audit.actor`. Raises ValueError for a mute without a reason, and
        for one that ends before now.
        """
        said = clean(reason.strip())
        if until is not None and not said:
            raise ValueError("give the reason why the alarm is muted")
        if until is not None and until <= self._clock.now():
            raise ValueError("a mute ends in the future")

        def act(writing: Transaction) -> Acknowledgement:
            end = "" if until is None else f"until {format_instant(until, now=writing.now)}: "
            row = audited(
                writing,
                actor=actor,
                act="acknowledge" if until is None else "mute",
                subject=alarm,
                detail=f"{end}{said}",
                outcome="done",
            )
            fact = Acknowledgement(
                alarm=clean(alarm),
                at=row.at,
                actor=row.actor,
                until=until,
                reason=row.detail.removeprefix(end),
            )
            values = {name: getattr(fact, name) for name in _FIELDS}
            times = {"at": to_us(fact.at), "until": maybe_us(until)}
            writing.connection.execute(
                insert(acknowledgement).values(seq=row.seq, **{**values, **times})
            )
            return fact

        return self._act(act)

    def newest(self, names: Iterable[str]) -> dict[str, Acknowledgement]:
        """Return the newest of each of these alarms, by its name. Raises StoreError."""
        it = acknowledgement.c
        asked = it.alarm.in_(sorted({clean(name) for name in names}))
        newest = select(func.max(it.seq)).where(asked).group_by(it.alarm)
        query = select(*_COLUMNS).where(it.seq.in_(newest))
        with self._reading("read who looks after the alarms") as connection:
            found = [_to_acknowledgement(row) for row in connection.execute(query)]
        return {one.alarm: one for one in found}


def _to_acknowledgement(row: Row[Any]) -> Acknowledgement:
    values = dict(zip(_FIELDS, row, strict=True))
    times = {"at": from_us(values["at"]), "until": maybe_at(values["until"])}
    return Acknowledgement(**{**values, **times})
