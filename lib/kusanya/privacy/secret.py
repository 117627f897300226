"""A type for secrets, so that printing one shows nothing.

API keys and signing secrets are wrapped where they enter the program. There is one way out,
`reveal()`, which a reader can search for.
"""

import hmac
import re
from typing import Final, NoReturn

SIGNING_PREFIX: Final = "whsec_"
"""What every signing secret of an endpoint begins with. Source: Authentication 4."""
_PLAIN: Final = re.compile(r"[!-~]+")
"""Printable ASCII without blanks: what a header carries and a dashboard shows."""
_SHORTEST: Final = 3
"""Fewer characters are a slip of the hand, and anyone could guess them."""


class Secret:
    """A string that never appears in a repr, a log, a traceback's locals, a pickle or a copy.

    Raises ValueError when the value is empty or has white space around it: both come from a
    copy-and-paste accident, and a verifier keyed with "" would accept what anyone can sign.
    """

    __slots__ = ("_value",)

    def __init__(self, value: "str | Secret") -> None:
        text = value.reveal() if isinstance(value, Secret) else value
        if not isinstance(text, str):
            raise TypeError(f"a secret is a str, not {type(text).__name__}")
        if not text or text != text.strip():
            raise ValueError("a secret is neither empty nor surrounded by white space")
        try:
            text.encode()
        except UnicodeEncodeError:
            # What an environment variable of undecodable bytes becomes; it could sign nothing.
            raise ValueError("a secret is text that has a form in UTF-8") from None
        self._value: str = text

    def reveal(self) -> str:
        """Return the value; the only exit."""
        return self._value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __repr__(self) -> str:
        return "Secret(...)"

    def __str__(self) -> str:
        return "(secret)"

    def __format__(self, spec: str) -> str:
        return format("(secret)", spec)

    def __copy__(self) -> NoReturn:
        raise TypeError("a secret is not copied; pass the same object")

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise TypeError("a secret is not copied; pass the same object")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled")


def signing_secret(value: "str | Secret") -> Secret:
    """Return an endpoint's signing secret as a Secret.

    Raises TypeError for what is no text, ValueError for a text that cannot be a signing secret:
    without its prefix, or the prefix alone. No message repeats it. Source: Authentication 4.
    """
    found = Secret(value)
    text = found.reveal()
    if not text.startswith(SIGNING_PREFIX):
        raise ValueError(f"a signing secret begins with {SIGNING_PREFIX}")
    if text == SIGNING_PREFIX:
        raise ValueError(f"nothing follows {SIGNING_PREFIX}: copy the whole signing secret")
    _refuse_slips(text.removeprefix(SIGNING_PREFIX))
    return found


def bearer_secret(value: "str | Secret") -> Secret:
    """Return an API key or a token as a Secret.

    Raises ValueError for a text that no header could carry, and for one of a few characters. No
    message repeats it.
    """
    text = value.reveal() if isinstance(value, Secret) else value
    if text != text.strip():
        raise ValueError("it has white space around it")
    found = Secret(text)
    _refuse_slips(text)
    return found


def _refuse_slips(text: str) -> None:
    if not _PLAIN.fullmatch(text):
        raise ValueError(
            "it holds a blank, an invisible or a non-ASCII character: copy it anew, as a whole"
        )
    if len(text) < _SHORTEST:
        raise ValueError("it is too short: copy the whole of it")
