"""What a running service decides by: its merchant, randomness, networks, prices and bounds."""

import msgspec

from kusanya.domain.assumptions import AMOUNT_MAX, AMOUNT_MIN
from kusanya_service.simulation.networks import Networks
from kusanya_service.simulation.seeded_random import SeededRandom
from kusanya_service.simulation.tariff import Tariff


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What amounts the service takes, in whole shillings (assumption AMOUNT)."""

    least: int = AMOUNT_MIN
    most: int = AMOUNT_MAX


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """Fixed from start to stop; an argument of every change that has to decide something."""

    merchant_id: str
    random: SeededRandom
    networks: Networks
    tariff: Tariff
    bounds: Bounds
