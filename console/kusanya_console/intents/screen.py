"""Intents: which creations have no answer, and how long they may be replayed."""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll

from kusanya.assumptions import REPLAY_HOURS
from kusanya.privacy import mask_json, mask_phone
from kusanya.store.records import IntentRow, IntentState
from kusanya.wording import UNKNOWN_OUTCOME, advise
from kusanya_console.actions.context import AppContext, Selection
from kusanya_console.actions.messages import (
    ActionRequested,
    CopyRequested,
    ScreenRequested,
    TimelineRequested,
    copy_reference,
    copyable,
)
from kusanya_console.actions.operator import OperatorActions
from kusanya_console.actions.results import ActionResult
from kusanya_console.collections.cards import spoken
from kusanya_console.collections.screen import CARD_CELLS, Card
from kusanya_console.commands import bindings_of
from kusanya_console.feed import Snapshot
from kusanya_console.intents.cards import (
    INTENT_PARTS,
    REPLAY_WARNING,
    UNSEEN,
    candidate_facts,
    decision_facts,
    decision_warning,
    intent_card,
    intent_figures,
    intent_part,
    replay_facts,
    window_left,
)
from kusanya_console.intents.decide import DecideScreen, Decision
from kusanya_console.intents.reader import (
    DecisionCheck,
    IntentDetails,
    check_decision,
    load_details,
    load_intents,
)
from kusanya_console.lists.export import CREATIONS, Form
from kusanya_console.lists.paging import fixed_pages
from kusanya_console.lists.table_screen import TableScreen
from kusanya_console.screens.confirm import ConfirmScreen
from kusanya_console.ui import language, vocabulary
from kusanya_console.ui.columns import Column
from kusanya_console.ui.format import Line, Look, cell, format_instant, format_text, spread
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, MUTED, PLAIN, Run
from kusanya_console.ui.window import PageWindow
from kusanya_console.widgets.sheet import PartSheet, Sheet


def _sent(row: IntentRow, look: Look) -> Run:
    return format_instant(row.first_sent_at, look), MUTED


COLUMNS: tuple[Column[IntentRow], ...] = (
    Column(
        "reference",
        10,
        lambda row, _: cell(row.reference, limit=60),
        grows=4,
        names=True,
        whole=True,
    ),
    Column("amount TZS", 11, lambda row, _: (f"{row.amount:,}", PLAIN), right=True),
    Column("phone", 12, lambda row, _: (mask_phone(row.phone), PLAIN), rank=2),
    Column("first sent", 10, _sent),
    Column("state", 10, lambda row, _: vocabulary.intent(row.state), whole=True),
    Column("tries", 5, lambda row, _: (f"{row.attempts}", MUTED), right=True, rank=3),
    Column(f"replay window, {REPLAY_HOURS} h", 24, window_left, rank=1, grows=60, moves=True),
)


_ONE_BY_ONE: Final = "a replay can charge a customer: each is confirmed by itself; {key} unmarks"


def _selection(row: IntentRow) -> Selection:
    """Return an intent with its collection where that is known."""
    return Selection(
        name=format_text(row.reference, 60),
        collection_id=row.collection_id,
        intent_id=row.id,
        copied=copyable(row.reference, row.id),
    )


