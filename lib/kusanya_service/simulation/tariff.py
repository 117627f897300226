"""What a collection costs and which operator carries it.

Fees are whole shillings, fixed at creation and never above the amount. Source: What the service
does, 4; assumption FEE. The prefixes are a hint of the field: numbers are ported between operators.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

_PREFIXES: Final = {
    "MPESA_TZ": ("74", "75", "76"),
    "TIGO_TZ": ("65", "67", "71", "77"),
    "AIRTEL_TZ": ("68", "69", "78"),
    "HALOPESA_TZ": ("61", "62"),
    "TTCL_TZ": ("73",),
}
_CHANNEL_OF: Final = {prefix: name for name, known in _PREFIXES.items() for prefix in known}
_COUNTRY: Final = "255"
DEFAULT_CHANNEL: Final = "MPESA_TZ"
"""The channel of a number that no prefix claims."""
_BASIS_POINTS: Final = 10_000


class Rate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One channel's price: a share of the amount, rounded up, at least `least` shillings."""

    basis_points: int
    """Hundredths of a percent."""
    least: int = 0

    def fee(self, amount: int) -> int:
        """Return the fee on `amount` in whole shillings."""
        share = -(-amount * self.basis_points // _BASIS_POINTS)
        return min(amount, max(share, self.least))


Tariff = Mapping[str, Rate]
"""The rate of each channel."""

DEFAULT_TARIFF: Final[Tariff] = {
    "MPESA_TZ": Rate(basis_points=180, least=9),
    "TIGO_TZ": Rate(basis_points=170, least=9),
    "AIRTEL_TZ": Rate(basis_points=160, least=8),
    "HALOPESA_TZ": Rate(basis_points=150, least=8),
    "TTCL_TZ": Rate(basis_points=150, least=8),
}


def channel_of(phone: str) -> str:
    """Return the channel that a phone number's prefix suggests."""
    digits = phone.removeprefix("+")
    if digits.startswith(_COUNTRY):
        return _CHANNEL_OF.get(digits[3:5], DEFAULT_CHANNEL)
    return DEFAULT_CHANNEL


def fee_of(amount: int, channel: str, tariff: Tariff) -> int:
    """Return the fee of a collection in whole shillings; a channel without a rate is free."""
    rate = tariff.get(channel)
    return 0 if rate is None else rate.fee(amount)
