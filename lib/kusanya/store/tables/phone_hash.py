"""What stands for a phone where collections are grouped by customer and nobody may see a number.

The same in the frames of a store and in what it exports, so that the two may be put together.
"""

import hashlib
from typing import Any


def phone_hashes(phones: Any, *, key: str) -> Any:
    """Return a 64-bit number per phone as a numpy array; `phones` is a numpy array of str objects.

    SipHash under `key`, the store's own: without it a number cannot be guessed from its hash, and
    two stores say different things of one customer. Needs pandas.
    """
    from pandas.util import hash_array

    secret = hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
    return hash_array(phones, hash_key=secret, categorize=False)
