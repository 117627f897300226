"""The rows of the storage, frozen, instants in milliseconds."""

import msgspec


class OpenCollection(msgspec.Struct, frozen=True, gc=False):
    """A collection whose outcome is planned and still to come; `due_at` is monotonic."""

    mode: str
    outcome: str
    twice: int
    due_at: int
    body: bytes


class OpenDelivery(msgspec.Struct, frozen=True, gc=False):
    """A delivery that is to be attempted, and when (monotonic)."""

    seq: int
    endpoint: int
    due_at: int


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A registered endpoint; `lit_at` and `disabled_at` are its fuse (monotonic)."""

    seq: int
    id: str
    mode: str
    url: str
    secret: str
    old_secret: str | None
    old_secret_until: int | None
    lit_at: int | None
    disabled_at: int | None
    created_at: int
    deleted_at: int | None

    def __repr__(self) -> str:
        return f"Endpoint(id={self.id!r}, mode={self.mode!r})"

    @property
    def is_enabled(self) -> bool:
        """Return whether anything is sent to it."""
        return self.disabled_at is None and self.deleted_at is None


class PendingDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery with everything that one attempt needs."""

    seq: int
    id: str
    endpoint: int
    status: str
    tried: int
    attempts: int
    due_at: int | None
    event: int
    event_id: str
    body: bytes


class AttemptRow(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt as it was recorded; instants on the wall."""

    number: int
    manual: bool
    started_at: int
    ended_at: int
    duration_ms: int
    outcome: str
    status_code: int | None
    error: str | None


class DeliveryRow(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery without its attempts."""

    seq: int
    id: str
    event_id: str
    endpoint_id: str
    url: str
    mode: str
    status: str
    due_at: int | None


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """An API key without its secret; `hint` is its last four characters."""

    id: str
    mode: str
    access: str
    digest: bytes
    hint: str
    created_at: int
    revoked_at: int | None = None