class IntentsScreen(TableScreen[IntentRow]):
    """Creations of one mode, those without an answer first."""

    NAME = "intents"
    CRUMB = "Intents"
    PARTS = INTENT_PARTS
    BINDINGS = bindings_of(NAME)
    UNSORTED = "what may have charged somebody stands first: this list keeps its order"

    def __init__(self, context: AppContext) -> None:
        super().__init__(context, COLUMNS, selection_of=_selection)
        self._more = False
        self._details: IntentDetails | None = None
        self._seq = 0
        self._is_stale = False

    def compose_body(self) -> ComposeResult:
        """Put figures above, the list and its pane below."""
        yield Sheet(id="figures")
        with Horizontal(id="split"):
            yield self.table
            yield Sheet(id="empty")
            with VerticalScroll(id="pane", can_focus=False):
                yield PartSheet(id="card")
        yield Sheet(id="foot")

    def on_mount(self) -> None:
        """Read the list."""
        super().on_mount()
        self.table.focus()
        self.query_one("#empty", Sheet).show(lambda _width: self._empty())
        self._fetch()

    def on_screen_resume(self) -> None:
        """Read the list again after another screen was shown."""
        if self._asked:
            self._fetch()

    def advance(self, snapshot: Snapshot) -> None:
        """Read the list again when an intent has news."""
        if snapshot.intents or self._is_stale:
            self._fetch()
        elif snapshot.seq != self._seq:
            self._fetch_attempts()  # a note on an intent is no news of the intent itself
        self._seq = snapshot.seq

    def fetch_failed(self, what: str) -> None:  # noqa: ARG002 - the list brings its attempts along
        """Keep what is shown; the list is read again once the store answers."""
        self._is_stale = True

    def _fetch(self) -> None:
        store, mode, clock = self.context.store, self.context.mode, self.context.clock
        self._is_stale = False
        self.fetch("intents", lambda: load_intents(store, mode, now=clock.now()))

    def show_fetched(self, what: str, value: Any) -> None:
        """Show the list, or the attempts of the intent under the cursor."""
        if what == "decision":
            self._confirm_decision(value)
            return
        if what == "intents":
            self._more = value.more
            # What is done to a marked intent is done to it as it is now.
            held = {row.id: row for row in value.rows if row.id in self.table.marked}
            self.table.marked |= held
            self.table.show(PageWindow(value.rows))
            self.set_class(not value.rows, "-empty")
            self._fetch_attempts()
        else:
            self._details = value
        self._show()

    def on_record_table_highlighted(self) -> None:
        """Show the card of the intent that the cursor reached, then fetch its attempts."""
        self._show()
        self.when_rested(self._fetch_attempts)

    def _fetch_attempts(self) -> None:
        row, store = self.table.row, self.context.store
        if row is not None:
            self.fetch("attempts", lambda: load_details(store, row))

    def second(self) -> None:
        """Move the windows on."""
        self.restyle()

    def restyle(self) -> None:
        """Draw list and card as of now."""
        self.table.restyle(self.context.look)
        self._show()

    def _show(self) -> None:
        row, look, details = self.table.row, self.context.look, self._details
        rows = self.table.window.rows
        self.query_one("#figures", Sheet).show(lambda _width: intent_figures(rows, look))
        self._foot()
        card = self.query_one("#card", Sheet)
        if row is None:
            card.show(lambda _width: ())
            return
        mine = details is not None and details.intent_id == row.id
        attempts = details.attempts if details is not None and mine else ()
        notes = details.notes if details is not None and mine else ()
        part = self.part
        card.show(lambda width: intent_part(row, attempts, notes, look, width, part=part))

    def _foot(self) -> None:
        rows, above = len(self.table.window.rows), 0 if self.table.follow else self.table.first
        all_of = "the newest {count} of more" if self._more else "{count} in all"
        listed = translate(all_of, count=f"{rows:,}")
        order = translate("unknown first, then what is stalled, then the newest")
        left: Line = ((f" {order}   ", MUTED),)
        left = (*left, (listed, MUTED))
        if self.table.marked:
            left = (*left, (f"   {self.marks_line()}", ACCENT))
        goes = translate("{key} goes to the top", key=self.context.key("list.newest"))
        right: Run = (f"{translate('at the top')} ", MUTED)
        if above:
            right = (f"{translate('{count} above', count=f'{above:,}')}, {goes} ", ACCENT)
        self.query_one("#foot", Sheet).show(lambda width: [spread(list(left), [right], width)])

    def on_record_table_moved(self) -> None:
        """Say where the list stands now."""
        self._foot()

    def _empty(self) -> list[Line]:
        mode, _ = vocabulary.mode_words(self.context.mode)
        one = "One stands here for every creation that was made through this library,"
        return [
            ((translate("No intent in {mode} yet.", mode=mode), PLAIN),),
            ((translate(one), MUTED),),
            ((translate("saved before its first byte left. ? lists the keys."), MUTED),),
        ]

    def show_part(self) -> None:
        """Show the part of the card that was asked for."""
        self._show()

    def action_newest(self) -> None:
        """Go to the top, and stay there while more come."""
        self.table.follow, self.table.cursor = True, None
        self.table.show(msgspec.structs.replace(self.table.window))
        self._show()

    def action_oldest(self) -> None:
        """Go to the last one that is listed."""
        self.table.move(len(self.table.window.rows))

    def action_pane(self) -> None:
        """Show or hide the pane."""
        self.toggle_class("-pane")

    def action_open(self) -> None:
        """Open the story of the intent, or of the collection that it became."""
        if self.table.row is not None:
            self.post_message(TimelineRequested(self.table.row.id))

    def action_back(self) -> None:
        """Unmark what is marked, or else go back to Live."""
        if not self.unmark_all():
            self.post_message(ScreenRequested("live"))

    def marks_changed(self) -> None:
        """Say how many are marked."""
        self._foot()

    def action_export(self, form: str = Form.SHEET.name) -> None:
        """Write the intents that are marked, or else those that are listed, to a file."""
        rows = tuple(self.table.marked.values()) or self.table.window.rows
        which = "Export the {count} listed intents"
        if self.table.marked:
            which = "Export the {count} marked intents"
        what = translate(which, count=f"{len(rows):,}")
        self.export_rows(fixed_pages(rows), CREATIONS, records="intents", what=what, form=form)

    def card(self) -> Card | None:
        """Return what reads the card of the intent, its collection's below where it is known."""
        row, look, store, details = (
            self.table.row,
            self.context.dated_look,
            self.context.store,
            super().card(),
        )
        if row is None:
            return None

        def read() -> list[Line]:
            beside = load_details(store, row)
            lines = intent_card(row, beside.attempts, beside.notes, look, CARD_CELLS)
            return lines if details is None else [*lines, (), *details()]

        return read

    def exact(self) -> Callable[[], tuple[str, str]] | None:
        """Return the body as it is sent on every attempt, its phone masked."""
        row = self.table.row
        if row is None:
            return None
        return lambda: ("request body, phone masked,", mask_json(row.body))

    def action_copy_sentence(self) -> None:
        """Copy what to say: that of the collection, or that we are checking."""
        row = self.table.row
        if row is None or row.collection_id is not None:
            super().action_copy_sentence()
        elif row.state is not IntentState.UNKNOWN:
            self.say(f"this intent is {row.state.value}: there is nothing to tell a customer yet")
        else:
            said = advise(UNKNOWN_OUTCOME)
            both = f"{spoken(said.english)}\n{spoken(said.swahili)}"
            self.post_message(CopyRequested("customer's sentence", both, quiet=True))
            chosen = spoken(said.in_language(language.chosen()))
            sent = f"sent to the terminal's clipboard, say: {chosen}"
            self.context.show(ActionResult(sent))
            self.show_result()

    def _may_act(
        self, disabled_reason: Callable[[OperatorActions, IntentRow], str]
    ) -> tuple[OperatorActions, IntentRow] | None:
        """Return what to act with and on, or say why nothing happens."""
        operator, row = self.context.operator, self.table.row
        if operator is None or row is None:
            self.say(
                self.context.action_disabled_reason
                if operator is None
                else "the cursor points at no intent"
            )
            return None
        why = disabled_reason(operator, row)
        if why:
            self.say(why)
            return None
        return operator, row

    def action_replay(self) -> None:
        """Confirm and send the intent under the cursor again, or say why that cannot be."""
        if self.table.marked:
            self.say(translate(_ONE_BY_ONE, key=self.context.key("view.back")))
            return
        may = self._may_act(lambda operator, row: operator.replay_disabled_reason(row))
        if may is None:
            return
        operator, row = may

        def send(confirmed: bool | None) -> None:  # noqa: FBT001 - Textual's callback
            if confirmed:
                self.post_message(ActionRequested("replaying", lambda: operator.replay(row)))

        facts = replay_facts(row, self.context.look)
        dialog = ConfirmScreen("Replay this creation", facts, mode=row.mode, warning=REPLAY_WARNING)
        self.app.push_screen(dialog, send)

    def action_decide(self) -> None:
        """Ask what became of the intent under the cursor, or say why it cannot be decided."""
        may = self._may_act(lambda operator, row: operator.decision_disabled_reason(row))
        if may is None:
            return
        operator, row = may

        def compare(decided: Decision | None) -> None:
            if decided is not None:
                self.fetch("decision", lambda: check_decision(operator, row, decided))

        facts = decision_facts(row, self.context.look)
        self.app.push_screen(DecideScreen(facts, mode=row.mode), compare)

    def _confirm_decision(self, found: DecisionCheck) -> None:
        """Name both sides and let a person cancel or decide; say why where it is refused."""
        operator = self.context.operator
        if operator is None:
            return
        row, said, candidate = found.intent, found.said, found.candidate
        unseen = candidate is not None and candidate.seen is None

        def decide() -> ActionResult:
            return operator.decide(
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

    def action_copy_id(self) -> None:
        """Copy the reference of the intent under the cursor, or those of all that are marked."""
        if not self.copy_marked() and self.table.row is not None:
            self.post_message(copy_reference(self.table.row.reference, self.table.row.id))
