"""One reading of health, and what its lines lead to: shared by the alarms and the tables. Pure."""

from datetime import datetime

import msgspec

from kusanya.causes import Causes, TimeToFinal, Window
from kusanya.filters import Filter, Term
from kusanya.health import EndpointHealth, Health, UnusableDeliveries
from kusanya.text import safe
from kusanya.watch import Silence
from kusanya.wire import Mode, Status
from kusanya_console.alarms import Acknowledged, Inbox, failing_id, stuck_id, unusable_id
from kusanya_console.commands import DELIVERIES, LIVE
from kusanya_console.dashboard.records import Endpoint
from kusanya_console.health.lines import Target
from kusanya_console.held_up import HeldUp
from kusanya_console.ui import vocabulary


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the report says, as of one instant."""

    mode: Mode
    health: Health
    silent: Silence | None
    held_up: HeldUp = HeldUp()
    sender: tuple[Endpoint, ...] = ()
    """The endpoints of this mode as the embedded service's own dashboard tells of them."""
    closing: int = 0
    """Unknown outcomes whose replay window closes soon."""
    lost_at: datetime | None = None
    """Since when the store cannot be read; everything here is older then."""
    window: Window = Window.HOUR
    causes: Causes | None = None
    """None until the window has been counted: then the hour's own stand there."""
    times: tuple[TimeToFinal, ...] = ()
    inbox: Inbox | None = None

    def looked_after(self, alarm: str) -> Acknowledged | None:
        """Return who acknowledged an alarm, or None."""
        return None if self.inbox is None else self.inbox.acknowledged.get(alarm)


def senders_word(name: str, found: Reading) -> Endpoint | None:
    """Return the sender's endpoint that delivers to ours, by the last part of its address."""
    named = [one for one in found.sender if one.url.rstrip("/").rpartition("/")[2] == name]
    if named:
        return named[0]
    alone = len(found.sender) == len(found.health.endpoints) == 1
    return found.sender[0] if alone else None


def endpoint_target(one: EndpointHealth, mode: Mode, *, key: str = "endpoint") -> Target:
    """Return what leads to the arrivals of an endpoint; `key` tells its alarm from its row."""
    failing = one.failures > 0
    return Target(
        key=f"{key}:{one.endpoint}",
        name=f"endpoint {safe(one.endpoint, 40)}",
        screen=DELIVERIES,
        narrowed=Filter((Term("endpoint", (one.endpoint,)),), unwell=failing),
        alarm=failing_id(one.endpoint, one.fuse.lit_at, mode) if failing else "",
    )


def unusable_target(one: UnusableDeliveries) -> Target:
    """Return what leads to the deliveries of an endpoint that had no effect."""
    return Target(
        key=f"{one.verdict.value}:{one.mode.value}:{one.endpoint}",
        name=f"deliveries without effect at {safe(one.endpoint, 40)}",
        screen=DELIVERIES,
        narrowed=Filter((Term("endpoint", (one.endpoint,)),), unwell=True),
        alarm=unusable_id(one),
    )


def channel_target(channel: str, found: Reading, *, key: str = "open") -> Target:
    """Return what leads to the open prompts of a channel; `key` tells its alarm from its row."""
    return Target(
        key=f"{key}:{channel}",
        name=f"open prompts of {vocabulary.channel(channel)}",
        screen=LIVE,
        narrowed=Filter((Term("channel", (channel,)), Term("status", (Status.CREATED.value,)))),
        alarm=stuck_id(channel, found.health, found.mode),
    )
