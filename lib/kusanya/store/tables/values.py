"""How values are kept in columns: instants as microseconds, text that both engines hold.

Instants are BIGINT microseconds since the epoch, UTC: they compare, page and bucket as integers,
and no engine's idea of time zones or precision is involved.
"""

import re
from datetime import UTC, datetime, timedelta
from itertools import count
from secrets import token_hex
from typing import Final

from kusanya.domain.limits import INTEGER_MAX
from kusanya.platform.forks import ForkAware

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
HOUR_US: Final = 3_600_000_000
_DELIVERY_DIGITS: Final = re.compile("[0-7][0-9a-f]{15}")
_MICROSECOND: Final = timedelta(microseconds=1)


def to_us(at: datetime) -> int:
    """Return the microseconds from the epoch to `at`, exactly; floats would lose the last one."""
    return (at - EPOCH) // _MICROSECOND


def maybe_us(at: datetime | None) -> int | None:
    """Return `to_us(at)`, or None for None."""
    return None if at is None else (at - EPOCH) // _MICROSECOND


def from_us(us: int) -> datetime:
    """Return the aware UTC instant `us` microseconds after the epoch."""
    return EPOCH + timedelta(0, 0, us)


def maybe_at(us: int | None) -> datetime | None:
    """Return `from_us(us)`, or None for None."""
    return None if us is None else EPOCH + timedelta(0, 0, us)


def hour_of(us: int) -> int:
    """Return the first microsecond of the hour in which `us` lies."""
    return us // HOUR_US * HOUR_US


def clean(text: str, limit: int | None = None) -> str:
    """Return `text` as both engines keep it; exact bytes are kept beside it where they matter.

    PostgreSQL refuses NUL and both refuse lone surrogates: NUL becomes ␀, a surrogate ?. Longer
    than `limit` characters it is cut and ends in ….
    """
    if limit is not None and len(text) > limit:
        text = f"{text[: limit - 1]}…"
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "␀").encode("utf-8", "replace").decode("utf-8")


ESCAPE: Final = "/"
"""What stands in a text of `part_of` before a character that LIKE would not take as it is."""


def part_of(text: str, limit: int | None = None) -> str:
    """Return `text` as a part is looked for by LIKE: cleaned, in small letters, escaped."""
    said = clean(text, limit).lower()
    for special in (ESCAPE, "%", "_"):
        said = said.replace(special, ESCAPE + special)
    return said


def is_plain(*texts: str | None, limit: int) -> bool:
    """Return whether `clean` would leave every text as it is; surely so, sooner than one by one."""
    # One look at all of them together: almost everything is short ASCII.
    joined = "".join([text for text in texts if text is not None])
    return len(joined) <= limit and joined.isascii() and "\0" not in joined


def maybe_clean(text: str | None, limit: int | None = None) -> str | None:
    """Return `clean(text, limit)`, or None for None."""
    return None if text is None else clean(text, limit)


def holdable(number: int | None) -> int | None:
    """Return `number` where a BIGINT holds it, else None: forged claims may be of any size."""
    if number is None or not -INTEGER_MAX - 1 <= number <= INTEGER_MAX:
        return None
    return number


def delivery_id(seq: int) -> str:
    """Return the id of the delivery at `seq`; ids sort as their places do."""
    return f"dlv_{seq:016x}"


def delivery_seq(text: str) -> int | None:
    """Return the place of the delivery with this id, or None where it is no such id."""
    digits = text.removeprefix("dlv_")
    if not _DELIVERY_DIGITS.fullmatch(digits) or digits == text:
        return None
    return int(digits, 16)


class Ids(ForkAware):
    """Makes ids with `prefix`, different from all of any other maker, in any process.

    Ids of one maker sort in the order of their making, which keeps their index compact.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._begin_anew()
        super().__init__()

    def _begin_anew(self) -> None:
        self._salt = token_hex(8)
        self._numbers = count()

    def after_fork_in_child(self) -> None:
        """Take a salt of our own: the parent goes on with its own numbers."""
        self._begin_anew()

    def new(self) -> str:
        """Return an id that nothing else has."""
        return f"{self._prefix}_{self._salt}{next(self._numbers):09x}"
