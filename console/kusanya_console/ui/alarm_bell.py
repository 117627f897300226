"""When the terminal's bell rings: once for each urgent alarm that is raised while nobody looks."""

from kusanya.alarms.alarm import Severity
from kusanya.alarms.inputs import AlarmInputs
from kusanya.alarms.rules import raised


class AlarmBell:
    """Remembers which urgent alarms stand; `is_enabled` is the configuration's word."""

    def __init__(self, *, is_enabled: bool) -> None:
        self._is_enabled = is_enabled
        self._standing: frozenset[tuple[str, str]] = frozenset()

    def should_ring(self, inputs: AlarmInputs, *, has_focus: bool) -> bool:
        """Return whether an urgent alarm, or a new stage of one, was raised since the last call."""
        before = self._standing
        self._standing = frozenset(
            (alarm.key, alarm.stage)
            for alarm in raised(inputs, format_time=str)
            if alarm.severity is Severity.URGENT
        )
        return self._is_enabled and not has_focus and bool(self._standing - before)
