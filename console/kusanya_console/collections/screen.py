"""A screen whose cursor points at a payment: asking about it, copying it, noting on it.

What the cursor points at is a `Selection`; the record is always looked up again by its id, and the
text on the screen is never read back.
"""

from collections.abc import Callable, Sequence
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.worker import get_current_worker

from kusanya.lookup import advice, creation_advice, load_creation_timeline, load_timeline
from kusanya.say import Said, plural
from kusanya.store import Store
from kusanya.store.records import Note
from kusanya.wire import Mode
from kusanya.wording import Advice
from kusanya_console.actions.context import Selection
from kusanya_console.actions.messages import ActionProgressed, ActionRequested, CopyRequested
from kusanya_console.actions.results import ActionOutcome, ActionResult
from kusanya_console.actions.together import progress_words, run_together
from kusanya_console.collections.cards import spoken
from kusanya_console.collections.creation_cards import creation_story_lines
from kusanya_console.collections.detail import card_head, evidence_lines
from kusanya_console.collections.evidence import gather
from kusanya_console.screens.base import ConsoleScreen
from kusanya_console.screens.confirm import ConfirmScreen, NoteScreen
from kusanya_console.ui import language
from kusanya_console.ui.format import Line, Look, plain
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import PLAIN, STRONG
from kusanya_console.widgets.sheet import PartSheet

if TYPE_CHECKING:  # built by the caller
    from kusanya_console.actions.queries import ServiceQueries
    from kusanya_console.actions.store_actions import StoreActions

T = TypeVar("T")
CARD_CELLS = 100
_ASKED_UNCONFIRMED = 20
"""The service is asked about so many without a question first."""
_NO_RECORD = "the cursor points at no record"
_NO_COLLECTION = "no collection is known of this record"
Card = Callable[[], Sequence[Line]]


def _creation_card(store: Store, intent_id: str | None, look: Look) -> Card | None:
    if intent_id is None:
        return None

    def read() -> list[Line]:
        found = load_creation_timeline(store, intent_id, now=look.now)
        return [] if found is None else creation_story_lines(found, look, CARD_CELLS)

    return read


def _advice(
    store: Store, selection: Selection, mode: Mode, look: Look, *, is_claimed: bool
) -> Advice | None:
    """Return what to say about the record, as the store knows it now; None where it does not."""
    if selection.collection_id is not None:
        found = load_timeline(
            store, selection.collection_id, mode, now=look.now, is_claimed=is_claimed
        )
        return None if found is None else advice(found)
    created = load_creation_timeline(store, selection.intent_id or "", now=look.now)
    return None if created is None else creation_advice(created)


