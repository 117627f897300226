"""Where an intent may be sent: under its profile, and where it was sent first. Pure.

An idempotency key means nothing to another merchant or at another base address: the same bytes
with the same key would be a second charge there.
"""

from collections.abc import Callable

import msgspec

from kusanya.errors import IntentError, IntentReason
from kusanya.say import Said
from kusanya.store.records import IntentRow, IntentState
from kusanya.text import safe


class SendTarget(msgspec.Struct, frozen=True, kw_only=True):
    """Where a client sends, as far as it is known, and for which profile."""

    target: Callable[[], str]
    """Asked before each sending: a live client learns its merchant before its first create."""
    profile: str | None
    """None where the caller does not name one."""

    def check_profile(self, intent: IntentRow) -> None:
        """Raise IntentError where the intent belongs to another profile than the named one."""
        if self.profile is not None and not intent.belongs_to(self.profile):
            raise IntentError(
                Said("this intent belongs to profile {profile}: use that one").of(
                    profile=_shown(intent.profile)
                ),
                reason=IntentReason.OTHER_PROFILE,
                intent_id=intent.id,
            )

    def check(self, intent: IntentRow) -> None:
        """Raise IntentError where the intent must not be sent from here.

        Without a named profile it goes only where it was sent before. One of which it is certain
        that nothing came of it may go to another address of its profile.
        """
        self.check_profile(intent)
        known = intent.target
        if known is not None and same_target(known, self.target()):
            return
        if known is not None and intent.state is not IntentState.PREPARED:
            raise IntentError(
                Said(
                    "this intent was first sent to {place}, and anywhere else it would be a "
                    "second charge: send it from there, with profile {profile}"
                ).of(place=_shown(known), profile=_shown(intent.profile)),
                reason=IntentReason.OTHER_TARGET,
                intent_id=intent.id,
            )
        if self.profile is None:
            raise IntentError(
                Said(
                    "it is not known where this intent was first sent: name its profile, {profile}"
                ).of(profile=_shown(intent.profile)),
                reason=IntentReason.PROFILE_NEEDED,
                intent_id=intent.id,
            )


def same_target(one: str, other: str) -> bool:
    """Return whether two targets are the same address, of the same merchant where both tell it."""
    (address, _, merchant), (elsewhere, _, another) = one.partition("#"), other.partition("#")
    return address == elsewhere and (not merchant or not another or merchant == another)


def _shown(text: str) -> str:
    return repr(safe(text, 200))
