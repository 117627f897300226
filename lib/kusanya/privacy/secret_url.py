"""A type for addresses that may hold a password, so that printing one never shows it.

The address of a store, a service or a notification is wrapped where it enters the program. What is
masked does not depend on the address being well formed: a slip of the pen must not show what a
correct spelling hides.
"""

import re
from typing import Final, NoReturn
from urllib.parse import unquote

MASK: Final = "***"
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]{0,30}:/{0,3}")
_STORE_SCHEME: Final = re.compile(r"postgres", re.IGNORECASE)
_USER: Final = re.compile(r"[A-Za-z0-9_.\-]{1,63}")
_KEY_VALUE: Final = re.compile(
    r"(?:^|(?<=\s))([A-Za-z_]{2,40})(\s*=\s*)('(?:[^'\\]|\\.)*'?|[^\s]*)", re.DOTALL
)
_HARMLESS: Final = frozenset(
    {
        *("host", "hostaddr", "port", "user", "dbname", "sslmode", "sslrootcert", "sslcert"),
        *("application_name", "connect_timeout", "target_session_attrs", "client_encoding"),
        *("keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "gssencmode"),
        *("channel_binding", "tcp_user_timeout", "load_balance_hosts", "prepare_threshold"),
    }
)
"""Parameters of an address whose values are shown: all others may hold a secret, or name one."""


class SecretUrl:
    """An address whose str, repr and format are masked; `reveal()` is the only way to the whole.

    Takes a URL, a path, or libpq's `host=… password=…`. User and password of a URL, the values of
    its parameters and what follows its # are masked; of a database's address the user's name and
    harmless parameters stay. Raises TypeError for what is no text.
    """

    __slots__ = ("_value",)

    def __init__(self, value: "str | SecretUrl") -> None:
        text = value.reveal() if isinstance(value, SecretUrl) else value
        if not isinstance(text, str):
            raise TypeError(f"an address is a str, not {type(text).__name__}")
        self._value: Final = text

    def reveal(self) -> str:
        """Return the whole address, with its password; the only exit."""
        return self._value

    @property
    def has_credentials(self) -> bool:
        """Return whether anything in the address is masked, a user's name alone not counted."""
        return MASK in mask_url(self._value) and MASK not in self._value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SecretUrl):
            return NotImplemented
        return self._value == other._value

    def __hash__(self) -> int:
        return hash((SecretUrl, self._value))

    def __str__(self) -> str:
        return mask_url(self._value)

    def __repr__(self) -> str:
        return f"SecretUrl({mask_url(self._value)!r})"

    def __format__(self, spec: str) -> str:
        return format(mask_url(self._value), spec)

    def __reduce__(self) -> NoReturn:
        raise TypeError("an address that may hold a password is not pickled")


def mask_url(text: str) -> str:
    """Return an address without what could be a secret, in linear time; a path stays as it is."""
    found = _SCHEME.match(text)
    # One letter before the colon is a drive: C:\store.sqlite.
    if found is None or (found[0].endswith(":") and len(found[0]) == len("c:")):
        return _KEY_VALUE.sub(_masked_pair, text) if "=" in text else _without_userinfo(text)
    scheme, rest = found[0], text[found.end() :]
    is_store = _STORE_SCHEME.match(scheme) is not None
    rest, hash_, fragment = rest.partition("#") if "@" not in rest else (rest, "", "")
    userinfo, at, rest = rest.rpartition("@")
    if at and "?" in userinfo and is_store and "://" in scheme:
        # Either a password with a ? in it, or parameters with an @: what is before the ? is shown
        # only where it cannot be a part of a password.
        place, _, query = userinfo.partition("?")
        if "@" in place or ":" not in place:
            inner = mask_url(f"{scheme}{place}")
            return f"{inner}?{_masked_query(f'{query}@{rest}', is_store=True)}"
    path, mark, query = rest.partition("?")
    shown = scheme
    if at:
        # Without the slashes nobody knows where the user ends and the password begins.
        shown += f"{_shown_user(userinfo, is_store=is_store and '://' in scheme)}@"
    shown += path
    if mark:
        shown += f"?{_masked_query(query, is_store=is_store)}"
    return f"{shown}#{MASK}" if hash_ and fragment else shown


def _shown_user(userinfo: str, *, is_store: bool) -> str:
    user, colon, _ = userinfo.partition(":")
    shown = user if is_store and _USER.fullmatch(user) else MASK
    return f"{shown}:{MASK}" if colon and shown != MASK else shown


def _masked_query(query: str, *, is_store: bool) -> str:
    pairs = (one.partition("=") for one in re.split(r"[&;]", query))
    return "&".join(
        f"{name}={value}"
        if is_store and unquote(name).strip().lower() in _HARMLESS and "@" not in value
        else f"{name if _USER.fullmatch(name) and equals else ''}{equals}{MASK}"
        for name, equals, value in pairs
    )


def _masked_pair(found: re.Match[str]) -> str:
    if found[1].lower() in _HARMLESS:
        return found[0]
    return f"{found[1]}{found[2]}{MASK}"


def _without_userinfo(text: str) -> str:
    """Return what has no scheme without `user:password@`: somebody forgot the scheme."""
    userinfo, at, rest = text.rpartition("@")
    return f"{MASK}@{rest}" if at and ":" in userinfo else text
