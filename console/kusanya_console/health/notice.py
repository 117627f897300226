"""The notice for customers of a network, from the alarm under the cursor. Pure."""

from typing import Final

from kusanya.alarms.alarm import Alarm, Severity
from kusanya.channels.history import FailureClass
from kusanya.wording import Wording, outage_notice
from kusanya_console.health.lines import HealthTarget
from kusanya_console.health.reader import HealthReading
from kusanya_console.ui import vocabulary

_OF_NETWORKS: Final = ("stuck", "failure_rate")
"""Alarms whose subject is a channel: there is a notice for its customers."""
_NONE: Final = "no alarm is about a network: there is nothing to tell customers"
_ONE_PHONE: Final = "one phone waits: a customer, no outage; there is nothing to tell the others"
_ELSEWHERE: Final = (
    "the cursor stands on no alarm about a network: move it to the network that customers ask about"
)


def notice(found: HealthReading, target: HealthTarget | None) -> tuple[Wording, Wording] | str:
    """Return the notice in English and in Swahili, or why there is none.

    Only of the alarm under the cursor: the notice says that a network is at fault, to every
    customer of it.
    """
    alarm = next(
        (one for one in found.alarms if target is not None and one.id == target.alarm), None
    )
    if alarm is not None and _is_one_phone(alarm):
        return _ONE_PHONE
    if alarm is None or alarm.code not in _OF_NETWORKS:
        others = [one for one in found.alarms if one.code in _OF_NETWORKS]
        return _ELSEWHERE if any(not _is_one_phone(one) for one in others) else _NONE
    stuck = {one.channel: one.oldest_at for one in found.inputs.health.stuck}
    rates = {
        one.channel: one.since
        for one in found.inputs.failure_rates
        if one.whose is FailureClass.NETWORK
    }
    since = (stuck if alarm.code == "stuck" else rates).get(alarm.subject)
    if since is None:
        return _NONE  # customers' own reasons, or ours
    return outage_notice(vocabulary.channel(alarm.subject), since=since)


def _is_one_phone(alarm: Alarm) -> bool:
    """Return whether prompts hang on a single phone: the rule raises it as a warning."""
    return alarm.code == "stuck" and alarm.severity is not Severity.URGENT
