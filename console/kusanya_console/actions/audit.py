"""One audit row for everything that a person does, whether it went well, failed or was refused."""

from collections.abc import Callable

from kusanya.errors import KusanyaError, StoreError
from kusanya.privacy import redact
from kusanya.store import Store
from kusanya.text import safe
from kusanya_console.actions.results import ActionOutcome, ActionResult


class Auditor:
    """Writes the audit rows of one person into one store."""

    def __init__(self, store: Store, *, actor: str) -> None:
        self._store = store
        self.actor = actor

    def run(
        self, act: str, subject: str, detail: str, action: Callable[[], ActionResult]
    ) -> ActionResult:
        """Run an action and audit its result; raises what `action` raises, after its audit row."""
        try:
            result = action()
        except KusanyaError as error:
            outcome = f"failed: {safe(redact(str(error)), 200)}"
            try:
                self._record(act, subject, detail, outcome)
            except StoreError as lost:
                raise KusanyaError(f"{error}; nor was its audit row kept: {lost}") from error
            raise
        try:
            self._record(act, subject, detail, "done" if result.is_good else "nothing to do")
        except StoreError as lost:
            # It has happened: the result says so before it says what is missing.
            said = f"{result.sentence}; but its audit row was not kept: {lost}"
            return ActionResult(said, ActionOutcome.NOT_AUDITED)
        return result

    def _record(self, act: str, subject: str, detail: str, outcome: str) -> None:
        self._store.audit.add(
            actor=self.actor, act=act, subject=subject, detail=detail, outcome=outcome
        )
