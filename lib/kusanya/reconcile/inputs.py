"""What a report is made from: one value that every notebook and the month-end run pass on."""

import msgspec
import pandas as pd

from kusanya.reconcile.days import Period
from kusanya.reconcile.quality import Quality
from kusanya.wire import Mode


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """Collections of one mode around a period, and what else is known about them."""

    collections: pd.DataFrame
    """Reaches some days past the period on both sides."""
    other_mode: pd.DataFrame
    """Keys of the other mode, so that a booking on the wrong side is recognised."""
    intents: pd.DataFrame
    """Creations whose outcome is not known."""
    control: pd.DataFrame
    """What was loaded against the store's own rollups."""
    period: Period
    mode: Mode
    source: str
    """Where the collections come from, in words; says so when they are sample data."""
    store_id: str
    as_of: int
    """The journal position up to which facts are known."""
    quality: tuple[Quality, ...]
