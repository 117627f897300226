"""What a person can do with a creation: replay it, or decide what became of it."""

from collections.abc import Callable, Sequence
from typing import Final

from kusanya.store.records import IntentRow, IntentState
from kusanya_console.actions.messages import ActionRequested
from kusanya_console.actions.results import ActionResult
from kusanya_console.actions.store_actions import StoreActions
from kusanya_console.intents.cards import (
    REPLAY_ALL_WARNING,
    REPLAY_WARNING,
    UNSEEN,
    candidate_facts,
    decision_facts,
    decision_warning,
    replay_all_facts,
    replay_facts,
)
from kusanya_console.intents.decide import DecideScreen, DecisionInput
from kusanya_console.intents.reader import DecisionCheck, check_decision
from kusanya_console.lists.table_screen import TableScreen
from kusanya_console.screens.confirm import ConfirmScreen
from kusanya_console.ui.format import format_text
from kusanya_console.ui.language import translate

_ONE_BY_ONE: Final = "a replay can charge a customer: each is confirmed by itself; {key} unmarks"


def _name_of(row: IntentRow) -> str:
    return format_text(row.reference, 60)


class IntentActions(TableScreen[IntentRow]):
    """A list of creations on which a person acts, each confirmed by itself."""

    def _may_act(
        self, disabled_reason: Callable[[StoreActions, IntentRow], str]
    ) -> tuple[StoreActions, IntentRow] | None:
        """Return what to act with and on, or say why nothing happens."""
        actions, row = self.context.actions, self.table.row
        if actions is None or row is None:
            self.say(
                self.context.action_disabled_reason
                if actions is None
                else "the cursor points at no intent"
            )
            return None
        why = disabled_reason(actions, row)
        if why:
            self.say(why)
            return None
        return actions, row

    def action_replay(self) -> None:
        """Confirm and send the intent under the cursor again, or say why that cannot be."""
        if self.table.marked:
            self._replay_marked(tuple(self.table.marked.values()))
            return
        may = self._may_act(lambda actions, row: actions.replay_disabled_reason(row))
        if may is None:
            return
        actions, row = may

        def send(confirmed: bool | None) -> None:  # noqa: FBT001 - Textual's callback
            if confirmed:
                self.post_message(ActionRequested("replaying", lambda: actions.replay(row)))

        facts = replay_facts(row, self.context.look)
        dialog = ConfirmScreen("Replay this creation", facts, mode=row.mode, warning=REPLAY_WARNING)
        self.app.push_screen(dialog, send)

    def _replay_marked(self, rows: Sequence[IntentRow]) -> None:
        """Send several again after one confirmation, where no customer was asked for any."""
        actions = self.context.actions
        if any(row.state is not IntentState.PREPARED for row in rows):
            self.say(translate(_ONE_BY_ONE, key=self.context.key("view.back")))
            return
        if actions is None:
            self.say(self.context.action_disabled_reason)
            return
        why = next(filter(None, map(actions.replay_disabled_reason, rows)), "")
        if why:
            self.say(why)
            return

        def send(confirmed: bool | None) -> None:  # noqa: FBT001 - Textual's callback
            if confirmed:
                self.run_together("replayed", rows, actions.replay, name=_name_of)

        count = f"{len(rows)}"
        dialog = ConfirmScreen(
            "Send these creations", replay_all_facts(rows), mode=rows[0].mode,
            warning=REPLAY_ALL_WARNING, word=count, live_word=count,
        )  # fmt: skip
        self.app.push_screen(dialog, send)

    def action_decide(self) -> None:
        """Ask what became of the intent under the cursor, or say why it cannot be decided."""
        may = self._may_act(lambda actions, row: actions.decision_disabled_reason(row))
        if may is None:
            return
        actions, row = may

        def compare(decided: DecisionInput | None) -> None:
            if decided is not None:
                self.fetch("decision", lambda: check_decision(actions, row, decided))

        facts = decision_facts(row, self.context.look)
        self.app.push_screen(DecideScreen(facts, mode=row.mode), compare)

    def confirm_decision(self, found: DecisionCheck) -> None:
        """Name both sides and let a person cancel or decide; say why where it is refused."""
        actions = self.context.actions
        if actions is None:
            return
        row, said, candidate = found.intent, found.said, found.candidate
        unseen = candidate is not None and candidate.seen is None

        def decide() -> ActionResult:
            return actions.decide(
                row, collection_id=said.collection_id, why=said.why, unseen=unseen
            )

        if found.refused or (candidate is not None and candidate.differs):
            # Refused where it is decided: the attempt is audited with its reason.
            self.post_message(ActionRequested("deciding", decide))
            return

        def keep(confirmed: bool | None) -> None:  # noqa: FBT001 - Textual's callback
            if confirmed:
                self.post_message(ActionRequested("deciding", decide))

        dialog = ConfirmScreen(
            "Decide",
            (*decision_facts(row, self.context.look), *candidate_facts(candidate, said.why)),
            mode=row.mode,
            warning=decision_warning(candidate),
            word=UNSEEN if unseen else "",
            live_word=UNSEEN if unseen else "",
        )
        self.app.push_screen(dialog, keep)
