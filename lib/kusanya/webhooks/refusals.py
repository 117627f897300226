"""The one table of reasons for which a delivery is not accepted: what each means, what helps."""

from typing import Final

import msgspec

from kusanya.domain.limits import SIGNATURE_TOLERANCE_S
from kusanya.say import Said


class RefusalReason(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one reason."""

    sentence: str
    next_step: str = ""
    """What a person can do before the next attempt; empty where there is nothing to do."""


_COMPARE_CLOCKS: Final = "compare this machine's clock with the service's"
SIGNED_REASONS: Final = ("too_new", "too_old")
"""Why a delivery is refused that a secret of ours has signed."""
SERVICE_REASONS: Final = (*SIGNED_REASONS, "no_match")
"""Why one is refused that the service may have sent; all others come from strangers."""
REFUSAL_REASONS: Final[dict[str, RefusalReason]] = {
    "missing": RefusalReason(sentence="the delivery had no signature header"),
    "duplicate_header": RefusalReason(
        sentence="two signature headers came, so neither can be trusted"
    ),
    "too_long": RefusalReason(sentence="the signature header is longer than any real one"),
    "malformed": RefusalReason(sentence="the signature header cannot be read"),
    "timestamp_not_integer": RefusalReason(sentence="t is not a whole number"),
    "missing_v1": RefusalReason(sentence="the header has no v1 digest"),
    "too_old": RefusalReason(
        sentence=Said(
            "t is more than {seconds} s in the past: a replay, or a clock that is wrong"
        ).of(seconds=SIGNATURE_TOLERANCE_S),
        next_step=_COMPARE_CLOCKS,
    ),
    "too_new": RefusalReason(
        sentence=Said("t is more than {seconds} s in the future: a clock is wrong").of(
            seconds=SIGNATURE_TOLERANCE_S
        ),
        next_step=_COMPARE_CLOCKS,
    ),
    "no_match": RefusalReason(
        sentence="the digest matches none of this endpoint's secrets",
        next_step="put the endpoint's present whsec_ secret into the profile before the retry",
    ),
    "wrong_mode": RefusalReason(
        sentence="the event belongs to the other mode than this endpoint and its secret",
        next_step="start the receiver in the mode of its secret, before the sender gives up",
    ),
}
