"""One audit row for everything that a person does, whether it went well, failed or was refused."""

from collections.abc import Callable
from typing import Final

from kusanya.domain.roles import Role
from kusanya.errors import KusanyaError, StoreError
from kusanya.privacy import redact
from kusanya.say import Said
from kusanya.store import Store
from kusanya.text import safe
from kusanya_console.actions.results import ActionOutcome, ActionResult, off

_NEEDED: Final = {
    "note": Role.DECIDE,
    "keep receipt": Role.DECIDE,
    "decide intent": Role.DECIDE,
    "rule payment": Role.DECIDE,
    "reveal_phone": Role.REVEAL,
}
"""What an act needs more than the role `act`: as the grants of `kusanya store roles` have it."""
_ACTS: Final = {
    "act.note": "note",
    "act.keep_receipt": "keep receipt",
    "act.decide": "decide intent",
    "act.rule": "rule payment",
    "act.reveal": "reveal_phone",
}
"""The acts behind commands, where they need more than `act`."""


class Auditor:
    """Writes the audit rows of one person into one store; refuses what `role` does not allow."""

    def __init__(self, store: Store, *, actor: str, role: Role = Role.ADMIN) -> None:
        self._store = store
        self._role = role
        self.actor = actor

    def disabled_reason(self, command_id: str) -> str:
        """Return why the role does not allow a command, or nothing."""
        needed = self._lacks(_ACTS.get(command_id, ""))
        return off(needed) if needed else ""

    def refuse_unfit(self, act: str, subject: str) -> None:
        """Raise KusanyaError, audited, where the role does not allow an act of another's audit."""
        if self._lacks(act):
            self.run(act, subject, "", lambda: ActionResult(""))

    def _need_role(self, act: str) -> None:
        if lacks := self._lacks(act):
            raise KusanyaError(lacks)

    def _lacks(self, act: str) -> str:
        needed = _NEEDED.get(act, Role.ACT)
        if self._role.includes(needed):
            return ""
        return Said("your role here is {role}, and this needs {needed}").of(
            role=self._role.value, needed=needed.value
        )

    def run(
        self, act: str, subject: str, detail: str, action: Callable[[], ActionResult]
    ) -> ActionResult:
        """Run an action and audit its result; raises what `action` raises, after its audit row."""
        try:
            self._need_role(act)
            result = action()
        except KusanyaError as error:
            outcome = f"failed: {safe(redact(str(error)), 200)}"
            try:
                self._record(act, subject, detail, outcome)
            except StoreError as lost:
                raise KusanyaError(
                    Said("{our_said}; nor was its audit row kept: {our_why}").of(
                        our_said=str(error), our_why=lost
                    )
                ) from error
            raise
        try:
            self._record(act, subject, detail, "done" if result.is_good else "nothing to do")
        except StoreError as lost:
            # It has happened: the result says so before it says what is missing.
            said = Said("{our_said}; but its audit row was not kept: {our_why}").of(
                our_said=result.sentence, our_why=lost
            )
            return ActionResult(said, ActionOutcome.NOT_AUDITED)
        return result

    def _record(self, act: str, subject: str, detail: str, outcome: str) -> None:
        self._store.audit.add(
            actor=self.actor, act=act, subject=subject, detail=detail, outcome=outcome
        )
