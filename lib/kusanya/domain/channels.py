"""The one table of channels: what each is called, and what the sample month does with it.

Filters, labels and the sample month read them here. The set is open: a channel that is not here
appears as itself. The embedded service keeps its own list, as an independent check; a test compares
the two. Source: the field's codes; assumption OPEN_SETS.
"""

import re
from typing import Final

import msgspec


class Channel(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one channel."""

    label: str
    short: tuple[str, ...]
    """What a filter calls it."""
    also: tuple[str, ...] = ()
    """What else statements call it, without blanks and marks, in small letters."""
    basis_points: int
    """Its price in the sample month, in hundredths of a percent, rounded up to whole shillings."""
    least_fee: int
    sample_share: float
    """Its share of the customers of the sample month; all of them make 1."""
    sample_prefix: str
    """What the phones of the sample month begin with."""


CHANNELS: Final[dict[str, Channel]] = {
    "MPESA_TZ": Channel(
        label="M-Pesa",
        short=("mpesa",),
        also=("vodacom", "vodacommpesa", "vodacomtz"),
        basis_points=180,
        least_fee=9,
        sample_share=0.46,
        sample_prefix="25575",
    ),
    "TIGO_TZ": Channel(
        label="Mixx by Yas",
        short=("mixx", "tigo"),
        also=("tigopesa", "mixxbyyas", "yas"),
        basis_points=170,
        least_fee=9,
        sample_share=0.24,
        sample_prefix="25571",
    ),
    "AIRTEL_TZ": Channel(
        label="Airtel Money",
        short=("airtel",),
        also=("airtelmoney", "airteltz"),
        basis_points=160,
        least_fee=8,
        sample_share=0.18,
        sample_prefix="25568",
    ),
    "HALOPESA_TZ": Channel(
        label="HaloPesa",
        short=("halopesa",),
        also=("halotel",),
        basis_points=150,
        least_fee=8,
        sample_share=0.08,
        sample_prefix="25562",
    ),
    "TTCL_TZ": Channel(
        label="T-Pesa",
        short=("ttcl",),
        also=("tpesa", "ttclpesa"),
        basis_points=150,
        least_fee=8,
        sample_share=0.04,
        sample_prefix="25573",
    ),
}
CHANNEL_NAMES: Final = {name: code for code, known in CHANNELS.items() for name in known.short}
"""Short names of the channels; a code stands for itself."""


def channel_label(code: str) -> str:
    """Return the name customers know a channel by, or the code as received."""
    known = CHANNELS.get(code)
    return code if known is None else known.label


def channel_code(name: str) -> str:
    """Return the code of a channel by any name that statements give it; else the name itself."""
    return _CODES.get(_MARKS.sub("", name).lower(), name)


_MARKS: Final = re.compile(r"[^A-Za-z0-9]")
_CODES: Final = {
    _MARKS.sub("", name).lower(): code
    for code, known in CHANNELS.items()
    for name in (code, code.removesuffix("_TZ"), known.label, *known.short, *known.also)
}
