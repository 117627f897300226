"""When a delivery says that it was signed: proven by its signature, or only claimed.

Pure. The receiver keeps a time only where the signature is good; of a rejected delivery its header
is read, and what it says is called unverified.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from kusanya.store.records import DeliveryBody, DeliveryRow
from kusanya.webhooks.signature import SignatureError, parse
from kusanya_console.ui.format import Look, format_instant
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import MUTED, PLAIN, WARN, Run

_BEGIN: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""A later time finds no room in a calendar."""


def signed_runs(
    row: DeliveryRow, held: DeliveryBody | None, look: Look, *, most: int | None = None
) -> tuple[Run, ...]:
    """Return the time of signing and its skew, of `most` seconds where that is given."""
    at = row.signed_at or claimed_time(held)
    if at is None:
        # Nothing can be said of headers that are not read yet.
        return (("—", MUTED),) if held is None else ((translate("no readable t"), WARN),)
    skew = f"{round((row.arrived_at - at).total_seconds()):,}"
    said = translate("skew {seconds} s", seconds=skew)
    if most is not None:
        said = translate("skew {seconds} s of {most} s", seconds=skew, most=most)
    runs: tuple[Run, ...] = ((format_instant(at, look), PLAIN), (f"   {said}", MUTED))
    return runs if row.signed_at is not None else (*runs, (f"   {translate('unverified')}", WARN))


def claimed_time(held: DeliveryBody | None) -> datetime | None:
    """Return the t of the one header that reads as a signature, or None; nothing proves it."""
    stamps = [_stamp(value) for _, value in held.headers] if held is not None else []
    found = [stamp for stamp in stamps if stamp is not None]
    # Two headers are one with two values: nobody can tell which one counts.
    if len(found) != 1 or found[0] > (_LAST - _BEGIN).total_seconds():
        return None
    return _BEGIN + timedelta(seconds=found[0])


def _stamp(value: bytes) -> int | None:
    try:
        return int(parse(value).timestamp)
    except SignatureError:
        return None
