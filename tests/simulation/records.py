"""What crossed the wires of a simulated world, as the checker reads it."""

import hashlib
from typing import TYPE_CHECKING

import msgspec

from kusanya.wire import Mode

if TYPE_CHECKING:
    from tests.simulation.world import World

Answer = tuple[int, list[tuple[bytes, bytes]], bytes] | None


class Post(msgspec.Struct, kw_only=True):
    """One POST as the service had it, and its answer; status None where it cut the connection."""

    at_ms: int
    mode: Mode
    key: str
    body: bytes
    status: int | None
    answer: bytes
    replayed: bool

    @classmethod
    def of(cls, at_ms: int, mode: Mode, key: str, body: bytes, found: Answer) -> "Post":
        """Return the record of a POST and what the service's application answered."""
        if found is None:
            return cls(
                at_ms=at_ms, mode=mode, key=key, body=body, status=None, answer=b"", replayed=False
            )
        status, headers, answer = found
        return cls(
            at_ms=at_ms,
            mode=mode,
            key=key,
            body=body,
            status=status,
            answer=answer,
            replayed=dict(headers).get(b"idempotent-replayed") == b"true",
        )


class LeavingPost(msgspec.Struct, kw_only=True):
    """One POST as it left the merchant, and what the store had durable at that moment."""

    at_ms: int
    mode: Mode
    key: str
    body: bytes
    kept_body: bytes | None


class Attempt(msgspec.Struct, kw_only=True):
    """One attempt of a delivery as the service sent it."""

    at_ms: int
    """On the line of time that never jumps."""
    wall_ms: int
    """By the service's wall clock."""
    host: str
    body: bytes
    header: bytes
    manual: bool
    status: int | None = None
    recorded: bool = True
    """False where the service died before it could write down how the attempt ended."""

    @property
    def delivered(self) -> bool:
        """Return whether the sender saw a 2xx."""
        return self.status is not None and 200 <= self.status < 300


class Record(msgspec.Struct, kw_only=True):
    """All of it, in order."""

    left: list[LeavingPost] = []
    posts: list[Post] = []
    attempts: list[Attempt] = []
    acknowledged: list[bytes] = []
    secrets: dict[str, list[tuple[int, str]]] = {}
    """For each host its signing secrets, and since when."""
    enabled: list[tuple[int, str]] = []
    """When a person enabled which host again."""
    was_skewed: bool = False
    """Whether the merchant's clock was ever set wrong."""
    forged: set[str] = set()
    """Ids of events that no service made."""

    def leaves(self, world: "World", mode: Mode, key: str, body: bytes) -> None:
        """Record a POST that leaves, and look whether its intent is kept."""
        intent = world.store.intents.by_key(mode, "main", key)
        kept = None if intent is None else intent.body
        self.left.append(
            LeavingPost(at_ms=world.now_ms, mode=mode, key=key, body=body, kept_body=kept)
        )

    def died(self, at_ms: int) -> None:
        """Mark what the service could not write down."""
        for attempt in reversed(self.attempts):
            if attempt.at_ms != at_ms:
                break
            attempt.recorded = False

    def trace(self) -> str:
        """Return a digest of what happened; what the operating system made random is left out."""
        digest = hashlib.sha256()
        for post in self.posts:
            digest.update(f"{post.at_ms} {post.mode} {post.status} {post.replayed}\n".encode())
            digest.update(post.body + post.answer if post.status == 202 else b"")
        for one in self.attempts:
            digest.update(f"{one.at_ms} {one.wall_ms} {one.host} {one.status}\n".encode())
            digest.update(one.body)
        digest.update(b"".join(self.acknowledged))
        return digest.hexdigest()
