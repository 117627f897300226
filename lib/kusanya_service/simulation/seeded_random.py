"""Randomness that can be repeated: everything random about a run follows from its seed.

Each draw names what it is for, so that drawing one thing more never changes another. Secrets are
not drawn here: they come from the operating system whatever the seed.
"""

import base64
import hashlib
from typing import Final

_HEAD_BYTES: Final = 5
_HEAD: Final = 8
_TAIL: Final = 14


class SeededRandom:
    """Draws that depend on the seed and on their own names alone."""

    def __init__(self, seed: int) -> None:
        self.seed: Final = seed
        self._key: Final = hashlib.sha256(f"kusanya-service {seed}".encode()).digest()

    def _digest(self, *names: object) -> bytes:
        text = "\x1f".join(map(str, names)).encode()
        return hashlib.blake2b(text, key=self._key, digest_size=16).digest()

    def _draw(self, *names: object) -> int:
        return int.from_bytes(self._digest(*names))

    def identifier(self, prefix: str, number: int) -> str:
        """Return the identifier of the `number`-th thing of its kind.

        Its head grows with the number, which keeps neighbours together in an index; its tail
        cannot be guessed from it.
        """
        head = _base32(number.to_bytes(_HEAD_BYTES), _HEAD)
        return f"{prefix}_{head}{_base32(self._digest(prefix, number), _TAIL)}"

    def below(self, bound: int, *names: object) -> int:
        """Return an integer from 0 to `bound` - 1."""
        return self._draw(*names) % bound

    def is_drawn(self, rate: float, *names: object) -> bool:
        """Return whether something with probability `rate` (0 to 1) happens."""
        return self._draw(*names) < rate * 2**128


def _base32(octets: bytes, length: int) -> str:
    # The alphabet of base32hex is in the order of the numbers it stands for.
    return base64.b32hexencode(octets)[:length].decode("ascii").lower()
