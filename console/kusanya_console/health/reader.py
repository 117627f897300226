"""One reading of health, and what its lines lead to: shared by the alarms and the tables. Pure."""

from datetime import datetime
from typing import Final

import msgspec

from kusanya.alarms.alarm import Alarm, AlarmList
from kusanya.alarms.anomalous_collections import AnomalyReport
from kusanya.alarms.inputs import AlarmInputs
from kusanya.alarms.rules.payments import open_prompts
from kusanya.alarms.sender import SenderEndpoint
from kusanya.filters import Filter, Term
from kusanya.health.causes import Causes, Lookback, TimeToFinal
from kusanya.health.endpoints import EndpointHealth
from kusanya.health.report import Health
from kusanya.say import Said
from kusanya.store.records import Acknowledgement
from kusanya.text import safe
from kusanya_console.commands import DELIVERIES, INTENTS, LIVE
from kusanya_console.health.lines import HealthTarget
from kusanya_console.ui import vocabulary

_SCREENS: Final = {
    AlarmList.COLLECTIONS: LIVE,
    AlarmList.DELIVERIES: DELIVERIES,
    AlarmList.INTENTS: INTENTS,
}


class HealthReading(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the report says, as of one instant."""

    inputs: AlarmInputs
    alarms: tuple[Alarm, ...]
    lost_at: datetime | None = None
    """Since when the store cannot be read; everything here is older then."""
    lookback: Lookback = Lookback.HOUR
    causes: Causes | None = None
    """None until it has been counted: then the hour's own stand there."""
    times: tuple[TimeToFinal, ...] = ()
    anomalies: AnomalyReport | None = None

    @property
    def health(self) -> Health:
        """Return how endpoints and channels stand."""
        return self.inputs.health

    def acknowledgement(self, *names: str) -> Acknowledgement | None:
        """Return who looks after an alarm, or has muted it, by its names; or None."""
        return None if self.anomalies is None else self.anomalies.held.of(*names)

    def alarm_id(self, key: str) -> str:
        """Return the id of the alarm with this key, or nothing where it is not raised."""
        return next((alarm.id for alarm in self.alarms if alarm.key == key), "")


def senders_word(name: str, found: HealthReading) -> SenderEndpoint | None:
    """Return the sender's endpoint that delivers to ours."""
    inputs = found.inputs
    return next((one for one in inputs.sender if inputs.our_name(one) == name), None)


def alarm_target(alarm: Alarm) -> HealthTarget:
    """Return what leads to the rows behind an alarm."""
    return HealthTarget(
        key=alarm.key,
        name=alarm.name,
        screen=_SCREENS[alarm.rows],
        narrowed=alarm.filter,
        alarm=alarm.id,
    )


def endpoint_target(one: EndpointHealth, found: HealthReading) -> HealthTarget:
    """Return what leads to the arrivals of an endpoint."""
    return HealthTarget(
        key=f"endpoint:{one.endpoint}",
        name=Said("endpoint {name}").of(name=safe(one.endpoint, 40)),
        screen=DELIVERIES,
        narrowed=Filter((Term("endpoint", (one.endpoint,)),), unwell=one.failures > 0),
        alarm=found.alarm_id(f"failing:{one.endpoint}"),
    )


def channel_target(channel: str, found: HealthReading) -> HealthTarget:
    """Return what leads to the open prompts of a channel."""
    return HealthTarget(
        key=f"open:{channel}",
        name=Said("open prompts of {channel}").of(channel=vocabulary.channel(channel)),
        screen=LIVE,
        narrowed=open_prompts(channel),
        alarm=found.alarm_id(f"stuck:{channel}"),
    )
