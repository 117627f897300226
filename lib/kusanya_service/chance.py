"""Chance that can be repeated: everything random about a run follows from its seed.

Each draw names what it is for, so that drawing one thing more never changes another. Secrets are
not drawn here: they come from the operating system whatever the seed.
"""

import hashlib
from typing import Final

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_BITS: Final = 5


class Chance:
    """Draws that depend on the seed and on their own names alone."""

    def __init__(self, seed: int) -> None:
        self.seed: Final = seed
        self._key: Final = hashlib.sha256(f"kusanya-service {seed}".encode()).digest()

    def _draw(self, *names: object) -> int:
        text = "\x1f".join(map(str, names)).encode()
        return int.from_bytes(hashlib.blake2b(text, key=self._key, digest_size=16).digest())

    def identifier(self, prefix: str, number: int) -> str:
        """Return the identifier of the `number`-th thing of its kind.

        Its head grows with the number, which keeps neighbours together in an index; its tail
        cannot be guessed from it.
        """
        return f"{prefix}_{_spell(number, 8)}{_spell(self._draw(prefix, number), 14)}"

    def below(self, bound: int, *names: object) -> int:
        """Return an integer from 0 to `bound` - 1."""
        return self._draw(*names) % bound

    def happens(self, rate: float, *names: object) -> bool:
        """Tell whether something with probability `rate` (0 to 1) happens."""
        return self._draw(*names) < rate * 2**128


def _spell(number: int, length: int) -> str:
    letters = []
    for _ in range(length):
        number, digit = number >> _BITS, number & 31
        letters.append(_ALPHABET[digit])
    return "".join(reversed(letters))