class PaymentScreen(ConsoleScreen):
    """What can be done with the payment under the cursor, on every screen that has one."""

    PARTS: ClassVar[tuple[str, ...]] = ()
    """The parts of its detail, the first one shown first."""
    part = 0

    def selection(self) -> Selection | None:
        """Return what the cursor points at, or None."""
        return None

    def stop_following(self) -> None:
        """Stay on the record under the cursor, where the cursor would go on by itself."""

    def take_selection(self) -> Selection | None:
        """Return what the cursor points at, and stay on it: a person works with it now."""
        self.stop_following()
        return self.selection()

    def marked(self) -> tuple[Selection, ...]:
        """Return what is marked; where nothing is, the cursor alone counts."""
        return ()

    def run_together(
        self,
        done: str,
        targets: Sequence[T],
        act: Callable[[T], ActionResult],
        *,
        name: Callable[[T], str],
    ) -> None:
        """Run an action for each of several targets on a thread, with progress and one result.

        One after the other, until a person stops it.
        """
        stop = Event()

        def run() -> ActionResult:
            worker = get_current_worker()
            return run_together(
                done,
                targets,
                act,
                name=name,
                progress=self._report,
                stopped=lambda: worker.is_cancelled or stop.is_set(),
            )

        progress = progress_words(done, 0, len(targets))
        self.post_message(ActionRequested(progress, run, leave_rest=stop.set))

    def ask_together(
        self, targets: Sequence[T], act: Callable[[T], ActionResult], *, name: Callable[[T], str]
    ) -> None:
        """Ask the service about several targets; about many only once a person has confirmed it."""

        def ask(confirmed: bool | None) -> None:  # noqa: FBT001 - Textual's callback
            if confirmed:
                self.run_together("asked", targets, act, name=name)

        if len(targets) <= _ASKED_UNCONFIRMED:
            ask(True)
            return
        count = f"{len(targets)}"
        self.app.push_screen(
            ConfirmScreen(
                "Ask about these",
                (("marked", (count, STRONG)),),
                mode=self.context.mode,
                warning="The service is asked once for each, one after the other; esc stops it.",
                word=count,
                live_word=count,
            ),
            ask,
        )

    def _report(self, sentence: str) -> None:
        self.post_message(ActionProgressed(sentence))

    def card(self) -> Card | None:
        """Return what reads the evidence card of the record under the cursor, on a thread."""
        selection, store, look = self.selection(), self.context.store, self.context.dated_look
        if selection is None:
            return None
        if selection.collection_id is None:
            return _creation_card(store, selection.intent_id, look)
        collection_id, mode = selection.collection_id, self.context.mode
        is_claimed = self.context.is_claimed(collection_id)

        def read() -> list[Line]:
            found = gather(store, collection_id, mode, look, is_claimed=is_claimed)
            return [] if found is None else evidence_lines(found, look, CARD_CELLS)

        return read

    def exact(self) -> Callable[[], tuple[str, str]] | None:
        """Return what reads the JSON of the record under the cursor, with words for it."""
        selection = self.selection()
        if selection is None or selection.collection_id is None:
            return None
        store, look, mode = self.context.store, self.context.look, self.context.mode
        collection_id = selection.collection_id

        def read() -> tuple[str, str]:
            found = gather(store, collection_id, mode, look)
            if found is None:
                return "", ""
            return Said("JSON by {our_source}, phone masked,").of(
                our_source=found.said_by
            ), found.said

        return read

    def show_part(self) -> None:
        """Show the part of the detail that was asked for."""

    def on_part_sheet_part_clicked(self, message: PartSheet.PartClicked) -> None:
        """Show the part of the detail whose name was clicked."""
        message.stop()
        if message.part < self.parts_count:
            self.action_part(message.part - message.shown)

    @property
    def parts_count(self) -> int:
        """Return how many parts the detail has."""
        return len(self.PARTS)

    def action_part(self, by: int) -> None:
        """Show the next or the previous part of the detail."""
        if self.parts_count:
            self.stop_following()
            self.part = (self.part + by) % self.parts_count
            self.show_part()

    def action_zoom(self) -> None:
        """Give the detail the whole screen, or the list its place again."""
        self.stop_following()
        super().action_zoom()

    def action_copy_card(self) -> None:
        """Copy the evidence card and keep it in a file."""
        read, selection = self.card(), self.take_selection()
        if read is None or selection is None:
            self.say(_NO_RECORD if selection is None else _NO_COLLECTION)
            return
        store, mode, look = self.context.store, self.context.mode, self.context.dated_look

        def text() -> str:
            lines = read()
            head = card_head(
                "evidence card", look, mode, author=store.audit.actor, store=store.url_shown
            )
            return plain([*head, *lines]) if lines else ""

        self.keep_text("evidence card", f"{mode.value}-{selection.name}", text)

    def action_copy_json(self) -> None:
        """Copy the JSON as it was received, its phone masked."""
        selection, read = self.take_selection(), self.exact()
        if read is None:
            self.say(_NO_RECORD if selection is None else _NO_COLLECTION)
            return

        def copy() -> ActionResult:
            what, text = read()
            if not text:
                return ActionResult(
                    "its bytes are not kept any more: nothing was copied", ActionOutcome.FAILED
                )
            self.post_message(CopyRequested(what, text, quiet=True))
            sent = translate(
                "{count} characters sent to the terminal's clipboard", count=f"{len(text):,}"
            )
            return ActionResult(f"{translate(what).rstrip(',')}: {sent}")

        self.post_message(ActionRequested("copying", copy))

    def action_copy_sentence(self) -> None:
        """Copy what to say to the customer, first in English, then in Swahili."""
        selection = self.take_selection()
        if selection is None or (selection.collection_id or selection.intent_id) is None:
            self.say(_NO_RECORD if selection is None else _NO_COLLECTION)
            return
        store, look, mode = self.context.store, self.context.look, self.context.mode
        is_claimed = self.context.is_claimed(selection.collection_id or "")

        def copy() -> ActionResult:
            said = _advice(store, selection, mode, look, is_claimed=is_claimed)
            if said is None:
                return ActionResult(
                    "the store does not know it any more: nothing was copied", ActionOutcome.FAILED
                )
            both = f"{spoken(said.english)}\n{spoken(said.swahili)}"
            self.post_message(CopyRequested("customer's sentence", both, quiet=True))
            chosen = said.in_language(language.chosen())
            return ActionResult(
                Said("sent to the terminal's clipboard, say: {sentence}").of(
                    sentence=spoken(chosen)
                )
            )

        self.post_message(ActionRequested("copying", copy))

    def action_ask_service(self) -> None:
        """Ask the service about what the cursor points at."""
        queries, why = self.context.queries, self.context.query_disabled_reason
        if queries is None or why:
            self.say(why)
            return
        selection, marked = self.take_selection(), self.marked()
        if marked:
            self.ask_together(marked, partial(_ask, queries), name=lambda one: one.name)
        elif selection is None:
            self.say("nothing to ask about: the cursor points at no record")
        elif selection.event_id is not None:
            event_id = selection.event_id
            self.post_message(ActionRequested("asking", lambda: queries.ask_event(event_id)))
        elif selection.collection_id is not None:
            collection_id = selection.collection_id
            self.post_message(
                ActionRequested("asking", lambda: queries.ask_collection(collection_id))
            )
        else:
            self.say("no id is known of it, and the service cannot be asked by reference")

    def action_note(self) -> None:
        """Write a note on the payment that the cursor points at."""
        actions, mode = self.context.actions, self.context.mode
        if actions is None:
            self.say(self.context.action_disabled_reason)
            return
        selection, marked = self.take_selection(), self.marked()
        if marked:
            self._note_marked(actions, marked)
            return
        about = None if selection is None else selection.collection_id or selection.intent_id
        if selection is None or about is None:
            self.say("a note stands on a collection or an intent, and none is known here")
            return

        drafts = self.context.drafts

        def keep(note: Note | None) -> None:
            drafts.pop(about, None)
            if note is not None:
                drafts[about] = note  # until it is kept

                def add() -> ActionResult:
                    result = actions.add_note(about, note, mode=mode)
                    drafts.pop(about, None)
                    return result

                self.post_message(ActionRequested("keeping the note", add))

        self.app.push_screen(NoteScreen((selection.name, PLAIN), drafts.get(about)), keep)

    def action_rule(self) -> None:
        """Let the service's answer rule on the payment that the cursor points at."""
        known = translate("Say why the service's answer holds; every fact stays.")
        self._act_for_a_reason("asking the service", lambda actions: actions.rule, known)

    def action_retry_outcomes(self) -> None:
        """Let consumers try at once what they have not done of the order under the cursor."""
        if (found := self._what_to_act_on()) is not None:
            actions, about, name = found
            mode = self.context.mode
            run = partial(actions.retry_outcomes, about, mode=mode, name=name)
            self.post_message(ActionRequested("trying again", run))

    def action_skip_outcomes(self) -> None:
        """Give up what consumers parked of the order under the cursor."""
        known = translate("Say why nothing is to be done for it.")
        self._act_for_a_reason("skipping", lambda actions: actions.skip_outcomes, known)

    def _act_for_a_reason(
        self, doing: str, act: "Callable[[StoreActions], Callable[..., ActionResult]]", known: str
    ) -> None:
        """Ask for a reason, then act with it on the collection that the cursor points at."""
        if (found := self._what_to_act_on()) is None:
            return
        actions, about, name = found
        mode = self.context.mode

        def keep(note: Note | None) -> None:
            if note is not None:
                run = partial(act(actions), about, note, mode=mode, name=name)
                self.post_message(ActionRequested(doing, run))

        self.app.push_screen(NoteScreen((name, PLAIN), known=known), keep)

    def _what_to_act_on(self) -> "tuple[StoreActions, str, str] | None":
        """Return what to act with, and id and name of the collection; or say why not."""
        actions, selection = self.context.actions, self.take_selection()
        if actions is None:
            self.say(self.context.action_disabled_reason)
            return None
        if selection is None or selection.collection_id is None:
            self.say("this is about a collection, and none is known here")
            return None
        return actions, selection.collection_id, selection.name

    def _note_marked(self, actions: "StoreActions", marked: Sequence[Selection]) -> None:
        """Write one note on every marked payment."""
        mode = self.context.mode
        about = {one.collection_id or one.intent_id: one for one in marked}
        about.pop(None, None)
        if not about:
            self.say("a note stands on a collection, and none is known of what is marked")
            return

        def keep(note: Note | None) -> None:
            if note is not None:
                self.run_together(
                    "noted",
                    tuple(about.values()),
                    lambda one: actions.add_note(
                        one.collection_id or one.intent_id or "", note, mode=mode
                    ),
                    name=lambda one: one.name,
                )

        self.app.push_screen(
            NoteScreen((translate(plural(len(about), "1 payment", "{count} payments")), STRONG)),
            keep,
        )

    def action_reveal(self) -> None:
        """Show a whole phone number for a while."""
        actions = self.context.actions
        if actions is None:
            self.say(self.context.action_disabled_reason)
            return
        selection = self.take_selection()
        if selection is None or selection.collection_id is None:
            self.say("the phone of a collection can be revealed, and none is known here")
            return
        collection_id, mode, name = selection.collection_id, self.context.mode, selection.name
        self.post_message(
            ActionRequested(
                "revealing", lambda: actions.reveal_phone(collection_id, mode, name=name)
            )
        )


def _ask(queries: "ServiceQueries", one: Selection) -> ActionResult:
    if one.event_id is not None:
        return queries.ask_event(one.event_id)
    if one.collection_id is not None:
        return queries.ask_collection(one.collection_id)
    return ActionResult("no id is known of it: nothing was asked", ActionOutcome.NOTHING_TO_DO)
