"""Runs what screens request: one action at a time, on a thread, and shows its result."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from textual.app import App

from kusanya.errors import KusanyaError
from kusanya.say import Said
from kusanya.text import safe
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.messages import (
    ActionFinished,
    ActionProgressed,
    ActionRequested,
    CopyRequested,
)
from kusanya_console.actions.results import ActionOutcome, ActionResult, RevealedPhone
from kusanya_console.ui.crash import failure_place
from kusanya_console.ui.language import translate

_CLIPPED: Final = 10_000


class ActionRunner(App[None]):
    """An application that runs actions for its screens, and copies for them."""

    context: AppContext
    tick: Callable[[], None]
    """Reads the store once; the application, which has store and feed, says how."""
    show_result: Callable[[], None]
    """Shows `context.result` on the screen in view."""
    _progress = ""
    """What is under way, in words; nothing else begins meanwhile."""

    def on_action_requested(self, message: ActionRequested) -> None:
        """Run an action on a thread, one at a time; its result stands in the result line."""
        if self._progress:
            self.refuse_while_progress()
            return
        self._progress = message.progress
        self.context.stop = message.leave_rest
        said = translate(message.progress)
        self._show(ActionResult(f"{said}…", ActionOutcome.UNDER_WAY))

        def run() -> None:
            try:
                result = message.run()
            except KusanyaError as error:
                why = safe(translate(str(error)), 400)
                result = _failed(translate("{progress} failed: {why}", progress=said, why=why))
            except Exception as error:  # noqa: BLE001 - shown on the screen; all else goes on
                ended = (
                    "{progress} ended in {place}, and what became of it is not known: look at the "
                    "record before anything is done again"
                )
                result = _failed(translate(ended, progress=said, place=failure_place(error)))
            self.post_message(ActionFinished(result))

        self.run_worker(run, thread=True, group="action", name="action")

    def on_action_progressed(self, message: ActionProgressed) -> None:
        """Show how far it has come."""
        if self._progress:
            self._show(ActionResult(message.sentence, ActionOutcome.UNDER_WAY))

    def on_action_finished(self, message: ActionFinished) -> None:
        """Show the result, then what it changed."""
        self._progress = ""
        self.context.stop = None
        self._show(message.result)
        result = message.result
        if self.is_web and isinstance(result, ActionResult) and result.file is not None:
            self._hand_over(result.file)
        self.tick()

    def refuse_while_progress(self) -> None:
        """Say what is under way: one thing at a time."""
        self._show(
            _failed(Said("wait: {our_progress} is under way").of(our_progress=self._progress))
        )

    def _hand_over(self, file: Path) -> None:
        # The visitor's browser asks for it; the folder it lies in goes when this process ends.
        self._show(
            ActionResult(Said("{file} was offered to your browser").of(file=safe(file.name, 100)))
        )
        self.deliver_binary(file.open("rb"), save_filename=file.name)

    def _show(self, result: ActionResult | RevealedPhone) -> None:
        self.context.show(result)
        self.show_result()

    def on_copy_requested(self, message: CopyRequested) -> None:
        """Send a text to the terminal's clipboard; whether it takes it cannot be known."""
        text = "\n".join(safe(line, _CLIPPED) for line in message.text.split("\n"))
        self.copy_to_clipboard(text)
        if message.secret:
            self._clipboard = ""  # the terminal has it; this process need not keep it
            # The line below says what became of the act, which the dialog is still part of.
            sent = Said("{our_label} sent to the terminal's clipboard").of(our_label=message.label)
            self.notify(translate(sent), markup=False, timeout=3)
        elif not message.quiet:
            self._show(
                ActionResult(
                    Said("{our_label} sent to the terminal's clipboard").of(our_label=message.label)
                )
            )

    def show_notice(self, sentence: str) -> None:
        """Show what a person must know of a child process, until it is dismissed."""
        self._show(_failed(sentence))


def _failed(sentence: str) -> ActionResult:
    return ActionResult(sentence, ActionOutcome.FAILED)
