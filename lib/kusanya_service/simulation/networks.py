"""The simulated mobile networks: what becomes of a push, decided once, when it is sent.

In test mode the phone number scripts the outcome; any other number, and every number in live mode,
follows the mix, which is success unless the service was started with another. Source: States and
transitions; assumptions EXPIRY and OPEN_SETS.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from kusanya.domain.assumptions import LIVE_EXPIRY
from kusanya.domain.limits import TEST_COMPLETION_MAX, TEST_COMPLETION_MIN
from kusanya.privacy import PhoneError, is_wire_phone, normalise_phone
from kusanya.wire import Mode
from kusanya_service.errors import BadOption
from kusanya_service.simulation.clock import span_ms
from kusanya_service.simulation.seeded_random import SeededRandom

SUCCEEDED: Final = "succeeded"
EXPIRED: Final = "expired"
NEVER: Final = "never"
"""Outcomes that are no failure code; `never` stays created."""

FAILURES: Final[Mapping[str, str]] = {
    "insufficient_funds": "There is not enough money in the customer's account.",
    "user_cancelled": "The customer cancelled the request on the phone.",
    "declined": "The operator did not accept the payment.",
    "invalid_pin": "The customer entered a wrong PIN.",
    "payer_not_found": "The number is not registered for mobile money.",
    "payer_inactive": "The customer's mobile-money account is not active.",
    "payer_limit_reached": "The customer has reached a limit of the account.",
    "payment_in_progress": "Another payment is still open on the customer's phone.",
    "payer_unreachable": "The customer's phone could not be reached.",
    "provider_unavailable": "The operator's payment service is not available.",
    "amount_out_of_bounds": "The operator does not allow this amount.",
    "duplicate": "The operator already has a similar payment.",
    "unknown": "The operator reported a failure without a reason.",
}
"""Every failure code and its message."""


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """What a scripted phone does beside its outcome."""

    outcome: str = SUCCEEDED
    at_once: bool = False
    """The event goes out before the 202."""
    last_moment: bool = False
    twice: bool = False
    """The event is delivered a second time after its first success."""
    answer_lost: bool = False
    """The connection is cut after the commit."""
    first_refused: bool = False
    """The first POST of a key answers 500 and nothing is kept."""


SCRIPTED: Final[Mapping[str, Script]] = {
    "255754000001": Script(),
    "255754000002": Script(outcome="insufficient_funds"),
    "255754000003": Script(outcome="user_cancelled"),
    "255754000004": Script(outcome="invalid_pin"),
    "255754000005": Script(outcome="payer_not_found"),
    "255754000006": Script(outcome="payer_limit_reached"),
    "255754000007": Script(outcome="payer_unreachable"),
    "255754000008": Script(outcome="provider_unavailable"),
    "255754000009": Script(outcome=EXPIRED),
    "255754000010": Script(outcome=NEVER),
    "255754000011": Script(twice=True),
    "255754000012": Script(at_once=True),
    "255754000013": Script(last_moment=True),
    "255754000014": Script(answer_lost=True),
    "255754000015": Script(first_refused=True),
}
"""The phones of test mode; the first is the designated number that always succeeds."""

PLAIN: Final = Script()
Mix = Mapping[str, int]
"""Weights of outcomes: succeeded, expired, never or a failure code."""

_TEST_MIN_MS: Final = span_ms(TEST_COMPLETION_MIN)
_TEST_MAX_MS: Final = span_ms(TEST_COMPLETION_MAX)
_LIVE_EXPIRY_MS: Final = span_ms(LIVE_EXPIRY)
_LIVE_MIN_MS: Final = 4_000
_LIVE_MAX_MS: Final = 90_000
"""How long a live customer takes to answer the prompt."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What will become of one collection."""

    outcome: str
    after_ms: int | None
    """Time from creation to the outcome, None for never."""


class Networks:
    """All simulated networks together: scripts by phone, otherwise the mix."""

    def __init__(self, random: SeededRandom, *, mix: Mix | None = None) -> None:
        self._random = random
        self._mix = dict(mix or {SUCCEEDED: 1})
        self._total = sum(self._mix.values())
        self._extra: dict[str, Script] = {}

    def script(self, phone: str, outcome: str) -> None:
        """Set what a test-mode phone does from now on, in whichever way its number is written.

        Raises BadOption for no known outcome, and for what is no phone number.
        """
        check_outcome(outcome)
        number = _canonical(phone)
        if not is_wire_phone(number):
            raise BadOption(
                "that is no phone number: write it as 255 and nine digits, such as 255754123456"
            )
        self._extra[number] = Script(outcome=outcome)

    def script_of(self, phone: str, mode: str) -> Script:
        """Return what is scripted for a phone; a plain script where nothing is."""
        if mode != Mode.TEST:
            return PLAIN
        number = _canonical(phone)
        return self._extra.get(number) or SCRIPTED.get(number, PLAIN)

    def plan(self, phone: str, mode: str, number: int) -> Plan:
        """Decide what becomes of collection `number`."""
        script = self.script_of(phone, mode)
        outcome = script.outcome if script is not PLAIN else self._draw_outcome(number)
        if outcome == NEVER:
            return Plan(outcome=NEVER, after_ms=None)
        if script.at_once:
            return Plan(outcome=outcome, after_ms=0)
        if mode == Mode.LIVE:
            return Plan(outcome=outcome, after_ms=self._live_ms(outcome, number))
        if outcome == EXPIRED:
            return Plan(outcome=outcome, after_ms=_TEST_MAX_MS)
        if script.last_moment:
            return Plan(outcome=outcome, after_ms=_TEST_MAX_MS - 1)
        return Plan(outcome=outcome, after_ms=self._between(_TEST_MIN_MS, _TEST_MAX_MS, number))

    def _live_ms(self, outcome: str, number: int) -> int:
        if outcome == EXPIRED:
            return _LIVE_EXPIRY_MS
        return self._between(_LIVE_MIN_MS, _LIVE_MAX_MS, number)

    def _between(self, low: int, high: int, number: int) -> int:
        return low + self._random.below(high - low, "delay", number)

    def _draw_outcome(self, number: int) -> str:
        if len(self._mix) == 1:
            return next(iter(self._mix))
        point = self._random.below(self._total, "outcome", number)
        for outcome, weight in self._mix.items():
            point -= weight
            if point < 0:
                return outcome
        raise AssertionError("a point below the total falls on one of the weights")


def _canonical(phone: str) -> str:
    """Return a Tanzanian number as 255 and nine digits, and any other without its plus."""
    try:
        return normalise_phone(phone)
    except PhoneError:
        return phone.removeprefix("+")


def check_outcome(outcome: str) -> None:
    """Raise BadOption unless `outcome` is succeeded, expired, never or a failure code."""
    if outcome not in {SUCCEEDED, EXPIRED, NEVER} and outcome not in FAILURES:
        known = ", ".join([SUCCEEDED, EXPIRED, NEVER, *FAILURES])
        raise BadOption(f"{outcome!r} is no outcome; known are {known}")


def parse_mix(text: str) -> dict[str, int]:
    """Read a mix such as succeeded=90,insufficient_funds=7,expired=3; raises BadOption."""
    mix: dict[str, int] = {}
    for part in text.split(","):
        outcome, _, weight = part.strip().partition("=")
        check_outcome(outcome)
        if not weight.isascii() or not weight.isdigit():
            raise BadOption(f"the weight of {outcome} in the mix is a whole number")
        mix[outcome] = int(weight)
    if sum(mix.values()) <= 0:
        raise BadOption("the weights of the mix add up to nothing")
    return mix
