"""What a running service decides by: its merchant, chance, operators, prices and bounds."""

import msgspec

from kusanya.assumptions import AMOUNT_MAX, AMOUNT_MIN
from kusanya.limits import SIGNATURE_TOLERANCE_S
from kusanya_service.simulation.networks import Operators
from kusanya_service.simulation.seeded_random import Chance
from kusanya_service.simulation.tariff import Tariff


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What amounts the service takes, in whole shillings (assumption AMOUNT)."""

    least: int = AMOUNT_MIN
    most: int = AMOUNT_MAX


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """Fixed from start to stop; handed to every change that has to decide something."""

    merchant_id: str
    chance: Chance
    operators: Operators
    tariff: Tariff
    bounds: Bounds


SECRET_OVERLAP_S = 24 * 60 * 60 + SIGNATURE_TOLERANCE_S
"""How long a rotated signing secret still signs: a day, and what a receiver's clock may differ."""
