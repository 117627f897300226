"""Every gap of the specification that we fill: named, quoted, in one place.

The specification marks its gaps with "not shown". Each entry below quotes the gap and states what
we assume; code and tests cite the entry by its name, so that a fact learned later changes one
entry and whatever cites it. Values that code reads stand beside their entry.
"""

from datetime import timedelta
from typing import Final

import msgspec


class Assumption(msgspec.Struct, frozen=True, kw_only=True):
    """One gap and how it is filled."""

    gap: str
    """The specification's own words for what is missing."""
    assume: str
    """What we do instead, in one sentence."""


ERROR_BODY: Final = Assumption(
    gap="The error response body shape: not shown.",
    assume=(
        'The service answers {"error": {"type", "code", "message", "param"?, "request_id"}}; the '
        "client also reads flat and problem+json bodies and survives what is not JSON."
    ),
)

POST_VARIANTS: Final = Assumption(
    gap="seven response body variants, all application/json; only 202 and 409 are identified",
    assume="202, 400, 401, 403, 409, 422 and 429; a GET also answers 404.",
)
POST_STATUSES: Final = (202, 400, 401, 403, 409, 422, 429)

ERROR_CODES: Final = Assumption(
    gap="Status codes and error codes other than 202 and 409 idempotency_key_reused: not shown.",
    assume=(
        "idempotency_key_required, idempotency_key_invalid, invalid_request, invalid_api_key, "
        "forbidden, resource_missing, rate_limited and internal_error."
    ),
)

SAME_KEY_IN_FLIGHT: Final = Assumption(
    gap="(what a second request with a key still in flight receives: not shown)",
    assume="The second request waits for the first and then replays its answer.",
)

SAME_BODY: Final = Assumption(
    gap="Same key and same body again within retention",
    assume=(
        "Two bodies are the same when their JSON values are equal, whatever the order of keys and "
        "the white space; 1 and 1.0 differ. Our own client always resends identical bytes."
    ),
)

ANSWERS_KEPT: Final = Assumption(
    gap="(which answers a key replays: not shown)",
    assume=(
        "The 202 only: a rejected request does not burn its key. A key belongs to merchant, mode "
        "and path, and is kept for 24 hours from its first receipt."
    ),
)

RETRY_TIMES_ARE_GAPS: Final = Assumption(
    gap="After a failure the service retries after 1 minute, 5 minutes, 30 minutes, ...",
    assume="Each time is the gap since the failure before it: seven attempts over 20 h 36 min.",
)

RETRIES_ARE_SIGNED_AFRESH: Final = Assumption(
    gap="(whether a retry carries a new t: not shown)",
    assume="Every attempt carries a fresh t and signature over the same bytes.",
)

FUSE_BURNS_FROM_FIRST_FAILURE: Final = Assumption(
    gap="An endpoint that fails continuously for three days is disabled",
    assume=(
        "A failure recorded 72 hours or more after the first failure since the last success "
        "disables the endpoint; any success before that clears it."
    ),
)

DISABLED_HOLDS_DELIVERIES: Final = Assumption(
    gap="it is re-enabled once the problem is fixed",
    assume=(
        "A person enables it. Until then nothing is sent and deliveries are held; then they resume,"
        " each not before its time in the schedule."
    ),
)

AMOUNT: Final = Assumption(
    gap="Units and bounds of amount and fee: not shown.",
    assume="Whole shillings, an integer of at least 1; true, false and 5000.0 are refused.",
)
AMOUNT_MIN: Final = 1
AMOUNT_MAX: Final = 1_000_000_000
"""Default upper bound of the embedded service; whoever runs it can set another."""

PHONE: Final = Assumption(
    gap="Phone number format and length: not shown.",
    assume=(
        "Digits with an optional +, 8 to 15 of them. The library normalises Tanzanian spellings "
        "to 255 and nine digits; the service does not."
    ),
)
PHONE_MIN_DIGITS: Final = 8
PHONE_MAX_DIGITS: Final = 15

OPTIONAL_FIELDS: Final = Assumption(
    gap="Which request fields are required beyond amount, phone, reference: not shown.",
    assume=(
        "description and metadata are optional. failure_code, failure_message and completed_at are "
        "absent until they apply; absent and null mean the same."
    ),
)
REFERENCE_MAX_LENGTH: Final = 255
DESCRIPTION_MAX_LENGTH: Final = 1_000
METADATA_MAX_KEYS: Final = 50
METADATA_KEY_MAX_LENGTH: Final = 64
METADATA_VALUE_MAX_LENGTH: Final = 1_000

OPEN_SETS: Final = Assumption(
    gap="Full lists of failure_code, channel and currency values: not shown.",
    assume="Open sets: a value we do not know is kept and shown as received, never an error.",
)
CURRENCY: Final = "TZS"

FEE: Final = Assumption(
    gap="Units and bounds of amount and fee: not shown.",
    assume="A tariff per channel in whole shillings, fixed at creation and never above the amount.",
)

EXPIRY: Final = Assumption(
    gap="Customer does not approve in time",
    assume="120 seconds in live mode; in test mode within the 10 to 20 seconds of completion.",
)
LIVE_EXPIRY: Final = timedelta(seconds=120)

REPLAY_HOURS: Final = 23
"""For as many hours after its first sending a create may be sent again with its key."""
REPLAY_WINDOW: Final = timedelta(hours=REPLAY_HOURS)
REPLAY_STOPS_EARLY: Final = Assumption(
    gap="Idempotency key retention: 24 hours",
    assume=(
        f"Our client stops replaying {REPLAY_HOURS} hours after the first send: past 24 hours the "
        "same key would charge the customer again, and clocks differ."
    ),
)

SIGNING_KEY: Final = Assumption(
    gap="keyed with the endpoint's signing secret",
    assume=(
        "The key is the whole whsec_ string as UTF-8. Several v1 elements are allowed, a repeated "
        "t is refused, and a distance of exactly 300 s passes."
    ),
)
SIGNATURE_HEADER_MAX_BYTES: Final = 4096
SIGNATURE_MAX_V1: Final = 16

PLACEHOLDER_NAMES: Final = Assumption(
    gap="Service-Signature, <service_prefix>: sample values are replaced by placeholders",
    assume="Both are configurable; these are the defaults.",
)
SIGNATURE_HEADER: Final = "Service-Signature"
KEY_PREFIX: Final = "svc"
DEFAULT_PROFILE: Final = "main"
"""Whose creations and settings are meant where nobody names a profile."""

EXPIRED_IS_FINAL: Final = Assumption(
    gap="Other states or moves beyond these: not shown.",
    assume=(
        "Final states never change. A second, different final state is a contradiction that is "
        "shown to a person and never resolved by us. An unknown status is kept and shown."
    ),
)

NO_LISTS: Final = Assumption(
    gap="Listing collections, query parameters and pagination for any GET: not shown.",
    assume="There are none; nothing is added to /v1 and the store answers instead.",
)

RATE_LIMITS: Final = Assumption(
    gap="Rate limits: not shown.",
    assume="Off by default in the embedded service; the client honours Retry-After up to 60 s.",
)
RETRY_AFTER_MAX: Final = timedelta(seconds=60)

REPEATED_REFERENCE: Final = Assumption(
    gap="(whether a reference must be unique: not shown)",
    assume="The service accepts a repeated reference; the library asks for a reason first.",
)


def every() -> dict[str, Assumption]:
    """Return all assumptions by name, in the order of this file."""
    return {name: value for name, value in globals().items() if isinstance(value, Assumption)}
