"""What reconciliation refuses.

KusanyaError
└── ReconcileError
    ├── FrameError      a frame does not have the columns and types of its schema
    ├── InputRefused    a ledger, statement, mapping or tariff cannot be used as it stands
    └── PackRefused     the pack cannot be written where it was asked for
"""

from kusanya.errors import KusanyaError


class ReconcileError(KusanyaError):
    """Base of every refusal of reconciliation."""


class FrameError(ReconcileError):
    """A frame does not have the columns and types of its schema; the message names them."""


class InputRefused(ReconcileError):  # noqa: N818 - reads as the condition it states
    """An input cannot be used as it stands; the message says what to change."""


class PackRefused(ReconcileError):  # noqa: N818 - reads as the condition it states
    """The pack cannot be written; nothing is left behind."""
