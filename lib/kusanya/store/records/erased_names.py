"""What stands in the place of a name that held a customer's phone, once it was erased. Pure."""

import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from kusanya.privacy import normalise_phone, redact

ERASED: Final = "(erased)"
"""What stands in the place of words."""
_NAME: Final = "erased_"
_SEPARATOR: Final = r"(?:[\s().\-]|\u00a0|[\u2010-\u2015])*"
_BYTE_SEPARATOR: Final = rb"(?:[\s().\-]|\xc2\xa0|\xe2\x80[\x90-\x95])*"
_DIGITS: Final = 6
"""A name with fewer digits holds no phone."""


def erased_name(name: str) -> str:
    """Return what stands for a reference or key; the same name is always erased to the same one.

    So a reference that held a phone stays used: it cannot be charged a second time.
    """
    return f"{_NAME}{blake2b(name.encode(errors='replace'), digest_size=12).hexdigest()}"


def maybe_erased(name: str) -> str:
    """Return under which name a row may be kept too: the same where it cannot hold a phone."""
    digits = sum(character in "0123456789" for character in name)
    return erased_name(name) if digits >= _DIGITS else name


class Erasure:
    """What is erased: one customer's phone in every spelling, or whatever looks like a phone."""

    def __init__(self, phone: str | None = None) -> None:
        self._text: re.Pattern[str] | None = None
        self._bytes: re.Pattern[bytes] | None = None
        self._core: re.Pattern[bytes] | None = None
        if phone is not None:
            national = normalise_phone(phone)[3:]
            self._text = re.compile(
                rf"(?<![0-9])(?:(?:\+|%2B|00)?255{_SEPARATOR}|0)?{_SEPARATOR.join(national)}(?![0-9])"
            )
            self._core = re.compile(_BYTE_SEPARATOR.join(digit.encode() for digit in national))
            self._bytes = re.compile(
                rb"(?<![0-9])(?:(?:\+|%2B|00)?255" + _BYTE_SEPARATOR + rb"|0)?"
                + _BYTE_SEPARATOR.join(digit.encode() for digit in national) + rb"(?![0-9])"
            )  # fmt: skip

    def is_in(self, said: str | bytes | None) -> bool:
        """Return whether a phone that is to be erased stands in a text or in bytes."""
        if not said:
            return False
        if isinstance(said, bytes):
            if self._bytes is not None and self._core is not None:
                # Most bytes are recognised by the nine digits alone, at a tenth of the cost.
                return bool(self._core.search(said)) and bool(self._bytes.search(said))
            said = said.decode(errors="replace")
        if self._text is not None:
            return self._text.search(said) is not None
        return redact(said) != said

    def words(self, said: str) -> str:
        """Return a text without the phone."""
        return redact(said) if self._text is None else self._text.sub(ERASED, said)

    def name(self, said: str) -> str:
        """Return a name, or what stands for it where a phone is in it."""
        return erased_name(said) if self.is_in(said) else said


def stand_in(phone: str, *, store_id: str) -> str:
    """Return a number that no operator has, the same for each row of a customer in this store."""
    digits = phone.removeprefix("+").encode()
    tag = blake2b(digits, key=store_id.encode()[:64], digest_size=8).digest()
    return f"{_STAND_IN}{int.from_bytes(tag) % 10**8:08d}"


def is_stand_in(phone: str) -> bool:
    """Return whether a number stands for one that was erased."""
    return phone.startswith(_STAND_IN)


_STAND_IN: Final = "2550"


def any_in(erasure: Erasure, said: Iterable[str | bytes | None]) -> bool:
    """Return whether a phone that is to be erased stands in any of these."""
    return any(map(erasure.is_in, said))
