"""Faults on purpose: what goes wrong, how often, and the log of every time it did.

Rules are set through the dashboard or read from a scenario file. Whether a rule applies follows
from the seed and from its subject, so that a run can be repeated. Faults of answers and
deliveries act on the wire alone; what was committed stays committed.
"""

import threading
import tomllib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import msgspec

from kusanya_service.errors import BadOption
from kusanya_service.simulation.clock import iso
from kusanya_service.simulation.seeded_random import SeededRandom

LOG_LENGTH: Final = 10_000
"""Injected faults that are remembered; older ones fall out."""
_RULES_MAX: Final = 100
PIECES: Final = 20
"""In how many pieces a body trickles."""


class FaultKind(StrEnum):
    """What can go wrong."""

    LOSE_ANSWER = "lose_answer"
    """The connection is cut after the commit of a new collection: its 202 is lost."""
    FAIL_BEFORE_COMMIT = "fail_before_commit"
    """A POST is answered 500 and nothing is kept."""
    RESET_REQUEST = "reset_request"
    """The connection of a POST is cut before anything is kept."""
    DELAY_ANSWER = "delay_answer"
    """An answer to a POST waits `seconds` of real time."""
    DRIP_ANSWER = "drip_answer"
    """An answer to a POST trickles over `seconds` of real time."""
    STORAGE_FULL = "storage_full"
    """The storage refuses a batch of changes as a full disk does."""
    DELAY_DELIVERY = "delay_delivery"
    """An attempt is put off by `seconds` of service time, once."""
    DROP_DELIVERY = "drop_delivery"
    """An attempt is lost on its way: nothing arrives and it counts as failed."""
    DUPLICATE_DELIVERY = "duplicate_delivery"
    """An attempt that was answered is sent once more."""
    REORDER_DELIVERY = "reorder_delivery"
    """An attempt waits until another to the same endpoint has ended, at most `seconds`."""
    CORRUPT_BODY = "corrupt_body"
    """One byte of the body changes after it was signed."""
    CORRUPT_SIGNATURE = "corrupt_signature"
    """One digit of the signature changes."""
    DRIP_DELIVERY = "drip_delivery"
    """The body of an attempt trickles over `seconds` of real time."""
    RESET_DELIVERY = "reset_delivery"
    """The connection of an attempt is cut in the middle of its body."""
    CLOCK_SKEW = "clock_skew"
    """An attempt is signed with a clock that is `seconds` off, negative for behind."""


class FaultRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that goes wrong."""

    kind: FaultKind
    rate: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    """How often, of the times it could."""
    times: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """How often in all; None for as long as the rule stands."""
    seconds: Annotated[float, msgspec.Meta(ge=-31_536_000, le=31_536_000)] = 5.0


class InjectedFault(msgspec.Struct, frozen=True, kw_only=True):
    """One fault that happened: when (wall), what, and to which request, batch or attempt."""

    at: str
    kind: FaultKind
    subject: str
    seconds: float


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A set of rules, as PUT /dashboard/faults and a scenario file hold it."""

    rules: list[FaultRule] = []


def load_scenario(path: Path) -> tuple[FaultRule, ...]:
    """Read a TOML file of [[rules]]; raises BadOption."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        scenario = msgspec.convert(tomllib.loads(text), Scenario)
    except RecursionError:
        raise BadOption("the scenario is nested too deep to be read") from None
    except OSError as error:
        raise BadOption(f"the scenario cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise BadOption(f"the scenario is not one: {error}") from None
    return tuple(scenario.rules)


class Faults:
    """The rules in force and the log; safe from the writer's thread too."""

    def __init__(
        self, *, random: SeededRandom, now_ms: Callable[[], int], rules: Sequence[FaultRule] = ()
    ) -> None:
        self._random = random
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self._rules: tuple[FaultRule, ...] = tuple(rules)
        self._hits = [0] * len(self._rules)
        self._log: deque[InjectedFault] = deque(maxlen=LOG_LENGTH)

    def replace(self, rules: Iterable[FaultRule]) -> None:
        """Put other rules in force; the log goes on. Raises BadOption for too many."""
        chosen = tuple(rules)
        if len(chosen) > _RULES_MAX:
            raise BadOption(f"at most {_RULES_MAX} rules are in force at a time")
        with self._lock:
            self._rules = chosen
            self._hits = [0] * len(chosen)

    @property
    def any(self) -> bool:
        """Return whether any rule is in force."""
        return bool(self._rules)

    @property
    def rules(self) -> list[tuple[FaultRule, int]]:
        """Return the rules in force and how often each has applied."""
        return list(zip(self._rules, self._hits, strict=True))

    @property
    def log(self) -> list[InjectedFault]:
        """Return what was injected, in order."""
        return list(self._log)

    def roll(self, kind: FaultKind, *subject: object) -> FaultRule | None:
        """Draw whether a fault happens to `subject` now: its rule, counted and logged, or None."""
        if not self._rules:
            return None
        with self._lock:
            for index, rule in enumerate(self._rules):
                if rule.kind is not kind:
                    continue
                if rule.times is not None and self._hits[index] >= rule.times:
                    continue
                if self._random.is_drawn(rule.rate, "fault", kind.value, index, *subject):
                    self._hits[index] += 1
                    self._log.append(
                        InjectedFault(
                            at=iso(self._now_ms()),
                            kind=kind,
                            subject=" ".join(map(str, subject)),
                            seconds=rule.seconds,
                        )
                    )
                    return rule
        return None


class PayloadChange(msgspec.Struct, frozen=True, kw_only=True):
    """What goes wrong with one attempt on the wire."""

    dropped: bool = False
    doubled: bool = False
    body_changed: bool = False
    signature_changed: bool = False
    drip_s: float = 0.0
    cut: bool = False
    skew_s: float = 0.0


NO_CHANGE: Final = PayloadChange()


def payload_change(faults: Faults, delivery_id: str, attempt: int) -> PayloadChange:
    """Decide what goes wrong with one attempt of a delivery."""
    if not faults.any:
        return NO_CHANGE

    def hits(kind: FaultKind) -> FaultRule | None:
        return faults.roll(kind, delivery_id, attempt)

    drip, skew = hits(FaultKind.DRIP_DELIVERY), hits(FaultKind.CLOCK_SKEW)
    return PayloadChange(
        dropped=hits(FaultKind.DROP_DELIVERY) is not None,
        doubled=hits(FaultKind.DUPLICATE_DELIVERY) is not None,
        body_changed=hits(FaultKind.CORRUPT_BODY) is not None,
        signature_changed=hits(FaultKind.CORRUPT_SIGNATURE) is not None,
        drip_s=0.0 if drip is None else drip.seconds,
        cut=hits(FaultKind.RESET_DELIVERY) is not None,
        skew_s=0.0 if skew is None else skew.seconds,
    )


def pieces_of(body: bytes) -> list[bytes]:
    """Return a body in PIECES parts, for one that trickles."""
    size = -(-len(body) // PIECES)
    return [body[index * size : (index + 1) * size] for index in range(PIECES)]
