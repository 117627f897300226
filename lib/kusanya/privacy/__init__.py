"""Phone numbers and secrets, kept out of every place where they do not belong.

Phones are personal data: they are masked wherever they are shown, and shown whole only by an act
that leaves an audit row (`store.audit.reveal_phone`). The redacting log filter is the last line
behind types that already hide their values.
"""

import hashlib
import json
import logging
import re
from typing import Any, Final

from kusanya.domain.assumptions import PHONE_MAX_DIGITS, PHONE_MIN_DIGITS
from kusanya.say import Said

_SEPARATORS: Final = re.compile(r"[\s().\-\u00a0\u2010-\u2015]")
_DIGITS: Final = re.compile(r"[0-9]+")
_TANZANIAN: Final = re.compile(r"[67][0-9]{8}")
_PHONE_LIKE: Final = re.compile(r"\+[0-9]{7,}|(?:0|255)[0-9]{6,}|[67][0-9]{7,9}")
_COUNTRY: Final = "255"
_SHOWN: Final = 3
"""Digits of a phone that stay visible at its end."""


class PhoneError(ValueError):
    """A phone number cannot be read; the message says why and never repeats the number."""


def normalise_phone(spelling: str) -> str:
    """Return `spelling` as 255 and nine digits.

    Takes 0754 123 456, 754123456, +255 754-123-456, 255754123456 and 00255754123456; after 255
    comes a 6 or 7 and eight digits. Raises PhoneError for anything else: a number is never
    guessed. Source: assumption PHONE.
    """
    compact = _SEPARATORS.sub("", spelling)
    international = compact.startswith("+")
    digits = compact.removeprefix("+")
    if not _DIGITS.fullmatch(digits):
        raise PhoneError("a phone number has only digits, spaces, dashes and a leading +")
    if not international and digits.startswith("00"):
        digits, international = digits[2:], True
    if digits.startswith(_COUNTRY) and (international or len(digits) > len(_COUNTRY) + 6):
        national = digits.removeprefix(_COUNTRY)
    elif international:
        raise PhoneError("the country code is not Tanzania's 255")
    else:
        national = digits.removeprefix("0")
    if len(national) != 9:  # noqa: PLR2004 - the length of a Tanzanian subscriber number
        raise PhoneError(
            Said("after 255 or the leading 0 come 9 digits, not {count}").of(count=len(national))
        )
    if not _TANZANIAN.fullmatch(national):
        raise PhoneError("a Tanzanian mobile number begins with 6 or 7 after 255")
    return _COUNTRY + national


def is_wire_phone(phone: str) -> bool:
    """Return whether the service accepts `phone`: 8 to 15 digits with an optional leading +."""
    digits = phone.removeprefix("+")
    return (
        digits.isascii()
        and digits.isdigit()
        and PHONE_MIN_DIGITS <= len(digits) <= PHONE_MAX_DIGITS
    )


def is_phone_like(text: str) -> bool:
    """Return whether a person who typed this meant a phone, a wrong one too.

    A Unix time or a receipt's number begins otherwise.
    """
    compact = _SEPARATORS.sub("", text)
    return _PHONE_LIKE.fullmatch(compact) is not None


def mask_phone(phone: str) -> str:
    """Return `phone` for showing: +255•••••678.

    Works on any text, also one that is no phone: at most its last three characters and a known
    country code survive, and only where enough stays hidden.
    """
    digits = "".join(character for character in phone if character in "0123456789")
    if len(digits) < PHONE_MIN_DIGITS:
        return "•" * 5
    # Of a shorter number the country code and the end together would hide next to nothing.
    whole = len(digits) >= len(_COUNTRY) + PHONE_MIN_DIGITS
    head = f"+{_COUNTRY}" if whole and digits.startswith(_COUNTRY) else ""
    return f"{head}•••••{digits[-_SHOWN:]}"


def phone_hashes(phones: Any, *, key: str) -> Any:
    """Return a 64-bit number per phone as a numpy array; `phones` is a numpy array of str objects.

    It stands for a phone where collections are grouped by customer and nobody may see a number.
    SipHash under `key`, the store's own: without it a number cannot be guessed from its hash, and
    two stores say different things of one customer. Needs pandas.
    """
    from pandas.util import hash_array

    secret = hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
    return hash_array(phones, hash_key=secret, categorize=False)


