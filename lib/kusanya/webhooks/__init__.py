"""Webhooks: the signature of a delivery and the sender's schedule."""

from kusanya.webhooks.signature import (
    DuplicateSignature,
    MalformedSignature,
    MissingSignature,
    MissingV1,
    SignatureError,
    SignatureMismatch,
    SignatureTooLong,
    TimestampNotInteger,
    TimestampTooNew,
    TimestampTooOld,
    UnparseableEvent,
    Verified,
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
    "SignatureMismatch",
    "SignatureTooLong",
    "TimestampNotInteger",
    "TimestampTooNew",
    "TimestampTooOld",
    "UnparseableEvent",
    "Verified",
    "check",
    "sign",
    "verify",
]
