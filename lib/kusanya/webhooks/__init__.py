"""Webhooks: the signature of a delivery and the sender's schedule."""

from kusanya.webhooks.signature import (
    DuplicateSignature,
    MalformedSignature,
    MissingSignature,
    MissingV1,
    SignatureError,
    SignatureMatch,
    SignatureMismatch,
    SignatureTooLong,
    TimestampNotInteger,
    TimestampTooNew,
    TimestampTooOld,
    UnparseableEvent,
    check,
    sign,
    verify,
)

__all__ = [
    "DuplicateSignature",
    "MalformedSignature",
    "MissingSignature",
    "MissingV1",
    "SignatureError",
    "SignatureMatch",
    "SignatureMismatch",
    "SignatureTooLong",
    "TimestampNotInteger",
    "TimestampTooNew",
    "TimestampTooOld",
    "UnparseableEvent",
    "check",
    "sign",
    "verify",
]