_SPACED: Final = r"(?:[\s().\-\u00a0\u2010-\u2015]*[0-9])"
"""One digit more, with whatever people put between the digits of a phone."""
_PHONES: Final = re.compile(
    "|".join(
        (
            # A Tanzanian number with 255, whatever stands around it but further digits,
            rf"(?<![0-9])(?:\+|%2B|00)?255[\s().\-\u00a0]*[67]{_SPACED}{{8}}(?![0-9])",
            # and without it where it is no part of a word or an id;
            rf"(?<![A-Za-z0-9_])0?[67]{_SPACED}{{8}}(?![A-Za-z0-9_])",
            # a neighbouring country's: Kenya, Uganda, Rwanda, Burundi, Zambia, Malawi, Mozambique,
            # Congo;
            r"(?<![A-Za-z0-9_.\-])(?:25[04678]|26[05]|243)[0-9]{8,9}(?![A-Za-z0-9_]|\.[0-9])",
            # and any other that says with its + that it is one.
            rf"(?<![A-Za-z0-9_])(?:\+|%2B)[1-9]{_SPACED}{{7,14}}(?![A-Za-z0-9_])",
        )
    )
)
"""Numbers that parse as phones. Unix times, amounts and limits do not."""
_FEWEST_DIGITS: Final = re.compile(rf"[0-9]{_SPACED}{{7}}")
_SECRETS: Final = (
    (re.compile(r"(?i)\bbearer\s+[^\s'\",;]+"), "Bearer (secret)"),
    (re.compile(r"whsec_[A-Za-z0-9_+/=\-]*"), "whsec_(secret)"),
    # The service's prefix is configurable and may hold underscores itself.
    (
        re.compile(r"(?<![A-Za-z0-9_\-])[A-Za-z0-9_\-]*_(test|live)_sk_[^\s'\",;]*"),
        r"\1 key (secret)",
    ),
    (re.compile(r"dash_[A-Za-z0-9_\-]{8,}"), "dash_(secret)"),
    (re.compile(r"(?i)\bbasic\s+[A-Za-z0-9+/]{6,}={0,2}"), "Basic (secret)"),
    # User and password of an address, up to its last @; the next address ends the search.
    (re.compile(r"://(?:(?!://)[^\s@'\"<>]){0,512}@(?:[^\s@'\"<>/]{1,255}@)?"), "://(secret)@"),
    (re.compile(r"(?i)\b((?:ssl)?password|passwd|passfile)\s?=\s?[^\s&'\",;]+"), r"\1=(secret)"),
)


def redact(text: str) -> str:
    """Return `text` without API keys, signing secrets, bearer tokens and phone numbers."""
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return _PHONES.sub("(phone)", text) if _FEWEST_DIGITS.search(text) else text


def mask_text(text: str) -> str:
    """Return free text with every phone number in it masked: a reference, a note, a description.

    Only numbers that parse as phones of known countries are touched, so that Unix times, amounts
    and ids stay as they are.
    """
    if not _FEWEST_DIGITS.search(text):
        return text
    return _PHONES.sub(lambda found: mask_phone(found[0]), text)


_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|-?[0-9][0-9.eE+\-]*|[{}\[\]:,]')
_PHONE_FIELDS: Final = frozenset({"phone", "msisdn", "phone_number", "mobile"})
"""Fields whose whole value is a phone, in any spelling."""
_EXACT_FIELDS: Final = frozenset(
    {"id", "amount", "fee", "net", "created_at", "completed_at", "status", "type", "mode", "object"}
)
"""Fields that hold no phone whatever their digits look like."""


def mask_json(body: bytes, most: int | None = None) -> str:
    """Return a JSON body with every phone number in it masked, and nothing else changed.

    Fields that are phones are masked whole, all other texts by `mask_text`. What is not UTF-8 is
    replaced: the result goes to a screen or a clipboard, never back to the service. What is no JSON
    is masked as free text. Of more than `most` characters only the first are masked and returned,
    up to the last whole number or text of JSON.
    """
    text = body.decode(errors="replace")
    is_cut = most is not None and len(text) > most
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        # The begin of a number is not told from a phone, so none is left at the end.
        return mask_text(text[:most].rstrip("0123456789+-(). ") if is_cut else text)
    pieces: list[str] = []
    end, name = 0, ""
    for token in _TOKEN.finditer(text):
        if most is not None and token.end() > most:
            break
        raw = token[0]
        follows = text[token.end() : token.end() + 16].lstrip()[:1]
        pieces.append(mask_text(text[end : token.start()]))
        end = token.end()
        if raw.startswith('"') and follows == ":":
            name = _unquoted(raw)
            pieces.append(_masked_string(raw, ""))
        elif raw.startswith('"'):
            pieces.append(_masked_string(raw, name))
        elif raw[0] in "-0123456789":
            pieces.append(_masked_number(raw, name))
        else:
            pieces.append(raw)
    return "".join(pieces if is_cut else (*pieces, mask_text(text[end:])))


def _unquoted(raw: str) -> str:
    return str(json.loads(raw))


def _masked_string(raw: str, name: str) -> str:
    value = _unquoted(raw)
    folded = name.casefold()
    if folded in _EXACT_FIELDS:
        return raw
    masked = mask_phone(value) if folded in _PHONE_FIELDS else mask_text(value)
    # What holds no phone keeps the very bytes in which it came.
    return raw if masked == value else json.dumps(masked, ensure_ascii=False)


def _masked_number(raw: str, name: str) -> str:
    folded = name.casefold()
    if folded in _EXACT_FIELDS:
        return raw
    masked = mask_phone(raw) if folded in _PHONE_FIELDS else mask_text(raw)
    return raw if masked == raw else json.dumps(masked, ensure_ascii=False)


class RedactingFilter(logging.Filter):
    """Redact every record that passes, its arguments and its traceback's text included."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite `record` in place and let it pass."""
        record.msg = redact(record.getMessage())
        record.args = None
        if record.exc_info:
            # The formatter would print the exception's own message: render and redact it here.
            record.exc_text = redact(logging.Formatter().formatException(record.exc_info))
            record.exc_info = None
        return True


def quiet_logs() -> None:
    """Keep the HTTP libraries from logging addresses and headers, and redact what remains.

    httpx logs whole addresses at INFO and httpcore whole headers at DEBUG.
    """
    for name in ("httpx", "httpcore", "aiohttp"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for handler in logging.getLogger().handlers:
        if not any(isinstance(known, RedactingFilter) for known in handler.filters):
            handler.addFilter(RedactingFilter())
