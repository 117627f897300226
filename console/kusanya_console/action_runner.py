"""What screens ask the application to do: one deed at a time, on a thread, its end told."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from textual.app import App

from kusanya.errors import KusanyaError
from kusanya.text import safe
from kusanya_console.actions.context import Desk
from kusanya_console.actions.results import Ended, Revealed
from kusanya_console.messages import CopyAsked, DeedAsked, DeedDone
from kusanya_console.screens.base import ConsoleScreen

_CLIPPED: Final = 10_000


class DeedsApp(App[None]):
    """An application that asks and acts for its screens, and copies for them."""

    desk: Desk
    tick: Callable[[], None]
    """Reads the store once; whoever has a store and a feed says how."""
    _doing = ""
    """What is under way, in words; nothing else begins meanwhile."""

    @property
    def console_screen(self) -> ConsoleScreen | None:
        """Return the screen whose turn it is, also while a dialog lies over it."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, ConsoleScreen):
                return screen
        return None

    def on_deed_asked(self, message: DeedAsked) -> None:
        """Ask or act on a thread, one thing at a time; its end stands in the result line."""
        if self._doing:
            self._show_end(Ended(f"wait: {self._doing} is under way", well=False))
            return
        self._doing = doing = message.doing
        self._show_end(Ended(f"{doing}…"))

        def run() -> None:
            try:
                ended = message.deed()
            except KusanyaError as error:
                ended = Ended(f"{doing} failed: {safe(str(error), 400)}", well=False)
            self.post_message(DeedDone(ended))

        self.run_worker(run, thread=True, group="deed", name="deed")

    def on_deed_done(self, message: DeedDone) -> None:
        """Show how it ended, then what it changed."""
        self._doing = ""
        self._show_end(message.ended)
        if self.is_web and isinstance(message.ended, Ended) and message.ended.file is not None:
            self._hand_over(message.ended.file)
        self.tick()

    def _hand_over(self, file: Path) -> None:
        # The visitor's browser asks for it; the folder it lies in goes when this process ends.
        self._show_end(Ended(f"{safe(file.name, 100)} was offered to your browser"))
        self.deliver_binary(file.open("rb"), save_filename=file.name)

    def _show_end(self, ended: Ended | Revealed) -> None:
        self.desk.tell(ended)
        screen = self.console_screen
        if screen is not None and screen.is_mounted:
            screen.show_result()

    def on_copy_asked(self, message: CopyAsked) -> None:
        """Send a text to the terminal's clipboard; whether it takes it cannot be known."""
        text = "\n".join(safe(line, _CLIPPED) for line in message.text.split("\n"))
        self.copy_to_clipboard(text)
        if message.secret:
            self._clipboard = ""  # the terminal has it; this process need not keep it
            # The line below says what became of the act, which the dialog is still part of.
            self.notify(f"{message.what} sent to the terminal's clipboard", markup=False, timeout=3)
        elif not message.told:
            self._show_end(Ended(f"{message.what} sent to the terminal's clipboard"))

    def tell_person(self, sentence: str) -> None:
        """Show what a person must know of a child process, until it is dismissed."""
        self._show_end(Ended(sentence, well=False))
