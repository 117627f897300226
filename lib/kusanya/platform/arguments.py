"""What a program gives to a public function: refused in words, before anything is done with it."""

from numbers import Integral, Real


def check_whole(name: str, value: object, *, least: int = 1) -> None:
    """Raise TypeError for what is no whole number (True is none), ValueError below `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} is an int, not {type(value).__name__}")
    if int(value) < least:
        raise ValueError(f"{name} is {value}: give {least} or more")


def check_seconds(name: str, value: object, *, above: float | None = 0.0) -> None:
    """Raise TypeError for what is no number of seconds, ValueError for NaN and for too few.

    `above` None lets a time be over already, as that of a last look.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} is a number of seconds, not {type(value).__name__}")
    if above is not None and not float(value) > above:
        raise ValueError(f"{name} is above {above:g} seconds")
    if float(value) != float(value):
        raise ValueError(f"{name} is no number of seconds")


def plain_text(name: str, value: object) -> str:
    """Return a text as a plain str; raises TypeError for what is none, ValueError for a surrogate.

    A subclass, such as the SafeString of Django's templates, is taken by what it says: encoders
    refuse it only later.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} is a str, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:
        # Its own message and attributes would carry the text.
        raise ValueError(f"{name} holds a lone surrogate, which no text has") from None
    return str.__str__(value)
