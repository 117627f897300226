"""Which keys need a closer look: found by sorting 32-bit hashes, before any text is compared.

Grouping a million references to find the few that repeat costs as much as joining them; sorting
their hashes costs a tenth. A hash that two references share only sends both the long way round,
where the references themselves are compared.
"""

from typing import Any, Final

import numpy as np
import pyarrow as pa

_LOW: Final = 32
"""Bits of a payment that hold its minute; the payer is above them."""


def repeated(*sides: Any) -> pa.Table:
    """Return the keys that one of the sides has more than once; each side is an array of keys."""
    return _table(np.concatenate([_twice(np.sort(side)) for side in sides]))


def hasty(keys: Any, payments: Any, *, minutes: int) -> pa.Table:
    """Return the keys of payers who paid twice within `minutes`; a payment of 0 is none.

    All their payments are in the answer. See `ledger_payers.sql` for what a payment packs.
    """
    ordered = np.sort(payments[payments > 0])
    near = (ordered[1:] - ordered[:-1]) <= minutes
    payers = np.unique(ordered[1:][near] >> _LOW)
    return _table(keys[np.isin(payments >> _LOW, payers)] if len(payers) else keys[:0])


def _twice(ordered: Any) -> Any:
    return ordered[1:][ordered[1:] == ordered[:-1]]


def _table(keys: Any) -> pa.Table:
    return pa.table({"key": np.unique(keys).astype("uint32")})
