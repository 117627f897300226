"""The thread of `kusanya watch` that tells people of alarms, beside the one that polls."""

import logging
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kusanya.alarms.notices.targets import NoticeTarget
    from kusanya.alarms.notices.watcher import AlarmWatcher
    from kusanya.alarms.sender import AskSender
    from kusanya.clock import Clock
    from kusanya.errors import KusanyaError
    from kusanya.say import Language
    from kusanya.store import Store
    from kusanya.wire import Mode

_log = logging.getLogger("kusanya.alarms")
_END_S = 60.0
"""How long a message under way may take to end."""


class AlarmThread:
    """Makes a round every few seconds from `start` to `stop`; does nothing without targets."""

    def __init__(
        self,
        store: "Store",
        mode: "Mode",
        targets: "Sequence[NoticeTarget]",
        *,
        by: str,
        clock: "Clock",
        language: "Language",
        sender: "AskSender | None",
    ) -> None:
        from kusanya.alarms.notices.watcher import AlarmWatcher

        self._watcher = (
            AlarmWatcher(store, mode, targets, by=by, clock=clock, language=language, sender=sender)
            if targets
            else None
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(self._watcher,), name="alarms", daemon=True
        )

    def start(self) -> None:
        """Begin."""
        if self._watcher is not None:
            self._thread.start()

    def stop(self, error: "KusanyaError | None" = None) -> None:
        """End after the round under way; with an error, say that polling ended by it."""
        if self._watcher is None:
            return
        self._stopping.set()
        self._thread.join(_END_S)
        if error is not None:
            self._watcher.report_stopped(error)
        self._watcher.stop()

    def _run(self, watcher: "AlarmWatcher | None") -> None:
        from kusanya.alarms.notices.watcher import ROUND_EVERY_S

        while watcher is not None and not self._stopping.is_set():
            try:
                watcher.round()
            except Exception:  # noqa: BLE001 - one round that fails must not end the telling
                _log.exception("a round of the alarms failed")
            self._stopping.wait(ROUND_EVERY_S)
