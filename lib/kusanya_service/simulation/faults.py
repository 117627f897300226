"""Faults on purpose: what goes wrong, how often, and the log of every time it did.

Rules are set through the dashboard or read from a scenario file. Whether a rule strikes follows
from the seed and from what it would strike, so that a run can be repeated. Faults of answers and
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
from kusanya_service.instants import iso
from kusanya_service.simulation.seeded_random import Chance

LOG_LENGTH: Final = 10_000
"""Injected faults that are remembered; older ones fall out."""
_RULES_MAX: Final = 100


class Kind(StrEnum):
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


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that goes wrong."""

    kind: Kind
    rate: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    """How often, of the times it could."""
    times: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """How often in all; None for as long as the rule stands."""
    seconds: Annotated[float, msgspec.Meta(ge=-31_536_000, le=31_536_000)] = 5.0


class Injected(msgspec.Struct, frozen=True, kw_only=True):
    """One fault that happened: when (wall), what, and to which request, batch or attempt."""

    at: str
    kind: Kind
    subject: str
    seconds: float


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A set of rules, as PUT /dashboard/faults and a scenario file hold it."""

    rules: list[Rule] = []


def load_scenario(path: Path) -> tuple[Rule, ...]:
    """Read a TOML file of [[rules]]; raises BadOption."""
    try:
        with path.open("rb") as file:
            scenario = msgspec.convert(tomllib.load(file), Scenario)
    except OSError as error:
        raise BadOption(f"the scenario cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise BadOption(f"the scenario is not one: {error}") from None
    return tuple(scenario.rules)


class Faults:
    """The rules in force and the log; safe to ask from the writer's thread too."""

    def __init__(
        self, *, chance: Chance, now_ms: Callable[[], int], rules: Sequence[Rule] = ()
    ) -> None:
        self._chance = chance
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self._rules: tuple[Rule, ...] = tuple(rules)
        self._struck = [0] * len(self._rules)
        self._log: deque[Injected] = deque(maxlen=LOG_LENGTH)

    def replace(self, rules: Iterable[Rule]) -> None:
        """Put other rules in force; the log goes on. Raises BadOption for too many."""
        chosen = tuple(rules)
        if len(chosen) > _RULES_MAX:
            raise BadOption(f"at most {_RULES_MAX} rules are in force at a time")
        with self._lock:
            self._rules = chosen
            self._struck = [0] * len(chosen)

    @property
    def any(self) -> bool:
        """Tell whether any rule is in force."""
        return bool(self._rules)

    @property
    def rules(self) -> list[tuple[Rule, int]]:
        """Return the rules in force and how often each has struck."""
        return list(zip(self._rules, self._struck, strict=True))

    @property
    def log(self) -> list[Injected]:
        """Return what was injected, in order."""
        return list(self._log)

    def strike(self, kind: Kind, *subject: object) -> Rule | None:
        """Return the rule that strikes `subject` now, having counted and logged it, or None."""
        if not self._rules:
            return None
        with self._lock:
            for index, rule in enumerate(self._rules):
                if rule.kind is not kind:
                    continue
                if rule.times is not None and self._struck[index] >= rule.times:
                    continue
                if self._chance.happens(rule.rate, "fault", kind.value, index, *subject):
                    self._struck[index] += 1
                    self._log.append(
                        Injected(
                            at=iso(self._now_ms()),
                            kind=kind,
                            subject=" ".join(map(str, subject)),
                            seconds=rule.seconds,
                        )
                    )
                    return rule
        return None


class Tamper(msgspec.Struct, frozen=True, kw_only=True):
    """What goes wrong with one attempt on the wire."""

    dropped: bool = False
    doubled: bool = False
    body_changed: bool = False
    signature_changed: bool = False
    drip_s: float = 0.0
    cut: bool = False
    skew_s: float = 0.0


NO_TAMPER: Final = Tamper()


def tamper_of(faults: Faults, delivery_id: str, attempt: int) -> Tamper:
    """Decide what goes wrong with one attempt of a delivery."""
    if not faults.any:
        return NO_TAMPER

    def struck(kind: Kind) -> Rule | None:
        return faults.strike(kind, delivery_id, attempt)

    drip, skew = struck(Kind.DRIP_DELIVERY), struck(Kind.CLOCK_SKEW)
    return Tamper(
        dropped=struck(Kind.DROP_DELIVERY) is not None,
        doubled=struck(Kind.DUPLICATE_DELIVERY) is not None,
        body_changed=struck(Kind.CORRUPT_BODY) is not None,
        signature_changed=struck(Kind.CORRUPT_SIGNATURE) is not None,
        drip_s=0.0 if drip is None else drip.seconds,
        cut=struck(Kind.RESET_DELIVERY) is not None,
        skew_s=0.0 if skew is None else skew.seconds,
    )
